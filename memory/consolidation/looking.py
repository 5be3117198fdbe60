"""What a pass over a ref looks at: all of it the first time, later on what is new and what that might equal.

Archives and what compaction made are left alone; so are protected entries, though they count.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import numpy as np

from memory import adapter, passes, reconciled, similarity
from memory.adapter import CorpusEntry, Outline
from memory.host import sql
from memory.host.tenancy import MemoryScope
from memory.models import Pass
from memory.reconciled import Standing
from memory.similarity import Ids, Reading, Signatures, Statement, comparable, packed, unpacked

TAKEN = ("", "merged")
FEW = 0.2

Clock = Callable[[], datetime]
Strengths = dict[UUID, tuple[int, datetime]]


@dataclass(frozen=True, slots=True)
class Figures:
    """How many entries are considered, of how many tokens in all, and when the first of them expires."""

    entries: int
    tokens: int
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen when the ledger stood at ``head``: the entries that were read, and what is known from before.

    ``known`` is None when everything was read, and else what an earlier pass left.
    """

    head: int
    figures: Figures
    entries: dict[UUID, CorpusEntry] = field(default_factory=dict)
    strengths: Strengths = field(default_factory=dict)
    reading: Reading = field(default_factory=lambda: Reading(()))
    known: Standing | None = None
    fresh: frozenset[UUID] = frozenset()


def look(work: Pass, scope: MemoryScope, clock: Clock) -> Look:
    """The ref as this pass has to see it."""
    known = None if work.options.get("full") else reconciled.standing(scope.tenant_id, scope.memory_ref)
    head, now = adapter.head(scope.tenant_id), clock()
    if known is None or known.method != similarity.METHOD:
        return _at_all(work, scope, head, clock)
    if known.head == head and (known.until is None or now < known.until):
        return Look(head, Figures(known.entries, known.tokens, known.until), known=known)
    if known.chunks >= reconciled.MOST_CHUNKS:
        return _at_all(work, scope, head, clock)
    return _at_what_is_new(work, scope, known, clock) or _at_all(work, scope, head, clock)


@contextmanager
def uncollected() -> Iterator[None]:
    """Nothing here makes a cycle, and to look for some among all that was read takes a third of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@uncollected()
def _at_all(work: Pass, scope: MemoryScope, head: int, clock: Clock) -> Look:
    entries: dict[UUID, CorpusEntry] = {}
    total = adapter.counts_of(scope, now=clock()).entries
    for chunk in adapter.corpus(scope, now=clock()):
        entries.update((entry.id, entry) for entry in chunk if entry.derived in TAKEN)
        passes.progress(work, done=len(entries), total=max(total, len(entries)), doing="reading", now=clock())
    strengths = adapter.strengths_under(scope)
    reading = _read(work, entries, strengths, clock)
    return Look(head, _figures(entries.values()), entries, strengths, reading)


def _read(work: Pass, entries: dict[UUID, CorpusEntry], strengths: Strengths, clock: Clock) -> Reading:
    """The entries as they are compared; the pass keeps its lease while they are read, and while they are compared."""

    def tick(read: int) -> None:
        passes.progress(work, done=read, total=len(entries), doing="comparing", now=clock())

    return Reading([statement(entry, strengths) for entry in entries.values()], tick)


def _figures(entries: Iterable[CorpusEntry]) -> Figures:
    entries = list(entries)
    until = min((entry.expires_at for entry in entries if entry.expires_at), default=None)
    return Figures(len(entries), sum(entry.tokens for entry in entries), until)


def statement(entry: CorpusEntry, strengths: Strengths) -> Statement:
    """The entry as it is compared. About whom it is is part of what it says, and when it was said last its time."""
    owner = (f"subject:{entry.subject}",) if entry.subject else ()
    said = max(entry.created_at, strengths[entry.id][1]) if entry.id in strengths else entry.created_at
    return Statement(entry.id, entry.content, said, (*entry.tags, *owner), entry.protected, entry.agent_id)


def _at_what_is_new(work: Pass, scope: MemoryScope, known: Standing, clock: Clock) -> Look | None:
    """What is there and was not known, with what it might equal; None when that is much, and all is read sooner."""
    head, now = adapter.head(scope.tenant_id), clock()
    there = adapter.outline(scope, derived=TAKEN, now=now)
    stored = [Signatures.from_bytes(each) for each in reconciled.signatures(scope.tenant_id, scope.memory_ref)]
    free = comparable(_free(there))
    fresh = np.setdiff1d(free, np.concatenate([free[:0], *(comparable(each.ids) for each in stored)]))
    if len(fresh) > FEW * len(there):
        return None
    new = {entry.id: entry for entry in adapter.those(scope, unpacked(fresh), now=now)}
    reading = _read(work, new, {}, clock)
    near = {each for signatures in stored for each in signatures.candidates(reading)} - set(new)
    entries = {entry.id: entry for entry in adapter.those(scope, sorted(near), now=now) if entry.derived in TAKEN} | new
    strengths = adapter.strengths_of(scope.tenant, list(entries))
    reading = _read(work, entries, strengths, clock)
    return Look(head, _outlined(there), entries, strengths, reading, known, frozenset(new))


def _free(there: list[Outline]) -> Ids:
    free = [each.id for each in there if not each.protected]
    if sql.is_postgres():
        return packed(free)
    return np.frombuffer(bytes.fromhex("".join(free)), dtype=packed([]).dtype)


def _outlined(there: list[Outline]) -> Figures:
    expiries = [each.expires_at for each in there if each.expires_at]
    until = min(map(datetime.fromisoformat, expiries), default=None)
    return Figures(len(there), sum(each.tokens for each in there), until)
