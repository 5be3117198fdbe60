"""Entries over HTTP: one created, read, changed and deleted, and many at once (RFC-0015; R1-R19, R44-R49, R100-101)."""

import re
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.urls import URLPattern, path
from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory import addresses
from memory.host import ids
from memory.host.errors import Invalid, PreconditionRequired
from memory.host.http import AnyField, Text, Whole, checked, listed, query_of
from memory.host.json_types import JSONObject
from memory.openintent import batches, entries, queries
from memory.openintent.access import READ, WRITE, Caller
from memory.openintent.api import schemas
from memory.openintent.api.http import (
    BatchParser,
    ExactJSONParser,
    caller_of_entries,
    described,
    json_response,
    permitted_first,
)
from memory.openintent.api.serializers import EntryCreate, EntryPlace, EntryRemoval, EntryUpdate, Name, Value
from memory.openintent.batches import Item
from memory.openintent.entries import entry_document
from memory.openintent.queries import Page
from memory.origins import Origin

if TYPE_CHECKING:
    from memory.models.address import EntryAddress

CREATED = 201
VERSION = re.compile(r'(?:W/)?"([0-9]{1,19})"|([0-9]{1,19})')


def envelope(request: Request) -> HttpResponse:
    """What fits of all that the caller may see, with how much that is (R60)."""
    wanted = queries.parse(request.query_params)
    found = queries.page(_reader(request, wanted.agent_id), wanted, now=timezone.now())
    paging = {"total": found.total, "limit": found.limit, "offset": found.offset}
    return json_response({"entries": _documents(found), **paging, **_beside(found)})


@described("listAgentMemory", scope=READ, query=schemas.SearchedOfAgent, gives={200: listed(schemas.ENTRY)})
@api_view(["GET"])
def entries_of_agent(request: Request, agent_id: str) -> HttpResponse:
    """What fits of one agent's memory, as the client wants it: an array, its total in a header."""
    wanted = queries.parse(request.query_params, agent_id=agent_id)
    found = queries.page(_reader(request, agent_id), wanted, now=timezone.now())
    beside = {f"X-{name.title().replace('_', '-')}": str(value).lower() for name, value in _beside(found).items()}
    return json_response(_documents(found), headers={"X-Total-Count": str(found.total), **beside})


@described("summarizeAgentMemory", scope=READ, gives={200: schemas.SUMMARY})
@api_view(["GET"])
def summary(request: Request, agent_id: str) -> HttpResponse:
    """How much an agent remembers, and what it may read of what is shared (R105)."""
    found = queries.summarize_agent(_reader(request, agent_id), agent_id, now=timezone.now())
    return json_response(found.document())


def _reader(request: Request, agent_id: str) -> Caller:
    """Who reads: without ``X-Agent-ID`` the agent that is named, unless an operator looks at it (R37)."""
    caller = caller_of_entries(request)
    return caller if caller.operates or not agent_id else caller_of_entries(request, otherwise=agent_id)


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
    headers=("If-Match", "If-None-Match"),
    takes=EntryCreate,
    gives={200: schemas.ENTRY, 201: schemas.ENTRY},
)
@described(
    "deleteMemoryAt",
    method="DELETE",
    scope=WRITE,
    headers=("If-Match",),
    takes=schemas.REMOVAL,
    query=EntryPlace,
    gives={200: schemas.REMOVED},
)
@api_view(["GET", "POST", "PUT", "DELETE"])
@parser_classes([ExactJSONParser])
def memory(request: Request) -> HttpResponse:
    """A new entry, the entry at its address whether it is there or not, its deletion, or the list of what fits. Without
    ``X-Agent-ID`` the body says which agent calls (R2)."""
    if request.method == "GET":
        return envelope(request)
    if request.method == "DELETE":
        place, caller = checked(EntryPlace, dict(query_of(request))), caller_of_entries(request)
        origin, version = _origin_of(request), version_of(request)
        at = place.address(caller.agent_id)
        gone = entries.delete_at(caller, at, version, origin=origin, now=timezone.now())
        return json_response({"status": "deleted", "entry_id": ids.wire("mem", gone)})
    caller_of_entries(request)
    body = checked(EntryCreate, request.data)
    caller = caller_of_entries(request, otherwise=body.validated_data.get("agent_id") or "")
    given, origin, is_new, now = body.to_given(caller.agent_id), body.validated_data.get("origin"), True, timezone.now()
    if request.method == "PUT" and not _is_for_a_new_one(request):
        row, is_new = entries.put_entry(
            caller, given, body.named_fields(), fixed=body.fixed(), version=version_of(request), origin=origin, now=now
        )
    else:
        row = entries.create(caller, given, origin=origin, now=now)
    if not is_new:
        return entry_response(row, stated=origin is not None)
    answer = entry_response(row, stated=origin is not None, status=CREATED)
    answer["Location"] = f"/api/v1/memory/{ids.wire('mem', row.id)}"
    return answer


