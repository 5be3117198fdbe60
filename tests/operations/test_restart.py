"""kill -9 while runs wait, sleep, are paused, and something is scheduled: all of it is there afterwards, and once."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests.fixtures_console import ConsoleProcess

PROMPT = {
    "templateId": "restart.summary",
    "version": "1.0.0",
    "kind": "system",
    "text": "Summarise {{ticket}}.",
    "variables": [{"name": "ticket", "type": "string", "required": True}],
}


@pytest.fixture
def clients(console_process: ConsoleProcess) -> Iterator[dict[str, httpx.Client]]:
    """A client for an owner and one for a reviewer, of one tenant."""
    console_process.start()
    console_process.manage("create_tenant", "acme")
    opened = {}
    for role in ("owner", "reviewer"):
        key = console_process.manage("create_api_key", "--tenant", "acme", "--role", role).stdout.strip()
        opened[role] = httpx.Client(base_url=console_process.url, headers={"X-API-Key": key}, timeout=30)
    yield opened
    for client in opened.values():
        client.close()


def create(client: httpx.Client, workflow_id: str, **body: object) -> str:
    created = client.post("/v1/runs", json={"workflowId": workflow_id, **body})
    assert created.status_code == 201, created.text
    run_id: str = created.json()["runId"]
    return run_id


def until(client: httpx.Client, run_id: str, *statuses: str, seconds: float = 30) -> dict:
    deadline = time.monotonic() + seconds
    while (snapshot := client.get(f"/v1/runs/{run_id}").json())["status"] not in statuses:
        assert time.monotonic() < deadline, snapshot
        time.sleep(0.1)
    return snapshot


def types_of(client: httpx.Client, run_id: str) -> list[str]:
    return [event["type"] for event in client.get(f"/v1/runs/{run_id}/events").json()["events"]]


def test_after_a_kill_everything_that_waited_still_waits_and_what_was_due_happens_once(
    console_process: ConsoleProcess, clients: dict[str, httpx.Client]
) -> None:
    owner, reviewer = clients["owner"], clients["reviewer"]
    gate = create(owner, "conformance-approval")
    until(owner, gate, "waiting-approval")
    asked = create(owner, "conformance-clarification")
    until(owner, asked, "waiting-input")
    asleep = create(owner, "conformance-delay", inputs={"delayMs": 5000})
    paused = create(owner, "conformance-delay", inputs={"delayMs": 500})
    owner.post(f"/v1/runs/{paused}:pause", json={"drainPolicy": "immediate"})
    at = (datetime.now(UTC) + timedelta(seconds=4)).isoformat()
    order = {"name": "once", "workflowId": "conformance-noop", "at": at}
    made = owner.post("/v1/host/console/schedules", json=order)
    assert made.status_code == 201, made.text
    proposal = {"kind": "prompt-template", "artifact": PROMPT, "title": "Shorter", "rationale": "Too long."}
    proposed = owner.post("/v1/host/console/proposals", json=proposal).json()["id"]
    pending = owner.post(f"/v1/host/sample/proposals/{proposed}/apply").json()
    console_process.kill()
    time.sleep(4)
    console_process.start()

    assert until(owner, asleep, "completed")["status"] == "completed"
    assert types_of(owner, asleep).count("node.completed") == 1
    assert owner.get(f"/v1/runs/{paused}").json()["status"] == "paused"
    owner.post(f"/v1/runs/{paused}:resume")
    until(owner, paused, "completed")

    accepted = owner.post(f"/v1/runs/{gate}/interrupts/gate", json={"resumeValue": {"action": "accept"}})
    assert accepted.status_code == 200, accepted.text
    until(owner, gate, "completed")
    answered = owner.post(f"/v1/runs/{asked}/interrupts/ask", json={"resumeValue": {"answers": {"q1": "blue"}}})
    assert answered.status_code == 200, answered.text
    until(owner, asked, "completed")

    voted = reviewer.post(
        f"/v1/runs/{pending['runId']}/interrupts/{pending['nodeId']}", json={"resumeValue": {"decision": "granted"}}
    )
    assert voted.status_code == 200, voted.text
    until(reviewer, pending["runId"], "completed")
    assert types_of(owner, pending["runId"]).count("proposal.activated") == 1
    ticks = owner.get("/v1/host/console/schedules/once/ticks").json()["ticks"]
    assert len(ticks) == 1
    until(owner, ticks[0]["runId"], "completed")
