"""What the proposals' addresses answer, as JSON Schema: for the OpenAPI document."""

from memory.host.http import (
    COUNT,
    FLAG,
    OBJECT,
    POSITIVE,
    SHA256,
    STRING,
    TEXT,
    TIME,
    also,
    closed,
    listed,
    nullable,
    words,
)
from memory.host.models import ArtifactKind
from proposals.models import Decision, GateState, Kind, State

PROPOSAL = closed(
    "Proposal",
    id=TEXT,
    kind=words(Kind.values),
    state=words(State.values),
    title=STRING,
    rationale=STRING,
    artifact=OBJECT,
    provenance=also(closed(sourceRunIds=listed(TEXT)), synthesizerModel=STRING),
    duplicateOf=nullable(TEXT),
    owner=closed(tenant=TEXT, principal=TEXT),
    activation=nullable(closed(approvalId=nullable(TEXT), installedArtifactRef=TEXT)),
    createdAt=TIME,
    updatedAt=TIME,
)
PROPOSALS = closed("Proposals", proposals=listed(PROPOSAL), total=COUNT, next=nullable(TEXT))
APPLIED = closed("AppliedProposal", installedArtifactRef=TEXT)
PENDING = closed(
    "PendingActivation",
    state={"const": "pending"},
    activation={"const": "approval-gate"},
    proposalId=TEXT,
    approvalId=TEXT,
    runId=TEXT,
    nodeId=TEXT,
)
REVISION = closed(
    "Revision",
    revision=POSITIVE,
    title=STRING,
    rationale=STRING,
    note=STRING,
    text=STRING,
    sha256=SHA256,
    canonicalSha256=SHA256,
    revisedBy=TEXT,
    createdAt=TIME,
)
VOTE = closed(
    "Vote",
    principal=TEXT,
    person=TEXT,
    decision=words(Decision.values),
    override=FLAG,
    reason=STRING,
    revision=POSITIVE,
    sha256=SHA256,
    at=TIME,
)
GATE = closed(
    "Gate",
    approvalId=TEXT,
    runId=TEXT,
    nodeId=TEXT,
    state=words(GateState.values),
    revision=POSITIVE,
    sha256=SHA256,
    quorum=closed(granted=COUNT, required=POSITIVE),
    requiredScope=TEXT,
    openedBy=TEXT,
    openedAt=TIME,
    closedAt=nullable(TIME),
    votes=listed(VOTE),
)
REVISIONS = closed(
    "Revisions",
    proposalId=TEXT,
    total=COUNT,
    next=nullable(POSITIVE),
    revisions=listed(REVISION),
    gates=listed(GATE),
)
INSTALLATION = closed(
    "InstalledArtifact",
    ref=TEXT,
    kind=words(ArtifactKind.values),
    name=TEXT,
    version=TEXT,
    text=STRING,
    sha256=SHA256,
    source=TEXT,
    installedBy=TEXT,
    installedAt=TIME,
    supersededAt=nullable(TIME),
    disabled=FLAG,
)
