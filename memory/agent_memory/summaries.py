"""What an agent remembers, in numbers (RFC-0015, Agent Memory Summary; R105)."""

from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any

from memory import adapter, namespaces, work
from memory.adapter import Figures
from memory.addresses import Tier
from memory.agent_memory.documents import instant
from memory.host.errors import Forbidden
from memory.models import Agent
from memory.tiers import READ, Caller

KB = 1024


@dataclass(frozen=True, slots=True)
class Summary:
    """The numbers of one agent. ``plain`` is how many entries it wrote through OpenWOP, which take none of its
    capacity; None for who may not list them."""

    agent_id: str
    working: Figures
    tasks: list[str]
    episodic: Figures
    capacity: int
    namespaces: list[str]
    plain: int | None

    def document(self) -> dict[str, Any]:
        """As RFC-0015 has it; what was written through OpenWOP stands apart."""
        working, episodic = self.working, self.episodic
        document: dict[str, Any] = {
            "agent_id": self.agent_id,
            "working": {
                "entry_count": working.entries,
                "total_size_kb": ceil(working.size / KB),
                "tasks_with_memory": self.tasks,
            },
            "episodic": {
                "entry_count": episodic.entries,
                "capacity": self.capacity,
                "pinned_count": episodic.pinned,
                "total_size_kb": ceil(episodic.size / KB),
                "oldest_entry": instant(episodic.oldest) if episodic.oldest else None,
                "newest_entry": instant(episodic.newest) if episodic.newest else None,
            },
            "semantic_namespaces_accessible": self.namespaces,
        }
        return document | ({} if self.plain is None else {"openwop": {"entry_count": self.plain}})


def of_agent(caller: Caller, agent_id: str, *, now: datetime) -> Summary:
    """The agent's numbers, for itself, for who coordinates a task under way that it took up, and for operators."""
    _require_reader(caller, agent_id, now)
    tenant_id = caller.tenant_id
    seen = Agent.objects.of(tenant_id).filter(agent_id=agent_id).first()
    agent = seen or Agent(tenant_id=tenant_id, agent_id=agent_id)
    figures = adapter.figures_of(tenant_id, agent_id, now=now)
    own = caller.operates or caller.agent_id == agent_id
    itself = Caller(caller.scope, agent_id, alone=True)
    return Summary(
        agent_id=agent_id,
        working=figures.get(Tier.WORKING, Figures()),
        tasks=adapter.tasks_remembered(tenant_id, agent_id, now=now),
        episodic=figures.get(Tier.EPISODIC, Figures()),
        capacity=work.capacity_of(agent, now=now),
        namespaces=sorted(namespaces.names_with(itself, "read", now=now).values_list("name", flat=True)),
        plain=adapter.plain_count(tenant_id, agent_id, now=now) if own else None,
    )


def _require_reader(caller: Caller, agent_id: str, now: datetime) -> None:
    caller.scope.check(READ)
    if caller.operates or caller.agent_id == agent_id:
        return
    if not work.overseen_by(caller.tenant_id, caller.agent_id, now=now).filter(agent_id=agent_id).exists():
        raise Forbidden("This agent may not see what that one remembers.", rule="memory-tier")
