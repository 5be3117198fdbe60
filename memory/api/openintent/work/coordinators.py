"""Coordinators over HTTP, which the published client calls leases (RFC-0013)."""

from django.utils import timezone
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory import work
from memory.api.openintent import schemas
from memory.api.openintent.bodies import ExactJSONParser
from memory.api.openintent.calling import caller_of, described, permitted_first
from memory.api.openintent.documents import instant
from memory.api.openintent.work import calls, documents
from memory.api.openintent.work import serializers as wire
from memory.host.operations import listed
from memory.host.serializing import checked
from memory.tiers import READ, WRITE, Caller
from memory.work import CoordinatorChange


@described("createCoordinator", scope=WRITE, takes=wire.CoordinatorCreate, gives={201: schemas.COORDINATOR})
@api_view(["POST"])
@parser_classes([ExactJSONParser])
def coordinator_list(request: Request) -> Response:
    """An agent coordinates an intent from here on."""
    caller = caller_of(request)
    draft = checked(wire.CoordinatorCreate, request.data).draft()
    row = work.create_coordinator(caller.scope, draft, actor=caller.agent_id, now=timezone.now())
    return calls.versioned(documents.coordinator_document(row), status=201)


@described("getCoordinator", method="GET", scope=READ, gives={200: schemas.COORDINATOR})
@described(
    "changeCoordinator",
    method="PATCH",
    scope=WRITE,
    headers=("If-Match",),
    takes=wire.CoordinatorUpdate,
    gives={200: schemas.COORDINATOR},
)
@api_view(["GET", "PATCH"])
@parser_classes([ExactJSONParser])
def coordinator(request: Request, coordinator_id: str) -> Response:
    """The change of a status or of guardrails is this host's own: the published client has no method for it."""
    caller = caller_of(request)
    if request.method == "GET":
        return calls.versioned(documents.coordinator_document(work.find_coordinator(caller.scope, coordinator_id)))
    with permitted_first(lambda: _require_change(caller, coordinator_id)):
        version = calls.version_in(request)
        sent = checked(wire.CoordinatorUpdate, request.data).validated_data
    change = CoordinatorChange(sent.get("status"), sent.get("guardrails"))
    row = work.update_coordinator(
        caller.scope, coordinator_id, change, version=version, actor=caller.agent_id, now=timezone.now()
    )
    return calls.versioned(documents.coordinator_document(row))


@described("beatCoordinator", scope=WRITE, gives={200: schemas.COORDINATES})
@api_view(["POST"])
@parser_classes([ExactJSONParser])
def heartbeat(request: Request, coordinator_id: str) -> Response:
    """The coordinator is alive."""
    caller = caller_of(request)
    again = work.heartbeat(caller.scope, coordinator_id, actor=caller.agent_id, now=timezone.now())
    return Response({"status": "ok", "next_heartbeat_at": instant(again)})


@described("listIntentCoordinators", scope=READ, gives={200: listed(schemas.COORDINATOR)})
@api_view(["GET"])
def intent_coordinators(request: Request, intent_id: str) -> Response:
    """Who coordinates an intent."""
    rows = work.of_intent(work.find_intent(caller_of(request).scope, intent_id))
    return calls.listed([documents.coordinator_document(row) for row in rows], len(rows))


def _require_change(caller: Caller, coordinator_id: str) -> None:
    work.require_coordinator_change(caller.scope, coordinator_id, actor=caller.agent_id, now=timezone.now())
