"""Erasing entries: names and reasons overwritten, rows removed in chunks, what was erased on record."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Max

from memory import addresses
from memory.event_notes import Note
from memory.host import sql
from memory.host.expiry import EXPIRED
from memory.ledger import addressed, index
from memory.ledger.head import WRITER, advance_head, lock_entries, removal_times
from memory.models.address import EntryAddress
from memory.models.entry import LedgerHead, MemoryEntry, Tombstone

TABLES = (
    ("memory_entrytag", "id"),
    ("memory_retirement", "entry_id"),
    ("memory_strength", "id"),
    ("memory_lookalike", "older_id"),
    ("memory_lookalike", "newer_id"),
    ("memory_entryaddress", "id"),
    ("memory_memoryentry", "id"),
)
GOING = (
    "SELECT id, run_id, retired_at IS NOT NULL, position, search_text, sealed, memory_ref FROM memory_memoryentry "
    "WHERE tenant_id = %s AND {which}"
)
GOING_LAPSED = f"{GOING} AND {EXPIRED.format(column='expires_at')}"
STONE = ("tenant_id", "id", "run_id", "reason", "removed_at")


# What a forget takes from entries that stay, and what housekeeping asks about those that are gone.


@transaction.atomic
def erase_names(tenant_id: UUID, entry_id: UUID, names: Mapping[str, str]) -> int:
    """The entry names others in these columns, of its address or its own; whether there is such an entry. Its value,
    its key and its version stay. For forgetting alone."""
    entries = MemoryEntry.objects.written_by(WRITER).filter(tenant_id=tenant_id, id=entry_id)
    own_address = EntryAddress.objects.written_by(WRITER).filter(tenant_id=tenant_id, id=entry_id)
    list(entries.select_for_update().values_list("id"))
    advance_head(tenant_id, entries=0, retired=0, steps=0)  # the agent's counts change under its lock
    if "agent_id" in names and _has_other_owned(tenant_id, entry_id, names["agent_id"]):
        names = {**names, "agent_id": f"forgotten-{entry_id.hex}"}
    changed: int = own_address.update(**names)
    own = {name: value for name, value in names.items() if name == "agent_id"}
    return max(changed, entries.update(**own)) if own else changed


def _has_other_owned(tenant_id: UUID, entry_id: UUID, agent_id: str) -> bool:
    """Whether ``agent_id`` owns another entry at this one's namespace and key, as where two agents were forgotten."""
    owned = EntryAddress.objects.of(tenant_id).exclude(tier=addresses.Tier.SEMANTIC).filter(hidden=False)
    place = owned.filter(id=entry_id).values("namespace", "key").first()
    return place is not None and owned.filter(agent_id=agent_id, **place).exclude(id=entry_id).exists()


def erase_reasons(tenant_id: UUID, entry_ids: Sequence[UUID], reason: str) -> int:
    """The entries were retired for ``reason``, whatever it was. For forgetting alone."""
    entries = MemoryEntry.objects.written_by(WRITER).filter(tenant_id=tenant_id, id__in=entry_ids)
    return int(entries.update(retired_reason=reason))


@transaction.atomic
def mark_erased(tenant_id: UUID, *, now: datetime) -> None:
    """Record that something outside the ledger was forgotten, so that housekeeping removes it from the files too."""
    advance_head(tenant_id, entries=0, retired=0, steps=0, gone=removal_times(now, at_once=True))


def last_erased() -> datetime | None:
    """When something of any tenant was last forgotten, or removed while confidential."""
    found: datetime | None = LedgerHead.objects.aggregate(last=Max("erased_at"))["last"]
    return found


def removed_since(moment: datetime, *, at_once: bool = False) -> bool:
    """Whether something of any tenant was removed or replaced at that moment or later; with ``at_once``, something
    forgotten or confidential."""
    return bool(LedgerHead.objects.filter(**{"erased_at__gte" if at_once else "removed_at__gte": moment}).exists())


