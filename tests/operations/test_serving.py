"""A real console under clients that stall or wait: they delay no other, and hold nothing of the database."""

import asyncio
import gc
import http.client
import json
import os
import socket
import threading
import time
import tracemalloc
import weakref
import zipfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

import httpx
import psycopg
import pytest
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import FileResponse, StreamingHttpResponse
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import ids
from memory.host.errors import Busy, RequestTimeout, TooLarge
from memory.host.http import REFUSED
from memory.host.request_slots import Slots
from openwop_console import discovery, errors, sign_in
from openwop_console.process import server
from openwop_console.process.bind_address import Address
from openwop_console.runtime import streams
from openwop_console.runtime.api.streams import STREAM, Body, EventStream
from tests import awaiting, plugin
from tests.fixtures_console import ConsoleProcess, fresh_database
from tools.bench import attacking

# A machine that runs the tests of nine people answers late now and then; half of the answers must be quick.
QUICK = 0.1
PASSWORD = "a long pass phrase of tests"
BODY_SECONDS = 3
# Of each of two web processes; nine in ten of them are a tenant's at most, and nine in ten of these a key's.
MAX_STREAMS, ALL_STREAMS = 123, 200
FILL = (
    "from memory.host.models import Tenant; from tools.bench import attacking; "
    "attacking.fill_long(Tenant.objects.get(slug='acme'))"
)


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """One console for this file, with short patience."""
    with fresh_database() as url:
        process = ConsoleProcess(tmp_path_factory.mktemp("serving") / "data", url)
        start(process)
        process.manage("create_tenant", "acme")
        filled = process.manage("shell", "-c", FILL)
        assert filled.returncode == 0, filled.stderr
        yield process
        process.end()


def start(process: ConsoleProcess) -> None:
    """It runs, also when a test has ended it: whichever comes next needs it."""
    if not process.runs:
        process.start(
            "--web-processes",
            "2",
            OPENWOP_BODY_SECONDS=str(BODY_SECONDS),
            OPENWOP_BODY_BYTES=str(1024 * 1024),
            OPENWOP_MAX_STREAMS=str(MAX_STREAMS),
        )


@pytest.fixture(autouse=True)
def _it_runs(request: pytest.FixtureRequest) -> None:
    if "console" in request.fixturenames:
        start(request.getfixturevalue("console"))


@pytest.fixture(scope="module")
def key(console: ConsoleProcess) -> str:
    return console.manage("create_api_key", "--tenant", "acme", "--role", "owner").stdout.strip()


@pytest.fixture
def client(console: ConsoleProcess, key: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=console.url, headers={"X-API-Key": key}, timeout=60) as opened:
        yield opened


@pytest.fixture
def address(console: ConsoleProcess) -> Address:
    return Address("127.0.0.1", console.port)


@pytest.fixture(scope="module")
def cookie(console: ConsoleProcess) -> str:
    start(console)
    return signed_in(console, "ana@example.org")


def signed_in(console: ConsoleProcess, email: str) -> str:
    """The session of a new owner of acme, as a header."""
    made = console.manage(
        "create_operator", email, "--tenant", "acme", "--role", "owner", "--password-env", "P", P=PASSWORD
    )
    assert made.returncode == 0, made.stderr
    with httpx.Client(base_url=console.url, timeout=60) as browser:
        page = browser.get("/login")
        token = page.text.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
        form = {"csrfmiddlewaretoken": token, "login": email, "password": PASSWORD}
        assert browser.post("/login", data=form, headers={"Referer": f"{console.url}/login"}).status_code == 302
        return f"Cookie: openwop_session={browser.cookies['openwop_session']}"


@pytest.fixture(autouse=True)
def _everybody_hangs_up() -> Iterator[None]:
    yield
    while RawStream.opened:
        RawStream.opened.pop().close()


class RawStream:
    """A reader on a connection of its own."""

    opened: ClassVar[list["RawStream"]] = []

    def __init__(self, client: httpx.Client, run_id: str) -> None:
        self.opened.append(self)
        host, port = str(client.base_url.host), client.base_url.port
        self._socket = socket.create_connection((host, port or 80), timeout=30)
        key = client.headers["X-API-Key"]
        head = f"GET /v1/runs/{run_id}/events?streamMode=debug HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n"
        self._socket.sendall(f"{head}Accept: text/event-stream\r\n\r\n".encode())
        self.head = self._socket.recv(8192).decode()
        self.status = int(self.head.split(" ", 2)[1])

    def rest(self) -> str:
        """What comes until the host ends the response."""
        text = self.head
        while not text.endswith("0\r\n\r\n") and (more := self._socket.recv(65536)):
            text += more.decode()
        return text

    def close(self) -> None:
        self._socket.close()


