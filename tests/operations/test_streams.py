"""Readers that wait: what wakes them, what ends them, and that no number of them holds up the console."""

import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory.host import access, api_keys, event_log, ids, runs
from memory.host.errors import Busy, Unauthenticated
from memory.host.events import NodeCompleted, NodeSuspended, RunPaused
from memory.host.models import Operator, RoleGrant, Run, Stream
from memory.host.tenancy import TenantScope
from openwop_console.runtime import streams as runtime_streams
from openwop_console.runtime.api import streams
from openwop_console.runtime.streams import Reading
from tests import building, sse

pytestmark = pytest.mark.engines

UPDATES = frozenset({"updates"})
DEBUG = frozenset({"debug"})

Follow = Callable[..., Iterator[sse.Frame]]


@contextmanager
def bytes_of(
    scope: TenantScope, run: Run, *, buffer: float = 0, modes: frozenset[str] = UPDATES, after: int = -1
) -> Iterator[Generator[bytes, None, None]]:
    place = runtime_streams.open_place(scope, run.id, now=timezone.now())
    reading = Reading(modes, buffer, after)
    with closing(
        runtime_streams.follow(scope, place, reading, render=streams._rendered, clock=timezone.now)
    ) as following:
        yield following
    runtime_streams.leave(place)


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
    monkeypatch.setattr(runtime_streams, "KEEPALIVE_SECONDS", 0.2)
    owner = building.scope()
    with bytes_of(owner, building.open_run(owner), modes=frozenset({"messages"})) as chunks:
        assert [next(chunks), next(chunks)] == [b":keepalive\n\n"] * 2


def test_signs_of_life_and_looks_at_the_key_come_as_often_as_they_must() -> None:
    assert runtime_streams.KEEPALIVE_SECONDS <= 15
    assert runtime_streams.RECHECK_SECONDS + runtime_streams.KEEPALIVE_SECONDS <= 30


def revoked(owner: TenantScope) -> None:
    key_id = ids.parse("key", owner.principal.id)
    assert key_id
    api_keys.revoke_api_key(owner.tenant_id, key_id, now=timezone.now())


def without_its_role(owner: TenantScope) -> None:
    rows = RoleGrant.objects.written_by(access.WRITER).filter(tenant_id=owner.tenant_id)
    rows.filter(principal=owner.principal.id).delete()


def with_less(owner: TenantScope) -> None:
    access.replace_roles(owner.tenant_id, owner.principal.id, "author", now=timezone.now())


def of_a_person_with_less(owner: TenantScope) -> None:
    access.replace_roles(owner.tenant_id, owner.principal.owner, "viewer", now=timezone.now())


def of_a_deactivated_person(owner: TenantScope) -> None:
    building.deactivate(Operator.objects.get(id=building.id_of("usr", owner.principal.owner)))


WAYS_TO_LOSE = [revoked, without_its_role, with_less, of_a_person_with_less, of_a_deactivated_person]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("no_longer", WAYS_TO_LOSE)
@pytest.mark.parametrize("buffer", [0, 0.1])
def test_a_stream_sends_nothing_that_is_written_after_its_key_gives_less(
    no_longer: Callable[[TenantScope], None], buffer: float
) -> None:
    reader = building.scope(owner=building.operator())
    run = building.open_run(reader)
    with following(reader, run, buffer=buffer) as frames:
        next(frames)
        no_longer(reader)
        note(run, RunPaused("immediate"))
        assert list(frames) == []


@pytest.mark.django_db(transaction=True)
def test_a_stream_ends_within_seconds_when_its_key_gives_less_and_nothing_happens() -> None:
    reader = building.scope()
    run = building.open_run(reader)
    with following(reader, run) as frames:
        next(frames)
        with_less(reader)
        began = time.monotonic()
        assert list(frames) == []
        assert time.monotonic() - began < runtime_streams.KEEPALIVE_SECONDS


@pytest.mark.django_db(transaction=True)
def test_a_key_that_gives_more_than_before_keeps_its_stream() -> None:
    reader = building.scope(role="author")
    run = building.open_run(reader)
    with following(reader, run) as frames:
        next(frames)
        access.grant_role(reader.tenant_id, reader.principal.id, "operator", now=timezone.now())
        note(run, RunPaused("immediate"))
        assert next(frames).event == "run.paused"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("no_longer", WAYS_TO_LOSE)
def test_a_long_poll_is_refused_what_is_written_after_its_key_gives_less(
    monkeypatch: pytest.MonkeyPatch, no_longer: Callable[[TenantScope], None]
) -> None:
    reader = building.scope(owner=building.operator())
    run = building.open_run(reader)

    def meanwhile(place: runtime_streams.Place, *, seen: int, seconds: float) -> bool:
        no_longer(reader)
        note(run, RunPaused("immediate"))
        return True

    monkeypatch.setattr(runtime_streams, "wait", meanwhile)
    with pytest.raises(Unauthenticated):
        runtime_streams.await_events(reader, run.id, after=0, seconds=5, now=timezone.now())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("no_longer", [revoked, without_its_role])
def test_a_key_that_may_no_longer_read_runs_ends_its_streams(
    monkeypatch: pytest.MonkeyPatch, no_longer: Callable[[TenantScope], None]
) -> None:
    monkeypatch.setattr(runtime_streams, "RECHECK_SECONDS", 0.3)
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
    monkeypatch.setattr(runtime_streams, "RECHECK_SECONDS", 0.1)
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
    monkeypatch.setattr(runtime_streams, "AFTER_A_FAILURE", 0.1)
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
def test_the_notifier_stays_a_while_for_the_next_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_streams, "LINGER", 2.0)
    monkeypatch.setattr(runtime_streams, "EVERY", 0.01)
    threads: set[threading.Thread] = set()
    look = event_log.lengths

    def noted(watched: set[tuple[Any, Any]]) -> Any:
        threads.add(threading.current_thread())
        return look(watched)

    monkeypatch.setattr(event_log, "lengths", noted)
    run = building.open_run(building.scope())
    for _ in range(2):
        with runtime_streams.a_place(run.tenant_id, run.id) as place:
            assert runtime_streams.wait(place, seen=0, seconds=5)
        time.sleep(0.3)  # the notifier sees that nobody waits
    assert len(threads) == 1


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


def test_one_tenant_leaves_places_for_the_others(settings: Settings) -> None:
    settings.OPENWOP_MAX_STREAMS = 10
    acme, globex = uuid4(), uuid4()
    held = [runtime_streams.take_place(acme, uuid4()) for _ in range(9)]
    try:
        with pytest.raises(Busy):
            runtime_streams.take_place(acme, uuid4())
        held.append(runtime_streams.take_place(globex, uuid4()))
    finally:
        for place in held:
            runtime_streams.leave(place)


@pytest.mark.django_db
def test_one_key_leaves_places_for_the_other_keys_of_its_tenant(settings: Settings) -> None:
    settings.OPENWOP_MAX_STREAMS = 20
    one, other = (building.scope().principal for _ in range(2))
    held = [runtime_streams.take_place(one.tenant_id, uuid4(), one) for _ in range(17)]
    try:
        with pytest.raises(Busy, match="of one key"):
            runtime_streams.take_place(one.tenant_id, uuid4(), one)
        held.append(runtime_streams.take_place(one.tenant_id, uuid4(), other))
    finally:
        for place in held:
            runtime_streams.leave(place)
