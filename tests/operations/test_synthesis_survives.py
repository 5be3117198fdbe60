"""Synthesis in a real worker, from runs that were really executed: a proposal of each kind, whenever the kill came."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.fixtures_console import ConsoleProcess

URL, PROPOSALS = "/v1/host/console/synthesis", "/v1/host/sample/proposals"
HABITS, DAYS = 40, 4
OVER = {"done", "refused", "failed", "cancelled"}
ENDED = {"completed", "failed", "cancelled"}
# What a fortnight at Acme looks like: a chain that two workflows repeat, an agent without a tool that it needs, a
# prompt that is corrected, and reports that somebody starts by hand each morning. The worker executes all of it.
LIVED = f"""
from datetime import timedelta
from django.utils import timezone
from openwop_console.runtime import intake
from openwop_console.runtime.run_options import RunRequest
from memory import passes
from memory.host.events import Failure
from memory.passes import PassOrder
from tests import building, learning
now = timezone.now()
owner = building.scope()
# The host does not look by itself while the test does.
for day in (now, now + timedelta(days=1)):
    look = PassOrder("synthesize", f"day/{{day:%Y-%m-%d}}", "host")
    passes.decline(owner.tenant_id, look, Failure("not_today", "Not today."), refused=True, now=now)
def run(workflow, at=now, **inputs):
    intake.create_run(owner, RunRequest(workflow, inputs=inputs), now=at)
for name in ("first", "second"):
    wording = building.node("word", "vendor.console.compose", {{"text": f"A note of the {{name}}."}})
    keeping = building.remember_node(f"as the {{name}} says", node_id="keep")
    keeping["agent"] = {{"agentId": "acme.writer"}}
    building.install("acme", building.definition(name, wording, keeping))
    run(name), run(name)
agent = "private.acme.clerk"
building.install_agent("acme", {{"agentId": agent, "packVersion": "1.0.0", "toolAllowlist": []}})
clerk = building.remember_node("a file", node_id="file") | {{"agent": {{"agentId": agent}}}}
building.install("acme", building.definition("clerk", clerk))
learning.install_triage()
for _ in range(3):
    run("clerk", timezone.now())
    run("triage", timezone.now(), ticket="T-1")
building.install("acme", building.definition("report", building.node("report", "core.noop")))
nine = now.replace(hour=9, minute=0, second=0, microsecond=0)
nine = nine if nine < now else nine - timedelta(days=1)
for number in range({HABITS}):
    for day in range({DAYS}):
        run("report", nine - timedelta(days=day), customer=f"C-{{number}}")
