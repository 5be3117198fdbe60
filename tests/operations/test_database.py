"""The connection has the options that were measured to lose nothing under several processes."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import OperationalError, connection, models, transaction
from django.db.migrations import AddField, CreateModel, Migration
from django.db.migrations.state import ProjectState, StateApps
from django.test import Client
from psycopg_pool import ConnectionPool

from memory.host import request_slots
from memory.host.models import Tenant
from openwop_console import databases, postgresql
from openwop_console.management.commands import migrate
from openwop_console.mcp import tools
from tests import building, fixtures_console

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


# Another process, that begins its next transaction as soon as it has ended one, for three seconds.
GREEDY = """
import django, time
django.setup()
from django.db import transaction
for number in range(60):
    with transaction.atomic():
        if number == 0:
            print("It writes.", flush=True)
        time.sleep(0.05)
"""


@pytest.mark.only_db("sqlite")
@pytest.mark.parametrize("begins", [transaction.atomic, nullcontext], ids=["transaction", "statement"])
@pytest.mark.django_db(transaction=True)
def test_who_waits_to_write_comes_before_the_next_transaction_of_who_is_writing(tmp_path, begins):
    own = {"DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}", "OPENWOP_DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-c", GREEDY]
    waited = []

    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | own, cwd=settings.BASE_DIR) as greedy:
        greedy.stdout.readline()
        while len(waited) < 8:
            began = time.monotonic()
            with begins():
                Tenant.objects.written_by(Tenant.writer).update(name="Acme")
                assert greedy.poll() is None, "it was waited for to the end"
                waited.append(time.monotonic() - began)
        greedy.kill()

    assert max(waited) < 0.7, "one transaction of 50 ms, on a slow machine"


@pytest.mark.only_db("sqlite")
@pytest.mark.django_db(transaction=True)
def test_threads_that_wait_to_write_come_in_turn_and_give_up_in_time():
    holder = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")

    def write(patience_ms):
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"PRAGMA busy_timeout = {patience_ms}")
            began = time.monotonic()
            with pytest.raises(OperationalError, match="locked"), transaction.atomic():
                pass
            assert _pragma("busy_timeout") == patience_ms
            return time.monotonic() - began
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        took = list(threads.map(write, [100, 200, 300, 400]))
    holder.close()

    assert all(took[at] < 0.1 * (at + 1) + 1 for at in range(4)), took
    with transaction.atomic():
        pass


@pytest.mark.only_db("sqlite")
@pytest.mark.parametrize("begins", [transaction.atomic, nullcontext], ids=["transaction", "statement"])
@pytest.mark.django_db(transaction=True)
def test_a_write_that_an_open_read_of_an_older_state_prevents_is_refused_at_once(begins):
    building.tenant("acme")
    building.tenant("globex")
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    with connection.cursor() as cursor:
        cursor.execute("SELECT slug FROM host_tenant")
        cursor.fetchone()
        other.execute("UPDATE host_tenant SET name = 'Acme'")
        began = time.monotonic()
        with pytest.raises(OperationalError, match="locked"), begins():
            Tenant.objects.written_by(Tenant.writer).update(name="Globex")
        assert time.monotonic() - began < 1
    other.close()
    Tenant.objects.written_by(Tenant.writer).update(name="Globex")


@pytest.mark.only_db("sqlite")
@pytest.mark.django_db(transaction=True)
def test_a_request_that_is_refused_in_one_transaction_does_not_wait_as_long_for_the_next(monkeypatch):
    """A call of a tool has waited, is refused, and its record finds the store locked again."""
    headers = building.headers("acme", "agent")
    holder = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None, check_same_thread=False)
    refused = tools._refused

    def locked_again(*given, **more):
        holder.execute("BEGIN IMMEDIATE")
        return refused(*given, **more)

    monkeypatch.setattr(tools, "_refused", locked_again)
    arguments = {"kind": "no kind", "artifact": {}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    call["params"] = {"name": "proposal_create", "arguments": arguments}

    def ask():
        request_slots.use_here()
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"PRAGMA busy_timeout = {databases.REQUEST_PATIENCE_MS}")
            with request_slots.hold_slot():
                began = time.monotonic()
                answer = Client().post("/mcp", json.dumps(call), content_type="application/json", **headers)
                return answer, time.monotonic() - began
        finally:
            connection.close()

    holder.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(2) as threads:
        asked = threads.submit(ask)
        time.sleep(1.2)
        holder.rollback()
        answer, took = asked.result()
    holder.close()

    assert answer.status_code == 503, answer.content
    assert int(answer["Retry-After"]) >= 1
    assert answer.json()["error"]["data"]["error"] == "store_unavailable"
    assert 1 < took < 2, took


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


class Counting(postgresql.Connection):
    """A connection that counts how often it waits for the server."""

    waits = 0

    def wait(self, *given, **named):
        self.waits += 1
        return super().wait(*given, **named)


@pytest.mark.only_db("postgres")
def test_a_connection_that_was_just_used_is_checked_without_asking_the_server(monkeypatch):
    parameters = {**connection.get_connection_params(), "autocommit": True}
    with Counting.connect(**parameters) as used, psycopg.connect(**parameters) as other:
        used.execute("SELECT 1")
        before = used.waits
        ConnectionPool.check_connection(used)
        assert used.waits == before
        monkeypatch.setattr(postgresql, "FRESH_S", 0)
        ConnectionPool.check_connection(used)
        assert used.waits > before
        monkeypatch.undo()
        used.execute("SELECT 1")
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [used.info.backend_pid])
        with pytest.raises(psycopg.OperationalError):
            ConnectionPool.check_connection(used)


# Ends like a process that is killed, when it would record that a migration was applied.
KILLED = """
import os, sys
import django
django.setup()
from django.core.management import call_command
from django.db import connection

