"""Search: the entries of a tenant that a query is about, the best first or the newest first.

By relevance any word of the query counts, by its stem in the language of the query: the rarer it is in the tenant and
the shorter the entry, the more. Newest first, every word must begin a word of the entry. Both read the index that the
ledger keeps (``ledger.index``) and, directly, the few entries that are not indexed yet. Where the query brings the
vector of its meaning, the order by words (BM25) and that of the nearest vectors are made one (``_fused``).

A search costs the same in a ledger of any size. By relevance it reads about ``POSTINGS`` places of words, those of the
rarest first; of the words that are left it looks only whether the best ``RANKED_AGAIN`` have them. Newest first it
looks at no more than ``LOOKED`` entries, and says where it stopped.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from memory.adapter import vectors
from memory.host import sql
from memory.host.tenancy import TenantScope
from memory.models.entry import EntryQuerySet, MemoryEntry
from memory.models.search_index import BLOCK, IN_BLOCK, MARK, MOST_TIMES, MOST_WORDS, OFFSET, POSTING, TIMES
from memory.text.search_words import Sought, every_word_of, language_of, stems_of, without_stop_words

# By relevance.
POSTINGS = 40_000
RANKED_AGAIN = 100
FEW_FORMS = 64
NARROW = 10_000
SATURATION, BY_LENGTH = 0.9, 0.4
BEFORE, BEHIND = 0.3, 0.2
# By meaning: how many entries are merged, and the constant that flattens the weight of the first ranks (decision 210).
NEAREST, EVEN = 100, 5
# Newest first.
LOOKED = 50_000
MANY_FORMS = 512
FIRST_BLOCKS, MOST_BLOCKS = 2, 32

CHUNK = 1_000
UNINDEXED_LOOKED = 1_024
LAST = chr(0x10FFFF)

WORDS = "SELECT word, number, entries FROM memory_searchword WHERE ledger = %s AND "
BEGINNING = "SELECT number, entries FROM memory_searchword WHERE ledger = %s AND word >= %s AND word < %s LIMIT %s"
STEMS = (
    "SELECT s.stem, s.languages, w.number, w.entries FROM memory_searchstem s JOIN memory_searchword w "
    "ON w.number = s.word WHERE s.ledger = %s AND "
)
READ = "SELECT block, postings FROM memory_searchblock WHERE "
BLOCKS = "SELECT DISTINCT block FROM memory_searchblock WHERE {} AND block <= %s ORDER BY block DESC LIMIT %s"
UNINDEXED = (
    "SELECT position, search_text FROM memory_memoryentry WHERE tenant_id = %s AND position >= %s AND position < %s "
    "ORDER BY position DESC LIMIT %s"
)
TEXTS = "SELECT position, search_text FROM memory_memoryentry WHERE tenant_id = %s AND "

Rows = QuerySet[MemoryEntry]
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class _Index:
    """The state of a tenant's index; ``number`` is 0 before its first entry."""

    number: int = 0
    mark: int = -1
    entries: int = 0
    words: int = 0

    @classmethod
    def load(cls, tenant_id: UUID) -> "_Index":
        found = sql.rows(MARK, [sql.key(tenant_id)])
        return cls(*found[0]) if found else cls()


# By relevance.


class Ranked(NamedTuple):
    """Positions with their scores, best first; ``is_all`` unless matches of a common word alone are left out."""

    positions: list[int]
    is_all: bool
    scores: Array


@dataclass(frozen=True, slots=True)
class Best:
    """A page of the best matches. There are ``count``, or more when it is not exact."""

    positions: list[int]
    count: int
    is_exact: bool
    is_end: bool


class Chosen(NamedTuple):
    """The entries to search: the existing ones among some positions, or the first few of all of them. With
    ``in_context`` they come from one conversation: the entries directly before and after a match add to its score."""

    among: Callable[[list[int]], Collection[int]]
    every: Callable[[int], list[int]]
    in_context: bool = False


