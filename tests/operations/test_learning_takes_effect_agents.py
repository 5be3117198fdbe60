"""A worker before and after an approval: what is proposed has no effect, what is applied has one, for two kinds."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import building, proposing
from tests.fixtures_console import ConsoleProcess

EXTENSION, PROPOSALS = "/v1/host/console/proposals", "/v1/host/sample/proposals"
CLERK = proposing.AGENT["agentId"]
ENDS = ("completed", "failed", "cancelled")


class Desk:
    """A console with its worker, and the people of Acme, each with a key of their own."""

    def __init__(self, console: ConsoleProcess, people: dict[str, httpx.Client], folder: Path) -> None:
        self.console, self.people, self.folder = console, people, folder

    def call(self, role: str, method: str, path: str, body: str = "", *, expects: int = 200) -> Any:
        json_type = {"Content-Type": "application/json"} if body else {}
        answer = self.people[role].request(method, path, content=body, headers=json_type)
        assert answer.status_code == expects, (path, answer.status_code, answer.text[:500])
        return answer.json()

    def installs(self, document: dict[str, Any]) -> None:
        """The workflow is the tenant's."""
        file = self.folder / f"{document['id']}.json"
        file.write_text(json.dumps(document))
        made = self.console.manage("install_workflow", str(file), "--tenant", "acme")
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

    def applies(self, kind: str, artifact: str) -> None:
        self.grants(self.asks(self.proposes(kind, artifact)))

    def agents(self) -> dict[str, str]:
        """The version of each listed agent's pack."""
        listed = self.call("owner", "get", "/v1/agents")["agents"]
        return {entry["agentId"]: entry["packVersion"] for entry in listed}

    def remembered(self) -> list[str]:
        """What runs have written, oldest first."""
        entries = self.call("owner", "get", "/v1/host/console/memory?limit=50")["entries"]
        return [entry["content"] for entry in reversed(entries)]


@pytest.fixture
def desk(console_process: ConsoleProcess, tmp_path: Path) -> Iterator[Desk]:
    console_process.start()
    console_process.manage("create_tenant", "acme")
    with ExitStack() as stack:
        people = {}
        for role in ("owner", "agent", "author", "reviewer"):
            key = console_process.manage("create_api_key", "--tenant", "acme", "--role", role).stdout.strip()
            client = httpx.Client(base_url=console_process.url, headers={"X-API-Key": key}, timeout=30)
            people[role] = stack.enter_context(client)
        yield Desk(console_process, people, tmp_path)


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
