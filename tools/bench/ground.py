"""The ground a row stands on: a tenant with a run, entries in bulk under a ref, and the driver without Django.

Everything here works on the throw-away database that ``throwaway`` made for this process.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import islice
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from memory.host import access, ids, runs, sql, tenancy
from memory.host.models import Run, Tenant
from memory.host.runs import RunOrder
from memory.host.tenancy import MemoryScope
from memory.text import token_budget
from tools.bench.quality.labels import Labelled

ENTRIES = "memory_memoryentry"
COLUMNS = (
    "tenant_id, id, memory_ref, content, search_text, tags, subject, position, run_id, node_id, agent_id, created_at, "
    "retired_reason, tokens, sha256, redactions, secret_shapes"
)
TOLD = f"{COLUMNS}, protected"
CHUNK = 10_000
# What a pass moves when it takes entries away.
MOVE_HEAD = (
    "INSERT INTO memory_ledgerhead (tenant_id, id, position, entries, retired) VALUES (%s, %s, %s, %s, 0) "
    "ON CONFLICT (tenant_id, id) DO UPDATE SET position = excluded.position, "
    "entries = memory_ledgerhead.entries + excluded.entries"
)
TEXT = "The customer asked twice for the invoice of order {number} and prefers to be answered by e-mail in the morning."

Query = tuple[str, list[Any]]


def tenant() -> Tenant:
    """A tenant of its own."""
    return access.create_tenant(f"bench-{ids.new_id().hex[-8:]}", name="Bench", now=timezone.now())


def running_run(owner: Tenant, *, system: bool = False) -> Run:
    """A run in whose name memory is written; what a ``system`` run wrote is not searched for commitments."""
    now = timezone.now()
    with transaction.atomic():
        run = runs.open_run(owner.id, RunOrder("bench", "{}", "host", system=system), now=now, ready=False)
        runs.start(run, snapshot_position=0, now=now)
    return runs.find(owner.id, run.id)


def scope(owner: Tenant, memory_ref: str) -> MemoryScope:
    found = tenancy.memory_scope(tenancy.host_scope(owner), memory_ref)
    assert found is not None
    return found


def row(run: Run, memory_ref: str, number: int, now: datetime) -> list[Any]:
    """The values of ``COLUMNS`` for one entry, as the ledger would have stored them."""
    content = TEXT.format(number=number)
    key, text, digest = sql.key, content.casefold(), sha256(content.encode()).hexdigest()
    labels = ['["invoice"]', "", number, key(run.id), "node", "bench.agent", sql.time_parameter(now)]
    return [key(run.tenant_id), key(ids.new_id()), memory_ref, content, text, *labels, "", 24, digest, 0, 0]


def fill(
    run: Run, memory_ref: str, size: int, *, columns: str = COLUMNS, row_of: Callable[..., list[object]] = row
) -> MemoryScope:
    """``size`` entries stand under the ref, put there in bulk behind the ledger's back."""
    now = timezone.now()
    _put(columns, (row_of(run, memory_ref, number, now) for number in range(size)))
    return scope(run.tenant, memory_ref)


def tell(run: Run, memory_ref: str, statements: Sequence[Labelled], *, after: int = 0) -> MemoryScope:
    """The statements stand under the ref, as if each had been written when it was said; ``after`` were there before."""
    _put(TOLD, (_told(run, memory_ref, each, after + place) for place, each in enumerate(statements, 1)))
    tenant, last = sql.key(run.tenant_id), after + len(statements)
    with connection.cursor() as cursor:
        cursor.execute(MOVE_HEAD, [tenant, tenant, last, len(statements)])
    return scope(run.tenant, memory_ref)


def _told(run: Run, memory_ref: str, said: Labelled, number: int) -> list[Any]:
    content, key = said.text, sql.key
    text, digest, tokens = content.casefold(), sha256(content.encode()).hexdigest(), token_budget.count(content)
    labels = [sql.document(said.tags), "", number, key(run.id), "node", "bench.agent", sql.time_parameter(said.said_at)]
    row_id = [key(run.tenant_id), key(said.id), memory_ref]
    return [*row_id, content, text, *labels, "", tokens, digest, 0, 0, said.protected]


def _put(columns: str, rows: Iterator[list[object]]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        put(cursor, ENTRIES, columns, rows)
    if sql.is_postgres():  # which does so by itself, but later
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {ENTRIES}")


def put(cursor: object, table: str, columns: str, rows: Iterable[list[object]]) -> None:
    """The rows are in the table, by the quickest way of the engine."""
    (_copy if sql.is_postgres() else _insert)(cursor, table, columns, iter(rows))


def _copy(cursor: Any, table: str, columns: str, rows: Iterator[list[object]]) -> None:
    with cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
        for each in rows:
            copy.write_row(each)


def _insert(cursor: Any, table: str, columns: str, rows: Iterator[list[object]]) -> None:
    while chunk := list(islice(rows, CHUNK)):
        cursor.executemany(insert_statement(columns, table=table), chunk)


def insert_statement(columns: str = COLUMNS, *, table: str = ENTRIES) -> str:
    """One row, in Django's parameter style; of an entry unless another table is named."""
    marks = ", ".join(["%s"] * len(columns.split(", ")))
    return f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608


def query_of(call: Callable[[], object]) -> Query:
    """The one statement that ``call`` sends, with its parameters: the raw side runs this very statement."""
    seen: list[Query] = []

    def note(execute: Any, statement: str, parameters: Any, many: bool, context: Any) -> Any:
        seen.append((statement, list(parameters)))
        return execute(statement, parameters, many, context)

    with connection.execute_wrapper(note):
        call()
    (only,) = seen
    return only


class RawDriver:
    """The database driver as it comes, on a connection with the options of the settings, committing each statement."""

    def __init__(self) -> None:
        self.is_postgres = sql.is_postgres()
        self._connection: Any = _psycopg() if self.is_postgres else _sqlite3()

    def prepared(self, query: Query) -> Query:
        statement, parameters = query
        return (statement if self.is_postgres else statement.replace("%s", "?"), parameters)

    def execute(self, query: Query) -> Any:
        return self._connection.execute(*query)

    def close(self) -> None:
        self._connection.close()


def _psycopg() -> object:
    """Statements are prepared at their first use."""
    parameters = connection.get_connection_params()
    wanted = {key: value for key, value in parameters.items() if key not in ("cursor_factory", "context")}
    raw = psycopg.connect(**wanted | {"autocommit": True, "prepare_threshold": 0})
    raw.execute("SET TIME ZONE 'UTC'")
    return raw


def _sqlite3() -> object:
    given = settings.DATABASES["default"]
    raw = sqlite3.connect(given["NAME"], isolation_level=None, cached_statements=200)
    for statement in given["OPTIONS"]["init_command"].split(";"):
        raw.execute(statement)
    raw.execute("PRAGMA foreign_keys = ON")
    return raw
