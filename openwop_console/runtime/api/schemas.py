"""What the run surface answers, as JSON Schema: for the OpenAPI document."""

from typing import Any

from memory.host.models import RunStatus

Schema = dict[str, Any]
TEXT: Schema = {"type": "string", "minLength": 1}
TIME: Schema = {"type": "string", "format": "date-time"}


def closed(**properties: Schema) -> Schema:
    """An object of exactly these properties."""
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


STATUS: Schema = {"type": "string", "enum": [str(status) for status in RunStatus.values]}
RUN_STATUS = closed(runId=TEXT, status=STATUS)
RUN_PAUSED = closed(runId=TEXT, status=STATUS, pausedAt=TIME)
RUN_RESUMED = closed(runId=TEXT, status=STATUS, resumedAt=TIME)
BULK_OUTCOME: Schema = {
    "oneOf": [
        closed(runId=TEXT, ok={"const": True}, status=STATUS),
        closed(runId=TEXT, ok={"const": False}, error=closed(code=TEXT, message=TEXT)),
    ]
}
BULK_CANCELLED = closed(results={"type": "array", "items": BULK_OUTCOME})
ARTIFACT = closed(
    artifactId=TEXT, artifactType=TEXT, runId=TEXT, nodeId=TEXT, createdAt=TIME, content={"type": "object"}
)
ARTIFACTS = closed(artifacts={"type": "array", "items": ARTIFACT}, total={"type": "integer", "minimum": 0})
