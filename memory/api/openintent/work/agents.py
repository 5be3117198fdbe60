"""Agents over HTTP: registered, read, alive or not (RFC-0016)."""

from django.utils import timezone
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory import work
from memory.api.openintent import schemas
from memory.api.openintent.bodies import ExactJSONParser
from memory.api.openintent.calling import caller_of, described
from memory.api.openintent.documents import instant
from memory.api.openintent.work import calls, documents
from memory.api.openintent.work import serializers as wire
from memory.host.operations import listed
from memory.host.serializing import checked
from memory.tiers import READ, WRITE


@described("listRegisteredAgents", scope=READ, query=wire.AgentPage, gives={200: listed(schemas.AGENT)})
@api_view(["GET"])
def agent_list(request: Request) -> Response:
    """The agents that have registered."""
    rows, total = work.list_agents(caller_of(request).scope, **calls.page_of(request, wire.AgentPage))
    return calls.listed([documents.agent_document(row) for row in rows], total)


@described("registerAgent", scope=WRITE, takes=wire.AgentRegister, gives={201: schemas.AGENT})
@api_view(["POST"])
@parser_classes([ExactJSONParser])
def registration(request: Request) -> Response:
    """An agent says who it is and what it can do."""
    draft = checked(wire.AgentRegister, request.data).draft()
    caller = caller_of(request, otherwise=draft.agent_id)
    row = work.register_agent(caller.scope, draft, actor=caller.agent_id, now=timezone.now())
    return Response(documents.agent_document(row), status=201)


@described("getAgentRecord", scope=READ, gives={200: schemas.AGENT})
@api_view(["GET"])
def record(request: Request, agent_id: str) -> Response:
    """One agent."""
    return Response(documents.agent_document(work.find_agent(caller_of(request).scope, agent_id)))


@described("beatAgent", scope=WRITE, takes=wire.AgentHeartbeat, gives={200: schemas.ALIVE})
@api_view(["POST"])
@parser_classes([ExactJSONParser])
def heartbeat(request: Request, agent_id: str) -> Response:
    """The agent is alive."""
    caller, now = caller_of(request), timezone.now()
    sent = checked(wire.AgentHeartbeat, request.data).validated_data
    tasks = sent.get("tasks_in_progress") or []
    again = work.agent_heartbeat(caller.scope, agent_id, load=sent.get("current_load") or 0, tasks=tasks, now=now)
    return Response({"status": "ok", "server_timestamp": instant(now), "next_heartbeat_at": instant(again)})


@described("changeAgentStatus", scope=WRITE, takes=wire.AgentStatusChange, gives={200: schemas.AGENT})
@api_view(["PATCH"])
@parser_classes([ExactJSONParser])
def status(request: Request, agent_id: str) -> Response:
    """The agent is in this state from here on."""
    caller = caller_of(request)
    word = checked(wire.AgentStatusChange, request.data).validated_data["status"]
    row = work.update_agent_status(caller.scope, agent_id, word, actor=caller.agent_id, now=timezone.now())
    return Response(documents.agent_document(row))
