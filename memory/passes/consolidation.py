"""Consolidation (RFC 0068): what says the same becomes one, what a newer value replaces rests, and nothing is lost.

A pass goes over one ref, in short transactions. What it takes away can be restored for a while, and lineage says what
became of it. A second pass over the same entries finds nothing to do.
"""

import gc
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from uuid import UUID

import numpy as np
from django.db import transaction

from memory import adapter, consolidation_state, ledger, passes, provenance, redaction
from memory.adapter.passes import CorpusEntry, Outline
from memory.consolidation_state import State
from memory.entry_drafts import MAX_CONTENT_BYTES, MAX_LABEL, MAX_TAGS, EntryDraft
from memory.host import event_log, ids, sql, tenancy
from memory.host.clock import Clock
from memory.host.errors import Invalid
from memory.host.events import MemoryConsolidated
from memory.host.expiry import has_expired
from memory.host.json_types import JSONObject
from memory.host.tenancy import MemoryScope
from memory.ledger.entries import Derivation
from memory.ledger.retirement import EntryToRetire
from memory.models import LineageKind, Pass
from memory.provenance import Descent
from memory.text import similarity, token_budget
from memory.text.redactor import Redact
from memory.text.similarity import (
    Ids,
    Merge,
    Reading,
    Signatures,
    Statement,
    Supersession,
    comparable,
    packed,
    resolved,
    unpacked,
)

TAKEN = ("", "merged")
FEW = 0.2
Strengths = dict[UUID, tuple[int, datetime]]
ROOM = sql.CHUNK - 1
KIND = "consolidate"
ENUMERATED = 100
SHOWN = 200


# What a pass over a ref looks at: all of it the first time, later on what is new and what that might equal.
#
# Archives and what compaction made are left alone; so are protected entries, though they count. So is an entry at a
# key: the key is part of what it says, and its writer reads it there.


@dataclass(frozen=True, slots=True)
class InputFigures:
    """How many entries are considered, of how many tokens in all, and when the first of them expires."""

    entries: int
    tokens: int
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class RefView:
    """The ref as read with the ledger at ``head``: the entries, and what is known from before.

    ``known`` is None when everything was read, and else what an earlier pass left.
    """

    head: int
    figures: InputFigures
    entries: dict[UUID, CorpusEntry] = field(default_factory=dict)
    strengths: Strengths = field(default_factory=dict)
    reading: Reading = field(default_factory=lambda: Reading(()))
    known: State | None = None
    fresh: frozenset[UUID] = frozenset()


def load_ref(work: Pass, scope: MemoryScope, clock: Clock) -> RefView:
    """The ref as this pass has to see it."""
    known = None if work.options.get("full") else consolidation_state.state_of(scope.tenant_id, scope.memory_ref)
    head, now = ledger.head.position(scope.tenant_id), clock()
    if known is None or known.method != similarity.METHOD:
        return _read_all(work, scope, head, clock)
    if known.head == head and (known.until is None or now < known.until):
        return RefView(head, InputFigures(known.entries, known.tokens, known.until), known=known)
    if known.chunks >= consolidation_state.MOST_CHUNKS:
        return _read_all(work, scope, head, clock)
    return _read_new(work, scope, known, clock) or _read_all(work, scope, head, clock)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Turns the cycle collector off while a ref is in memory: nothing here makes a cycle, and a search for some goes
    through all that was read, also the first one after it was off."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _read_all(work: Pass, scope: MemoryScope, head: int, clock: Clock) -> RefView:
    entries: dict[UUID, CorpusEntry] = {}
    total, keyed = adapter.passes.count_live(scope, now=clock()).entries, adapter.openintent.entries_with_key(scope)
    for chunk in adapter.passes.corpus(scope, now=clock()):
        entries.update((entry.id, _kept_at_key(entry, keyed)) for entry in chunk if entry.derived in TAKEN)
        passes.progress(work, done=len(entries), total=max(total, len(entries)), doing="reading", now=clock())
    strengths = adapter.passes.strengths_of_ref(scope)
    reading = _read(work, entries, strengths, clock)
    return RefView(head, _numbers_in(entries.values()), entries, strengths, reading)


