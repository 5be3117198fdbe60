"""What waits for something to be said or done, and what later entries and runs say of it (RFC 0068, RFC 0060).

A condition fires when it turns from false to true. What an entry denies is false again, and may come true once more.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from memory.adapter import News
from memory.commitments import rows
from memory.host import event_log, registry
from memory.host.events import RunCompleted, RunFailed
from memory.host.json_types import JSONObject
from memory.host.models import ForkMode, Run
from memory.models import Commitment, CommitmentState
from memory.text import intentions
from memory.text.intentions import Intention

ENDS = {RunCompleted.type: "run completed finished succeeded done", RunFailed.type: "run failed"}
FARTHEST_BACK = timedelta(days=1)
PIECE = re.compile(r"[\W_]+")
Vocabularies = Mapping[UUID, frozenset[str]]


def predicate_of(found: Intention, entry: News) -> JSONObject:
    """What to look for, as it is kept: stems, since when, who is not listened to, and how often it came true."""
    return {
        "words": list(found.words),
        "negated": found.negated,
        "since": entry.created_at.isoformat(),
        "run": entry.run_id.hex,
        "turn": 0,
    }


def record_statements(
    tenant_id: UUID, entries: Sequence[News], written_at: Mapping[UUID, int], *, stale_after: timedelta, now: datetime
) -> None:
    """What these entries say of the conditions of their refs is on record. ``written_at`` are the positions of those
    that are new themselves: an entry decides about earlier ones alone."""
    by_ref: dict[str, list[News]] = defaultdict(list)
    for entry in entries:
        by_ref[entry.memory_ref].append(entry)
    waiting = rows.watching(tenant_id, by_ref, *rows.OPEN) + rows.lost_watching(tenant_id, by_ref) if entries else []
    denying = {entry.memory_ref for entry in entries if intentions.DENIAL.search(entry.content)}
    waiting += rows.watching(tenant_id, denying, CommitmentState.FIRED) if denying else []
    refs = {row.memory_ref for row in waiting}
    known = {each.id: intentions.vocabulary(each.content, each.tags) for each in entries if each.memory_ref in refs}
    changed = [
        row
        for row in waiting
        if _listen(row, _later(by_ref[row.memory_ref], written_at.get(row.entry_id, -1)), known, stale_after, now)
    ]
    rows.turned(changed)


def _later(entries: Iterable[News], position: int) -> Iterable[News]:
    return (entry for entry in entries if entry.position > position)


def _listen(
    row: Commitment, entries: Iterable[News], known: Vocabularies, stale_after: timedelta, now: datetime
) -> bool:
    """Whether the row has changed by what the entries say, in their order."""
    wanted, changed = frozenset(row.predicate["words"]), False
    for entry in entries:
        if wanted <= known[entry.id]:
            said = intentions.verdict(wanted, entry.content, entry.tags)
            if said is not None:
                changed |= _turn(row, said != row.predicate["negated"], entry.created_at, stale_after, now)
    return changed


def _turn(row: Commitment, holds: bool, at: datetime, stale_after: timedelta, now: datetime) -> bool:
    """Whether the condition is another one now. Only the change to true makes it due, after what it was put off to."""
    if holds == row.holds:
        return False
    row.holds, row.changed_at = holds, now
    if holds:
        row.predicate = {**row.predicate, "turn": row.predicate["turn"] + 1}
        row.due_at = max(now, row.snoozed_until or now)
        return True
    row.predicate = {**row.predicate, "since": at.isoformat()}
    if row.state == CommitmentState.FIRED:
        row.state, row.due_at, row.stale_at = CommitmentState.ARMED, None, now + stale_after
    elif row.state in (CommitmentState.SNOOZED, CommitmentState.STALE):
        row.due_at = None
    return True


@transaction.atomic
def runs_ended(tenant_id: UUID, *, now: datetime) -> None:
    """What runs that have ended since the last look say of conditions is on record.

    An event is committed a moment after the time it bears, so the last minute is always looked at again; what was
    true already does not change by it.
    """
    watch = rows.watch_of(tenant_id)
    since = max(watch.runs_until or now - event_log.LATEST, now - FARTHEST_BACK)
    ended = event_log.streams_with(tenant_id, ENDS, since=since) if rows.is_any_watching(tenant_id) else []
    waiting = rows.watching(tenant_id, None, *rows.OPEN) if ended else []
    texts = _texts(tenant_id, ended)
    changed = [row for row in waiting if not row.holds and _came_true(row, ended, texts, now)]
    rows.turned(changed)
    rows.read_up_to(watch, runs_until=now)


Ended = Sequence[tuple[UUID, str, datetime]]


def _texts(tenant_id: UUID, ended: Ended) -> dict[UUID, frozenset[str]]:
    """The words by which each of these runs is known; none for the host's own, and for replays."""
    real = Run.objects.of(tenant_id).filter(id__in=[run_id for run_id, _, _ in ended], system=False)
    found = list(real.exclude(fork_mode=ForkMode.REPLAY).values_list("id", "workflow_id", "tags", "definition_id"))
    called = registry.names_of(tenant_id, {definition for *_, definition in found})
    return {
        run_id: frozenset(intentions.words_of(PIECE.sub(" ", " ".join([workflow, called.get(definition, ""), *tags]))))
        for run_id, workflow, tags, definition in found
    }


def _came_true(row: Commitment, ended: Ended, texts: Mapping[UUID, Collection[str]], now: datetime) -> bool:
    predicate, wanted = row.predicate, set(row.predicate["words"])
    since = datetime.fromisoformat(predicate["since"])
    for run_id, kind, at in ended:
        names = texts.get(run_id)
        if names is None or at <= since or predicate["negated"] or run_id.hex == predicate["run"]:
            continue
        if wanted & set(names) - GENERAL and wanted <= {*names, *intentions.words_of(ENDS[kind])}:
            return _turn(row, True, at, timedelta(), now)
    return False


GENERAL = frozenset(intentions.words_of(" ".join(ENDS.values())))
