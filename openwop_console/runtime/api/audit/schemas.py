"""What the audit log answers, as JSON Schema: for the OpenAPI document."""

from memory.host.operations import COUNT, FLAG, OBJECT, STRING, TEXT, TIME, Schema, closed
from openwop_console.runtime.api.schemas import EVENT

SEQUENCE: Schema = COUNT
DIGEST: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
CHECKPOINT = closed(checkpoint=TEXT, atSequence=SEQUENCE, merkleRoot=DIGEST, signature=TEXT)
ANOMALY = closed(atSeq=SEQUENCE, expectedPrevHash=TEXT, actualPrevHash=STRING)
AUDIT_VERIFIED = closed(
    fromSeq=SEQUENCE,
    toSeq=SEQUENCE,
    chainValid=FLAG,
    checkpointsValid=FLAG,
    checkpoints={"type": "array", "items": CHECKPOINT},
    anomalies={"type": "array", "items": ANOMALY},
)
AUDIT_RECORD = closed(
    tenant=TEXT,
    seq=SEQUENCE,
    occurredAt=TIME,
    actor=TEXT,
    action=TEXT,
    target=STRING,
    details=OBJECT,
    prevHash={"oneOf": [DIGEST, {"type": "null"}]},
    entryHash=DIGEST,
)
AUDIT_RECORDS = closed(
    records={"type": "array", "items": AUDIT_RECORD},
    total=SEQUENCE,
    totalIsExact=FLAG,
    next={"oneOf": [SEQUENCE, {"type": "null"}]},
)
PUBLIC_KEY = closed(keyId=TEXT, publicKey=TEXT)
AUDIT_PROOFS = closed(
    tenant=TEXT,
    exportedAt=TIME,
    checkpoints={
        "type": "array",
        "items": closed(
            checkpoint=TEXT, atSequence=SEQUENCE, merkleRoot=DIGEST, signature=TEXT, keyId=TEXT, createdAt=TIME
        ),
    },
    publicKeys={"type": "array", "items": PUBLIC_KEY},
    total=SEQUENCE,
    next={"oneOf": [SEQUENCE, {"type": "null"}]},
)
TENANT_EVENTS = closed(events={"type": "array", "items": EVENT}, total=SEQUENCE)
