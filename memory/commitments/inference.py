"""Intentions become commitments as memory is written, and later entries decide about open ones (RFC 0068).

The ledger is read from the watch's position on, in parts: the texts of one are understood first, without a lock, and a
short transaction then commits the findings together with the new position. So nothing is lost or found twice, whichever
worker dies or reads at the same time. Writes do not wait for any of this.
"""

import hashlib
import logging
import signal
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from time import monotonic
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import OuterRef, Q, Subquery

from memory import adapter, memory_policy
from memory.adapter.passes import News
from memory.commitments import due, lifecycle
from memory.commitments.due import Overtaken
from memory.commitments.lifecycle import Awaited
from memory.host import event_log, ids, sql
from memory.host.models import Tenant
from memory.host.paging import behind
from memory.memory_policy import Policy
from memory.models import Commitment, CommitmentState, Condition
from memory.text import intentions
from memory.text.intentions import FARTHEST, Intention

CALLED_OFF = "A later entry called it off."
CHUNK = 200  # entries that are read at once
PART = sql.CHUNK
# How much text is read, and for how long, before what it says is recorded; and how much CPU one text may take.
PART_TEXT, PART_SECONDS, ENTRY_SECONDS = 500_000, 2.0, 5.0
MOST_MEANT = 50  # of so many commitments none is the only one that is meant, whatever becomes of the others meanwhile

log = logging.getLogger(__name__)
Place = tuple[UUID, int, int]  # an entry, and where the sentence begins and ends in it
Key = UUID | Place


def _place(row: Commitment) -> Place:
    return row.entry_id, row.starts, row.ends


@dataclass(slots=True)
class Understood:
    """What an entry says: the commitments that it makes, which conditions hold or do not, and of each
    thing that it calls off the commitments that may be meant."""

    entry: News
    made: list[Commitment] = field(default_factory=list)
    verdicts: dict[Awaited, bool] = field(default_factory=dict)
    called_off: list[frozenset[Key]] = field(default_factory=list)


class Known:
    """What entries are held against: the conditions of their refs and the sentences of living commitments.

    A commitment that is stored is known by its id, one that an entry of this part makes by its place.
    """

    def __init__(self, tenant_id: UUID, entries: Sequence[News]) -> None:
        self.tenant_id = tenant_id
        self.denying = {entry.memory_ref for entry in entries if due.denies(entry)}
        self.conditions = lifecycle.conditions_by_ref(tenant_id, {each.memory_ref for each in entries}, self.denying)
        self.sentences: dict[str, dict[Key, str]] = {}
        self._made: dict[str, dict[Key, str]] = defaultdict(dict)
        self._stems: dict[Key, frozenset[str]] = {}

    def add(self, entry: News, made: Iterable[Commitment]) -> None:
        """What comes after the entry is held against what it makes too."""
        for row in made:
            sentence = entry.content[row.starts : row.ends]
            self._made[entry.memory_ref][_place(row)] = sentence
            if entry.memory_ref in self.sentences:
                self.sentences[entry.memory_ref][_place(row)] = sentence
            if row.predicate:
                self.conditions[entry.memory_ref].add(lifecycle.awaited_by(row.predicate))

    def read_sentences(self, memory_ref: str) -> None:
        """Load the sentences of the living commitments of the ref, once."""
        if memory_ref in self.sentences:
            return
        rows = lifecycle.living(self.tenant_id, memory_ref)
        texts = adapter.passes.stored_texts(self.tenant_id, {row.entry_id for row in rows})
        stored: dict[Key, str] = {row.id: texts.get(row.entry_id, "")[row.starts : row.ends] for row in rows}
        self.sentences[memory_ref] = stored | self._made[memory_ref]

    def meant_by(self, memory_ref: str, words: Iterable[str]) -> frozenset[Key]:
        """The commitments of the ref whose sentences have all these words; none when they are very many."""
        wanted, found = frozenset(words), set()
        for key, sentence in self.sentences[memory_ref].items():
            if key not in self._stems:
                self._stems[key] = frozenset(intentions.words_of(sentence))
            if wanted <= self._stems[key]:
                found.add(key)
        return frozenset(found if len(found) <= MOST_MEANT else ())


@dataclass(frozen=True, slots=True)
class Part:
    """The entries after the position ``after`` up to ``reached``, understood; whether there may be ``more``."""

    after: int
    reached: int
    more: bool
    entries: list[Understood]
    known: Known


def read_next(tenant_id: UUID, *, now: datetime, limit: int = CHUNK) -> bool:
    """Read the next part of the ledger: arm its intentions (as possible where they are in doubt), and record what it
    says about others. Whether there may be more.

    Texts are understood before the transaction begins, because SQLite has one lock for the writes of all tenants. The
    transaction changes nothing when another worker has read on meanwhile, or something has changed of what the texts
    were held against; then the part is read again.
    """
    policy = memory_policy.policy_of(tenant_id)
    part = _understand_next(tenant_id, policy, now, limit)
    if part is None:
        return False
    try:
        return _record(tenant_id, part, stale_after=timedelta(days=policy.stale_days), now=now)
    except Overtaken:
        return True


