"""Readers that wait: what wakes them, what ends them, and that no number of them holds up the console."""

import os
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from typing import Any, ClassVar
from uuid import uuid4

import httpx
import psycopg
import pytest
from django.conf import settings
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from memory.host import access, event_log, ids, runs
from memory.host.errors import Busy
from memory.host.events import NodeCompleted, NodeSuspended, RunPaused
from memory.host.models import RoleGrant, Run, Stream
from memory.host.tenancy import TenantScope
from openwop_console.runtime import notifier, streaming
from openwop_console.runtime.api import streams
from openwop_console.runtime.streaming import Reading
from openwop_console.testing import plugin
from tests import building, sse
from tests.fixtures_console import ConsoleProcess

pytestmark = pytest.mark.engines

UPDATES = frozenset({"updates"})
DEBUG = frozenset({"debug"})

Follow = Callable[..., Iterator[sse.Frame]]


@pytest.fixture(autouse=True)
def _nobody_waits_any_more() -> Iterator[None]:
    """The thread that tells ends when nobody waits, and its connection with it."""
    yield
    deadline = time.monotonic() + 5
    while any(thread.name == "notifier" for thread in threading.enumerate()):
        assert time.monotonic() < deadline, "the notifier goes on although nobody waits"
        time.sleep(0.02)


@contextmanager
def bytes_of(
    scope: TenantScope, run: Run, *, buffer: float = 0, modes: frozenset[str] = UPDATES, after: int = -1
) -> Iterator[Generator[bytes, None, None]]:
    place = streaming.open_place(scope, run.id, now=timezone.now())
    reading = Reading(modes, buffer, after)
    with closing(streaming.follow(scope, place, reading, render=streams._rendered, clock=timezone.now)) as following:
        yield following
    notifier.leave(place)


@contextmanager
def following(scope: TenantScope, run: Run, **reading: object) -> Iterator[Iterator[sse.Frame]]:
    with bytes_of(scope, run, **reading) as chunks:  # type: ignore[arg-type]
        yield sse.frames(chunk.decode() for chunk in chunks)


def note(run: Run, *events: object) -> None:
    with transaction.atomic():
        runs.note(run, *events, now=timezone.now())  # type: ignore[arg-type]


def suspended() -> NodeSuspended:
    return NodeSuspended("ask", ids.wire("int", ids.new_id()), "approval", "ask")


@pytest.mark.django_db(transaction=True)
def test_who_joins_a_suspended_run_with_a_buffer_gets_the_backlog_at_once() -> None:
    owner = building.scope()
    run = building.open_run(owner)
    note(run, suspended())
    began = time.monotonic()
    with following(owner, run, buffer=5) as frames:
        assert sse.types([next(frames)]) == ["run.started", "node.suspended"]
    assert time.monotonic() - began < 4


@pytest.mark.django_db(transaction=True)
def test_a_suspension_is_told_at_once_and_anything_else_when_the_buffer_time_is_over() -> None:
    owner = building.scope()
    run = building.open_run(owner)
    with following(owner, run, buffer=1) as frames:
        next(frames)
        began = time.monotonic()
        note(run, NodeCompleted("a"))
        note(run, suspended())
        assert sse.types([next(frames)]) == ["node.completed", "node.suspended"]
        assert time.monotonic() - began < 0.8

        began = time.monotonic()
        note(run, NodeCompleted("b"))
        batch = next(frames)
        assert (batch.event, sse.types([batch])) == ("batch", ["node.completed"])
        assert time.monotonic() - began >= 0.9


@pytest.mark.django_db(transaction=True)
def test_a_stream_that_has_nothing_to_say_gives_a_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "KEEPALIVE_SECONDS", 0.2)
    owner = building.scope()
    with bytes_of(owner, building.open_run(owner), modes=frozenset({"messages"})) as chunks:
        assert [next(chunks), next(chunks)] == [b":keepalive\n\n"] * 2


def test_signs_of_life_and_looks_at_the_key_come_as_often_as_they_must() -> None:
    assert streaming.KEEPALIVE_SECONDS <= 15
    assert streaming.RECHECK_SECONDS + streaming.KEEPALIVE_SECONDS <= 30


def revoked(owner: TenantScope) -> None:
    key_id = ids.parse("key", owner.principal.id)
    assert key_id
    access.revoke_api_key(owner.tenant_id, key_id, now=timezone.now())


def without_its_role(owner: TenantScope) -> None:
    rows = RoleGrant.objects.written_by(access.WRITER).filter(tenant_id=owner.tenant_id)
    rows.filter(principal=owner.principal.id).delete()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("no_longer", [revoked, without_its_role])
