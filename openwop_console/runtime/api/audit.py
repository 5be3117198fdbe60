from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import audit_access, audit_chain
from memory.host.audit import AuditFilter
from memory.host.audit_access import AuditPage
from memory.host.audit_chain import Break, Finding
from memory.host.http import (
    COUNT,
    FLAG,
    OBJECT,
    STRING,
    TEXT,
    TIME,
    Answer,
    Closed,
    Instant,
    Schema,
    Text,
    also,
    checked,
    closed,
    listed,
    operation,
    query_of,
)
from memory.host.json_types import JSONObject
from memory.host.models import AuditCheckpoint
from memory.host.models.audit import RESULTS
from memory.host.paging import DEFAULT_LIMIT
from memory.host.tenancy import scope_of
from openwop_console.runtime.api.serializers import EVENT, event_document

SEQUENCE: Schema = COUNT
DIGEST: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
CHECKPOINT = closed(checkpoint=TEXT, atSequence=SEQUENCE, merkleRoot=DIGEST, signature=TEXT)
# The first record has nothing before it; the schema wants a text all the same.
ANOMALY = Answer[Break](
    atSeq=(SEQUENCE, lambda found: found.at_seq),
    expectedPrevHash=(TEXT, lambda found: found.expected or "null"),
    actualPrevHash=(STRING, lambda found: found.actual),
)
# The AuditVerifyResult.
AUDIT_VERIFIED = Answer[Finding](
    fromSeq=(SEQUENCE, lambda found: found.first),
    toSeq=(SEQUENCE, lambda found: found.last),
    chainValid=(FLAG, lambda found: found.intact),
    checkpointsValid=(FLAG, lambda found: not found.forged),
    checkpoints=(
        {"type": "array", "items": CHECKPOINT},
        lambda found: [_checkpoint_document(each) for each in found.checkpoints],
    ),
    anomalies=({"type": "array", "items": ANOMALY}, lambda found: ANOMALY.documents(found.breaks)),
)
HASHED = closed(
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
# The members of ``details`` that are not hashed, where there is one; the request, where there was one.
AUDIT_RECORD = also(HASHED, unhashed=listed(TEXT), requestId=TEXT)
# One that was tampered with so that its values cannot be read.
UNREADABLE = closed(tenant=TEXT, seq=SEQUENCE, entryHash=STRING, unreadable={"const": True})
AUDIT_RECORDS = closed(
    records={"type": "array", "items": {"oneOf": [AUDIT_RECORD, UNREADABLE]}},
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
MOST_RECORDS = 1000
FILTERS = {"actor": "actor", "action": "action", "target": "target", "requestId": "request_id", "since": "since"}
FILTERS |= {"until": "until", "result": "result"}


def sequence(*, digits: int = 15) -> serializers.RegexField:
    """A sequence number, in digits and nothing else."""
    return serializers.RegexField(rf"\A[0-9]{{1,{digits}}}\Z", required=False)


class AuditRange(Closed):
    """The range to verify, both ends included; a ``toSeq`` beyond the newest record, however large, is that record."""

    fromSeq = sequence()
    toSeq = sequence(digits=100)

    def ends(self) -> tuple[int | None, int | None]:
        given = self.validated_data
        first, last = (int(given[name]) if name in given else None for name in ("fromSeq", "toSeq"))
        return first, last


class AuditQuery(Closed):
    """Records older than number ``before``, newest first: of one actor, action (or all that begin with its first word,
    as ``run`` does), target or request, by its id, or with one result; from ``since`` on, before ``until``."""

    actor = Text(required=False, max_length=64)
    action = Text(required=False, max_length=64)
    target = Text(required=False, max_length=256)
    requestId = Text(required=False, max_length=64)
    result = serializers.ChoiceField(RESULTS, required=False)
    since = Instant(required=False)
    until = Instant(required=False)
    before = sequence()
    limit = serializers.IntegerField(required=False, min_value=1, max_value=MOST_RECORDS)

    def wanted(self) -> AuditFilter:
        given = self.validated_data
        return AuditFilter(**{field: given[name] for name, field in FILTERS.items() if name in given})


class CheckpointsQuery(Closed):
    """Checkpoints behind the number ``after``, the oldest first; ``after`` is what ``next`` gave."""

    after = sequence()
    limit = serializers.IntegerField(required=False, min_value=1, max_value=MOST_RECORDS)


class TenantEventsQuery(Closed):
    """Events behind ``after``, which is exclusive."""

    after = serializers.IntegerField(required=False, min_value=-1, max_value=2**62)
    limit = serializers.IntegerField(required=False, min_value=1, max_value=MOST_RECORDS)


def _checkpoint_document(checkpoint: AuditCheckpoint) -> JSONObject:
    return {**audit_chain.checkpoint_statement(checkpoint), "signature": checkpoint.signature}


def records_document(page: AuditPage) -> JSONObject:
    oldest = page.records[-1].seq if page.records else 0
    return {
        "records": [audit_access.document_of(record) for record in page.records],
        "total": page.total,
        "totalIsExact": not page.inexact,
        "next": oldest or None,
    }


@operation("verifyAuditLog", scope="audit:read", query=AuditRange, gives={200: AUDIT_VERIFIED}, tag="audit")
@api_view(["GET"])
def audit_verify(request: Request) -> Response:
    first, last = checked(AuditRange, query_of(request)).ends()
    return Response(AUDIT_VERIFIED.document(audit_access.verify(scope_of(request), first=first, last=last)))


@operation("listAuditRecords", scope="audit:read", query=AuditQuery, gives={200: AUDIT_RECORDS}, tag="audit")
@api_view(["GET"])
def audit_list(request: Request) -> Response:
    """The newest records first. ``total`` counts what matches: exactly, or as a lower bound."""
    query = checked(AuditQuery, query_of(request))
    given = query.validated_data
    before, limit = int(given["before"]) if "before" in given else None, given.get("limit", DEFAULT_LIMIT)
    page = audit_access.view(scope_of(request), query.wanted(), before=before, limit=limit, now=timezone.now())
    return Response(records_document(page))


@operation("exportCheckpoints", scope="audit:read", query=CheckpointsQuery, gives={200: AUDIT_PROOFS}, tag="audit")
@api_view(["GET"])
def audit_checkpoints(request: Request) -> Response:
    given = checked(CheckpointsQuery, query_of(request)).validated_data
    after, limit = int(given.get("after", -1)), given.get("limit", MOST_RECORDS)
    return Response(audit_access.proofs(scope_of(request), after=after, limit=limit, now=timezone.now()))


@operation("listTenantEvents", scope="audit:read", query=TenantEventsQuery, gives={200: TENANT_EVENTS}, tag="audit")
@api_view(["GET"])
def tenant_events(request: Request) -> Response:
    given = checked(TenantEventsQuery, query_of(request)).validated_data
    scope = scope_of(request)
    found, total = audit_access.events(scope, after=given.get("after", -1), limit=given.get("limit", MOST_RECORDS))
    stands_in = {"runId": audit_access.log_id(scope)}
    return Response({"events": [event_document(event) | stands_in for event in found], "total": total})