def _understand_next(tenant_id: UUID, policy: Policy, now: datetime, limit: int) -> Part | None:
    """The next entries, of at most ``PART_TEXT`` and as many as are understood within ``PART_SECONDS``, but at least
    one; None at the end."""
    after = lifecycle.watch_position(tenant_id)
    entries, reached = adapter.passes.news_after(tenant_id, after=after, limit=limit, now=now)
    if reached == after:
        return None
    lengths = accumulate(len(entry.content) for entry in entries)
    fitting = [entry for entry, length in zip(entries, lengths, strict=True) if length <= PART_TEXT] or entries[:1]
    ends, known = monotonic() + PART_SECONDS, Known(tenant_id, fitting)
    understood: list[Understood] = []
    for entry in fitting:
        if understood and monotonic() >= ends:
            break
        understood.append(_understand(entry, known, policy, now))
    if len(understood) < len(entries):
        return Part(after, understood[-1].entry.position, more=True, entries=understood, known=known)
    return Part(after, reached, more=len(entries) == limit, entries=understood, known=known)


def _understand(entry: News, known: Known, policy: Policy, now: datetime) -> Understood:
    found, called_off = Understood(entry), list[tuple[str, ...]]()
    with _within_limits(entry):
        found.made.extend(infer_commitments(known.tenant_id, entry, policy, now))
        called_off = intentions.called_off(entry.content)
        found.verdicts.update(due.verdicts(entry, known.conditions[entry.memory_ref]))
    if called_off:
        known.read_sentences(entry.memory_ref)
        with _within_limits(entry):
            found.called_off.extend(known.meant_by(entry.memory_ref, words) for words in called_off)
    known.add(entry, found.made)
    return found


@contextmanager
def _within_limits(entry: News) -> Iterator[None]:
    """End what is done in it with the entry when it fails or takes too much CPU, and go on: what was understood by then
    counts, and the entry is not read again, because it would take as long for ever. No query belongs in it."""
    try:
        with _cpu_limit(ENTRY_SECONDS):
            yield
    except Exception:
        log.exception("What %s says was not understood in full, and it is not read again", ids.wire("mem", entry.id))


