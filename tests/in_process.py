"""The application in the test's own process, spoken to over HTTP through every middleware, and a worker beside it.

A worker and the clock carry out what is due whenever a client reads, and whenever a seam waits for it: nothing sleeps
that a test does not ask to sleep. All of it happens in the test's own transaction, which is rolled back.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from functools import cache
from types import SimpleNamespace
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

import httpx
import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, connection
from django.test import override_settings
from django.utils import timezone
from pytest_django.fixtures import Settings

from openwop_console.process import scheduler
from openwop_console.test_seams import memory, runs
from tests.fixtures_queue import Drain

# Fixtures that give a host: in process, or as a real console where the test is marked ``console``.
HOSTS = {"host", "seamed", "served"}
URL = "http://console.test"
# How often a worker looks at the clock.
TICK = timedelta(seconds=scheduler.EVERY)
T = TypeVar("T")


class Application(httpx.BaseTransport):
    """A transport of ``httpx`` that leads to the console of this process."""

    def __init__(self, work: Callable[[], int], **settings: Any) -> None:
        self._work = work
        self._settings = settings

    def with_settings(self, **settings: Any) -> "Application":
        """The same console, which answers with these settings."""
        return Application(self._work, **settings)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            self._work()
        with override_settings(**self._settings):
            return _answer(request)


class Crossing(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """The same console for coroutines and for threads, whose requests are answered in the thread of the test: that one
    has the database."""

    def __init__(self, application: Application) -> None:
        self._application, self._home = application, threading.current_thread()
        self._asked: queue.Queue[tuple[httpx.Request, Future[httpx.Response]] | None] = queue.Queue()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._application.handle_request(request) if self._is_home() else self._cross(request).result()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        answer = await asyncio.wrap_future(self._cross(request))
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.read())

    def run(self, work: Callable[[], T]) -> T:
        """What ``work`` comes to in a thread of its own, while this one answers it."""
        with ThreadPoolExecutor(max_workers=1) as aside:
            done = aside.submit(work)
            done.add_done_callback(lambda _: self._asked.put(None))
            while (asked := self._asked.get()) is not None:
                request, answer = asked
                try:
                    answer.set_result(self._application.handle_request(request))
                except Exception as problem:  # noqa: BLE001  # it belongs to whoever asked
                    answer.set_exception(problem)
            return done.result()

    def _is_home(self) -> bool:
        return threading.current_thread() is self._home

    def _cross(self, request: httpx.Request) -> Future[httpx.Response]:
        answer: Future[httpx.Response] = Future()
        self._asked.put((request, answer))
        return answer


class Done:
    """Whether everything that is due was carried out: until a row changes or the clock ticks, nothing more can be due.

    SQLite counts the rows that a connection has changed. PostgreSQL does not, and there it is never known.
    """

    def __init__(self) -> None:
        self._changes: tuple[Any, int] | None = None
        self._at = timezone.now()

    def is_all(self) -> bool:
        was_just_now = timedelta() <= timezone.now() - self._at < TICK
        return was_just_now and self._changes is not None and self._changes == self._counted()

    def mark(self) -> None:
        self._changes, self._at = self._counted(), timezone.now()

    def _counted(self) -> tuple[Any, int] | None:
        driver = connection.connection
        return (driver, driver.total_changes) if driver and connection.vendor == "sqlite" else None


@cache
def _console() -> WSGIHandler:
    """Made once: its middleware reads no setting before a request comes."""
    return get_wsgi_application()


def _answer(request: httpx.Request) -> httpx.Response:
    """The console's answer. ``WSGITransport`` takes nothing but ASCII, so the path and the headers go past it, as
    PEP 3333 has them: bytes of any kind, read as Latin-1."""
    named = ((name.decode().upper().replace("-", "_"), value.decode("latin-1")) for name, value in request.headers.raw)
    sent = {name if name.startswith("CONTENT_") else f"HTTP_{name}": value for name, value in named}
    sent["PATH_INFO"] = unquote_to_bytes(request.url.raw_path.partition(b"?")[0]).decode("latin-1")
    console = httpx.WSGITransport(lambda environ, start: _console()(environ | sent, start))
    return console.handle_request(httpx.Request(request.method, request.url, content=request.read()))


@pytest.fixture
def application(drain: Drain, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Application]:
    """The console, in process. Its requests leave the test's connection open, as Django's own test client does. The
    clock ticks as often as a worker's, and it has looked at the commitments just before the test."""

    due, done, ticked = scheduler.Scheduler(last=timezone.now()), Done(), timezone.now() - TICK

    def work(_: float = 0) -> int:
        nonlocal ticked
        if done.is_all():
            return 0
        if not timedelta() <= timezone.now() - ticked < TICK:
            ticked = timezone.now()
            due.tick(ticked)
        ran = drain(may_fail=True)
        done.mark()
        return ran

    settings.ALLOWED_HOSTS = ["console.test"]
    for seam in (runs, memory):
        monkeypatch.setattr(seam, "time", SimpleNamespace(monotonic=time.monotonic, sleep=work))
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield Application(work)
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What speaks to a host needs a database here, unless the host is a console with a database of its own."""
    for item in items:
        if HOSTS & set(getattr(item, "fixturenames", ())) and not item.get_closest_marker("console"):
            item.add_marker(pytest.mark.django_db)
