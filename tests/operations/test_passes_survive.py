"""Passes in a real worker, from their schedules: done at their tick, and once, whenever the kill -9 came."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.fixtures_console import ConsoleProcess

PASSES, SCHEDULES = "/v1/host/console/passes", "/v1/host/console/pass-schedules"
FACTS, TIMES, EACH = 1000, 3, 3
OVER = {"done", "refused", "failed", "cancelled"}
WANTED = {("consolidate", "large"), ("distill", "distilled"), ("compact", "compacted")} | {
    (kind, "shared") for kind in ("consolidate", "distill", "compact")
}
# Every fact of the large ref three times, each time under another tag, so that what they become is written anew.
FILL = f"""
from django.db import transaction
from django.utils import timezone
from memory import ledger
from memory.drafts import EntryDraft
from memory.host import access, ids, registry, runs, tenancy
from memory.host.run_orders import RunOrder
now = timezone.now()
owner = tenancy.host_scope(access.tenant_by_slug("acme"))
def fill(ref, drafts):
    scope = tenancy.memory_scope(owner, ref)
    for draft in drafts:
        ledger.write_entry(scope, draft, run=run, node_id=None, now=now)
with transaction.atomic():
    order = RunOrder("noop", registry.workflow_text(owner.tenant_id, "conformance-noop"), "host", system=True)
    run = runs.find(owner.tenant_id, runs.open_run(owner.tenant_id, order, now=now, ready=False).id)
    runs.start(run, snapshot_position=0, now=now)
    facts = [f"Customer C{{n}} pays {{n}} euros a month for plan P{{n}}." for n in range({FACTS})]
    fill("large", [EntryDraft(fact, (f"source-{{each}}",)) for each in range({TIMES}) for fact in facts])
    for ref in ("distilled", "compacted", "shared", "by-hand"):
        fill(ref, [EntryDraft(f"note {{n}} of {{ref}}") for n in range({EACH})])
    runs.complete(run, now=now)
