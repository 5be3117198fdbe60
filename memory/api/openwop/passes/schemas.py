"""What passes and their schedules answer, as JSON Schema: for the OpenAPI document."""

from memory import pass_schedules
from memory.host.operations import COUNT, FLAG, OBJECT, STRING, TEXT, TIME, Schema, closed, listed, nullable, words
from memory.models import PassState, Trigger

ANYTHING: Schema = OBJECT
# What is told of every pass, over a ref or over traces.
WORK: dict[str, Schema] = {
    "id": TEXT,
    "state": words(PassState.values),
    "trigger": words(Trigger.values),
    "dryRun": FLAG,
    "options": ANYTHING,
    "done": COUNT,
    "total": COUNT,
    "doing": STRING,
    "code": nullable(TEXT),
    "outcome": ANYTHING,
    "runId": TEXT,
    "requestedBy": TEXT,
    "createdAt": TIME,
    "finishedAt": nullable(TIME),
}
PASS = closed(
    "Pass",
    **WORK,
    kind=TEXT,
    memoryRef=STRING,
    stopping=FLAG,
    details=nullable(ANYTHING),
)
PASSES = closed("Passes", passes=listed(PASS), total=COUNT, next=nullable(TEXT))
SCHEDULE = closed(
    "PassSchedule",
    id=TEXT,
    kind=TEXT,
    memoryRef=STRING,
    cron=TEXT,
    timezone=TEXT,
    options=ANYTHING,
    enabled=FLAG,
    principal=TEXT,
    createdAt=TIME,
    nextTick=nullable(TIME),
    nextTicks=listed(TIME) | {"maxItems": pass_schedules.SHOWN_TICKS},
    lastPassId=nullable(TEXT),
)
SCHEDULES = closed("PassSchedules", schedules=listed(SCHEDULE), total=COUNT, next=nullable(TEXT))
