"""Which commitments are due, what later entries and runs say of those that wait, and what is stale (RFC 0068 C).

They are found in text by ``memory.text.intentions``, kept by ``inference``, and fired by
``openwop_console.runtime.commitment_firing``.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from memory import adapter, memory_policy, provenance
from memory.adapter.passes import EntryFate, News
from memory.commitments import lifecycle
from memory.commitments.lifecycle import Awaited
from memory.host import cron, event_log, registry, sql
from memory.host.events import RunCompleted, RunFailed
from memory.host.json_types import JSONObject
from memory.host.models import ForkMode, Run
from memory.models import Commitment, CommitmentState, Condition, Firing, Lineage, LineageKind
from memory.text import intentions
from memory.text.intentions import FARTHEST, Intention

ENDS = {RunCompleted.type: "run completed finished succeeded done", RunFailed.type: "run failed"}
FARTHEST_BACK = timedelta(days=1)
PIECE = re.compile(r"[\W_]+")
Verdicts = Mapping[Awaited, bool]
LIVE, FORGOTTEN = "live", "forgotten"
TAKEN_IN = frozenset({LineageKind.MERGED, LineageKind.COMPACTED})
LONGEST_LINEAGE = 20
NOWHERE = EntryFate("", there=False)
PART = sql.CHUNK


def predicate_of(found: Intention, entry: News) -> JSONObject:
    """What to look for, as it is kept: stems with their marks, whether of their writer, since when, who is not heard,
    and how often it came true."""
    return {
        "words": list(found.words),
        "negated": found.negated,
        "own": found.own,
        "since": entry.written_at.isoformat(),
        "run": entry.run_id.hex,
        "turn": 0,
    }


def denies(entry: News) -> bool:
    """Whether the entry denies anything, so that it may say that a condition which came true holds no more."""
    return intentions.DENIAL.search(entry.content, 0, intentions.LONGEST_TEXT) is not None


def verdicts(entry: News, conditions: Collection[Awaited]) -> Iterator[tuple[Awaited, bool]]:
    """Of each of these conditions that the entry speaks of, whether it holds."""
    if not conditions:
        return
    known = intentions.vocabulary(entry.content, entry.tags)
    for each in conditions:
        if intentions.may_speak(each.words, known):
            said = intentions.verdict(each.words, entry.content, entry.tags, own=each.own)
            if said is not None:
                yield each, said


class Overtaken(Exception):
    """Something has changed of what was read before the transaction began."""


def record_statements(
    tenant_id: UUID,
    said: Sequence[tuple[News, Verdicts]],
    judged: Mapping[str, Collection[Awaited]],
    denying: Collection[str],
    *,
    stale_after: timedelta,
    now: datetime,
) -> None:
    """Record what these entries, in their order, say about the conditions of their refs: an entry decides only about
    earlier ones. ``judged`` are the conditions that they were held against; ``Overtaken`` when there are others."""
    by_ref: dict[str, list[tuple[News, Verdicts]]] = defaultdict(list)
    for entry, verdicts_of in said:
        by_ref[entry.memory_ref].append((entry, verdicts_of))
    if not by_ref:
        return
    waiting = lifecycle.lock_watching(tenant_id, by_ref, *lifecycle.OPEN) + lifecycle.lock_lost(tenant_id, by_ref)
    denying = by_ref.keys() & set(denying)
    waiting += lifecycle.lock_watching(tenant_id, denying, CommitmentState.FIRED) if denying else []
    written_at = {entry.id: entry.position for entry, _ in said}
    changed = []
    for row in waiting:
        awaited = lifecycle.awaited_by(row.predicate)
        if awaited not in judged[row.memory_ref]:
            raise Overtaken
        after = written_at.get(row.entry_id, -1)
        later = [(entry, found[awaited]) for entry, found in by_ref[row.memory_ref] if awaited in found]
        turns = [
            _set_condition(
                row, holds != row.predicate["negated"], entry.created_at, stale_after, now, entry_id=entry.id
            )
            for entry, holds in later
            if entry.position > after
        ]
        if any(turns):
            changed.append(row)
    lifecycle.record_conditions(changed)


def _set_condition(
    row: Commitment,
    holds: bool,
    at: datetime,
    stale_after: timedelta,
    now: datetime,
    *,
    entry_id: UUID | None = None,
    run_id: UUID | None = None,
) -> bool:
    """Whether the condition changed, because of this entry or run. Only a change to true makes the commitment due, not
    before the end of a snooze."""
    if holds == row.holds:
        return False
    row.holds, row.changed_at = holds, now
    if holds:
        cause = {"entry": entry_id.hex} if entry_id else {"run": run_id.hex} if run_id else {}
        row.predicate = {**row.predicate, "turn": row.predicate["turn"] + 1, "cause": cause}
        row.due_at = max(now, row.snoozed_until or now)
        return True
    row.predicate = {**row.predicate, "since": at.isoformat()}
    if row.state == CommitmentState.FIRED:
        row.state, row.due_at, row.stale_at = CommitmentState.ARMED, None, now + stale_after
    elif row.state in (CommitmentState.SNOOZED, CommitmentState.STALE):
        row.due_at = None
    return True


@transaction.atomic
def record_ended_runs(tenant_id: UUID, *, now: datetime) -> None:
    """What runs that have ended since the last look say of conditions is on record.

    An event is committed a moment after the time it bears, so the last minute is always looked at again; what was
    true already does not change by it.
    """
    watch = lifecycle.lock_watch(tenant_id)
    since = max(watch.runs_until or now - event_log.LATEST, now - FARTHEST_BACK)
    ended = event_log.streams_with(tenant_id, ENDS, since=since) if lifecycle.has_watching(tenant_id) else []
    waiting = lifecycle.lock_watching(tenant_id, None, *lifecycle.OPEN) if ended else []
    texts = _texts(tenant_id, ended)
    changed = [row for row in waiting if not row.holds and _came_true(row, ended, texts, now)]
    lifecycle.record_conditions(changed)
    lifecycle.advance_watch(watch, runs_until=now)


Ended = Sequence[tuple[UUID, str, datetime]]


def _texts(tenant_id: UUID, ended: Ended) -> dict[UUID, frozenset[str]]:
    """The words that identify each of these runs; none for the host's own runs and for replays."""
    real = Run.objects.of(tenant_id).filter(id__in=[run_id for run_id, _, _ in ended], system=False)
    found = list(real.exclude(fork_mode=ForkMode.REPLAY).values_list("id", "workflow_id", "tags", "definition_id"))
    called = registry.names_of(tenant_id, {definition for *_, definition in found})
    return {
        run_id: frozenset(intentions.words_of(PIECE.sub(" ", " ".join([workflow, called.get(definition, ""), *tags]))))
        for run_id, workflow, tags, definition in found
    }


