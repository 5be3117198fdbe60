"""The index of full text on SQLite: which words stand in which entries. PostgreSQL keeps an entry's words in its row.

FTS5 keeps what was deleted until it merges, so it never sees a word: each word of a tenant has a number in a table of
its own, and the index holds numbers. A word that no entry has any more is deleted there, for good, in the transaction
that removes its last entry. The index is contentless; the row of an entry is its tenant's number and its position.

Entries are indexed in batches, behind a mark: what a tenant wrote after its mark is searched directly.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from uuid import UUID

import orjson
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from memory.host import sql
from memory.models.search_index import MARK, SHIFT
from memory.text.words import stems_of, words_of

BATCH = 256
LONG = 8192
SET_MARK = (
    "INSERT INTO memory_searchledger (tenant_id, position) VALUES (%s, %s) "
    "ON CONFLICT (tenant_id) DO UPDATE SET position = excluded.position RETURNING number"
)
UNINDEXED = (
    "SELECT position, search_text FROM memory_memoryentry WHERE tenant_id = %s AND position > %s "
    "ORDER BY position LIMIT %s"
)
BEHIND = (
    "SELECT h.tenant_id FROM memory_ledgerhead h LEFT JOIN memory_searchledger s ON s.tenant_id = h.tenant_id "
    "WHERE EXISTS (SELECT 1 FROM memory_memoryentry e WHERE e.tenant_id = h.tenant_id "
    "AND e.position > COALESCE(s.position, -1))"
)
COUNT_UP = (
    "INSERT INTO memory_searchword (ledger, word, entries) VALUES (%s, %s, %s) "
    "ON CONFLICT (ledger, word) DO UPDATE SET entries = entries + excluded.entries"
)
COUNT_DOWN = "UPDATE memory_searchword SET entries = entries - %s WHERE number = %s"
DROP_WORDS = "DELETE FROM memory_searchword WHERE entries <= 0 AND number IN (SELECT value FROM json_each(%s))"
NUMBERS = (
    "SELECT j.value, w.number FROM json_each(%s) j CROSS JOIN memory_searchword w ON w.ledger = %s AND w.word = j.value"
)
PUT_IN = "INSERT INTO memory_search (rowid, words) VALUES (%s, %s)"
TAKE_OUT = "INSERT INTO memory_search (memory_search, rowid, words) VALUES ('delete', %s, %s)"
SET_WORDS = "UPDATE memory_memoryentry SET words = array_to_tsvector(%s::text[]) WHERE tenant_id = %s AND id = %s"
Text = tuple[int, str]


def is_due(position: int, text: str) -> bool:
    """Whether the write at ``position`` indexes what waits: once in ``BATCH``, and a long text at once."""
    return position % BATCH == 0 or len(text) > LONG


def after_bulk(tenant_id: UUID, position: int, size: int, *, longest: int = 0) -> None:
    """What a bulk write that ended at ``position`` has left behind the mark is no more than a batch, and not long."""
    if not sql.is_postgres() and (position // BATCH != (position - size) // BATCH or longest > LONG):
        catch_up(tenant_id, most=size + BATCH)


@transaction.atomic
def catch_up(tenant_id: UUID, *, most: int = 2 * BATCH) -> int:
    """The next ``most`` entries behind the tenant's mark are indexed, and the mark is at the last; how many they were.

    A mark stands behind all that is there: an entry is numbered under the lock under which it is committed.
    """
    with connection.cursor() as cursor:
        _, mark = _mark(cursor, tenant_id)
        cursor.execute(UNINDEXED, [sql.key(tenant_id), mark, most])
        texts: list[Text] = cursor.fetchall()
        if texts:
            cursor.execute(SET_MARK, [sql.key(tenant_id), texts[-1][0]])
            _put_in(cursor, int(cursor.fetchone()[0]), texts)
    return len(texts)


def put_in_again(tenant_id: UUID, entries: Sequence[tuple[UUID, Text]]) -> None:
    """Entries that were taken out are found by their new words, at their new positions, of which the last is the
    highest."""
    if sql.is_postgres():
        rows = [[words_of(text), sql.key(tenant_id), sql.key(entry_id)] for entry_id, (_, text) in entries]
        with connection.cursor() as cursor:
            cursor.executemany(SET_WORDS, rows)
    else:
        longest = max(len(text) for _, (_, text) in entries)
        after_bulk(tenant_id, entries[-1][1][0], len(entries), longest=longest)


def behind() -> list[UUID]:
    """The tenants that have entries which are not indexed; none on PostgreSQL."""
    return [] if sql.is_postgres() else [sql.as_uuid(tenant) for (tenant,) in sql.rows(BEHIND, [])]


def take_out(tenant_id: UUID, texts: Iterable[Text]) -> None:
    """Entries, given as they were indexed, are in the index no more, nor is a word that only they had."""
    if sql.is_postgres():
        return
    with connection.cursor() as cursor:
        number, mark = _mark(cursor, tenant_id)
        words = {position: words_of(text) for position, text in texts if position <= mark}
        if not words:
            return
        numbers = _numbers(cursor, number, stems_of(list({word for each in words.values() for word in each})))
        indexed = _indexed(words, numbers)
        cursor.executemany(TAKE_OUT, _rows(number, indexed))
        counts = Counter(chain.from_iterable(indexed.values()))
        cursor.executemany(COUNT_DOWN, [(count, int(own)) for own, count in counts.items()])
        cursor.execute(DROP_WORDS, [orjson.dumps(list(numbers.values())).decode()])


def _put_in(cursor: CursorWrapper, number: int, texts: Sequence[Text]) -> None:
    words = {position: words_of(text) for position, text in texts}
    counts = Counter(stem for each in words.values() for stem in stems_of(each))
    cursor.executemany(COUNT_UP, [(number, stem, count) for stem, count in sorted(counts.items())])
    cursor.executemany(PUT_IN, _rows(number, _indexed(words, _numbers(cursor, number, counts))))


def _mark(cursor: CursorWrapper, tenant_id: UUID) -> tuple[int, int]:
    """The tenant's number in the index, and the position up to which it is indexed; -1 before the first."""
    cursor.execute(MARK, [sql.key(tenant_id)])
    found = cursor.fetchone()
    return (found[0], found[1]) if found else (0, -1)


def _numbers(cursor: CursorWrapper, number: int, stems: Iterable[str]) -> dict[str, int]:
    cursor.execute(NUMBERS, [orjson.dumps(list(stems)).decode(), number])
    return dict(cursor.fetchall())


def _indexed(words: Mapping[int, Sequence[str]], numbers: Mapping[str, int]) -> dict[int, set[str]]:
    """What stands in the index for each entry. What a word comes to is looked up once: texts share most of theirs."""
    known = {word for each in words.values() for word in each}
    numbers_of = {word: [str(numbers[stem]) for stem in stems_of([word]) if stem in numbers] for word in known}
    return {position: set().union(*[numbers_of[word] for word in each]) for position, each in words.items()}


def _rows(number: int, indexed: Mapping[int, set[str]]) -> list[tuple[int, str]]:
    return [(number << SHIFT | position, " ".join(each)) for position, each in sorted(indexed.items())]