def _kept_at_key(entry: CorpusEntry, keyed: Collection[UUID]) -> CorpusEntry:
    return entry._replace(protected=True) if keyed and entry.id in keyed else entry


def _read(work: Pass, entries: dict[UUID, CorpusEntry], strengths: Strengths, clock: Clock) -> Reading:
    """Read the entries for comparison; the pass renews its lease while they are read and compared."""

    def tick(read: int) -> None:
        passes.progress(work, done=read, total=len(entries), doing="comparing", now=clock())

    return Reading([statement(entry, strengths) for entry in entries.values()], tick)


def _numbers_in(entries: Iterable[CorpusEntry]) -> InputFigures:
    entries = list(entries)
    until = min((entry.expires_at for entry in entries if entry.expires_at), default=None)
    return InputFigures(len(entries), sum(entry.tokens for entry in entries), until)


def statement(entry: CorpusEntry, strengths: Strengths) -> Statement:
    """The entry as a statement to compare: with its subject among the tags, and the time at which it was last said."""
    owner = (f"subject:{entry.subject}",) if entry.subject else ()
    known = strengths.get(entry.id) if strengths else None
    said = max(entry.created_at, known[1]) if known else entry.created_at
    return Statement(entry.id, entry.content, said, (*entry.tags, *owner), entry.protected, entry.agent_id)


def _read_new(work: Pass, scope: MemoryScope, known: State, clock: Clock) -> RefView | None:
    """Read the entries that no earlier pass has seen, and those that they might equal; None when there are so many that
    reading the whole ref is faster."""
    head, now = ledger.head.position(scope.tenant_id), clock()
    there = adapter.passes.outline(scope, derived=TAKEN, now=now)
    stored = [Signatures.from_bytes(each) for each in consolidation_state.signatures(scope.tenant_id, scope.memory_ref)]
    keyed = adapter.openintent.entries_with_key(scope)
    free = comparable(_free(there, keyed))
    fresh = np.setdiff1d(free, np.concatenate([free[:0], *(comparable(each.ids) for each in stored)]))
    if len(fresh) > FEW * len(there):
        return None
    new = {entry.id: entry for entry in adapter.passes.corpus_entries(scope, unpacked(fresh), now=now)}
    reading = _read(work, new, {}, clock)
    near = {each for signatures in stored for each in signatures.candidates(reading)} - set(new)
    entries = {
        entry.id: _kept_at_key(entry, keyed)
        for entry in adapter.passes.corpus_entries(scope, sorted(near), now=now)
        if entry.derived in TAKEN
    } | new
    strengths = adapter.statistics.source_strengths(scope.tenant, list(entries))
    reading = _read(work, entries, strengths, clock)
    reading.used_before = np.concatenate(
        [reading.used_before, *(each.odd_beside(packed([*entries])) for each in stored)]
    )
    return RefView(head, _outlined(there), entries, strengths, reading, known, frozenset(new))


def _free(there: list[Outline], keyed: Collection[UUID]) -> Ids:
    kept = {sql.key(each) for each in keyed}
    free = [each.id for each in there if not each.protected and each.id not in kept]
    if sql.is_postgres():
        return packed(free)
    return np.frombuffer(bytes.fromhex("".join(free)), dtype=packed([]).dtype)


def _outlined(there: list[Outline]) -> InputFigures:
    expiries = [each.expires_at for each in there if each.expires_at]
    until = min(map(datetime.fromisoformat, expiries), default=None)
    return InputFigures(len(there), sum(each.tokens for each in there), until)


# What a pass is going to do: who goes into whom, and which survivors are written anew so that nothing is lost.
#
# A survivor stays as it is when it alone carries what its group carries. When it lacks a tag, a later expiry or the
# subject, or its text holds what derived text may not, an entry of its words takes its place. Equals whose tags find no
# room in one entry stay apart, and are replaced together.


