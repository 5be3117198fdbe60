"""One entry made, read, changed and deleted (RFC-0015 1 to 3). Whoever may not touch it learns nothing of its state.

The task, the agent or the namespace is locked first: entries are counted and keys are looked up under that lock, so
that of two at once one is behind the other.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import transaction

from memory import adapter, ledger, namespaces, tiers, work
from memory.addresses import SEALED, TASK_LIFETIME, Address, Tier
from memory.agent_memory import bounds, changes, closing, placing
from memory.agent_memory.capacity import Room
from memory.agent_memory.documents import entry_document
from memory.agent_memory.placing import Owners
from memory.host import vault
from memory.host.errors import Forbidden, KeyExists, NotFound, VersionMismatch
from memory.ledger import Given
from memory.models import Task
from memory.tiers import Caller

if TYPE_CHECKING:
    from memory.models.address import EntryAddress


@transaction.atomic
def create(caller: Caller, given: Given, *, now: datetime) -> "EntryAddress":
    """The entry, in its first version. It takes the place of one of its key that has lapsed."""
    caller.scope.check(tiers.WRITE)
    places = ledger.kept_addresses(caller.tenant_id, [given.address])
    made = placing.hold_namespaces(caller, places, now=now)
    tiers.require_create(caller, places[0], now=now)
    size = bounds.require_size(given.value)
    owners = placing.hold_owners(caller, places, now=now)
    new = placing.placed(caller, given, owners, now=now)
    lapsed = _require_free(caller, places[0], now)
    _make_room(caller, places[0], size, owners, lapsed, now)
    [row] = ledger.write_addressed(caller.scope, [new], actor=caller.agent_id, now=now)
    namespaces.put_on_record(made, actor=caller.scope.principal.id, now=now)
    return row


def get(caller: Caller, entry_id: UUID | None, *, now: datetime) -> "EntryAddress":
    """The entry, for who may read it; it is the last to be evicted when its owner has read it (R37). Refused when its
    value is sealed and does not open."""
    row = found(caller, entry_id, now)
    if not adapter.is_plain(row):
        tiers.require_read(caller, row, now=now)
    if row.is_sealed:
        ledger.value_of(row)
    refresh(caller, [row], now=now)
    return row


def refresh(caller: Caller, rows: Sequence["EntryAddress"], *, now: datetime) -> None:
    """What of these is the caller's own, and could be evicted, has been accessed now."""
    own = [row.id for row in rows if row.tier == Tier.EPISODIC and row.agent_id == caller.agent_id]
    if own:
        ledger.touch(caller.tenant_id, own, now=now)


@transaction.atomic
def update(
    caller: Caller, entry_id: UUID | None, version: int, named: dict[str, Any], *, now: datetime
) -> "EntryAddress":
    """The entry with the ``named`` fields replaced whole, in its next version; as it was when nothing is different.

    Refuses with ``VersionMismatch``, and the entry as it is, unless ``version`` is the current one (RFC-0015 3.1).
    """
    seals, binds = named.get("sensitivity") in SEALED, named.get("ttl") == TASK_LIFETIME
    row, task = _locked(caller, entry_id, version, now, seals=seals, binds=binds)
    was_sealed, wanted = row.is_sealed, revised(caller, row, named, task, Room(now=now), now=now)
    if wanted is None:
        return row
    changed = ledger.rewrite(caller.scope, row, wanted, actor=caller.agent_id, now=now)
    if changed.is_sealed and not was_sealed:
        closing.close(changed, now=now)
    return changed


def revised(
    caller: Caller, row: "EntryAddress", named: dict[str, Any], task: Task | None, room: Room, *, now: datetime
) -> Given | None:
    """What the locked entry is with the ``named`` fields, as it may be stored; None when nothing is different."""
    before = changes.given_of(row)
    wanted = changes.applied(before, named, created_at=row.created_at, now=now)
    if changes.same(before, wanted):
        return None
    size = bounds.require_size(wanted.value)
    bounds.require_future(wanted.expires_at, now=now)
    room.grow(row, size, task)
    if row.tier == Tier.SEMANTIC:
        wanted = replace(wanted, address=replace(wanted.address, curated_by=caller.agent_id))
    return wanted


