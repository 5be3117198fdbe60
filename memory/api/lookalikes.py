"""Entries that look alike over HTTP: the console's extension of the OpenWOP face."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.urls import path
from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import ids
from memory.host.http import After, Closed, SoughtRef, Text, checked, query_of
from memory.host.json_types import JSONObject
from memory.host.operations import COUNT, SHA256, STRING, TEXT, TIME, closed, listed, nullable, operation, words
from memory.host.paging import DEFAULT_LIMIT, cursor
from memory.host.tenancy import scope_of
from memory.models import Verb
from memory.passes import lookalikes
from memory.passes.lookalikes import MOST_AT_ONCE, Choice, Pair
from memory.wire import instant

if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry

ENTRY = closed(
    "LookAlikeEntry",
    id=TEXT,
    content=STRING,
    runId=TEXT,
    nodeId=nullable(TEXT),
    agentId=nullable(TEXT),
    createdAt=TIME,
    expiresAt=nullable(TIME),
)
LOOK_ALIKE = closed(
    "LookAlike",
    id=TEXT,
    memoryRef=TEXT,
    sha256=SHA256,
    percent=COUNT,
    foundAt=TIME,
    older=ENTRY,
    newer=ENTRY,
    mergedInto=TEXT,
)
LOOK_ALIKES = closed("LookAlikes", lookAlikes=listed(LOOK_ALIKE), total=COUNT, next=nullable(TEXT))
DECIDED = closed("LookAlikesDecided", decision=words(Verb.values), decided=COUNT, passIds=listed(TEXT))
TAG = "passes"
BASE = "v1/host/console/look-alikes"


class LookAlikesQuery(Closed):
    """The newest first, of one ref or with one entry when it is named; ``after`` is what ``next`` gave."""

    memoryRef = SoughtRef()
    memoryId = After("mem")
    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    after = After("dup")


class ChosenLookAlike(Closed):
    """A pair as it was read: its id, and the ``sha256`` that it had."""

    id = Text(max_length=64)
    sha256 = Text(min_length=64, max_length=64)


class DecideLookAlikes(Closed):
    """The closed body of a decision: all of the pairs are decided so, or none."""

    decision = serializers.ChoiceField(choices=Verb.values)
    pairs = serializers.ListField(child=ChosenLookAlike(), min_length=1, max_length=MOST_AT_ONCE)


def look_alike_document(pair: Pair) -> JSONObject:
    """A pair with what both entries say; ``mergedInto`` is the one whose text stays when they are merged."""
    return {
        "id": pair.id,
        "memoryRef": pair.older.memory_ref,
        "sha256": pair.sha256,
        "percent": pair.row.percent,
        "foundAt": instant(pair.row.found_at),
        "older": _entry_document(pair.older),
        "newer": _entry_document(pair.newer),
        "mergedInto": ids.wire("mem", pair.stays.id),
    }


def _entry_document(entry: "MemoryEntry") -> JSONObject:
    return {
        "id": ids.wire("mem", entry.id),
        "content": entry.content,
        "runId": ids.wire("run", entry.run_id),
        "nodeId": entry.node_id or None,
        "agentId": entry.agent_id or None,
        "createdAt": instant(entry.created_at),
        "expiresAt": instant(entry.expires_at) if entry.expires_at else None,
    }


def choice_of(wire_id: str, sha256: str) -> Choice:
    """The pair of that id as it was read; an id that is none names no pair."""
    return Choice(ids.parse("dup", wire_id) or UUID(int=0), sha256)


@operation("listLookAlikes", scope="memory:read", query=LookAlikesQuery, gives={200: LOOK_ALIKES}, tag=TAG)
@api_view(["GET"])
def look_alike_list(request: Request) -> Response:
    given: dict[str, Any] = checked(LookAlikesQuery, query_of(request)).validated_data
    found = lookalikes.page(
        scope_of(request),
        memory_ref=given.get("memoryRef", ""),
        entry_id=given.get("memoryId"),
        after=given.get("after"),
        size=given.get("limit", DEFAULT_LIMIT),
        now=timezone.now(),
    )
    rows = [look_alike_document(pair) for pair in found.rows]
    return Response({"lookAlikes": rows, "total": found.total, "next": cursor("dup", found.after)})


@operation("decideLookAlikes", scope="passes:run", takes=DecideLookAlikes, gives={200: DECIDED}, tag=TAG)
@api_view(["POST"])
def decisions(request: Request) -> Response:
    """Merging and replacing is a pass over each ref, done when this answers; what it took away can be restored."""
    given = checked(DecideLookAlikes, request.data).validated_data
    chosen = [choice_of(each["id"], each["sha256"]) for each in given["pairs"]]
    works = lookalikes.decide(scope_of(request), given["decision"], chosen, now=timezone.now())
    passed = [ids.wire("pass", work.id) for work in works]
    return Response({"decision": given["decision"], "decided": len(chosen), "passIds": passed})


urlpatterns = [
    path(BASE, look_alike_list, name="api-look-alikes"),
    path(f"{BASE}/decisions", decisions, name="api-look-alike-decisions"),
]