def waiting_run(client: httpx.Client) -> str:
    created = client.post("/v1/runs", json={"workflowId": "conformance-cancellable", "inputs": {"delayMs": 50000}})
    run_id: str = created.json()["runId"]
    deadline = time.monotonic() + 15
    while len(client.get(f"/v1/runs/{run_id}/events").json()["events"]) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return run_id


def open_streams(client: httpx.Client, run_id: str, wanted: int) -> list[RawStream]:
    """``wanted`` open streams. The system deals connections to the processes by chance; who is refused comes again."""
    opened: list[RawStream] = []
    deadline = time.monotonic() + 60
    while len(opened) < wanted:
        assert time.monotonic() < deadline, f"only {len(opened)} streams could be opened"
        stream = RawStream(client, run_id)
        assert stream.status in {200, 503}, stream.head
        if stream.status == 200:
            opened.append(stream)
        else:
            time.sleep(0.1)
    return opened


def connections_of(process: ConsoleProcess) -> int:
    """The connections to the database that the web processes hold; on PostgreSQL, those of the whole console."""
    if plugin.engine() == plugin.SQLITE:
        web = process.child("granian").children()
        return sum(file.path.endswith(".sqlite3") for each in web for file in each.open_files())
    name = process.environment["DATABASE_URL"].rpartition("/")[2].partition("?")[0]
    with psycopg.connect(os.environ[plugin.PG_URL], autocommit=True) as asking:
        row = asking.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = %s", [name]).fetchone()
    assert row
    return int(row[0])


def answered_quickly(address: Address, seconds: float = 3) -> None:
    with attacking.health(address) as took:
        time.sleep(seconds)
    assert len(took) > 5
    assert median(took) < QUICK, took


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(attacking.slow_heads, id="400 stalled heads"),
        pytest.param(attacking.slow_bodies, id="64 stalled bodies"),
    ],
)
def test_clients_that_stall_while_they_send_delay_nobody(
    address: Address, client: httpx.Client, attack: Callable[[], attacking.Attack]
) -> None:
    with attack().on(address):
        answered_quickly(address)
        began = time.monotonic()
        assert client.get("/v1/workflows/conformance-noop").status_code == 200
        assert client.post("/v1/runs", json={"workflowId": "conformance-noop"}).status_code == 201
        assert time.monotonic() - began < 2


def test_a_body_that_does_not_come_is_answered_with_408_in_the_shape_of_the_face(address: Address, key: str) -> None:
    for path, words in (("/v1/runs", b'"request_timeout"'), ("/login", b"<!doctype html>")):
        with socket.create_connection((address.host, address.port), timeout=30) as stalled:
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\nContent-Length: 100000\r\n\r\nabc"
            stalled.sendall(head.encode())
            began, answer = time.monotonic(), b""
            while more := stalled.recv(65536):
                answer += more
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert words in answer
        assert BODY_SECONDS - 1 < time.monotonic() - began < BODY_SECONDS + 10


def test_a_body_that_ends_before_its_length_is_answered_in_the_shape_of_the_face(address: Address, key: str) -> None:
    for path, words in (("/v1/runs", b'"validation_error"'), ("/login", b"<!doctype html>")):
        with socket.create_connection((address.host, address.port), timeout=30) as ended:
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\nContent-Length: 100\r\n\r\nabc"
            ended.sendall(head.encode())
            ended.shutdown(socket.SHUT_WR)
            answer = b""
            while more := ended.recv(65536):
                answer += more
        assert answer.startswith(b"HTTP/1.1 400 "), answer
        assert words in answer


def test_a_body_larger_than_the_host_reads_is_refused_unread(client: httpx.Client, address: Address, key: str) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(40):
            yield b" " * 65536

    larger = (("/v1/runs", 9_999_999, b'"payload_too_large"'), ("/settings/import", 65 * 2**20, b"at most"))
    for path, length, words in larger:
        told = http.client.HTTPConnection(address.host, address.port, timeout=30)
        told.putrequest("POST", path)
        for name, value in (("X-API-Key", key), ("Accept", "application/json"), ("Content-Length", str(length))):
            told.putheader(name, value)
        told.endheaders()
        answer = told.getresponse()
        assert (answer.status, words in answer.read()) == (413, True)
        assert answer.headers["Connection"] == "close"
        told.close()
    assert client.post("/v1/runs", content=endless()).status_code == 413
    assert client.post("/settings/password", content=endless()).status_code == 413
    assert client.post("/settings/import", content=endless()).status_code == 413


def test_a_body_in_chunks_is_read_like_any_other(client: httpx.Client) -> None:
    parts = iter([b'{"workflowId":', b'"conformance-noop"}'])
    answer = client.post("/v1/runs", content=parts, headers={"Content-Type": "application/json"})
    assert answer.status_code == 201


