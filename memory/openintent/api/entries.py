"""One entry over HTTP: made, read, changed and deleted (RFC-0015, API Endpoints; R1 to R19, R44 to R49)."""

import re
from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.urls import URLPattern, path
from django.utils import timezone
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request

from memory.host import ids
from memory.host.errors import Invalid, PreconditionRequired
from memory.host.http import checked, query_of
from memory.host.json_types import JSONObject
from memory.host.operations import listed
from memory.openintent import entries, queries
from memory.openintent.access import READ, WRITE, Caller
from memory.openintent.api import schemas
from memory.openintent.api.http import ExactJSONParser, caller_of, described, json_response, permitted_first
from memory.openintent.api.serializers import EntryCreate, EntryPlace, EntryUpdate
from memory.openintent.entries import entry_document
from memory.openintent.queries import Page

if TYPE_CHECKING:
    from memory.models.address import EntryAddress


CREATED = 201
READING = ("GET", "HEAD")
VERSION = re.compile(r'(?:W/)?"([0-9]{1,19})"|([0-9]{1,19})')


def envelope(request: Request) -> HttpResponse:
    """What fits of all that the caller may see, with how much that is (R60)."""
    wanted = queries.parse(request.query_params)
    found = queries.page(_reader(request, wanted.agent_id), wanted, now=timezone.now())
    paging = {"total": found.total, "limit": found.limit, "offset": found.offset}
    return json_response({"entries": _documents(found), **paging, **_beside(found)})


@described("listAgentMemory", scope=READ, query=schemas.SearchedOfAgent, gives={200: listed(schemas.ENTRY)})
@api_view(["GET", "HEAD"])
def entries_of_agent(request: Request, agent_id: str) -> HttpResponse:
    """What fits of one agent's memory, as the client wants it: an array, its total in a header."""
    wanted = queries.parse(request.query_params, agent_id=agent_id)
    found = queries.page(_reader(request, agent_id), wanted, now=timezone.now())
    beside = {f"X-{name.title().replace('_', '-')}": str(value).lower() for name, value in _beside(found).items()}
    return json_response(_documents(found), headers={"X-Total-Count": str(found.total), **beside})


@described("summarizeAgentMemory", scope=READ, gives={200: schemas.SUMMARY})
@api_view(["GET", "HEAD"])
def summary(request: Request, agent_id: str) -> HttpResponse:
    """How much an agent remembers, and what it may read of what is shared (R105)."""
    found = queries.summarize_agent(_reader(request, agent_id), agent_id, now=timezone.now())
    return json_response(found.document())


def _reader(request: Request, agent_id: str) -> Caller:
    """Who reads: without ``X-Agent-ID`` the agent that is named, unless an operator looks at it (R37)."""
    caller = caller_of(request)
    return caller if caller.operates or not agent_id else caller_of(request, otherwise=agent_id)


def _documents(found: Page) -> list[JSONObject]:
    return [
        entry_document(row, inherited_from=found.inherited_from if row.task_id == found.inherited_from else "")
        | ({"score": found.scores[row.id]} if row.id in found.scores else {})
        for row in found.rows
    ]


def _beside(found: Page) -> dict[str, str | bool]:
    """That the total is less than there are; how a search was ordered, and where it was to be by meaning too and was
    not, why."""
    if not found.total_is_exact:
        return {"total_is_exact": False}
    if found.meaning is None:
        return {}
    reason = {"ranking_reason": found.meaning.reason} if found.meaning.reason else {}
    return {"ranking": found.meaning.ranking, **reason}


urlpatterns: list[URLPattern] = [
    path("api/v1/agents/<path:agent_id>/memory", entries_of_agent, name="openintent-agent-memory"),
    path("api/v1/agents/<path:agent_id>/memory/summary", summary, name="openintent-memory-summary"),
]


