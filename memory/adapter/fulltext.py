"""Full text: the entries of a tenant in which the words of a query begin words, newest first, one page at a time.

Newest is by position, the order in which the ledger was written. One call looks at no more than the newest ``LOOKED``
entries that come into question, and says where it stopped: the worst search costs the same in a ledger of any size. On
PostgreSQL those are entries; on SQLite, whose index knows the words, entries that have them.
"""

from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

import orjson
from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from memory.host import sql
from memory.host.tenancy import TenantScope
from memory.models.entry import EntryQuerySet, MemoryEntry
from memory.models.search_index import MARK, SHIFT
from memory.text.words import Sought

LOOKED = 50_000
FIRST, CHUNK = 200, 5_000
MOST_WORDS = 64
LAST = chr(0x10FFFF)

BEGINNING = "SELECT number FROM memory_searchword WHERE ledger = %s AND word >= %s AND word < %s LIMIT %s"
IS = "SELECT number FROM memory_searchword WHERE ledger = %s AND word = %s"
INDEXED = (
    "SELECT rowid - %s FROM memory_search WHERE memory_search MATCH %s AND rowid >= %s AND rowid < %s "
    "ORDER BY rowid DESC LIMIT %s"
)
COUNT_INDEXED = (
    "SELECT COUNT(*) FROM (SELECT 1 FROM memory_search WHERE memory_search MATCH %s AND rowid >= %s AND rowid < %s "
    "LIMIT %s)"
)
UNINDEXED = (
    "SELECT position, search_text FROM memory_memoryentry WHERE tenant_id = %s AND position >= %s AND position < %s "
    "AND instr(search_text, %s) > 0 ORDER BY position DESC"
)
TEXTS = (
    "SELECT e.position, e.search_text FROM json_each(%s) j CROSS JOIN memory_memoryentry e "
    "ON e.tenant_id = %s AND e.position = j.value"
)

Rows = QuerySet[MemoryEntry]


class Found(NamedTuple):
    """Positions, newest first. With ``floor`` all from there up was looked at, and there is more below."""

    positions: list[int]
    floor: int | None


def matching(scope: TenantScope, rows: Rows | None, wanted: Sought, *, below: int | None, limit: int) -> Found:
    """The first ``limit`` of ``rows`` below a position that have the words; None are all rows of the tenant."""
    scope.check("memory:read")
    top = _top(scope.tenant_id, below)
    if top == 0 or not wanted.words:
        return Found([], None)
    find = _in_lexemes if sql.is_postgres() else _in_index
    return find(scope.tenant_id, rows, wanted, top, limit)


def count_matching(scope: TenantScope, rows: Rows | None, wanted: Sought, *, limit: int) -> tuple[int, bool]:
    """How many ``matching`` would find from the newest down, at most ``limit``; and whether it would look at all."""
    scope.check("memory:read")
    top, tenant_id = _top(scope.tenant_id, None), scope.tenant_id
    if sql.is_postgres() and wanted.words:
        floor = max(top - LOOKED, 0)
        count = _with_lexemes(tenant_id, rows, wanted, top, floor)[:limit].count()
        return count, count >= limit or not _below(tenant_id, floor).exists()
    if rows is None and (counted := _count_in_index(tenant_id, wanted, top, limit)) is not None:
        return counted, True
    found = matching(scope, rows, wanted, below=None, limit=limit)
    return len(found.positions), found.floor is None


def _top(tenant_id: UUID, below: int | None) -> int:
    """The position right above the newest entry below a position; 0 when there is none."""
    rows = MemoryEntry.objects.of(tenant_id) if below is None else _below(tenant_id, below)
    newest: int | None = rows.order_by("-position").values_list("position", flat=True).first()
    return 0 if newest is None else newest + 1


def position_of(scope: TenantScope, entry_id: UUID) -> int:
    """The position below which the entries older than this one are; it need not be there any more."""
    rows = MemoryEntry.objects.of(scope.tenant_id).filter(id__lte=entry_id).order_by("-id")
    found = rows.values_list("id", "position").first()
    return 0 if found is None else int(found[1]) + (found[0] != entry_id)


def id_at(scope: TenantScope, position: int) -> UUID | None:
    """The oldest entry that is not below a position."""
    rows = MemoryEntry.objects.of(scope.tenant_id).filter(position__gte=position).order_by("position")
    found: UUID | None = rows.values_list("id", flat=True).first()
    return found


def _below(tenant_id: UUID, position: int) -> EntryQuerySet:
    return MemoryEntry.objects.of(tenant_id).filter(position__lt=position)


def _stopped(tenant_id: UUID, positions: list[int], limit: int, floor: int) -> Found:
    is_all = len(positions) >= limit or not _below(tenant_id, floor).exists()
    return Found(positions[:limit], None if is_all else floor)