@pytest.mark.parametrize("path", ["/v1/runs", "/api/v1/memory", "/v1/nothing"])
def test_a_body_that_is_refused_is_not_taken_for_the_next_request(address: Address, path: str) -> None:
    with closing(http.client.HTTPConnection(address.host, address.port, timeout=30)) as connection:
        connection.request("POST", path, "{}" * 500, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert (answer.status, answer.read()[:1]) == (401, b"{")
        opened = connection.sock
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b"ok\n"
        assert connection.sock is opened


@pytest.mark.engines
def test_readers_that_stall_delay_nobody_and_hold_no_connection(
    console: ConsoleProcess, address: Address, client: httpx.Client, cookie: str
) -> None:
    with attacking.slow_readers(attacking.DOWNLOAD, cookie).on(address):
        answered_quickly(address)
        assert client.get("/v1/workflows/conformance-noop").status_code == 200
        assert connections_of(console) <= 2 * (settings.OPENWOP_WEB_THREADS + 2) + 20


def test_a_reader_that_stalls_is_cut_off_and_sees_that_the_download_is_not_whole(address: Address, cookie: str) -> None:
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect((address.host, address.port))
        reader.settimeout(30)
        reader.sendall(f"GET {attacking.DOWNLOAD} HTTP/1.1\r\nHost: localhost\r\n{cookie}\r\n\r\n".encode())
        begun = reader.recv(4096)
        head, _, body = begun.partition(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        time.sleep((server.STALLS + 1) * BODY_SECONDS)
        received = len(body)
        while more := reader.recv(65536):
            received += len(more)
    assert head.startswith(b"HTTP/1.1 200 ")
    assert 0 < received < length


@pytest.mark.parametrize(
    "ends", [("deactivate_operator",), ("set_operator_role", "--role", "viewer")], ids=["deactivated", "another role"]
)
@pytest.mark.usefixtures("cookie")  # another owner: the last one of a tenant stays
def test_a_download_is_cut_off_when_its_reader_may_have_it_no_more(
    console: ConsoleProcess, address: Address, ends: tuple[str, ...]
) -> None:
    email = f"reader-{len(ends)}@example.org"
    session = signed_in(console, email)
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect((address.host, address.port))
        reader.settimeout(30)
        reader.sendall(f"GET {attacking.DOWNLOAD} HTTP/1.1\r\nHost: localhost\r\n{session}\r\n\r\n".encode())
        begun = reader.recv(4096)
        head, _, body = begun.partition(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        command, *options = ends
        assert console.manage(command, email, "--tenant", "acme", *options).returncode == 0
        time.sleep(server.RECHECK_SECONDS)
        received = len(body)
        while more := reader.recv(65536):
            received += len(more)
    assert 0 < received < length


def test_a_download_comes_whole(client: httpx.Client, cookie: str) -> None:
    name, _, value = cookie.partition(": ")
    for ending in ("json", "csv"):
        path = attacking.DOWNLOAD.replace("json", ending)
        answer = client.get(path, headers={name: value})
        assert int(answer.headers["Content-Length"]) == len(answer.content)
        assert answer.text.count("order 499 ") >= attacking.TIMES_AS_LONG
        head = client.head(path, headers={name: value})
        assert (head.status_code, head.content) == (200, b"")


@pytest.mark.engines
def test_a_backup_is_made_while_the_console_runs(console: ConsoleProcess, client: httpx.Client, tmp_path: Path) -> None:
    body = {"memoryRef": "notes", "content": "written while the console runs"}
    assert client.post("/v1/host/console/memory", json=body).status_code == 201

    made = console.manage("backup", str(tmp_path / "running.zip"))

    assert made.returncode == 0, made.stderr
    manifest = json.loads(zipfile.ZipFile(tmp_path / "running.zip").read("manifest.json"))["manifest"]
    there = console.shell("from memory.models.entry import MemoryEntry; print(MemoryEntry.objects.count())")
    assert manifest["tables"]["memory_memoryentry"] == int(there) > 0


@pytest.mark.engines
def test_two_hundred_streams_hold_nobody_up_keep_no_connections_and_all_hear_of_the_end(
    console: ConsoleProcess, address: Address, client: httpx.Client
) -> None:
    run_id = waiting_run(client)
    streams_open = open_streams(client, run_id, ALL_STREAMS)
    answered_quickly(address)
    assert client.get("/v1/workflows/conformance-noop").status_code == 200

    took = []
    for _ in range(30):
        began = time.monotonic()
        assert client.get("/v1/host/console/memory", params={"limit": 50}).status_code == 200
        took.append(time.monotonic() - began)
    assert max(took) < 2
    assert sum(took) < 10
    assert connections_of(console) <= 2 * (settings.OPENWOP_WEB_THREADS + 2) + 20

    assert client.post(f"/v1/runs/{run_id}/cancel").status_code == 200
    began = time.monotonic()
    ended = [stream.rest() for stream in streams_open]
    assert time.monotonic() - began < 10
    assert all(text.count("event: run.cancelled") == 1 and text.endswith("0\r\n\r\n") for text in ended)


@pytest.mark.engines
def test_streams_that_ended_leave_a_process_with_few_connections(console: ConsoleProcess, client: httpx.Client) -> None:
    run_id = waiting_run(client)
    streams_open = open_streams(client, run_id, 100)
    client.post(f"/v1/runs/{run_id}/cancel")
    for stream in streams_open:
        stream.rest()
        stream.close()
    for _ in range(150):
        client.get(f"/v1/runs/{run_id}", headers={"Connection": "close"})
    assert connections_of(console) <= 2 * (settings.OPENWOP_WEB_THREADS + 2) + 20


def test_clients_that_go_away_without_a_word_make_room_for_others(
    console: ConsoleProcess, client: httpx.Client
) -> None:
    run_id = waiting_run(client)
    streams_open = open_streams(client, run_id, ALL_STREAMS)
    refused = [RawStream(client, run_id) for _ in range(10)]
    assert {each.status for each in refused} == {503}
    assert all("retry-after: 5\r\n" in each.head.lower() for each in refused)
    for stream in streams_open:
        stream.close()
    began = time.monotonic()
    open_streams(client, run_id, 2)
    assert time.monotonic() - began < 12 * streams.KEEPALIVE_SECONDS
    client.post(f"/v1/runs/{run_id}/cancel")
    assert "Traceback" not in console.output


@pytest.mark.engines
def test_long_polls_do_not_keep_the_console_from_answering(client: httpx.Client, console: ConsoleProcess) -> None:
    run_id = waiting_run(client)
    polls = [
        threading.Thread(
            target=httpx.get,
            args=(f"{console.url}/v1/runs/{run_id}/events/poll",),
            kwargs={"params": {"lastSequence": 1, "timeout": 50}, "headers": dict(client.headers), "timeout": 90},
        )
        for _ in range(24)
    ]
    for poll in polls:
        poll.start()
    time.sleep(1)
    began = time.monotonic()
    assert client.get("/v1/workflows/conformance-noop").status_code == 200
    took = time.monotonic() - began
    assert sum(poll.is_alive() for poll in polls) == len(polls), "the polls were over before anything was shown"
    client.post(f"/v1/runs/{run_id}/cancel")
    for poll in polls:
        poll.join()
    assert took < 25, "it waited for polls to end"


@pytest.mark.engines
def test_sixteen_clients_that_write_at_once_are_all_served(console: ConsoleProcess, key: str) -> None:
    def write(number: int) -> list[int]:
        with httpx.Client(base_url=console.url, headers={"X-API-Key": key}, timeout=60) as mine:
            return [
                mine.put(
                    "/v1/host/console/secrets/" + f"S{number}_{time_}",
                    json={"value": f"value-{number}-{time_}"},
                    headers={"Idempotency-Key": f"{number}-{time_}"},
                ).status_code
                for time_ in range(8)
            ]

    with ThreadPoolExecutor(16) as together:
        codes = [code for found in together.map(write, range(16)) for code in found]
    assert set(codes) <= {200, 201, 204}, codes
    assert "locked" not in console.output


@pytest.mark.engines
def test_the_same_key_from_many_clients_at_once_has_one_effect(client: httpx.Client, console: ConsoleProcess) -> None:
    def create(_: int) -> httpx.Response:
        headers = {**client.headers, "Idempotency-Key": "once"}
        return httpx.post(
            f"{console.url}/v1/runs", json={"workflowId": "conformance-noop"}, headers=headers, timeout=60
        )

    with ThreadPoolExecutor(12) as together:
        answers = list(together.map(create, range(12)))
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert len({answer.json()["runId"] for answer in answers if answer.status_code == 201}) == 1


def test_health_and_discovery_are_answered_again_byte_for_byte_and_discovery_only_for_hosts_that_are_served(
    client: httpx.Client,
) -> None:
    for path, status in (("/healthz", 200), ("/.well-known/openwop", 400), ("/v1/openapi.json", 400)):
        answers = [client.get(path, headers={"X-API-Key": ""}) for _ in range(6)]
        assert len({answer.content for answer in answers}) == 1
        assert {answer.headers["X-Content-Type-Options"] for answer in answers} == {"nosniff"}
        for _ in range(3):
            assert client.get(path, headers={"Host": "evil.example"}).status_code == status
        if etag := answers[0].headers.get("ETag"):
            for known in (etag, f"W/{etag}", f'"other", {etag}'):
                assert client.get(path, headers={"If-None-Match": known}).status_code == 304
            assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_a_probe_is_answered_and_no_page_is_logged_whatever_host_is_asked_for(
    client: httpx.Client, console: ConsoleProcess
) -> None:
    for host in ("10.1.2.3:8000", "evil.example", "a b", ""):
        assert client.get("/healthz", headers={"Host": host}).status_code == 200
        assert client.get("/readyz", headers={"Host": host}).status_code in {200, 503}
        assert client.get("/login", headers={"Host": host}).status_code == 400
    assert "Traceback" not in console.output
    assert "DisallowedHost" not in console.output


async def ask(
    console: server.Console,
    method: str,
    path: str,
    headers: Sequence[tuple[bytes, bytes]] = (),
    body: bytes = b"",
    *,
    gone: asyncio.Event | None = None,
) -> tuple[int, dict[bytes, bytes]]:
    """Status and headers of what the application answers, in this process. With ``gone`` the body stalls until then."""
    sent: list[dict[str, Any]] = []
    coming = iter([{"type": "http.request", "body": body, "more_body": gone is not None}])

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        if message := next(coming, None):
            return message
        await (gone.wait() if gone else asyncio.Future())
        return {"type": "http.disconnect"}

    place, _, query = path.partition("?")
    scope = server.HEALTH | {
        "method": method,
        "raw_path": place.encode(),
        "query_string": query.encode(),
        "headers": headers,
    }
    await console(scope, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"])


@pytest.mark.parametrize("headers", [[], [(b"x-forwarded-proto", b"https")], [(b"host", b"10.1.2.3")]])
def test_health_is_answered_the_first_time_too_without_a_thread_or_a_slot(
    headers: list[tuple[bytes, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"ok"]

    async def no_thread(*given: Any) -> None:
        raise AssertionError("it waits for a thread")

    async def first() -> int:
        console = server.Console(application)
        monkeypatch.setattr(console, "_in_thread", no_thread)
        status, _ = await ask(console, "GET", "/healthz", headers)
        return status

    monkeypatch.setattr("signal.signal", lambda *_: None)  # for the main thread alone
    assert awaiting.awaited(first()) == 200


def test_a_file_that_is_larger_than_other_bodies_is_read_from_who_is_signed_in(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("413 Large" if isinstance(environ.get(REFUSED), TooLarge) else "200 OK", [])
        return []

    async def asked() -> list[int]:
        console, size, cookie = server.Console(application), (b"content-length", b"900"), b"openwop_session=ada"
        requests = [
            ("/settings/import", [size]),
            ("/settings/import", [size, (b"cookie", cookie)]),
            ("/v1/runs", [size, (b"cookie", cookie)]),
        ]
        return [(await ask(console, "POST", path, headers, b"x" * 900))[0] for path, headers in requests]

    settings.OPENWOP_BODY_BYTES = 800
    monkeypatch.setattr(sign_in, "person_of", lambda session_key: session_key)
    monkeypatch.setattr("signal.signal", lambda *_: None)  # for the main thread alone
    assert awaiting.awaited(asked()) == [413, 200, 413]


def test_a_body_that_came_fast_may_not_stall_for_long(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("408 Late" if isinstance(environ.get(REFUSED), RequestTimeout) else "200 OK", [])
        return []

    async def asked() -> int:
        console, sized = server.Console(application), [(b"content-length", b"901")]
        async with asyncio.timeout(10):
            return (await ask(console, "POST", "/v1/runs", sized, b"x" * 900, gone=asyncio.Event()))[0]

    settings.OPENWOP_BODY_SECONDS = 0.05
    monkeypatch.setattr(server, "SLOWEST", 1)  # by its mean speed it might take 900 s
    monkeypatch.setattr("signal.signal", lambda *_: None)  # for the main thread alone
    assert awaiting.awaited(asked()) == 408


def test_nothing_holds_the_connection_of_a_refused_body_until_the_next_garbage_collection(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """The web server closes the connection when nothing can read from it any more."""

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("408 Late" if isinstance(environ.get(REFUSED), RequestTimeout) else "200 OK", [])
        return []

    async def asked() -> tuple[int, bool]:
        console, sized, connection = server.Console(application), [(b"content-length", b"901")], asyncio.Event()
        status, _ = await ask(console, "POST", "/v1/runs", sized, b"x" * 900, gone=connection)
        held = weakref.ref(connection)
        del connection
        return status, held() is not None

    settings.OPENWOP_BODY_SECONDS = 0.05
    monkeypatch.setattr(server, "SLOWEST", 9_000_000)
    monkeypatch.setattr("signal.signal", lambda *_: None)  # for the main thread alone
    gc.disable()
    try:
        assert awaiting.awaited(asked()) == (408, False)
    finally:
        gc.enable()


def test_a_disk_without_room_for_a_body_or_an_answer_is_answered_with_503(monkeypatch: pytest.MonkeyPatch) -> None:
    large = b"x" * (server.IN_MEMORY + 1)

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        if refused := environ.get(REFUSED):
            answer = errors.answer(WSGIRequest(environ), refused)
            start_response(f"{answer.status_code} Refused", list(answer.items()))
            return [answer.content]
        start_response("200 OK", [])
        return [large if environ["PATH_INFO"] == "/large" else b"ok"]

    async def asked() -> list[tuple[int, bytes | None]]:
        console, sized = server.Console(application), [(b"content-length", str(len(large)).encode())]
        requests = [("POST", "/v1/runs", sized, large), ("GET", "/large", [], b""), ("GET", "/small", [], b"")]
        told = [await ask(console, *request) for request in requests]
        return [(status, headers.get(b"retry-after")) for status, headers in told]

    monkeypatch.setattr(server, "ANSWERS_TOGETHER", 0)
    monkeypatch.setattr("tempfile.TemporaryFile", lambda *_, **__: Path("/dev/full").open("w+b"))  # noqa: SIM115
    monkeypatch.setattr("signal.signal", lambda *_: None)  # for the main thread alone
    assert awaiting.awaited(asked()) == [(503, b"2"), (503, b"2"), (200, None)]


def test_what_visitors_and_others_send_leaves_a_persons_upload_its_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """One body of a visitor and one of a person stall at the page of uploads: a second of either finds no room."""

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("503 Busy" if isinstance(environ.get(REFUSED), Busy) else "200 OK", [])
        return []

    async def asked() -> list[int]:
        console, gone = server.Console(application), asyncio.Event()

        def send(path: str, session: str, **more: Any) -> Any:
            headers = [(b"content-length", b"900"), (b"cookie", f"{settings.SESSION_COOKIE_NAME}={session}".encode())]
            return ask(console, "POST", path, headers, b"x" * 900, **more)

        stalled = [asyncio.ensure_future(send("/settings/import", each, gone=gone)) for each in ("", "ada")]
        async with asyncio.timeout(10):
            while console._incoming.total() < 1800:
                await asyncio.sleep(0.001)
        told = [await send("/settings/import", each) for each in ("", "ada", "rosa")] + [await send("/v1/runs", "rosa")]
        gone.set()
        await asyncio.gather(*stalled)
        return [status for status, _ in told]

    monkeypatch.setattr(server, "BODIES_TOGETHER", 1000)
    monkeypatch.setattr(sign_in, "person_of", lambda session_key: session_key)
    monkeypatch.setattr("signal.signal", lambda *_: None)  # for the main thread alone
    assert awaiting.awaited(asked()) == [503, 503, 200, 503]


@pytest.mark.parametrize("path", sorted(discovery.PATHS))
def test_a_document_is_computed_once_and_then_sent_without_a_thread(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        computed.append(environ["PATH_INFO"])
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", "2"), ("ETag", '"1"')])
        return [b"{}"]

    async def asked() -> list[tuple[int, dict[bytes, bytes]]]:
        console, host = server.Console(application), (b"host", b"localhost")
        computed.clear()
        known, twice = [host, (b"if-none-match", b'"1"')], [host, (b"host", b"evil.example")]
        requests = [(path, [host]), (path, [host]), (path, known), (f"{path}?a=1", [host]), (path, twice)]
        return [await ask(console, "GET", each, headers) for each, headers in requests]

    monkeypatch.setattr("signal.signal", lambda *_: None)  # for the main thread alone
    first, again, unchanged, *_ = awaiting.awaited(asked())
    assert first == again
    assert unchanged == (304, {b"etag": b'"1"'})
    assert len(computed) == (2 if path == discovery.HEALTH else 3)  # health at the start; with a query; with two hosts


@pytest.mark.django_db
@pytest.mark.parametrize("path", sorted(discovery.PATHS))
def test_a_document_rests_on_nothing_that_is_stored(
    path: str, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(0):
        assert Client().get(path).status_code == 200


class SlowFile(BytesIO):
    """On a disk that takes a while for all that it does."""

    def read(self, size: int | None = -1) -> bytes:
        time.sleep(0.3)
        return super().read(size)

    def close(self) -> None:
        if not self.closed:
            time.sleep(0.3)
        super().close()


def test_a_disk_that_is_slow_with_a_download_keeps_nobody_else_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def application(environ: dict[str, Any], start_response: Any) -> Any:
        start_response("200 OK", [("Content-Type", "text/plain")])
        return FileResponse(SlowFile(b"a download")) if environ["PATH_INFO"] == "/file" else [b"ok"]

    async def slowest() -> float:
        console = server.Console(application)
        download, waits = asyncio.create_task(ask(console, "GET", "/file")), []
        while not download.done():
            began = time.monotonic()
            await ask(console, "GET", "/healthz")
            await asyncio.sleep(0.01)
            waits.append(time.monotonic() - began)
        assert download.result()[0] == 200
        return max(waits)

    monkeypatch.setattr("signal.signal", lambda *_: None)  # for the main thread alone
    assert awaiting.awaited(slowest()) < 0.25


def test_answers_that_are_read_slowly_wait_on_the_disk_when_their_room_in_memory_is_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    megabyte, answered = 1024 * 1024, Counter[str]()
    monkeypatch.setattr(server, "ANSWERS_TOGETHER", 3 * megabyte)

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Type", "text/plain")])
        if environ["PATH_INFO"] != "/large":
            return [b"ok"]
        answered["large"] += 1
        return [b"x" * megabyte]

    async def until_little_is_held(readers: int) -> list[int]:
        console, reads_on, lengths = server.Console(application), asyncio.Event(), [0] * readers

        async def receive() -> dict[str, Any]:
            return await asyncio.Future()

        async def read(number: int) -> None:
            async def send(message: dict[str, Any]) -> None:
                await reads_on.wait()
                lengths[number] += len(message.get("body", b""))

            await console(server.HEALTH | {"raw_path": b"/large", "headers": []}, receive, send)

        before, _ = tracemalloc.get_traced_memory()
        reading = [asyncio.create_task(read(number)) for number in range(readers)]
        deadline = time.monotonic() + 20
        while answered.total() < readers or tracemalloc.get_traced_memory()[0] - before >= 8 * megabyte:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        reads_on.set()
        await asyncio.gather(*reading)
        return lengths

    monkeypatch.setattr("signal.signal", lambda *_: None)  # for the main thread alone
    tracemalloc.start()
    try:
        lengths = awaiting.awaited(until_little_is_held(20))
    finally:
        tracemalloc.stop()
    assert lengths == [megabyte] * 20


def test_unread_downloads_are_bounded_together_and_a_larger_one_is_served_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    megabyte = 1024 * 1024
    monkeypatch.setattr(server, "DOWNLOADS_TOGETHER", 3 * megabyte)

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        start_response("503 Busy" if REFUSED in environ else "200 OK", [("Content-Type", "text/csv")])
        pieces = {"/file": 1, "/larger": 4}.get(environ["PATH_INFO"], 0)
        if REFUSED in environ or not pieces:
            return [b"a short text"]
        return StreamingHttpResponse(b"x" * megabyte for _ in range(pieces))

    async def statuses() -> tuple[list[int], list[int]]:
        console, reads_on, answers = server.Console(application), asyncio.Event(), list[int]()

        async def receive() -> dict[str, Any]:
            return await asyncio.Future()

        async def send(message: dict[str, Any]) -> None:
            if "status" in message:
                answers.append(message["status"])
            await reads_on.wait()

        def read(path: bytes) -> "asyncio.Task[None]":
            return asyncio.create_task(console(server.HEALTH | {"raw_path": path, "headers": []}, receive, send))

        reading = [read(b"/file") for _ in range(5)]
        while len(answers) < len(reading):
            await asyncio.sleep(0.01)
        unread = sorted(answers)
        reads_on.set()
        await asyncio.gather(*reading)
        reading.clear()
        answers.clear()
        await read(b"/larger")
        return unread, answers

    monkeypatch.setattr("signal.signal", lambda *_: None)  # for the main thread alone
    assert awaiting.awaited(statuses()) == ([200, 200, 200, 503, 503], [200])


def test_an_answer_that_was_sent_is_out_of_memory_without_a_collection_of_cycles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers: list[weakref.ref[Response]] = []

    @api_view(["GET"])
    def view(request: Request) -> Response:
        return Response({"content": "text"})

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        answer = view(WSGIRequest(environ)).render()
        answers.append(weakref.ref(answer))
        start_response("200 OK", [("Content-Type", "application/json")])
        return answer

    async def first() -> int:
        status, _ = await ask(server.Console(application), "GET", "/v1/list")
        return status

    monkeypatch.setattr("signal.signal", lambda *_: None)  # for the main thread alone
    gc.disable()
    try:
        assert awaiting.awaited(first()) == 200
        assert [answer() for answer in answers] == [None] * len(answers)
    finally:
        gc.enable()
    assert len(answers) == 3, "that of health in both schemes, and the list"


@pytest.mark.parametrize("content_type", [STREAM, "application/json"])
def test_a_stream_whose_client_has_gone_ends_at_once_and_gives_its_place_back(
    content_type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise who is cut off and comes again finds the place of before taken until the next sign of life."""
    place = streams.Place(ids.new_id(), ids.new_id())

    def frames() -> Generator[bytes, None, None]:
        yield b":alive\n\n"
        while not place.lost:
            streams.wait(place, seen=0, seconds=30)

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        start_response("200 OK", [("Content-Type", content_type)])
        return EventStream(place, Body(place, frames())) if environ["PATH_INFO"] == "/stream" else [b"ok"]

    async def cut_off() -> None:
        console, began = server.Console(application), asyncio.Event()

        async def receive() -> dict[str, Any]:
            await began.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message.get("body"):
                began.set()

        scope = server.HEALTH | {"raw_path": b"/stream", "headers": []}
        async with asyncio.timeout(5):
            await console(scope, receive, send)

    monkeypatch.setattr("signal.signal", lambda *_: None)  # for the main thread alone
    with monkeypatch.context() as taken:
        taken.setattr(streams, "_places", {place})
        awaiting.awaited(cut_off())
        assert streams._places == set()


def test_sign_ins_are_computed_one_at_a_time_and_delay_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    computing, go_on = threading.Semaphore(0), threading.Event()

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        if environ["PATH_INFO"] == "/login":
            computing.release()
            go_on.wait(20)
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"done"]

    async def flood() -> None:
        console = server.Console(application)
        tries = [asyncio.create_task(ask(console, "POST", "/login")) for _ in range(server.SIGN_INS + 1)]
        await asyncio.sleep(0.2)
        others = [ask(console, "GET", "/memory") for _ in range(10)]
        assert {status for status, _ in await asyncio.gather(*others)} == {200}
        status, headers = await ask(console, "POST", "/login")
        assert (status, headers[b"retry-after"]) == (503, b"5")
        assert computing.acquire(timeout=0)
        assert not computing.acquire(timeout=0)
        go_on.set()
        assert {status for status, _ in await asyncio.gather(*tries)} == {200}

    monkeypatch.setattr("signal.signal", lambda *_: None)  # for the main thread alone
    awaiting.awaited(flood())


def test_a_header_with_an_underscore_does_not_pass_for_one_with_a_hyphen(client: httpx.Client, key: str) -> None:
    address = "/v1/workflows/conformance-noop"
    with httpx.Client(base_url=client.base_url) as stranger:
        assert stranger.get(address, headers={"X-API-Key": key}).status_code == 200
        assert stranger.get(address, headers={"X_API_Key": key}).status_code == 401


def test_a_view_sees_the_address_of_the_client_and_what_it_sent_as_it_was_sent() -> None:
    scope = server.HEALTH | {
        "method": "POST",
        "raw_path": b"/v1/runs/%C3%A9",
        "query_string": b"a=%20",
        "server": ("10.0.0.1", 8443),
        "client": ("203.0.113.9", 51_000),
        "scheme": "https",
        "headers": [(b"content-type", b"text/plain"), (b"accept", b"a"), (b"accept", b"b"), (b"cookie", b"a=1"),
                    (b"cookie", b"b=2"), (b"x_api_key", b"forged")],
    }  # fmt: skip
    request = WSGIRequest(server.environ_of(scope) | {"wsgi.input": BytesIO()})
    assert (request.META["REMOTE_ADDR"], request.get_port(), request.is_secure()) == ("203.0.113.9", "8443", True)
    assert (request.method, request.path, request.GET["a"]) == ("POST", "/v1/runs/é", " ")
    assert (request.content_type, request.headers["accept"], request.COOKIES) == (
        "text/plain",
        "a,b",
        {"a": "1", "b": "2"},
    )
    assert "HTTP_X_API_KEY" not in request.META


def test_a_slot_goes_to_the_request_that_has_waited_longest() -> None:
    slots, served = Slots(1), list[int]()

    def wait(number: int) -> None:
        slots.take()
        served.append(number)
        slots.give()

    slots.take()
    waiting = [threading.Thread(target=wait, args=[number], daemon=True) for number in range(4)]
    for before, thread in enumerate(waiting):
        thread.start()
        while len(slots._queue) == before:
            time.sleep(0.001)
    slots.give()
    for thread in waiting:
        thread.join(20)
    assert served == [0, 1, 2, 3]
    assert not slots.is_wanted


@pytest.mark.engines
def test_the_console_ends_at_once_although_streams_are_open_and_polls_wait_and_each_is_ended_properly(
    console: ConsoleProcess, client: httpx.Client
) -> None:
    run_id = waiting_run(client)
    streams_open = open_streams(client, run_id, 20)
    answers: list[httpx.Response] = []

    def poll() -> None:
        query = {"lastSequence": 1, "timeout": 30}
        answers.append(client.get(f"/v1/runs/{run_id}/events/poll", params=query))

    polls = [threading.Thread(target=poll) for _ in range(4)]
    for each in polls:
        each.start()
    time.sleep(0.5)
    began = time.monotonic()

    assert console.terminate() == 0

    assert time.monotonic() - began < 5
    assert console.left_behind() == []
    assert all(stream.rest().endswith("0\r\n\r\n") for stream in streams_open)
    for each in polls:
        each.join(5)
    assert [answer.json() for answer in answers] == [{"events": [], "isComplete": False}] * 4
    assert "Traceback" not in console.output
