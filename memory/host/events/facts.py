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
