"""The protocol's MemoryEntry document (RFC 0004), for the API and for ``ctx.memory``."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, overload
from uuid import UUID

from memory.addresses import PRIORITIES, Sensitivity, Tier
from memory.host import ids
from memory.host.http import FLAG, POSITIVE, TEXT, TIME, Answer, nullable, words
from memory.host.json_types import JSONObject

if TYPE_CHECKING:
    from memory.models.address import EntryAddress


@overload
def instant(at: datetime) -> str: ...


@overload
def instant(at: datetime | None) -> str | None: ...


def instant(at: datetime | None) -> str | None:
    """RFC 3339 in UTC, to the millisecond; None for None."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if at else None


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