def _origin_of(request: Request) -> Origin | None:
    """Where a deletion came from, if its body says so."""
    origin: Origin | None = checked(EntryRemoval, request.data).validated_data.get("origin")
    return origin


def _is_for_a_new_one(request: Request) -> bool:
    """Whether ``If-None-Match: *`` says that the entry is to be made and none to be changed: one that is there is then
    refused as a second ``POST`` is."""
    said = request.headers.get("If-None-Match")
    if said not in (None, "*"):
        problem = {"field": "If-None-Match", "message": "must be * where an entry is put"}
        raise Invalid("The precondition cannot be understood.", errors=[problem])
    return said == "*"


@described("getMemory", method="GET", scope=READ, gives={200: schemas.ENTRY})
@described(
    "changeMemory", method="PATCH", scope=WRITE, headers=("If-Match",), takes=EntryUpdate, gives={200: schemas.ENTRY}
)
@described(
    "deleteMemory",
    method="DELETE",
    scope=WRITE,
    headers=("If-Match",),
    takes=schemas.REMOVAL,
    gives={200: schemas.REMOVED},
)
@api_view(["GET", "PATCH", "DELETE"])
@parser_classes([ExactJSONParser])
def entry(request: Request, entry_id: str) -> HttpResponse:
    """One entry. A change needs its version in ``If-Match``; a deletion is held to it when it is there."""
    caller, key, now = caller_of_entries(request), ids.parse("mem", entry_id), timezone.now()
    if request.method == "GET":
        row = entries.get(caller, key, now=now)
        return entry_response(row, stated=row.is_stated)
    with permitted_first(lambda: entries.require_change(caller, key, now=now)):
        version = version_of(request)
        if request.method == "DELETE":
            gone = entries.delete(caller, key, version, origin=_origin_of(request), now=now)
            return json_response({"status": "deleted", "entry_id": ids.wire("mem", gone)})
        if version is None:
            raise PreconditionRequired
        body = checked(EntryUpdate, request.data)
    origin = body.validated_data.get("origin")
    row = entries.update(caller, key, version, body.named_fields(), origin=origin, now=now)
    return entry_response(row, stated=origin is not None)


def entry_response(row: "EntryAddress", *, stated: bool, status: int = 200) -> HttpResponse:
    """The full entry, with its version as ``ETag`` (R49); with ``stated`` also the origin of its last write."""
    document = entry_document(row) | (entries.stated_origin(row) if stated else {})
    return json_response(document, status=status, headers={"ETag": f'"{row.version}"'})


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


LARGEST_VERSION = 2**31 - 1
NAMES = frozenset(
    (
        "agent_id", "namespace", "key", "memory_type", "tags", "tags_any", "scope.task_id", "scope.intent_id", "pinned",
        "updated_after", "updated_before", "limit", "offset",
    )
)  # fmt: skip


class EntryId(Text):
    """The wire id of an entry (``mem_...``); refuses a malformed one."""

    def to_internal_value(self, data: object) -> Any:
        found = ids.parse("mem", super().to_internal_value(data))
        if found is None:
            raise serializers.ValidationError("is not the id of an entry")
        return found


class NewItem(EntryCreate):
    """An entry that is meant by its address: made, or changed when it is there (R100)."""

    version = Whole(required=False, allow_null=True, min_value=0, max_value=LARGEST_VERSION)

    def item(self, agent_id: str) -> Item:
        return Item(
            given=self.to_given(agent_id),
            named=self.named_fields(),
            version=self.validated_data.get("version"),
            fixed=self.fixed(),
            origin=self.validated_data.get("origin"),
        )


class Ignored(AnyField):
    """What the server says of an entry, and a client may give back as it got it."""

    def __init__(self) -> None:
        super().__init__(required=False, allow_null=True)

    def to_internal_value(self, data: object) -> Any:
        return data


class KnownItem(NewItem):
    """An entry that is meant by its id; it may be given back whole, as it was read."""

    id = EntryId()
    namespace = Name(required=False, max_length=addresses.MAX_NAME)
    key = Name(required=False, max_length=addresses.MAX_NAME)
    value = Value(required=False)
    created_by = Ignored()
    created_at = Ignored()
    updated_at = Ignored()
    curated_by = Ignored()
    memory_ref = Ignored()
    run_id = Ignored()
    node_id = Ignored()
    stated_origin = Ignored()

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        """Its address is not made here, and so cannot be wrong."""
        return attrs

    def item(self, agent_id: str) -> Item:
        sent = self.validated_data
        known = {"entry_id": sent["id"], "version": sent.get("version"), "origin": sent.get("origin")}
        return Item(named=self.named_fields(), fixed=self.fixed(), **known)


