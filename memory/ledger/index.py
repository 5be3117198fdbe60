"""The index of full text: which words occur in which entries, how often, and how many words each has, for BM25.

Each word of a tenant has a number, in a table with its number of entries and its stems. Its postings are blocks of
numbers (``models.search_index``), so only the table of words holds text. A word without entries is deleted there, with
its stems, in the transaction that removes its last entry; so are that entry's postings. The form is the same on both
engines, and tenants' words do not affect each other's ranking.

Entries are indexed in batches: those after the tenant's mark are searched directly.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple
from uuid import UUID

import numpy as np
import orjson
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from memory.host import sql
from memory.ledger import vectors
from memory.models.search_index import BLOCK, IN_BLOCK, MOST_TIMES, MOST_WORDS, OFFSET, POSTING, TIMES
from memory.text.search_words import every_word_of, stems_of

BATCH = 256
IN_BYTES = np.dtype(POSTING).itemsize
LONG = 8192
# Locks the tenant's row until the commit, so that no entry is indexed twice, or while it is being removed.
LOCK = (
    "INSERT INTO memory_searchledger (tenant_id, position, entries, words) VALUES (%s, -1, 0, 0) "
    "ON CONFLICT (tenant_id) DO UPDATE SET position = memory_searchledger.position "
    "RETURNING number, position, EXISTS (SELECT 1 FROM memory_vectorspace v WHERE v.tenant_id = %s)"
)
MOVE_MARK = "UPDATE memory_searchledger SET position = %s, entries = entries + %s, words = words + %s WHERE number = %s"
UNINDEXED = (
    "SELECT position, search_text FROM memory_memoryentry WHERE tenant_id = %s AND position > %s "
    "ORDER BY position LIMIT %s"
)
POSITIONS = "SELECT position FROM memory_memoryentry WHERE tenant_id = %s AND {} ORDER BY id"
BEHIND = (
    "SELECT h.tenant_id FROM memory_ledgerhead h LEFT JOIN memory_searchledger s ON s.tenant_id = h.tenant_id "
    "WHERE EXISTS (SELECT 1 FROM memory_memoryentry e WHERE e.tenant_id = h.tenant_id "
    "AND e.position > COALESCE(s.position, -1))"
)
COUNT_UP = (
    "INSERT INTO memory_searchword (ledger, word, entries) {counts} "
    "ON CONFLICT (ledger, word) DO UPDATE SET entries = memory_searchword.entries + excluded.entries "
    "RETURNING number, word, entries"
)
COUNT_DOWN = "UPDATE memory_searchword SET entries = entries - %s WHERE number = %s"
DROP_WORDS = "DELETE FROM memory_searchword WHERE {}"
DROP_STEMS = "DELETE FROM memory_searchstem WHERE word IN (SELECT number FROM memory_searchword WHERE {})"
ADD_STEM = "INSERT INTO memory_searchstem (ledger, stem, word, languages) VALUES (%s, %s, %s, %s)"
NUMBERS = "SELECT word, number FROM memory_searchword WHERE ledger = %s"
APPEND = "INSERT INTO memory_searchblock (word, block, postings) {blocks} ON CONFLICT (word, block) DO UPDATE SET "
BLOCKS = "SELECT word, postings FROM memory_searchblock WHERE block = %s"
REPLACE = "UPDATE memory_searchblock SET postings = %s WHERE word = %s AND block = %s"
EMPTY = "DELETE FROM memory_searchblock WHERE word = %s AND block = %s"
Text = tuple[int, str]
Place = tuple[int, int]


class _Ledger(NamedTuple):
    number: int
    mark: int
    has_vectors: bool


def should_index(position: int, text: str) -> bool:
    """Whether the write at ``position`` indexes the backlog: once in ``BATCH`` writes, and at once after a
    long text."""
    return position % BATCH == 0 or len(text) > LONG


def index_after_bulk(tenant_id: UUID, position: int, size: int, *, longest: int = 0) -> None:
    """Index after a bulk write that ended at ``position``, so that at most a batch stays unindexed, for
    a short time."""
    if position // BATCH != (position - size) // BATCH or longest > LONG:
        catch_up(tenant_id, most=size + BATCH)


@transaction.atomic
def catch_up(tenant_id: UUID, *, most: int = 2 * BATCH) -> int:
    """Index the next ``most`` entries after the tenant's mark and move the mark to the last; returns how many.

    No entry can appear before the mark: positions are given under the lock under which entries commit.
    """
    with connection.cursor() as cursor:
        ledger = _lock(cursor, tenant_id)
        cursor.execute(UNINDEXED, [sql.key(tenant_id), ledger.mark, most])
        texts: list[Text] = cursor.fetchall()
        if texts:
            length = _put_in(cursor, ledger.number, texts)
            cursor.execute(MOVE_MARK, [texts[-1][0], len(texts), length, ledger.number])
    return len(texts)


def tenants_behind() -> list[UUID]:
    """The tenants with entries that are not indexed."""
    return [sql.as_uuid(tenant) for (tenant,) in sql.rows(BEHIND, [])]


def remove_from_index(tenant_id: UUID, texts: Iterable[Text]) -> None:
    """Entries, given as they were indexed, are in the index no more, nor is a word that only they had; nor have they
    vectors.

    The head of the ledger is locked before, where it is at all.
    """
    with connection.cursor() as cursor:
        ledger, texts = _lock(cursor, tenant_id), list(texts)
        if ledger.has_vectors:
            vectors.remove_vectors(tenant_id, [position for position, _ in texts])
        _take_out(cursor, ledger, texts)


def whole_blocks(tenant_id: UUID, entry_ids: Sequence[UUID]) -> int:
    """How many of ``entry_ids``, which are in order, to remove in one transaction that has no room for the last.

    Entries of one block share its postings, which a removal rewrites for each common word: where at least half of them
    end with a block, those do.
    """
    condition, keys = sql.among("id", [sql.key(row) for row in entry_ids])
    found = sql.rows(POSITIONS.format(condition), [sql.key(tenant_id), keys])
    blocks, room = [position >> BLOCK for (position,) in found], len(entry_ids) - 1
    if len(blocks) <= room:  # some are gone
        return room
    return next((end for end in range(room, room // 2, -1) if blocks[end - 1] != blocks[end]), room)


def replace_in_index(tenant_id: UUID, position: int, before: str, after: str) -> None:
    """Index the text ``after`` where ``before`` is indexed; the entry keeps its position and its vector.

    The head of the ledger is locked before.
    """
    with connection.cursor() as cursor:
        ledger = _lock(cursor, tenant_id)
        if position <= ledger.mark:
            _take_out(cursor, ledger, [(position, before)])
            length = _put_in(cursor, ledger.number, [(position, after)])
            cursor.execute(MOVE_MARK, [ledger.mark, 1, length, ledger.number])


def _take_out(cursor: CursorWrapper, ledger: _Ledger, texts: Iterable[Text]) -> None:
    words = {position: every_word_of(text) for position, text in texts if position <= ledger.mark}
    if not words:
        return
    length = sum(min(len(each), MOST_WORDS) for each in words.values())
    cursor.execute(MOVE_MARK, [ledger.mark, -len(words), -length, ledger.number])
    numbers = _numbers(cursor, ledger.number, {word for each in words.values() for word in each})
    blocks: dict[int, tuple[set[int], list[int]]] = defaultdict(lambda: (set(), []))
    counts: Counter[int] = Counter()
    for position, each in words.items():
        own = {numbers[word] for word in each if word in numbers}
        counts.update(own)
        those, offsets = blocks[position >> BLOCK]
        those |= own
        offsets.append(position & IN_BLOCK)
    for block, (those, offsets) in sorted(blocks.items()):
        _cut_out(cursor, block, those, offsets)
    cursor.executemany(COUNT_DOWN, [(count, number) for number, count in sorted(counts.items())])
    condition, given = sql.among("number", list(counts))
    for statement in (DROP_STEMS, DROP_WORDS):
        cursor.execute(statement.format(f"{condition} AND entries <= 0"), [given])


def _lock(cursor: CursorWrapper, tenant_id: UUID) -> _Ledger:
    """The tenant's number in the index, and the position up to which it is indexed; -1 before the first."""
    cursor.execute(LOCK, [sql.key(tenant_id), sql.key(tenant_id)])
    return _Ledger(*cursor.fetchone())