"""
# As if the console had not run at midnight: that tick is due.
MISSED = """
from django.utils import timezone
from memory import pass_schedules
from memory.models import PassSchedule
midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
print(PassSchedule.objects.written_by(pass_schedules.WRITER).update(next_at=midnight))
"""
LEFT_BY_THE_KILL = """
import json
from memory.models import Pass
from memory.models.entry import MemoryEntry
row = Pass.objects.get(kind="consolidate", memory_ref="large")
away = MemoryEntry.objects.filter(memory_ref="large").exclude(retired_at=None).count()
print(json.dumps([row.state, row.doing, row.done, row.total, away]))
"""


@pytest.fixture
def client(console_process: ConsoleProcess) -> Iterator[httpx.Client]:
    """A console whose tenant has a large ref, and small ones."""
    console_process.start()
    console_process.manage("create_tenant", "acme")
    _shell(console_process, FILL)
    key = console_process.manage("create_api_key", "--tenant", "acme", "--role", "owner").stdout.strip()
    with httpx.Client(base_url=console_process.url, headers={"X-API-Key": key}, timeout=30) as client:
        yield client


def _shell(console_process: ConsoleProcess, script: str) -> str:
    answer = console_process.manage("shell", "--no-imports", "-c", script)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.strip()


def _until(holds: Any, otherwise: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)


def passes(client: httpx.Client, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(PASSES, params={"limit": 100, **query}).json()["passes"]
    return found


def entries(client: httpx.Client, ref: str) -> list[dict[str, Any]]:
    """All that can be read under the ref."""
    found: list[dict[str, Any]] = []
    query: dict[str, Any] = {"memoryRef": ref, "limit": 1000}
    while True:
        page = client.get("/v1/host/console/memory", params=query).json()
        found += page["entries"]
        if not page.get("next"):
            return found
        query["after"] = page["next"]


def told(client: httpx.Client, row: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/v1/runs/{row['runId']}/events").json()["events"]
    return found


def _is_merging(client: httpx.Client) -> bool:
    [row] = passes(client, kind="consolidate", memoryRef="large") or [{"doing": "", "done": 0}]
    assert row.get("state") not in OVER, "the pass was over before it could be killed"
    return row["doing"] == "merging" and row["done"] > 0


def test_a_kill_in_the_middle_of_scheduled_passes_loses_and_doubles_nothing(
    console_process: ConsoleProcess, client: httpx.Client
) -> None:
    for kind, ref in sorted(WANTED):
        body = {"kind": kind, "memoryRef": ref, "cron": "0 0 * * *"}
        assert client.put(SCHEDULES, json=body).status_code == 200
    assert _shell(console_process, MISSED).endswith(str(len(WANTED)))
    _until(lambda: _is_merging(client), "the large pass has merged nothing")
    console_process.kill()
    state, doing, done, total, away = json.loads(_shell(console_process, LEFT_BY_THE_KILL).splitlines()[-1])
    assert (state, doing) == ("claimed", "merging")
    assert 0 < done < total
    assert 0 < away < FACTS * TIMES

    console_process.start()
    _until(lambda: all(row["state"] in OVER for row in passes(client)), "a pass was left open after the kill")
    made = passes(client)
    assert Counter((row["kind"], row["memoryRef"]) for row in made) == Counter(WANTED)
    assert {row["trigger"] for row in made} == {"scheduled"}
    codes = {(row["kind"], row["memoryRef"]): row["code"] for row in made if row["state"] != "done"}
    assert codes in ({}, {("compact", "shared"): "nothing_to_compact"})

    [large] = [row for row in made if row["memoryRef"] == "large"]
    _is_whole(client, large)
    [distilled] = [row for row in made if row["memoryRef"] == "distilled"]
    archives = client.get("/v1/host/console/archives", params={"memoryRef": "distilled"}).json()["archives"]
    assert [each["sha256"] for each in archives] == [distilled["outcome"]["archiveChecksum"]]
    [compacted] = entries(client, "compacted")
    assert compacted["content"].split("\n") == [f"note {number} of compacted" for number in range(EACH)]


def _is_whole(client: httpx.Client, large: dict[str, Any]) -> None:
    """Its one event says what is there, and every fact is, under all its tags."""
    outcome, left, log = large["outcome"], entries(client, "large"), told(client, large)
    types = Counter(event["type"] for event in log)
    assert (types["agent.memory.consolidated"], types["run.completed"], types["run.failed"]) == (1, 1, 0)
    [fact] = [event["payload"] for event in log if event["type"] == "agent.memory.consolidated"]
    assert (fact["inputCount"], fact["outputCount"]) == (FACTS * TIMES, FACTS) == (FACTS * TIMES, len(left))
    assert outcome["merged"] + outcome["superseded"] == FACTS * (TIMES - 1)
    written = [event["payload"]["memoryId"] for event in log if event["type"] == "memory.written"]
    assert len(written) == len(set(written)) == outcome["written"] == FACTS
    assert {each["content"] for each in left} == {
        f"Customer C{number} pays {number} euros a month for plan P{number}." for number in range(FACTS)
    }
    assert {tuple(sorted(each["tags"])) for each in left} == {tuple(f"source-{each}" for each in range(TIMES))}


def test_the_command_carries_a_pass_out_here_and_now(console_process: ConsoleProcess, client: httpx.Client) -> None:
    where = ["--tenant", "acme", "--ref", "by-hand"]
    tried = console_process.manage("run_pass", "compact", *where, "--dry-run")
    assert (tried.returncode, json.loads(tried.stdout)["sourceCount"]) == (0, EACH)
    assert len(entries(client, "by-hand")) == EACH
    done = console_process.manage("run_pass", "compact", *where)
    assert json.loads(done.stdout)["outputId"] == entries(client, "by-hand")[0]["id"]
    for words, code in (
        (["compact", *where], "nothing_to_compact"),
        (["compact", *where, "--option", "full=true"], "options"),
        (["compact", *where, "--option", "full"], "NAME=VALUE"),
        (["compact", "--tenant", "acme", "--ref", "../x"], "memoryRef must be"),
        (["compact", "--tenant", "nobody", "--ref", "x"], "no tenant"),
    ):
        refused = console_process.manage("run_pass", *words)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert code in refused.stderr
        assert len(refused.stderr.strip().splitlines()) == 1
