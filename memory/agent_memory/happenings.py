"""What has happened to memory and to the work it belongs to, as OpenIntent tells it (RFC-0015 5; R64 to R70).

The log has ids; names, tags, payloads and archived values are joined from the notes beside it, for whoever may read
the log. What a forget took out of a note is missing, and an archived value then says that it is (design.md 3.12).
Facts of OpenWOP on the same stream are left out: the published client knows no other types than its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory import event_notes
from memory.agent_memory.documents import instant
from memory.agent_memory.readership import Log
from memory.event_notes import Note
from memory.host import event_log, events, ids
from memory.host.event_log import Recorded
from memory.host.events import VENDOR, IntentLogged, MemoryArchived

Document = dict[str, Any]
LIFECYCLE = tuple(kind.type for kind in vars(events).values() if getattr(kind, "type", "").startswith(VENDOR))
# Where an event that an agent logged belongs in a trace (RFC-0020).
TRACE = ("trace_id", "parent_event_id")
REDACTED: Document = {"value_redacted": True}
OMITTED: Document = {"omitted": True}
# Of a page of events: what is told of each, however many there are, and how much of the longer ones in all.
SHORT, MOST_TOLD = 4_096, 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Asked:
    """Which events are wanted: those of one type, behind a time, or all; and which page of them (C20)."""

    event_type: str = ""
    since: datetime | None = None
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """A page of events, oldest first, and how many there are."""

    events: list[Document]
    total: int


def page(log: Log, asked: Asked) -> Told:
    """What happened, as far as it was asked for: as many events as asked, whatever they hold.

    Where the archived values and logged payloads of a page come to more than ``MOST_TOLD``, those of the later events
    are left out, which then say ``omitted``; the first is always whole. Who wants the others asks for a smaller page
    that begins there, of one event at the least.
    """
    if log.stream_id is None:
        return Told([], 0)
    kinds = _types_of(asked.event_type)
    found, total = event_log.told(
        log.tenant_id, log.stream_id, kinds, since=asked.since, offset=asked.offset, limit=asked.limit
    )
    return Told(documents(log, found), total)


def documents(log: Log, found: Sequence[Recorded]) -> list[Document]:
    """Those of these events that OpenIntent tells of, as it tells them."""
    ours = [each for each in found if each.type.startswith(VENDOR)]
    notes, left = event_notes.fitting(log.tenant_id, ours, each=SHORT, most=MOST_TOLD)
    return [_document(log, each, None if each.sequence in left else notes.get(each.sequence, {})) for each in ours]


def _types_of(event_type: str) -> dict[str, tuple[str, ...]]:
    """The types on the log that stand for this one, or for all."""
    if not event_type:
        return dict.fromkeys(LIFECYCLE, ())
    told = VENDOR + event_type
    return {told: ()} if told in LIFECYCLE and told != IntentLogged.type else {IntentLogged.type: (event_type,)}


def _document(log: Log, event: Recorded, note: Note | None) -> Document:
    """Under both sets of names, RFC-0015's and those of the intent log (R68). The actor is an agent, never a key.

    ``note`` is None for one that the page has no room for.
    """
    said, at = event.payload, instant(event.timestamp)
    kind = said["kind"] if event.type == IntentLogged.type else event.type.removeprefix(VENDOR)
    data, scope = _data(log, event, note), (note or {}).get("scope", {})
    return {
        "id": ids.wire("evt", event.event_id),
        "type": kind,
        "event_type": kind,
        "intent_id": log.intent_id or scope.get("intent_id"),
        "task_id": said.get("taskId") or scope.get("task_id") or data.get("task_id"),
        "agent_id": said.get("agentId") or said["actor"],
        "actor": said["actor"],
        "data": data,
        "payload": data,
        "timestamp": at,
        "created_at": at,
        **{name: data[name] for name in TRACE if event.type == IntentLogged.type and name in data},
    }


def _data(log: Log, event: Recorded, note: Note | None) -> Document:
    said = event.payload
    if event.type == IntentLogged.type:
        return dict(OMITTED if note is None else note)
    shown = note if log.shows(said.get("taskId"), said["agentId"]) else {}
    told = _archived if event.type == MemoryArchived.type else _changed
    return told(said, shown) if shown is not None else told(said, {"snapshot": []}) | OMITTED


def _changed(said: Document, note: Note) -> Document:
    data = {
        "entry_id": said["entryId"],
        "namespace": note.get("namespace"),
        "key": note.get("key"),
        "memory_type": said["memoryType"],
        "version": said["version"],
        "tags": note.get("tags", []),
    }
    return data | ({"previous_version": said["previousVersion"]} if "previousVersion" in said else {})


def _archived(said: Document, note: Note) -> Document:
    """With the snapshot, which has values only of what was not confidential, and of what nobody forgot since (C1)."""
    count = said["entriesArchived"]
    return {"entries_archived": count, "snapshot": note.get("snapshot", [REDACTED] * count)}