@described("writeMemoryBatch", method="POST", scope=WRITE, takes=schemas.BATCH, gives={200: schemas.BATCH_WRITTEN})
@described(
    "deleteMemoryBatch",
    method="DELETE",
    scope=WRITE,
    takes=schemas.BATCH_FILTER,
    query=schemas.Sought,
    gives={200: schemas.BATCH_DELETED},
)
@api_view(["POST", "DELETE"])
@parser_classes([BatchParser])
def batch(request: Request) -> Response:
    """Many entries, all or none: written by address or id, or deleted by a filter."""
    return _delete(request) if request.method == "DELETE" else _write(request)


def _write(request: Request) -> Response:
    caller_of_entries(request)
    sent = _entries_of(request.data)
    caller = caller_of_entries(request, otherwise=_named_by_all(sent))
    done = batches.write(caller, _items(sent, caller.agent_id), now=timezone.now())
    documents = [entry_document(row) for row in done.rows]
    return Response({"entries": documents, "created": done.created, "updated": len(documents) - done.created})


def _delete(request: Request) -> Response:
    caller = caller_of_entries(request)
    wanted = queries.parse(_filter_of(request), is_json=bool(request.data))
    gone = batches.delete(caller, wanted, now=timezone.now())
    found = [ids.wire("mem", row) for row in gone]
    return Response({"deleted": len(found), "ids": found})


def _entries_of(body: Any) -> list[object]:
    sent = body.get("entries") if isinstance(body, dict) else None
    if not isinstance(sent, list) or not 0 < len(sent) <= batches.MOST:
        raise batches.refused("entries", f"must be a list of 1 to {batches.MOST}")
    for name in sorted(set(body) - {"entries"}):
        raise batches.refused(name[:100], "is not a field of this request")
    return sent


def _named_by_all(sent: list[object]) -> str:
    """The agent that every entry says it is of, as who calls where no header says it (R2)."""
    names = [each.get("agent_id") if isinstance(each, dict) else None for each in sent]
    only = names[0] if all(each == names[0] for each in names) else None
    return only if isinstance(only, str) and len(only) <= addresses.MAX_AGENT and only.isprintable() else ""


def _items(sent: list[object], agent_id: str) -> list[Item]:
    """The items as the domain takes them; refused with everything that is wrong with any of them."""
    read = [_read(each) for each in sent]
    problems = [
        {"index": index, "field": f"entries.{index}.{field}".rstrip("."), "message": message}
        for index, item in enumerate(read)
        if not item.is_valid()
        for field, message in _problem_paths(item.errors)
    ]
    if problems:
        first = problems[0]["index"]
        raise Invalid("Entries of the batch are not valid.", errors=problems, index=first)  # type: ignore[arg-type]
    return [item.item(agent_id) for item in read]


def _read(sent: object) -> NewItem:
    known = isinstance(sent, dict) and sent.get("id") is not None
    return KnownItem(data=sent) if known else NewItem(data=sent)


def _problem_paths(detail: object, place: str = "") -> list[tuple[str, str]]:
    """What is wrong, each with the path of its field."""
    if isinstance(detail, dict):
        return [
            problem
            for name, inner in detail.items()
            for problem in _problem_paths(inner, f"{place}.{name}".lstrip("."))
        ]
    if isinstance(detail, list):
        return [problem for inner in detail for problem in _problem_paths(inner, place)]
    return [(place.removeprefix("non_field_errors").removeprefix("body"), str(detail))]


def _filter_of(request: Request) -> JSONObject:
    """The filter in the query string, or in ``{"filter": {...}}``; a name that is none would delete too much."""
    given, body = query_of(request), request.data
    if not isinstance(body, dict) or set(body) - {"filter"} or (given and body):
        raise batches.refused("filter", "must be given once: in the query string, or as filter in the body")
    found = body.get("filter", given)
    if not isinstance(found, dict) or not found:
        raise batches.refused("filter", "must say which entries are meant")
    for name in sorted(set(_flat(found)) - NAMES):
        raise batches.refused(name[:100], "is not a parameter that entries are found by")
    return found


def _flat(given: dict[str, object]) -> list[str]:
    """The names of the filter; of a nested scope as the query string spells them."""
    scope = given.get("scope")
    inner = [f"scope.{name}" for name in scope] if isinstance(scope, dict) else []
    return [*(name for name in given if name != "scope" or not isinstance(scope, dict)), *inner]


batch_urls: list[URLPattern] = [path("api/v1/memory/batch", batch, name="openintent-batch")]
