"""kill -9 of the whole group in the middle of runs: nothing acknowledged is lost or doubled, and everything ends."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import building
from tests.fixtures_console import ConsoleProcess

pytestmark = pytest.mark.engines

RUNS = 24
STEPS = 4


def memory_flow() -> dict[str, Any]:
    """Four writes with a little wait between each, so that a kill finds runs at every stage."""
    nodes = []
    for number in range(1, STEPS + 1):
        nodes.append(building.remember_node(f"{{{{label}}}} step {number}", node_id=f"write-{number}", tags=["crash"]))
        nodes[-1]["inputs"] = {"label": building.from_input("label")}
        nodes.append(building.node(f"wait-{number}", "core.delay", {"delayMs": 150}))
    return building.definition("crash-flow", *nodes)


@pytest.fixture
def client(console_process: ConsoleProcess, tmp_path: Path) -> Iterator[httpx.Client]:
    file = tmp_path / "flow.json"
    file.write_text(json.dumps(memory_flow()))
    console_process.start()
    console_process.manage("create_tenant", "acme")
    installed = console_process.manage("install_workflow", str(file), "--tenant", "acme")
    assert installed.returncode == 0, installed.stderr
    key = console_process.manage("create_api_key", "--tenant", "acme", "--role", "owner").stdout.strip()
    with httpx.Client(base_url=console_process.url, headers={"X-API-Key": key}, timeout=30) as client:
        yield client


def create(client: httpx.Client, label: str) -> str:
    """The id of a new run; asked for again where SQLite's one writer was busy for too long, as the 503 says."""
    for _ in range(10):
        created = client.post("/v1/runs", json={"workflowId": "crash-flow", "inputs": {"label": label}})
        if created.status_code != 503:
            break
        time.sleep(int(created.headers["Retry-After"]))
    assert created.status_code == 201, created.text
    run_id: str = created.json()["runId"]
    return run_id


def written(client: httpx.Client, run_id: str) -> list[str]:
    events = client.get(f"/v1/runs/{run_id}/events").json()["events"]
    return [event["payload"]["memoryId"] for event in events if event["type"] == "memory.written"]


def ended(client: httpx.Client, run_ids: list[str], seconds: float = 90) -> dict[str, dict[str, Any]]:
    deadline = time.monotonic() + seconds
    while True:
        snapshots = {run_id: client.get(f"/v1/runs/{run_id}").json() for run_id in run_ids}
        open_ones = [each["status"] for each in snapshots.values() if each["status"] not in {"completed", "failed"}]
        if not open_ones:
            return snapshots
        assert time.monotonic() < deadline, open_ones
        time.sleep(0.3)


def test_after_a_kill_no_write_is_lost_or_doubled_and_every_run_ends(
    console_process: ConsoleProcess, client: httpx.Client
) -> None:
    runs = [create(client, f"run {number}") for number in range(RUNS)]
    time.sleep(1.0)
    before = {run_id: written(client, run_id) for run_id in runs}
    console_process.kill()

    console_process.start()
    snapshots = ended(client, runs)

    stages = {len(entries) for entries in before.values()}
    assert stages - {STEPS}, "the kill came too late to prove anything"
    for run_id, snapshot in snapshots.items():
        after = written(client, run_id)
        assert after[: len(before[run_id])] == before[run_id], "an acknowledged write is lost"
        listed = client.get("/v1/host/console/memory", params={"runId": run_id}).json()
        assert [entry["id"] for entry in reversed(listed["entries"])] == after
        texts = [entry["content"] for entry in listed["entries"]]
        assert len(set(texts)) == len(texts), "a write is doubled"
        assert snapshot["status"] == "completed" or snapshot["error"]["code"]
        assert snapshot["status"] != "completed" or len(after) == STEPS
        types = [event["type"] for event in client.get(f"/v1/runs/{run_id}/events").json()["events"]]
        assert types[-1] in {"run.completed", "run.failed"}
        assert sum(kind in {"run.completed", "run.failed"} for kind in types) == 1


def test_a_console_that_is_asked_to_end_in_the_middle_goes_on_where_it_was(
    console_process: ConsoleProcess, client: httpx.Client
) -> None:
    runs = [create(client, f"run {number}") for number in range(6)]
    assert console_process.terminate() == 0
    assert console_process.left_behind() == []
    console_process.start()
    assert {snapshot["status"] for snapshot in ended(client, runs).values()} == {"completed"}
    assert [len(written(client, run_id)) for run_id in runs] == [STEPS] * 6
