"""Look-alikes: pairs of entries that may say the same, which no rule decides, found for a person and decided by one.

After each consolidation the newest entries of the ref are held against those that the ranked index finds for them, and
their vectors where the tenant's embeddings endpoint has made some. What
a person merges or replaces is done as a pass of its own, in that person's name, so it can be restored like any other.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from memory import adapter, addresses, consolidation_state, ledger, passes, provenance, redaction
from memory.adapter.passes import CorpusEntry
from memory.host import audit, event_log, ids, sql, tenancy
from memory.host.clock import Clock
from memory.host.errors import Conflict, Invalid
from memory.host.events import MemoryConsolidated
from memory.host.paging import Page, cut
from memory.host.tenancy import MemoryScope, TenantScope
from memory.models import LineageKind, LookAlike, Pass, Verb
from memory.models.vector_signs import Array
from memory.passes import PassOrder, consolidation
from memory.passes.consolidation import TAKEN, Change, ChangeWriter, Totals
from memory.text import differences
from memory.text.differences import Piece
from memory.text.redactor import Redact
from memory.text.similarity import likeness, owners, same_owner

if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry

WRITER = "memory.passes.lookalikes"
MOST_LOOKED = 100  # entries that are held against others after one pass
NEAREST = 10  # entries that each is held against
MOST_OPEN = 50  # pairs of one ref that wait for a person: no more are looked for
MOST_AT_ONCE = 50
MOST_LISTED = 1000  # pairs in a file
GENERATIONS = 4
REFUSED = "Nothing was changed: not all of these pairs can be decided so."
GONE = "It is not offered any more: one of the two was changed, retired or forgotten, or its pair was decided."
BUSY = "Another pass is working on this ref. Try again when it has finished."
SHORT_LIVED = "The newer entry expires before the older one, so it cannot replace it."
TOO_MUCH = "One entry cannot carry all tags of both, or cannot be stored without its secrets."
OF_TWO = "These entries are about different owners."


class Alike(NamedTuple):
    """How alike two entries are, and whether that is said by their vectors instead of their words."""

    percent: int
    by_meaning: bool


class _Vectors:
    """The vectors of entries, as far as the tenant's embeddings endpoint has made them."""

    def __init__(self, tenant_id: UUID, entries: Iterable[CorpusEntry]) -> None:
        self._tenant_id, self._known = tenant_id, dict[int, Array]()
        self.read(entries)
        self._usual = adapter.vectors.usual_nearness(tenant_id) if self._known else 0.0

    def read(self, entries: Iterable[CorpusEntry]) -> None:
        unread = [each.position for each in entries if each.position not in self._known]
        self._known |= adapter.vectors.vectors_of(self._tenant_id, unread) if unread else {}

    def meaning_of(self, entry: CorpusEntry) -> bytes:
        return self._known[entry.position].tobytes() if entry.position in self._known else b""

    def nearness(self, one: CorpusEntry, other: CorpusEntry) -> float:
        """The cosine of the two on a scale from the usual one, 0, to 1; 0 also where one has no vector."""
        if one.position not in self._known or other.position not in self._known:
            return 0.0
        cosine = float(self._known[one.position] @ self._known[other.position])
        return (cosine - self._usual) / (1 - self._usual)


# Finding them: a bounded number of entries after each pass, from where the last one left off.


def find_pairs(work: Pass, *, clock: Clock) -> int:
    """Record the similar pairs of the ref that the pass covered, as far as there is room; returns how many are new."""
    scope = tenancy.memory_scope(tenancy.host_scope(work.run.tenant), work.memory_ref)
    assert scope is not None, "a pass is over a ref of its tenant"
    if addresses.is_working(scope.memory_ref):
        return 0
    room = MOST_OPEN - _open(scope.tenant, now=clock()).filter(older__memory_ref=scope.memory_ref).count()
    if room <= 0:
        return 0
    position = consolidation_state.compared(scope.tenant_id, scope.memory_ref)
    fresh = next(adapter.passes.corpus_since(scope, position, now=clock(), chunk=MOST_LOOKED), [])
    space = ledger.vectors.vector_space(scope.tenant_id)
    if space is not None and not space.reason:  # those without a vector yet are compared after the next pass
        fresh = [each for each in fresh if each.position <= space.position]
    keyed, vectors = adapter.openintent.entries_with_key(scope), _Vectors(scope.tenant_id, fresh)
    found: dict[tuple[UUID, UUID], Alike] = {}
    for entry in fresh:
        found |= _pairs_of(scope, entry, keyed, vectors, now=clock()) if _is_free(entry, keyed) else {}
    best = sorted(found, key=lambda pair: found[pair])[-room:]  # the most alike comes last, and so first on the page
    position = fresh[-1].position if fresh else position
    return _store_pairs(scope, {pair: found[pair] for pair in best}, position, now=clock())


