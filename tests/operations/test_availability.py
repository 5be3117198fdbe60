"""A database that cannot be used now: who asks hears of it soon, in the shape they know, and all is well afterwards."""

import json
import os
import signal
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import httpx
import psutil
import psycopg
import pytest
from django.core.cache import caches
from django.db import OperationalError, connection
from django.test import Client
from psycopg import sql

from openwop_console import errors, health
from openwop_console.postgresql import Connection
from tests import building, plugin, postgres
from tests.fixtures_console import ConsoleProcess, fresh_database

pytestmark = pytest.mark.engines

SOON_S = 2.0
MCP_WRITE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "memory_write", "arguments": {"memoryRef": "team/notes", "content": "A note."}},
}


@contextmanager
def unusable_database(console: ConsoleProcess) -> Iterator[None]:
    """SQLite: another program holds the write lock. PostgreSQL: every connection is cut and no new one is let in."""
    if plugin.engine() == plugin.SQLITE:
        holder = sqlite3.connect(console.data_folder / "console.sqlite3", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            holder.close()
        return
    name = console.environment["DATABASE_URL"].rpartition("/")[2].partition("?")[0]
    with psycopg.connect(os.environ[plugin.PG_URL], autocommit=True) as server:
        allow = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
        server.execute(allow.format(sql.Identifier(name), sql.SQL("false")))
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        try:
            yield
        finally:
            server.execute(allow.format(sql.Identifier(name), sql.SQL("true")))


@pytest.mark.console
def test_a_database_that_cannot_be_used_is_503_soon_in_each_face_and_serves_again_afterwards(
    shared_console: ConsoleProcess,
) -> None:
    with shared_console.client("acme") as client:
        _until_ready(client)
        form = client.get("/login")
        token = form.text.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
        sign_in = {"csrfmiddlewaretoken": token, "login": "ada@acme.example", "password": "not the password"}

        with unusable_database(shared_console):
            openwop = _timed(client, "POST", "/v1/runs", json={"workflowId": "conformance-noop"})
            openintent = _timed(client, "POST", "/api/v1/memory", json={"namespace": "n", "key": "k", "value": {}})
            mcp = _timed(client, "POST", "/mcp", json=MCP_WRITE)
            oauth = _timed(client, "POST", "/oauth/register", json={"redirect_uris": ["https://client.example/cb"]})
            page = _timed(client, "POST", "/login", data=sign_in, headers={"Accept": "text/html"})
            alive = _timed(client, "GET", "/healthz")
            ready = _timed(client, "GET", "/readyz")

        _refused_soon(openwop, openintent, mcp, oauth)
        assert alive.status_code == 200
        if plugin.engine() == plugin.POSTGRES:  # a locked SQLite is read as before, and so a sign-in is answered
            _refused_soon(page)
            assert "The database of this host does not answer now" in page.text
            assert (ready.status_code, ready.json()["reason"]) == (503, health.NO_DATABASE)
        assert openwop.json()["error"] == "store_unavailable"
        assert {"message", "details"} <= openwop.json().keys()
        assert openintent.json()["error"] == "STORE_UNAVAILABLE"
        assert openintent.json()["detail"] == openintent.json()["message"]
        assert mcp.json()["jsonrpc"] == "2.0"
        assert mcp.json()["error"]["data"]["error"] == "store_unavailable"
        assert oauth.json()["error"] == "server_error"
        _until_ready(client)
        again = client.post("/v1/runs", json={"workflowId": "conformance-noop"})
        assert again.status_code == 201, again.text


@pytest.mark.console
def test_requests_that_queue_while_the_database_cannot_be_used_do_not_wait_for_it_one_after_the_other(
    shared_console: ConsoleProcess,
) -> None:
    with shared_console.client("acme") as client:
        _until_ready(client)

        def write(_: int) -> httpx.Response:
            return client.post("/v1/runs", json={"workflowId": "conformance-noop"})

        with unusable_database(shared_console), ThreadPoolExecutor(40) as clients:
            answers = list(clients.map(write, range(40)))
        _refused_soon(*answers)
        assert max(each.elapsed.total_seconds() for each in answers) < 2 * SOON_S, "not a wait for each before it"
        assert {each.json()["error"] for each in answers} == {"store_unavailable"}
        _until_ready(client)
        assert write(0).status_code == 201


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[postgres.Server, ConsoleProcess]]:
    """A console on a PostgreSQL of its own, which can be stopped; it has its tables, which takes less to copy than to
    make."""
    server = postgres.start()
    with fresh_database() as tables:
        postgres.copy_database(str(tables), server)
    with psycopg.connect(server.url, autocommit=True) as connection:  # a cluster of the tests is fast and forgetful
        connection.execute("ALTER DATABASE postgres SET synchronous_commit = on")
    process = ConsoleProcess(tmp_path_factory.mktemp("cluster") / "data", server.url)
    try:
        process.start()
        yield server, process
    finally:
        process.end()
        server.process.send_signal(signal.SIGCONT)
        server.stop()


