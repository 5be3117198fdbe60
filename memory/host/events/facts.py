"""What changed in memory, in the workspace and in what runs may use; what heartbeats saw and agents did."""

from dataclasses import dataclass
from uuid import UUID

from memory.host.events.base import Event


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
class ProposalCreated(Event):
    """``duplicate_of`` is the ref or the id of what it restates, or null (RFC 0096)."""

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
    """A node left a typed artifact; its content is read from the run's artifacts."""

    type = "artifact.created"
    artifact_id: str
    artifact_type: str
    node_id: str


@dataclass(frozen=True, slots=True)
class WorkspaceUpdated(Event):
    """RFC 0059: a file has this version now, or had it last; the path is a name the tenant chose, as a memory_ref is.

    ``node_id`` is the node of a run that wrote it.
    """

    type = "workspace.updated"
    beside = frozenset({"node_id"})
    path: str
    version: int
    node_id: str | None = None


@dataclass(frozen=True, slots=True)
class DistillationFigures:
    """RFC 0062 B: what the budget was and what was used of it, input and output together."""

    token_budget: int
    tokens_used: int
    index_updated: bool | None = None


@dataclass(frozen=True, slots=True)
class MemoryCompacted(Event):
    """RFC 0012: entries were condensed into ``output_id``; with ``distillation`` it was a budgeted run (RFC 0062).

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
    """RFC 0068 B: a ref was reconciled; ``merged_ids`` are the entries that are read no more."""

    type = "agent.memory.consolidated"
    memory_ref: str
    input_count: int
    output_count: int
    merged_ids: tuple[UUID, ...] | None = None
    trigger: str | None = None


@dataclass(frozen=True, slots=True)
class CommitmentFired(Event):
    """RFC 0068 C: identifiers and the kind of condition; what was intended stays in memory."""

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
    """RFC 0060: one tick of a heartbeat; ``status`` is ok, timeout or error."""

    type = "heartbeat.evaluated"
    heartbeat_id: str
    status: str
    changed: bool


@dataclass(frozen=True, slots=True)
class ObservedState:
    """What was observed, as its digest; None before anything was."""

    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatStateChanged(Event):
    """RFC 0060: a transition; both states are opaque tokens."""

    type = "heartbeat.stateChanged"
    wire_names = {"state_before": "from", "state_after": "to"}
    heartbeat_id: str
    state_before: ObservedState
    state_after: ObservedState


@dataclass(frozen=True, slots=True)
class AgentReasoned(Event):
    """RFC 0002: that an agent reasoned; what it said is not on the log, and ``verbosity`` says so."""

    type = "agent.reasoned"
    agent_id: str
    reasoning: str = ""
    verbosity: str = "off"


@dataclass(frozen=True, slots=True)
class AgentDecided(Event):
    """RFC 0002: ``decision`` is a fixed word."""

    type = "agent.decided"
    agent_id: str
    decision: str
