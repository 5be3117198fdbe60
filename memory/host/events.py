"""The event vocabulary: one frozen dataclass per type, and no field that could hold content.

Fields are ids, names, numbers, codes and tags. ``payload_of`` gives the wire form, without absent optionals.
"""

from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, ClassVar
from uuid import UUID

from memory.host import ids
from memory.host.json_types import JSONObject

VENDOR = "openintent."


# The base of every event, and its wire form.


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run or node failed: a stable code and its fixed sentence."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Owner:
    """The tenant and principal of a run (RFC 0048): opaque ids, never a person's data."""

    tenant: str
    principal: str


@dataclass(frozen=True, slots=True)
class Event:
    """The base: its wire ``type``, whether it ends its stream, and the row that it is about.

    ``wire_names`` maps fields whose wire name differs from the Python name; ``beside`` names the fields that are part
    of the event but not of its payload, because the wire's payload is closed.
    """

    type: ClassVar[str]
    terminal: ClassVar[bool] = False
    wire_names: ClassVar[dict[str, str]] = {}
    beside: ClassVar[frozenset[str]] = frozenset()

    @property
    def node(self) -> str:
        return str(getattr(self, "node_id", None) or "")

    @property
    def subject(self) -> UUID | None:
        """The memory entry or proposal this event is about, for the index that answers "who wrote this?"."""
        return None


WIRE_PREFIX = {
    "memory_id": "mem",
    "entry_id": "mem",
    "output_id": "mem",
    "source_ids": "mem",
    "merged_ids": "mem",
    "proposal_id": "prop",
    "commitment_id": "cmt",
    "call_id": "call",
}


def payload_of(event: Any) -> JSONObject:
    """Return the wire form of an event: camelCase keys, wire ids, no absent optional."""
    values = ((wire, name, getattr(event, name)) for name, wire in _names_of(event.__class__))
    return {wire: _plain(name, value) for wire, name, value in values if value is not None}


@cache
def _names_of(kind: type[Any]) -> list[tuple[str, str]]:
    """Return the payload's fields with their wire names."""
    beside: frozenset[str] = getattr(kind, "beside", frozenset())
    names: dict[str, str] = getattr(kind, "wire_names", {})
    return [
        (field.name, names.get(field.name) or _camel(field.name)) for field in fields(kind) if field.name not in beside
    ]


def _plain(name: str, value: object) -> Any:
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, UUID):
        return ids.wire(WIRE_PREFIX[name], value)
    if is_dataclass(value):
        return payload_of(value)
    return [_plain(name, item) for item in value] if isinstance(value, tuple) else value


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


# Requests to people and external systems, and their decisions.


@dataclass(frozen=True, slots=True)
class ApprovalAsk:
    """The request of an approval (RFC 0051), by id and digest; the artifact itself is read elsewhere."""

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
    """A question in the words of the workflow's definition, without any value of the run."""

    id: str
    question: str


@dataclass(frozen=True, slots=True)
class ClarificationAsk:
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class CorrelationDigest:
    """The digest of the correlation values, which are read from the interrupt itself."""

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
    """``outcome`` and ``cause`` are fixed words, and absent for a plain answer."""

    type = "interrupt.resolved"
    wire_names = {"cause": "reason"}
    node_id: str
    interrupt_id: str
    kind: str
    outcome: str | None = None
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalReceived(Event):
    """A plain approval was decided; ``decided_by`` is absent for a timeout."""

    type = "approval.received"
    node_id: str
    action: str
    decided_at: str  # ISO 8601
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
    """``justification`` points to the recorded reason; it never holds the text that a person typed."""

    type = "approval.overridden"
    wire_names = {"justification": "reason"}
    gate_id: str
    principal: str
    justification: str


@dataclass(frozen=True, slots=True)
class AuthorizationDecided(Event):
    """A denied decision (RFC 0049); ``reason`` is a fixed word, never text that a person typed."""

    type = "authorization.decided"
    principal: str
    action: str
    resource: str
    allowed: bool
    reason: str


# Changes to memory, the workspace and installed artifacts; findings of heartbeats; acts of agents.


