"""The read: list and get, as a run or an operator sees memory (agent-memory.md, MemoryAdapter).

An expired entry never surfaces, to the millisecond, whatever has been swept. A run reads the ledger as it stood when
the run started, and its own writes.
"""

from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Max, Q, QuerySet

from memory.host import ids, sql
from memory.host.models import Run
from memory.host.tenancy import MemoryScope, TenantScope
from memory.matching import search_form
from memory.models.entry import EntryTag, LedgerHead, MemoryEntry, Tombstone

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000
COUNTED = 10_000

COLUMNS = "e.id, e.memory_ref, e.content, e.tags, {created_at}, {expires_at}"
LIVE = "(e.expires_at IS NULL OR e.expires_at > %s)"
PRESENT = "e.retired_at IS NULL"
AS_OF = (
    "(e.position <= %s OR e.run_id = %s{inherited}) AND NOT EXISTS (SELECT 1 FROM memory_retirement r "
    "WHERE r.tenant_id = e.tenant_id AND r.entry_id = e.id AND r.from_position <= %s "
    "AND (r.until_position IS NULL OR r.until_position > %s))"
)
INHERITED = " OR (e.run_id = %s AND e.position <= %s)"


class MemoryRecord(NamedTuple):
    """An entry as the adapter gives it: nothing but what the protocol's MemoryEntry holds."""

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
    def of(cls, run: Run) -> "RunView":
        return cls(run.id, run.snapshot_position, _inherited(run) if run.inherits_until is not None else ())


def _inherited(run: Run) -> tuple[tuple[UUID, int], ...]:
    """The runs a branch comes from, and up to where it reads what each wrote; never more than the fork between read."""
    found, until = [], run.inherits_until or 0
    while run.source_run_id:
        until = until if run.inherits_until is None else min(until, run.inherits_until)
        found.append((run.source_run_id, until))
        run = Run.objects.of(run.tenant_id).get(id=run.source_run_id)
    return tuple(found)


def last_position(tenant_id: UUID, entry_ids: list[UUID]) -> int:
    """The position of the last of these entries that is there; 0 when none is."""
    last = 0
    for first in range(0, len(entry_ids), MAX_LIMIT):
        rows = MemoryEntry.objects.of(tenant_id).filter(id__in=entry_ids[first : first + MAX_LIMIT])
        last = max(last, rows.aggregate(last=Max("position"))["last"] or 0)
    return last


def list_entries(
    scope: MemoryScope, *, now: datetime, limit: int = 0, tag: str = "", view: RunView | None = None
) -> list[MemoryRecord]:
    """The live entries of a ref, newest first; ``limit`` 0 is the host's default of 100, and 1000 is the most."""
    seen, parameters = _seen(view, now)
    source = "memory_memoryentry e"
    if tag:
        source = "memory_entrytag t JOIN memory_memoryentry e ON e.tenant_id = t.tenant_id AND e.id = t.id"
        seen, parameters = f"{seen} AND t.tenant_id = %s AND t.tag = %s", [*parameters, sql.key(scope.tenant_id), tag]
    statement = (
        f"SELECT {_columns()} FROM {source} WHERE e.tenant_id = %s AND e.memory_ref = %s AND {seen} "  # noqa: S608
        "ORDER BY e.id DESC LIMIT %s"
    )
    bound = min(limit or DEFAULT_LIMIT, MAX_LIMIT)
    return _records(statement, [sql.key(scope.tenant_id), scope.memory_ref, *parameters, bound])


def get_entry(scope: MemoryScope, entry_id: UUID, *, now: datetime, view: RunView | None = None) -> MemoryRecord | None:
    """One live entry of a ref, or None: missing, expired, retired and foreign are one answer."""
    seen, parameters = _seen(view, now)
    statement = (
        f"SELECT {_columns()} FROM memory_memoryentry e "  # noqa: S608
        f"WHERE e.tenant_id = %s AND e.id = %s AND e.memory_ref = %s AND {seen}"
    )
    found = _records(statement, [sql.key(scope.tenant_id), sql.key(entry_id), scope.memory_ref, *parameters])
    return found[0] if found else None


