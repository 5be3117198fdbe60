"""What is asked of people and of the world outside, and what they decided."""

from dataclasses import dataclass

from memory.host.events.base import Event


@dataclass(frozen=True, slots=True)
class ApprovalAsk:
    """RFC 0051: what an approval asks for, by id and digest; the artifact itself is read elsewhere."""

    artifact_id: str
    artifact_type: str
    title: str
    actions: tuple[str, ...]
    gate_id: str | None = None
    required_scope: str | None = None
    required_approvals: int = 1
    artifact_sha256: str | None = None
    rejection_policy: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question as the workflow's definition words it, never with a value of the run in it."""

    id: str
    question: str


@dataclass(frozen=True, slots=True)
class ClarificationAsk:
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class CorrelationDigest:
    """What correlates, as its digest: the values are read from the interrupt itself."""

    sha256: str


@dataclass(frozen=True, slots=True)
class ExternalEventAsk:
    event_type: str
    correlation: CorrelationDigest


@dataclass(frozen=True, slots=True)
class CustomAsk:
    custom_kind: str


Ask = ApprovalAsk | ClarificationAsk | ExternalEventAsk | CustomAsk


@dataclass(frozen=True, slots=True)
class InterruptRequested(Event):
    type = "interrupt.requested"
    node_id: str
    interrupt_id: str
    kind: str
    key: str
    data: Ask
    timeout_ms: int | None = None


@dataclass(frozen=True, slots=True)
class InterruptResolved(Event):
    """``outcome`` and ``cause`` are fixed words, and absent when somebody simply answered."""

    type = "interrupt.resolved"
    wire_names = {"cause": "reason"}
    node_id: str
    interrupt_id: str
    kind: str
    outcome: str | None = None
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalReceived(Event):
    """An approval of the plain kind was acted on; ``decided_by`` is absent for a timeout."""

    type = "approval.received"
    node_id: str
    action: str
    decided_by: str | None = None


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
class ApprovalOverridden(Event):
    """``justification`` says where the reason is on record; it is not the reason somebody typed."""

    type = "approval.overridden"
    wire_names = {"justification": "reason"}
    gate_id: str
    principal: str
    justification: str


@dataclass(frozen=True, slots=True)
class AuthorizationDecided(Event):
    """RFC 0049: a decision that was denied; ``reason`` is a fixed word, never what somebody typed."""

    type = "authorization.decided"
    principal: str
    action: str
    resource: str
    allowed: bool
    reason: str
