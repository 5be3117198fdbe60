"""Where new entries belong, and what they stand behind: a namespace, a task, an agent, a stream (RFC-0015 2, 5).

Rows are locked in the order of all others (``ledger.hold``): entries are counted and keys are looked up under those
locks, so that of two at once one is behind the other.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from memory import ledger, namespaces, tiers, work
from memory.addresses import TASK_LIFETIME, Address, Tier
from memory.agent_memory import bounds, lifetimes
from memory.host import vault
from memory.host.errors import TaskClosed
from memory.ledger import Given, New
from memory.models import Agent, Task
from memory.models.work import ENDED
from memory.namespaces import Changed
from memory.tiers import Caller

if TYPE_CHECKING:
    from uuid import UUID

    from memory.models.address import EntryAddress

OUTSIDE = "openintent"


@dataclass(frozen=True, slots=True)
class Owners:
    """The tasks and agents that entries belong to, and the logs on which new ones are told."""

    tasks: dict[str, Task]
    agents: dict[str, Agent]
    logs: frozenset["UUID"]
    intents: dict[str, "UUID"]


def hold_namespaces(caller: Caller, places: Sequence[Address], *, now: datetime) -> list[Changed]:
    """The namespaces of the semantic ones are locked, and made where nobody has written yet (C14); those made."""
    names = {each.namespace for each in places if each.tier == Tier.SEMANTIC}
    for name in sorted(names):
        namespaces.require_name(caller.scope, name)
    return namespaces.hold(caller, names, now=now)


def hold_owners(
    caller: Caller, places: Sequence[Address], rows: Sequence["EntryAddress"] = (), *, now: datetime
) -> Owners:
    """Tasks and agents of the new entries at these places and of the ``rows``, as far as they bound what they hold."""
    bound = {each.task_id for each in places if each.tier != Tier.SEMANTIC or each.ttl == TASK_LIFETIME}
    bound |= {row.task_id for row in rows}
    wanted = sorted({each.task_id for each in places} | bound)
    tasks = {text: work.task(caller.tenant_id, text, lock=text in bound) for text in wanted if text}
    known = {text: task for text, task in tasks.items() if task}
    own = {each.agent_id for each in places if each.tier != Tier.SEMANTIC}
    names = sorted({each.agent_id for each in places})
    agents = {
        name: (work.locked_agent if name in own else work.agent)(caller.tenant_id, name, now=now) for name in names
    }
    owners = Owners(known, agents, frozenset(), _told_in(caller, places, known, now))
    return replace(owners, logs=frozenset(_log_of(owners, each) for each in places))


def _told_in(caller: Caller, places: Sequence[Address], tasks: dict[str, Task], now: datetime) -> dict[str, "UUID"]:
    """The intents that entries name, on whose logs the caller is heard; elsewhere its own stream has to do."""
    named = sorted({each.intent_id for each in places if each.intent_id and each.task_id not in tasks})
    found = ((text, work.intent(caller.tenant_id, text)) for text in named)
    return {text: intent.id for text, intent in found if intent and tiers.has_voice_in(caller, intent, now)}


def _log_of(owners: Owners, place: Address) -> "UUID":
    """Where the facts of a new entry stand: on the log of its task's intent, of its intent, or on its agent's."""
    task = owners.tasks.get(place.task_id)
    return task.intent_id if task else owners.intents.get(place.intent_id, owners.agents[place.agent_id].run_id)


def placed(caller: Caller, given: Given, owners: Owners, *, now: datetime) -> New:
    """The entry with what the server says of it: who made it, whether it is pinned, when it ends (R13, R42, R86).

    Refuses one that would end with a task that has ended, and one that would be gone at once.
    """
    address = given.address
    if address.tier == Tier.WORKING or address.ttl == TASK_LIFETIME:
        require_under_way(owners.tasks.get(address.task_id), address.task_id)
    shared, own = address.tier == Tier.SEMANTIC, address.tier == Tier.EPISODIC
    stamped = replace(
        address,
        created_by=caller.agent_id,
        curated_by=caller.agent_id if shared else "",
        pinned=address.pinned or (own and address.namespace in owners.agents[address.agent_id].pinned_namespaces),
    )
    ends = lifetimes.expiry(address.ttl, given.expires_at, since=now)
    bounds.require_future(ends, now=now)
    node_id = address.task_id if address.task_id in owners.tasks else OUTSIDE
    return New(replace(given, address=stamped, expires_at=ends), _log_of(owners, address), node_id)


def require_under_way(task: Task | None, task_id: str) -> None:
    """Refuse what would end with a task that has ended already; a task of another host is not known to end."""
    if task and task.status in ENDED:
        raise TaskClosed(task_id=task_id, status=task.status)


def hold_rows(
    caller: Caller, owners: Owners, rows: Collection["UUID"], *, seals: bool = False, now: datetime
) -> list["UUID"]:
    """What comes behind the owners is locked: the vault's key where something is sealed, the streams, the entries;
    those there are. A single stream is locked by the first fact on it."""
    if seals:
        vault.hold_key(now=now)
    if rows or len(owners.logs) > 1:
        return ledger.hold(caller.tenant_id, runs=owners.logs, entries=rows)
    return []


def remove(caller: Caller, rows: Sequence["UUID"], reason: str, *, now: datetime) -> None:
    """The held entries make way: ``evicted`` for others, or ``expired`` under a key that is wanted again."""
    lapsed, actor = reason == "expired", "" if reason == "expired" else caller.agent_id
    for at in range(0, len(rows), ledger.CHUNK):
        part = tuple(rows[at : at + ledger.CHUNK])
        ledger.remove(caller.tenant_id, part, reason=reason, actor=actor, lapsed=lapsed, held=True, now=now)