@transaction.atomic
def delete(caller: Caller, entry_id: UUID | None, version: int | None, *, now: datetime) -> UUID:
    """The entry is gone for good; which one it was. ``version`` is looked at when it was said (R48)."""
    row, _ = _locked(caller, entry_id, version, now)
    ledger.remove(caller.tenant_id, (row.id,), reason="deleted", actor=caller.agent_id, held=True, now=now)
    return UUID(bytes=row.id.bytes)


def found(caller: Caller, entry_id: UUID | None, now: datetime) -> "EntryAddress":
    """The entry of that id; one that a run wrote for who may read it, and only for reading."""
    row = adapter.readable(caller.tenant_id, entry_id, now=now) if entry_id else None
    return row or _plain(caller, entry_id, now)


def _plain(caller: Caller, entry_id: UUID | None, now: datetime) -> "EntryAddress":
    """What a run wrote in the name of an agent, for that agent and for operators."""
    caller.scope.check(tiers.READ)
    row = adapter.plain(caller.tenant_id, entry_id, now=now) if entry_id else None
    if row is None:
        raise NotFound("There is no memory entry by that id.")
    if not caller.operates and row.agent_id != caller.agent_id:
        raise Forbidden("This agent may not read that memory entry.", rule="memory-tier")
    return row


def _locked(
    caller: Caller,
    entry_id: UUID | None,
    version: int | None,
    now: datetime,
    *,
    seals: bool = False,
    binds: bool = False,
) -> tuple["EntryAddress", Task | None]:
    """The entry for a caller who may change it, locked behind its task; of that version when one is said (R45, R46).

    What is sealed, or will be, is behind the vault's key as well: a rotation takes that first and the entries then.
    What a change binds to its task needs one that is under way.
    """
    seen = require_change(caller, entry_id, now=now)
    task = None
    if seen.tier == Tier.WORKING or binds:
        task = work.task(caller.tenant_id, seen.task_id, lock=True)
        if seen.tier != Tier.WORKING:
            placing.require_under_way(task, seen.task_id)
    if seals or seen.is_sealed:
        vault.hold_key(now=now)
    opened = closing.beside(caller.tenant_id, seen.id) if seals and not seen.is_sealed else []
    row = ledger.locked(caller.tenant_id, seen.id, beside=opened)
    require_version(row, version, now)
    return row, task


def require_change(caller: Caller, entry_id: UUID | None, *, now: datetime) -> "EntryAddress":
    """The entry, for who may change or delete it; others are refused."""
    seen = found(caller, entry_id, now)
    require_addressed(seen)
    tiers.require_write(caller, seen, now=now)
    return seen


def require_version(row: "EntryAddress", version: int | None, now: datetime) -> None:
    """Refuse when the locked entry is not there any more, or in another version than the one that was said."""
    if not adapter.is_there(row, now):
        raise NotFound("There is no memory entry by that id.")
    if version is not None and row.version != version:
        raise VersionMismatch(current_value=ledger.value_of(row), **state_of(row))


def require_addressed(row: "EntryAddress") -> None:
    """Refuse to change what a run wrote: it has no version, and other runs read it as it is."""
    if adapter.is_plain(row):
        raise Forbidden("The entry was written through OpenWOP, and is only read here.", rule="openwop-entry")


def _require_free(caller: Caller, place: Address, now: datetime) -> list[UUID]:
    """Refuse a key that somebody has; whoever may read that entry is told it (R17). What has lapsed under it."""
    held = ledger.at(caller.tenant_id, place)
    if held is None:
        return []
    if not adapter.is_there(held, now):
        return [held.id]
    if tiers.may_read(caller, held, now):
        raise KeyExists(**state_of(held))
    raise KeyExists


def _make_room(caller: Caller, place: Address, size: int, owners: Owners, lapsed: list[UUID], now: datetime) -> None:
    """There is room at the place, and its key is free; what goes for that is locked in one go (``ledger.hold``)."""
    task, agent = owners.tasks.get(place.task_id), owners.agents[place.agent_id]
    room = Room([place], now=now)
    room.take(place, size, task, agent)
    going = room.evicted([agent])
    placing.hold_rows(caller, owners, [*lapsed, *going], seals=place.is_sealed, now=now)
    placing.remove(caller, going, "evicted", now=now)
    placing.remove(caller, lapsed, "expired", now=now)


def state_of(row: "EntryAddress") -> dict[str, Any]:
    """What a refusal tells of the entry to who may read it."""
    return {"current_version": row.version, "current": entry_document(row)}