def end_at_the_record(execute, statement, given, many, context):
    if "django_migrations" in statement and "INSERT" in statement and sys.argv[1] in given:
        os._exit(9)
    return execute(statement, given, many, context)

with connection.execute_wrapper(end_at_the_record):
    call_command("migrate", "host", sys.argv[1], verbosity=0, skip_checks=True)
"""


def test_a_migration_that_was_killed_before_it_was_recorded_is_resumed(tmp_path):
    with fixtures_console.fresh_database(empty=True) as url:
        environment = os.environ | {
            "DATABASE_URL": url or f"sqlite:///{tmp_path}/half.sqlite3",
            "OPENWOP_DATA_DIR": str(tmp_path / "data"),
            "DJANGO_SETTINGS_MODULE": "openwop_console.settings",
        }

        def run(*words: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, *words]
            return subprocess.run(
                command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, check=False
            )

        # Only five migrations, since all take several times as long. Django itself would record the last one too late.
        killed = run("-c", KILLED, "0005_webhook_deliveries")
        assert killed.returncode == 9, killed.stderr
        migrate = ("manage.py", "migrate", "host", "0005_webhook_deliveries", "--skip-checks")
        resumed = run(*migrate, "--verbosity", "1")
        assert resumed.returncode == 0, resumed.stderr
        assert "Applying host.0005_webhook_deliveries... OK" in resumed.stdout
        assert "host.0004" not in resumed.stdout, "what was recorded is not done again"
        assert run(*migrate, "--check").returncode == 0


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_models_that_a_migration_makes_one_after_another_are_rendered_once_and_get_the_same_tables(monkeypatch):
    migration = Migration("0001_initial", "sample")
    migration.operations = [
        CreateModel("First", [("id", models.AutoField(primary_key=True))]),
        CreateModel("Second", [("id", models.AutoField(primary_key=True)), ("first", _link("First"))]),
        CreateModel("Third", [("second", _link("Second")), ("first", _link("First"))], {"db_table": "the_third"}),
        AddField("First", "name", models.CharField(max_length=8, db_index=True, default="")),
    ]
    rendered, render = [], StateApps.render_multiple
    monkeypatch.setattr(
        StateApps, "render_multiple", lambda apps, each: rendered.append(len(each)) or render(apps, each)
    )

    def statements():
        state, before = ProjectState(), len(rendered)
        assert state.apps
        with connection.schema_editor(collect_sql=True) as editor:
            migration.apply(state, editor, collect_sql=True)
        return [line for line in editor.collected_sql if not line.startswith("--")], rendered[before:]

    one_by_one, often = statements()
    with migrate.together(migration):
        at_once, once = statements()

    assert at_once == one_by_one
    assert len([line for line in at_once if line.startswith("CREATE TABLE")]) >= 3
    assert (list(filter(None, often))[:3], list(filter(None, once))[:1]) == ([1, 2, 3], [3])
    assert len(migration.operations) == 4


def _link(name):
    return models.ForeignKey(f"sample.{name}", models.CASCADE)