def best_matches(
    scope: TenantScope, rows: Rows | None, wanted: Sought, *, after: int | None = None, seen: int = 0, limit: int
) -> Best:
    """The ``limit`` best of ``rows`` after the position ``after``, or after the first ``seen`` where that entry is
    gone. None means all rows of the tenant."""
    scope.check("memory:read")
    chosen = None
    if rows is not None:
        positions = rows.order_by().values_list("position", flat=True)
        chosen = Chosen(lambda found: _among(rows, found), lambda most: list(positions[:most]))
    return best_readable(scope.tenant_id, chosen, wanted, after=after, seen=seen, limit=limit)


def best_readable(
    tenant_id: UUID, chosen: Chosen | None, wanted: Sought, *, after: int | None = None, seen: int = 0, limit: int
) -> Best:
    """``best_matches`` of entries that the caller may read.

    Where many come into question, the best of the tenant are looked through first; if that does not do, few chosen
    ones are ranked by themselves, and so they are where the nearest ones of all might be others.
    """
    by_itself = chosen and (chosen.in_context or wanted.meaning)
    if chosen and by_itself and len(narrow := chosen.every(NARROW + 1)) <= NARROW:
        ranked, is_all, _ = rank(tenant_id, wanted, among=narrow, in_context=chosen.in_context)
        start = _place_behind(ranked, after, seen)
        return Best(ranked[start : start + limit], len(ranked), is_all, start + limit >= len(ranked))
    ranked, is_all, _ = rank(tenant_id, wanted)
    if chosen and len(ranked) > CHUNK:
        start = _place_behind(ranked, after, seen)
        found = _first_of(chosen, ranked[start : start + NARROW], limit)
        if not found.is_end:
            return found
        narrow = chosen.every(NARROW + 1)
        if len(narrow) > NARROW:
            return _first_of(chosen, ranked[start:], limit)
        ranked, is_all, _ = rank(tenant_id, wanted, among=narrow)
    elif chosen:
        there = set(chosen.among(ranked))
        ranked = [position for position in ranked if position in there]
    start = _place_behind(ranked, after, seen)
    return Best(ranked[start : start + limit], len(ranked), is_all, start + limit >= len(ranked))


def ranked_slice(
    tenant_id: UUID, chosen: Chosen, wanted: Sought, *, first: int, last: int
) -> tuple[dict[int, float], int]:
    """The positions from rank ``first`` to before ``last`` in the order of ``rank``, each with its score, and how many
    there are.

    Order and number are the same whichever slice is requested. Above ``NARROW`` entries the count only goes far enough
    to show whether anything follows ``last``.
    """
    ranked, most = rank(tenant_id, wanted), max(last, NARROW)
    if len(ranked.positions) > CHUNK or wanted.meaning:
        narrow = chosen.every(NARROW + 1)
        if len(narrow) > NARROW:
            most = last
        else:
            ranked = rank(tenant_id, wanted, among=narrow)
            if not wanted.phrases:
                return _scored(ranked, ranked.positions[first:last]), len(ranked.positions)
    found = _first_of(chosen, ranked.positions, most)
    return _scored(ranked, found.positions[first:last]), found.count


def _scored(ranked: Ranked, positions: list[int]) -> dict[int, float]:
    """These ranked positions, in their order, each with its score."""
    place = {position: place for place, position in enumerate(ranked.positions)}
    return {position: float(ranked.scores[place[position]]) for position in positions}


def rank(tenant_id: UUID, wanted: Sought, *, among: Sequence[int] | None = None, in_context: bool = False) -> Ranked:
    """Every entry of the tenant that has a word of the query, or every such entry ``among`` some positions; with
    ``in_context`` their neighbours as well. With the query's vector, also the ``NEAREST`` to it."""
    ranked = _rank_by_words(tenant_id, wanted, among=among, in_context=in_context)
    if not wanted.meaning:
        return ranked
    meaning = np.frombuffer(wanted.meaning, np.float32)
    near = vectors.nearest(tenant_id, meaning, most=NEAREST, among=among)
    positions, scores = _fused(ranked.positions, near)
    return Ranked(positions, ranked.is_all, scores)


def _fused(*orders: list[int]) -> tuple[list[int], Array]:
    """One order from several (reciprocal rank fusion): each adds ``1 / (EVEN + place)`` to an entry's score."""
    positions = np.concatenate([np.array(order, np.int64) for order in orders])
    points = np.concatenate([1 / (EVEN + 1 + np.arange(len(order))) for order in orders])
    found, which = np.unique(positions, return_inverse=True)
    sums = np.bincount(which, points, found.size)
    order = np.lexsort((-found, -sums))
    return found[order].tolist(), sums[order]


