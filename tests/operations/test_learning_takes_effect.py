"""Chains, automations, agents and prompts at a worker: what is only proposed has no effect, and what is applied has."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests import building, proposing
from tests.fixtures_console import ConsoleProcess

pytestmark = pytest.mark.console

EXTENSION, CLERK = "/v1/host/console/proposals", proposing.AGENT["agentId"]
CHAIN = proposing.CHAIN["chainId"]
SCHEDULES, PROPOSALS = "/v1/host/console/schedules", "/v1/host/sample/proposals"
ENDS = ("completed", "failed", "cancelled")
People = dict[str, httpx.Client]


@pytest.fixture
def tenant() -> str:
    return f"t-{uuid4().hex[:8]}"


@pytest.fixture
def people(shared_console: ConsoleProcess, tenant: str) -> Iterator[People]:
    """People of the tenant, each with a key of their own."""
    with ExitStack() as stack:
        roles = ("owner", "agent", "author", "reviewer")
        yield {role: stack.enter_context(shared_console.client(tenant, role)) for role in roles}


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


def started(console: ConsoleProcess, tenant: str, workflow: str) -> int:
    """How many runs of the workflow there are, asked of the database."""
    which = f"workflow_id='{workflow}', tenant__slug='{tenant}'"
    return int(console.shell(f"from memory.host.models import Run; print(Run.objects.filter({which}).count())"))


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
    shared_console: ConsoleProcess, tenant: str, people: People
) -> None:
    named = {"automationId": "learned", "workflowId": "conformance-noop"}
    address = f"{SCHEDULES}/automation/learned"
    proposal = propose(people, "automation", proposing.automation(**named, fireAt=in_seconds(1)))
    time.sleep(2)
    assert people["owner"].get(address).status_code == 404
    assert people["reviewer"].post(f"{PROPOSALS}/{proposal}/apply").status_code == 422
    assert started(shared_console, tenant, "conformance-noop") == 0

    revised = {"artifact": json.loads(proposing.automation(**named, fireAt=in_seconds(6)))}
    said(people["author"].patch(f"{PROPOSALS}/{proposal}", json=revised), 200)
    grant(people, ask(people, proposal))
    assert said(people["owner"].get(address), 200)["principal"] == "host"
    deadline = time.monotonic() + 60
    while not (ticks := said(people["owner"].get(f"{address}/ticks"), 200)["ticks"]):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert ended(people, ticks[0]["runId"])["status"] == "completed"
    assert started(shared_console, tenant, "conformance-noop") == 1


class Desk:
    """A console with its worker, and the people of a tenant, each with a key of their own."""

    def __init__(self, console: ConsoleProcess, tenant: str, people: People, folder: Path) -> None:
        self.console, self.tenant, self.people, self.folder = console, tenant, people, folder

    def call(self, role: str, method: str, path: str, body: str = "", *, expects: int = 200) -> Any:
        json_type = {"Content-Type": "application/json"} if body else {}
        answer = self.people[role].request(method, path, content=body, headers=json_type)
        assert answer.status_code == expects, (path, answer.status_code, answer.text[:500])
        return answer.json()

    def installs(self, document: dict[str, Any]) -> None:
        """The workflow is the tenant's."""
        file = self.folder / f"{document['id']}.json"
        file.write_text(json.dumps(document))
        made = self.console.manage("install_workflow", str(file), "--tenant", self.tenant)
        assert made.returncode == 0, made.stderr

    def runs(self, workflow: str) -> dict[str, Any]:
        """A run of the workflow, after the worker has ended it."""
        made = self.call("owner", "post", "/v1/runs", json.dumps({"workflowId": workflow}), expects=201)
        return self.ended(made["runId"])

    def ended(self, run_id: str, seconds: float = 60) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while (found := self.call("owner", "get", f"/v1/runs/{run_id}"))["status"] not in ENDS:
            assert time.monotonic() < deadline, found
            time.sleep(0.1)
        return dict(found)

    def proposes(self, kind: str, artifact: str) -> str:
        body = f'{{"kind": "{kind}", "title": "Learned", "artifact": {artifact}}}'
        return str(self.call("agent", "post", EXTENSION, body, expects=201)["id"])

    def revises(self, proposal: str, artifact: str) -> None:
        self.call("author", "patch", f"{PROPOSALS}/{proposal}", f'{{"artifact": {artifact}}}')

    def asks(self, proposal: str) -> str:
        """The activation run that waits for a vote."""
        return str(self.call("reviewer", "post", f"{PROPOSALS}/{proposal}/apply", expects=202)["runId"])

    def grants(self, run_id: str) -> None:
        """Somebody who wrote nothing of it grants, and the worker has installed it."""
        vote = json.dumps({"resumeValue": {"decision": "granted"}})
        self.call("reviewer", "post", f"/v1/runs/{run_id}/interrupts/gate", vote)
        assert self.ended(run_id)["status"] == "completed"

    def agents(self) -> dict[str, str]:
        """The version of each listed agent's pack."""
        listed = self.call("owner", "get", "/v1/agents")["agents"]
        return {entry["agentId"]: entry["packVersion"] for entry in listed}

    def remembered(self) -> list[str]:
        """What runs have written, oldest first."""
        entries = self.call("owner", "get", "/v1/host/console/memory?limit=50")["entries"]
        return [entry["content"] for entry in reversed(entries)]