@dataclass(frozen=True, slots=True)
class Change:
    """``sources`` go into ``target``: merged, or superseded by it, with the fixed word for why.

    A ``target`` that is ``lacking`` is written anew, with what the group carries; one that is superseded itself is not.
    """

    target: CorpusEntry
    sources: tuple[CorpusEntry, ...]
    kind: str
    why: str
    lacking: bool = False


def plan_changes(look: RefView, redact: Redact) -> list[Change]:
    """The changes, merges first; each can be written. Ordered by what they retire, so that neighbouring rows change in
    one transaction."""
    found = resolved(look.reading)
    merges, apart = _merges(look, found.merges, redact)
    replaced = _replaced(look, found.superseded, merges, apart)
    gone = {entry.id for change in replaced for entry in change.sources}
    merges = [replace(change, lacking=change.lacking and change.target.id not in gone) for change in merges]
    return sorted(merges, key=_place) + sorted(replaced, key=_place)


def _merges(look: RefView, found: Iterable[Merge], redact: Redact) -> tuple[list[Change], dict[UUID, list[UUID]]]:
    """Return the merges that can be made and, by survivor, the equal entries that cannot be merged into it."""
    merges, apart = [], {}
    for each in found:
        target, sources = look.entries[each.survivor], _entries(look, each.merged)
        change = merge(target, _with_room(target, sources), redact)
        if not change.sources or (change.lacking and not fits(change, redact)):
            change = replace(change, sources=())
        else:
            merges.append(change)
        if len(change.sources) < len(sources):
            taken = {entry.id for entry in change.sources}
            apart[target.id] = [entry.id for entry in sources if entry.id not in taken]
    return merges, apart


def _replaced(
    look: RefView, found: Iterable[Supersession], merges: list[Change], apart: dict[UUID, list[UUID]]
) -> list[Change]:
    """Return the supersessions in which the newer entry outlives the older one, merges included."""
    ends = {change.target.id: _last_end((change.target, *change.sources)) for change in merges}

    def end(entry_id: UUID) -> datetime | None:
        return ends[entry_id] if entry_id in ends else look.entries[entry_id].expires_at

    older: dict[tuple[UUID, str], list[UUID]] = {}
    for each in found:
        for entry_id in (each.older, *apart.get(each.older, ())):
            if outlives(end(each.newer), end(entry_id)):
                older.setdefault((each.newer, each.why), []).append(entry_id)
    return [
        Change(look.entries[newer], _entries(look, ids), LineageKind.SUPERSEDED, why)
        for (newer, why), ids in older.items()
    ]


def _place(change: Change) -> UUID:
    return change.sources[0].id


def merge(target: CorpusEntry, sources: tuple[CorpusEntry, ...], redact: Redact) -> Change:
    lacking = is_lacking(target, draft_of(target, sources), redact)
    return Change(target, sources, LineageKind.MERGED, "same", lacking)


def has_room(target: CorpusEntry, sources: tuple[CorpusEntry, ...]) -> bool:
    """Whether one entry can carry all tags of the group."""
    return len(set(target.tags).union(*(entry.tags for entry in sources))) <= MAX_TAGS


def _with_room(target: CorpusEntry, sources: tuple[CorpusEntry, ...]) -> tuple[CorpusEntry, ...]:
    """As many of ``sources`` as have room for all their tags in addition to those of ``target``."""
    if has_room(target, sources):
        return sources
    tags, taken = set(target.tags), []
    for entry in sources:
        if len(tags.union(entry.tags)) <= MAX_TAGS:
            tags.update(entry.tags)
            taken.append(entry)
    return tuple(taken)


def _entries(look: RefView, ids: Iterable[UUID]) -> tuple[CorpusEntry, ...]:
    return tuple(look.entries[each] for each in ids)


