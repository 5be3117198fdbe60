"""Chains and automations at a worker: what is only proposed has no effect, and what is applied has."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests import proposing
from tests.fixtures_console import ConsoleProcess

CHAIN = proposing.CHAIN["chainId"]
SCHEDULES, PROPOSALS = "/v1/host/console/schedules", "/v1/host/sample/proposals"
ENDS = ("completed", "failed", "cancelled")
People = dict[str, httpx.Client]


@pytest.fixture
def people(console_process: ConsoleProcess) -> Iterator[People]:
    """People of Acme, each with a key of their own, at a console that runs."""
    console_process.start()
    console_process.manage("create_tenant", "acme")
    with ExitStack() as stack:
        found = {}
        for role in ("owner", "agent", "author", "reviewer"):
            key = console_process.manage("create_api_key", "--tenant", "acme", "--role", role).stdout.strip()
            client = httpx.Client(base_url=console_process.url, headers={"X-API-Key": key}, timeout=30)
            found[role] = stack.enter_context(client)
        yield found


def said(answer: httpx.Response, status: int) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()


def propose(people: People, kind: str, artifact: str) -> str:
    body = {"kind": kind, "title": "Learned", "artifact": json.loads(artifact)}
    return str(said(people["agent"].post("/v1/host/console/proposals", json=body), 201)["id"])


def ask(people: People, proposal: str) -> str:
    """The activation run that waits for a vote."""
    return str(said(people["reviewer"].post(f"{PROPOSALS}/{proposal}/apply"), 202)["runId"])


def grant(people: People, run_id: str) -> None:
    """The vote is cast, and the worker has installed what it was about."""
    vote = {"resumeValue": {"decision": "granted"}}
    said(people["reviewer"].post(f"/v1/runs/{run_id}/interrupts/gate", json=vote), 200)
    assert ended(people, run_id)["status"] == "completed"


def ended(people: People, run_id: str, seconds: float = 60) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    while (found := said(people["owner"].get(f"/v1/runs/{run_id}"), 200))["status"] not in ENDS:
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
    return dict(found)


def notes(people: People) -> list[str]:
    found = said(people["owner"].get("/v1/host/console/memory?limit=50"), 200)["entries"]
    return [entry["content"] for entry in found]


def started(console: ConsoleProcess, workflow: str) -> int:
    """How many runs of the workflow there are, asked of the database."""
    question = f"from memory.host.models import Run; print(Run.objects.filter(workflow_id='{workflow}').count())"
    answer = console.manage("shell", "--no-imports", "-c", question)
    assert answer.returncode == 0, answer.stderr
    return int(answer.stdout.split()[-1])


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def test_a_chain_is_a_workflow_once_its_pack_is_applied_and_not_before(people: People) -> None:
    body = {"workflowId": CHAIN, "inputs": {"customer": "Marta"}}

    def has_no_effect() -> bool:
        return [
            people["owner"].post("/v1/runs", json=body).status_code,
            people["owner"].get(f"/v1/workflows/{CHAIN}").status_code,
        ] == [404, 404]

    assert has_no_effect()
    proposal = propose(people, "workflow-chain-pack", proposing.chain_pack())
    assert has_no_effect()
    waiting = ask(people, proposal)
    assert has_no_effect()
    grant(people, waiting)
    assert notes(people) == []

    run = said(people["owner"].post("/v1/runs", json=body), 201)
    assert (ended(people, run["runId"])["status"], notes(people)) == ("completed", ["Call Marta in 3 days."])
    assert said(people["owner"].get(f"/v1/workflows/{CHAIN}"), 200)["name"] == "Follow up"

    second = propose(people, "workflow-chain-pack", proposing.chain_pack({"dag": shorter()}, version="1.1.0"))
    ask(people, second)
    run = said(people["owner"].post("/v1/runs", json=body), 201)
    ended(people, run["runId"])
    assert notes(people) == ["Call Marta in 3 days."] * 2


def shorter() -> dict[str, Any]:
    config = {"memoryRef": "notes", "content": "Call {{params.customer}}."}
    return {"nodes": [{"id": "keep", "typeId": "vendor.console.remember", "config": config}]}


def test_an_automation_starts_runs_once_it_is_applied_and_not_before(
    console_process: ConsoleProcess, people: People
) -> None:
    named = {"automationId": "learned", "workflowId": "conformance-noop"}
    address = f"{SCHEDULES}/automation/learned"
    proposal = propose(people, "automation", proposing.automation(**named, fireAt=in_seconds(2)))
    time.sleep(4)
    assert people["owner"].get(address).status_code == 404
    assert people["reviewer"].post(f"{PROPOSALS}/{proposal}/apply").status_code == 422
    assert started(console_process, "conformance-noop") == 0

    revised = {"artifact": json.loads(proposing.automation(**named, fireAt=in_seconds(12)))}
    said(people["author"].patch(f"{PROPOSALS}/{proposal}", json=revised), 200)
    grant(people, ask(people, proposal))
    assert said(people["owner"].get(address), 200)["principal"] == "host"
    deadline = time.monotonic() + 60
    while not (ticks := said(people["owner"].get(f"{address}/ticks"), 200)["ticks"]):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert ended(people, ticks[0]["runId"])["status"] == "completed"
    assert started(console_process, "conformance-noop") == 1