def _is_free(entry: CorpusEntry, keyed: Collection[UUID]) -> bool:
    """Whether consolidation may take the entry away."""
    return entry.derived in TAKEN and not entry.protected and entry.id not in keyed


def _pairs_of(
    scope: MemoryScope, entry: CorpusEntry, keyed: Collection[UUID], vectors: _Vectors, *, now: datetime
) -> dict[tuple[UUID, UUID], Alike]:
    """The entries that are like this one, each as a pair of the older and the newer."""
    meaning = vectors.meaning_of(entry)
    others = adapter.passes.corpus_about(scope, entry.content, meaning=meaning, limit=NEAREST + 1, now=now)
    vectors.read(others if meaning else ())
    found = {}
    for other in others:
        apart = other.id == entry.id or other.agent_id != entry.agent_id or not _is_free(other, keyed)
        if apart or not _have_one_owner((entry, other)):
            continue
        words = likeness(entry.content, other.content)
        nearness = 0.0 if words else vectors.nearness(entry, other)
        share = words if nearness <= 0 else likeness(entry.content, other.content, nearness=nearness)
        if share:
            older, newer = sorted((entry, other), key=_moment)
            found[older.id, newer.id] = Alike(round(100 * share), by_meaning=not words)
    return found


def _have_one_owner(entries: Iterable[CorpusEntry]) -> bool:
    said = [owners((*each.tags, f"subject:{each.subject}")) for each in entries]
    return all(same_owner(one, other) for one, other in combinations(said, 2))


def _moment(entry: "CorpusEntry | MemoryEntry") -> tuple[datetime, UUID]:
    return entry.created_at, entry.id


@transaction.atomic
def _store_pairs(scope: MemoryScope, found: dict[tuple[UUID, UUID], Alike], position: int, *, now: datetime) -> int:
    """Record the pairs whose entries still exist. A pair that a person decided to keep stays decided, whatever was
    merged into its entries since."""
    both = {each for pair in found for each in pair}
    there = set(ledger.head.lock_entries(scope.tenant_id, entries=sorted(both)))
    offered = LookAlike.objects.of(scope.tenant_id).filter(older_id__in=both, newer_id__in=both)
    before, known = set(offered.values_list("older_id", "newer_id")), _earlier_decisions(scope.tenant_id, found)
    rows = [
        LookAlike(
            tenant_id=scope.tenant_id,
            older_id=pair[0],
            newer_id=pair[1],
            percent=alike.percent,
            by_meaning=alike.by_meaning,
            found_at=now,
            **_decided(*known[pair]) if pair in known else {},
        )
        for pair, alike in found.items()
        if there.issuperset(pair) and pair not in before
    ]
    LookAlike.objects.written_by(WRITER).bulk_create(rows, ignore_conflicts=True)
    consolidation_state.set_compared(scope.tenant_id, scope.memory_ref, position)
    return len(rows)


def _decided(by: str, at: datetime | None) -> dict[str, object]:
    return {"decision": Verb.KEEP, "decided_by": by, "decided_at": at}