def outlives(end: datetime | None, other: datetime | None) -> bool:
    """Whether an entry with this expiry exists at least as long as the other."""
    return end is None or (other is not None and end >= other)


def draft_of(target: CorpusEntry, sources: Sequence[CorpusEntry]) -> EntryDraft:
    """The words of ``target`` with all that the group carries."""
    group = (target, *sources)
    tags = dict.fromkeys(tag for entry in group for tag in entry.tags)
    subject = next((entry.subject for entry in group if entry.subject), "")
    return EntryDraft(target.content, tuple(tags), subject, target.agent_id, _last_end(group))


def _last_end(group: Iterable[CorpusEntry]) -> datetime | None:
    """The last expiry of the group; None where one of it has none."""
    ends = [entry.expires_at for entry in group]
    return None if None in ends else max(end for end in ends if end)


def is_lacking(target: CorpusEntry, draft: EntryDraft, redact: Redact) -> bool:
    """Whether ``target`` cannot stand for what the draft holds, and the draft has to be written."""
    carried = (tuple(target.tags), target.subject, target.expires_at)
    return carried != (draft.tags, draft.subject, draft.expires_at) or redact(draft.content).text != draft.content


def fits(change: Change, redact: Redact) -> bool:
    """Whether what would have to be written can be stored when its secrets are replaced."""
    draft = draft_of(change.target, change.sources)
    labels = (draft.subject, *draft.tags)
    return (
        len(redact(draft.content).text.encode()) <= MAX_CONTENT_BYTES
        and all(len(redact(label).text) <= MAX_LABEL for label in labels)
        and redact(change.target.content).text != ""
    )


# The changes of a pass, made in short transactions: each is whole, with its lineage, and says what was done so far.
#
# What was retired, protected or forgotten since it was read is respected: no lineage of it, nothing made of it,
# and nothing goes into what is not there any more.


@dataclass(frozen=True, slots=True)
class Totals:
    """What a pass has done: how many entries, how many tokens less, and by how many steps it moved the ledger."""

    merged: int = 0
    superseded: int = 0
    strengthened: int = 0
    written: int = 0
    tokens: int = 0
    steps: int = 0

    def plus(self, other: "Totals") -> "Totals":
        return Totals(**{name: value + getattr(other, name) for name, value in asdict(self).items()})


class TargetGone(Exception):
    """An entry that others were to be merged into no longer exists."""

    def __init__(self, entry_ids: set[UUID]) -> None:
        self.entry_ids = entry_ids


