"""Work as somebody wants it, before it is rows: intents, tasks, coordinators, agents. Ids are as clients send them."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memory.host.json_types import JSONObject

Json = JSONObject


@dataclass(frozen=True, slots=True)
class NewIntent:
    """``policy`` holds what tasks of the intent get for memory where they say nothing themselves (R84, R85)."""

    title: str
    description: str = ""
    constraints: Any = field(default_factory=dict)
    state: Json = field(default_factory=dict)
    parent_intent_id: str = ""
    depends_on: tuple[str, ...] = ()
    policy: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewTask:
    """``record`` has the fields of RFC-0012 that this host keeps and does not interpret."""

    intent_id: str
    name: str
    description: str = ""
    status: str = "pending"
    assigned_agent: str = ""
    parent_task_id: str = ""
    memory_policy: Json | None = None
    record: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskChange:
    """What is to be otherwise: None leaves it. An empty ``assigned_agent`` takes the task from whoever has it.

    ``reason`` says why it changes hands; ``record`` is merged over what the task has.
    """

    status: str | None = None
    assigned_agent: str | None = None
    memory_policy: Json | None = None
    reason: str = ""
    record: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewCoordinator:
    """Guardrails that are None bound nothing; any others demand archival unless they say otherwise (R81)."""

    intent_id: str
    agent_id: str
    guardrails: Json | None = None
    expires_at: datetime | None = None
    record: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CoordinatorChange:
    """What is to be otherwise: None leaves it."""

    status: str | None = None
    guardrails: Json | None = None


@dataclass(frozen=True, slots=True)
class NewAgent:
    """``record`` is what RFC-0016 says of an agent; ``capacity`` and ``pinned_namespaces`` bound what it remembers.

    Of these None leaves what the agent has.
    """

    agent_id: str
    record: Json = field(default_factory=dict)
    capacity: int | None = None
    pinned_namespaces: tuple[str, ...] | None = None