@dataclass(frozen=True, slots=True)
class MemoryWritten(Event):
    """Identifiers and labels of a write (RFC 0057 B); ``node_id`` is absent for a host write."""

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
class ProposalCreated(Event):
    """``duplicate_of`` is the ref or id of what the proposal restates, or null (RFC 0096)."""

    type = "proposal.created"
    proposal_id: UUID
    kind: str
    source_run_ids: tuple[str, ...]
    duplicate_of: str | None = None

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


@dataclass(frozen=True, slots=True)
class ArtifactCreated(Event):
    """A node produced a typed artifact; its content is read from the run's artifacts."""

    type = "artifact.created"
    artifact_id: str
    artifact_type: str
    node_id: str


@dataclass(frozen=True, slots=True)
class WorkspaceUpdated(Event):
    """A file has this version now, or had it last (RFC 0059).

    The path is a name that the tenant chose, like a memory_ref. ``node_id`` is the node of the run that wrote the file.
    """

    type = "workspace.updated"
    beside = frozenset({"node_id"})
    path: str
    version: int
    node_id: str | None = None


@dataclass(frozen=True, slots=True)
class DistillationFigures:
    """The token budget and the tokens used of it, input and output together (RFC 0062 B)."""

    token_budget: int
    tokens_used: int
    index_updated: bool | None = None


@dataclass(frozen=True, slots=True)
class MemoryCompacted(Event):
    """Entries were condensed into ``output_id`` (RFC 0012); with ``distillation``, by a budgeted run (RFC 0062).

    ``source_ids`` is exhaustive, or absent when there are more than a hundred.
    """

    type = "memory.compacted"
    memory_ref: str
    output_id: UUID
    source_count: int
    trigger: str
    byte_size: int
    source_ids: tuple[UUID, ...] | None = None
    distillation: DistillationFigures | None = None

    @property
    def subject(self) -> UUID | None:
        return self.output_id


@dataclass(frozen=True, slots=True)
class MemoryConsolidated(Event):
    """A ref was consolidated (RFC 0068 B); ``merged_ids`` are the entries that are no longer live."""

    type = "agent.memory.consolidated"
    memory_ref: str
    input_count: int
    output_count: int
    merged_ids: tuple[UUID, ...] | None = None
    trigger: str | None = None


@dataclass(frozen=True, slots=True)
class CommitmentFired(Event):
    """Identifiers and the kind of condition (RFC 0068 C); the intention itself stays in memory. Closed: what made a
    predicate true is with the firing alone."""

    type = "commitment.fired"
    commitment_id: UUID
    memory_ref: str
    condition: str
    memory_id: UUID | None = None
    enqueued_run_id: str | None = None

    @property
    def subject(self) -> UUID | None:
        return self.memory_id


@dataclass(frozen=True, slots=True)
class HeartbeatEvaluated(Event):
    """One tick of a heartbeat (RFC 0060); ``status`` is ok, timeout or error."""

    type = "heartbeat.evaluated"
    heartbeat_id: str
    status: str
    changed: bool


@dataclass(frozen=True, slots=True)
class ObservedState:
    """The digest of the observed state; None before the first observation."""

    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatStateChanged(Event):
    """A transition (RFC 0060); both states are opaque tokens."""

    type = "heartbeat.stateChanged"
    wire_names = {"state_before": "from", "state_after": "to"}
    heartbeat_id: str
    state_before: ObservedState
    state_after: ObservedState


@dataclass(frozen=True, slots=True)
class AgentReasoned(Event):
    """An agent reasoned (RFC 0002); its words are not on the log, which ``verbosity`` states."""

    type = "agent.reasoned"
    agent_id: str
    reasoning: str = ""
    verbosity: str = "off"
    node_id: str | None = None


@dataclass(frozen=True, slots=True)
class AgentDecided(Event):
    """``decision`` is a fixed word (RFC 0002)."""

    type = "agent.decided"
    agent_id: str
    decision: str
    node_id: str | None = None


# Calls of nodes to external systems: ids, counts, durations and codes. The texts are stored separately, in
# ``recordings``.


@dataclass(frozen=True, slots=True)
class CallSent(Event):
    """A call of a node leaves this host. A call that is sent again because its worker died keeps its ``attempt``."""

    type = "console.call.sent"
    node_id: str
    call_id: UUID
    kind: str
    attempt: int


