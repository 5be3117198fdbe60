"""The registry of node types: each name has one function that executes it.

The engine is a higher layer; apps that bring node types (the runtime's own, the approval gate of ``proposals``)
register them from their ``apps.py``. A node is done, sleeps until a time, waits for an answer or calls an external
system; or it raises ``NodeFailure``.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

from memory.host import trace_context
from memory.host.events import Ask
from memory.host.json_types import JSONMapping, JSONObject
from memory.host.models import Run
from memory.host.registrations import Registrations


class NodeFailure(Exception):
    """The node failed: a stable code, and a fixed sentence without content. ``final`` is not tried again."""

    def __init__(self, code: str, message: str, *, final: bool = False) -> None:
        self.code, self.message, self.final = code, message, final
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Done:
    """The node is done; ``variables`` are set on the run, ``outputs`` go to the nodes that follow."""

    outputs: JSONObject = field(default_factory=dict)
    variables: JSONObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sleep:
    """The node is called again at ``until``; no worker is held in the meantime."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Wait:
    """The node waits for an answer; each ``key`` is asked once per run.

    ``data`` goes to the log; ``asked`` is for readers of the run, when it has more. ``policy`` holds how answers are
    counted and who may give them. After ``timeout`` the answer is a rejection.
    """

    kind: str
    key: str
    data: Ask
    asked: JSONObject | None = None
    policy: JSONObject = field(default_factory=dict)
    timeout: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Sending:
    """The context of a call's sender. ``idempotency_key`` stays the same when an attempt is sent again."""

    idempotency_key: str
    seconds: float
    say: Callable[[str], None] = lambda text: None  # shows progress to readers of the run during the call
    traceparent: str = ""  # the trace that the run continues

    @property
    def headers(self) -> dict[str, str]:
        """The headers that identify the call to the other side."""
        return {"Idempotency-Key": self.idempotency_key, **self.trace}

    @property
    def trace(self) -> dict[str, str]:
        return {trace_context.HEADER: self.traceparent} if self.traceparent else {}


@dataclass(frozen=True, slots=True)
class Call:
    """The node needs an answer from outside this host and is called again when the answer is in ``ctx.calls``.

    ``send`` is awaited outside any transaction, after the sending is recorded; if the worker dies meanwhile, the call
    is sent again. ``send`` touches no database, and raises ``NodeFailure``. ``request`` is stored separately from the
    log.
    """

    kind: str
    request: JSONObject
    send: Callable[[Sending], Awaitable[JSONObject]]
    seconds: float
    streams: bool = False  # the answer has a ``text``, which is streamed in pieces


@dataclass(frozen=True, slots=True)
class Act:
    """The node's agent uses a tool of this host, once, in the transaction of the step.

    The node is called again with the result in ``ctx.calls``: ``result``, or ``error`` with a code and a message.
    """

    agent_id: str
    tool: str
    request: JSONObject
    do: Callable[[], JSONObject]


Outcome = Done | Sleep | Wait | Call | Act


class RunMemory(Protocol):
    """``ctx.memory``: memory as one run sees it. Unknown and foreign refs give ``[]`` and None.

    A list may be limited to a token budget, and ranked by ``recency`` or by ``relevance`` to a query (RFC 0113).
    """

    def list(
        self,
        memory_ref: str,
        *,
        limit: int = 0,
        tag: str = "",
        token_budget: int = 0,
        rank: str = "",
        query: str = "",
    ) -> Sequence[JSONObject]: ...

    def get(self, memory_ref: str, memory_id: str) -> JSONObject | None: ...

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


class RunFiles(Protocol):
    """``ctx.files``: the workspace as one run sees it. An unknown path gives None."""

    def list(self, prefix: str = "") -> Sequence[JSONObject]: ...

    def read(self, path: str) -> JSONObject | None: ...

    def write(self, path: str, content: str, *, content_type: str = "text/markdown") -> JSONObject: ...


