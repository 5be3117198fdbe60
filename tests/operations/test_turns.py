"""Requests take turns, and one that waits keeps nobody waiting."""

import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.db import connection

from openwop_console import databases, turns
from tests.fixtures_console import ConsoleProcess


def test_one_request_is_served_at_a_time() -> None:
    inside: list[int] = []
    seen: list[int] = []

    def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        inside.append(1)
        time.sleep(0.02)
        seen.append(len(inside))
        inside.pop()
        return []

    serve(turns.taking_turns(application), 4)
    assert seen == [1, 1, 1, 1]


def test_who_waits_aside_lets_the_others_pass_and_has_its_turn_again() -> None:
    done: list[str] = []

    def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ["n"] == 0:
            with turns.aside():
                time.sleep(0.3)
        done.append(str(environ["n"]))
        return []

    serve(turns.taking_turns(application), 3)
    assert done[-1] == "0"
    assert sorted(done) == ["0", "1", "2"]


def test_long_work_lets_the_others_pass_between_its_parts() -> None:
    done: list[str] = []

    def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        for _ in range(50 if environ["n"] == 0 else 0):
            time.sleep(0.005)
            turns.breathe()
        done.append(str(environ["n"]))
        return []

    serve(turns.taking_turns(application), 3)
    assert done[-1] == "0"


@pytest.mark.only_db("sqlite")
@pytest.mark.django_db(transaction=True)
def test_a_connection_goes_on_with_the_turn_from_thread_to_thread() -> None:
    seen: list[Any] = []

    def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        connection.ensure_connection()
        seen.append(connection.connection)
        if environ["n"] == 0:
            with turns.aside():
                time.sleep(0.2)
            connection.ensure_connection()
            seen.append(connection.connection)
        return []

    serve(turns.taking_turns(application), 8)
    assert len(seen) == 9
    assert len({id(each) for each in seen}) == 1
    while turns._left:
        turns._left.pop().close()


def test_the_web_process_alone_has_a_pool_and_keeps_no_connection_of_postgresql_beside_it() -> None:
    given = {"ENGINE": "django.db.backends.postgresql", "NAME": "console"}
    opened = {
        is_web: databases.with_options(given, base=Path("/"), folder=Path("/"), is_web=is_web)
        for is_web in (True, False)
    }
    assert opened[True]["CONN_MAX_AGE"] == 0
    assert 4 <= opened[True]["OPTIONS"]["pool"]["max_size"] <= 8
    assert opened[False]["CONN_MAX_AGE"] > 0
    assert "pool" not in opened[False]["OPTIONS"]


def serve(application: turns.Application, requests: int) -> None:
    threads = [threading.Thread(target=application, args=({"n": number}, None)) for number in range(requests)]
    for thread in threads:
        thread.start()
        time.sleep(0.01)
    for thread in threads:
        thread.join()


def test_outside_a_request_stepping_aside_is_nothing() -> None:
    with turns.aside():
        pass


def test_long_polls_do_not_keep_the_console_from_answering(console_process: ConsoleProcess) -> None:
    console_process.start()
    console_process.manage("create_tenant", "acme")
    key = console_process.manage("create_api_key", "--tenant", "acme", "--role", "owner").stdout.strip()
    with httpx.Client(base_url=console_process.url, headers={"X-API-Key": key}, timeout=60) as client:
        created = client.post("/v1/runs", json={"workflowId": "conformance-delay", "inputs": {"delayMs": 6000}}).json()
        time.sleep(1.5)

        def poll() -> None:
            with httpx.Client(base_url=console_process.url, headers={"X-API-Key": key}, timeout=60) as mine:
                mine.get(f"/v1/runs/{created['runId']}/events/poll", params={"lastSequence": 1, "timeout": 4})

        waiting = [threading.Thread(target=poll) for _ in range(12)]
        for thread in waiting:
            thread.start()
        time.sleep(0.5)
        started = time.monotonic()
        assert client.get("/healthz").status_code == 200
        assert client.get("/v1/workflows/conformance-noop").status_code == 200
        took = time.monotonic() - started
        assert all(thread.is_alive() for thread in waiting), "the polls were over before anything was shown"
        for thread in waiting:
            thread.join()
    assert took < 3