class ChangeWriter:
    """Makes the changes of a pass; knows what is done, the current entry for each target, and the sources of each."""

    def __init__(self, work: Pass, scope: MemoryScope, redact: Redact, strengths: Strengths, done: Totals) -> None:
        self.work, self.scope, self.redact = work, scope, redact
        self.strengths, self.done = dict(strengths), done
        self.stands: dict[UUID, CorpusEntry] = {}
        self.hidden: set[UUID] = set()

    def write(self, changes: Sequence[Change], clock: Callable[[], datetime]) -> None:
        """Make all ``changes``, part by part, with progress in between."""
        total, at = sum(len(change.sources) for change in changes), 0
        for part in in_parts(changes):
            passes.progress(self.work, done=at, total=total, doing="merging", now=clock())
            self._make(part, clock())
            at += sum(len(change.sources) for change in part)

    def _make(self, part: list[Change], now: datetime) -> None:
        """Make the part, except for changes whose target is gone and entries that have expired by now."""
        there = {entry.id for change in part for entry in change.sources if not has_expired(entry.expires_at, now)}
        part = [change for change in _restricted(part, there) if not has_expired(self._target(change).expires_at, now)]
        while part:
            try:
                with transaction.atomic():
                    self._settle(part, now)
                return
            except TargetGone as gone:  # known before anything else of the part was
                part = [change for change in part if self._target(change).id not in gone.entry_ids]

    def _target(self, change: Change) -> CorpusEntry:
        return self.stands.get(change.target.id, change.target)

    def _settle(self, part: list[Change], now: datetime) -> None:
        """Retire first: that takes the ledger's lock, so no other writer gets in before the commit."""
        tenant = self.work.tenant_id
        anew = [change for change in part if self._is_lacking(change)]
        away = [EntryToRetire(entry.id, change.kind) for change in part for entry in change.sources]
        away += [EntryToRetire(self._target(change).id, LineageKind.MERGED) for change in anew]
        hidden = set(ledger.retirement.retire_entries(tenant, away, now=now))
        done = list(_restricted(part, hidden))
        self._require_there(done, {self._target(change).id for change in anew}, hidden, now)
        lacking = {change.target.id for change in anew}
        written = self._write([change for change in done if change.target.id in lacking], now)
        descents = [
            Descent(entry.id, self._target(change).id, change.kind) for change in done for entry in change.sources
        ]
        provenance.record(tenant, [*written, *descents], pass_id=self.work.id, now=now)
        stronger = self._strengthen([change for change in done if change.kind == LineageKind.MERGED])
        self._count(done, len(written), stronger, bool(hidden))
        self.hidden |= hidden
        passes.store_note(self.work, {**self.work.outcome, "totals": asdict(self.done)})

    def _is_lacking(self, change: Change) -> bool:
        target = self._target(change)
        return change.lacking and is_lacking(target, draft_of(target, change.sources), self.redact)

    def _require_there(self, done: list[Change], anew: set[UUID], hidden: set[UUID], now: datetime) -> None:
        """Raise ``TargetGone`` unless every target is live; one to be written anew was retired just now, and still
        has sources."""
        targets = {self._target(change).id for change in done}
        live = adapter.passes.live_among(self.scope, targets - anew - hidden, now=now)
        gone = (targets - anew - hidden - live) | {each for each in anew if (each in hidden) != (each in targets)}
        if gone:
            raise TargetGone(gone)

    def _write(self, changes: list[Change], now: datetime) -> list[Descent]:
        """Write a new entry for each target that lacks something of its group."""
        if not changes:
            return []
        drafts = [draft_of(self._target(change), change.sources) for change in changes]
        made = [Derivation(draft, "merged") for draft in drafts]
        written = ledger.entries.write_derived(self.scope, made, run=self.work.run, now=now)
        descents, tokens = [], 0
        for change, draft, entry in zip(changes, drafts, written, strict=True):
            before = self._target(change)
            after = before._replace(
                id=entry.id,
                content=entry.content,
                tags=entry.tags,
                subject=draft.subject,
                expires_at=entry.expires_at,
                tokens=token_budget.count(entry.content),
                derived="merged",
            )
            descents.append(Descent(before.id, after.id, LineageKind.MERGED))
            self.strengths[after.id] = self._strength(before)
            self.stands[change.target.id] = after
            tokens += before.tokens - after.tokens
        self.done = self.done.plus(Totals(written=len(written), steps=len(written), tokens=tokens))
        return descents

    def _strength(self, entry: CorpusEntry) -> tuple[int, datetime]:
        return self.strengths.get(entry.id, (1, entry.created_at))

    def _strengthen(self, changes: list[Change]) -> int:
        """Give each target the strength of its group and the latest time at which it was said; return how many."""
        found: dict[UUID, tuple[int, datetime]] = {}
        for change in changes:
            target = self._target(change)
            each = [self._strength(entry) for entry in (target, *change.sources)]
            found[target.id] = sum(sources for sources, _ in each), max(last for _, last in each)
            self.strengths[target.id] = found[target.id]
        ledger.entries.strengthen(self.work.tenant_id, [(entry, *strength) for entry, strength in found.items()])
        return len(found)

    def _count(self, done: list[Change], written: int, stronger: int, moved: bool) -> None:
        by_kind = {
            kind: sum(len(change.sources) for change in done if change.kind == kind)
            for kind in (LineageKind.MERGED, LineageKind.SUPERSEDED)
        }
        tokens = sum(entry.tokens for change in done for entry in change.sources)
        self.done = self.done.plus(
            Totals(by_kind[LineageKind.MERGED], by_kind[LineageKind.SUPERSEDED], stronger, 0, tokens, int(moved))
        )


