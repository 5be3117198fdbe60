"""What a workflow file says once it is understood, and what is wrong with one that is not (RFC-0015 7). Pure."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Problem:
    """What does not fit, and where: line and column count from 1, ``message`` goes on from the name of the field."""

    line: int
    column: int
    field: str
    message: str

    @property
    def sentence(self) -> str:
        return f"{self.field} {self.message}".strip()

    @property
    def document(self) -> dict[str, Any]:
        return {"line": self.line, "column": self.column, "field": self.field, "message": self.message}


@dataclass(frozen=True, slots=True)
class AgentBlock:
    """An agent of the workflow. None is what the file leaves open; that stays as it was (R86)."""

    agent_id: str
    capacity: int | None = None
    pinned_namespaces: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the plan. ``memory_policy`` is the whole one, the workflow's own with what the step overrides (R87)."""

    name: str
    agent: str
    description: str = ""
    depends_on: tuple[str, ...] = ()
    outputs: Any = None
    memory_policy: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow file. Its steps stand in an order in which each follows what it depends on."""

    name: str
    version: str
    description: str
    namespaces: tuple[str, ...]
    memory_policy: dict[str, Any]
    agents: tuple[AgentBlock, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Parsed:
    """All that was found, in the order of the file; there is a workflow exactly when there are no problems."""

    workflow: Workflow | None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