def _rank_by_words(tenant_id: UUID, wanted: Sought, *, among: Sequence[int] | None, in_context: bool) -> Ranked:
    index, languages = _Index.load(tenant_id), language_of(wanted.asked)
    tail = _Tail.load(tenant_id, index.mark)
    terms = _terms(index, tail, without_stop_words(wanted.asked, languages), languages)
    entries, words = index.entries + len(tail.lengths), index.words + tail.length
    mean = max(words / max(entries, 1), 1)
    given = None if among is None else np.array(sorted(among), np.int64)
    share = 1.0 if given is None else min(1.0, _blocks(given).size / ((index.mark >> BLOCK) + 1 or 1))
    scores, left, budget, is_all = _Scores(), [], POSTINGS, tail.is_all
    for term in terms:
        idf = log(1 + (entries - term.entries + 0.5) / (term.entries + 0.5))
        places, cost = tail.places_of(term.in_tail), int(term.indexed * share)
        if cost <= budget or not scores.parts:
            blocks = None if given is None else _blocks(given)
            floor = (index.mark >> BLOCK) * (1 - budget / cost) if cost > budget else 0
            is_all = is_all and cost <= budget
            indexed = _places(list(term.numbers), blocks, floor)
            places = indexed if len(term.numbers) == 1 and not places.positions.size else _joined(places, indexed)
            budget -= cost
        else:
            left.append((idf, term))
        scores.add(places if given is None else places.among(given), idf, mean)
    if not scores.parts:
        return Ranked([], is_all, np.zeros(0))
    found, points = scores.sums()
    top = np.argsort(-points, kind="stable")[:RANKED_AGAIN]
    for idf, term in left:
        again = _joined(_places(list(term.numbers), _blocks(found[top])).among(found[top]))
        np.add.at(points, found.size - 1 - np.searchsorted(found[::-1], again.positions), again.points(idf, mean))
    if in_context and given is not None:
        found, points = _in_context(given, found, points)
    order = np.argsort(-points, kind="stable")
    return Ranked(found[order].tolist(), is_all and not left, points[order])


def _in_context(given: Array, found: Array, points: Array) -> tuple[Array, Array]:
    """The scores with a share of the neighbours': an answer comes after its question."""
    own = np.zeros(given.size)
    own[np.searchsorted(given, found)] = points
    shared = own.copy()
    shared[1:] += BEFORE * own[:-1]
    shared[:-1] += BEHIND * own[1:]
    kept = np.flatnonzero(shared)[::-1]
    return given[kept], shared[kept]


@dataclass(slots=True)
class _Term:
    """One word of the query: its forms in the index, with how many entries each has, and in the tail."""

    numbers: dict[int, int]
    in_tail: frozenset[str]
    tail_entries: int = 0

    @property
    def indexed(self) -> int:
        return sum(self.numbers.values())

    @property
    def entries(self) -> int:
        return self.indexed + self.tail_entries


@dataclass(frozen=True, slots=True)
class _Tail:
    """The newest of the entries that are not indexed yet: for each word where it is and how often, and how many words
    each entry has."""

    words: dict[str, dict[int, int]]
    lengths: dict[int, int]
    is_all: bool  # no other entry is without its words in the index

    @classmethod
    def load(cls, tenant_id: UUID, mark: int) -> "_Tail":
        found = sql.rows(UNINDEXED, [sql.key(tenant_id), mark + 1, 1 << 62, UNINDEXED_LOOKED + 1])
        is_all, found = len(found) <= UNINDEXED_LOOKED, found[:UNINDEXED_LOOKED]
        words: dict[str, dict[int, int]] = {}
        lengths: dict[int, int] = {}
        for position, text in found:
            counts = Counter(every_word_of(text))
            lengths[position] = counts.total()
            for word, times in counts.items():
                words.setdefault(word, {})[position] = times
        return cls(words, lengths, is_all)

    @property
    def length(self) -> int:
        return sum(self.lengths.values())

    def forms_of(self, word: str, languages: int, *, beginning: bool = False) -> frozenset[str]:
        stems = set(stems_of(word, languages))
        return frozenset(
            each
            for each in self.words
            if each[:2] == word[:2]
            and (
                each == word or (beginning and each.startswith(word)) or not stems.isdisjoint(stems_of(each, languages))
            )
        )

    def places_of(self, forms: frozenset[str]) -> "_Places":
        times: Counter[int] = Counter()
        for form in forms:
            times.update(self.words.get(form, {}))
        found = [
            (position, min(times[position], MOST_TIMES), min(length, MOST_WORDS))
            for position, length in self.lengths.items()
            if position in times
        ]
        return _Places(*np.array(found, np.int64).reshape(-1, 3).T)