def _put_in(cursor: CursorWrapper, ledger: int, texts: Sequence[Text]) -> int:
    """How many words the texts have."""
    times = [Counter(every_word_of(text)) for _, text in texts]
    numbers = _count_up(cursor, ledger, Counter(chain.from_iterable(times)))
    lengths = [min(counts.total(), MOST_WORDS) for counts in times]
    _append(cursor, _postings_of([position for position, _ in texts], lengths, times, numbers))
    return sum(lengths)


def _postings_of(
    positions: Sequence[int], lengths: Sequence[int], times: Sequence[Mapping[str, int]], numbers: Mapping[str, int]
) -> dict[Place, bytes]:
    """The postings of entries in the order of their positions, by word and block."""
    each = [len(counts) for counts in times]
    places = np.array(positions, np.int64)
    entries = (places & IN_BLOCK) << OFFSET | np.array(lengths, np.int64)
    words = np.fromiter(map(numbers.__getitem__, chain.from_iterable(times)), np.int64, sum(each))
    counted = np.fromiter(chain.from_iterable(counts.values() for counts in times), np.int64, sum(each))
    blocks = np.repeat(places >> BLOCK, each)
    postings = np.repeat(entries, each) | np.minimum(counted, MOST_TIMES) << TIMES
    order = np.lexsort((blocks, words))  # which keeps the order of equals
    words, blocks, postings = words[order], blocks[order], postings[order].astype(POSTING)
    bounds = np.flatnonzero((np.diff(words, prepend=-1) != 0) | (np.diff(blocks, prepend=-1) != 0))
    starts, found, size = (bounds * postings.itemsize).tolist(), postings.tobytes(), postings.nbytes
    there = zip(words[bounds].tolist(), blocks[bounds].tolist(), strict=True)
    return {place: found[start:end] for place, start, end in zip(there, starts, [*starts[1:], size], strict=False)}


