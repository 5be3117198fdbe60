"""The head of the ledger, which numbers its changes; the locks of every write, and their order."""

from collections.abc import Collection
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from memory.host import event_log, sql
from memory.host.errors import NotFound
from memory.models.entry import LedgerHead, MemoryEntry

WRITER = "memory.ledger"
Gone = dict[str, datetime]
ADDRESSED = "SELECT id FROM memory_entryaddress WHERE tenant_id = %s AND "
RUNS = "SELECT run_id FROM memory_memoryentry WHERE tenant_id = %s AND "
ENTRIES = "SELECT id FROM memory_memoryentry WHERE tenant_id = %s AND {} ORDER BY id{}"
GONE = ("removed_at", "erased_at")
MOVE_HEAD = (
    "UPDATE memory_ledgerhead SET position = position + %s, entries = entries + %s, retired = retired + %s, "
    "removed_at = COALESCE(%s, removed_at), erased_at = COALESCE(%s, erased_at) "
    "WHERE tenant_id = %s AND id = %s RETURNING position"
)


def lock_entries(tenant_id: UUID, *, runs: Collection[UUID] = (), entries: Collection[UUID] = ()) -> list[UUID]:
    """Lock the streams of these runs and addressed entries, and the entries; returns those that exist.

    Everything locks in one order, so that there is no deadlock: namespaces, intents, coordinators, tasks, agents, the
    vault's key, streams, entries, the head of the ledger, and last the audit chain; several of one kind sorted. An
    address is locked after its entry, or by a rotation, which has the vault's key and locks addresses alone.
    """
    parts = list(sql.in_chunks(sorted(entries)))
    lock_streams(tenant_id, runs=runs, entries=entries)
    locked = " FOR NO KEY UPDATE" if sql.is_postgres() else ""
    held: list[UUID] = []
    for part in parts:
        condition, keys = sql.among("id", [sql.key(row) for row in part])
        found = sql.rows(ENTRIES.format(condition, locked), [sql.key(tenant_id), keys])
        held += [sql.as_uuid(row) for (row,) in found]
    return held


def lock_streams(tenant_id: UUID, *, runs: Collection[UUID] = (), entries: Collection[UUID] = ()) -> None:
    """Lock the streams of these runs and of those of the entries that have an address."""
    of_entries = (run for part in sql.in_chunks(sorted(entries)) for run in _runs_of(tenant_id, part))
    if streams := {*runs, *of_entries}:
        event_log.hold(tenant_id, streams)


def _runs_of(tenant_id: UUID, entries: Collection[UUID]) -> set[UUID]:
    """In two steps by keys: one statement would go through all entries by their runs, to have them distinct."""
    tenant = sql.key(tenant_id)
    condition, keys = sql.among("id", [sql.key(row) for row in entries])
    addressed = [row for (row,) in sql.rows(ADDRESSED + condition, [tenant, keys])]
    if not addressed:
        return set()
    condition, keys = sql.among("id", addressed)
    return {sql.as_uuid(run) for (run,) in sql.rows(RUNS + condition, [tenant, keys])}


def locked_entry(tenant_id: UUID, entry_id: UUID) -> MemoryEntry:
    entry: MemoryEntry | None = MemoryEntry.objects.of(tenant_id).select_for_update().filter(id=entry_id).first()
    if entry is None:
        raise NotFound("There is no memory entry by that id.")
    return entry


def advance_head(tenant_id: UUID, *, entries: int, retired: int, steps: int = 1, gone: Gone | None = None) -> int:
    """The ledger has changed: its position rises by ``steps``, its counts move. The row is locked until the commit.

    ``gone`` says when something was removed or replaced (``removal_times``), which housekeeping takes out of the files.
    """
    by = [steps, entries, retired, *(sql.time_parameter((gone or {}).get(name)) for name in GONE)]
    moved = _moved(tenant_id, by)
    if moved is None:  # the very first entry of a tenant
        opened = LedgerHead(tenant_id=tenant_id, id=tenant_id)
        LedgerHead.objects.written_by(WRITER).bulk_create([opened], ignore_conflicts=True)
        moved = _moved(tenant_id, by)
    if moved is None:
        raise RuntimeError("the ledger of the tenant has no head")
    return moved


def _moved(tenant_id: UUID, by: list[Any]) -> int | None:
    tenant = sql.key(tenant_id)
    found = sql.rows(MOVE_HEAD, [*by, tenant, tenant])
    return int(found[0][0]) if found else None


def removal_times(now: datetime, *, at_once: bool) -> Gone:
    """The times that ``advance_head`` stores of a removal; ``at_once`` when it was forgotten or is confidential."""
    return {"removed_at": now, **({"erased_at": now} if at_once else {})}


def position(tenant_id: UUID) -> int:
    """The number of the ledger's last change; 0 before the first."""
    found = _position().fetch(tenant_id)
    return int(found[0][0]) if found else 0


@cache
def _position() -> sql.CompiledQuery:
    tenant_id = UUID(int=0)
    return sql.CompiledQuery(LedgerHead.objects.of(tenant_id).values_list("position"), tenant_id)
