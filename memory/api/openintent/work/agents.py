"""Agents over HTTP: registered, read, alive or not (RFC-0016)."""

from django.utils import timezone
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory import work
from memory.api.openintent.bodies import ExactJSONParser
from memory.api.openintent.calling import caller_of
from memory.api.openintent.documents import instant
from memory.api.openintent.work import calls, documents
from memory.api.openintent.work import serializers as wire
from memory.host.serializing import checked


@api_view(["GET"])
def agent_list(request: Request) -> Response:
    rows, total = work.list_agents(caller_of(request).scope, **calls.page_of(request, wire.AgentPage))
    return calls.listed([documents.agent_document(row) for row in rows], total)


@api_view(["POST"])
@parser_classes([ExactJSONParser])
def registration(request: Request) -> Response:
    draft = checked(wire.AgentRegister, request.data).draft()
    caller = caller_of(request, otherwise=draft.agent_id)
    row = work.register_agent(caller.scope, draft, actor=caller.agent_id, now=timezone.now())
    return Response(documents.agent_document(row), status=201)


@api_view(["GET"])
def record(request: Request, agent_id: str) -> Response:
    return Response(documents.agent_document(work.find_agent(caller_of(request).scope, agent_id)))


@api_view(["POST"])
@parser_classes([ExactJSONParser])
def heartbeat(request: Request, agent_id: str) -> Response:
    caller, now = caller_of(request), timezone.now()
    sent = checked(wire.Heartbeat, request.data).validated_data
    tasks = sent.get("tasks_in_progress") or []
    again = work.agent_heartbeat(caller.scope, agent_id, load=sent.get("current_load") or 0, tasks=tasks, now=now)
    return Response({"status": "ok", "server_timestamp": instant(now), "next_heartbeat_at": instant(again)})


@api_view(["PATCH"])
@parser_classes([ExactJSONParser])
def status(request: Request, agent_id: str) -> Response:
    caller = caller_of(request)
    word = checked(wire.AgentStatusChange, request.data).validated_data["status"]
    row = work.update_agent_status(caller.scope, agent_id, word, actor=caller.agent_id, now=timezone.now())
    return Response(documents.agent_document(row))