def _came_true(row: Commitment, ended: Ended, texts: Mapping[UUID, Collection[str]], now: datetime) -> bool:
    predicate, wanted = row.predicate, set(intentions.said_words(row.predicate["words"]))
    since = datetime.fromisoformat(predicate["since"])
    for run_id, kind, at in ended:
        names = texts.get(run_id)
        if names is None or at <= since or predicate["negated"] or run_id.hex == predicate["run"]:
            continue
        if wanted & set(names) - GENERAL and wanted <= {*names, *intentions.words_of(ENDS[kind])}:
            return _set_condition(row, True, at, timedelta(), now, run_id=run_id)
    return False


GENERAL = frozenset(intentions.words_of(" ".join(ENDS.values())))


@dataclass(slots=True)
class EntryToday:
    """The path from an entry to the entry that states the same ``today``; None when there is none.

    ``merged`` is how far the path consists of merges alone, so that both entries say the same. ``returns``: an entry on
    the path can be restored. ``forgotten``: the entry itself was forgotten.
    """

    at: UUID
    merged: UUID
    today: UUID | None = None
    returns: bool = False
    forgotten: bool = False


def current_source(tenant_id: UUID, entry_id: UUID, *, now: datetime) -> EntryToday:
    return current_sources(tenant_id, [entry_id], now=now)[entry_id]


def current_sources(tenant_id: UUID, entry_ids: Collection[UUID], *, now: datetime) -> dict[UUID, EntryToday]:
    """The current source of each of these entries; a few queries for each generation, however many entries."""
    found = {each: EntryToday(each, each) for each in entry_ids}
    walking = list(found.values())
    for generation in range(LONGEST_LINEAGE):
        if not walking:
            break
        fates = adapter.passes.entry_fates(tenant_id, {each.at for each in walking}, now=now)
        for each in walking:
            _stop_at(each, fates.get(each.at, NOWHERE), first=generation == 0)
        taken = [each for each in walking if fates.get(each.at, NOWHERE).what in TAKEN_IN]
        into = provenance.descendants_of(tenant_id, {each.at for each in taken}) if taken else {}
        walking = [each for each in taken if _next_step(each, into.get(each.at, []))]
    return found


