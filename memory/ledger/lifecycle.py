"""What becomes of addresses when their entries change: facts on their streams, and who has a key (RFC-0015 1.2, 5)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from memory import event_notes, harness
from memory.event_notes import Note
from memory.host.errors import KeyExists
from memory.host.events import EntryDeleted, EntryEvicted, EntryExpired, EntryLifecycle
from memory.ledger.rows import WRITER
from memory.models.address import EntryAddress

# A forgotten entry was deleted, as far as its agent is told; an archived one is told of by who archives it.
REMOVALS: dict[str, type[EntryLifecycle]] = {
    "deleted": EntryDeleted,
    "forgotten": EntryDeleted,
    "evicted": EntryEvicted,
    "expired": EntryExpired,
}


def note_of(address: EntryAddress, tags: Sequence[str]) -> Note:
    """What the events of an entry say beyond ids (RFC-0015 5.2, R67)."""
    scope = {name: text for name in ("task_id", "intent_id") if (text := getattr(address, name))}
    return {
        "namespace": address.namespace,
        "key": address.key,
        "tags": list(tags),
        **({"scope": scope} if scope else {}),
    }


def lifecycle_event(kind: type[EntryLifecycle], address: EntryAddress, actor: str, **more: Any) -> EntryLifecycle:
    return kind(
        entry_id=address.id,
        tier=address.tier,
        version=address.version,
        agent_id=address.agent_id,
        actor=actor or address.agent_id,
        **more,
    )


def record_removal(tenant_id: UUID, rows: list[UUID], *, reason: str, actor: str, now: datetime) -> None:
    """The facts of those of ``rows`` that have an address, each on the stream of the run that wrote it."""
    kind = REMOVALS.get(reason)
    if kind is None:
        return
    found = EntryAddress.objects.of(tenant_id).filter(id__in=rows).select_related("entry").order_by("id")
    actor = harness.for_tenant(tenant_id).redact(actor).text if actor else actor
    streams: dict[UUID, list[tuple[Any, Note]]] = {}
    for address in found:
        note = {} if reason == "forgotten" else note_of(address, address.entry.tags)
        streams.setdefault(address.entry.run_id, []).append((lifecycle_event(kind, address, actor), note))
    for stream_id, noted in sorted(streams.items()):
        event_notes.append(tenant_id, stream_id, noted, now=now)


def release_keys(tenant_id: UUID, rows: list[UUID]) -> None:
    """The keys of retired entries are free."""
    EntryAddress.objects.written_by(WRITER).filter(tenant_id=tenant_id, id__in=rows).update(hidden=True)


def reclaim_key(tenant_id: UUID, entry_id: UUID) -> None:
    """The restored entry has its key; refused when another has it by now."""
    try:
        with transaction.atomic():
            EntryAddress.objects.written_by(WRITER).filter(tenant_id=tenant_id, id=entry_id).update(hidden=False)
    except IntegrityError:
        raise KeyExists("Another entry has that key by now; it has to go before this one is restored.") from None