def _restricted(changes: Iterable[Change], taken: set[UUID]) -> Iterator[Change]:
    """Yield the changes with those of their sources that are in ``taken``; those without any are left out."""
    for change in changes:
        sources = tuple(entry for entry in change.sources if entry.id in taken)
        if sources:
            yield change if len(sources) == len(change.sources) else replace(change, sources=sources)


def in_parts(changes: Sequence[Change]) -> Iterator[list[Change]]:
    """The changes in parts that the ledger takes at once; one that is larger is made in several, one target in each."""
    part: list[Change] = []
    targets: set[UUID] = set()
    room = ROOM
    for change in changes:
        for sources in sql.in_chunks(change.sources, ROOM - 1):
            needed = len(sources) + change.lacking
            if needed > room or change.target.id in targets:
                yield part
                part, targets, room = [], set(), ROOM
            part.append(replace(change, sources=tuple(sources)))
            targets.add(change.target.id)
            room -= needed
    if part:
        yield part


# A pass from beginning to end, scheduled or not: its one event, its outcome, and the state for the next one.
#
# One that was taken over goes on where the other left off: what is on record as done counts, and is not done again.


def checked_options(options: JSONObject) -> JSONObject:
    """``full`` looks at everything again, whatever is known of the ref."""
    errors = [
        {"field": name, "message": "is not an option of consolidation"} for name in sorted(set(options) - {"full"})
    ]
    if not isinstance(options.get("full", False), bool):
        errors.append({"field": "full", "message": "must be true or false"})
    if errors:
        raise Invalid("The options of the consolidation are not valid.", errors=errors)
    return options


@without_garbage_collection()
def carry_out(work: Pass, *, clock: Clock) -> None:
    """Consolidate the ref, append the event once and finish the pass. A dry run writes only its outcome."""
    scope = tenancy.memory_scope(tenancy.host_scope(work.run.tenant), work.memory_ref)
    assert scope is not None, "a pass is over a ref of its tenant"
    ledger.entries.require_writable(scope, work.run)
    ledger.entries.require_durable("agents.memoryConsolidation")
    seen, redact = load_ref(work, scope, clock), redaction.for_derived(work.tenant_id)
    changes = plan_changes(seen, redact)
    if work.dry_run:
        passes.finish(work, outcome=_dry_run_outcome(seen, changes), now=clock())
        return
    before = Totals(**work.outcome.get("totals", {}))
    work.outcome |= _outcome(seen, before, before) | _reasons(work, changes)
    writer = ChangeWriter(work, scope, redact, seen.strengths, before)
    writer.write(changes, clock)
    _end(scope, seen, writer, before, now=clock())


@transaction.atomic
def _end(scope: MemoryScope, seen: RefView, writer: ChangeWriter, before: Totals, *, now: datetime) -> None:
    work, done = writer.work, writer.done
    outcome = _outcome(seen, done, before) | _reasons(work, ())
    counts = outcome["inputCount"], outcome["outputCount"]
    fact = MemoryConsolidated(work.memory_ref, *counts, merged_ids(work), work.trigger)
    event_log.append(work.tenant_id, work.run_id, fact, now=now)
    _store_state(scope, seen, writer, before, now=now)
    passes.finish(work, outcome=outcome, now=now)


def stop_early(work: Pass, *, now: datetime) -> JSONObject:
    """Append one event with what the stopped pass did, if anything, and return its outcome."""
    done = Totals(**work.outcome.get("totals", {}))
    if done == Totals():
        return {}
    outcome = figures(work.outcome["inputCount"], work.outcome["tokensBefore"], done)
    counts = outcome["inputCount"], outcome["outputCount"]
    fact = MemoryConsolidated(work.memory_ref, *counts, merged_ids(work), work.trigger)
    event_log.append(work.tenant_id, work.run_id, fact, now=now)
    return outcome | _reasons(work, ())


