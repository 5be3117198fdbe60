"""An agent that this host runs, in a real console and against a model that somebody else serves: what it remembers, the
tools that it uses, a person's approval in the middle, and a worker that is killed while the model is asked.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import psutil
import pytest

from tests import building, serving
from tests.fixtures_console import ConsoleProcess
from tests.serving import Server

# Calls are recorded by the same statements on both engines; test_completions and test_agent_nodes kill a worker in each
# turn on both.
pytestmark = pytest.mark.console

TENANT, AGENT, REF = "tea-house", "private.tea-house.helper", "agents/private.tea-house.helper"
TOOLS = ["openwop:memory.search", "openwop:memory.write"]
INSTALL = """
import json
from django.utils import timezone
from memory import memory_policy
from memory.host import vault
from tests import building
given, now = json.loads({given!r}), timezone.now()
vault.store_secret(building.tenant({tenant!r}).id, "model-key", "key-of-the-model", now=now)
endpoint = dict(endpoint_url=given["url"], endpoint_model="small", endpoint_secret="model-key")
memory_policy.change(building.scope({tenant!r}), endpoint, now=now)
building.install_agent({tenant!r}, given["agent"])
building.install({tenant!r}, given["workflow"])
"""
HOLDER = """
from memory.host.models import Run
print(Run.objects.get(id="{}").holder)
"""
# As if the lease of the worker that is gone had ended by itself.
END_LEASE = """
from django.utils import timezone
from memory.host import runs
from memory.host.models import Run
run = Run.objects.get(id="{}")
print(Run.objects.written_by(runs.WRITER).filter(tenant_id=run.tenant_id, id=run.id).update(ready_at=timezone.now()))
"""


class Model:
    """Looks into memory, remembers what it was asked, and answers. It says nothing to its third question until
    somebody has asked that once more."""

    def __init__(self) -> None:
        self.is_asked = threading.Event()

    def __call__(self, asked: BaseHTTPRequestHandler) -> None:
        server = asked.server
        assert isinstance(server, Server)
        messages = server.asked[-1].json["messages"]
        used = sum(each["role"] == "tool" for each in messages)
        if used == 0:
            return serving.uses(("memory_search", {"query": "tea"}))(asked)
        if used == 1:
            prompt = next(each["content"] for each in messages if each["role"] == "user")
            return serving.uses(("memory_write", {"content": f"asked: {prompt}"}))(asked)
        if not self.is_asked.is_set():
            self.is_asked.set()
            server.over.wait(60)
            return None
        return serving.streams("Green ", "tea.")(asked)


@pytest.fixture
def model() -> Iterator[Server]:
    with serving.serving() as server:
        server.answers = Model()
        yield server


def ask(node_id: str, prompt: str) -> dict[str, Any]:
    return building.node(node_id, "core.agent", {"agentId": AGENT, "prompt": prompt})


def serve_tea() -> dict[str, Any]:
    gate = building.node("gate", "core.approvalGate", {"title": "Serve?", "artifactId": "tea", "artifactType": "drink"})
    return building.definition("serve-tea", ask("ask", "What does Ada drink?"), gate, ask("serve", "Serve it."))


def wait_for(client: httpx.Client, run_id: str, *statuses: str) -> dict[str, Any]:
    until = time.monotonic() + 90
    while (snapshot := client.get(f"/v1/runs/{run_id}").json())["status"] not in statuses:
        assert time.monotonic() < until, snapshot
        time.sleep(0.05)
    return dict(snapshot)


def test_an_agent_whose_worker_is_killed_while_the_model_is_asked_goes_on_once_and_doubles_nothing(
    shared_console: ConsoleProcess, model: Server
) -> None:
    agent = {"agentId": AGENT, "toolAllowlist": TOOLS, "systemPrompt": "You serve."}
    given = json.dumps({"url": f"{model.url}/v1", "agent": agent, "workflow": serve_tea()})
    shared_console.shell(INSTALL.format(given=given, tenant=TENANT))
    with shared_console.client(TENANT) as client:
        known = {"memoryRef": REF, "content": "Ada drinks green tea."}
        assert client.post("/v1/host/console/memory", json=known).status_code == 201
        run_id = client.post("/v1/runs", json={"workflowId": "serve-tea"}).json()["runId"]
        assert isinstance(model.answers, Model)
        assert model.answers.is_asked.wait(60)
        row = building.id_of("run", run_id)
        psutil.Process(int(shared_console.shell(HOLDER.format(row)).rpartition("/")[2])).kill()
        assert shared_console.shell(END_LEASE.format(row)) == "1"

        wait_for(client, run_id, "waiting-approval")
        written = client.get("/v1/host/console/memory", params={"runId": run_id}).json()["entries"]
        assert [each["content"] for each in written] == ["asked: What does Ada drink?"]
        accepted = {"resumeValue": {"action": "accept"}}
        assert client.post(f"/v1/runs/{run_id}/interrupts/gate", json=accepted).is_success
        done = wait_for(client, run_id, "completed", "failed")
        assert done["status"] == "completed", done
        written = client.get("/v1/host/console/memory", params={"runId": run_id}).json()["entries"]
        log = client.get(f"/v1/runs/{run_id}/events").json()["events"]

    assert [each["content"] for each in written] == ["asked: Serve it.", "asked: What does Ada drink?"]
    assert [each["sequence"] for each in log] == list(range(len(log)))
    # One call was sent by the worker that died, and again by the one that took over; each was answered once.
    keys = Counter(asked.headers["idempotency-key"] for asked in model.asked)
    assert sorted(keys.values()) == [1, 1, 1, 1, 1, 2]
    counted = Counter(each["type"] for each in log)
    assert (counted["console.call.sent"], counted["console.call.answered"], counted["provider.usage"]) == (7, 6, 6)
    spent = [each["payload"] for each in log if each["type"] == "provider.usage"]
    assert sum(each["inputTokens"] + each["outputTokens"] for each in spent) == 6 * (11 + 7)
    tools = [(each["payload"]["toolName"], each["nodeId"]) for each in log if each["type"] == "agent.toolReturned"]
    # Each begins with what it remembers; then it looks once more, and writes.
    search, write = TOOLS
    assert tools == [(tool, node) for node in ("ask", "serve") for tool in (search, search, write)]
    assert counted["memory.written"] == 2
    assert [counted[f"node.{each}"] for each in ("completed", "failed")] == [3, 0]
    assert any("Ada drinks green tea." in each["content"] for each in model.asked[0].json["messages"])
