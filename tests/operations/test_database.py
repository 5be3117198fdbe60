"""The connection has the options that were measured to lose nothing under several processes."""

from pathlib import Path

import pytest
from django.db import connection

from openwop_console import databases

pytestmark = [pytest.mark.django_db, pytest.mark.engines]


def _pragma(name: str) -> object:
    with connection.cursor() as cursor:
        return cursor.execute(f"PRAGMA {name}").fetchone()[0]


@pytest.mark.only_db("sqlite")
@pytest.mark.parametrize(
    ("pragma", "value"),
    [("journal_mode", "wal"), ("synchronous", 2), ("busy_timeout", 20000), ("secure_delete", 1), ("foreign_keys", 1)],
)
def test_sqlite_writes_ahead_waits_its_turn_and_overwrites_what_it_deletes(pragma, value):
    assert _pragma(pragma) == value


@pytest.mark.only_db("sqlite")
def test_a_sqlite_transaction_takes_the_write_lock_when_it_begins():
    assert connection.settings_dict["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


@pytest.mark.only_db("postgres")
def test_postgresql_prepares_a_statement_that_comes_again():
    with connection.cursor() as cursor:
        for number in range(6):
            cursor.execute("SELECT %s::int + 1", [number])
            assert cursor.fetchone() == (number + 1,)
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT $1::int + 1'")
        assert cursor.fetchone() == (1,)


def test_a_web_process_has_a_pool_as_large_as_what_it_computes_at_a_time_and_keeps_no_connection_beside_it():
    given = {"ENGINE": "django.db.backends.postgresql", "NAME": "console"}
    web, worker = (
        databases.with_options(given, base=Path("/"), folder=Path("/"), web_threads=threads) for threads in (4, 0)
    )
    assert (web["CONN_MAX_AGE"], web["OPTIONS"]["pool"]["max_size"]) == (0, 5)
    assert worker["CONN_MAX_AGE"] > 0
    assert "pool" not in worker["OPTIONS"]