@pytest.fixture
def desk(shared_console: ConsoleProcess, tenant: str, people: People, tmp_path: Path) -> Desk:
    return Desk(shared_console, tenant, people, tmp_path)


def test_an_agent_may_do_what_the_applied_pack_lets_it_and_nothing_that_is_only_proposed(desk: Desk) -> None:
    files = building.node(
        "file", "vendor.console.remember", {"content": "filed", "memoryRef": "desk"}, agent={"agentId": CLERK}
    )
    desk.installs(building.definition("filing", files))
    first = desk.asks(desk.proposes("agent-pack", proposing.agent_pack()))
    assert desk.agents() == {}
    desk.grants(first)
    assert desk.agents() == {CLERK: "1.0.0"}

    def refused() -> bool:
        run = desk.runs("filing")
        return bool(run["status"] == "failed" and run["error"]["code"] == "tool_not_allowed")

    assert refused()
    wider = {"toolAllowlist": ["openwop:memory.read", "openwop:memory.write"]}
    second = desk.proposes("agent-pack", proposing.agent_pack(version="1.1.0"))
    assert refused()
    desk.revises(second, proposing.agent_pack(wider, version="1.1.0"))
    assert refused()
    waiting = desk.asks(second)
    assert refused()
    assert (desk.agents(), desk.remembered()) == ({CLERK: "1.0.0"}, [])

    desk.grants(waiting)

    assert desk.agents() == {CLERK: "1.1.0"}
    assert desk.runs("filing")["status"] == "completed"
    assert desk.remembered() == ["filed"]


def test_a_run_uses_the_prompt_that_was_applied_before_it_and_no_draft(desk: Desk) -> None:
    says = building.node("say", "vendor.console.compose", {"template": "triage.summary"})
    says["inputs"] = {"ticket": {"type": "static", "value": "T-1"}}
    keeps = building.node("keep", "vendor.console.remember", {"content": "{{said}}", "memoryRef": "desk"})
    keeps["inputs"] = {"said": {"type": "connection", "nodeId": "say", "outputKey": "text"}}
    desk.installs(building.definition("saying", says, keeps))
    draft = desk.proposes("prompt-template", proposing.artifact(text="Draft {{ticket}}", version="1.0.0"))
    assert desk.runs("saying")["status"] == "failed"
    desk.revises(draft, proposing.artifact(text="Old {{ticket}}", version="1.0.0"))
    desk.grants(desk.asks(draft))
    assert desk.runs("saying")["status"] == "completed"

    learned = proposing.artifact(text="New {{ticket}}", version="1.1.0")
    waiting = desk.asks(desk.proposes("prompt-template", learned))
    assert desk.runs("saying")["status"] == "completed"
    desk.grants(waiting)
    assert desk.runs("saying")["status"] == "completed"

    assert desk.remembered() == ["Old T-1", "Old T-1", "New T-1"]
    installed = desk.call("reviewer", "get", "/v1/host/console/artifacts/prompt:triage.summary@1.1.0")
    assert installed["text"] == learned
