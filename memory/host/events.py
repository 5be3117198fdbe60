"""The event vocabulary: one frozen dataclass a type, and none with a field that could hold content.

Fields are ids, names, numbers, codes and tags. ``payload_of`` gives the wire form, without absent ones.
"""

from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, ClassVar
from uuid import UUID

from memory.host import ids


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run or node failed: a stable code and the fixed sentence that belongs to it."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Owner:
    """RFC 0048: opaque ids, never a person's data."""

    tenant: str
    principal: str


@dataclass(frozen=True, slots=True)
class Event:
    """The base: ``type`` on the wire, whether it ends its stream, and the row it is about."""

    type: ClassVar[str]
    terminal: ClassVar[bool] = False

    @property
    def node(self) -> str:
        return str(getattr(self, "node_id", None) or "")

    @property
    def subject(self) -> UUID | None:
        """The memory entry or proposal this event is about, for the index that answers "who wrote this?"."""
        return None


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    type = "run.started"
    workflow_id: str
    owner: Owner


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


@dataclass(frozen=True, slots=True)
class ApprovalAsk:
    """RFC 0051: what an approval asks for, by id and digest; the artifact itself is read elsewhere."""

    artifact_id: str
    artifact_type: str
    title: str
    actions: tuple[str, ...]
    gate_id: str
    required_scope: str
    required_approvals: int
    artifact_sha256: str


@dataclass(frozen=True, slots=True)
class InterruptRequested(Event):
    type = "interrupt.requested"
    node_id: str
    interrupt_id: str
    kind: str
    key: str
    data: ApprovalAsk


@dataclass(frozen=True, slots=True)
class InterruptResolved(Event):
    type = "interrupt.resolved"
    node_id: str
    interrupt_id: str
    kind: str


@dataclass(frozen=True, slots=True)
class MemoryWritten(Event):
    """RFC 0057 B: identifiers and labels; ``node_id`` is absent for a host write."""

    type = "memory.written"
    memory_ref: str
    memory_id: UUID
    node_id: str | None
    agent_id: str | None
    tags: tuple[str, ...]

    @property
    def subject(self) -> UUID | None:
        return self.memory_id


@dataclass(frozen=True, slots=True)
class QuorumProgress:
    granted: int
    required: int


@dataclass(frozen=True, slots=True)
class ApprovalGranted(Event):
    type = "approval.granted"
    gate_id: str
    principal: str
    quorum_progress: QuorumProgress


@dataclass(frozen=True, slots=True)
class ApprovalRejected(Event):
    type = "approval.rejected"
    gate_id: str
    principal: str


@dataclass(frozen=True, slots=True)
class AuthorizationDecided(Event):
    """RFC 0049: a decision that was denied; ``reason`` is a fixed word, never what somebody typed."""

    type = "authorization.decided"
    principal: str
    action: str
    resource: str
    allowed: bool
    reason: str


@dataclass(frozen=True, slots=True)
class ProposalCreated(Event):
    type = "proposal.created"
    proposal_id: UUID
    kind: str
    source_run_ids: tuple[str, ...]

    @property
    def subject(self) -> UUID | None:
        return self.proposal_id


@dataclass(frozen=True, slots=True)
class ProposalActivated(Event):
    type = "proposal.activated"
    proposal_id: UUID
    kind: str
    approval_id: str | None
    installed_artifact_ref: str

    @property
    def subject(self) -> UUID | None:
        return self.proposal_id


CLOSED_PAYLOADS = (ApprovalGranted, ApprovalRejected, AuthorizationDecided, ProposalCreated, ProposalActivated)
WIRE_PREFIX = {"memory_id": "mem", "proposal_id": "prop"}


def payload_of(event: Any) -> dict[str, Any]:
    """The wire form of an event: camelCase keys, wire ids, no absent optional."""
    values = ((field.name, getattr(event, field.name)) for field in fields(event))
    return {_camel(name): _plain(name, value) for name, value in values if value is not None}


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, UUID):
        return ids.wire(WIRE_PREFIX[name], value)
    if is_dataclass(value):
        return payload_of(value)
    return list(value) if isinstance(value, tuple) else value


@cache
def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
