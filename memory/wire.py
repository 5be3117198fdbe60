"""Documents that several APIs share: an instant, a MemoryEntry (RFC 0004, for ``ctx.memory`` too), the address of an
entry, and the origin of a write as a request states it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, overload
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory import origins
from memory.addresses import MAX_AGENT, PRIORITIES, Sensitivity, Tier
from memory.host import ids
from memory.host.errors import Invalid
from memory.host.http import FLAG, POSITIVE, TEXT, TIME, Answer, AnyField, Text, nullable, words
from memory.host.json_types import JSONObject
from memory.origins import LARGEST_STEP, MAX_SOURCES, MAX_TEXT, Origin

if TYPE_CHECKING:
    from memory.models.address import EntryAddress


@overload
def instant(at: datetime) -> str: ...


@overload
def instant(at: datetime | None) -> str | None: ...


def instant(at: datetime | None) -> str | None:
    """RFC 3339 in UTC, to the millisecond; None for None."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if at else None


def agent_named(headers: Mapping[str, str]) -> str:
    """The agent in ``X-Agent-ID``; "" without that header. The web server empties a header with more than ASCII, so an
    empty one is refused rather than ignored."""
    named = headers.get("X-Agent-ID")
    if named is None:
        return ""
    if not 0 < len(named) <= MAX_AGENT or not (named.isascii() and named.isprintable()):
        message = f"must be 1 to {MAX_AGENT} printable characters of ASCII"
        raise Invalid("There is no agent of that name.", errors=[{"field": "X-Agent-ID", "message": message}])
    return named


ADDRESS: "Answer[EntryAddress]" = Answer(
    "EntryAddress",
    tier=(words(Tier), lambda address: address.tier),
    namespace=(TEXT, lambda address: address.namespace),
    key=(TEXT, lambda address: address.key),
    version=(POSITIVE, lambda address: address.version),
    pinned=(FLAG, lambda address: address.pinned),
    priority=(words(PRIORITIES), lambda address: address.priority_word),
    sensitivity=(nullable(words(Sensitivity)), lambda address: address.sensitivity or None),
    sealed=(FLAG, lambda address: address.is_sealed),
    taskId=(nullable(TEXT), lambda address: address.task_id or None),
    intentId=(nullable(TEXT), lambda address: address.intent_id or None),
    updatedAt=(TIME, lambda address: instant(address.updated_at)),
)


def entry_document(
    entry_id: UUID, content: str, tags: Sequence[str], created_at: datetime, expires_at: datetime | None
) -> JSONObject:
    """Exactly the five fields of the schema; ``expiresAt`` only when the entry expires."""
    document: JSONObject = {
        "id": ids.wire("mem", entry_id),
        "content": content,
        "tags": list(tags),
        "createdAt": instant(created_at),
    }
    return document | ({"expiresAt": instant(expires_at)} if expires_at else {})


def address_document(address: "EntryAddress | None") -> JSONObject:
    """``{"address": …}`` of an entry that OpenIntent lists too; nothing for any other. Its value is in neither."""
    return {"address": ADDRESS.document(address)} if address else {}


# What agents elsewhere state of a write: one shape in the requests of every protocol.

STATED_TEXT: JSONObject = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}
ORIGIN: JSONObject = {
    "title": "Origin",
    "type": "object",
    "additionalProperties": False,
    "required": ["system"],
    "properties": {
        **dict.fromkeys(origins.TEXTS, STATED_TEXT),
        origins.STEP: {"anyOf": [STATED_TEXT, {"type": "integer", "minimum": -LARGEST_STEP, "maximum": LARGEST_STEP}]},
        origins.TRACE: {"type": "string", "minLength": 55, "maxLength": 55},
        origins.SOURCES: {"type": "array", "maxItems": MAX_SOURCES, "items": STATED_TEXT},
    },
}


@extend_schema_field(ORIGIN)
class OriginField(AnyField):
    """Where a write came from, as its agent states it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, **options)

    def to_internal_value(self, data: object) -> Origin:
        found = list(origins.problems(data))
        if any(name for name, _ in found):
            raise serializers.ValidationError({name: [message] for name, message in found})
        if found:
            raise serializers.ValidationError(found[0][1])
        return origins.parse(data)


@extend_schema_field(STATED_TEXT)
class OriginText(Text):
    """One of the texts of an origin."""

    def to_internal_value(self, data: object) -> str:
        if not origins.is_text(data):
            raise serializers.ValidationError(origins.NO_TEXT)
        return str(data)
