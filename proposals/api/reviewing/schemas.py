"""What the addresses of the review answer, as JSON Schema: for the OpenAPI document."""

from memory import differences
from memory.host.models import ArtifactKind
from memory.host.operations import (
    COUNT,
    FLAG,
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
from proposals.api.schemas import GATE
from proposals.models import Kind, Purpose, State
from proposals.rules import ASKED_OF_EACH

REFUSAL = also(closed("BarredAction", code=TEXT, message=TEXT), requiredScope=TEXT, rule=TEXT)
ACTION = closed("ReviewAction", allowed=FLAG, refusal=nullable(REFUSAL))
GATE_POLICY = closed(
    "PolicyOfGate",
    number=COUNT,
    quorum=POSITIVE,
    eligibleRoles=listed(TEXT),
    overrideRoles=listed(TEXT),
    overrideBypassesQuorum=FLAG,
    expiresAt=nullable(TIME),
)
KIND_POLICY = closed(
    "PolicyOfKind",
    number=COUNT,
    quorum=POSITIVE,
    eligibleRoles=listed(TEXT),
    overrideRoles=listed(TEXT),
    overrideBypassesQuorum=FLAG,
    expiresSec=POSITIVE,
    uninstallOnArchive=FLAG,
)
REVIEW_GATE = closed("GateUnderReview", **GATE["properties"], policy=GATE_POLICY)
REVIEW = closed(
    "ProposalReview",
    proposalId=TEXT,
    kind=words(Kind.values),
    state=words(State.values),
    purpose=words(Purpose.values),
    revision=POSITIVE,
    sha256=SHA256,
    canonicalSha256=SHA256,
    artifactName=STRING,
    artifactVersion=STRING,
    author=TEXT,
    lastReviser=TEXT,
    agentId=nullable(TEXT),
    pendingApprovalId=nullable(TEXT),
    gate=nullable(REVIEW_GATE),
    policy=KIND_POLICY,
    duplicateOf=nullable(TEXT),
    evidence=listed({"type": "object", "additionalProperties": STRING}),
    comments=COUNT,
    installedArtifactRef=nullable(TEXT),
    uninstalledRef=nullable(TEXT),
    closedBy=nullable(TEXT),
    closedAt=nullable(TIME),
    closingReason=STRING,
    actions=closed(**dict.fromkeys(ASKED_OF_EACH, ACTION)),
)
COMMENT = closed("ProposalComment", commentId=TEXT, revision=POSITIVE, author=TEXT, text=STRING, at=TIME)
COMMENTS = closed("ProposalComments", proposalId=TEXT, total=COUNT, comments=listed(COMMENT))
BULK = closed(
    "EndedProposals",
    action=words(("reject", "archive")),
    proposals=listed(closed(proposalId=TEXT, state=words(State.values))),
)
SIDE = closed(label=TEXT, revision=nullable(POSITIVE), ref=nullable(TEXT), sha256=nullable(SHA256))
LINE = closed(
    "DiffLine",
    kind=words((differences.SAME, differences.ADDED, differences.REMOVED, differences.CHANGED)),
    oldNumber=nullable(POSITIVE),
    newNumber=nullable(POSITIVE),
    old=nullable(STRING),
    new=nullable(STRING),
)
HUNK = closed("DiffHunk", skipped=COUNT, lines=listed(LINE))
DIFF = closed(
    "ProposalDiff",
    proposalId=TEXT,
    older=SIDE,
    newer=SIDE,
    added=COUNT,
    removed=COUNT,
    notCompared=COUNT,
    skippedAfter=COUNT,
    hunks=listed(HUNK),
)
INSTALLED_VERSION = closed(
    "InstalledVersion",
    id=TEXT,
    ref=TEXT,
    kind=words(ArtifactKind.values),
    name=TEXT,
    version=TEXT,
    sha256=SHA256,
    source=TEXT,
    partOf=nullable(TEXT),
    current=FLAG,
    disabled=FLAG,
    disabledAt=nullable(TIME),
    disabledBy=nullable(TEXT),
    disabledReason=nullable(STRING),
    installedBy=TEXT,
    installedAt=TIME,
    supersededAt=nullable(TIME),
)
INSTALLED_VERSIONS = closed("InstalledVersions", artifacts=listed(INSTALLED_VERSION), total=COUNT, next=nullable(TEXT))
