"""One entry over HTTP: made, read, changed and deleted (RFC-0015, API Endpoints; R1 to R19, R44 to R49)."""

import re
from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request

from memory.agent_memory import entries
from memory.api.openintent import queries, schemas
from memory.api.openintent.bodies import ExactJSONParser
from memory.api.openintent.calling import caller_of, described, permitted_first
from memory.api.openintent.documents import entry_document, json_response
from memory.api.openintent.serializers import EntryCreate, EntryUpdate
from memory.host import ids
from memory.host.errors import Invalid, PreconditionRequired
from memory.host.serializing import checked
from memory.tiers import READ, WRITE

if TYPE_CHECKING:
    from memory.models.address import EntryAddress

CREATED = 201
READING = ("GET", "HEAD")
VERSION = re.compile(r'(?:W/)?"([0-9]{1,19})"|([0-9]{1,19})')


@described("queryMemory", method="GET", scope=READ, query=schemas.Sought, gives={200: schemas.ENTRIES})
@described("createMemory", method="POST", scope=WRITE, takes=EntryCreate, gives={201: schemas.ENTRY})
@api_view(["GET", "HEAD", "POST"])
@parser_classes([ExactJSONParser])
def memory(request: Request) -> HttpResponse:
    """A new entry, or the list of what fits. Without ``X-Agent-ID`` the body says which agent calls (R2)."""
    if request.method in READING:
        return queries.envelope(request)
    caller_of(request)
    body = checked(EntryCreate, request.data)
    caller = caller_of(request, otherwise=body.validated_data.get("agent_id") or "")
    row = entries.create(caller, body.given(caller.agent_id), now=timezone.now())
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
        named = checked(EntryUpdate, request.data).named()
    return entry_response(entries.update(caller, key, version, named, now=now))


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