@dataclass(frozen=True, slots=True)
class NodeContext:
    """The input of a node and the services that it may use."""

    run: Run
    node_id: str
    config: JSONMapping
    inputs: JSONMapping
    variables: JSONMapping
    agent: JSONMapping
    memory: RunMemory
    files: RunFiles
    started_at: datetime
    attempt: int
    resume_value: Any
    now: datetime
    calls: Sequence[JSONObject] = ()  # the answers to the calls and acts of the node, in order


NodeFunction = Callable[[NodeContext], Outcome]
ConfigCheck = Callable[[Mapping[str, object]], list[tuple[str, str]]]
ToolsOf = Callable[[Mapping[str, object]], Sequence[str]]
MEMORY_READ, MEMORY_WRITE = "openwop:memory.read", "openwop:memory.write"
MEMORY_SEARCH = "openwop:memory.search"
FILES_READ, FILES_WRITE = "openwop:workspace.read", "openwop:workspace.write"
HTTP_REQUEST = "openwop:http.request"
_types: Registrations[str, NodeFunction] = Registrations()
_tools: Registrations[str, ToolsOf] = Registrations()
_requires: Registrations[str, tuple[str, ...]] = Registrations()
_checks: Registrations[str, ConfigCheck] = Registrations()
_logging_config: Registrations[str, bool] = Registrations()
_calling: Registrations[str, bool] = Registrations()


class OnReplay(StrEnum):
    """How a replay treats a node that its source run has executed (openwop-host 3.8).

    ``RECORDED``, the default: the node is not called and its recorded result is used; without a record the replay fails
    there. ``CALLED``: the node is called with its recorded inputs and must produce the same result; it only reads,
    except that its last call may write memory.
    """

    RECORDED = "recorded"
    CALLED = "called"


_on_replay: Registrations[str, OnReplay] = Registrations()


def node_type(
    type_id: str,
    *,
    tools: Sequence[str] | ToolsOf = (),
    on_replay: OnReplay = OnReplay.RECORDED,
    requires: tuple[str, ...] = (),
    check: ConfigCheck | None = None,
    logs_config: bool = False,
    makes_calls: bool = False,
) -> Callable[[NodeFunction], NodeFunction]:
    """Register the function that executes nodes of ``type_id``, the tools it uses, and what a replay does with it.

    ``tools`` may be a function of the node's config. An agent whose manifest does not allow one of them cannot execute
    the node. ``requires`` are runtime capabilities beyond those that every node has; this host provides none, so a node
    that requires one is never called. ``check`` examines a node before it is installed: fields of the node, and what is
    wrong. With ``logs_config`` the log shows the config, so nothing of a run may be put into it. With ``makes_calls``
    the node may return ``Call``.
    """

    def register(function: NodeFunction) -> NodeFunction:
        if _types.registered.get(type_id, function).__qualname__ != function.__qualname__:
            raise RuntimeError(f"node type {type_id} is registered twice")
        _types[type_id] = function
        _tools[type_id] = tools if callable(tools) else lambda config: tools
        _on_replay[type_id] = on_replay
        _requires[type_id] = requires
        if check:
            _checks[type_id] = check
        _logging_config[type_id] = logs_config
        _calling[type_id] = makes_calls
        return function

    return register


def logs_config(type_id: str) -> bool:
    """Whether the log shows the config of nodes of this type."""
    return _logging_config.get(type_id, False)


def makes_calls(type_id: str) -> bool:
    """Whether nodes of the type may return ``Call``."""
    return _calling.get(type_id, False)


def problems_of(node: JSONMapping) -> list[tuple[str, str]]:
    """Return what the type's check finds wrong with the node's config."""
    check = _checks.get(node["typeId"])
    return check(node) if check else []


def function_of(type_id: str) -> NodeFunction | None:
    return _types.get(type_id)


def on_replay_of(type_id: str) -> OnReplay:
    return _on_replay.get(type_id, OnReplay.RECORDED)


def tools_of(type_id: str, config: Mapping[str, object]) -> Sequence[str]:
    """Return the tools that a node of that type and config uses."""
    return _tools[type_id](config) if type_id in _tools else ()


def missing_for(type_id: str) -> Sequence[str]:
    """Return the runtime capabilities that the type requires and this host does not provide."""
    return _requires.get(type_id, ())