@contextmanager
def _cpu_limit(seconds: float) -> Iterator[None]:
    """Raise ``TimeoutError`` in it after so many seconds of CPU; without effect outside the main thread, in which the
    workers do their tasks. It also ends the search for a pattern. django-q2's own limit is by another signal."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _raise_timeout)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _raise_timeout(*_: object) -> None:
    raise TimeoutError


@transaction.atomic
def _record(tenant_id: UUID, part: Part, *, stale_after: timedelta, now: datetime) -> bool:
    """Store what the part says, and that it was read. Whether there may be more."""
    watch = lifecycle.lock_watch(tenant_id)
    if watch.position != part.after:
        return True
    still = _still_there(tenant_id, part, now)
    entries, fresh = [each.entry for each in still], [row for each in still for row in each.made]
    if replaced := {entry.id for entry in entries if entry.changed_at}:
        kept = [each for each in fresh if each.entry_id not in replaced]
        fresh = [
            *kept,
            *lifecycle.follow_replacement(tenant_id, replaced, [each for each in fresh if each.entry_id in replaced]),
        ]
    lifecycle.store(fresh)
    _cancel_called_off(tenant_id, still, part.known, now)
    due.record_statements(
        tenant_id,
        [(each.entry, each.verdicts) for each in still],
        part.known.conditions,
        part.known.denying,
        stale_after=stale_after,
        now=now,
    )
    lifecycle.advance_watch(
        watch, position=part.reached, **({"lease_until": lifecycle.LEASE.end(now)} if watch.holder else {})
    )
    return part.more


def _still_there(tenant_id: UUID, part: Part, now: datetime) -> list[Understood]:
    """Those that are in the ledger as they were read. One that was forgotten or retired since is left out, and so is
    one whose value was replaced: it is read at its new position."""
    if not part.entries:
        return []
    today, _ = adapter.passes.news_after(tenant_id, after=part.after, limit=len(part.entries), now=now)
    found = {entry.position: entry for entry in today}
    still = [each for each in part.entries if each.entry.position in found]
    if any(found[each.entry.position] != each.entry for each in still):
        raise Overtaken  # its text was redacted
    return still


def _cancel_called_off(tenant_id: UUID, found: Iterable[Understood], known: Known, now: datetime) -> None:
    """Cancel the commitment that a later entry of the ref calls off, when only one can be meant."""
    calling = [each for each in found if any(each.called_off)]
    living = {ref: lifecycle.lock_living(tenant_id, ref) for ref in sorted({each.entry.memory_ref for each in calling})}
    read = {each.entry.id for each in found}
    for ref, rows in living.items():
        if any(row.id not in known.sentences[ref] and row.entry_id not in read for row in rows):
            raise Overtaken
    for each in calling:
        others = [row for row in living[each.entry.memory_ref] if row.entry_id != each.entry.id]
        for keys in each.called_off:
            meant = [
                row for row in others if row.state in lifecycle.LIVING and not keys.isdisjoint((row.id, _place(row)))
            ]
            if len(meant) == 1:
                lifecycle.change_state(meant[0], CommitmentState.CANCELLED, now=now, reason=CALLED_OFF, due_at=None)


def infer_commitments(tenant_id: UUID, entry: News, policy: Policy, now: datetime) -> Iterable[Commitment]:
    """The commitments that ``entry`` makes, without those that would be stale already."""
    for found in intentions.found_in(entry.content, zone=policy.timezone, written_at=entry.written_at, doubtful=True):
        stale_at = _stale_at(found, entry, timedelta(days=policy.stale_days))
        if stale_at is None or stale_at > now:
            yield Commitment(
                tenant_id=tenant_id,
                memory_ref=entry.memory_ref,
                entry_id=entry.id,
                agent_id=entry.agent_id,
                starts=found.starts,
                ends=found.ends,
                said_sha256=hashlib.sha256(entry.content[found.starts : found.ends].encode()).hexdigest(),
                condition=Condition.PREDICATE if found.words else Condition.TIME,
                due_at=found.at,
                timezone=policy.timezone,
                repeats=found.cron,
                every=found.every,
                predicate=due.predicate_of(found, entry) if found.words else {},
                state=_state_of(found, now),
                stale_at=stale_at,
                created_at=now,
                changed_at=now,
            )


def _stale_at(found: Intention, entry: News, patience: timedelta) -> datetime | None:
    """When it is too old to fire: a single time some while later, a repeated one never. A doubtful one is too old to be
    armed once its time has come."""
    if found.doubtful:
        return found.at if found.at and not found.cron else entry.written_at + patience
    return None if found.cron else (found.at or entry.written_at) + patience


def _state_of(found: Intention, now: datetime) -> str:
    if found.doubtful:
        return CommitmentState.POSSIBLE
    return CommitmentState.DORMANT if found.at and found.at > now + FARTHEST else CommitmentState.ARMED


class DueTenants(NamedTuple):
    """A page of tenants to read for; ``after`` is where the next page begins, None after the last."""

    tenants: list[UUID]
    after: UUID | None


def due_tenants(*, since: datetime, whole: bool, after: UUID | None = None, now: datetime) -> DueTenants:
    """Of at most 500 tenants after ``after``: those whose ledger has news, who have a commitment due, or whose runs
    ended since then while one waits; with ``whole`` all that have one which may fire, or may come back."""
    names, query = _part_of_tenants(whole, after is not None, PART)
    part = [(sql.as_uuid(tenant), dict(zip(names, firsts, strict=True))) for tenant, *firsts in query.fetch(now, after)]
    found = adapter.passes.tenants_with_news([tenant for tenant, _ in part], now=now)
    found += [tenant for tenant, has in part if any(has[name] for name in names if not name.startswith("waiting"))]
    waiting = [tenant for tenant, has in part if any(has[name] for name in names if name.startswith("waiting"))]
    found += event_log.tenants_where(due.ENDS, among=waiting, since=since) if waiting else []
    return DueTenants(list(dict.fromkeys(found)), part[-1][0] if len(part) == PART else None)


@cache
def _part_of_tenants(whole: bool, begun: bool, size: int) -> tuple[list[str], sql.CompiledQuery]:
    """The query for a time and the tenant before the part, and the names of what it asks of each tenant; every worker's
    loop sends it once a second."""
    now, after = datetime.min.replace(tzinfo=UTC), UUID(int=0)
    asked = _of_open("due", Q(due_at__lte=now), by="due_at") | _of_open("waiting", Q(condition=Condition.PREDICATE))
    if whole:
        asked |= _of_open("open", Q()) | {"possible": _first(Q(state=CommitmentState.POSSIBLE))}
        asked |= {"lost": _first(lifecycle.MAY_RETURN)}
    page = Tenant.objects.annotate(**asked).values_list("id", *asked)
    return list(asked), sql.CompiledQuery(behind(page, after if begun else None, "id")[:size], now, after)


def _of_open(name: str, of: Q, *, by: str = "id") -> dict[str, Subquery]:
    return {f"{name}_{state}": _first(of & Q(state=state), by=by) for state in lifecycle.OPEN}


def _first(of: Q, *, by: str = "id") -> Subquery:
    """The first of these commitments of the tenant of the row outside, in the order of the index.

    A mere question whether there is one is answered by PostgreSQL from a table of all tenants' commitments.
    """
    return Subquery(Commitment.objects.filter(of, tenant_id=OuterRef("id")).order_by(by).values("id")[:1])