def _stop_at(source: EntryToday, fate: EntryFate, *, first: bool) -> None:
    if fate.what == LIVE:
        source.today = source.at
    source.returns = source.returns or fate.there
    source.forgotten = source.forgotten or (first and fate.what == FORGOTTEN)


def _next_step(source: EntryToday, went_into: Iterable[Lineage]) -> bool:
    """Whether the path continues: at the last entry that this one went into."""
    into = [each for each in went_into if each.kind in TAKEN_IN]
    if not into:
        return False
    if into[-1].kind == LineageKind.MERGED and source.merged == source.at:
        source.merged = into[-1].target_id
    source.at = into[-1].target_id
    return True


def entry_descendants(tenant_id: UUID, entry_id: UUID) -> set[UUID]:
    """The entry, and every entry that passes made from it."""
    found, fresh = {entry_id}, {entry_id}
    for _ in range(LONGEST_LINEAGE):
        sources = provenance.sources_of(tenant_id, fresh).values() if fresh else []
        fresh = {each.source_id for of_one in sources for each in of_one if each.kind in TAKEN_IN} - found
        found |= fresh
    return found


Spoken = tuple[Commitment, EntryToday]


def find_duplicates(tenant_id: UUID, spoken: Iterable[Spoken]) -> dict[UUID, UUID]:
    """Commitments that repeat an earlier one of another entry, each with that one; snoozed ones come first."""
    groups: dict[Hashable, list[Spoken]] = defaultdict(list)
    for row, source in spoken:
        groups[source.today, _condition_key(row)].append((row, source))
    doubtful = [each for each in groups.values() if len({row.entry_id for row, _ in each}) > 1]
    if not doubtful:
        return {}
    entries = {row.entry_id for group in doubtful for row, _ in group}
    texts, ranks = adapter.passes.stored_texts(tenant_id, entries), _ordinals(tenant_id, entries)
    found: dict[UUID, UUID] = {}
    for group in doubtful:
        found |= _duplicates_in([(row, _identity_keys(row, source, texts, ranks)) for row, source in group])
    return found


def _condition_key(row: Commitment) -> Hashable:
    looked_for = (tuple(row.predicate.get("words", ())), row.predicate.get("negated"))
    return row.agent_id, row.condition, row.due_at, row.timezone, row.repeats, row.every, row.holds, looked_for


def _ordinals(tenant_id: UUID, entry_ids: Collection[UUID]) -> dict[tuple[UUID, int], int]:
    """The ordinal of each intention within its entry."""
    places: dict[UUID, list[int]] = defaultdict(list)
    for part in sql.in_chunks(entry_ids):
        of_them = Commitment.objects.of(tenant_id).filter(entry_id__in=part)
        for entry_id, starts in of_them.values_list("entry_id", "starts"):
            places[entry_id].append(starts)
    return {(entry, starts): rank for entry, each in places.items() for rank, starts in enumerate(sorted(each))}


def _identity_keys(
    row: Commitment, source: EntryToday, texts: dict[UUID, str], ranks: dict[tuple[UUID, int], int]
) -> list[Hashable]:
    """The keys by which each of these is recognised again."""
    words = intentions.words_of(texts.get(row.entry_id, "")[row.starts : row.ends])
    place = ("place", source.merged, ranks[row.entry_id, row.starts])
    return [place, ("words", words)] if words else [place]


def _duplicates_in(marked: Sequence[tuple[Commitment, list[Hashable]]]) -> dict[UUID, UUID]:
    known: dict[Hashable, Commitment] = {}
    found: dict[UUID, UUID] = {}
    for row, marks in sorted(marked, key=lambda each: (each[0].state != CommitmentState.SNOOZED, each[0].id)):
        said = (known[mark] for mark in marks if mark in known)
        first = next((each for each in said if each.entry_id != row.entry_id), row)
        if first is not row:
            found[row.id] = first.id
        for mark in marks:
            known.setdefault(mark, first)
    return found


