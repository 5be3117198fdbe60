"""The protocol's MemoryEntry document (RFC 0004), for the API and for ``ctx.memory``."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import UUID

from memory.host import ids
from memory.host.json_types import JSONObject

if TYPE_CHECKING:
    from memory.models.address import EntryAddress


def instant(at: datetime) -> str:
    """RFC 3339 in UTC, to the millisecond."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


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
    if address is None:
        return {}
    return {
        "address": {
            "tier": address.tier,
            "namespace": address.namespace,
            "key": address.key,
            "version": address.version,
            "pinned": address.pinned,
            "priority": address.priority_word,
            "sensitivity": address.sensitivity or None,
            "sealed": address.is_sealed,
            "taskId": address.task_id or None,
            "intentId": address.intent_id or None,
            "updatedAt": instant(address.updated_at),
        }
    }
