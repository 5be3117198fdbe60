"""Django's flush between transactional tests, let past the triggers that keep history unchanged.

The product has no such door: this is done here, to a test database, and nowhere else.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.core.cache import cache
from django.db import transaction
from django.db.backends.base.operations import BaseDatabaseOperations

Flush = Callable[[BaseDatabaseOperations, list[str]], None]


def past_the_triggers(original: Flush) -> Flush:
    """``execute_sql_flush`` that also empties tables whose rows may not be deleted, and the cache."""

    def execute_sql_flush(operations: BaseDatabaseOperations, sql_list: list[str]) -> None:
        with _triggers_asleep(operations.connection):
            original(operations, sql_list)
        cache.clear()

    return execute_sql_flush


def filled_tables(operations: BaseDatabaseOperations, style: Any, tables: Iterable[str], **_: object) -> list[str]:
    """``sql_flush`` of the tables that have rows. A test fills few, and PostgreSQL takes as long to truncate an empty
    one: 0.17 s of CPU for all."""
    quoted = {table: operations.quote_name(table) for table in tables}
    with operations.connection.cursor() as cursor:
        cursor.execute(
            " UNION ALL ".join(
                f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {name})" for table, name in quoted.items()
            )
        )
        return [f"DELETE FROM {quoted[table]}" for (table,) in cursor.fetchall()]


def _triggers_asleep(connection: Any) -> contextlib.AbstractContextManager[None]:
    return _as_replica(connection) if connection.vendor == "postgresql" else _without_refusals(connection)


@contextlib.contextmanager
def _as_replica(connection: Any) -> Iterator[None]:
    """PostgreSQL fires no trigger in a session that replays what another server decided."""
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield


@contextlib.contextmanager
def _without_refusals(connection: Any) -> Iterator[None]:
    """SQLite has no such switch: the triggers that raise are dropped and made again, word for word."""
    with (
        connection.constraint_checks_disabled(),
        transaction.atomic(using=connection.alias),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '%RAISE%'")
        refusing = cursor.fetchall()
        for name, _ in refusing:
            cursor.execute(f'DROP TRIGGER "{name}"')
        yield
        for _, sql in refusing:
            cursor.execute(sql)
