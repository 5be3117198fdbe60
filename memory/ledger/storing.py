"""Entries with addresses stored and changed, any number in one go (RFC-0015 1 to 3; R100): redacted, with their facts.

What is the same for all of them is asked once. Who calls has locked what they change (``rows.hold``). A confidential
or restricted value is sealed before anything is stored, and stands nowhere in clear.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from memory import addresses, event_notes, harness, reconciled, redaction, token_budget
from memory.addresses import PRIORITIES
from memory.drafts import EntryDraft
from memory.event_notes import Note
from memory.host import vault
from memory.host.errors import KeyExists
from memory.host.events import EntryCreated, EntryUpdated, Event, MemoryWritten
from memory.host.tenancy import TenantScope
from memory.ledger import deriving, giving, indexing, writing
from memory.ledger.giving import Given
from memory.ledger.lifecycle import note_of, told
from memory.ledger.rows import WRITER, gone_at, move_head
from memory.ledger.writing import Redraft
from memory.matching import hidden_form, search_form
from memory.models.address import EntryAddress
from memory.models.entry import EntryTag, MemoryEntry
from memory.redaction import Redactor

# What a change replaces of an address, and of the entry itself.
OF_ADDRESS = ("pinned", "priority", "sensitivity", "ttl", "curated_by", "size", "sealed", "vault_key")
OF_ENTRY = (
    "content", "tags", "position", "expires_at", "search_text", "hidden_text", "tokens", "secret_shapes", "sha256",
    "redactions", "sealed", "protected",
)  # fmt: skip
Told = tuple[UUID, Event, Note]


@dataclass(frozen=True, slots=True)
class New:
    """An entry to be stored, the log on which its facts stand, and the task it belongs to or what made it."""

    given: Given
    run_id: UUID
    node_id: str


@dataclass(frozen=True, slots=True)
class _Ready:
    """An entry as it will be stored: without secrets, its value sealed where it has to be."""

    draft: EntryDraft
    entry: Redraft
    address: EntryAddress


def write_addressed(scope: TenantScope, new: Sequence[New], *, actor: str, now: datetime) -> list[EntryAddress]:
    """The entries are stored at their addresses in their order, each with ``memory.written`` and RFC-0015's fact on its
    run; all or none. Refuses with ``KeyExists`` when an address is taken, and otherwise as ``write_entry`` does."""
    redactor = harness.for_tenant(scope.tenant_id)
    ready = [_ready(scope, each.given, redactor, actor, now) for each in new]
    rows = [each.address for each in ready]
    try:
        with transaction.atomic():
            _tell(scope.tenant_id, _created(new, ready, actor), now)
            last = move_head(scope.tenant_id, entries=len(new), retired=0, steps=len(new))
            _insert(scope.tenant_id, new, ready, last - len(new) + 1, now)
            EntryAddress.objects.written_by(WRITER).bulk_create(rows)
            _mark(scope.tenant_id, rows)
    except IntegrityError:
        raise KeyExists from None
    longest = max(len(row.entry.search_text) for row in rows)
    indexing.after_bulk(scope.tenant_id, last, len(new), longest=longest)
    return rows


def rewrite(scope: TenantScope, row: EntryAddress, given: Given, *, actor: str, now: datetime) -> EntryAddress:
    """``rewrite_all`` for one."""
    return rewrite_all(scope, [(row, given)], actor=actor, now=now)[0]


@transaction.atomic
def rewrite_all(
    scope: TenantScope, changes: Sequence[tuple[EntryAddress, Given]], *, actor: str, now: datetime
) -> list[EntryAddress]:
    """The locked entries are as given from here on, each in its next version, with its facts (RFC-0015 3).

    They are changes of the ledger: runs that started before see the entries no more, neither as they were nor as they
    are. Tier, owner, namespace, key and scope stay as they are.
    """
    tenant_id, rows = scope.tenant_id, [row for row, _ in changes]
    redactor = harness.for_tenant(tenant_id)
    ready = [_renewed(scope, row, given, redactor, actor, now) for row, given in changes]
    before = [(row.entry.position, row.entry.search_text) for row in rows]
    gone = gone_at(
        now, at_once=any(row.is_sealed or each.address.is_sealed for row, each in zip(rows, ready, strict=True))
    )
    for row, each in zip(rows, ready, strict=True):
        _renew(row, each)
    _tell(tenant_id, _updated(rows, ready, actor), now)
    indexing.take_out(tenant_id, before)
    first = move_head(tenant_id, entries=0, retired=0, steps=len(rows), gone=gone) - len(rows) + 1
    for position, row in enumerate(rows, first):
        row.entry.position = position
        row.entry.save(by=WRITER, update_fields=OF_ENTRY)
        row.save(by=WRITER, update_fields=["version", "updated_at", "accessed_at", *OF_ADDRESS])
    _replace_tags(tenant_id, rows)
    indexing.put_in_again(tenant_id, [(row.id, (row.entry.position, row.entry.search_text)) for row in rows])
    reconciled.drop(tenant_id, sorted({row.entry.memory_ref for row in rows}))
    return rows


def _ready(scope: TenantScope, given: Given, redactor: Redactor, actor: str, now: datetime) -> _Ready:
    redacted, count = giving.redacted(redactor, given, actor=actor, names=True)
    return _fitted(scope, redacted, count, None, now)


def _renewed(
    scope: TenantScope, row: EntryAddress, given: Given, redactor: Redactor, actor: str, now: datetime
) -> _Ready:
    redacted, count = giving.redacted(redactor, given, actor=actor, names=False)
    count = count or (row.entry.redactions if giving.has_mark(redacted) else 0)
    return _fitted(scope, redacted, count, row.id, now)


def _fitted(scope: TenantScope, given: Given, count: int, known: UUID | None, now: datetime) -> _Ready:
    place = giving.place_of(scope, given.address)
    writing.require_open(place)
    draft = giving.draft_of(given)
    entry = writing.redacted(place, draft, lambda text: redaction.Redacted(text, count), now)
    return _Ready(draft, entry, _row(scope.tenant_id, known or entry.id, given, now))


def _row(tenant_id: UUID, entry_id: UUID, given: Given, now: datetime) -> EntryAddress:
    address = given.address
    key, sealed = None, None
    if address.is_sealed:
        key, sealed = vault.seal_value(tenant_id, entry_id, addresses.canonical(given.value), now=now)
    return EntryAddress(
        tenant_id=tenant_id,
        id=entry_id,
        tier=address.tier,
        agent_id=address.agent_id,
        namespace=address.namespace,
        key=address.key,
        task_id=address.task_id,
        intent_id=address.intent_id,
        pinned=address.pinned,
        priority=PRIORITIES.index(address.priority),
        sensitivity=address.sensitivity,
        ttl=address.ttl,
        created_by=address.created_by,
        curated_by=address.curated_by,
        created_at=now,
        updated_at=now,
        accessed_at=now,
        size=addresses.size_of(given.value),
        sealed=sealed,
        vault_key=key,
    )


def _created(new: Sequence[New], ready: Sequence[_Ready], actor: str) -> Iterable[Told]:
    for each, made in zip(new, ready, strict=True):
        entry, row = made.entry, made.address
        known = each.node_id if each.node_id and row.task_id == each.node_id else None
        yield each.run_id, _written(entry, row.id, each.node_id, made.draft.agent_id), {}
        yield each.run_id, told(EntryCreated, row, actor, task_id=known), note_of(row, entry.tags)


def _updated(rows: Sequence[EntryAddress], ready: Sequence[_Ready], actor: str) -> Iterable[Told]:
    for row, made in zip(rows, ready, strict=True):
        run_id, node_id = row.entry.run_id, row.entry.node_id
        known = row.task_id if row.task_id == node_id else None
        yield run_id, _written(made.entry, row.id, node_id, actor), {}
        fact = told(EntryUpdated, row, actor, previous_version=row.version - 1, task_id=known)
        yield run_id, fact, note_of(row, made.entry.tags)


def _written(entry: Redraft, entry_id: UUID, node_id: str, agent_id: str) -> MemoryWritten:
    return MemoryWritten(entry.memory_ref, entry_id, node_id or None, agent_id or None, entry.labels)


def _tell(tenant_id: UUID, facts: Iterable[Told], now: datetime) -> None:
    """The facts stand on their streams, on each in their order."""
    streams: dict[UUID, list[tuple[Event, Note]]] = {}
    for stream_id, fact, note in facts:
        streams.setdefault(stream_id, []).append((fact, note))
    for stream_id, noted in sorted(streams.items()):
        event_notes.append(tenant_id, stream_id, noted, now=now)


def _insert(tenant_id: UUID, new: Sequence[New], ready: Sequence[_Ready], first: int, now: datetime) -> None:
    rows: list[list[Any]] = [
        [*writing.row_of(made.entry, made.draft, tenant_id, each.run_id, each.node_id, now), "", position]
        for position, (each, made) in enumerate(zip(new, ready, strict=True), first)
    ]
    deriving.insert_rows(tenant_id, [made.entry for made in ready], rows)
    for each, made, row in zip(new, ready, rows, strict=True):
        entry = writing.stored(tenant_id, each.run_id, made.entry, made.draft, [*row[:-2], row[-1]], now)
        entry.sealed, entry.protected = made.address.is_sealed, made.address.pinned
        made.address.entry = entry


def _mark(tenant_id: UUID, rows: Sequence[EntryAddress]) -> None:
    """Passes and archives leave out what is sealed, and pinned entries are never merged."""
    marks = {
        "sealed": [row.id for row in rows if row.sealed is not None],
        "protected": [r.id for r in rows if r.pinned],
    }
    for name, found in marks.items():
        if found:
            entries = MemoryEntry.objects.written_by(WRITER).filter(tenant_id=tenant_id, id__in=found)
            entries.update(**{name: True})


def _renew(row: EntryAddress, made: _Ready) -> None:
    """The row and its entry say what the next version says; nothing is stored yet."""
    entry, fresh, after = row.entry, made.address, made.entry
    row.version, row.updated_at, row.accessed_at = row.version + 1, fresh.updated_at, fresh.accessed_at
    for name in OF_ADDRESS:
        setattr(row, name, getattr(fresh, name))
    entry.content, entry.tags, entry.expires_at = after.content, list(after.tags), made.draft.expires_at
    texts = "\n".join((after.content, *after.tags, entry.memory_ref, *after.findable))
    entry.search_text, entry.hidden_text = search_form(texts), hidden_form(texts)
    entry.tokens, entry.secret_shapes = token_budget.count(after.content), redaction.secret_shapes(after.content)
    entry.sha256 = hashlib.sha256(after.content.encode()).hexdigest()
    entry.redactions, entry.sealed, entry.protected = after.redactions, row.sealed is not None, row.pinned


def _replace_tags(tenant_id: UUID, rows: Sequence[EntryAddress]) -> None:
    allowed = EntryTag.objects.written_by(WRITER)
    allowed.filter(tenant_id=tenant_id, id__in=[row.id for row in rows]).delete()
    allowed.bulk_create([EntryTag(tenant_id=tenant_id, id=row.id, tag=tag) for row in rows for tag in row.entry.tags])
