"""What a synthesis answers, as JSON Schema: for the OpenAPI document."""

from memory.host.operations import COUNT, TEXT, TIME, closed, nullable, words
from memory.models import PassState, Trigger

ANYTHING = {"type": "object"}
SYNTHESIS = closed(
    "Synthesis",
    id=TEXT,
    state=words(PassState.values),
    trigger=words(Trigger.values),
    dryRun={"type": "boolean"},
    options=ANYTHING,
    done=COUNT,
    total=COUNT,
    doing={"type": "string"},
    code=nullable(TEXT),
    outcome=ANYTHING,
    runId=TEXT,
    requestedBy=TEXT,
    createdAt=TIME,
    finishedAt=nullable(TIME),
)
