"""``/v1/host/console/commitments``: what was inferred, what became of it, and putting it off or cancelling it."""

from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory import commitments
from memory.api.openwop.commitments import schemas
from memory.api.openwop.commitments import serializers as wire
from memory.commitments import Shown
from memory.host import ids
from memory.host.operations import operation
from memory.host.serializing import checked, query_of
from memory.host.tenancy import TenantScope, scope_of

DEFAULT_LIMIT = 50


@operation(
    "listCommitments",
    scope="memory:read",
    query=wire.CommitmentsQuery,
    gives={200: schemas.COMMITMENTS},
    tag="commitments",
)
@api_view(["GET"])
def commitment_list(request: Request) -> Response:
    query = checked(wire.CommitmentsQuery, query_of(request))
    given = query.validated_data
    page = commitments.page(
        scope_of(request),
        query.wanted(),
        after=given.get("after"),
        size=given.get("limit", DEFAULT_LIMIT),
        now=timezone.now(),
    )
    return Response(
        {
            "commitments": [wire.commitment_document(each) for each in page.commitments],
            "total": page.total,
            "next": ids.wire("cmt", page.after) if page.after else None,
        }
    )


@operation("getCommitment", scope="memory:read", gives={200: schemas.ONE}, tag="commitments")
@api_view(["GET"])
def commitment(request: Request, commitment_id: str) -> Response:
    scope = scope_of(request)
    return Response(_document(scope, _found(scope, commitment_id)))


@operation(
    "snoozeCommitment",
    scope="memory:retire memory:read",
    takes=wire.SnoozeCommitment,
    gives={200: schemas.ONE},
    tag="commitments",
)
@api_view(["POST"])
def snooze(request: Request, commitment_id: str) -> Response:
    scope, until = scope_of(request), checked(wire.SnoozeCommitment, request.data).validated_data["until"]
    commitments.snooze(scope, ids.parse("cmt", commitment_id), until=until, now=timezone.now())
    return Response(_document(scope, _found(scope, commitment_id)))


@operation(
    "cancelCommitment",
    scope="memory:retire memory:read",
    takes=wire.CancelCommitment,
    gives={200: schemas.ONE},
    tag="commitments",
)
@api_view(["POST"])
def cancel(request: Request, commitment_id: str) -> Response:
    scope, given = scope_of(request), checked(wire.CancelCommitment, request.data).validated_data
    commitments.cancel(scope, ids.parse("cmt", commitment_id), reason=given["reason"], now=timezone.now())
    return Response(_document(scope, _found(scope, commitment_id)))


def _found(scope: TenantScope, commitment_id: str) -> Shown:
    return commitments.find(scope, ids.parse("cmt", commitment_id), now=timezone.now())


def _document(scope: TenantScope, shown: Shown) -> dict[str, object]:
    return wire.with_firings(shown, commitments.firings_of(scope, shown.row.id))