@contextmanager
def frozen(server: postgres.Server) -> Iterator[None]:
    family = [psutil.Process(server.process.pid), *psutil.Process(server.process.pid).children(recursive=True)]
    for each in family:
        each.suspend()
    try:
        yield
    finally:
        for each in reversed(family):
            each.resume()


@pytest.mark.only_db("postgres")
def test_a_postgresql_that_is_frozen_is_503_soon_and_serves_again_afterwards(
    cluster: tuple[postgres.Server, ConsoleProcess],
) -> None:
    server, console = cluster
    with console.client("acme") as client:
        _until_ready(client)
        with frozen(server), ThreadPoolExecutor(12) as clients:
            first = _timed(client, "POST", "/v1/runs", json={"workflowId": "conformance-noop"})
            later = [clients.submit(_timed, client, "GET", "/v1/host/console/memory") for _ in range(12)]
            openintent = _timed(client, "POST", "/api/v1/memory", json={"namespace": "n", "key": "k", "value": {}})
            _refused_soon(first, openintent, *(each.result() for each in later))
            assert _timed(client, "GET", "/healthz").status_code == 200
            assert _timed(client, "GET", "/readyz").json()["reason"] == health.NO_DATABASE
        _until_ready(client)
        assert client.post("/v1/runs", json={"workflowId": "conformance-noop"}).status_code == 201


