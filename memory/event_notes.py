"""Notes of events: what events of RFC-0015 say beyond ids, and the reasons that people give. The only writer.

The event itself is content-free and stays; a forget blanks the note, and the event is then read without it. An erased
reason is shown as erased.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from uuid import UUID

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast, Length

from memory import redaction
from memory.host import event_log, ids, interrupts, sql
from memory.host.event_log import Recorded
from memory.host.events import Event, MemoryWritten, RunCancelled, RunPaused, RunResumed
from memory.host.json_types import JSONObject
from memory.host.models import Run
from memory.models import EntryOrigin, EventNote
from memory.origins import Origin

WRITER = "memory.event_notes"
Note = JSONObject
REASON = "reason"
REASONED = frozenset({RunPaused.type, RunResumed.type, RunCancelled.type})
COLUMNS = ("tenant_id", "id", "stream_id", "sequence", "body")
INSERT_INTO = f"INSERT INTO memory_eventnote ({', '.join(COLUMNS)})"
NOTE = f"{INSERT_INTO} SELECT %s, %s, %s, next_sequence - %s, %s FROM numbered"  # noqa: S608
AWAITED = -1  # the number of a reason whose event is not on the log yet


def append(tenant_id: UUID, stream_id: UUID, noted: Sequence[tuple[Event, Note]], *, now: datetime) -> int:
    """Append the events to the stream, each with its note, in the caller's transaction. Returns the last sequence.

    The caller has redacted the notes.
    """
    last = event_log.append(tenant_id, stream_id, *(event for event, _ in noted), now=now)
    first = last - len(noted) + 1
    tenant, stream = sql.key(tenant_id), sql.key(stream_id)
    rows = [
        [tenant, sql.key(ids.new_id()), stream, first + offset, sql.document(note)]
        for offset, (_, note) in enumerate(noted)
        if note
    ]
    sql.insert(EventNote, COLUMNS, rows, by=WRITER)
    return last


def with_notes(
    tenant_id: UUID,
    stream_id: UUID,
    noted: Sequence[tuple[Event, Note]],
    change: str,
    parameters: list[object],
    *,
    now: datetime,
) -> sql.Statement:
    """``event_log.with_facts`` for events with their notes: one statement of PostgreSQL."""
    behind = [(len(noted) - place, note) for place, (_, note) in enumerate(noted) if note]
    notes = "".join(f", note{place} AS ({NOTE})" for place in range(len(behind)))
    tenant, stream = sql.key(tenant_id), sql.key(stream_id)
    given: list[object] = []
    for place, note in behind:
        given += [tenant, sql.key(ids.new_id()), stream, place, sql.document(note)]
    events = [event for event, _ in noted]
    return event_log.with_facts(tenant_id, stream_id, events, notes + change, [*given, *parameters], now=now)


def give_reason(tenant_id: UUID, stream_id: UUID, reason: str) -> None:
    """Store the redacted reason for the next event of the stream; an empty one deletes a reason that has no event
    yet."""
    rows = EventNote.objects.written_by(WRITER)
    rows.filter(tenant_id=tenant_id, stream_id=stream_id, sequence=AWAITED).delete()
    if text := redaction.for_tenant(tenant_id).redact(reason).text:
        note = {REASON: text}
        EventNote(tenant_id=tenant_id, stream_id=stream_id, sequence=AWAITED, body=note).insert(by=WRITER)


def note_of_reason(reason: str) -> Note:
    """The redacted reason as a part of a note; nothing of an empty one."""
    return {REASON: reason} if reason else {}


def attach_reason(run: Run, sequence: int | None) -> None:
    """Attach the stored reason to the event with this sequence; without one it stays for the next event."""
    if sequence is None:
        return
    rows = EventNote.objects.written_by(WRITER)
    rows.filter(tenant_id=run.tenant_id, stream_id=run.id, sequence=AWAITED).update(sequence=sequence)


def with_reasons(tenant_id: UUID, events: list[Recorded]) -> list[Recorded]:
    """Return the events of one stream for a reader of memory: with their reasons and stated nodes."""
    events = with_stated_nodes(tenant_id, events)
    reasoned = [event for event in events if event.type in REASONED]
    found = {sequence: str(note[REASON]) for sequence, note in notes_of(tenant_id, reasoned).items() if REASON in note}
    for event_type, function in interrupts.reasons().items():
        if ours := [event for event in events if event.type == event_type]:
            found |= function(tenant_id, ours)
    if not found:
        return events
    return [
        replace(event, payload={**event.payload, REASON: found[event.sequence]}) if event.sequence in found else event
        for event in events
    ]


def with_stated_nodes(tenant_id: UUID, events: list[Recorded]) -> list[Recorded]:
    """Add the nodes that an agent states to the writes on the log of its external run, which a forget may remove again.
    What is stated of a sealed entry is as confidential as the entry."""
    unnamed = [event.sequence for event in events if event.type == MemoryWritten.type and not event.node_id]
    if not unnamed:
        return events
    nodes = dict(_stated_nodes().fetch(tenant_id, events[0].run_id, unnamed[0], unnamed[-1]))
    return [
        replace(event, node_id=node, payload={**event.payload, "nodeId": node})
        if (node := nodes.get(event.sequence))
        else event
        for event in events
    ]


@cache
def _stated_nodes() -> sql.CompiledQuery:
    """The query for a tenant, a run, and the first and the last of its events; sent whenever the log is read."""
    tenant_id, run_id, first, last = UUID(int=0), UUID(int=1), -1, -2
    rows = EntryOrigin.objects.of(tenant_id).filter(run_id=run_id, entry__sealed=False).exclude(node="")
    rows = rows.filter(sequence__gte=first, sequence__lte=last)
    return sql.CompiledQuery(rows.values_list("sequence", "node"), tenant_id, run_id, first, last)


def origins_of(tenant_id: UUID, writes: Sequence[Recorded]) -> dict[int, Origin]:
    """Return what is stated of these writes of one run, by sequence."""
    if not writes:
        return {}
    rows = _origins(tenant_id, writes[0].run_id, [each.sequence for each in writes])
    return {row.sequence: row.origin for row in rows}


def _origins(tenant_id: UUID, run_id: UUID, sequences: list[int]) -> QuerySet[EntryOrigin]:
    return EntryOrigin.objects.of(tenant_id).filter(run_id=run_id, sequence__in=sequences, entry__sealed=False)


def notes_of(tenant_id: UUID, events: Sequence[Recorded]) -> dict[int, Note]:
    """Return the notes of these events of one stream, by sequence, however long."""
    if not events:
        return {}
    return dict(_notes(tenant_id, events[0].run_id, [each.sequence for each in events]).values_list("sequence", "body"))


def notes_within(
    tenant_id: UUID, events: Sequence[Recorded], *, each: int, most: int = 0
) -> tuple[dict[int, Note], dict[int, int]]:
    """Return the notes of at most ``each`` characters, and the first longer ones, in the order of the events, that take
    ``most`` characters together; at least one if ``most`` is not 0. The second result has the lengths of those left
    out."""
    if not events:
        return {}, {}
    stream_id = events[0].run_id
    found = _notes(tenant_id, stream_id, [event.sequence for event in events]).order_by("sequence")
    sizes = dict(found.values_list("sequence", Length(Cast("body", TextField()))))
    left, room = {}, most
    for sequence, size in sizes.items():
        if size > each and (size > room and (room < most or not most)):
            left[sequence] = size
        elif size > each:
            room -= size
    fits = [sequence for sequence in sizes if sequence not in left]
    return dict(_notes(tenant_id, stream_id, fits).values_list("sequence", "body")), left


def _notes(tenant_id: UUID, stream_id: UUID, sequences: Sequence[int]) -> QuerySet[EventNote]:
    return EventNote.objects.of(tenant_id).filter(stream_id=stream_id, sequence__in=sequences)
