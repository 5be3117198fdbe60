"""Many entries at once, all or none: made and changed as given, or deleted by what they have in common (R100, R101).

A batch takes every lock that it needs before it changes anything, in the order of all others
(``ledger.head.lock_entries``), and asks once what is the same for all its entries.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import transaction

from memory import adapter, ledger, redaction
from memory.adapter import openintent
from memory.addresses import SEALED, TASK_LIFETIME, Address, Tier
from memory.host import sql
from memory.host.errors import Invalid, KeyExists, NotFound, PreconditionRequired, Refusal, VersionMismatch
from memory.host.json_types import JSONObject
from memory.ledger.addressed import NewAddressedEntry
from memory.ledger.entries import AddressedValue, StatedWrite
from memory.openintent import access, entries, namespaces, queries
from memory.openintent.access import Caller
from memory.openintent.capacity import Room
from memory.openintent.entries import Owners
from memory.openintent.queries import Wanted
from memory.origins import Origin

if TYPE_CHECKING:
    from memory.models.address import EntryAddress


MOST = 500
Stated = dict[int, StatedWrite]


# Which entries a batch is about, and who may touch them (R100, RFC-0015 6.4).
#
# Access is checked for every item before any state is revealed: whether a key is occupied, in which version, or whether
# two items mean one entry.


@dataclass(frozen=True, slots=True)
class Item:
    """An entry of a batch: made as ``given``, or changed in ``named`` of its fields when it is there already (R100).

    ``entry_id`` says which one is meant, and then nothing need be given; without it the address does. ``version`` is
    the one that is to be changed. ``fixed`` is what was said of it that no change can make so. ``origin`` is where the
    write of this entry came from, as the agent states it.
    """

    given: AddressedValue | None = None
    named: JSONObject = field(default_factory=dict)
    entry_id: UUID | None = None
    version: int | None = None
    fixed: dict[str, str] = field(default_factory=dict)
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """An item with its number, the place of what it gives, and what is found there: an entry, or one that lapsed."""

    index: int
    item: Item
    place: Address | None
    row: "EntryAddress | None" = None
    lapsed: UUID | None = None


class At:
    """A refusal inside says which entry of the batch it is about: ``index``, and ``errors`` with its place (R100)."""

    def __init__(self, index: int) -> None:
        self.index = index

    def __enter__(self) -> None:
        """Nothing is refused yet."""

    def __exit__(self, _: type[BaseException] | None, problem: BaseException | None, __: TracebackType | None) -> None:
        if not isinstance(problem, Refusal):
            return
        place = f"entries.{self.index}"
        found = problem.details.get("errors") or [{"message": problem.message}]
        errors = [each | {"field": f"{place}.{each['field']}" if "field" in each else place} for each in found]
        problem.details = problem.details | {"index": self.index, "errors": errors}


def resolve_target(caller: Caller, items: Sequence[Item]) -> list[Target]:
    """The items with the places at which what they give is kept; nothing is looked up."""
    given = [item.given.address for item in items if item.given and item.entry_id is None]
    places = iter(ledger.addressed.redacted_addresses(redaction.for_tenant(caller.tenant_id), given))
    return [
        Target(index, item, next(places) if item.given and item.entry_id is None else None)
        for index, item in enumerate(items)
    ]


def find_targets(caller: Caller, targets: Sequence[Target], *, now: datetime) -> list[Target]:
    """The same with what is there, in a few queries for all of them."""
    named = [each.item.entry_id for each in targets if each.item.entry_id]
    held = ledger.addressed.find_by_keys(caller.tenant_id, [each.place for each in targets if each.place])
    rows = adapter.openintent.addressed_rows(caller.tenant_id, list({*named, *held}))
    at = {row.unique: rows[row.id] for row in rows.values() if row.id in set(held)}
    return [_with_row(each, rows, at, now) for each in targets]


def _with_row(
    target: Target, rows: dict[UUID, "EntryAddress"], at: dict[tuple[str, str, str], "EntryAddress"], now: datetime
) -> Target:
    row = at.get(target.place.unique) if target.place else rows.get(target.item.entry_id or UUID(int=0))
    there = row is not None and adapter.openintent.is_live(row, now)
    lapsed = row.id if row is not None and target.place and not there else None
    return Target(target.index, target.item, target.place, row if there else None, lapsed)


def require_access(caller: Caller, targets: Sequence[Target], *, now: datetime) -> None:
    """Refuse what the caller may not make at its place, whether something is there or not, or may not change."""
    rows = [each.row.id for each in targets if each.row]
    allowed = access.writable(caller, now=now)
    writable = set(openintent.filter_meeting(caller.tenant_id, rows, allowed)) if rows else set()
    asked: set[object] = set()
    for each in targets:
        with At(each.index):
            if each.place and _right_of(each.place) not in asked:
                access.require_create(caller, each.place, now=now)
                asked.add(_right_of(each.place))
            if each.place is None and each.row is None:
                entries.require_addressed(entries.find_entry(caller, each.item.entry_id, now))
            if each.row and each.row.id not in writable:
                access.require_write(caller, each.row, now=now)


def _right_of(place: Address) -> object:
    """What the right to make an entry may hang on: all of its place but the key."""
    shared = place.namespace if place.tier == Tier.SEMANTIC else None
    return place.agent_id, place.tier, shared, place.task_id, place.intent_id


def require_distinct(targets: Sequence[Target]) -> None:
    first: dict[object, int] = {}
    for each in targets:
        meant = each.row.id if each.row else each.lapsed or (each.place and each.place.unique) or each.item.entry_id
        before = first.setdefault(meant, each.index)
        if before != each.index:
            with At(each.index):
                raise Invalid("The batch names an entry twice.", errors=[{"message": f"is that of entries.{before}"}])


def require_versions(targets: Sequence[Target]) -> None:
    """Refuse a version of what is not there, and a change of what is there that names none."""
    for each in targets:
        with At(each.index):
            if each.row is None and each.item.version:
                raise VersionMismatch("The entry no longer exists.", current_version=0)
            if each.row is not None and each.item.version is None:
                raise PreconditionRequired("An existing entry is changed by its version.")


def require_same_places(caller: Caller, targets: Sequence[Target]) -> None:
    """Refuse an item that says of an entry what it is not, and no change can make it (R47)."""
    for each in targets:
        if each.row:
            with At(each.index):
                entries.require_same_place(caller, each.row, each.item.fixed)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The entries as they are now, in the order in which they were given, and how many of them are new."""

    rows: list["EntryAddress"]
    created: int


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a batch will do, by the number of the item: entries to be made, and changed, and those that stay so; and
    what is stated of changes, by entry."""

    new: dict[int, NewAddressedEntry] = field(default_factory=dict)
    changed: dict[int, tuple["EntryAddress", AddressedValue]] = field(default_factory=dict)
    same: dict[int, "EntryAddress"] = field(default_factory=dict)
    stated: dict[UUID, StatedWrite] = field(default_factory=dict)


@transaction.atomic
def write(caller: Caller, items: Sequence[Item], *, now: datetime) -> Outcome:
    """Every item is an entry: a new one, or the next version of the one it names. The first refusal refuses all."""
    caller.scope.check(access.WRITE)
    aimed = resolve_target(caller, items)
    made = entries.lock_namespaces(caller, [each.place for each in aimed if each.place], now=now)
    found = find_targets(caller, aimed, now=now)
    require_access(caller, found, now=now)
    require_distinct(found)
    require_versions(found)
    require_same_places(caller, found)
    places = [each.place for each in found if each.place and each.row is None]
    owners = entries.lock_owners(caller, places, [each.row for each in found if each.row], now=now)
    _require_still(caller, found, now)
    outcome = _carry_out(caller, found, owners, _stated_writes(caller, found, now), now)
    namespaces.audit_changes(made, actor=caller.scope.principal.id, now=now)
    return outcome


@transaction.atomic
def delete(caller: Caller, wanted: Wanted, *, now: datetime) -> list[UUID]:
    """Delete every entry that ``wanted`` finds and the caller may write, on all pages; returns which.

    Refuses an empty filter. Entries that changed meanwhile and no longer match stay.
    """
    caller.scope.check(access.WRITE)
    if not wanted.narrows:
        raise refused("filter", "must say which entries are meant")
    held = set(ledger.head.lock_entries(caller.tenant_id, entries=_writable(caller, wanted, now)))
    going = [row for row in _writable(caller, wanted, now) if row in held] if held else []
    for part in sql.in_chunks(going):
        ledger.erase.remove_entries(
            caller.tenant_id,
            part,
            reason="deleted",
            actor=caller.agent_id,
            by=caller.scope.principal.id,
            held=True,
            now=now,
        )
    return going


def _writable(caller: Caller, wanted: Wanted, now: datetime) -> list[UUID]:
    """What ``wanted`` finds, as far as the caller may change it: what it only reads is left as if it were not there."""
    seen = queries.ids_matching(caller, wanted, now=now)
    return openintent.filter_meeting(caller.tenant_id, seen, access.writable(caller, now=now)) if seen else []


def _require_still(caller: Caller, found: Sequence[Target], now: datetime) -> None:
    """Refuse when another request was first at a key. From here on the key is locked."""
    again = find_targets(caller, [each for each in found if each.place], now=now)
    before = {each.index: each.row for each in found}
    for each in again:
        if each.row and before[each.index] != each.row:
            with At(each.index):
                raise KeyExists(**entries.state_of(each.row))


def _stated_writes(caller: Caller, found: Sequence[Target], now: datetime) -> Stated:
    """The runs elsewhere that the items say they are of, by the number of the item; opened and held in one order."""
    stated: Stated = {}
    known: dict[tuple[str, str, str], StatedWrite] = {}
    named = [(each.item.origin, each.index) for each in found if each.item.origin]
    for origin, index in sorted(named, key=lambda each: (_run_of(each[0]), each[1])):
        with At(index):
            write = known.get(_run_of(origin)) or entries.stated_write(caller, origin, now=now)
        known[_run_of(origin)] = write
        stated[index] = replace(write, origin=origin.within(caller.scope.traceparent))
    return stated


def _run_of(origin: Origin) -> tuple[str, str, str]:
    return origin.system, origin.run_ref, origin.thread_id


def _carry_out(caller: Caller, found: Sequence[Target], owners: Owners, stated: Stated, now: datetime) -> Outcome:
    """All that is refused is refused before the first entry goes, is made or is changed."""
    owners = replace(owners, logs=owners.logs | {each.run_id for each in stated.values()})
    rows = [each.row for each in found if each.row]
    room = Room([each.place for each in found if each.place and each.row is None], rows, now=now)
    going = room.evicted(list(owners.agents.values()))
    lapsed = [each.lapsed for each in found if each.lapsed]
    seals = any(_is_sealed(each) for each in found)
    closed = [each.row.id for each in found if each.row and not each.row.is_sealed and _is_sealed(each)]
    beside = [more for row in closed for more in entries.dependents(caller.tenant_id, row)]
    entries.lock_rows(caller, owners, {*(row.id for row in rows), *going, *lapsed, *beside}, seals=seals, now=now)
    plan = _planned(caller, found, owners, stated, room, now)
    entries.remove(caller, going, "evicted", now=now)
    entries.remove(caller, lapsed, "expired", now=now)
    return _stored(caller, plan, now)


def _planned(
    caller: Caller, found: Sequence[Target], owners: Owners, stated: Stated, room: Room, now: datetime
) -> _Plan:
    held = ledger.addressed.lock_addresses(caller.tenant_id, [each.row.id for each in found if each.row])
    locked, plan = {row.id: row for row in held}, _Plan()
    for each in found:
        with At(each.index):
            if each.row:
                _plan_change(caller, each, locked.get(each.row.id), owners, room, plan, now)
            else:
                _plan_new(caller, each, owners, room, plan, now)
                plan.new[each.index] = entries.with_statement(plan.new[each.index], stated.get(each.index))
    plan.stated.update({row.id: stated[index] for index, (row, _) in plan.changed.items() if index in stated})
    return plan


def _plan_new(caller: Caller, target: Target, owners: Owners, room: Room, plan: _Plan, now: datetime) -> None:
    place, given = target.place, target.item.given
    if place is None or given is None:
        raise NotFound("There is no memory entry by that id.")
    size = entries.require_size(given.value)
    plan.new[target.index] = entries.resolve_places(caller, given, owners, now=now)
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
        entries.require_under_way(task, row.task_id)
    wanted = entries.revise(caller, row, target.item.named, task, room, now=now)
    if wanted is None:
        plan.same[target.index] = row
    else:
        plan.changed[target.index] = (row, wanted)


def _stored(caller: Caller, plan: _Plan, now: datetime) -> Outcome:
    """The entries of the plan are as planned."""
    rows, actor = dict(plan.same), caller.agent_id
    if plan.new:
        new = ledger.addressed.write_addressed(caller.scope, list(plan.new.values()), actor=actor, now=now)
        rows |= dict(zip(plan.new, new, strict=True))
    if plan.changed:
        opened = [row for row, _ in plan.changed.values() if not row.is_sealed]
        changed = ledger.addressed.rewrite_all(
            caller.scope, list(plan.changed.values()), actor=actor, stated=plan.stated, now=now
        )
        rows |= dict(zip(plan.changed, changed, strict=True))
        for row in opened:
            if row.is_sealed:
                entries.remove_derived(row, now=now)
    return Outcome([rows[index] for index in sorted(rows)], len(plan.new))


def _is_sealed(target: Target) -> bool:
    given = target.place is not None and target.place.is_sealed
    return given or target.item.named.get("sensitivity") in SEALED or (target.row is not None and target.row.is_sealed)


def refused(field: str, message: str) -> Invalid:
    return Invalid("The batch cannot be understood.", errors=[{"field": field, "message": message}])