@pytest.mark.only_db("postgres")
def test_a_postgresql_that_is_killed_under_load_loses_nothing_that_was_acknowledged(
    cluster: tuple[postgres.Server, ConsoleProcess],
) -> None:
    server, console = cluster
    kept: list[str] = []
    over = threading.Event()
    with console.client("acme") as client:
        _until_ready(client)

        def write(number: int) -> set[int]:
            seen, count = set(), 0
            while not over.is_set():
                count += 1
                body = {"namespace": "n", "key": f"{number}-{count}", "value": {"n": count}}
                answer = client.post("/api/v1/memory", json=body, headers={"X-Agent-ID": "a-1"})
                seen.add(answer.status_code)
                if answer.status_code == 201:
                    kept.append(answer.json()["id"])
            return seen

        with ThreadPoolExecutor(8) as clients:
            writers = [clients.submit(write, number) for number in range(8)]
            try:
                for _ in range(2):
                    _wait_for_more(kept)
                    _kill_and_restart(server)
                _wait_for_more(kept)
            finally:
                over.set()
            seen = set().union(*(each.result() for each in writers))
        assert seen == {201, 503}
        for entry in kept[:: max(1, len(kept) // 100)]:
            assert client.get(f"/v1/host/console/memory/{entry}").status_code == 200, entry
        with psycopg.connect(server.url) as connection:
            stored = {row[0].hex for row in connection.execute("SELECT id FROM memory_memoryentry")}
        assert {entry.removeprefix("mem_") for entry in kept} <= stored
    assert console.shell(VERIFY_CHAINS) == "True"


def _wait_for_more(kept: list[str]) -> None:
    before, deadline = len(kept), time.monotonic() + 30
    while len(kept) < before + 20:
        assert time.monotonic() < deadline, "no write is acknowledged"
        time.sleep(0.05)


def _kill_and_restart(server: postgres.Server) -> None:
    """SIGKILL to every process of the server at once; it recovers and accepts connections."""
    family = [psutil.Process(server.process.pid), *psutil.Process(server.process.pid).children(recursive=True)]
    for each in family:
        each.kill()
    psutil.wait_procs(family, timeout=10)
    server.process.wait()
    (server.folder / "data" / "postmaster.pid").unlink()
    object.__setattr__(
        server, "process", postgres._postgres(postgres._programs(), server.folder, postgres._guise(server.folder))
    )
    postgres._wait_until_it_accepts(server)


VERIFY_CHAINS = """
from memory.host import audit_chain
from memory.host.models import Tenant
print(all(audit_chain.verify(t.id, first=0, last=audit_chain.expected_end(t.id)).intact for t in Tenant.objects.all()))
"""


@pytest.mark.only_db("postgres")
@pytest.mark.console
def test_a_locked_table_that_holds_every_connection_of_the_pool_is_503_soon(shared_console: ConsoleProcess) -> None:
    """More clients than there are connections, each of which waits for a lock that another program holds."""
    with shared_console.client("acme") as client:
        _until_ready(client)

        def write(_: int) -> httpx.Response:
            return client.post("/v1/runs", json={"workflowId": "conformance-noop"})

        with psycopg.connect(shared_console.environment["DATABASE_URL"]) as holder, ThreadPoolExecutor(20) as clients:
            holder.execute("LOCK TABLE host_run IN ACCESS EXCLUSIVE MODE")
            answers = list(clients.map(write, range(20)))
            _refused_soon(*answers)
            assert max(each.elapsed.total_seconds() for each in answers) < 2 * SOON_S, "not a wait for each before it"
            assert _timed(client, "GET", "/healthz").status_code == 200
        _until_ready(client)
        assert write(0).status_code == 201


@pytest.mark.only_db("postgres")
def test_a_busy_postgresql_is_waited_for() -> None:
    with Connection.connect(os.environ[plugin.PG_URL]) as busy:
        row = busy.execute("SELECT pg_sleep(1.5), 7").fetchone()
    assert row
    assert row[1] == 7


def _timed(client: httpx.Client, method: str, path: str, **sent: Any) -> httpx.Response:
    began = time.monotonic()
    answer = client.request(method, path, **sent)
    taken = time.monotonic() - began
    assert taken < SOON_S + 0.3, (path, taken)  # the machine's own noise on top
    return answer


def _refused_soon(*answers: httpx.Response) -> None:
    for answer in answers:
        assert answer.status_code == 503, (answer.url, answer.text)
        assert int(answer.headers["Retry-After"]) >= 1


def _until_ready(client: httpx.Client) -> None:
    """Wait until both web processes are ready. A connection stays with one of them, so each request opens its own; that
    eight in a row reach the same one happens less than once in a hundred times."""
    deadline = time.monotonic() + 30
    in_a_row = 0
    while in_a_row < 8:
        answer = client.get("/readyz", headers={"Connection": "close"})
        if answer.status_code == 200:
            in_a_row += 1
            continue
        assert time.monotonic() < deadline, answer.text
        in_a_row = 0
        time.sleep(0.2)
    assert answer.json() == {
        "ready": True,
        "reason": "",
        "checks": {"database": True, "migrations": True, "vault": True, "worker": True},
    }


@pytest.mark.django_db
def test_a_host_without_a_worker_is_not_ready_and_says_so(client: Client) -> None:
    caches["default"].delete(health.HEARTBEAT)

    alone = client.get("/readyz")
    health.WorkerStatistics("", {}).set("django_q:statistics", "of a worker", 3)
    together = client.get("/readyz")

    assert (alone.status_code, alone.json()["reason"]) == (503, health.NO_WORKER)
    assert (together.status_code, together.json()["ready"]) == (200, True)


@pytest.mark.django_db
def test_a_database_that_lacks_a_migration_is_not_ready(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'proposals'")

    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()["reason"]) == (503, health.NO_MIGRATIONS)
    assert answer.json()["checks"] == {"database": True, "migrations": False}


@pytest.mark.django_db(transaction=True)
def test_a_page_whose_database_is_locked_is_a_page_that_says_when_to_come_back(client: Client) -> None:
    operator = building.operator()
    client.force_login(operator)
    mem_id = building.remember("acme", "The plan is Gold.").entries[0]
    with connection.cursor() as cursor, closing(connection.copy()) as other:
        other.set_autocommit(False)
        with other.cursor() as holder:
            if plugin.engine() == plugin.SQLITE:
                cursor.execute("PRAGMA busy_timeout = 100")
                holder.execute("UPDATE memory_memoryentry SET protected = protected")
            else:
                cursor.execute("SET lock_timeout = 100")
                holder.execute("SELECT 1 FROM memory_memoryentry FOR UPDATE")
        answer = client.post(f"/memory/{mem_id}/retire", {"reason": "stale"})
        other.rollback()
        if plugin.engine() != plugin.SQLITE:
            cursor.execute("RESET lock_timeout")

    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    assert b"Other changes held the database for too long" in answer.content


@pytest.mark.only_db("sqlite")
@pytest.mark.django_db
def test_a_statement_that_sqlite_does_not_understand_stays_a_bug() -> None:
    with pytest.raises(OperationalError) as caught, connection.cursor() as cursor:
        cursor.execute("SELECT nothing FROM nowhere")

    assert not errors.is_unavailable(caught.value)


@pytest.mark.only_db("sqlite")
@pytest.mark.django_db(transaction=True)
def test_a_disk_that_is_full_is_503_and_what_was_begun_leaves_nothing(client: Client) -> None:
    headers = building.headers()
    body = {"namespace": "n", "key": "k", "value": {"text": "x" * 60_000}}

    def write() -> Any:
        return client.post("/api/v1/memory", body, content_type="application/json", HTTP_X_AGENT_ID="a-1", **headers)

    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # what other tests left free would take the write
        cursor.execute("PRAGMA page_count")
        pages = cursor.fetchone()[0]
        cursor.execute("PRAGMA freelist_count")
        assert cursor.fetchone()[0] < 12
        cursor.execute(f"PRAGMA max_page_count = {pages}")
        full = write()
        read = client.get("/v1/host/console/memory", **headers)
        cursor.execute("PRAGMA max_page_count = 1073741823")
    assert (full.status_code, full.json()["error"]) == (503, "STORE_UNAVAILABLE")
    assert int(full.headers["Retry-After"]) >= 1
    assert (read.status_code, read.json()["total"]) == (200, 0)
    assert write().status_code == 201


@pytest.mark.only_db("postgres")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("failure", ["disk_full", "out_of_memory", "too_many_connections"])
def test_a_postgresql_that_has_no_room_is_503_and_what_was_begun_leaves_nothing(client: Client, failure: str) -> None:
    headers, body = building.headers(), {"namespace": "n", "key": "k", "value": {"text": "x"}}

    def write() -> Any:
        return client.post("/api/v1/memory", body, content_type="application/json", HTTP_X_AGENT_ID="a-1", **headers)

    fails = f"$$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '{failure}'; END $$"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS {fails}")
        cursor.execute("CREATE TRIGGER no_room BEFORE INSERT ON memory_memoryentry EXECUTE FUNCTION no_room()")
        try:
            full = write()
            read = client.get("/v1/host/console/memory", **headers)
        finally:
            cursor.execute("DROP FUNCTION no_room CASCADE")
    assert (full.status_code, full.json()["error"]) == (503, "STORE_UNAVAILABLE")
    assert int(full.headers["Retry-After"]) >= 1
    assert (read.status_code, read.json()["total"]) == (200, 0)
    assert write().status_code == 201


@pytest.mark.only_db("sqlite")
def test_the_database_of_a_console_is_for_its_owner_alone(console_process: ConsoleProcess) -> None:
    console_process.make_tables()
    file = console_process.data_folder / "console.sqlite3"
    file.chmod(0o644)

    modes = json.loads(console_process.shell(SHOW_MODES))

    assert modes.keys() >= {"console.sqlite3", "console.sqlite3-wal", "console.sqlite3-shm"}
    assert {name: mode for name, mode in modes.items() if name.startswith("console.sqlite3")} == dict.fromkeys(
        [name for name in modes if name.startswith("console.sqlite3")], 0o600
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


SHOW_MODES = """
import json, stat
from django.conf import settings
from memory.host.models import Tenant
list(Tenant.objects.all())
files = settings.OPENWOP_DATA_DIR.iterdir()
print(json.dumps({file.name: stat.S_IMODE(file.stat().st_mode) for file in files}))
"""
