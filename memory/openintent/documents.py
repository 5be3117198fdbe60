"""An entry as OpenIntent has it on the wire: all of it, everywhere (R13, R14). Times have six digits and an offset."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memory import ledger
from memory.addresses import PRIORITIES
from memory.host import ids
from memory.host.json_types import JSONObject

if TYPE_CHECKING:
    from memory.models.address import EntryAddress


def instant(at: datetime) -> str:
    """``2026-02-08T10:00:00.123456+00:00``, which every Python that the client runs on can parse."""
    return (at if at.tzinfo is UTC else at.astimezone(UTC)).isoformat(timespec="microseconds")


def entry_document(row: "EntryAddress", *, inherited_from: str = "") -> JSONObject:
    """The full entry, its value opened. Only what may be absent by RFC-0015 1.1 is ever null.

    A sealed value that does not open is shown as empty, and the document says so.

    The last three say where it stands in the ledger and which node of which run wrote it, for those who read it there.
    ``inherited_from`` names the task whose entry a sub-task sees here (RFC-0015 6.5).
    """
    entry, value = row.entry, ledger.value_if_whole(row)
    scope = {name: text for name, text in (("task_id", row.task_id), ("intent_id", row.intent_id)) if text}
    document = {
        "id": ids.wire("mem", row.id),
        "agent_id": row.agent_id,
        "namespace": row.namespace,
        "key": row.key,
        "value": {} if value is None else value,
        "memory_type": str(row.tier),
        "version": row.version,
        "scope": scope or None,
        "tags": list(entry.tags),
        "ttl": row.ttl or None,
        "pinned": row.pinned,
        "priority": PRIORITIES[row.priority],
        "sensitivity": row.sensitivity or None,
        "curated_by": row.curated_by or None,
        "created_by": row.created_by or None,
        "created_at": instant(row.created_at),
        "updated_at": instant(row.updated_at),
        "expires_at": instant(entry.expires_at) if entry.expires_at else None,
        "memory_ref": entry.memory_ref,
        "run_id": ids.wire("run", entry.run_id),
        "node_id": entry.node_id or None,
    }
    if value is None:
        document["value_unreadable"] = True
    if inherited_from:
        document["inherited_from"] = inherited_from
    return document
