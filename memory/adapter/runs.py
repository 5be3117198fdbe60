"""Memory as a run reads it: list and get (OpenWOP's MemoryAdapter), and the list within a budget (RFC 0113).

A run reads the ledger as it stood when the run started, and its own writes.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Max

from memory.adapter import fulltext
from memory.host import expiry, sql
from memory.host.errors import Invalid
from memory.host.models import Run
from memory.host.tenancy import MemoryScope
from memory.models.entry import MemoryEntry
from memory.text import token_budget
from memory.text.search_words import sought

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000
RECENCY, RELEVANCE = "recency", "relevance"
RANKS = (RECENCY, RELEVANCE)
# By relevance so many are ranked within a budget, or as many as it holds of the shortest.
BEST, SHORTEST = 200, 16

COLUMNS = "e.id, e.memory_ref, e.content, e.tags, {created_at}, {expires_at}"
UNEXPIRED = expiry.UNEXPIRED.format(column="e.expires_at")
PRESENT = "e.retired_at IS NULL"
UNSEALED = " AND NOT e.sealed"
AS_OF = (
    "(e.position <= %s OR e.run_id = %s{inherited}) AND NOT EXISTS (SELECT 1 FROM memory_retirement r "
    "WHERE r.tenant_id = e.tenant_id AND r.entry_id = e.id AND r.from_position <= %s "
    "AND (r.until_position IS NULL OR r.until_position > %s))"
)
INHERITED = " OR (e.run_id = %s AND e.position <= %s)"


class MemoryRecord(NamedTuple):
    """An entry as the adapter returns it: exactly the fields of the protocol's MemoryEntry."""

    id: UUID
    memory_ref: str
    content: str
    tags: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class RunView:
    """Memory as one run sees it: the ledger at ``position``, and the run's own writes.

    A branch also sees what the runs it comes from wrote, each up to a position: ``inherited``.
    """

    run_id: UUID
    position: int
    inherited: tuple[tuple[UUID, int], ...] = ()

    @classmethod
    def for_run(cls, run: Run) -> "RunView":
        return cls(run.id, run.snapshot_position, _inherited(run) if run.inherits_until is not None else ())


def _inherited(run: Run) -> tuple[tuple[UUID, int], ...]:
    """The runs a branch descends from, and up to where it reads each one's writes; never past the fork."""
    found, until = [], run.inherits_until or 0
    while run.source_run_id:
        until = until if run.inherits_until is None else min(until, run.inherits_until)
        found.append((run.source_run_id, until))
        run = Run.objects.of(run.tenant_id).get(id=run.source_run_id)
    return tuple(found)


def last_position(tenant_id: UUID, entry_ids: list[UUID]) -> int:
    """The position of the last of these entries that exists; 0 when none does."""
    last = 0
    for part in sql.in_chunks(entry_ids):
        rows = MemoryEntry.objects.of(tenant_id).filter(id__in=part)
        last = max(last, rows.aggregate(last=Max("position"))["last"] or 0)
    return last


@dataclass(frozen=True, slots=True)
class Injection:
    """How much of a ref goes into a context, and what first (RFC 0113). 0 tokens are no budget, no rank is recency.

    By recency only the newest ``MAX_LIMIT`` entries count. By relevance all of the ref do, in the order of a search
    (``fulltext.rank``), by their words and, where the query's ``meaning`` is given (``Sought``), by their vectors; the
    newest of those that have nothing to do with the query come last.
    """

    token_budget: int = 0
    rank: str = ""
    query: str = ""
    meaning: bytes = b""

    def __post_init__(self) -> None:
        if self.token_budget < 0:
            raise Invalid("A token budget is at least 1.")
        if self.rank and self.rank not in RANKS:
            raise Invalid(f"Memory is ranked by one of {', '.join(RANKS)}.")
        if self.rank == RELEVANCE and not self.query.strip():
            raise Invalid("Relevance needs a query.")


NEWEST = Injection()


def list_entries(
    scope: MemoryScope,
    *,
    now: datetime,
    limit: int = 0,
    tag: str = "",
    view: RunView | None = None,
    wanted: Injection = NEWEST,
    written_by: Collection[str] | None = None,
) -> list[MemoryRecord]:
    """The live entries of a ref, newest first; ``limit`` 0 is the host's default of 100, the maximum is 1000.

    With a token budget, the entries that fit, in the order of their rank: one that does not fit is left out whole, and
    a smaller one after it may still fit. A limit applies as well; without one the budget decides, up to 1000. Sealed
    entries have no text to inject and no words to match.
    """
    injects = bool(wanted.token_budget) or wanted.rank == RELEVANCE
    source = partial(_source, scope, now, tag, view, written_by, UNSEALED if injects else "")
    if not injects:
        statement, parameters = source()
        return _records(f"SELECT {_columns()} {statement}", [*parameters, min(limit or DEFAULT_LIMIT, MAX_LIMIT)])
    most = min(limit or (MAX_LIMIT if wanted.token_budget else DEFAULT_LIMIT), MAX_LIMIT)
    found = _sized(source(), MAX_LIMIT)
    if wanted.rank == RELEVANCE:
        found = _ranked(scope, wanted, source, most) | found
    return _in_order(scope, [row[0] for row in token_budget.take_fitting(found.values(), wanted.token_budget, most)])