@dataclass(frozen=True, slots=True)
class CallAnswered(Event):
    """The call ended; ``code`` is ``ok`` or the code of the failure."""

    type = "console.call.answered"
    node_id: str
    call_id: UUID
    kind: str
    code: str
    duration_ms: int
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TokenUse:
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class ChunkMeta:
    model: str
    finish_reason: str | None = None
    usage: TokenUse | None = None


@dataclass(frozen=True, slots=True)
class AiMessageChunk(Event):
    """A piece of a model's answer, from character ``start`` to ``end`` (RFC 0094 D).

    The text of the piece, ``chunk``, is stored separately from the log.
    """

    type = "ai.message.chunk"
    node_id: str
    run_id: str
    call_id: UUID
    start: int
    end: int
    is_last: bool
    meta: ChunkMeta | None = None


@dataclass(frozen=True, slots=True)
class ProviderUsage(Event):
    """The tokens used by one model call, as its endpoint counts them (RFC 0026)."""

    type = "provider.usage"
    provider: str
    model: str
    input_tokens: int
    output_tokens: int
    node_id: str


@dataclass(frozen=True, slots=True)
class AgentToolCalled(Event):
    """An agent calls a tool (RFC 0002, RFC 0064); the arguments are stored separately from the log."""

    type = "agent.toolCalled"
    agent_id: str
    tool_name: str
    call_id: UUID
    transport: str
    node_id: str


@dataclass(frozen=True, slots=True)
class AgentToolReturned(Event):
    """The result of a tool call; ``status`` is ok, error or forbidden."""

    type = "agent.toolReturned"
    agent_id: str
    tool_name: str
    call_id: UUID
    status: str
    duration_ms: int
    node_id: str
    error: Failure | None = None


# A run and its nodes: begun, retried, paused, ended.


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """``owner`` is the principal whose rights and secrets the run has.

    ``source_owner`` is the owner of the source, when another principal asked for the fork.
    """

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
    """A replay produced a different result than its source recorded at ``at_sequence``."""

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
    """Attempt ``attempt`` failed with ``last_error``; the next one begins ``delay_ms`` later."""

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
    """The node had begun and was stopped; ``cause`` is a fixed word."""

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


# The RFC-0015 events about memory and tasks: ids, tiers and versions.
#
# On a run's log these are vendor events, which any OpenWOP reader may skip; the OpenIntent face
# removes the prefix. Namespaces, keys, tags and payloads are stored separately, in ``event_notes``.


@dataclass(frozen=True, slots=True)
class EntryLifecycle(Event):
    """RFC-0015 5.2. ``agent_id`` owns the entry, ``actor`` is the acting agent, ``task_id`` a task of this host."""

    wire_names = {"tier": "memoryType"}
    entry_id: UUID
    tier: str
    version: int
    agent_id: str
    actor: str
    task_id: str | None = None
    previous_version: int | None = None

    @property
    def subject(self) -> UUID | None:
        return self.entry_id


@dataclass(frozen=True, slots=True)
class EntryCreated(EntryLifecycle):
    type = "openintent.memory.created"


@dataclass(frozen=True, slots=True)
class EntryUpdated(EntryLifecycle):
    type = "openintent.memory.updated"


@dataclass(frozen=True, slots=True)
class EntryDeleted(EntryLifecycle):
    type = "openintent.memory.deleted"


@dataclass(frozen=True, slots=True)
class EntryEvicted(EntryLifecycle):
    type = "openintent.memory.evicted"


@dataclass(frozen=True, slots=True)
class EntryExpired(EntryLifecycle):
    type = "openintent.memory.expired"


@dataclass(frozen=True, slots=True)
class MemoryArchived(Event):
    """The working memory of an agent in an ended task (RFC-0015 2.1); the event's note has the snapshot."""

    type = "openintent.memory.archived"
    agent_id: str
    actor: str
    task_id: str
    entries_archived: int


@dataclass(frozen=True, slots=True)
class IntentLogged(Event):
    """An event of an intent's log in the client's own vocabulary: ``kind`` is its ``event_type`` (RFC-0001)."""

    type = "openintent.logged"
    kind: str
    actor: str


# Every type of the log.
TYPES: tuple[str, ...] = tuple(
    sorted(
        kind.type
        for kind in vars().copy().values()
        if isinstance(kind, type) and issubclass(kind, Event) and "type" in vars(kind)
    )
)