@described("queryMemory", method="GET", scope=READ, query=schemas.Searched, gives={200: schemas.ENTRIES})
@described("createMemory", method="POST", scope=WRITE, takes=EntryCreate, gives={201: schemas.ENTRY})
@described(
    "putMemory",
    method="PUT",
    scope=WRITE,
    headers=("If-Match",),
    takes=EntryCreate,
    gives={200: schemas.ENTRY, 201: schemas.ENTRY},
)
@described(
    "deleteMemoryAt",
    method="DELETE",
    scope=WRITE,
    headers=("If-Match",),
    query=EntryPlace,
    gives={200: schemas.REMOVED},
)
@api_view(["GET", "HEAD", "POST", "PUT", "DELETE"])
@parser_classes([ExactJSONParser])
def memory(request: Request) -> HttpResponse:
    """A new entry, the entry at its address whether it is there or not, its deletion, or the list of what fits. Without
    ``X-Agent-ID`` the body says which agent calls (R2)."""
    if request.method in READING:
        return envelope(request)
    if request.method == "DELETE":
        place, caller = checked(EntryPlace, dict(query_of(request))), caller_of(request)
        gone = entries.delete_at(caller, place.address(caller.agent_id), version_of(request), now=timezone.now())
        return json_response({"status": "deleted", "entry_id": ids.wire("mem", gone)})
    caller_of(request)
    body = checked(EntryCreate, request.data)
    caller = caller_of(request, otherwise=body.validated_data.get("agent_id") or "")
    given, origin, is_new, now = body.given(caller.agent_id), body.validated_data.get("origin"), True, timezone.now()
    if request.method == "PUT":
        row, is_new = entries.put(
            caller, given, body.named(), fixed=body.fixed(), version=version_of(request), origin=origin, now=now
        )
    else:
        row = entries.create(caller, given, origin=origin, now=now)
    if not is_new:
        return entry_response(row)
    answer = entry_response(row, status=CREATED)
    answer["Location"] = f"/api/v1/memory/{ids.wire('mem', row.id)}"
    return answer


@described("getMemory", method="GET", scope=READ, gives={200: schemas.ENTRY})
@described(
    "changeMemory", method="PATCH", scope=WRITE, headers=("If-Match",), takes=EntryUpdate, gives={200: schemas.ENTRY}
)
@described("deleteMemory", method="DELETE", scope=WRITE, headers=("If-Match",), gives={200: schemas.REMOVED})
@api_view(["GET", "HEAD", "PATCH", "DELETE"])
@parser_classes([ExactJSONParser])
def entry(request: Request, entry_id: str) -> HttpResponse:
    """One entry. A change needs its version in ``If-Match``; a deletion is held to it when it is there."""
    caller, key, now = caller_of(request), ids.parse("mem", entry_id), timezone.now()
    if request.method in READING:
        return entry_response(entries.get(caller, key, now=now))
    with permitted_first(lambda: entries.require_change(caller, key, now=now)):
        version = version_of(request)
        if request.method == "DELETE":
            gone = entries.delete(caller, key, version, now=now)
            return json_response({"status": "deleted", "entry_id": ids.wire("mem", gone)})
        if version is None:
            raise PreconditionRequired
        body = checked(EntryUpdate, request.data)
    origin = body.validated_data.get("origin")
    return entry_response(entries.update(caller, key, version, body.named(), origin=origin, now=now))


def entry_response(row: "EntryAddress", *, status: int = 200) -> HttpResponse:
    """The full entry, with its version as ``ETag`` (R49)."""
    return json_response(entry_document(row), status=status, headers={"ETag": f'"{row.version}"'})


def version_of(request: Request) -> int | None:
    """The version in ``If-Match``: ``3``, ``"3"`` or ``W/"3"``; None when there is no such header (R44)."""
    said = request.headers.get("If-Match")
    if said is None:
        return None
    found = VERSION.fullmatch(said.strip())
    if found is None:
        problem = {"field": "If-Match", "message": "must be the version of the entry"}
        raise Invalid("The precondition cannot be understood.", errors=[problem])
    return int(found[1] or found[2])
