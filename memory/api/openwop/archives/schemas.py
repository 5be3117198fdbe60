"""What archives and the memory policy answer, as JSON Schema: for the OpenAPI document."""

from memory.host.operations import (
    COUNT,
    FLAG,
    POSITIVE,
    SHA256,
    STRING,
    TEXT,
    TIME,
    Schema,
    closed,
    listed,
    nullable,
    words,
)
from memory.models import ArchiveState
from memory.policies import ENDPOINT, EXTRACTIVE

ARCHIVE = closed(
    "Archive",
    id=TEXT,
    memoryRef=TEXT,
    state=words(ArchiveState.values),
    sha256=SHA256,
    distiller=TEXT,
    tokenizer=TEXT,
    trigger=TEXT,
    tokenBudget=COUNT,
    tokensUsed=COUNT,
    outputTokens=COUNT,
    sourceCount=COUNT,
    corpusCount=COUNT,
    indexUpdated=FLAG,
    runId=TEXT,
    entryId=nullable(TEXT),
    createdAt=TIME,
    keepUntil=nullable(TIME),
    withdrawnAt=nullable(TIME),
    withdrawnBecause=nullable(TEXT),
)
ARCHIVES = closed("ArchivePage", memoryRef=nullable(STRING), archives=listed(ARCHIVE), total=COUNT, next=nullable(TEXT))
# The bytes as they were stored: a later version of the document may hold more.
DOCUMENT: Schema = {
    "title": "ArchiveDocument",
    "type": "object",
    "required": ["version", "memoryRef", "sources", "text"],
    "properties": {
        "version": COUNT,
        "memoryRef": TEXT,
        "sources": listed({"type": "object", "required": ["id", "sha256"]}),
        "text": STRING,
    },
}
POLICY = closed(
    "MemoryPolicy",
    archiveDays=POSITIVE,
    restoreDays=POSITIVE,
    staleDays=POSITIVE,
    timezone=TEXT,
    commitmentWorkflow=STRING,
    distiller=words((EXTRACTIVE, ENDPOINT)),
    endpointUrl=STRING,
    endpointModel=STRING,
    endpointSecret=STRING,
)