def _seen(view: RunView | None, now: datetime) -> tuple[str, list[Any]]:
    if view is None:
        return f"{LIVE} AND {PRESENT}", [sql.instant(now)]
    inherited = [value for run_id, until in view.inherited for value in (sql.key(run_id), until)]
    own = [sql.instant(now), view.position, sql.key(view.run_id), *inherited]
    seen = AS_OF.format(inherited=INHERITED * len(view.inherited))
    return f"{LIVE} AND {seen}", [*own, view.position, view.position]


@cache
def _columns() -> str:
    return COLUMNS.format(created_at=sql.time_column("e.created_at"), expires_at=sql.time_column("e.expires_at"))


def _records(statement: str, parameters: list[Any]) -> list[MemoryRecord]:
    as_uuid, at, as_instant, as_document = sql.as_uuid, sql.at, sql.as_instant, sql.as_document
    return [
        MemoryRecord(
            as_uuid(entry_id), memory_ref, content, tuple(as_document(tags)), at(created_at), as_instant(expires_at)
        )
        for entry_id, memory_ref, content, tags, created_at, expires_at in sql.rows(statement, parameters)
    ]


def live(scope: TenantScope, *, now: datetime) -> QuerySet[MemoryEntry]:
    """Every unexpired entry of the tenant, retired ones too: what the pages of the console start from.

    A key that is bound to agents sees what those wrote, and nothing else (design.md 4).
    """
    scope.check("memory:read")
    rows: QuerySet[MemoryEntry] = MemoryEntry.objects.of(scope.tenant_id)
    bound = scope.principal.agent_ids
    mine = rows if bound is None else rows.filter(agent_id__in=bound)
    return mine.filter(Q(expires_at=None) | Q(expires_at__gt=now))


def tagged(rows: QuerySet[MemoryEntry], scope: TenantScope, tag: str) -> QuerySet[MemoryEntry]:
    """Those of ``rows`` that carry ``tag``, found through the table of tags."""
    return rows.filter(id__in=EntryTag.objects.of(scope.tenant_id).filter(tag=tag).values("id"))


def entry(scope: TenantScope, entry_id: UUID, *, now: datetime) -> MemoryEntry | None:
    """One unexpired entry with its run, retired or not."""
    return live(scope, now=now).select_related("run").filter(id=entry_id).first()


def by_ids(scope: TenantScope, entry_ids: list[UUID], *, now: datetime) -> dict[UUID, MemoryEntry]:
    """The unexpired entries among ``entry_ids``."""
    return {row.id: row for row in live(scope, now=now).filter(id__in=entry_ids)}


def tombstones(scope: TenantScope, entry_ids: list[UUID]) -> dict[UUID, Tombstone]:
    """What remains of those among ``entry_ids`` that are gone."""
    scope.check("memory:read")
    return {row.id: row for row in Tombstone.objects.of(scope.tenant_id).filter(id__in=entry_ids)}


def total(scope: TenantScope, *, now: datetime) -> int:
    """How many entries of the tenant can be read now: the maintained count, less what expired and was not swept."""
    head = LedgerHead.objects.of(scope.tenant_id).first()
    lapsed = MemoryEntry.objects.of(scope.tenant_id).filter(expires_at__lte=now, retired_at=None).count()
    return (head.entries if head else 0) - int(lapsed)


def usage_of(scope: TenantScope, agent_ids: list[str], *, now: datetime) -> dict[str, tuple[int, datetime]]:
    """For each of these agents that has written: how many entries can be read, counted up to ``COUNTED`` and one more,
    and when the newest was made. By the index of the agents, whatever the size of the ledger."""
    scope.check("memory:read")
    if not agent_ids:
        return {}
    mine = f"e.tenant_id = %s AND e.agent_id = a.agent AND {LIVE} AND {PRESENT}"
    statement = (
        f"WITH a(agent) AS (VALUES {', '.join(['(%s)'] * len(agent_ids))}) SELECT a.agent, "  # noqa: S608
        f"(SELECT COUNT(*) FROM (SELECT 1 FROM memory_memoryentry e WHERE {mine} LIMIT %s) AS counted), "
        f"(SELECT {sql.time_column('e.created_at')} FROM memory_memoryentry e "
        f"WHERE {mine} ORDER BY e.id DESC LIMIT 1) FROM a"
    )
    seen = [sql.key(scope.tenant_id), sql.instant(now)]
    with connection.cursor() as cursor:
        cursor.execute(statement, [*agent_ids, *seen, COUNTED + 1, *seen])
        rows = cursor.fetchall()
    return {agent: (count, sql.at(newest)) for agent, count, newest in rows if count}


