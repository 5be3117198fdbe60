"""Many entries at once, all or none: made and changed as given, or deleted by what they have in common (R100, R101).

A batch takes every lock that it needs before it changes anything, in the order of all others (``ledger.hold``), and
asks once what is the same for all its entries.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import transaction

from memory import ledger, namespaces, tiers
from memory.adapter import conditions
from memory.addresses import SEALED, TASK_LIFETIME, Tier
from memory.agent_memory import bounds, closing, entries, placing, queries, targets
from memory.agent_memory.capacity import Room
from memory.agent_memory.placing import Owners
from memory.agent_memory.queries import Wanted
from memory.agent_memory.targets import At, Item, Target
from memory.host.errors import Invalid, KeyExists, NotFound
from memory.ledger import Given, New
from memory.tiers import Caller

if TYPE_CHECKING:
    from memory.models.address import EntryAddress

MOST = 500


@dataclass(frozen=True, slots=True)
class Outcome:
    """The entries as they are now, in the order in which they were given, and how many of them are new."""

    rows: list["EntryAddress"]
    created: int


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a batch will do, by the number of the item: entries to be made, and changed, and those that stay so."""

    new: dict[int, New] = field(default_factory=dict)
    changed: dict[int, tuple["EntryAddress", Given]] = field(default_factory=dict)
    same: dict[int, "EntryAddress"] = field(default_factory=dict)


@transaction.atomic
def write(caller: Caller, items: Sequence[Item], *, now: datetime) -> Outcome:
    """Every item is an entry: a new one, or the next version of the one it names. The first refusal refuses all."""
    caller.scope.check(tiers.WRITE)
    if not 0 < len(items) <= MOST:
        raise _refused("entries", f"must be a list of 1 to {MOST}")
    aimed = targets.aimed(caller, items)
    made = placing.hold_namespaces(caller, [each.place for each in aimed if each.place], now=now)
    found = targets.found(caller, aimed, now=now)
    targets.require_access(caller, found, now=now)
    targets.require_distinct(found)
    targets.require_versions(found)
    targets.require_unmoved(caller, found)
    places = [each.place for each in found if each.place and each.row is None]
    owners = placing.hold_owners(caller, places, [each.row for each in found if each.row], now=now)
    _require_still(caller, found, now)
    outcome = _carry_out(caller, found, owners, now)
    namespaces.put_on_record(made, actor=caller.scope.principal.id, now=now)
    return outcome


@transaction.atomic
def delete(caller: Caller, wanted: Wanted, *, now: datetime) -> list[UUID]:
    """All that ``wanted`` finds and the caller may write is gone, on whatever page it stands; which entries they were.

    Refuses a filter that asks for nothing. What has changed meanwhile so that it is not meant any more stays.
    """
    caller.scope.check(tiers.WRITE)
    if not wanted.narrows:
        raise _refused("filter", "must say which entries are meant")
    held = set(ledger.hold(caller.tenant_id, entries=_writable(caller, wanted, now)))
    going = [row for row in _writable(caller, wanted, now) if row in held] if held else []
    for at in range(0, len(going), ledger.CHUNK):
        part = tuple(going[at : at + ledger.CHUNK])
        ledger.remove(caller.tenant_id, part, reason="deleted", actor=caller.agent_id, held=True, now=now)
    return going


def _writable(caller: Caller, wanted: Wanted, now: datetime) -> list[UUID]:
    """What ``wanted`` finds, as far as the caller may change it: what it only reads is left as if it were not there."""
    seen = queries.ids_matching(caller, wanted, now=now)
    return conditions.meeting(caller.tenant_id, seen, tiers.writable(caller, now=now)) if seen else []


def _require_still(caller: Caller, found: Sequence[Target], now: datetime) -> None:
    """Refuse when somebody was quicker at a key, which nobody else takes from here on."""
    again = targets.found(caller, [each for each in found if each.place], now=now)
    before = {each.index: each.row for each in found}
    for each in again:
        if each.row and before[each.index] != each.row:
            with At(each.index):
                raise KeyExists(**entries.state_of(each.row))