def _earlier_decisions(
    tenant_id: UUID, pairs: Collection[tuple[UUID, UUID]]
) -> dict[tuple[UUID, UUID], tuple[str, datetime | None]]:
    """The pairs of which a person kept both, or both of what went into them: by whom, and when."""
    into = {each: {each} for pair in pairs for each in pair}
    last = dict(into)
    for _ in range(GENERATIONS):
        parents = provenance.sources_of(tenant_id, {each for found in last.values() for each in found})
        last = {
            entry: {row.source_id for each in found for row in parents.get(each, ()) if row.kind == LineageKind.MERGED}
            for entry, found in last.items()
        }
        if not any(last.values()):
            break
        into = {entry: found | last[entry] for entry, found in into.items()}
    every = {each for found in into.values() for each in found}
    rows = LookAlike.objects.of(tenant_id).filter(decision=Verb.KEEP, older_id__in=every, newer_id__in=every)
    kept = {frozenset((row.older_id, row.newer_id)): (row.decided_by, row.decided_at) for row in rows}
    if not kept:
        return {}
    return {
        (older, newer): kept[both]
        for older, newer in pairs
        for one in into[older]
        for other in into[newer]
        if (both := frozenset((one, other))) in kept
    }


@dataclass(frozen=True, slots=True)
class Similar:
    """Another entry of the ref that shares ``percent`` of its words with the one that was asked about."""

    entry: CorpusEntry
    percent: int


def find_similar(scope: TenantScope, entry: "MemoryEntry", *, now: datetime) -> list[Similar]:
    """Entries similar to this one, by any writer, most similar first: among those that rank best in a search for its
    text."""
    place = tenancy.memory_scope(scope, entry.memory_ref)
    if place is None or entry.sealed:
        return []
    others = [
        each
        for each in adapter.passes.corpus_about(place, entry.content, limit=NEAREST + 1, now=now)
        if each.id != entry.id
    ]
    found = [Similar(each, round(100 * likeness(entry.content, each.content))) for each in others]
    return sorted((each for each in found if each.percent), key=lambda each: -each.percent)


# The pairs that wait, as a person reads them.


@dataclass(frozen=True, slots=True)
class Pair:
    """Two entries as they stand now. ``sha256`` is of what they say: a decision is about nothing else."""

    row: LookAlike
    older: "MemoryEntry"
    newer: "MemoryEntry"

    @property
    def id(self) -> str:
        return ids.wire("dup", self.row.id)

    @property
    def sha256(self) -> str:
        return _digest(self.older.content, self.newer.content)

    @property
    def stays(self) -> "MemoryEntry":
        """The one whose text stays when they are merged."""
        return max((self.older, self.newer), key=_fullness)

    @property
    def pieces(self) -> tuple[list[Piece], list[Piece]]:
        """Both texts, with the words marked that the other does not have."""
        return differences.words_apart(self.older.content, self.newer.content)


def _digest(older: str, newer: str) -> str:
    return hashlib.sha256(f"{len(older)} {older}{newer}".encode()).hexdigest()


def _fullness(entry: "CorpusEntry | MemoryEntry") -> tuple[int, datetime, UUID]:
    return len(entry.content.split()), *_moment(entry)


def _open(scope: TenantScope, *, now: datetime) -> QuerySet[LookAlike]:
    rows = LookAlike.objects.of(scope.tenant_id).filter(decision="")
    return adapter.console.rows_naming_live_entries(rows, scope, "older_id", "newer_id", now=now)


def open_pairs(scope: TenantScope, *, now: datetime) -> QuerySet[LookAlike]:
    """The pairs waiting for a decision."""
    scope.check("passes:run")
    return _open(scope, now=now)


def count(scope: TenantScope, *, entry_id: UUID, now: datetime) -> int:
    """How many pairs with that entry wait."""
    return _with_entry(_open(scope, now=now), entry_id).count()


def _with_entry(rows: QuerySet[LookAlike], entry_id: UUID | None) -> QuerySet[LookAlike]:
    return rows.filter(Q(older_id=entry_id) | Q(newer_id=entry_id)) if entry_id else rows


def page(
    scope: TenantScope, *, memory_ref: str = "", entry_id: UUID | None = None, after: UUID | None, size: int,
    now: datetime,
) -> Page[Pair]:  # fmt: skip
    """The open pairs after that one, the most alike first, and of those the newest; of one ref, or with one entry, when
    given. After a pair that is gone the list begins anew."""
    rows = _with_entry(_open(scope, now=now), entry_id)
    rows = rows.filter(older__memory_ref=memory_ref) if memory_ref else rows
    last = LookAlike.objects.of(scope.tenant_id).filter(id=after).first() if after else None
    later = rows.filter(sql.behind("percent", last.percent, last.id)) if last else rows
    shown, end = cut(list(later.order_by("-percent", "-id")[: size + 1]), size)
    wanted = [each for row in shown for each in (row.older_id, row.newer_id)]
    texts = adapter.console.entries_with_writers(scope, wanted, now=now)
    pairs = [
        Pair(row, texts[row.older_id], texts[row.newer_id])
        for row in shown
        if row.older_id in texts and row.newer_id in texts
    ]
    return Page(pairs, rows.count(), end.id if end else None)


