"""``GET /api/v1/intents/{id}/events`` and ``GET /api/v1/agents/{id}/events``: what has happened (C20, R65, R68)."""

from typing import Any

from django.utils import timezone
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host.errors import Invalid
from memory.host.operations import listed
from memory.openintent import events, queries
from memory.openintent.access import READ, WRITE
from memory.openintent.api import schemas
from memory.openintent.api.http import ExactJSONParser, Problems, caller_of, described, page_of
from memory.openintent.api.intents import log_event
from memory.openintent.api.serializers import EventCreate
from memory.openintent.events import Asked, Log

LONGEST_TYPE = 64
EVENTS = listed(schemas.EVENT)


@described("listIntentEvents", method="GET", scope=READ, query=schemas.SoughtEvents, gives={200: EVENTS})
@described("logIntentEvent", method="POST", scope=WRITE, takes=EventCreate, gives={201: schemas.EVENT})
@api_view(["GET", "POST"])
@parser_classes([ExactJSONParser])
def intent_events(request: Request, intent_id: str) -> Response:
    """The log of an intent: what happened, or what an agent tells."""
    if request.method == "POST":
        return log_event(request, intent_id)
    return _page(events.intent_log(caller_of(request), intent_id, now=timezone.now()), request)


@described("listAgentEvents", scope=READ, query=schemas.SoughtEvents, gives={200: EVENTS})
@api_view(["GET"])
def agent_events(request: Request, agent_id: str) -> Response:
    """The log of an agent."""
    return _page(events.agent_log(caller_of(request), agent_id, now=timezone.now()), request)


def _page(log: Log, request: Request) -> Response:
    """The bare array that the published client wants; how many there are stands in ``X-Total-Count``."""
    told = events.page(log, _asked(request.query_params))
    return Response(told.events, headers={"X-Total-Count": str(told.total)})


def _asked(query: Any) -> Asked:
    """Parameters that nobody knows are ignored, and a page that is too large is the largest there is (R59, R63)."""
    problems: Problems = []
    limit, offset = page_of(query, problems)
    since = queries.moment_of(query["since"]) if query.get("since") else None
    if query.get("since") and since is None:
        problems.append({"field": "since", "message": "must be a time in ISO 8601"})
    kind = query.get("event_type", "")
    if len(kind) > LONGEST_TYPE or not kind.isprintable():
        problems.append({"field": "event_type", "message": "is no type of event"})
    if problems:
        raise Invalid("The events cannot be listed like that.", errors=problems)
    return Asked(kind, since, limit, offset)
