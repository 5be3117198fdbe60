"""Capacity (RFC-0015 2.2, 6.5, 6.6, 9.4; R30 to R34, R75 to R78, R97, R98).

Working memory is bounded by task: a write beyond the bound is refused. Episodic memory is bounded by agent: the least
valuable entry is evicted. Entries are counted under the lock of the task's or the agent's row, so that of two at once
only one gets the last place. Retired and lapsed entries do not count, and semantic memory has no bounds (R39, R99).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import TYPE_CHECKING
from uuid import UUID

from memory import adapter
from memory.addresses import Address, Tier
from memory.host import sql
from memory.host.errors import CapacityExceeded
from memory.models import Agent, Task
from memory.openintent import work
from memory.openintent.work.tasks import Policy

if TYPE_CHECKING:
    from memory.models.address import EntryAddress

KB = 1024


class Room:
    """Capacity for the new entries and changes of one transaction, taken one after the other.

    ``places`` are the addresses of all new entries, ``staying`` the entries changed with them. Tasks and agents are
    locked. A refused entry has changed nothing: evictions happen afterwards.
    """

    def __init__(
        self, places: Sequence[Address] = (), staying: Sequence["EntryAddress"] = (), *, now: datetime
    ) -> None:
        self._now, self._staying = now, staying
        self._coming = Counter(each.agent_id for each in places if each.tier == Tier.EPISODIC)
        self._tasks: dict[UUID, _TaskRoom] = {}
        self._agents: dict[str, _AgentRoom] = {}

    def take(self, address: Address, size: int, task: Task | None, agent: Agent) -> None:
        """There is room at the address for another entry, with a value of that ``size``.

        Refuses with ``CapacityExceeded``: a working entry above a bound of its task, and an episodic one when all that
        its agent may keep is pinned, changed or made here.
        """
        if address.tier == Tier.WORKING and task:
            self._in(task, address.task_id).take(size)
        elif address.tier == Tier.EPISODIC:
            self._agent_room(agent).take()

    def grow(self, row: "EntryAddress", size: int, task: Task | None) -> None:
        """The entry may have a value of that ``size`` from here on: a bound on new entries alone bounds nothing (R76).

        Only growth is refused: a task that is over its bound because that was lowered may still be worked with.
        """
        if row.tier == Tier.WORKING and task:
            self._in(task, row.task_id).grow(row.size, size)

    def evicted(self, agents: Sequence[Agent]) -> list[UUID]:
        """What these agents need least, and goes for what is new; at most a chunk of each agent's goes at once, and the
        rest with the next writes: more do only when the capacity was lowered."""
        return [row for agent in agents if self._coming[agent.agent_id] for row in self._agent_room(agent).evicted()]

    def _in(self, task: Task, text: str) -> "_TaskRoom":
        if task.id not in self._tasks:
            self._tasks[task.id] = _TaskRoom.measure(task, text, self._now)
        return self._tasks[task.id]

    def _agent_room(self, agent: Agent) -> "_AgentRoom":
        name = agent.agent_id
        if name not in self._agents:
            own = [row for row in self._staying if row.tier == Tier.EPISODIC and row.agent_id == name]
            self._agents[name] = _AgentRoom.measure(agent, self._coming[name], own, self._now)
        return self._agents[name]


@dataclass(slots=True)
class _TaskRoom:
    """The working memory of a task: what it takes, and may."""

    entries: int
    size: int
    policy: Policy

    @classmethod
    def measure(cls, task: Task, text: str, now: datetime) -> "_TaskRoom":
        policy = work.tasks.policy_of(task, now=now)
        if policy.max_entries is None and policy.max_total_size_kb is None:
            return cls(0, 0, policy)
        taken = adapter.openintent.task_usage(task.tenant_id, text, now=now)
        return cls(taken.entries, taken.size, policy)

    def take(self, size: int) -> None:
        most = self.policy.max_entries
        if most is not None and self.entries >= most:
            raise _exceeded("The task has no room for another entry.", self.entries, most, "entries")
        self._require_size(self.size + size)
        self.entries, self.size = self.entries + 1, self.size + size

    def grow(self, before: int, after: int) -> None:
        if after > before:
            self._require_size(self.size - before + after)
        self.size += after - before

    def _require_size(self, wanted: int) -> None:
        most_kb = self.policy.max_total_size_kb
        if most_kb is not None and wanted > most_kb * KB:
            message = "The working memory of the task has no room for that much."
            raise _exceeded(message, ceil(self.size / KB), most_kb, "size_kb")


@dataclass(slots=True)
class _AgentRoom:
    """The episodic memory of an agent: what it keeps and may keep, how many are ``coming``, and how many are here."""

    agent: Agent
    count: int
    most: int
    coming: int
    staying: "Sequence[EntryAddress]"
    now: datetime
    fixed: int = 0
    here: int = 0

    @classmethod
    def measure(cls, agent: Agent, coming: int, staying: "Sequence[EntryAddress]", now: datetime) -> "_AgentRoom":
        most, place = work.tasks.capacity_of(agent, now=now), (agent.tenant_id, agent.agent_id)
        count = adapter.openintent.count_episodic(*place, at_least=most - coming + 1, now=now)
        made = cls(agent, count, most, coming, staying, now)
        if made.excess > 0:
            made.fixed = adapter.openintent.count_pinned(*place, now=now) + sum(not row.pinned for row in staying)
        return made

    @property
    def excess(self) -> int:
        """How many are too many when all are here that are coming."""
        return self.count + self.coming - self.most

    def take(self) -> None:
        if self.excess > 0 and self.fixed + self.here >= self.most:
            message = "The agent has pinned all that it may keep."
            refusal = message if not self.here else "The batch has more entries than the agent may keep."
            raise _exceeded(refusal, self.count, self.most, "entries")
        self.here += 1

    def evicted(self) -> list[UUID]:
        if self.excess <= 0:
            return []
        limit, but = min(self.excess, sql.CHUNK), [row.id for row in self.staying]
        return adapter.openintent.next_to_evict(
            self.agent.tenant_id, self.agent.agent_id, limit=limit, but=but, now=self.now
        )


def _exceeded(message: str, count: int, most: int, kind: str) -> CapacityExceeded:
    return CapacityExceeded(message, current_count=count, max_capacity=most, limit_kind=kind)