"""
DRAFTS = """
from memory.host.models import Run
print(*(f"run_{row.id.hex}" for row in Run.objects.filter(workflow_id="triage")))
"""
LEFT_BY_THE_KILL = """
import json
from memory.models import Pass
from proposals.models import Proposal
row = Pass.objects.get(kind="synthesize", dry_run=False, window__startswith="asked/")
print(json.dumps([row.state, len(row.outcome["proposed"]), Proposal.objects.count()]))
"""


@pytest.fixture
def client(console_process: ConsoleProcess) -> Iterator[httpx.Client]:
    """A console on which that fortnight has passed."""
    console_process.start()
    console_process.manage("create_tenant", "acme")
    _shell(console_process, LIVED)
    key = console_process.manage("create_api_key", "--tenant", "acme", "--role", "owner").stdout.strip()
    with httpx.Client(base_url=console_process.url, headers={"X-API-Key": key}, timeout=30) as client:
        _correct(client, console_process)
        _until(lambda: _still_going(console_process) == 0, "the runs do not end", seconds=120)
        yield client


def _shell(console_process: ConsoleProcess, script: str) -> str:
    answer = console_process.manage("shell", "--no-imports", "-c", script)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


def _until(holds: Callable[[], bool], otherwise: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)


def _still_going(console_process: ConsoleProcess) -> int:
    counted = "from memory.host.models import Run; print(Run.objects.filter(completed_at=None).count())"
    return int(_shell(console_process, counted).splitlines()[-1])


def _correct(client: httpx.Client, console_process: ConsoleProcess) -> None:
    """Somebody asks all three drafts to be shorter."""
    drafts = _shell(console_process, DRAFTS).splitlines()[-1].split()
    assert len(drafts) == 3
    words = {"scope": "whole", "text": "Keep it to two sentences, please."}
    for run_id in drafts:
        at = f"/v1/runs/{run_id}"
        _until(lambda at=at: client.get(at).json()["status"] == "waiting-approval", "nobody is asked")  # type: ignore[misc]
        value = {"resumeValue": {"action": "refine", "refineFeedback": words}}
        assert client.post(f"{at}/interrupts/ask", json=value).status_code == 200


def found(client: httpx.Client, row: str) -> dict[str, Any]:
    answer: dict[str, Any] = client.get(f"{URL}/{row}").json()
    return answer


def ended(client: httpx.Client, row: str) -> dict[str, Any]:
    _until(lambda: found(client, row)["state"] in OVER, "the synthesis does not end")
    done = found(client, row)
    assert (done["state"], done["code"]) == ("done", None), done
    return done


def test_a_kill_in_the_middle_of_a_synthesis_loses_and_doubles_nothing(
    console_process: ConsoleProcess, client: httpx.Client
) -> None:
    rehearsed = ended(client, client.post(URL, json={"dryRun": True}).json()["id"])
    would = Counter(each["kind"] for each in rehearsed["outcome"]["wouldPropose"])
    wanted = {"workflow-chain-pack": 1, "agent-pack": 1, "prompt-template": 1, "automation": HABITS}
    assert would == wanted, rehearsed["outcome"]
    assert client.get(PROPOSALS).json() == {"proposals": [], "total": 0, "next": None}

    ordered = client.post(URL, json={}).json()["id"]
    _until(lambda: found(client, ordered)["done"] > 3, "nothing is proposed")
    console_process.kill()
    state, proposed, there = json.loads(_shell(console_process, LEFT_BY_THE_KILL).splitlines()[-1])
    assert state == "claimed", "the synthesis was over before it could be killed"
    assert 3 <= proposed == there < HABITS + 3

    console_process.start()
    done = ended(client, ordered)
    outcome, made = done["outcome"], client.get(PROPOSALS).json()["proposals"]
    assert Counter(each["kind"] for each in made) == wanted
    assert sorted(outcome["proposed"]) == sorted(each["id"] for each in made)
    assert (outcome["found"], outcome["seenBefore"], outcome["refused"]) == (HABITS + 3, 0, {})
    log = client.get(f"/v1/runs/{done['runId']}/events").json()["events"]
    told = [event["payload"]["proposalId"] for event in log if event["type"] == "proposal.created"]
    assert sorted(told) == sorted(outcome["proposed"])
    assert {each["state"] for each in made} == {"draft"}
    assert {each["provenance"]["synthesizerModel"] for each in made} == {"host:rule-miner/1"}
    assert all(each["rationale"] and each["provenance"]["sourceRunIds"] for each in made)
    _says_what_was_seen(made)

    again = console_process.manage("synthesize", "--tenant", "acme")
    told_again = json.loads(again.stdout)
    assert (told_again["proposed"], told_again["seenBefore"]) == ([], HABITS + 3)


def _says_what_was_seen(made: list[dict[str, Any]]) -> None:
    by_kind = {each["kind"]: each["artifact"] for each in made}
    assert "Keep it to two sentences, please." in by_kind["prompt-template"]["text"]
    assert by_kind["agent-pack"]["agents"][0]["toolAllowlist"] == ["openwop:memory.write"]
    [chain] = by_kind["workflow-chain-pack"]["chains"]
    assert [node["typeId"] for node in chain["dag"]["nodes"]] == ["vendor.console.compose", "vendor.console.remember"]
    assert (by_kind["automation"]["workflowId"], by_kind["automation"]["cron"]) == ("report", "0 9 * * *")


def test_the_command_refuses_in_one_line(console_process: ConsoleProcess) -> None:
    console_process.start()
    console_process.manage("create_tenant", "acme")
    looked = console_process.manage("synthesize", "--tenant", "acme", "--dry-run")
    assert json.loads(looked.stdout)["wouldPropose"] == []
    for words, said in ((["--tenant", "nobody"], "no tenant"), (["--tenant", "acme", "--endpoint"], "no endpoint")):
        refused = console_process.manage("synthesize", *words)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert said in refused.stderr
        assert len(refused.stderr.strip().splitlines()) == 1
