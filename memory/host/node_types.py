"""The registration point of node types: a name, and the one function that executes it.

The engine stands above; apps that bring node types (the runtime's own, the approval gate of ``proposals``) fill this in
from their ``apps.py``. A node either is done, sleeps until a time, or waits for somebody; or it raises ``NodeFailure``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from memory.host.events import Ask
from memory.host.models import Run


class NodeFailure(Exception):
    """The node failed: a stable code, and a fixed sentence without content."""

    def __init__(self, code: str, message: str) -> None:
        self.code, self.message = code, message
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Done:
    """The node is done; ``variables`` are set on the run, ``outputs`` are for the nodes behind it."""

    outputs: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sleep:
    """The node wants to be called again at ``until``; no worker is held meanwhile."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Wait:
    """The node waits for an answer; ``key`` is asked once a run.

    ``data`` goes to the log, ``asked`` to those who may read the run when that is more; ``policy`` is how answers are
    counted and who may give them. After ``timeout`` the answer is a rejection.
    """

    kind: str
    key: str
    data: Ask
    asked: dict[str, Any] | None = None
    policy: dict[str, Any] = field(default_factory=dict)
    timeout: timedelta | None = None


Outcome = Done | Sleep | Wait


class RunMemory(Protocol):
    """``ctx.memory``: memory as one run sees it. Unknown and foreign refs are ``[]`` and None."""

    def list(self, memory_ref: str, *, limit: int = 0, tag: str = "") -> Sequence[dict[str, Any]]: ...

    def get(self, memory_ref: str, memory_id: str) -> dict[str, Any] | None: ...

    def write(
        self,
        memory_ref: str,
        content: str,
        *,
        tags: Sequence[str] = (),
        subject: str = "",
        expires_at: datetime | None = None,
        now: datetime | None = None,
    ) -> str: ...


@dataclass(frozen=True, slots=True)
class NodeContext:
    """What a node may see and do."""

    run: Run
    node_id: str
    config: Mapping[str, Any]
    inputs: Mapping[str, Any]
    variables: Mapping[str, Any]
    agent: Mapping[str, Any]
    memory: RunMemory
    started_at: datetime
    attempt: int
    resume_value: Any
    now: datetime


NodeFunction = Callable[[NodeContext], Outcome]
_types: dict[str, NodeFunction] = {}


def node_type(type_id: str) -> Callable[[NodeFunction], NodeFunction]:
    """Register the function that executes nodes of ``type_id``."""

    def register(function: NodeFunction) -> NodeFunction:
        if _types.get(type_id, function).__qualname__ != function.__qualname__:
            raise RuntimeError(f"node type {type_id} is registered twice")
        _types[type_id] = function
        return function

    return register


def function_of(type_id: str) -> NodeFunction | None:
    return _types.get(type_id)


def known() -> list[str]:
    return sorted(_types)
