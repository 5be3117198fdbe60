"""An entry that becomes confidential (RFC-0015 9.2, R93): what it said in the open is nowhere in clear from then on.

The ledger seals the entry itself. What passes made of it goes here, and what runs read of it or of that is blanked: a
replay that needs it is refused. What a run has made of it by itself is that run's.
"""

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from memory import adapter, archives, kept_reads, ledger, lineage
from memory.host import tenancy
from memory.host.models import Tenant
from memory.models import LineageKind

if TYPE_CHECKING:
    from memory.models.address import EntryAddress

TAKEN_IN = frozenset({LineageKind.MERGED, LineageKind.COMPACTED})
REASON = "forgotten"


def beside(tenant_id: UUID, entry_id: UUID) -> list[UUID]:
    """The entries that change with it, to be locked before anything does: what passes made of it, and of what else, and
    those that stand for archives."""
    made = _made_of(tenant_id, entry_id)
    archived = archives.entries_resting_on(tenant_id, [entry_id, *made])
    return sorted({*made, *_sources_of(tenant_id, made), *archived} - {entry_id})


def close(row: "EntryAddress", *, now: datetime) -> None:
    """No entry and no archive that a pass made of it is there any more, nor what runs read of all these. What else had
    gone into them is read again, and their ref waits to be distilled from what remains.

    In the transaction of the change, behind it, and under its locks.
    """
    tenant_id, made = row.tenant_id, _made_of(row.tenant_id, row.id)
    others = _sources_of(tenant_id, made) - {row.id, *made}
    for part in _parts(made):
        ledger.remove(tenant_id, part, reason=REASON, now=now)
    lost = archives.seal_made_of(tenant_id, [row.id, *made], row.entry.memory_ref, now=now)
    read = [each.entry_id for each in lost if each.entry_id]
    kept_reads.blank_entries(tenant_id, [row.id, *made, *read])
    if others:
        host = tenancy.host_scope(Tenant.objects.get(id=tenant_id), scopes=frozenset({"memory:retire"}))
        ledger.give_back(host, others, now=now)
    archives.redistil(tenant_id, lost, now=now)


def _made_of(tenant_id: UUID, entry_id: UUID) -> list[UUID]:
    """The entries that have the text of this one in them, because a pass put it there."""
    found: set[UUID] = set()
    fresh: Collection[UUID] = {entry_id}
    while fresh:
        came = lineage.came_of(tenant_id, fresh)
        into = {each.target_id for rows in came.values() for each in rows if each.kind in TAKEN_IN}
        fresh = adapter.derived_among(tenant_id, list(into - found))
        found |= fresh
    return sorted(found)


def _sources_of(tenant_id: UUID, made: Collection[UUID]) -> set[UUID]:
    rows = lineage.sources_of(tenant_id, made).values() if made else []
    return {each.source_id for of_one in rows for each in of_one if each.kind in TAKEN_IN}


def _parts(rows: list[UUID]) -> list[tuple[UUID, ...]]:
    return [tuple(rows[first : first + ledger.CHUNK]) for first in range(0, len(rows), ledger.CHUNK)]
