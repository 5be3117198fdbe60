"""``/v1/audit/verify`` and the tenant's own records: serializer -> scope -> one call -> response (openwop-host 2.4)."""

from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import auditing
from memory.host.operations import operation
from memory.host.serializing import checked, query_of
from memory.host.tenancy import scope_of
from openwop_console.runtime.api.audit import schemas
from openwop_console.runtime.api.audit.serializers import (
    MOST_RECORDS,
    AuditQuery,
    AuditRange,
    CheckpointsQuery,
    TenantEventsQuery,
    finding_document,
    records_document,
)
from openwop_console.runtime.api.serializers import event_document

DEFAULT_LIMIT = 50


@operation("verifyAuditLog", scope="audit:read", query=AuditRange, gives={200: schemas.AUDIT_VERIFIED}, tag="audit")
@api_view(["GET"])
def audit_verify(request: Request) -> Response:
    first, last = checked(AuditRange, query_of(request)).ends()
    return Response(finding_document(auditing.verify(scope_of(request), first=first, last=last)))


@operation("listAuditRecords", scope="audit:read", query=AuditQuery, gives={200: schemas.AUDIT_RECORDS}, tag="audit")
@api_view(["GET"])
def audit_list(request: Request) -> Response:
    """The newest records first. ``total`` counts what matches: exactly, or as a lower bound."""
    query = checked(AuditQuery, query_of(request))
    given = query.validated_data
    before, limit = int(given["before"]) if "before" in given else None, given.get("limit", DEFAULT_LIMIT)
    page = auditing.view(scope_of(request), query.wanted(), before=before, limit=limit, now=timezone.now())
    return Response(records_document(page))


@operation(
    "exportCheckpoints", scope="audit:read", query=CheckpointsQuery, gives={200: schemas.AUDIT_PROOFS}, tag="audit"
)
@api_view(["GET"])
def audit_checkpoints(request: Request) -> Response:
    given = checked(CheckpointsQuery, query_of(request)).validated_data
    after, limit = int(given.get("after", -1)), given.get("limit", MOST_RECORDS)
    return Response(auditing.proofs(scope_of(request), after=after, limit=limit, now=timezone.now()))


@operation(
    "listTenantEvents", scope="audit:read", query=TenantEventsQuery, gives={200: schemas.TENANT_EVENTS}, tag="audit"
)
@api_view(["GET"])
def tenant_events(request: Request) -> Response:
    given = checked(TenantEventsQuery, query_of(request)).validated_data
    scope = scope_of(request)
    found, total = auditing.events(scope, after=given.get("after", -1), limit=given.get("limit", MOST_RECORDS))
    stands_in = {"runId": auditing.log_id(scope)}
    return Response({"events": [event_document(event) | stands_in for event in found], "total": total})
