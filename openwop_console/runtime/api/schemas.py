"""What the run surface answers, as JSON Schema: for the OpenAPI document."""

from memory.host.http import COUNT, FLAG, OBJECT, STRING, TEXT, TIME, Schema, also, closed, nullable
from memory.host.models import Interrupt, RunStatus

STATUS: Schema = {"type": "string", "enum": [str(status) for status in RunStatus.values]}
RUN_STATUS = closed(runId=TEXT, status=STATUS)
FORKED = closed(
    runId=TEXT,
    sourceRunId=TEXT,
    mode={"type": "string", "enum": ["replay", "branch"]},
    status=STATUS,
    eventsUrl={"type": "string", "format": "uri"},
    fromSeq=COUNT,
)
RUN_PAUSED = closed(runId=TEXT, status=STATUS, pausedAt=TIME)
RUN_RESUMED = closed(runId=TEXT, status=STATUS, resumedAt=TIME)
BULK_OUTCOME: Schema = {
    "oneOf": [
        closed(runId=TEXT, ok={"const": True}, status=STATUS),
        closed(runId=TEXT, ok={"const": False}, error=closed(code=TEXT, message=TEXT)),
    ]
}
BULK_CANCELLED = closed(results={"type": "array", "items": BULK_OUTCOME})
ARTIFACT = closed(artifactId=TEXT, artifactType=TEXT, runId=TEXT, nodeId=TEXT, createdAt=TIME, content=OBJECT)
ARTIFACTS = closed(artifacts={"type": "array", "items": ARTIFACT}, total=COUNT)
EVENT: Schema = {
    "type": "object",
    "required": ["eventId", "runId", "sequence", "type", "timestamp", "payload"],
    "properties": {
        "eventId": TEXT,
        "runId": TEXT,
        "sequence": COUNT,
        "type": TEXT,
        "nodeId": TEXT,
        "timestamp": TIME,
        "payload": {},
    },
}
EVENTS = closed(events={"type": "array", "items": EVENT}, isComplete=FLAG)
STREAM: Schema = {"type": "string", "description": "Server-sent events, each with the number of its event as id."}
RUNS = closed(
    runs={
        "type": "array",
        "items": also(
            closed(
                runId=TEXT,
                workflowId=TEXT,
                status=STATUS,
                agentId=nullable(TEXT),
                system=FLAG,
                createdAt=TIME,
                startedAt=nullable(TIME),
                completedAt=nullable(TIME),
            ),
            kind={"const": "external"},
        ),
    },
    total=COUNT,
    totalIsExact=FLAG,
    next=nullable(TEXT),
)
RUN_CREATED = closed(runId=TEXT, workflowId=TEXT, status=STATUS, startedAt=TIME, eventsUrl=TEXT, statusUrl=TEXT)
RUN: Schema = {
    "title": "RunSnapshot",
    "type": "object",
    "required": ["runId", "workflowId", "status", "owner", "inputs", "variables", "tags", "metadata"],
    "properties": {
        "runId": TEXT,
        "workflowId": TEXT,
        "status": STATUS,
        "currentNodeId": TEXT,
        "owner": closed(tenant=TEXT, principal=TEXT),
        "traceId": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
        "startedAt": TIME,
        "completedAt": TIME,
        "pausedAt": TIME,
        "inputs": OBJECT,
        "variables": OBJECT,
        "nodeStates": OBJECT,
        "configurable": OBJECT,
        "tags": {"type": "array", "items": STRING},
        "metadata": OBJECT,
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": TEXT, "message": TEXT, "details": OBJECT},
            "additionalProperties": False,
        },
        "interrupt": {"type": "object", "required": ["kind", "nodeId"]},
    },
}
RESOLVED = closed(runId=TEXT, nodeId=TEXT, status=STATUS)
WORKFLOW: Schema = {
    "title": "WorkflowDefinition",
    "type": "object",
    "required": ["id", "name", "version", "nodes", "edges"],
    "properties": {
        "id": TEXT,
        "name": TEXT,
        "version": TEXT,
        "nodes": {"type": "array", "items": OBJECT},
        "edges": {"type": "array", "items": OBJECT},
    },
}
INTERRUPT_RESOLVED = closed(runId=TEXT, nodeId=TEXT, status=STATUS)
INTERRUPT_ASKED = closed(
    runId=TEXT,
    nodeId=TEXT,
    interruptId=TEXT,
    kind={"type": "string", "enum": list(Interrupt.KINDS)},
    data=OBJECT,
    intent={"type": "string", "enum": ["resolve", "inspect"]},
    expiresAt=TIME,
)
