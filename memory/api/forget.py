"""Forgetting over HTTP: previews, confirmations, receipts and legal holds."""

from django.db import transaction
from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory import tasks
from memory.api import serializers
from memory.forget import execution, holds, plans
from memory.host import ids
from memory.host.http import Nothing, checked, operation, query_of
from memory.host.paging import DEFAULT_LIMIT, cursor
from memory.host.tenancy import scope_of
from memory.models import ForgetState


@operation(
    "previewForget",
    scope="memory:forget",
    takes=serializers.ForgetSubject,
    gives={202: serializers.PREVIEW},
    tag="forget",
)
@api_view(["POST"])
@transaction.atomic
def forget_previews(request: Request) -> Response:
    given = checked(serializers.ForgetSubject, request.data).validated_data
    asked = execution.request_preview(
        scope_of(request), [given["subject"], *given.get("aliases", [])], now=timezone.now()
    )
    tasks.enqueue_preview(asked)
    return Response(serializers.preview_document(asked, []), status=202)


@operation(
    "getForgetPreview",
    scope="memory:forget",
    query=serializers.SuspectQuery,
    gives={200: serializers.PREVIEW},
    tag="forget",
)
@api_view(["GET"])
def forget_preview(request: Request, preview_id: str) -> Response:
    given = checked(serializers.SuspectQuery, query_of(request)).validated_data
    scope, size = scope_of(request), given.get("limit", DEFAULT_LIMIT)
    found = plans.find(scope, ids.parse("fgt", preview_id))
    if found.state not in (ForgetState.PREVIEWED, ForgetState.AWAITING):
        return Response(serializers.preview_document(found, []))
    rows, last = plans.suspects(found, after=given.get("after"), limit=size)
    terms = execution.terms_of(scope, found)
    shown, on_hold = plans.suspects_in_context(found, terms, rows), holds.active_on(found.tenant_id, terms)
    return Response(serializers.preview_document(found, shown, cursor("sus", last), on_hold))


@operation(
    "listLegalHolds",
    method="GET",
    scope="memory:forget",
    query=serializers.HoldsQuery,
    gives={200: serializers.HOLDS},
    tag="forget",
)
@operation(
    "setLegalHold",
    method="POST",
    scope="memory:forget",
    takes=serializers.HoldRequest,
    gives={201: serializers.HOLD},
    tag="forget",
)
@api_view(["GET", "POST"])
def hold_list(request: Request) -> Response:
    scope = scope_of(request)
    if request.method == "POST":
        given = checked(serializers.HoldRequest, request.data).validated_data
        names = [given["subject"], *given.get("aliases", [])]
        hold = holds.place(scope, names, reason=given["reason"], now=timezone.now())
        return Response(serializers.HOLD.document(hold), status=201)
    given = checked(serializers.HoldsQuery, query_of(request)).validated_data
    page = holds.newest(scope, before=given.get("after"), limit=given.get("limit", DEFAULT_LIMIT))
    return Response(serializers.HOLDS.document(page))


@operation("getLegalHold", scope="memory:forget", gives={200: serializers.HOLD}, tag="forget")
@api_view(["GET"])
def hold(request: Request, hold_id: str) -> Response:
    return Response(serializers.HOLD.document(holds.find(scope_of(request), ids.parse("hld", hold_id))))


@operation(
    "endLegalHold", scope="memory:forget", takes=serializers.HoldEnd, gives={200: serializers.HOLD}, tag="forget"
)
@api_view(["POST"])
def hold_end(request: Request, hold_id: str) -> Response:
    """POST with a body, since the hold stays on record and its reason belongs into no address."""
    reason, found = checked(serializers.HoldEnd, request.data).validated_data["reason"], ids.parse("hld", hold_id)
    return Response(serializers.HOLD.document(holds.end(scope_of(request), found, reason=reason, now=timezone.now())))


@operation(
    "confirmForget",
    scope="memory:forget",
    takes=serializers.ForgetConfirmation,
    gives={202: serializers.FORGET},
    waits=True,
    tag="forget",
)
@api_view(["POST"])
def forget_list(request: Request) -> Response:
    given = checked(serializers.ForgetConfirmation, request.data).validated_data
    confirmed = execution.confirm(
        scope_of(request),
        ids.parse("fgt", given["previewId"]),
        typed=given["subject"],
        reason=given["reason"],
        ticked=given.get("suspected", []),
        spared=given.get("spared", []),
        now=timezone.now(),
        queue=tasks.enqueue_forget,
    )
    return Response(serializers.forget_document(confirmed), status=202)


@operation("withdrawForget", scope="memory:forget", gives={200: serializers.FORGET}, tag="forget")
@api_view(["POST"])
def forget_withdrawal(request: Request, forget_id: str) -> Response:
    """A request that awaits a second person is over; nothing was removed."""
    checked(Nothing, request.data)
    ended = execution.withdraw(scope_of(request), ids.parse("fgt", forget_id), now=timezone.now())
    return Response(serializers.forget_document(ended))


@operation("getForget", scope="memory:forget", gives={200: serializers.FORGET}, tag="forget")
@api_view(["GET"])
def forget(request: Request, forget_id: str) -> Response:
    return Response(serializers.forget_document(plans.find(scope_of(request), ids.parse("fgt", forget_id))))