# Deciding about them: all that were chosen or none.


@dataclass(frozen=True, slots=True)
class Choice:
    """A pair as it was read: its id, and the digest of what its entries said."""

    id: UUID
    sha256: str


@dataclass(frozen=True, slots=True)
class _Held:
    """A chosen pair whose entries are locked until the commit."""

    row: LookAlike
    older: CorpusEntry
    newer: CorpusEntry


@transaction.atomic
def decide(scope: TenantScope, verb: str, chosen: Sequence[Choice], *, now: datetime) -> list[Pass]:
    """Record the decision on the pairs, audited, and return the passes that merged or replaced, one a ref.

    Raises ``Conflict`` with ``problems`` when one of them is not as it was read, or cannot be decided so.
    """
    scope.check("passes:run")
    if verb not in Verb.values:
        error = {"field": "decision", "message": f"must be one of {', '.join(Verb.values)}"}
        raise Invalid("That is not a valid decision.", errors=[error])
    if not 0 < len(chosen) <= MOST_AT_ONCE:
        raise Invalid(
            "That is not a valid decision.", errors=[{"field": "pairs", "message": f"must be 1 to {MOST_AT_ONCE}"}]
        )
    refs = _refs(scope, chosen, now)
    works = {} if verb == Verb.KEEP else {ref: _begin(scope, ref, now) for ref in sorted(set(refs.values()))}
    held = _hold(scope, chosen, refs, now)
    for memory_ref, work in works.items():
        _carry_out(scope, work, verb, [each for row, each in held.items() if refs[row] == memory_ref], now)
    by = {"decision": verb, "decided_by": scope.principal.id, "decided_at": now}
    LookAlike.objects.written_by(WRITER).filter(tenant_id=scope.tenant_id, id__in=list(held)).update(**by)
    for row in sorted(held):
        target = ids.wire("dup", row)
        action, details = "memory.look-alike-decided", {"decision": str(verb)}
        audit.append(scope.tenant_id, actor=scope.principal.id, action=action, target=target, details=details, now=now)
    return list(works.values())


def _refuse(problems: dict[UUID, str]) -> None:
    if problems:
        details = [{"id": ids.wire("dup", row), "message": message} for row, message in sorted(problems.items())]
        raise Conflict(REFUSED, problems=details)


def _refs(scope: TenantScope, chosen: Sequence[Choice], now: datetime) -> dict[UUID, str]:
    """The ref of each of the pairs, all of which wait; what is not there and what is another tenant's are alike."""
    rows = _open(scope, now=now).filter(id__in=[each.id for each in chosen])
    refs = dict(rows.values_list("id", "older__memory_ref"))
    _refuse({each.id: GONE for each in chosen if each.id not in refs})
    return refs


def _begin(scope: TenantScope, memory_ref: str, now: datetime) -> Pass:
    """A pass of this person over the ref, under way; no other is, or ``Conflict``."""
    order = PassOrder(consolidation.KIND, f"{passes.DECIDED}{ids.new_id().hex}", scope.principal.id, memory_ref)
    row = passes.request(scope.tenant_id, order, now=now)
    work = passes.claim(scope.tenant_id, row.id, holder=scope.principal.id, now=now)
    if work is None:
        raise Conflict(BUSY)
    return work


