"""Entries hidden and shown again: by a person, who says why, and by a pass that made others of them.

What is hidden is not gone: runs that started before still see it, and it can be restored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory import drafts, harness
from memory.host import audit, ids
from memory.host.tenancy import TenantScope
from memory.ledger.rows import CHUNK, WRITER, locked_entry, move_head
from memory.models.entry import MemoryEntry, Retirement


@transaction.atomic
def retire(scope: TenantScope, entry_id: UUID, *, reason: str, now: datetime) -> MemoryEntry:
    """The entry is hidden from reads that begin later; runs that started before still see it. Undoable, and audited."""
    scope.check("memory:retire")
    entry = locked_entry(scope.tenant_id, entry_id)
    if entry.retired_at is None:
        said = harness.for_tenant(scope.tenant_id).redact(drafts.checked_reason(reason)).text
        position = move_head(scope.tenant_id, entries=-1, retired=1)
        Retirement(tenant_id=scope.tenant_id, entry_id=entry.id, from_position=position).insert(by=WRITER)
        _say(scope, entry, at=now, reason=said, now=now)
    return entry


@transaction.atomic
def restore(scope: TenantScope, entry_id: UUID, *, now: datetime) -> MemoryEntry:
    """A retired entry is read again by runs that start from here on; audited.

    One that a pass took away is protected from now on: no later pass takes it away again.
    """
    scope.check("memory:retire")
    entry = locked_entry(scope.tenant_id, entry_id)
    if entry.retired_at is not None:
        position = move_head(scope.tenant_id, entries=1, retired=-1)
        open_spans = Retirement.objects.written_by(WRITER).filter(tenant_id=scope.tenant_id, entry_id=entry.id)
        open_spans.filter(until_position=None).update(until_position=position)
        entry.protected = entry.protected or bool(entry.retired_kind)
        _say(scope, entry, at=None, reason="", now=now)
    return entry


def _say(scope: TenantScope, entry: MemoryEntry, *, at: datetime | None, reason: str, now: datetime) -> None:
    """The entry is retired since ``at``, or not at all; who did it is on record, without what was said."""
    entry.retired_at, entry.retired_reason, entry.retired_kind = at, reason, ""
    entry.save(by=WRITER, update_fields=["retired_at", "retired_reason", "retired_kind", "protected"])
    action = "memory.retired" if at else "memory.restored"
    target = ids.wire("mem", entry.id)
    audit.append(scope.tenant_id, actor=scope.principal.id, action=action, target=target, now=now)


@dataclass(frozen=True, slots=True)
class Hidden:
    """An entry that a pass takes away: ``merged``, ``superseded`` or ``compacted``."""

    entry_id: UUID
    kind: str


@transaction.atomic
def hide(tenant_id: UUID, entries: Sequence[Hidden], *, now: datetime) -> list[UUID]:
    """Those of at most ``CHUNK`` entries that could be read are read no more by runs that start later; which they were.

    One change of the ledger. Protected ones, and those that somebody has retired or removed meanwhile, are left.
    """
    kinds = {each.entry_id: each.kind for each in entries[:CHUNK]}
    rows = MemoryEntry.objects.of(tenant_id).select_for_update().filter(id__in=list(kinds), retired_at=None)
    found = list(rows.filter(protected=False).order_by("id").only("id"))
    if not found:
        return []
    position = move_head(tenant_id, entries=-len(found), retired=len(found))
    spans = [Retirement(tenant_id=tenant_id, entry_id=row.id, from_position=position) for row in found]
    Retirement.objects.written_by(WRITER).bulk_create(spans)
    writable = MemoryEntry.objects.written_by(WRITER).filter(tenant_id=tenant_id)
    for kind in sorted(set(kinds.values())):
        of_kind = [row.id for row in found if kinds[row.id] == kind]
        writable.filter(id__in=of_kind).update(retired_at=now, retired_kind=kind)
    return [row.id for row in found]