def _count_up(cursor: CursorWrapper, ledger: int, counts: Mapping[str, int]) -> dict[str, int]:
    """The numbers of the words, which stand in so many more entries; a new one with its stems."""
    if sql.is_postgres():
        source = "SELECT %s::bigint, key, value::bigint FROM json_each_text(%s::json)"
    else:
        source = "SELECT %s, key, value FROM json_each(%s) WHERE true"
    given = orjson.dumps(dict(sorted(counts.items()))).decode()
    cursor.execute(COUNT_UP.format(counts=source), [ledger, given])
    found = cursor.fetchall()
    stems = [
        (ledger, stem, number, languages)
        for number, word, entries in found
        if entries == counts[word]
        for stem, languages in stems_of(word).items()
    ]
    cursor.executemany(ADD_STEM, stems)
    return {word: number for number, word, _ in found}


def _append(cursor: CursorWrapper, postings: Mapping[Place, bytes]) -> None:
    if not postings:  # no text has a word
        return
    if sql.is_postgres():
        words, blocks = [list(each) for each in zip(*postings, strict=True)]
        source = "SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::bytea[])"
        statement = f"{APPEND.format(blocks=source)} postings = memory_searchblock.postings || excluded.postings"
        cursor.execute(statement, [words, blocks, list(postings.values())])
    else:  # whose || makes a text of two blobs, with the same bytes
        joined = "CAST(memory_searchblock.postings || excluded.postings AS BLOB)"
        statement = f"{APPEND.format(blocks='VALUES (%s, %s, %s)')} postings = {joined}"
        cursor.executemany(statement, [(*place, found) for place, found in postings.items()])


def _cut_out(cursor: CursorWrapper, block: int, words: Collection[int], offsets: Sequence[int]) -> None:
    """No entry at these offsets of a block is in it any more; ``words`` are all that they have."""
    condition, given = sql.among("word", list(words))
    cursor.execute(f"{BLOCKS} AND {condition}", [block, given])
    stays = np.ones(1 << BLOCK, bool)
    stays[offsets] = False
    gone, empty, kept = set(offsets), [], []
    for number, postings in cursor.fetchall():
        if len(postings) == IN_BYTES and int.from_bytes(postings, "little") >> OFFSET in gone:
            empty.append((number, block))  # a word of one entry, as most words are
            continue
        found = np.frombuffer(postings, POSTING)
        left = found[stays[found >> OFFSET]]
        if left.size:
            kept.append((left.tobytes(), number, block))
        else:
            empty.append((number, block))
    cursor.executemany(REPLACE, kept)
    cursor.executemany(EMPTY, empty)


def _numbers(cursor: CursorWrapper, ledger: int, words: Collection[str]) -> dict[str, int]:
    condition, given = sql.among("word", list(words))
    cursor.execute(f"{NUMBERS} AND {condition}", [ledger, given])
    return dict(cursor.fetchall())
