"""What this face answers over memory, as JSON Schema: for the OpenAPI document."""

import json

from memory import agents
from memory.addresses import PRIORITIES, Sensitivity, Tier
from memory.capabilities import DIMENSIONS, REQUESTED
from memory.embeddings import RANKINGS, WHY
from memory.host.models import RunStatus
from memory.host.operations import (
    COUNT,
    FLAG,
    OBJECT,
    POSITIVE,
    SHA256,
    STRING,
    TEXT,
    TIME,
    Schema,
    also,
    closed,
    listed,
    nullable,
    words,
)
from memory.models import ArchiveState, Decision, ForgetState, PassState
from memory.origin_fields import ORIGIN
from memory.provenance import VerdictKind

FILE_ROW = closed(
    path={"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._/-]{0,255}$"},
    contentType=TEXT,
    version=POSITIVE,
    etag=TEXT,
    updatedAt=TIME,
)
FILE = closed(content=STRING, **FILE_ROW["properties"])
FILES = closed(files={"type": "array", "items": FILE_ROW})
DONE = closed(ok={"const": True})

KEYS = listed(TEXT) | {"uniqueItems": True, "minItems": 1}
SHAPE: Schema = {
    "type": "object",
    "additionalProperties": False,
    "properties": dict.fromkeys(REQUESTED, FLAG),
}
AGENT = also(
    closed(
        "AgentInventoryEntry",
        agentId=TEXT,
        persona=TEXT,
        label=TEXT,
        modelClass=TEXT,
        packName=TEXT,
        packVersion=TEXT,
        toolAllowlist=listed(TEXT),
        hasHandoffSchemas=FLAG,
    ),
    description=STRING,
    memoryShape=SHAPE,
    confidenceThreshold={"type": "number", "minimum": 0, "maximum": 1},
    degraded=KEYS,
    memoryDegraded={"const": True},
    degradedMemoryDimensions={**KEYS, "items": words(each.name for each in DIMENSIONS)},
)
AGENTS = closed("AgentInventory", agents=listed(AGENT), total=COUNT)
DISPATCHED = closed(
    "DispatchedAgent",
    status=words(("completed", "escalated", "failed")),
    runId=TEXT,
    events=listed(closed(type=TEXT, agentId=TEXT)),
)
MANIFEST: Schema = {
    key: value for key, value in json.loads(agents.SCHEMA.read_text()).items() if not key.startswith("$")
}

ADDRESS = closed(
    "EntryAddress",
    tier=words(Tier),
    namespace=TEXT,
    key=TEXT,
    version=POSITIVE,
    pinned=FLAG,
    priority=words(PRIORITIES),
    sensitivity=nullable(words(Sensitivity)),
    sealed=FLAG,
    taskId=nullable(TEXT),
    intentId=nullable(TEXT),
    updatedAt=TIME,
)
ENTRY = also(
    closed("MemoryEntry", id=TEXT, content=STRING, tags=listed(STRING), createdAt=TIME),
    expiresAt=TIME,
    address=ADDRESS,
    origin=ORIGIN,
)
MEMORY_PAGE = also(
    closed(
        "MemoryPage",
        memoryRef=nullable(STRING),
        entries=listed(ENTRY),
        total=COUNT,
        totalIsExact=FLAG,
        next=nullable(TEXT),
    ),
    ranking=words(RANKINGS),
    rankingReason=words(WHY),
)
WRITE = also(
    closed("MemoryWrite", runId=TEXT, workflowId=TEXT, sequence=COUNT, timestamp=TIME, tags=listed(STRING)),
    nodeId=TEXT,
    agentId=TEXT,
    origin=ORIGIN,
)
PROVENANCE = also(
    closed(
        "Provenance",
        verdict=words(VerdictKind),
        writes=listed(WRITE),
        sha256WhenWritten=nullable(SHA256),
        sha256Now=SHA256,
    ),
    origin=ORIGIN,
)
WRITTEN = closed("WrittenEntry", id=TEXT)
EXTERNAL_RUN = closed("ExternalRun", id=TEXT, status=words(RunStatus.values))
MEMORY_ENTRY = closed("AttributedEntry", memoryRef=TEXT, entry=ENTRY, provenance=PROVENANCE)
PLANNED = closed(erase=COUNT, suspected=COUNT, stays=COUNT, staysBecause=STRING)
PROGRESS = nullable(closed(done=COUNT, total=COUNT, doing=STRING))
CONTEXT = closed(before=STRING, mention=STRING, after=STRING)
SUSPECT = closed(
    "ForgetSuspect", row=TEXT, store=TEXT, decision=words(Decision.values), foundIn=nullable(TEXT), context=CONTEXT
)
HOLD = closed(
    "LegalHold",
    holdId=TEXT,
    names=listed(TEXT),
    reason=TEXT,
    setBy=TEXT,
    since=TIME,
    endedAt=nullable(TIME),
    endedBy=nullable(TEXT),
    endReason=nullable(TEXT),
)
HOLDS = closed("LegalHoldPage", holds=listed(HOLD), total=COUNT, next=nullable(TEXT))
PREVIEW_STATES = sorted({*ForgetState.values, "ready"} - {ForgetState.PREVIEWED.value})
PREVIEW = closed(
    "ForgetPreview",
    previewId=TEXT,
    state=words(PREVIEW_STATES),
    progress=PROGRESS,
    lapsesAt=TIME,
    planSha256=nullable(SHA256),
    stores={"type": "object", "additionalProperties": PLANNED},
    holds=listed(HOLD),
    suspects=listed(SUSPECT),
    next=nullable(TEXT),
)
MADE_ANEW = closed(id=TEXT, sha256=SHA256, state=words(ArchiveState.values))
WITHDRAWN = closed(
    id=TEXT,
    sha256=SHA256,
    distilledAnewBy=nullable(TEXT),
    passState=nullable(words(PassState.values)),
    archive=nullable(MADE_ANEW),
)
FORGET = also(
    closed(
        "ForgetRequest",
        forgetId=TEXT,
        state=words(ForgetState.values),
        progress=PROGRESS,
        receipt=nullable(OBJECT),
        signature=nullable(TEXT),
        undecided=COUNT,
        archives=listed(WITHDRAWN),
    ),
    algorithm=TEXT,
    canonicalization=TEXT,
    signedBytes=TEXT,
    publicKeys=listed(closed(keyId=TEXT, publicKey=TEXT)),
)