def merged_ids(work: Pass) -> tuple[UUID, ...] | None:
    """The entries that this pass took away, or None when they are more than a hundred."""
    found = provenance.lineage_of_pass(work.tenant_id, work.id, limit=ENUMERATED + 1)
    return tuple(each.source_id for each in found) if len(found) <= ENUMERATED else None


def _outcome(seen: RefView, done: Totals, before: Totals) -> JSONObject:
    """Return the figures of the whole pass; ``before`` is what it had done before the ref was read."""
    count = seen.figures.entries + before.merged + before.superseded
    return figures(count, seen.figures.tokens + before.tokens, done)


def figures(count: int, tokens: int, done: Totals) -> JSONObject:
    return {
        "inputCount": count,
        "outputCount": count - done.merged - done.superseded,
        "merged": done.merged,
        "superseded": done.superseded,
        "strengthened": done.strengthened,
        "written": done.written,
        "tokensBefore": tokens,
        "tokensAfter": tokens - done.tokens,
    }


def _reasons(work: Pass, changes: Sequence[Change]) -> JSONObject:
    """The first sources that are superseded, each with the word for why; those that are on record stay."""
    why = dict(work.outcome.get("reasons", {}))
    for change in changes:
        if change.kind == LineageKind.SUPERSEDED:
            why |= {ids.wire("mem", entry.id): change.why for entry in change.sources[: SHOWN - len(why)]}
    return {"reasons": why} if why else {}


def _dry_run_outcome(seen: RefView, changes: Sequence[Change]) -> JSONObject:
    """What would be done with the ref as it is now, with the first groups, by ids alone."""
    merges = [change for change in changes if change.kind == LineageKind.MERGED]
    written = sum(change.lacking for change in changes)
    sources = [sum(len(change.sources) for change in each) for each in (merges, changes)]
    tokens = sum(entry.tokens for change in changes for entry in change.sources)
    totals = Totals(sources[0], sources[1] - sources[0], len(merges), written, tokens)
    groups = [
        {
            "kind": change.kind,
            "into": ids.wire("mem", change.target.id),
            "from": [ids.wire("mem", entry.id) for entry in change.sources[:SHOWN]],
            "why": change.why,
        }
        for change in changes[:SHOWN]
    ]
    return {**_outcome(seen, totals, Totals()), "groups": groups, "groupCount": len(changes)}


def _store_state(scope: MemoryScope, seen: RefView, writer: ChangeWriter, before: Totals, *, now: datetime) -> None:
    """Store what the next pass starts from: the signatures of what is left, and the ledger's position if no one else
    wrote meanwhile."""
    done, tenant = writer.done, scope.tenant_id
    head = ledger.head.position(tenant)
    alone = head == seen.head + done.steps - before.steps
    left = State(
        similarity.METHOD,
        head if alone else -1,
        seen.figures.entries - (done.merged - before.merged) - (done.superseded - before.superseded),
        seen.figures.tokens - (done.tokens - before.tokens),
        seen.figures.until,
        seen.known.chunks if seen.known else 0,
    )
    store = consolidation_state.add if seen.known else consolidation_state.replace
    store(tenant, scope.memory_ref, left, _chunks(seen, writer), position=seen.head, now=now)


def _chunks(seen: RefView, writer: ChangeWriter) -> list[bytes]:
    """Return the signatures of the entries that were read and remain: only the new ones when the others are known."""
    read = seen.reading.statements
    wanted = [each.id not in writer.hidden and (not seen.known or each.id in seen.fresh) for each in read]
    if not any(wanted):
        return []
    return [Signatures.select(seen.reading, np.array(wanted, dtype=bool)).to_bytes()]
