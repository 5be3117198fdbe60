"""Notes beside the log as a store of a forget: what events of RFC-0015 say beyond ids.

The event stays as it is and reads without its note. Of a snapshot of archived memory the entries that name the subject
lose their values, and say so (design.md 3.12).
"""

from typing import Any
from uuid import UUID

from django.db import transaction

from memory import event_notes
from memory.erasers.kept_values import RowByRow
from memory.host.erasure import Identifiers
from memory.matching import Rule, is_exact, mentioned_in, without_subject
from memory.models import EventNote

CHUNK = 16  # a snapshot may have a megabyte
SNAPSHOT, VALUE = "snapshot", "value"


class EventNotes(RowByRow):
    """Namespaces, keys, tags and payloads, and the values of archived memory."""

    store = "notes beside the event log"
    table = EventNote
    columns = ("body",)
    chunk = CHUNK

    def left_of(self, values: list[Any], subject: Identifiers) -> Any:
        return [_kept_of(body, subject, is_exact) for body in values]

    @transaction.atomic
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> bool:
        note: EventNote | None = EventNote.objects.of(tenant_id).select_for_update().filter(id=row_id).first()
        if note is None or not mentioned_in(subject.terms, note.body, rule):
            return False
        event_notes.erase_kept(note, _kept_of(note.body, subject, rule))
        return True


def _kept_of(body: dict[str, Any], subject: Identifiers, rule: Rule) -> dict[str, Any]:
    """What stays of a note that names the subject: of a snapshot all that does not."""
    if event_notes.REASON in body:
        return {event_notes.REASON: event_notes.ERASED}
    archived = body.get(SNAPSHOT)
    return {SNAPSHOT: [_without(subject, each, rule) for each in archived]} if isinstance(archived, list) else {}


def _without(subject: Identifiers, archived: Any, rule: Rule) -> Any:
    """An archived entry as it may stay: of one that names the subject the value goes whole, and each of its names."""
    if not isinstance(archived, dict) or not mentioned_in(subject.terms, archived, rule):
        return archived
    rest = {name: value for name, value in archived.items() if name != VALUE}
    return {**without_subject(subject.terms, rest, rule), "value_redacted": True}


EVENT_NOTES = EventNotes()
