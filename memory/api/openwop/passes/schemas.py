"""What passes and their schedules answer, as JSON Schema: for the OpenAPI document."""

from memory import pass_schedules
from memory.host.operations import COUNT, TEXT, TIME, Schema, closed, listed, nullable, words
from memory.models import PassState, Trigger

ANYTHING: Schema = {"type": "object"}
PASS = closed(
    "Pass",
    id=TEXT,
    kind=TEXT,
    memoryRef={"type": "string"},
    state=words(PassState.values),
    trigger=words(Trigger.values),
    dryRun={"type": "boolean"},
    options=ANYTHING,
    done=COUNT,
    total=COUNT,
    doing={"type": "string"},
    stopping={"type": "boolean"},
    code=nullable(TEXT),
    details=nullable(ANYTHING),
    outcome=ANYTHING,
    runId=TEXT,
    requestedBy=TEXT,
    createdAt=TIME,
    finishedAt=nullable(TIME),
)
PASSES = closed("Passes", passes=listed(PASS), total=COUNT, next=nullable(TEXT))
SCHEDULE = closed(
    "PassSchedule",
    id=TEXT,
    kind=TEXT,
    memoryRef={"type": "string"},
    cron=TEXT,
    timezone=TEXT,
    options=ANYTHING,
    enabled={"type": "boolean"},
    principal=TEXT,
    createdAt=TIME,
    nextTick=nullable(TIME),
    nextTicks=listed(TIME) | {"maxItems": pass_schedules.SHOWN_TICKS},
    lastPassId=nullable(TEXT),
)
SCHEDULES = closed("PassSchedules", schedules=listed(SCHEDULE), total=COUNT, next=nullable(TEXT))
