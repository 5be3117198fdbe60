"""What schedules and heartbeats answer, as JSON Schema: for the OpenAPI document."""

from typing import Any

from memory.host.operations import COUNT, FLAG, OBJECT, TEXT, TIME

Schema = dict[str, Any]
TIME_OR_NULL: Schema = {"type": ["string", "null"], "format": "date-time"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}


def _object(*optional: str, **properties: Schema) -> Schema:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


def _page(name: str, item: Schema) -> Schema:
    return _object(**{name: {"type": "array", "items": item}, "total": COUNT, "next": TEXT_OR_NULL})


SCHEDULE = _object(
    "agentId",
    "cron",
    "timezone",
    "at",
    name=TEXT,
    workflowId=TEXT,
    agentId=TEXT,
    inputs=OBJECT,
    cron=TEXT,
    timezone=TEXT,
    at=TIME,
    missedFirePolicy={"enum": ["skip", "fire-once"]},
    enabled=FLAG,
    principal=TEXT,
    createdAt=TIME,
    nextTick=TIME_OR_NULL,
    nextTicks={"type": "array", "items": TIME, "maxItems": 5},
)
SCHEDULES = _page("schedules", SCHEDULE)
TICK = _object(
    "runId",
    "code",
    tickAt=TIME,
    firedAt=TIME,
    outcome={"enum": ["fired", "skipped", "refused"]},
    runId=TEXT,
    code=TEXT,
    missed=COUNT,
    missedIsExact=FLAG,
)
TICKS = _page("ticks", TICK)
HEARTBEAT = _object(
    heartbeatId=TEXT,
    name=TEXT,
    intervalSec={"type": "integer", "minimum": 60},
    predicate=OBJECT,
    workflowId=TEXT_OR_NULL,
    inputs=OBJECT,
    enabled=FLAG,
    principal=TEXT,
    createdAt=TIME,
    nextTick=TIME_OR_NULL,
    lastEvaluatedAt=TIME_OR_NULL,
    lastStatus={"enum": ["ok", "timeout", "error", None]},
    lastState={"oneOf": [{"type": "null"}, _object(sha256=TEXT, state={})]},
    lastRunId=TEXT_OR_NULL,
    lastCode=TEXT_OR_NULL,
)
HEARTBEATS = _page("heartbeats", HEARTBEAT)
FIRED = _object(runsFired=COUNT)
EVALUATED = _object(heartbeatId=TEXT, status={"enum": ["ok", "timeout", "error"]}, changed=FLAG)
CHANGED = _object(**{"heartbeatId": TEXT, "from": OBJECT, "to": OBJECT})
BEAT = _object(
    evaluated={"type": "array", "items": EVALUATED, "maxItems": 1},
    stateChanged={"type": "array", "items": CHANGED, "maxItems": 1},
    enqueuedRuns={"enum": [0, 1]},
)