def _carry_out(caller: Caller, found: Sequence[Target], owners: Owners, now: datetime) -> Outcome:
    """All that is refused is refused before the first entry goes, is made or is changed."""
    rows = [each.row for each in found if each.row]
    room = Room([each.place for each in found if each.place and each.row is None], rows, now=now)
    going = room.evicted(list(owners.agents.values()))
    lapsed = [each.lapsed for each in found if each.lapsed]
    seals = any(_is_sealed(each) for each in found)
    closed = [each.row.id for each in found if each.row and not each.row.is_sealed and _is_sealed(each)]
    beside = [more for row in closed for more in closing.beside(caller.tenant_id, row)]
    placing.hold_rows(caller, owners, {*(row.id for row in rows), *going, *lapsed, *beside}, seals=seals, now=now)
    plan = _planned(caller, found, owners, room, now)
    placing.remove(caller, going, "evicted", now=now)
    placing.remove(caller, lapsed, "expired", now=now)
    return _stored(caller, plan, now)


def _planned(caller: Caller, found: Sequence[Target], owners: Owners, room: Room, now: datetime) -> _Plan:
    held = ledger.locked_all(caller.tenant_id, [each.row.id for each in found if each.row])
    locked, plan = {row.id: row for row in held}, _Plan()
    for each in found:
        with At(each.index):
            if each.row:
                _plan_change(caller, each, locked.get(each.row.id), owners, room, plan, now)
            else:
                _plan_new(caller, each, owners, room, plan, now)
    return plan


def _plan_new(caller: Caller, target: Target, owners: Owners, room: Room, plan: _Plan, now: datetime) -> None:
    place, given = target.place, target.item.given
    if place is None or given is None:
        raise NotFound("There is no memory entry by that id.")
    size = bounds.require_size(given.value)
    plan.new[target.index] = placing.placed(caller, given, owners, now=now)
    room.take(place, size, owners.tasks.get(place.task_id), owners.agents[place.agent_id])


def _plan_change(
    caller: Caller,
    target: Target,
    row: "EntryAddress | None",
    owners: Owners,
    room: Room,
    plan: _Plan,
    now: datetime,
) -> None:
    if row is None:
        raise NotFound("There is no memory entry by that id.")
    entries.require_version(row, target.item.version, now)
    task = owners.tasks.get(row.task_id)
    if row.tier != Tier.WORKING and target.item.named.get("ttl") == TASK_LIFETIME:
        placing.require_under_way(task, row.task_id)
    wanted = entries.revised(caller, row, target.item.named, task, room, now=now)
    if wanted is None:
        plan.same[target.index] = row
    else:
        plan.changed[target.index] = (row, wanted)


def _stored(caller: Caller, plan: _Plan, now: datetime) -> Outcome:
    """The entries of the plan are as planned."""
    rows, actor = dict(plan.same), caller.agent_id
    if plan.new:
        new = ledger.write_addressed(caller.scope, list(plan.new.values()), actor=actor, now=now)
        rows |= dict(zip(plan.new, new, strict=True))
    if plan.changed:
        opened = [row for row, _ in plan.changed.values() if not row.is_sealed]
        changed = ledger.rewrite_all(caller.scope, list(plan.changed.values()), actor=actor, now=now)
        rows |= dict(zip(plan.changed, changed, strict=True))
        for row in opened:
            if row.is_sealed:
                closing.close(row, now=now)
    return Outcome([rows[index] for index in sorted(rows)], len(plan.new))


def _is_sealed(target: Target) -> bool:
    given = target.place is not None and target.row is None and target.place.is_sealed
    return given or target.item.named.get("sensitivity") in SEALED or (target.row is not None and target.row.is_sealed)


def _refused(field: str, message: str) -> Invalid:
    return Invalid("The batch cannot be understood.", errors=[{"field": field, "message": message}])
