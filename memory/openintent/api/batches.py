"""Many entries over HTTP, all or none (RFC-0015, Batch Operations; R100, R101)."""

from typing import Any

from django.urls import URLPattern, path
from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory import addresses
from memory.host import ids
from memory.host.errors import Invalid
from memory.host.http import Text, Whole, query_of
from memory.host.json_types import JSONObject
from memory.openintent import batches, queries
from memory.openintent.access import WRITE
from memory.openintent.api import schemas
from memory.openintent.api.http import BatchParser, caller_of, described
from memory.openintent.api.serializers import EntryCreate, Name, Unserved, Value
from memory.openintent.batches import Item
from memory.openintent.entries import entry_document

LARGEST_VERSION = 2**31 - 1
NAMES = frozenset(
    (
        "agent_id", "namespace", "key", "memory_type", "tags", "tags_any", "scope.task_id", "scope.intent_id", "pinned",
        "updated_after", "updated_before", "limit", "offset",
    )
)  # fmt: skip


class EntryId(Text):
    """The id of an entry as the wire has it. One that is of nothing is one that nobody finds."""

    def to_internal_value(self, data: object) -> Any:
        found = ids.parse("mem", super().to_internal_value(data))
        if found is None:
            raise serializers.ValidationError("is not the id of an entry")
        return found


class NewItem(EntryCreate):
    """An entry that is meant by its address: made, or changed when it is there (R100)."""

    version = Whole(required=False, allow_null=True, min_value=0, max_value=LARGEST_VERSION)
    origin = Unserved("is taken with a single entry alone")

    def item(self, agent_id: str) -> Item:
        return Item(
            given=self.given(agent_id),
            named=self.named(),
            version=self.validated_data.get("version"),
            fixed=self.fixed(),
        )


class Ignored(serializers.Field[Any, Any, Any, Any]):
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

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Its address is not made here, and so cannot be wrong."""
        return attrs

    def item(self, agent_id: str) -> Item:
        sent = self.validated_data
        return Item(named=self.named(), entry_id=sent["id"], version=sent.get("version"), fixed=self.fixed())


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
    caller_of(request)
    sent = _entries_of(request.data)
    caller = caller_of(request, otherwise=_named_by_all(sent))
    done = batches.write(caller, _items(sent, caller.agent_id), now=timezone.now())
    told = [entry_document(row) for row in done.rows]
    return Response({"entries": told, "created": done.created, "updated": len(told) - done.created})


def _delete(request: Request) -> Response:
    caller = caller_of(request)
    wanted = queries.parse(_filter_of(request), is_json=bool(request.data))
    gone = batches.delete(caller, wanted, now=timezone.now())
    found = [ids.wire("mem", row) for row in gone]
    return Response({"deleted": len(found), "ids": found})


def _entries_of(body: Any) -> list[Any]:
    sent = body.get("entries") if isinstance(body, dict) else None
    if not isinstance(sent, list) or not 0 < len(sent) <= batches.MOST:
        raise _refused("entries", f"must be a list of 1 to {batches.MOST}")
    for name in sorted(set(body) - {"entries"}):
        raise _refused(name[:100], "is not a field of this request")
    return sent


def _named_by_all(sent: list[Any]) -> str:
    """The agent that every entry says it is of, as who calls where no header says it (R2)."""
    names = [each.get("agent_id") if isinstance(each, dict) else None for each in sent]
    only = names[0] if all(each == names[0] for each in names) else None
    return only if isinstance(only, str) and len(only) <= addresses.MAX_AGENT and only.isprintable() else ""


def _items(sent: list[Any], agent_id: str) -> list[Item]:
    """The items as the domain takes them; refused with everything that is wrong with any of them."""
    read = [_read(each) for each in sent]
    problems = [
        {"index": index, "field": f"entries.{index}.{field}".rstrip("."), "message": message}
        for index, item in enumerate(read)
        if not item.is_valid()
        for field, message in _told(item.errors)
    ]
    if problems:
        first = problems[0]["index"]
        raise Invalid("Entries of the batch are not valid.", errors=problems, index=first)  # type: ignore[arg-type]
    return [item.item(agent_id) for item in read]


def _read(sent: object) -> NewItem:
    known = isinstance(sent, dict) and sent.get("id") is not None
    return KnownItem(data=sent) if known else NewItem(data=sent)


def _told(detail: object, place: str = "") -> list[tuple[str, str]]:
    """What is wrong, each with the path of its field."""
    if isinstance(detail, dict):
        return [told for name, inner in detail.items() for told in _told(inner, f"{place}.{name}".lstrip("."))]
    if isinstance(detail, list):
        return [told for inner in detail for told in _told(inner, place)]
    return [(place.removeprefix("non_field_errors").removeprefix("body"), str(detail))]


def _filter_of(request: Request) -> JSONObject:
    """The filter in the query string, or in ``{"filter": {...}}``; a name that is none would delete too much."""
    given, body = query_of(request), request.data
    if not isinstance(body, dict) or set(body) - {"filter"} or (given and body):
        raise _refused("filter", "must be given once: in the query string, or as filter in the body")
    found = body.get("filter", given)
    if not isinstance(found, dict) or not found:
        raise _refused("filter", "must say which entries are meant")
    for name in sorted(set(_flat(found)) - NAMES):
        raise _refused(name[:100], "is not a parameter that entries are found by")
    return found


def _flat(given: dict[str, Any]) -> list[str]:
    """The names of the filter; of a nested scope as the query string spells them."""
    scope = given.get("scope")
    inner = [f"scope.{name}" for name in scope] if isinstance(scope, dict) else []
    return [*(name for name in given if name != "scope" or not isinstance(scope, dict)), *inner]


def _refused(field: str, message: str) -> Invalid:
    return Invalid("The batch cannot be understood.", errors=[{"field": field, "message": message}])


urlpatterns: list[URLPattern] = [path("api/v1/memory/batch", batch, name="openintent-batch")]