def duplicates_of(row: Commitment, today: UUID, *, now: datetime) -> dict[UUID, UUID]:
    """``find_duplicates`` among the commitments with the same condition as ``row``, whose entry of ``today`` it is."""
    entries = list(entry_descendants(row.tenant_id, today))
    if len(entries) == 1:
        return {}
    alike = [
        each
        for each in lifecycle.open_of_entries(row.tenant_id, entries)
        if _condition_key(each) == _condition_key(row)
    ]
    found = current_sources(row.tenant_id, {each.entry_id for each in alike}, now=now)
    here = [(each, found[each.entry_id]) for each in alike if found[each.entry_id].today == today]
    return find_duplicates(row.tenant_id, here)


@dataclass(frozen=True, slots=True)
class DueCommitment:
    """A commitment to fire now, locked. ``occasion`` is the instant or the transition, ``memory_id`` the entry that
    states it today, ``next_at`` when it is due again."""

    row: Commitment
    occasion: str
    memory_id: UUID
    next_at: datetime | None

    @property
    def cause_entry_id(self) -> UUID | None:
        """The entry that made the condition true."""
        return self._cause("entry")

    @property
    def cause_run_id(self) -> UUID | None:
        """The run that made it true by its end."""
        return self._cause("run")

    def _cause(self, kind: str) -> UUID | None:
        found = self.row.predicate.get("cause", {}).get(kind)
        return UUID(found) if found else None


def due_commitments(tenant_id: UUID, *, now: datetime) -> list[UUID]:
    """At most ``CHUNK`` commitments whose time has come or whose condition has become true, the longest due first."""
    mine = Commitment.objects.of(tenant_id).filter(state__in=lifecycle.OPEN, due_at__lte=now)
    return list(mine.order_by("due_at", "id").values_list("id", flat=True)[: sql.CHUNK])


def claim(tenant_id: UUID, commitment_id: UUID, *, now: datetime) -> DueCommitment | None:
    """The commitment, when it is due and has not fired on this occasion; inside the transaction that fires it.

    One that is too old, whose entry is gone, or that an earlier one says already is stale instead.
    """
    row = lifecycle.locked(tenant_id, commitment_id)
    if row.state not in lifecycle.OPEN or row.due_at is None or row.due_at > now:
        return None
    if row.stale_at is not None and row.condition == Condition.TIME and row.stale_at <= now:
        lifecycle.make_stale(tenant_id, [row.id], lifecycle.UNFIRED, now=now)
        return None
    source = current_source(tenant_id, row.entry_id, now=now)
    if source.today is None:
        _mark_lost(tenant_id, [(row, source)], now)
        return None
    if _is_duplicate(row, source.today, now):
        return None
    found = _occasion(row, source.today, now)
    if Firing.objects.of(tenant_id).filter(commitment_id=row.id, occasion=found.occasion).exists():
        _rest(found, now=now)
        return None
    return found


def _is_duplicate(row: Commitment, today: UUID, now: datetime) -> bool:
    """Whether an earlier commitment says the same. If not, later ones that do become stale, and this one fires for all
    of them. Only the first one touches the others, so that no two wait for each other's lock."""
    later = duplicates_of(row, today, now=now)
    if row.id in later:
        lifecycle.make_stale(row.tenant_id, [row.id], lifecycle.MERGED, now=now)
        return True
    lifecycle.make_stale(
        row.tenant_id, [each for each, first in later.items() if first == row.id], lifecycle.MERGED, now=now
    )
    return False


def _occasion(row: Commitment, memory_id: UUID, now: datetime) -> DueCommitment:
    """The instant of a firing. After missed ones, the latest counts for all."""
    if row.condition == Condition.PREDICATE:
        return DueCommitment(row, f"turn/{row.predicate['turn']}", memory_id, None)
    first = row.due_at or now
    if not row.repeats:
        return DueCommitment(row, first.isoformat(), memory_id, None)
    tick = cron.due(row.repeats, row.timezone, first, now, every=row.every)
    return DueCommitment(row, tick.tick_at.isoformat(), memory_id, tick.next_at)


def settle(claimed: DueCommitment, firing: Firing, *, now: datetime) -> None:
    """Record that the commitment fired on its occasion; it ends or is armed again."""
    lifecycle.record_firing(claimed.row, firing)
    _rest(claimed, now=now)


def _rest(claimed: DueCommitment, *, now: datetime) -> None:
    """Armed while it may fire again: at its next instant, or when the denied condition becomes true."""
    row, denied = claimed.row, claimed.row.condition == Condition.PREDICATE and not claimed.row.holds
    state = CommitmentState.ARMED if claimed.next_at or denied else CommitmentState.FIRED
    lifecycle.change_state(row, state, now=now, due_at=claimed.next_at, snoozed_until=None)


