"""Intents, and who takes part in them; what agents tell on their logs (RFC-0001)."""

from django.utils import timezone
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory import work
from memory.api.openintent import schemas
from memory.api.openintent.bodies import ExactJSONParser
from memory.api.openintent.calling import caller_of, described, permitted_first
from memory.api.openintent.work import calls, documents
from memory.api.openintent.work import serializers as wire
from memory.host.operations import listed
from memory.host.serializing import checked
from memory.tiers import READ, WRITE
from memory.work import NewIntent


@described("listIntents", method="GET", scope=READ, query=wire.IntentPage, gives={200: schemas.INTENTS})
@described("createIntent", method="POST", scope=WRITE, takes=wire.IntentCreate, gives={201: schemas.INTENT})
@api_view(["GET", "POST"])
@parser_classes([ExactJSONParser])
def intent_list(request: Request) -> Response:
    """The intents of the tenant, and a new one."""
    if request.method == "POST":
        return _create(request)
    asked = calls.page_of(request, wire.IntentPage)
    rows, total = work.list_intents(caller_of(request).scope, **asked)
    shown = [documents.intent_document(row) for row in rows]
    return Response({"intents": shown, "total": total, "limit": asked["limit"], "offset": asked["offset"]})


def _create(request: Request) -> Response:
    sent = checked(wire.IntentCreate, request.data).validated_data
    caller = calls.acting(request, sent.get("created_by"), field="created_by")
    draft = NewIntent(
        title=sent["title"],
        description=sent.get("description") or "",
        constraints=sent.get("constraints") or {},
        state=sent.get("state") or {},
        parent_intent_id=sent.get("parent_intent_id") or "",
        depends_on=tuple(sent.get("depends_on") or ()),
    )
    row = work.create_intent(caller.scope, draft, actor=caller.agent_id, now=timezone.now())
    return calls.versioned(documents.intent_document(row), status=201)


@described("getIntent", scope=READ, gives={200: schemas.INTENT})
@api_view(["GET"])
def intent(request: Request, intent_id: str) -> Response:
    """One intent."""
    return calls.versioned(documents.intent_document(work.find_intent(caller_of(request).scope, intent_id)))


@described(
    "changeIntentStatus", scope=WRITE, headers=("If-Match",), takes=wire.StatusChange, gives={200: schemas.INTENT}
)
@api_view(["POST"])
@parser_classes([ExactJSONParser])
def intent_status(request: Request, intent_id: str) -> Response:
    """The intent has this status from here on."""
    caller = caller_of(request)
    with permitted_first(lambda: calls.require_direction(caller, intent_id)):
        version = calls.version_in(request)
        sent = checked(wire.StatusChange, request.data).validated_data
    row = work.set_status(
        caller.scope,
        intent_id,
        sent["status"],
        reason=sent.get("reason") or "",
        version=version,
        actor=caller.agent_id,
        now=timezone.now(),
    )
    return calls.versioned(documents.intent_document(row))


@described("changeIntentState", scope=WRITE, headers=("If-Match",), takes=wire.StateChange, gives={200: schemas.INTENT})
@api_view(["POST"])
@parser_classes([ExactJSONParser])
def intent_state(request: Request, intent_id: str) -> Response:
    """The state of the intent, patched."""
    caller = caller_of(request)
    with permitted_first(lambda: calls.require_part(caller, intent_id)):
        version = calls.version_in(request)
        patches = checked(wire.StateChange, request.data).patched()
    row = work.update_state(
        caller.scope, intent_id, patches, version=version, actor=caller.agent_id, now=timezone.now()
    )
    return calls.versioned(documents.intent_document(row))


@described("listIntentAgents", method="GET", scope=READ, gives={200: listed(schemas.PARTICIPANT)})
@described("joinIntent", method="POST", scope=WRITE, takes=wire.AgentAssign, gives={201: schemas.PARTICIPATION})
@api_view(["GET", "POST"])
@parser_classes([ExactJSONParser])
def intent_agents(request: Request, intent_id: str) -> Response:
    """Who takes part in an intent, and one more."""
    caller, agent_id = caller_of(request), ""
    if request.method == "GET":
        row = work.find_intent(caller.scope, intent_id)
        return Response([{"intent_id": intent_id, "agent_id": each} for each in row.agents])
    agent_id = checked(wire.AgentAssign, request.data).validated_data.get("agent_id") or caller.agent_id
    work.assign_agent(caller.scope, intent_id, agent_id, actor=caller.agent_id, now=timezone.now())
    return Response({"intent_id": intent_id, "agent_id": agent_id, "status": "assigned"}, status=201)


@described("leaveIntent", scope=WRITE, gives={200: schemas.PARTICIPATION})
@api_view(["DELETE"])
def intent_agent(request: Request, intent_id: str, agent_id: str) -> Response:
    """The agent takes no part any more."""
    caller = caller_of(request)
    work.unassign_agent(caller.scope, intent_id, agent_id, actor=caller.agent_id, now=timezone.now())
    return Response({"intent_id": intent_id, "agent_id": agent_id, "status": "unassigned"})


def log_event(request: Request, intent_id: str) -> Response:
    """What an agent tells stands on the intent's log; the answer is the event, as the log will tell it."""
    named = caller_of(request)
    with permitted_first(lambda: calls.require_voice(named, intent_id)):
        body = checked(wire.EventCreate, request.data)
    sent = body.validated_data
    caller = calls.acting(request, sent.get("actor"), field="actor")
    recorded, note = work.log_event(
        caller.scope, intent_id, sent["event_type"], body.noted(), actor=caller.agent_id, now=timezone.now()
    )
    return Response(documents.event_document(intent_id, recorded, note), status=201)
