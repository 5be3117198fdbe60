"""Retiring entries, which hides them and can be undone, and restoring them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction

from memory import consolidation_state
from memory.addresses import is_addressed
from memory.event_notes import note_of_reason
from memory.host import audit, ids, sql
from memory.host.tenancy import TenantScope
from memory.ledger import addressed
from memory.ledger.head import WRITER, advance_head, lock_streams, locked_entry
from memory.models.entry import MemoryEntry, Retirement
from memory.reasons import stored_reason

RETIRABLE = (
    "SELECT id FROM memory_memoryentry WHERE tenant_id = %s AND {} AND retired_at IS NULL "
    "AND NOT protected AND NOT sealed"
)
MARK_RETIRED = "UPDATE memory_memoryentry SET retired_at = %s, retired_kind = %s WHERE tenant_id = %s AND {}"
HOST = "host"  # who did what a pass did
SPAN = ("tenant_id", "id", "entry_id", "from_position")


# Entries hidden and shown again: by a person, who says why, and by a pass that made others of them.
#
# What is hidden is not gone: runs that started before still see it, and it can be restored.


@transaction.atomic
def retire_entry(scope: TenantScope, entry_id: UUID, *, reason: str, now: datetime) -> MemoryEntry:
    """Hide the entry from reads that begin later; runs that started before still see it. Can be undone, and is
    audited."""
    scope.check("memory:retire")
    lock_streams(scope.tenant_id, entries=[entry_id])
    entry = locked_entry(scope.tenant_id, entry_id)
    if entry.retired_at is None:
        said, who = stored_reason(scope.tenant_id, reason), scope.principal.id
        position = advance_head(scope.tenant_id, entries=-1, retired=1)
        Retirement(tenant_id=scope.tenant_id, entry_id=entry.id, from_position=position).insert(by=WRITER)
        if is_addressed(entry.memory_ref):
            addressed.release_keys(scope.tenant_id, [entry.id])
            addressed.record_removal(
                scope.tenant_id, [entry.id], reason="deleted", actor=who, by=who, said=note_of_reason(said), now=now
            )
        _record_change(scope, entry, at=now, retired=said, audited=said, now=now)
    return entry


@transaction.atomic
def restore_entry(scope: TenantScope, entry_id: UUID, *, reason: str = "", now: datetime) -> MemoryEntry:
    """A retired entry is read again by runs that start from here on; audited, with the reason if one is given.

    One that a pass took away is protected from now on: no later pass takes it away again. Any other one is looked at
    by the next pass, which looks at its ref anew.
    """
    scope.check("memory:retire")
    lock_streams(scope.tenant_id, entries=[entry_id])
    entry = locked_entry(scope.tenant_id, entry_id)
    if entry.retired_at is not None:
        said, who = stored_reason(scope.tenant_id, reason), scope.principal.id
        position = advance_head(scope.tenant_id, entries=1, retired=-1)
        open_spans = Retirement.objects.written_by(WRITER).filter(tenant_id=scope.tenant_id, entry_id=entry.id)
        open_spans.filter(until_position=None).update(until_position=position)
        if is_addressed(entry.memory_ref):
            addressed.reclaim_keys(scope.tenant_id, [entry.id])
            addressed.record_return(scope.tenant_id, [entry.id], actor=who, by=who, said=note_of_reason(said), now=now)
        entry.protected = entry.protected or bool(entry.retired_kind)
        if not entry.protected:
            consolidation_state.drop(scope.tenant_id, [entry.memory_ref])
        _record_change(scope, entry, at=None, audited=said, now=now)
    return entry


def _record_change(
    scope: TenantScope,
    entry: MemoryEntry,
    *,
    at: datetime | None,
    retired: str = "",
    audited: str = "",
    now: datetime,
) -> None:
    """The entry is retired since ``at``, with that reason, or not at all; who did it is on record."""
    entry.retired_at, entry.retired_reason, entry.retired_kind = at, retired, ""
    entry.save(by=WRITER, update_fields=["retired_at", "retired_reason", "retired_kind", "protected"])
    action = "memory.retired" if at else "memory.restored"
    target = ids.wire("mem", entry.id)
    audit.append(scope.tenant_id, actor=scope.principal.id, action=action, target=target, reason=audited, now=now)


@dataclass(frozen=True, slots=True)
class EntryToRetire:
    """An entry that a pass retires, and how: ``merged``, ``superseded`` or ``compacted``."""

    entry_id: UUID
    kind: str


@transaction.atomic
def retire_entries(
    tenant_id: UUID, entries: Sequence[EntryToRetire], *, addressed_ones: bool = False, now: datetime
) -> list[UUID]:
    """Retire at most ``CHUNK`` live entries and return their ids. Runs that started before still read them.

    One change of the ledger. Protected entries, and those retired or removed meanwhile, are skipped. With
    ``addressed_ones``, whose streams the caller has locked, their agents read on their logs that they are gone.
    """
    wanted = {each.entry_id: each for each in entries[: sql.CHUNK]}
    found = _lock_retirable(tenant_id, wanted)
    if not found:
        return []
    position = advance_head(tenant_id, entries=-len(found), retired=len(found))
    tenant = sql.key(tenant_id)
    spans = [(tenant, sql.key(ids.new_id()), sql.key(row), position) for row in found]
    sql.insert(Retirement, SPAN, spans, by=WRITER)
    for kind in sorted({str(each.kind) for each in wanted.values()}):
        of_kind = [row for row in found if wanted[row].kind == kind]
        _mark_retired(tenant_id, of_kind, kind, now)
        if addressed_ones:
            addressed.record_removal(
                tenant_id, of_kind, reason="deleted", actor=HOST, by=HOST, said=note_of_reason(kind), now=now
            )
    addressed.release_keys(tenant_id, found)
    return found


def _lock_retirable(tenant_id: UUID, entries: Collection[UUID]) -> list[UUID]:
    """Lock those of ``entries`` that a pass may retire, in the order of their keys, and return them in it."""
    condition, among = sql.among("id", [sql.key(row) for row in entries])
    locked = " FOR NO KEY UPDATE" if sql.is_postgres() else ""
    found = sql.rows(f"{RETIRABLE.format(condition)} ORDER BY id{locked}", [sql.key(tenant_id), among])
    return [sql.as_uuid(row) for (row,) in found]


def _mark_retired(tenant_id: UUID, entries: Collection[UUID], kind: str, now: datetime) -> None:
    condition, among = sql.among("id", [sql.key(row) for row in entries])
    with connection.cursor() as cursor:
        cursor.execute(MARK_RETIRED.format(condition), [sql.time_parameter(now), kind, sql.key(tenant_id), among])


# Entries that a person brings back together, because the pass that took them away was wrong.


@transaction.atomic
def restore_entries(
    scope: TenantScope, taken: Mapping[UUID, datetime], *, reason: str = "", now: datetime
) -> list[UUID]:
    """Restore at most ``CHUNK`` entries that are as a pass left them, protect them, and return their ids.

    ``taken`` says when the pass retired each: entries that were restored, retired or removed since stay as they are,
    and so do those whose key is occupied. One change of the ledger; the caller audits it, with the redacted ``reason``.
    """
    rows = list(taken)[: sql.CHUNK]
    lock_streams(scope.tenant_id, entries=rows)
    away = MemoryEntry.objects.in_scope(scope).select_for_update().filter(id__in=rows).exclude(retired_kind="")
    found = [row for row, at in away.order_by("id").values_list("id", "retired_at") if at == taken[row]]
    back = addressed.without_occupied_keys(scope.tenant_id, found)
    if not back:
        return []
    position = advance_head(scope.tenant_id, entries=len(back), retired=-len(back))
    own = {"tenant_id": scope.tenant_id}
    spans = Retirement.objects.written_by(WRITER).filter(**own, entry_id__in=back, until_position=None)
    spans.update(until_position=position)
    addressed.reclaim_keys(scope.tenant_id, back)
    addressed.record_return(
        scope.tenant_id, back, actor=scope.principal.id, by=scope.principal.id, said=note_of_reason(reason), now=now
    )
    shown = {"retired_at": None, "retired_reason": "", "retired_kind": "", "protected": True}
    MemoryEntry.objects.written_by(WRITER).filter(**own, id__in=back).update(**shown)
    return back


# Entries that come back by themselves, because what a pass had made of them is gone.


@transaction.atomic
def restore_retired(scope: TenantScope, rows: Collection[UUID], *, now: datetime) -> int:
    """Restore those of ``rows`` that a pass retired, except those whose key is occupied; returns how many."""
    away = MemoryEntry.objects.of(scope.tenant_id).filter(id__in=rows, retired_at__isnull=False)
    found = list(away.exclude(retired_kind="").order_by("id").values_list("id", flat=True))
    back = addressed.without_occupied_keys(scope.tenant_id, found)
    for row in back:
        restore_entry(scope, row, now=now)
    return len(back)