@transaction.atomic
def abandon(tenant_id: UUID, commitment_id: UUID, *, now: datetime) -> None:
    """End a commitment that cannot fire because of a fault of this host, so that it is not retried forever."""
    row = lifecycle.locked(tenant_id, commitment_id)
    if row.state in lifecycle.OPEN:
        lifecycle.make_stale(tenant_id, [row.id], lifecycle.FAILED, now=now, last_code=lifecycle.FAILED)


@transaction.atomic
def review_open(tenant_id: UUID, *, now: datetime) -> None:
    """Review the next 500 commitments: end snoozes, wake dormant ones near their time, make stale what is too old or
    lost its entry, arm it again when the entry is restored, keep the first of duplicates whose entries were merged, and
    remove those of forgotten entries. A possible one becomes stale when it is not armed in time."""
    watch = lifecycle.lock_watch(tenant_id)
    part = lifecycle.next_to_review(tenant_id, after=watch.looked_until, limit=PART)
    lifecycle.advance_watch(watch, looked_until=part[-1].id if len(part) == PART else None)
    found = current_sources(tenant_id, {row.entry_id for row in part}, now=now) if part else {}
    lifecycle.remove(tenant_id, [row.id for row in part if found[row.entry_id].forgotten])
    known = [(row, found[row.entry_id]) for row in part if not found[row.entry_id].forgotten]
    _review_lost(tenant_id, [each for each in known if each[0].state == CommitmentState.STALE], now)
    _review_armed(tenant_id, [each for each in known if each[0].state in lifecycle.OPEN], now)
    _review_possible(tenant_id, [each for each in known if each[0].state == CommitmentState.POSSIBLE], now)


def _review_possible(tenant_id: UUID, found: Sequence[Spoken], now: datetime) -> None:
    lifecycle.make_stale(tenant_id, [row.id for row, _ in found if _is_too_old(row, now)], lifecycle.UNFIRED, now=now)
    gone = [row.id for row, source in found if source.today is None and not source.returns]
    lifecycle.make_stale(tenant_id, gone, lifecycle.GONE, now=now)


def _review_lost(tenant_id: UUID, found: Sequence[Spoken], now: datetime) -> None:
    over = [row.id for row, source in found if _is_too_old(row, now) or not (source.today or source.returns)]
    lifecycle.make_stale(tenant_id, over, lifecycle.GONE, now=now)
    back = {row.id for row, source in found if source.today} - set(over)
    lifecycle.restore(tenant_id, sorted(back), now=now)


def _review_armed(tenant_id: UUID, found: Sequence[Spoken], now: datetime) -> None:
    old = [row.id for row, _ in found if _is_too_old(row, now) and (row.due_at is None or row.condition == "time")]
    lifecycle.make_stale(tenant_id, old, lifecycle.UNFIRED, now=now)
    _mark_lost(tenant_id, [each for each in found if each[1].today is None], now)
    lifecycle.make_stale(tenant_id, list(find_duplicates(tenant_id, _armed_today(found))), lifecycle.MERGED, now=now)
    lifecycle.rearm(tenant_id, [row.id for row, _ in found if _has_slept(row, now)], now=now)


def _is_too_old(row: Commitment, now: datetime) -> bool:
    return row.stale_at is not None and row.stale_at <= now


def _has_slept(row: Commitment, now: datetime) -> bool:
    if row.state == CommitmentState.DORMANT:
        return row.due_at is not None and row.due_at <= now + FARTHEST
    return row.due_at is None and row.snoozed_until is not None and row.snoozed_until <= now


def _armed_today(found: Sequence[Spoken]) -> list[Spoken]:
    return [each for each in found if each[1].today is not None]


def _mark_lost(tenant_id: UUID, found: Sequence[Spoken], now: datetime) -> None:
    """A commitment whose entry is gone is stale: until the entry is restored, or for good when it cannot be."""
    lifecycle.make_stale(tenant_id, [row.id for row, source in found if not source.returns], lifecycle.GONE, now=now)
    away = [row.id for row, source in found if source.returns]
    if away:
        until = now + timedelta(days=memory_policy.policy_of(tenant_id).stale_days)
        lifecycle.mark_lost(tenant_id, away, until=until, now=now)