def _in_lexemes(tenant_id: UUID, rows: Rows | None, wanted: Sought, top: int, limit: int) -> Found:
    """PostgreSQL: the rows of the window, one by one."""
    floor = max(top - LOOKED, 0)
    return _stopped(tenant_id, list(_with_lexemes(tenant_id, rows, wanted, top, floor)[:limit]), limit, floor)


def _with_lexemes(
    tenant_id: UUID, rows: Rows | None, wanted: Sought, top: int, floor: int
) -> QuerySet[MemoryEntry, int]:
    asked = " & ".join(f"'{word}':*" for word in wanted.words)
    within = (MemoryEntry.objects.of(tenant_id) if rows is None else rows).filter(position__lt=top, position__gte=floor)
    having = RawSQL("memory_memoryentry.words @@ %s::tsquery", [asked], output_field=BooleanField())
    return within.filter(having).order_by("-position").values_list("position", flat=True)


def _in_index(tenant_id: UUID, rows: Rows | None, wanted: Sought, top: int, limit: int) -> Found:
    """SQLite: first what is not indexed yet, then the index."""
    number, mark = _mark(tenant_id)
    positions, floor = _unindexed(tenant_id, rows, wanted, top, mark + 1)
    if len(positions) >= limit or floor > mark + 1:
        return _stopped(tenant_id, positions, limit, floor)
    looked, floor = 0, min(top, mark + 1)
    query, is_exact = _query_of(number, wanted)
    for candidates in _candidates(number, query, floor, limit):
        having = candidates if is_exact else _having(tenant_id, wanted, candidates)
        positions += _among(rows, having)
        looked, floor = looked + len(candidates), candidates[-1]
        if len(positions) >= limit or looked >= LOOKED:
            return _stopped(tenant_id, positions, limit, floor)
    return Found(positions[:limit], None)


def _count_in_index(tenant_id: UUID, wanted: Sought, top: int, limit: int) -> int | None:
    """SQLite: the count that the index itself has; None when that takes a look into texts."""
    number, mark = _mark(tenant_id)
    positions, floor = _unindexed(tenant_id, None, wanted, top, mark + 1)
    query, is_exact = _query_of(number, wanted)
    if not is_exact or floor > mark + 1:
        return None
    base = number << SHIFT
    indexed = sql.rows(COUNT_INDEXED, [query, base, base + min(top, mark + 1), limit]) if query else [(0,)]
    return min(len(positions) + int(indexed[0][0]), limit)


def _mark(tenant_id: UUID) -> tuple[int, int]:
    found = sql.rows(MARK, [sql.key(tenant_id)])
    return (found[0][0], found[0][1]) if found else (0, -1)


def _unindexed(tenant_id: UUID, rows: Rows | None, wanted: Sought, top: int, bottom: int) -> tuple[list[int], int]:
    """Those that match among the entries from ``bottom`` up, and from where up they were looked at."""
    floor = max(bottom, top - LOOKED)
    if floor >= top:
        return [], floor
    longest = max(wanted.words, key=len)
    texts = sql.rows(UNINDEXED, [sql.key(tenant_id), floor, top, longest])
    return _among(rows, [position for position, text in texts if wanted.is_in(text)]), floor


def _query_of(number: int, wanted: Sought) -> tuple[str, bool]:
    """What the index is asked, empty when it has nothing, and whether all that answers has the words.

    Where too many words begin as one that is sought, the index is asked for its first two letters.
    """
    terms, is_exact = [], True
    for word in wanted.words:
        found = sql.rows(BEGINNING, [number, word, word + LAST, MOST_WORDS + 1]) if len(word) > 2 else []
        if len(word) <= 2 or len(found) > MOST_WORDS:
            is_exact = is_exact and len(word) <= 2
            found = sql.rows(IS, [number, word[:2]])
        if not found:
            return "", True
        terms.append(f"({' OR '.join(str(each) for (each,) in found)})")
    return " AND ".join(terms), is_exact


def _candidates(number: int, query: str, below: int, limit: int) -> Iterator[list[int]]:
    """The positions of what the index answers, in chunks, newest first."""
    base, size = number << SHIFT, min(max(limit, FIRST), CHUNK)
    while query and (found := sql.rows(INDEXED, [base, query, base, base + below, size])):
        yield [position for (position,) in found]
        query, below, size = query if len(found) == size else "", found[-1][0], CHUNK


def _having(tenant_id: UUID, wanted: Sought, positions: list[int]) -> list[int]:
    """Those whose text has the words, read and looked at."""
    texts = sql.rows(TEXTS, [orjson.dumps(positions).decode(), sql.key(tenant_id)])
    return [position for position, text in texts if wanted.is_in(text)]


def _among(rows: Rows | None, positions: list[int]) -> list[int]:
    """Those of the positions that are among the rows, in their order."""
    if rows is None or not positions:
        return positions
    given = RawSQL("SELECT value FROM json_each(%s)", [orjson.dumps(positions).decode()])
    return sorted(rows.filter(position__in=given).values_list("position", flat=True), reverse=True)
