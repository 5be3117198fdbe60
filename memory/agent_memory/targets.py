"""Which entries a batch is about, and who may touch them (R100, RFC-0015 6.4).

Access is asked for every item before anything is told of any: whether a key is taken, in which version, or whether two
items mean one entry.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any
from uuid import UUID

from memory import adapter, harness, ledger, tiers
from memory.adapter import conditions
from memory.addresses import Address, Tier
from memory.agent_memory import entries
from memory.host.errors import Invalid, PreconditionRequired, Refusal, VersionMismatch
from memory.ledger import Given
from memory.tiers import Caller

if TYPE_CHECKING:
    from memory.models.address import EntryAddress


@dataclass(frozen=True, slots=True)
class Item:
    """An entry of a batch: made as ``given``, or changed in ``named`` of its fields when it is there already (R100).

    ``entry_id`` says which one is meant, and then nothing need be given; without it the address does. ``version`` is
    the one that is to be changed. ``fixed`` is what was said of it that no change can make so.
    """

    given: Given | None = None
    named: dict[str, Any] = field(default_factory=dict)
    entry_id: UUID | None = None
    version: int | None = None
    fixed: dict[str, str] = field(default_factory=dict)


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


def aimed(caller: Caller, items: Sequence[Item]) -> list[Target]:
    """The items with the places at which what they give is kept; nothing is looked up."""
    given = [item.given.address for item in items if item.given and item.entry_id is None]
    places = iter(ledger.kept_addresses(caller.tenant_id, given))
    return [
        Target(index, item, next(places) if item.given and item.entry_id is None else None)
        for index, item in enumerate(items)
    ]


def found(caller: Caller, targets: Sequence[Target], *, now: datetime) -> list[Target]:
    """The same with what is there, in a few queries for all of them."""
    named = [each.item.entry_id for each in targets if each.item.entry_id]
    held = ledger.held_at(caller.tenant_id, [each.place for each in targets if each.place])
    rows = adapter.rows_of(caller.tenant_id, list({*named, *held}))
    at = {_key_of(row): rows[row.id] for row in rows.values() if row.id in set(held)}
    return [_with_row(each, rows, at, now) for each in targets]


def _with_row(
    target: Target, rows: dict[UUID, "EntryAddress"], at: dict[object, "EntryAddress"], now: datetime
) -> Target:
    row = at.get(_key_of(target.place)) if target.place else rows.get(target.item.entry_id or UUID(int=0))
    there = row is not None and adapter.is_there(row, now)
    lapsed = row.id if row is not None and target.place and not there else None
    return Target(target.index, target.item, target.place, row if there else None, lapsed)


def _key_of(place: "Address | EntryAddress") -> object:
    return (None if place.tier == Tier.SEMANTIC else place.agent_id, place.namespace, place.key)


def require_access(caller: Caller, targets: Sequence[Target], *, now: datetime) -> None:
    """Refuse what the caller may not make at its place, whether something is there or not, or may not change."""
    rows = [each.row.id for each in targets if each.row]
    allowed = tiers.writable(caller, now=now)
    writable = set(conditions.meeting(caller.tenant_id, rows, allowed)) if rows else set()
    asked: set[object] = set()
    for each in targets:
        with At(each.index):
            if each.place and _right_of(each.place) not in asked:
                tiers.require_create(caller, each.place, now=now)
                asked.add(_right_of(each.place))
            if each.place is None and each.row is None:
                entries.require_addressed(entries.found(caller, each.item.entry_id, now))
            if each.row and each.row.id not in writable:
                tiers.require_write(caller, each.row, now=now)


def _right_of(place: Address) -> object:
    """What the right to make an entry may hang on: all of its place but the key."""
    shared = place.namespace if place.tier == Tier.SEMANTIC else None
    return place.agent_id, place.tier, shared, place.task_id, place.intent_id


def require_distinct(targets: Sequence[Target]) -> None:
    first: dict[object, int] = {}
    for each in targets:
        meant = each.row.id if each.row else each.lapsed or (each.place and _key_of(each.place)) or each.item.entry_id
        before = first.setdefault(meant, each.index)
        if before != each.index:
            with At(each.index):
                raise Invalid("The batch names an entry twice.", errors=[{"message": f"is that of entries.{before}"}])


def require_versions(targets: Sequence[Target]) -> None:
    """Refuse a version of what is not there, and a change of what is there that names none."""
    for each in targets:
        with At(each.index):
            if each.row is None and each.item.version:
                raise VersionMismatch("The entry is not there any more.", current_version=0)
            if each.row is not None and each.item.version is None:
                raise PreconditionRequired("An entry that is there already is changed by its version.")


def require_unmoved(caller: Caller, targets: Sequence[Target]) -> None:
    """Refuse an item that says of an entry what it is not, and no change can make it (R47)."""
    redactor = harness.for_tenant(caller.tenant_id)
    for each in targets:
        if each.row:
            said = {name: redactor.redact(text).text for name, text in each.item.fixed.items()}
            with At(each.index):
                _require_unmoved(each.row, said)


def _require_unmoved(row: "EntryAddress", said: dict[str, str]) -> None:
    shared = row.tier == Tier.SEMANTIC
    now = {"agent_id": row.agent_id, "namespace": row.namespace, "key": row.key, "memory_type": row.tier}
    now |= {"task_id": row.task_id, "intent_id": row.intent_id}
    wrong = [name for name, text in said.items() if text != now[name] and not (name == "agent_id" and shared)]
    if wrong:
        problems = [{"field": name, "message": "is not that of the entry, and never changes"} for name in wrong]
        raise Invalid("An entry keeps its place.", errors=problems)
