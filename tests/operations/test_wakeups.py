"""Whoever waits for tasks or events is woken when there are some, and looks by itself when it is not."""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from django_q.tasks import async_task
from pytest_django.fixtures import Settings

from memory.host import sql, wakeups
from memory.host.wakeups import Topic, Waiter
from openwop_console.process import queue
from openwop_console.process.queue import Queue
from openwop_console.runtime import run_operations, streams
from openwop_console.runtime.run_operations import RunRequest
from tests import building

pytestmark = [pytest.mark.engines, pytest.mark.django_db(transaction=True)]

LONG = 20.0


@contextmanager
def aside(work: Callable[[threading.Event], Any]) -> Iterator[Future[Any]]:
    """``work`` goes on in a thread with a connection of its own; the block begins when it says that it is ready."""
    ready = threading.Event()

    def in_thread() -> Any:
        try:
            return work(ready)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        result = threads.submit(in_thread)
        assert ready.wait(LONG)
        yield result


def await_wake(topic: Topic, seconds: float = LONG) -> Callable[[threading.Event], bool]:
    def wait(ready: threading.Event) -> bool:
        waiter = Waiter(topic)
        waiter.wait(0)  # it begins to listen
        ready.set()
        woken = waiter.wait(seconds)
        waiter.close()
        return woken

    return wait


def test_a_wake_comes_when_its_transaction_commits_and_not_before() -> None:
    with aside(await_wake(Topic.EVENTS)) as woken:
        with transaction.atomic():
            wakeups.wake(Topic.EVENTS)
            time.sleep(0.3)
            assert not woken.done()
        assert woken.result(LONG / 2)


def test_a_transaction_that_is_rolled_back_and_another_topic_wake_nobody() -> None:
    with aside(await_wake(Topic.EVENTS, seconds=0.5)) as woken:
        with transaction.atomic():
            wakeups.wake(Topic.EVENTS)
            transaction.set_rollback(True)
        wakeups.wake(Topic.TASKS)
        assert woken.result() is False


def test_everybody_who_waits_is_woken() -> None:
    with aside(await_wake(Topic.EVENTS)) as one, aside(await_wake(Topic.EVENTS)) as other:
        wakeups.wake(Topic.EVENTS)
        assert one.result(LONG / 2)
        assert other.result(LONG / 2)


def test_a_waiter_that_was_killed_leaves_no_pipe_behind(settings: Settings, tmp_path: Path) -> None:
    if sql.is_postgres():
        pytest.skip("PostgreSQL knows who is gone")
    settings.OPENWOP_DATA_DIR = tmp_path
    left = tmp_path / wakeups.FOLDER / f"{Topic.EVENTS}.1.1"
    left.parent.mkdir()
    os.mkfifo(left)
    wakeups.wake(Topic.EVENTS)
    assert not left.exists()


def test_what_was_committed_stands_when_a_waiter_is_killed_as_it_is_woken(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sql.is_postgres():
        pytest.skip("PostgreSQL knows who is gone")
    settings.OPENWOP_DATA_DIR = tmp_path
    waiter, write, failed = Waiter(Topic.EVENTS), os.write, []
    waiter.wait(0)

    def write_to_nobody(pipe: int, data: bytes) -> int:
        waiter.close()
        try:
            return write(pipe, data)
        except OSError as problem:
            failed.append(problem)
            raise

    monkeypatch.setattr(os, "write", write_to_nobody)
    wakeups.wake(Topic.EVENTS)
    assert len(failed) == 1, "the waiter was to be woken, and was gone"


def test_a_worker_fetches_a_task_as_soon_as_it_is_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(ready: threading.Event) -> Any:
        broker = Queue()
        assert not broker.dequeue()  # it begins to listen
        ready.set()
        return broker.dequeue() or broker.dequeue()

    monkeypatch.setattr(queue, "EVERY", LONG)
    with aside(fetch) as fetched:
        time.sleep(0.2)
        with transaction.atomic():
            async_task("memory.tasks.sweep")
        assert fetched.result(LONG / 2)


@pytest.mark.only_db("sqlite")
def test_a_worker_that_finds_the_database_locked_fetches_the_task_afterwards(caplog: pytest.LogCaptureFixture) -> None:
    async_task("memory.tasks.sweep")
    holder = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 50")
    broker = Queue()

    assert not broker.dequeue()
    holder.close()

    assert broker.dequeue()
    assert "No task was fetched: database is locked" in caplog.text
    connection.close()  # with its patience


def test_who_waits_for_a_run_is_woken_when_a_worker_has_advanced_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def follow(ready: threading.Event) -> bool:
        with streams.a_place(run.tenant_id, run.id) as place:
            streams.wait(place, seen=0, seconds=0.3)  # the notifier has looked, and listens
            ready.set()
            return streams.wait(place, seen=0, seconds=LONG)

    monkeypatch.setattr(streams, "EVERY", LONG)
    monkeypatch.setattr(streams, "PAUSE", 0.0)
    run = run_operations.create_run(building.scope(), RunRequest("conformance-noop"), now=timezone.now())
    with aside(follow) as woken:
        building.advance(run)
        assert woken.result(LONG / 2)
    wakeups.wake(Topic.EVENTS)  # so that the notifier sees at once that nobody waits any more