@dataclass(frozen=True, slots=True)
class _Places:
    """The postings of a word: positions of entries, how often each has it, and how many words each has."""

    positions: Array
    times: Array
    lengths: Array

    def among(self, positions: Array) -> "_Places":
        kept = np.isin(self.positions, positions)
        return _Places(self.positions[kept], self.times[kept], self.lengths[kept])

    def points(self, idf: float, mean: float) -> Array:
        """What the word adds to the score of each of the entries (BM25)."""
        norm = SATURATION * (1 - BY_LENGTH + BY_LENGTH * self.lengths / mean)
        points: Array = idf * (SATURATION + 1) * self.times / (self.times + norm)
        return points


class _Scores:
    """The score of each entry, accumulated word by word."""

    def __init__(self) -> None:
        self.parts: list[tuple[Array, Array]] = []

    def add(self, places: _Places, idf: float, mean: float) -> None:
        self.parts.append((places.positions, places.points(idf, mean)))

    def sums(self) -> tuple[Array, Array]:
        """The positions, the newest first, and the sum of each."""
        positions, points = (np.concatenate(each) for each in zip(*self.parts, strict=True))
        found, which = np.unique(positions, return_inverse=True)
        return found[::-1], np.bincount(which, points, found.size)[::-1]


def _terms(index: _Index, tail: _Tail, words: Sequence[str], languages: int) -> list[_Term]:
    """The query's words that occur in the ledger, rarest first; a word without any form is replaced by those that begin
    with it. Words with the same forms count once."""
    found: dict[object, _Term] = {}
    for word, forms in _forms(index, words, languages).items():
        numbers, in_tail = forms, tail.forms_of(word, languages)
        if not numbers and not in_tail and len(word) > 1:
            numbers = dict(_beginning(index, word, FEW_FORMS)[:FEW_FORMS])
            in_tail = tail.forms_of(word, languages, beginning=True)
        if numbers or in_tail:
            term = _Term(numbers, in_tail)
            term.tail_entries = tail.places_of(in_tail).positions.size
            found[frozenset(numbers), in_tail] = term
    return sorted(found.values(), key=lambda term: term.entries)


def _forms(index: _Index, words: Sequence[str], languages: int) -> dict[str, dict[int, int]]:
    """The numbers of each word and of all words that share a stem with it, with how many entries have each."""
    found: dict[str, dict[int, int]] = {word: {} for word in words}
    condition, given = sql.among("word", list(words))
    for word, number, entries in sql.rows(WORDS + condition, [index.number, given]):
        found[word][number] = entries
    stems: dict[str, list[tuple[str, int]]] = {}
    for word in words:
        for stem, mask in stems_of(word, languages).items():
            stems.setdefault(stem, []).append((word, mask))
    condition, given = sql.among("s.stem", list(stems))
    for stem, mask, number, entries in sql.rows(STEMS + condition, [index.number, given]):
        for word, own in stems[stem]:
            if own & mask:
                found[word][number] = entries
    return found


def _beginning(index: _Index, word: str, most: int) -> list[tuple[int, int]]:
    """The words with this prefix, with how many entries have each; more than ``most`` are too many."""
    return [tuple(row) for row in sql.rows(BEGINNING, [index.number, word, word + LAST, most + 1])]


