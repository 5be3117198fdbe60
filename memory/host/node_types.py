"""The registration point of node types: a name, and the one function that executes it.

The engine stands above; apps that bring node types (the runtime's own, the approval gate of ``proposals``) fill this in
from their ``apps.py``. A node either is done, sleeps until a time, waits for somebody, or calls the world outside; or
it raises ``NodeFailure``.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

from memory.host import traces
from memory.host.events import Ask
from memory.host.json_types import JSONObject
from memory.host.models import Run
from memory.host.registrations import Registrations


class NodeFailure(Exception):
    """The node failed: a stable code, and a fixed sentence without content. ``final`` is not tried again."""

    def __init__(self, code: str, message: str, *, final: bool = False) -> None:
        self.code, self.message, self.final = code, message, final
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Done:
    """The node is done; ``variables`` are set on the run, ``outputs`` are for the nodes behind it."""

    outputs: JSONObject = field(default_factory=dict)
    variables: JSONObject = field(default_factory=dict)


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
    asked: JSONObject | None = None
    policy: JSONObject = field(default_factory=dict)
    timeout: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Sending:
    """What the sender of a call is given. ``idempotency_key`` is the same whenever the same attempt is sent again."""

    idempotency_key: str
    seconds: float
    say: Callable[[str], None] = lambda text: None  # what readers of the run are shown while the call goes on
    traceparent: str = ""  # of the trace that the run continues

    @property
    def headers(self) -> dict[str, str]:
        """What the other side is told of the call itself."""
        return {"Idempotency-Key": self.idempotency_key, **self.trace}

    @property
    def trace(self) -> dict[str, str]:
        return {traces.HEADER: self.traceparent} if self.traceparent else {}


@dataclass(frozen=True, slots=True)
class Call:
    """The node needs an answer from outside this host. It is called again when the answer is in ``ctx.calls``.

    ``send`` is awaited outside any transaction, once that it is sent is on record: a worker that dies meanwhile leaves
    it to be sent again. It touches no database, and raises ``NodeFailure``. ``request`` is kept beside the log.
    """

    kind: str
    request: JSONObject
    send: Callable[[Sending], Awaitable[JSONObject]]
    seconds: float
    streams: bool = False  # its answer has a ``text``, which is said piece by piece


@dataclass(frozen=True, slots=True)
class Act:
    """The agent of the node uses a tool of this host. It is done once, in the transaction of the step, and the node is
    called again with what came of it in ``ctx.calls``: ``result``, or ``error`` with a code and a message."""

    agent_id: str
    tool: str
    request: JSONObject
    do: Callable[[], JSONObject]


Outcome = Done | Sleep | Wait | Call | Act


class RunMemory(Protocol):
    """``ctx.memory``: memory as one run sees it. Unknown and foreign refs are ``[]`` and None.

    A list may be kept within a token budget, and ranked by ``recency`` or by ``relevance`` to a query (RFC 0113).
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
    """``ctx.files``: the workspace as one run sees it. An unknown path is None."""

    def list(self, prefix: str = "") -> Sequence[JSONObject]: ...

    def read(self, path: str) -> JSONObject | None: ...

    def write(self, path: str, content: str, *, content_type: str = "text/markdown") -> JSONObject: ...


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
    files: RunFiles
    started_at: datetime
    attempt: int
    resume_value: Any
    now: datetime
    calls: Sequence[JSONObject] = ()  # the answers to the calls and acts of the node, in order


NodeFunction = Callable[[NodeContext], Outcome]
ConfigCheck = Callable[[Mapping[str, Any]], list[tuple[str, str]]]
ToolsOf = Callable[[Mapping[str, Any]], Sequence[str]]
MEMORY_READ, MEMORY_WRITE = "openwop:memory.read", "openwop:memory.write"
MEMORY_SEARCH = "openwop:memory.search"
FILES_READ, FILES_WRITE = "openwop:workspace.read", "openwop:workspace.write"
HTTP_REQUEST = "openwop:http.request"
_types: Registrations[str, NodeFunction] = Registrations()
_tools: Registrations[str, ToolsOf] = Registrations()
_requires: Registrations[str, tuple[str, ...]] = Registrations()
_checks: Registrations[str, ConfigCheck] = Registrations()
_told: Registrations[str, bool] = Registrations()
_calling: Registrations[str, bool] = Registrations()


class OnReplay(StrEnum):
    """What a replay does with a node that its source run has executed (openwop-host 3.8).

    ``RECORDED``: it is not called, and what came of it stands; without a record the replay fails there. A type that
    says nothing is of this kind. ``CALLED``: it is called on what it was told then, and must come to the same; it only
    reads, and writes memory in its last call.
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
    is_told: bool = False,
    makes_calls: bool = False,
) -> Callable[[NodeFunction], NodeFunction]:
    """Register the function that executes nodes of ``type_id``, the tools it uses, and what a replay does with it.

    ``tools`` is a function of the node's config where that decides. An agent whose manifest does not allow one of them
    cannot execute the node. ``requires`` are runtime capabilities beyond those that every node has; this host provides
    none, so a node that requires one is never called. ``check`` looks at a node before it is installed: fields of the
    node, and what is wrong. With ``is_told`` the log says what the config says, so nothing of a run may be put into it.
    With ``makes_calls`` the node may return ``Call``.
    """

    def register(function: NodeFunction) -> NodeFunction:
        if _types.so_far.get(type_id, function).__qualname__ != function.__qualname__:
            raise RuntimeError(f"node type {type_id} is registered twice")
        _types[type_id] = function
        _tools[type_id] = tools if callable(tools) else lambda config: tools
        _on_replay[type_id] = on_replay
        _requires[type_id] = requires
        if check:
            _checks[type_id] = check
        _told[type_id] = is_told
        _calling[type_id] = makes_calls
        return function

    return register


def is_told(type_id: str) -> bool:
    """Whether the log tells what the config of such a node says."""
    return _told.get(type_id, False)


def makes_calls(type_id: str) -> bool:
    """Whether nodes of the type call the world outside."""
    return _calling.get(type_id, False)


def problems_of(node: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the type of ``node`` finds wrong with how it is configured."""
    check = _checks.get(node["typeId"])
    return check(node) if check else []


def function_of(type_id: str) -> NodeFunction | None:
    return _types.get(type_id)


def on_replay_of(type_id: str) -> OnReplay:
    return _on_replay.get(type_id, OnReplay.RECORDED)


def tools_of(type_id: str, config: Mapping[str, object]) -> Sequence[str]:
    """The tools that a node of that type and config uses."""
    return _tools[type_id](config) if type_id in _tools else ()


def missing_for(type_id: str) -> Sequence[str]:
    """The runtime capabilities that nodes of the type require and this host does not provide."""
    return _requires.get(type_id, ())


def known() -> list[str]:
    return sorted(_types)