def test_a_key_that_may_no_longer_read_runs_ends_its_streams(
    monkeypatch: pytest.MonkeyPatch, no_longer: Callable[[TenantScope], None]
) -> None:
    monkeypatch.setattr(streaming, "RECHECK_SECONDS", 0.3)
    owner = building.scope()
    run = building.open_run(owner)
    with following(owner, run) as frames:
        next(frames)
        no_longer(owner)
        end = threading.Timer(3, _end_and_hang_up, [run])
        end.start()
        assert list(frames) == []
        end.cancel()
        end.join()


@pytest.mark.django_db(transaction=True)
def test_a_key_that_still_may_keeps_its_stream_over_many_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "RECHECK_SECONDS", 0.1)
    owner = building.scope()
    run = building.open_run(owner)
    with following(owner, run) as frames:
        next(frames)
        threading.Timer(0.6, _note_and_hang_up, [run]).start()
        assert next(frames).event == "run.paused"


def _end_and_hang_up(run: Run) -> None:
    with transaction.atomic():
        runs.complete(run, now=timezone.now())
    connection.close()


def _note_and_hang_up(run: Run) -> None:
    note(run, RunPaused("immediate"))
    connection.close()


@pytest.mark.django_db(transaction=True)
def test_a_log_longer_than_a_page_comes_whole_as_json_and_as_a_stream(client: Client) -> None:
    owner = building.scope()
    run = building.open_run(owner)
    note(run, *(NodeCompleted(f"n{number}") for number in range(event_log.PAGE + 100)))
    with transaction.atomic():
        runs.complete(run, now=timezone.now())
    expected = [*range(event_log.PAGE + 102)]
    for buffer in (0, 5):
        with following(owner, run, buffer=buffer, modes=DEBUG) as frames:
            assert [each["sequence"] for frame in frames for each in frame.documents] == expected
    answer = client.get(f"/v1/runs/{ids.wire('run', run.id)}/events", **building.headers()).json()
    assert [event["sequence"] for event in answer["events"]] == expected
    assert answer["isComplete"] is True


@pytest.mark.django_db(transaction=True)
def test_the_lengths_of_watched_logs_are_what_the_orm_says_and_nobody_else_s() -> None:
    owners = [building.scope("acme"), building.scope("globex")]
    opened = [building.open_run(owner) for owner in owners for _ in range(2)]
    note(opened[0], RunPaused("immediate"))
    watched = {(run.tenant_id, run.id) for run in opened[:3]}
    swapped = (opened[3].tenant_id, opened[0].id)
    found = event_log.lengths({*watched, swapped} - {(opened[0].tenant_id, opened[0].id)})
    by_orm = {row.id: row.next_sequence for row in Stream.objects.filter(id__in=[run.id for run in opened[1:3]])}
    assert found == by_orm
    assert event_log.lengths(watched)[opened[0].id] == 2
    assert event_log.lengths(set()) == {}


@pytest.mark.django_db(transaction=True)
def test_a_notifier_that_cannot_look_says_so_and_looks_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(notifier, "AFTER_A_FAILURE", 0.1)
    look, failures = event_log.lengths, iter([OSError("gone"), OSError("gone")])

    def failing(watched: set[tuple[object, object]]) -> object:
        if failure := next(failures, None):
            raise failure
        return look(watched)  # type: ignore[arg-type]

    monkeypatch.setattr(event_log, "lengths", failing)
    owner = building.scope()
    run = building.open_run(owner)
    with following(owner, run) as frames:
        next(frames)
        note(run, RunPaused("immediate"))
        assert next(frames).event == "run.paused"
    assert "could not be looked at" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_beyond_the_limit_who_would_wait_is_told_when_to_come_again_and_a_closed_stream_makes_room(
    client: Client, settings: object
) -> None:
    settings.OPENWOP_MAX_STREAMS = 1  # type: ignore[attr-defined]
    headers = building.headers()
    waiting = ids.wire("run", building.open_run(building.scope()).id)

    def read(**more: Any) -> Any:
        return client.get(f"/v1/runs/{waiting}/events", **headers, **more)

    first = read(HTTP_ACCEPT=sse.STREAM)
    assert first.status_code == 200
    late = client.get(f"/v1/runs/{waiting}/events/poll", {"lastSequence": 0, "timeout": 1}, **headers)
    for refused in (read(HTTP_ACCEPT=sse.STREAM), late):
        assert (refused.status_code, refused.json()["error"]) == (503, "busy")
        assert refused["Retry-After"] == "5"
        assert refused["Content-Type"] == "application/json"
    assert read().status_code == 200
    assert client.get(f"/v1/runs/{waiting}/events/poll", **headers).status_code == 200

    first.close()

    again = read(HTTP_ACCEPT=sse.STREAM)
    assert again.status_code == 200
    again.close()


