"""A run and its nodes: begun, retried, paused, ended."""

from dataclasses import dataclass

from memory.host.events.base import Event, Failure, Owner


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """``owner`` is whose rights and secrets the run has; of a fork that another principal asked for, ``source_owner``
    is whose its source has."""

    type = "run.started"
    workflow_id: str
    owner: Owner
    source_owner: Owner | None = None


@dataclass(frozen=True, slots=True)
class RunCompleted(Event):
    type = "run.completed"
    terminal = True


@dataclass(frozen=True, slots=True)
class RunFailed(Event):
    type = "run.failed"
    terminal = True
    error: Failure
    failed_node_id: str | None = None


@dataclass(frozen=True, slots=True)
class RunCancelled(Event):
    type = "run.cancelled"
    terminal = True
    cancelled_by: str


@dataclass(frozen=True, slots=True)
class RunPaused(Event):
    type = "run.paused"
    drain_policy: str


@dataclass(frozen=True, slots=True)
class RunResumed(Event):
    type = "run.resumed"


@dataclass(frozen=True, slots=True)
class CapBreached(Event):
    """A limit of the run was reached: ``node-executions`` or ``run-duration``."""

    type = "cap.breached"
    kind: str
    limit: int
    observed: int
    node_id: str | None = None


@dataclass(frozen=True, slots=True)
class ReplayDiverged(Event):
    """A replay came to something else than its source has on record at ``at_sequence``."""

    type = "replay.diverged"
    source_run_id: str
    at_sequence: int
    divergence_kind: str


@dataclass(frozen=True, slots=True)
class NodeStarted(Event):
    type = "node.started"
    node_id: str
    type_id: str
    attempt: int


@dataclass(frozen=True, slots=True)
class NodeCompleted(Event):
    type = "node.completed"
    node_id: str


@dataclass(frozen=True, slots=True)
class NodeFailed(Event):
    type = "node.failed"
    node_id: str
    error: Failure
    attempts: int


@dataclass(frozen=True, slots=True)
class NodeRetried(Event):
    """The attempt ``attempt`` failed with ``last_error``; the next begins ``delay_ms`` later."""

    type = "node.retried"
    node_id: str
    attempt: int
    delay_ms: int
    last_error: Failure


@dataclass(frozen=True, slots=True)
class NodeSkipped(Event):
    """The node is not executed; ``cause`` is a fixed word."""

    type = "node.skipped"
    wire_names = {"cause": "reason"}
    node_id: str
    cause: str


@dataclass(frozen=True, slots=True)
class NodeCancelled(Event):
    """The node had begun and goes no further; ``cause`` is a fixed word."""

    type = "node.cancelled"
    wire_names = {"cause": "reason"}
    node_id: str
    cause: str


@dataclass(frozen=True, slots=True)
class NodeSuspended(Event):
    type = "node.suspended"
    node_id: str
    interrupt_id: str
    kind: str
    key: str


@dataclass(frozen=True, slots=True)
class NodeResumed(Event):
    type = "node.resumed"
    node_id: str
    interrupt_id: str
