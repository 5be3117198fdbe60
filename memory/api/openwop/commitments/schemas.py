"""What commitments answer, as JSON Schema: for the OpenAPI document."""

from memory.host.operations import COUNT, FLAG, STRING, TEXT, TIME, also, closed, listed, nullable, words
from memory.models import CommitmentState, Condition

FIRING = closed(
    "CommitmentFiring", occasion=TEXT, firedAt=TIME, runId=TEXT, enqueuedRunId=nullable(TEXT), code=nullable(TEXT)
)
COMMITMENT = closed(
    "Commitment",
    id=TEXT,
    memoryRef=TEXT,
    memoryId=TEXT,
    agentId=nullable(TEXT),
    intention=nullable(STRING),
    condition=words(Condition.values),
    dueAt=nullable(TIME),
    timezone=TEXT,
    cron=nullable(TEXT),
    words=listed(TEXT),
    negated=FLAG,
    holds=FLAG,
    state=words(CommitmentState.values),
    snoozedUntil=nullable(TIME),
    staleAt=nullable(TIME),
    reason=nullable(STRING),
    fireCount=COUNT,
    fireLimit=nullable(COUNT),
    lastFiredAt=nullable(TIME),
    lastRunId=nullable(TEXT),
    lastCode=nullable(TEXT),
    createdAt=TIME,
    changedAt=TIME,
)
COMMITMENTS = closed("Commitments", commitments=listed(COMMITMENT), total=COUNT, next=nullable(TEXT))
ONE = also(COMMITMENT | {"title": "CommitmentWithFirings"}, firings=listed(FIRING))