def _hold(scope: TenantScope, chosen: Sequence[Choice], refs: dict[UUID, str], now: datetime) -> dict[UUID, _Held]:
    """The current pairs, locked after their entries; refused when one has changed since it was read."""
    rows = LookAlike.objects.of(scope.tenant_id).filter(id__in=list(refs))
    wanted = {each for pair in rows.values_list("older_id", "newer_id") for each in pair}
    ledger.head.lock_entries(scope.tenant_id, entries=sorted(wanted))
    entries: dict[UUID, CorpusEntry] = {}
    for memory_ref in set(refs.values()):
        place = tenancy.memory_scope(scope, memory_ref)
        assert place is not None, "the pairs are of refs that the principal may see"
        keyed = adapter.openintent.entries_with_key(place)
        found = adapter.passes.corpus_entries(place, sorted(wanted), now=now)
        entries |= {each.id: each for each in found if _is_free(each, keyed)}
    held = {
        row.id: _Held(row, entries[row.older_id], entries[row.newer_id])
        for row in rows.filter(decision="").order_by("id").select_for_update()
        if row.older_id in entries and row.newer_id in entries
    }
    read = {each.id: each.sha256 for each in chosen}
    is_as_read = {row: _digest(each.older.content, each.newer.content) == read[row] for row, each in held.items()}
    _refuse({row: GONE for row in refs if not is_as_read.get(row)})
    return held


def _carry_out(scope: TenantScope, work: Pass, verb: str, held: list[_Held], now: datetime) -> None:
    """The pass does what a consolidation does when its rules have decided so."""
    place = tenancy.memory_scope(tenancy.host_scope(work.run.tenant), work.memory_ref)
    assert place is not None, "a pass is over a ref of its tenant"
    ledger.entries.require_writable(place, work.run)
    ledger.entries.require_durable("agents.memoryConsolidation")
    redact = redaction.for_derived(work.tenant_id)
    changes = _merges(held, redact) if verb == Verb.MERGE else _replacements(held)
    taken = [entry for change in changes for entry in change.sources]
    count, tokens = adapter.passes.count_live(place, now=now)
    strengths = adapter.statistics.source_strengths(
        place.tenant, [entry for each in held for entry in (each.older.id, each.newer.id)]
    )
    writer = ChangeWriter(work, place, redact, strengths, Totals())
    writer.write(changes, lambda: now)
    if writer.done.merged + writer.done.superseded != len(taken):
        _refuse({each.row.id: GONE for each in held})
    outcome = consolidation.figures(count, tokens, writer.done)
    outcome["reasons"] = {ids.wire("mem", entry.id): "decided by a person" for entry in taken}
    counts = outcome["inputCount"], outcome["outputCount"]
    fact = MemoryConsolidated(work.memory_ref, *counts, consolidation.merged_ids(work), work.trigger)
    event_log.append(work.tenant_id, work.run_id, fact, now=now)
    passes.finish(work, outcome=outcome, now=now)


def _merges(held: list[_Held], redact: Redact) -> list[Change]:
    """Entries that hang together by the pairs become the one that says most."""
    groups: list[list[_Held]] = []
    for each in held:
        own = {each.older.id, each.newer.id}
        touching = [group for group in groups if any(own & {other.older.id, other.newer.id} for other in group)]
        groups = [group for group in groups if group not in touching]
        groups.append([each, *(other for group in touching for other in group)])
    changes: list[Change] = []
    problems: dict[UUID, str] = {}
    for group in groups:
        entries = {entry.id: entry for each in group for entry in (each.older, each.newer)}
        target = max(entries.values(), key=_fullness)
        sources = tuple(sorted((entry for entry in entries.values() if entry is not target), key=_moment))
        change = consolidation.merge(target, sources, redact)
        if not _have_one_owner(entries.values()):
            problems |= {each.row.id: OF_TWO for each in group}
        elif not consolidation.has_room(target, sources) or (change.lacking and not consolidation.fits(change, redact)):
            problems |= {each.row.id: TOO_MUCH for each in group}
        changes.append(change)
    _refuse(problems)
    return changes


def _replacements(held: list[_Held]) -> list[Change]:
    """Each older entry goes into the newest of those that replace it."""
    _refuse(
        {
            each.row.id: SHORT_LIVED
            for each in held
            if not consolidation.outlives(each.newer.expires_at, each.older.expires_at)
        }
    )
    newest: dict[UUID, _Held] = {}
    for each in sorted(held, key=lambda each: _moment(each.newer)):
        newest[each.older.id] = each
    changes: dict[UUID, Change] = {}
    for each in newest.values():
        before = changes[each.newer.id].sources if each.newer.id in changes else ()
        changes[each.newer.id] = Change(each.newer, (*before, each.older), LineageKind.SUPERSEDED, "decided")
    return list(changes.values())