def _source(
    scope: MemoryScope,
    now: datetime,
    tag: str,
    view: RunView | None,
    written_by: Collection[str] | None,
    more: str,
    positions: Sequence[int] | None = None,
) -> sql.Statement:
    """The FROM clause of a list, up to the LIMIT; restricted to some positions where given."""
    seen, parameters = _visibility(view, now)
    source, order = "memory_memoryentry e", "e.id"
    if tag:
        order = "t.id"  # or SQLite would look through the ref instead
        source = "memory_entrytag t JOIN memory_memoryentry e ON e.tenant_id = t.tenant_id AND e.id = t.id"
        seen, parameters = f"{seen} AND t.tenant_id = %s AND t.tag = %s", [*parameters, sql.key(scope.tenant_id), tag]
    if written_by is not None:
        agents = ", ".join(["%s"] * len(written_by)) or "NULL"
        seen, parameters = f"{seen} AND e.agent_id IN ({agents})", [*parameters, *written_by]
    if positions is not None:
        among, given = sql.among("e.position", positions)
        seen, parameters = f"{seen} AND {among}", [*parameters, given]
    wanted = f"e.tenant_id = %s AND e.memory_ref = %s AND {seen}{more}"
    condition = f"FROM {source} WHERE {wanted} ORDER BY {order} DESC LIMIT %s"
    return condition, [sql.key(scope.tenant_id), scope.memory_ref, *parameters]


def _sized(source: sql.Statement, most: int) -> dict[int, tuple[Any, int]]:
    """The key and the tokens of each entry, by its position."""
    statement, parameters = source
    found = sql.rows(f"SELECT e.position, e.id, e.tokens {statement}", [*parameters, most])
    return {position: (key, tokens) for position, key, tokens in found}


def _ranked(
    scope: MemoryScope, wanted: Injection, source: Callable[..., sql.Statement], most: int
) -> dict[int, tuple[Any, int]]:
    """As many of the best matches as a context may have room for, best first."""

    def every(limit: int) -> list[int]:
        statement, parameters = source()
        return [position for (position,) in sql.rows(f"SELECT e.position {statement}", [*parameters, limit])]

    chosen = fulltext.Chosen(lambda found: _sized(source(found), len(found)), every, in_context=True)
    limit = min(most, max(BEST, wanted.token_budget // SHORTEST)) if wanted.token_budget else most
    words = replace(sought(wanted.query), meaning=wanted.meaning)
    found = fulltext.best_readable(scope.tenant_id, chosen, words, limit=limit).positions
    rows = _sized(source(found), len(found))
    return {position: rows[position] for position in found if position in rows}


def _in_order(scope: MemoryScope, keys: list[object]) -> list[MemoryRecord]:
    """The entries of these keys, in the order of the keys."""
    if not keys:
        return []
    marks = ", ".join(["%s"] * len(keys))
    statement = f"SELECT {_columns()} FROM memory_memoryentry e WHERE e.tenant_id = %s AND e.id IN ({marks})"  # noqa: S608
    records = {record.id: record for record in _records(statement, [sql.key(scope.tenant_id), *keys])}
    return [records[each] for key in keys if (each := sql.as_uuid(key)) in records]


def get_entry(scope: MemoryScope, entry_id: UUID, *, now: datetime, view: RunView | None = None) -> MemoryRecord | None:
    """One live entry of a ref, or None: missing, expired, retired and foreign are indistinguishable."""
    seen, parameters = _visibility(view, now)
    statement = (
        f"SELECT {_columns()} FROM memory_memoryentry e "  # noqa: S608
        f"WHERE e.tenant_id = %s AND e.id = %s AND e.memory_ref = %s AND {seen}"
    )
    found = _records(statement, [sql.key(scope.tenant_id), sql.key(entry_id), scope.memory_ref, *parameters])
    return found[0] if found else None


def _visibility(view: RunView | None, now: datetime) -> sql.Statement:
    if view is None:
        return f"{UNEXPIRED} AND {PRESENT}", [sql.time_parameter(now)]
    inherited = [value for run_id, until in view.inherited for value in (sql.key(run_id), until)]
    own = [sql.time_parameter(now), view.position, sql.key(view.run_id), *inherited]
    seen = AS_OF.format(inherited=INHERITED * len(view.inherited))
    return f"{UNEXPIRED} AND {seen}", [*own, view.position, view.position]


@cache
def _columns() -> str:
    return COLUMNS.format(created_at=sql.time_column("e.created_at"), expires_at=sql.time_column("e.expires_at"))


def _records(statement: str, parameters: list[object]) -> list[MemoryRecord]:
    as_uuid, at, as_instant, as_document = sql.as_uuid, sql.at, sql.as_instant, sql.as_document
    return [
        MemoryRecord(
            as_uuid(entry_id), memory_ref, content, tuple(as_document(tags)), at(created_at), as_instant(expires_at)
        )
        for entry_id, memory_ref, content, tags, created_at, expires_at in sql.rows(statement, parameters)
    ]
