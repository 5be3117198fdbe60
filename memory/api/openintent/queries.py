"""Lists of memory over HTTP (RFC-0015 4): an envelope of whatever is asked for, and an agent's list as a bare array."""

from typing import Any

from django.http import HttpResponse
from django.urls import URLPattern, path
from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request

from memory.agent_memory import queries
from memory.agent_memory.queries import Page
from memory.api.openintent import schemas
from memory.api.openintent.calling import caller_of, described
from memory.api.openintent.documents import entry_document, json_response
from memory.host.operations import listed
from memory.tiers import READ, Caller


def envelope(request: Request) -> HttpResponse:
    """What fits of all that the caller may see, with how much that is (R60)."""
    wanted = queries.parse(request.query_params)
    found = queries.page(_reader(request, wanted.agent_id), wanted, now=timezone.now())
    paging = {"total": found.total, "limit": found.limit, "offset": found.offset}
    return json_response({"entries": _documents(found), **paging})


@described("listAgentMemory", scope=READ, query=schemas.SoughtOfAgent, gives={200: listed(schemas.ENTRY)})
@api_view(["GET", "HEAD"])
def of_agent(request: Request, agent_id: str) -> HttpResponse:
    """What fits of one agent's memory, as the client wants it: an array, its total in a header."""
    wanted = queries.parse(request.query_params, agent_id=agent_id)
    found = queries.page(_reader(request, agent_id), wanted, now=timezone.now())
    return json_response(_documents(found), headers={"X-Total-Count": str(found.total)})


@described("summarizeAgentMemory", scope=READ, gives={200: schemas.SUMMARY})
@api_view(["GET", "HEAD"])
def summary(request: Request, agent_id: str) -> HttpResponse:
    """How much an agent remembers, and what it may read of what is shared (R105)."""
    found = queries.of_agent(_reader(request, agent_id), agent_id, now=timezone.now())
    return json_response(found.document())


def _reader(request: Request, agent_id: str) -> Caller:
    """Who reads: without ``X-Agent-ID`` the agent that is named, unless an operator looks at it (R37)."""
    caller = caller_of(request)
    return caller if caller.operates or not agent_id else caller_of(request, otherwise=agent_id)


def _documents(found: Page) -> list[dict[str, Any]]:
    return [
        entry_document(row, inherited_from=found.inherited_from if row.task_id == found.inherited_from else "")
        for row in found.rows
    ]


urlpatterns: list[URLPattern] = [
    path("api/v1/agents/<path:agent_id>/memory", of_agent, name="openintent-agent-memory"),
    path("api/v1/agents/<path:agent_id>/memory/summary", summary, name="openintent-memory-summary"),
]
