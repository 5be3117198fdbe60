"""kill -9 of a console with schedules: every tick is one run, whenever the kill came, and an outage is one catch-up."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.fixtures_console import ConsoleProcess

URL = "/v1/host/console/schedules"
SCHEDULES = 20


@pytest.fixture
def client(console_process: ConsoleProcess) -> Iterator[httpx.Client]:
    console_process.start()
    console_process.manage("create_tenant", "acme")
    key = console_process.manage("create_api_key", "--tenant", "acme", "--role", "owner").stdout.strip()
    with httpx.Client(base_url=console_process.url, headers={"X-API-Key": key}, timeout=30) as client:
        yield client


def schedule(client: httpx.Client, name: str, *, seconds: float) -> None:
    at = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
    made = client.post(URL, json={"name": name, "workflowId": "conformance-noop", "at": at})
    assert made.status_code == 201, made.text


def ticks(client: httpx.Client, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"{URL}/{name}/ticks").json()["ticks"]
    return found


def all_fired(client: httpx.Client, names: list[str], seconds: float = 30) -> dict[str, list[dict[str, Any]]]:
    deadline = time.monotonic() + seconds
    while not all(found := {name: ticks(client, name) for name in names}.values()):
        assert time.monotonic() < deadline, found
        time.sleep(0.2)
    return {name: ticks(client, name) for name in names}


def completed(client: httpx.Client, run_id: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while client.get(f"/v1/runs/{run_id}").json()["status"] != "completed":
        assert time.monotonic() < deadline, run_id
        time.sleep(0.2)


def started(console_process: ConsoleProcess) -> int:
    """How many runs there are at all, asked of the database."""
    question = "from memory.host.models import Run; print(Run.objects.filter(workflow_id='conformance-noop').count())"
    answer = console_process.manage("shell", "--no-imports", "-c", question)
    assert answer.returncode == 0, answer.stderr
    return int(answer.stdout.split()[-1])


def test_a_kill_in_the_middle_of_firing_loses_no_tick_and_doubles_none(
    console_process: ConsoleProcess, client: httpx.Client
) -> None:
    names = [f"s{number}" for number in range(SCHEDULES)]
    for number, name in enumerate(names):
        schedule(client, name, seconds=6 + number * 0.2)
    while not ticks(client, names[0]):
        time.sleep(0.01)
    console_process.kill()
    assert 0 < started(console_process) < SCHEDULES, "the kill came too late to prove anything"

    console_process.start()
    fired = all_fired(client, names)

    assert {len(found) for found in fired.values()} == {1}
    runs = {found[0]["runId"] for found in fired.values()}
    assert len(runs) == SCHEDULES == started(console_process)
    for run_id in runs:
        completed(client, run_id)


def test_ticks_missed_while_nothing_ran_are_caught_up_with_once(
    console_process: ConsoleProcess, client: httpx.Client
) -> None:
    schedule(client, "late", seconds=1.5)
    console_process.kill()
    time.sleep(2)

    console_process.start()
    [tick] = all_fired(client, ["late"])["late"]

    assert (tick["outcome"], tick["missed"]) == ("fired", 0)
    completed(client, tick["runId"])
    time.sleep(1)
    assert (len(ticks(client, "late")), started(console_process)) == (1, 1)
    assert client.get(f"{URL}/late").json()["nextTick"] is None
