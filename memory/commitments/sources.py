"""Where an intention stands today: in its own entry, or in the one that passes have made of it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory import adapter, lineage
from memory.adapter import Standing
from memory.models import Lineage, LineageKind

LIVE, FORGOTTEN = "live", "forgotten"
TAKEN_IN = frozenset({LineageKind.MERGED, LineageKind.COMPACTED})
LONGEST_LINEAGE = 20
NOWHERE = Standing("", there=False)


@dataclass(slots=True)
class Source:
    """The way from an entry to the one that says so ``today``; None when there is none.

    ``merged`` is as far as it was merged alone, so that both entries say the same. ``returns``: somebody may restore
    one on the way. ``forgotten``: the entry itself was.
    """

    at: UUID
    merged: UUID
    today: UUID | None = None
    returns: bool = False
    forgotten: bool = False


def source_of(tenant_id: UUID, entry_id: UUID, *, now: datetime) -> Source:
    return sources_of(tenant_id, [entry_id], now=now)[entry_id]


def sources_of(tenant_id: UUID, entry_ids: Collection[UUID], *, now: datetime) -> dict[UUID, Source]:
    """The source of what stands in each of these entries; some queries for each generation, however many they are."""
    found = {each: Source(each, each) for each in entry_ids}
    walking = list(found.values())
    for generation in range(LONGEST_LINEAGE):
        if not walking:
            break
        standing = adapter.standing_of(tenant_id, {each.at for each in walking}, now=now)
        for each in walking:
            _stop_at(each, standing.get(each.at, NOWHERE), first=generation == 0)
        taken = [each for each in walking if standing.get(each.at, NOWHERE).what in TAKEN_IN]
        into = lineage.came_of(tenant_id, {each.at for each in taken}) if taken else {}
        walking = [each for each in taken if _go_on(each, into.get(each.at, []))]
    return found


def _stop_at(source: Source, standing: Standing, *, first: bool) -> None:
    if standing.what == LIVE:
        source.today = source.at
    source.returns = source.returns or standing.there
    source.forgotten = source.forgotten or (first and standing.what == FORGOTTEN)


def _go_on(source: Source, went_into: Iterable[Lineage]) -> bool:
    """Whether there is one further on, at which the way is now: the last that it went into."""
    into = [each for each in went_into if each.kind in TAKEN_IN]
    if not into:
        return False
    if into[-1].kind == LineageKind.MERGED and source.merged == source.at:
        source.merged = into[-1].target_id
    source.at = into[-1].target_id
    return True


def taken_into(tenant_id: UUID, entry_id: UUID) -> set[UUID]:
    """The entry, and every one that passes have made it of."""
    found, fresh = {entry_id}, {entry_id}
    for _ in range(LONGEST_LINEAGE):
        rows = lineage.sources_of(tenant_id, fresh).values() if fresh else []
        fresh = {each.source_id for of_one in rows for each in of_one if each.kind in TAKEN_IN} - found
        found |= fresh
    return found