def mentions(tenant_id: UUID, terms: tuple[str, ...]) -> list[tuple[UUID, str]]:
    """The id and searchable text of every entry that mentions one of ``terms``: retired and expired ones too."""
    anyone = Q(*(Q(search_text__contains=term) for term in terms), _connector=Q.OR)
    rows = MemoryEntry.objects.of(tenant_id).filter(anyone).order_by("id")
    return list(rows.values_list("id", "search_text"))


def traces(tenant_id: UUID, terms: tuple[str, ...]) -> list[tuple[UUID, str]]:
    """The id and folded text of every row that holds a term, by another function and other columns than ``mentions``.

    Looks at the searchable text, at the entry's own columns, and at the table of tags.
    """
    locate = "strpos({column}, %s) > 0" if sql.is_postgres() else "instr({column}, %s) > 0"
    columns = ("search_text", "lower(content)", "lower(subject)", "lower(memory_ref)")
    entry_has = " OR ".join(locate.format(column=column) for column in columns)
    tag_has = locate.format(column="lower(tag)")
    statements = (
        (f"SELECT id, search_text FROM memory_memoryentry WHERE tenant_id = %s AND ({entry_has})", len(columns)),  # noqa: S608
        (f"SELECT id, tag FROM memory_entrytag WHERE tenant_id = %s AND {tag_has}", 1),  # noqa: S608
    )
    found = []
    with connection.cursor() as cursor:
        for term in terms:
            for statement, places in statements:
                cursor.execute(statement, [sql.key(tenant_id), *[term] * places])
                found += [(sql.as_uuid(row[0]), search_form(row[1])) for row in cursor.fetchall()]
    return list(dict(found).items())


def samples(tenant_id: UUID, rows: tuple[UUID, ...]) -> dict[UUID, str]:
    """The contents of a few entries, for a preview."""
    return dict(MemoryEntry.objects.of(tenant_id).filter(id__in=rows).values_list("id", "content"))


FACETS = {
    "agent": ("memory_memoryentry", "agent_id"),
    "node": ("memory_memoryentry", "node_id"),
    "ref": ("memory_memoryentry", "memory_ref"),
    "tag": ("memory_entrytag", "tag"),
}


def values_of(scope: TenantScope, facet: str, *, limit: int) -> list[str]:
    """The first ``limit`` values that entries of the tenant have in one of ``FACETS``; a step in the index for each."""
    scope.check("memory:read")
    table, column = FACETS[facet]
    least = f"SELECT MIN({column}) FROM {table} WHERE tenant_id = %s AND {column} > "  # noqa: S608
    statement = (
        f"WITH RECURSIVE found(value) AS ({least} '' UNION ALL "  # noqa: S608
        f"SELECT ({least} found.value) FROM found WHERE found.value IS NOT NULL) "
        "SELECT value FROM found WHERE value IS NOT NULL LIMIT %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [sql.key(scope.tenant_id), sql.key(scope.tenant_id), limit])
        return [row[0] for row in cursor.fetchall()]


def writes_by_day(scope: TenantScope, *, since: datetime) -> list[tuple[date, str, int]]:
    """How many entries written since then are kept, by day (UTC) and agent. Ids rise with time, so by the key."""
    scope.check("memory:read")
    day = "(created_at AT TIME ZONE 'UTC')::date::text" if sql.is_postgres() else "substr(created_at, 1, 10)"
    statement = (
        f"SELECT {day} AS day, agent_id, COUNT(*) FROM memory_memoryentry "  # noqa: S608
        "WHERE tenant_id = %s AND id >= %s GROUP BY day, agent_id ORDER BY day, agent_id"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [sql.key(scope.tenant_id), sql.key(ids.first_of(since))])
        return [(date.fromisoformat(day), agent, count) for day, agent, count in cursor.fetchall()]