def _places(numbers: list[int], blocks: Array | None = None, floor: float = 0) -> _Places:
    """The postings of any of these words: all, of some blocks, or from the block ``floor`` up."""
    condition, given = sql.among("word", numbers)
    more, parameters = " AND block >= %s", [given, int(floor)]
    if blocks is not None:
        more, among = sql.among("block", blocks.tolist())
        more, parameters = f" AND {more}", [given, among]
    found = sql.rows(f"{READ}{condition}{more}", parameters) if numbers else []
    postings = np.frombuffer(b"".join(part for _, part in found), POSTING).astype(np.int64)
    bases = np.repeat([block << BLOCK for block, _ in found], [len(part) // 4 for _, part in found])
    positions = bases.astype(np.int64) + (postings >> OFFSET)
    return _Places(positions, postings >> TIMES & MOST_TIMES, postings & MOST_WORDS)


def _joined(*places: _Places) -> _Places:
    """Each position once: an entry with several forms has the word as often as all of them together."""
    some = [each for each in places if each.positions.size]
    if not some:
        return places[0]
    positions, times, lengths = (
        np.concatenate([getattr(each, name) for each in some]) for name in ("positions", "times", "lengths")
    )
    found, first, which = np.unique(positions, return_index=True, return_inverse=True)
    return _Places(found, np.bincount(which, times, found.size), lengths[first])


def _blocks(positions: Array) -> Array:
    return _different(positions >> BLOCK)


def _different(values: Array) -> Array:
    """The values, each once, sorted. numpy's ``unique`` builds a hash table, which takes twenty times as long."""
    found = np.sort(values)
    different: Array = found[np.flatnonzero(np.diff(found, prepend=-1))]
    return different


def _place_behind(positions: list[int], after: int | None, seen: int) -> int:
    return positions.index(after) + 1 if after in positions else seen if after is not None else 0


def _first_of(chosen: Chosen, ranked: list[int], limit: int) -> Best:
    """The first ``limit`` of the positions that are among the chosen ones."""
    kept: list[int] = []
    for chunk in sql.in_chunks(ranked, CHUNK):
        there = set(chosen.among(chunk))
        kept += [position for position in chunk if position in there]
        if len(kept) > limit:
            break
    return Best(kept[:limit], len(kept), False, len(kept) <= limit)


# Newest first.


class Found(NamedTuple):
    """Positions, newest first. With ``floor``, all from there up was scanned, and more remains below."""

    positions: list[int]
    floor: int | None


def newest_matches(scope: TenantScope, rows: Rows | None, wanted: Sought, *, below: int | None, limit: int) -> Found:
    """The first ``limit`` of ``rows`` below a position that have the words; None means all rows of the tenant."""
    scope.check("memory:read")
    tenant_id, top = scope.tenant_id, _top(scope.tenant_id, below)
    if top == 0 or not wanted.words:
        return Found([], None)
    index = _Index.load(tenant_id)
    positions, floor = _unindexed(tenant_id, rows, wanted, top, index.mark + 1)
    if len(positions) >= limit or floor > index.mark + 1:
        return _stopped(tenant_id, positions, limit, floor)
    looked = 0
    for candidates, floor in _candidates(tenant_id, index, wanted, min(top, index.mark + 1)):
        positions += _among(rows, candidates)
        looked += len(candidates)
        if len(positions) >= limit or looked >= LOOKED:
            return _stopped(tenant_id, positions, limit, floor)
    return Found(positions[:limit], None)


def _unindexed(tenant_id: UUID, rows: Rows | None, wanted: Sought, top: int, bottom: int) -> tuple[list[int], int]:
    """The matches among the entries from ``bottom`` up, and the position down to which they were scanned."""
    texts = sql.rows(UNINDEXED, [sql.key(tenant_id), bottom, top, UNINDEXED_LOOKED])
    floor = texts[-1][0] if len(texts) == UNINDEXED_LOOKED else bottom
    return _among(rows, [position for position, text in texts if wanted.is_in(text)]), floor


def _candidates(tenant_id: UUID, index: _Index, wanted: Sought, top: int) -> Iterator[tuple[list[int], int]]:
    """The positions below ``top`` that have the words, a few blocks at a time, and how far down was scanned. A word
    that too many words begin with is checked in the texts that the others leave."""
    terms = [_beginning(index, word, MANY_FORMS) for word in wanted.words]
    if not all(terms):
        return
    exact = sorted((each for each in terms if len(each) <= MANY_FORMS), key=lambda each: sum(size for _, size in each))
    numbers = [[number for number, _ in each] for each in exact]
    block, size = top >> BLOCK, FIRST_BLOCKS
    while block >= 0:
        blocks = _blocks_below(numbers[0] if numbers else None, block, size)
        size = min(4 * size, MOST_BLOCKS)
        if not blocks:
            return
        found = _together(numbers, np.array(blocks)) if numbers else _every(tenant_id, blocks)
        positions = found[found < top][::-1].tolist()
        if len(exact) < len(terms):
            positions = _having(tenant_id, wanted, positions)
        yield positions, blocks[-1] << BLOCK
        block = blocks[-1] - 1


def _blocks_below(numbers: list[int] | None, block: int, most: int) -> list[int]:
    """The next blocks that contain any of these words, or just the next, from the highest down."""
    if numbers is None:
        return [block]
    condition, given = sql.among("word", numbers)
    return [found for (found,) in sql.rows(BLOCKS.format(condition), [given, block, most])]


def _together(numbers: list[list[int]], blocks: Array) -> Array:
    """The positions in these blocks that occur in every one of the lists of words."""
    found = _different(_places(numbers[0], blocks).positions)
    for each in numbers[1:]:
        found = found[np.isin(found, _places(each, _blocks(found)).positions)]
    return found


def _every(tenant_id: UUID, blocks: list[int]) -> Array:
    inside = {"position__gte": blocks[-1] << BLOCK, "position__lte": blocks[0] << BLOCK | IN_BLOCK}
    rows = MemoryEntry.objects.of(tenant_id).filter(**inside).order_by("position")
    return np.array(list(rows.values_list("position", flat=True)), np.int64)


def _having(tenant_id: UUID, wanted: Sought, positions: list[int]) -> list[int]:
    """The positions whose text has the words, by reading the texts."""
    condition, given = sql.among("position", positions)
    texts = dict(sql.rows(TEXTS + condition, [sql.key(tenant_id), given]))
    return [position for position in positions if wanted.is_in(texts.get(position, ""))]


def count_matches(scope: TenantScope, rows: Rows | None, wanted: Sought, *, limit: int) -> tuple[int, bool]:
    """How many ``newest_matches`` would find, at most ``limit``, and whether it would scan everything."""
    found = newest_matches(scope, rows, wanted, below=None, limit=limit)
    return len(found.positions), found.floor is None


def position_of(scope: TenantScope, entry_id: UUID) -> int:
    """The position below which all older entries are; the entry itself may be gone."""
    rows = MemoryEntry.objects.of(scope.tenant_id).filter(id__lte=entry_id).order_by("-id")
    found = rows.values_list("id", "position").first()
    return 0 if found is None else int(found[1]) + (found[0] != entry_id)


def entry_id_at(scope: TenantScope, position: int) -> UUID | None:
    """The oldest entry at or above a position."""
    rows = MemoryEntry.objects.of(scope.tenant_id).filter(position__gte=position).order_by("position")
    found: UUID | None = rows.values_list("id", flat=True).first()
    return found


def _top(tenant_id: UUID, below: int | None) -> int:
    """The position just above the newest entry below a position; 0 without any."""
    rows = MemoryEntry.objects.of(tenant_id) if below is None else _below(tenant_id, below)
    newest: int | None = rows.order_by("-position").values_list("position", flat=True).first()
    return 0 if newest is None else newest + 1


def _below(tenant_id: UUID, position: int) -> EntryQuerySet:
    return MemoryEntry.objects.of(tenant_id).filter(position__lt=position)


def _stopped(tenant_id: UUID, positions: list[int], limit: int, floor: int) -> Found:
    is_all = len(positions) >= limit or not _top(tenant_id, floor)
    return Found(positions[:limit], None if is_all else floor)


def _among(rows: Rows | None, positions: list[int]) -> list[int]:
    """The positions that are among the rows, newest first; all of them without rows."""
    if rows is None or not positions:
        return positions
    condition, given = sql.among("memory_memoryentry.position", positions)
    having = RawSQL(f"({condition})", [given], output_field=BooleanField())  # noqa: S611
    return sorted(rows.filter(having).values_list("position", flat=True), reverse=True)