@pytest.mark.django_db(transaction=True)
def test_a_stream_is_opened_by_those_who_may_read_runs_and_for_runs_of_their_tenant(client: Client) -> None:
    owner = building.scope()
    address = f"/v1/runs/{ids.wire('run', building.open_run(owner).id)}/events"
    for accept in (sse.STREAM, "application/json"):
        foreign = client.get(address, HTTP_ACCEPT=accept, **building.headers("globex"))
        assert (foreign.status_code, foreign.json()["error"]) == (404, "not_found")
        unfit = client.get(address, HTTP_ACCEPT=accept, **building.headers(role="auditor"))
        assert (unfit.status_code, unfit.json()["details"]["requiredScope"]) == (403, "runs:read")
        assert client.get(address, HTTP_ACCEPT=accept).status_code == 401


# --- a real console -----------------------------------------------------------------------------------------------


@pytest.fixture
def owner(console_process: ConsoleProcess) -> Callable[..., httpx.Client]:
    """``owner(OPENWOP_MAX_STREAMS="2")``: a client of a console that was started so."""

    def started(**environment: str) -> httpx.Client:
        console_process.start("--web-processes", "2", **environment)
        console_process.manage("create_tenant", "acme")
        made = console_process.manage("create_api_key", "--tenant", "acme", "--role", "owner")
        return httpx.Client(base_url=console_process.url, headers={"X-API-Key": made.stdout.strip()}, timeout=30)

    return started


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


def test_two_hundred_streams_hold_nobody_up_keep_no_connections_and_all_hear_of_the_end(
    console_process: ConsoleProcess, owner: Callable[..., httpx.Client]
) -> None:
    with owner() as client:
        run_id = waiting_run(client)
        streams_open = open_streams(client, run_id, 200)

        took = []
        for _ in range(30):
            began = time.monotonic()
            assert client.get("/v1/host/console/memory", params={"limit": 50}).status_code == 200
            took.append(time.monotonic() - began)
        assert max(took) < 2
        assert sum(took) < 10
        assert connections_of(console_process) <= 2 * (settings.OPENWOP_WEB_THREADS + 2) + 20

        assert client.post(f"/v1/runs/{run_id}/cancel").status_code == 200
        began = time.monotonic()
        ended = [stream.rest() for stream in streams_open]
        assert time.monotonic() - began < 10
    assert all(text.count("event: run.cancelled") == 1 and text.endswith("0\r\n\r\n") for text in ended)


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


def test_streams_that_ended_leave_a_process_with_few_connections(
    console_process: ConsoleProcess, owner: Callable[..., httpx.Client]
) -> None:
    with owner() as client:
        run_id = waiting_run(client)
        streams_open = open_streams(client, run_id, 100)
        client.post(f"/v1/runs/{run_id}/cancel")
        for stream in streams_open:
            stream.rest()
            stream.close()
        for _ in range(150):
            client.get(f"/v1/runs/{run_id}", headers={"Connection": "close"})
        assert connections_of(console_process) <= 2 * (settings.OPENWOP_WEB_THREADS + 2) + 20


def test_the_console_ends_at_once_although_streams_are_open_and_polls_wait_and_each_is_ended_properly(
    console_process: ConsoleProcess, owner: Callable[..., httpx.Client]
) -> None:
    with owner() as client:
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

        assert console_process.terminate() == 0

        assert time.monotonic() - began < 5
        assert console_process.left_behind() == []
        assert all(stream.rest().endswith("0\r\n\r\n") for stream in streams_open)
        for each in polls:
            each.join(5)
    assert [answer.json() for answer in answers] == [{"events": [], "isComplete": False}] * 4
    assert "Traceback" not in console_process.output


def test_a_client_that_goes_away_without_a_word_makes_room_for_another(
    console_process: ConsoleProcess, owner: Callable[..., httpx.Client]
) -> None:
    with owner(OPENWOP_MAX_STREAMS="2") as client:
        run_id = waiting_run(client)
        streams_open: list[RawStream] = []
        refused: list[RawStream] = []
        for _ in range(20):
            stream = RawStream(client, run_id)
            (streams_open if stream.status == 200 else refused).append(stream)
        assert len(streams_open) == 2 * 2
        assert all("retry-after: 5\r\n" in each.head.lower() for each in refused)
        for stream in streams_open:
            stream.close()
        began = time.monotonic()
        open_streams(client, run_id, 2)
        assert time.monotonic() - began < 12 * streaming.KEEPALIVE_SECONDS
    assert "Traceback" not in console_process.output


def test_one_tenant_leaves_places_for_the_others(settings: Any) -> None:
    settings.OPENWOP_MAX_STREAMS = 10
    acme, globex = uuid4(), uuid4()
    held = [notifier.take_place(acme, uuid4()) for _ in range(9)]
    try:
        with pytest.raises(Busy):
            notifier.take_place(acme, uuid4())
        held.append(notifier.take_place(globex, uuid4()))
    finally:
        for place in held:
            notifier.leave(place)