# Entries removed for good: forgotten, expired, or of a host without durable memory. A tombstone stays of each.


class Going(NamedTuple):
    """What is needed of an entry that is being removed; ids in the engine's form."""

    id: Any
    run_id: Any
    is_retired: bool
    position: int
    search_text: str
    sealed: bool
    memory_ref: str


@transaction.atomic
def remove_entries(
    tenant_id: UUID,
    rows: Sequence[UUID],
    *,
    reason: str,
    actor: str = "",
    by: str = "",
    said: Note = addressed.NOTHING_SAID,
    lapsed: bool = False,
    held: bool = False,
    now: datetime,
) -> int:
    """Delete at most ``CHUNK`` of ``rows``, with their tags; a tombstone without content remains of each.

    For an addressed entry the fact is appended to its stream, as done by the agent ``actor`` or by its owner (RFC-0015
    5), with the principal ``by`` and what was ``said`` beside it; the fact of archived ones is the archival's. With
    ``lapsed``, an entry whose expiry was moved meanwhile stays. Locks the rows, unless the caller passes the ``held``
    ones.
    """
    going = rows[: sql.CHUNK] if held else lock_entries(tenant_id, entries=rows[: sql.CHUNK])
    tenant, at = sql.key(tenant_id), sql.time_parameter(now)
    which, keys = sql.among("id", [sql.key(row) for row in going])
    statement = (GOING_LAPSED if lapsed else GOING).format(which=which)
    given = [tenant, keys, at] if lapsed else [tenant, keys]
    found = [Going(*row) for row in sql.rows(statement, given)]
    if not found:
        return 0
    stones = [(tenant, row.id, row.run_id, reason, at) for row in found]
    sql.insert(Tombstone, STONE, stones, by=WRITER)
    with_address = [sql.as_uuid(row.id) for row in found if addresses.is_addressed(row.memory_ref)]
    if with_address:
        addressed.record_removal(tenant_id, with_address, reason=reason, actor=actor, by=by, said=said, now=now)
    retired = sum(1 for row in found if row.is_retired)
    gone = removal_times(now, at_once=reason == "forgotten" or any(row.sealed for row in found))
    advance_head(tenant_id, entries=retired - len(found), retired=-retired, gone=gone)
    index.remove_from_index(tenant_id, [(row.position, row.search_text) for row in found])
    _delete(tenant_id, [row.id for row in found])
    return len(found)


def _delete(tenant_id: UUID, keys: list[object]) -> None:
    with connection.cursor() as cursor:
        for table, column in TABLES:
            condition, given = sql.among(column, keys)
            cursor.execute(f"DELETE FROM {table} WHERE tenant_id = %s AND {condition}", [sql.key(tenant_id), given])  # noqa: S608


def expired_rows(*, now: datetime, limit: int = sql.CHUNK) -> list[tuple[UUID, UUID]]:
    """Expired entries of all tenants that the sweep has not removed yet, at most ``limit``."""
    rows = MemoryEntry.objects.expired(now).order_by("expires_at")
    return list(rows.values_list("tenant_id", "id")[:limit])


def ephemeral_rows(instance: str, *, limit: int = sql.CHUNK) -> list[tuple[UUID, UUID]]:
    """Entries of all tenants that ``instance`` wrote while it had no durable memory, at most ``limit``."""
    return list(MemoryEntry.objects.ephemeral_of(instance).values_list("tenant_id", "id")[:limit])


def merged_away_rows(tenant_id: UUID, *, before: datetime) -> list[tuple[UUID, str]]:
    """Entries that passes retired before then and that were not restored, each with the reason; at most ``CHUNK``."""
    rows = MemoryEntry.objects.of(tenant_id).filter(retired_at__lt=before).exclude(retired_kind="")
    return list(rows.order_by("retired_at").values_list("id", "retired_kind")[: sql.CHUNK])
