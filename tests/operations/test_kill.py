"""One console that is killed, every process of it at once by kill -9 as a power cut would, and later ended by SIGTERM,
each time in the middle of what it does: nothing acknowledged is lost or doubled, and everything ends.

What happens stands in the fixtures, in their order; the tests say what is there afterwards. Each sort of work has a
tenant of its own.
"""

import fcntl
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from standardwebhooks import Webhook

from memory.host.runs import ENDS, LEASE
from openwop_console.sqlite.base import TURNSTILE
from tests import building, plugin
from tests.conformance import dreaming
from tests.fixtures_console import ConsoleProcess, fresh_database
from tests.receiver import Receiver

pytestmark = pytest.mark.engines

PASSES, PASS_SCHEDULES = "/v1/host/console/passes", "/v1/host/console/pass-schedules"
COMMITMENTS, SCHEDULES = "/v1/host/console/commitments", "/v1/host/console/schedules"
SYNTHESIS, PROPOSALS = "/v1/host/console/synthesis", "/v1/host/sample/proposals"
FORGET = "/v1/host/console/forget"
OVER = {"done", "refused", "failed", "cancelled"}

FACTS, TIMES, EACH = 400, 3, 3
WANTED = {("consolidate", "large"), ("distill", "distilled"), ("compact", "compacted")} | {
    (kind, "shared") for kind in ("consolidate", "distill", "compact")
}
ANA, ROWS = "ana.q@exquis.org", 400
HABITS, DAYS = 20, 4
ARCHIVE = {"memoryRef": "conformance/restart", "tokenBudget": 2000, "sources": dreaming.SOURCES}
RUNS, STEPS = 12, 4
TICKS = 20
PARTS, IN_ONE = 4, 12
ALL = PARTS * IN_ONE
NAP = 2.5
EAGERLY = 0.02
PROMPT = {
    "templateId": "restart.summary",
    "version": "1.0.0",
    "kind": "system",
    "text": "Summarise {{ticket}}.",
    "variables": [{"name": "ticket", "type": "string", "required": True}],
}

BEGIN = """
from datetime import timedelta
from django.db import transaction
from django.utils import timezone
from django_q.models import OrmQ
from memory import ledger, memory_policy, passes
from memory.entry_drafts import EntryDraft
from memory.host import access, tenancy
from memory.host.events import Failure
from memory.passes import PassOrder
from openwop_console.runtime import run_operations
from openwop_console.runtime.run_operations import RunRequest
from tests import building, learning
now = timezone.now()
"""
# Every fact of the large ref three times, each time under another tag, so that what they become is written anew.
FILL_REFS = f"""
{BEGIN}
def fill(slug, refs):
    with transaction.atomic():
        owner = building.scope(slug)
        run = building.open_run(owner)
        for ref, drafts in refs.items():
            ledger.entries.write_entries(tenancy.memory_scope(owner, ref), drafts, run=run, node_id=None, now=now)
facts = [f"Customer C{{n}} pays {{n}} euros a month for plan P{{n}}." for n in range({FACTS})]
large = [EntryDraft(fact, (f"source-{{each}}",)) for each in range({TIMES}) for fact in facts]
small = {{ref: [EntryDraft(f"note {{n}} of {{ref}}") for n in range({EACH})]
         for ref in ("distilled", "compacted", "shared", "by-hand")}}
fill("dreams", {{"large": large, **small}})
about = [EntryDraft(f"note {{number}} of {ANA}") for number in range({ROWS})]
fill("forgets", {{"notes": [*about, EntryDraft("a bystander")]}})
"""
# What a fortnight looks like: a chain that two workflows repeat, an agent without a tool that it needs, a prompt that
# somebody corrects, and reports that are started by hand each morning. The engine executes all of it.
FILL_HABITS = f"""
{BEGIN}
def run(workflow, at=now, **inputs):
    building.advance(run_operations.create_run(owner, RunRequest(workflow, inputs=inputs), now=at))
with transaction.atomic():
    owner = building.scope("learns")
    # The host does not look by itself while the test does.
    for day in (now, now + timedelta(days=1)):
        look = PassOrder("synthesize", f"day/{{day:%Y-%m-%d}}", "host")
        passes.decline(owner.tenant_id, look, Failure("not_today", "Not today."), refused=True, now=now)
    for name in ("first", "second"):
        wording = building.node("word", "vendor.console.compose", {{"text": f"A note of the {{name}}."}})
        keeping = building.remember_node(f"as the {{name}} says", node_id="keep")
        keeping["agent"] = {{"agentId": "acme.writer"}}
        building.install("learns", building.definition(name, wording, keeping))
        run(name), run(name)
    agent = "private.acme.clerk"
    building.install_agent("learns", {{"agentId": agent, "packVersion": "1.0.0", "toolAllowlist": []}})
    clerk = building.remember_node("a file", node_id="file") | {{"agent": {{"agentId": agent}}}}
    building.install("learns", building.definition("clerk", clerk))
    learning.install_triage("learns")
    for _ in range(3):
        run("clerk", timezone.now())
        learning.corrected(owner, "Keep it to two sentences, please.")
    building.install("learns", building.definition("report", building.node("report", "core.noop")))
    nine = now.replace(hour=9, minute=0, second=0, microsecond=0)
    nine = nine if nine < now else nine - timedelta(days=1)
    for number in range({HABITS}):
        for day in range({DAYS}):
            run("report", nine - timedelta(days=day), customer=f"C-{{number}}")
    OrmQ.objects.all().delete()  # all of it is done
"""
MAKE_TENANTS = f"""
{BEGIN}
for slug in ("fires", "infers"):
    scope = tenancy.host_scope(building.tenant(slug), scopes=frozenset({{"policies:manage"}}))
    memory_policy.change(scope, {{"commitment_workflow": "conformance-noop"}}, now=now)
for slug in ("flows", "soon", "ticks", "waits"):
    building.tenant(slug)
"""
# As if the console had not run at midnight: that tick is due.
MISSED = """
from django.utils import timezone
from memory.passes import pass_schedules
from memory.models import PassSchedule
midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
print(PassSchedule.objects.written_by(pass_schedules.WRITER).update(next_at=midnight))
"""
# The process that carries out a pass, once there is one.
HOLDER = """
from memory.models import Pass
print(*(row.holder.rpartition("/")[2] for row in Pass.objects.filter(state="claimed", dry_run=False, {})))
"""
# From now on one schedule after another is due, and the second half of them not before the kill.
SPREAD = """
from datetime import timedelta
from django.utils import timezone
from memory.host import scheduling
from memory.host.models import Schedule
now, count = timezone.now(), 0
for row in Schedule.objects.filter(tenant__slug="ticks"):
    number = int(row.name.removeprefix("s"))
    ours = Schedule.objects.written_by(scheduling.WRITER).filter(id=row.id, tenant_id=row.tenant_id)
    count += ours.update(next_at=now + timedelta(seconds=number * 0.4, hours=number // 10))
print(count)
"""
# As if the time of what has not been fired had come while nothing runs.
MISS_THE_REST = """
from django.utils import timezone
from memory.host import scheduling
from memory.host.models import Schedule
ours = Schedule.objects.written_by(scheduling.WRITER).filter(tenant__slug__in=["ticks", "waits"], next_at__isnull=False)
print(ours.update(next_at=timezone.now()))
"""
LEFT_BY_THE_KILL = """
import json
from memory.host import access
from memory.models import Pass
from memory.models.entry import MemoryEntry
from proposals.models import Proposal
dreamt = Pass.objects.get(kind="consolidate", memory_ref="large")
looked = Pass.objects.get(kind="synthesize", dry_run=False, window__startswith="asked/")
print(json.dumps({
    "dreamt": [dreamt.state, dreamt.doing, dreamt.done, dreamt.total],
    "away": MemoryEntry.objects.filter(memory_ref="large").exclude(retired_at=None).count(),
    "unforgotten": MemoryEntry.objects.filter(tenant=access.tenant_by_slug("forgets")).count(),
    "looked": [looked.state, len(looked.outcome["proposed"])],
    "proposals": Proposal.objects.filter(tenant=access.tenant_by_slug("learns")).count(),
}))
"""
ENTRIES = (
    "from memory.models.entry import MemoryEntry; print(MemoryEntry.objects.filter(memory_ref='notes', {}).count())"
)
STARTED = (
    "from memory.host.models import Run; "
    "print(Run.objects.filter(workflow_id='conformance-noop', tenant__slug='{}').count())"
)
# The status of each of these runs, and how many entries it wrote.
ENDED = """
from memory.host import ids
from memory.host.models import Run
from memory.models.entry import MemoryEntry
asked = [ids.parse("run", each) for each in {}]
status = dict(Run.objects.filter(id__in=asked).values_list("id", "status"))
print([(status[each], MemoryEntry.objects.filter(run_id=each).count()) for each in asked])
"""
QUEUE_A_NAP = f"from django_q.tasks import async_task; async_task('time.sleep', {NAP})"
COUNT_NAPS = """
from django.utils import timezone
from django_q.models import OrmQ
print(sum(row.func() == "time.sleep" for row in OrmQ.objects.filter(lock__gt=timezone.now())))
"""


class Story:
    """The console, and what was ordered of it before it was killed."""

    def __init__(self, console: ConsoleProcess, folder: Path) -> None:
        self.console, self.folder = console, folder
        self.clients: dict[str, httpx.Client] = {}
        self.runs: list[str] = []
        self.before: dict[str, Any] = {}
        self.left: dict[str, Any] = {}
        self.receiver = Receiver()

    def start(self) -> None:
        seam = {"OPENWOP_TEST_SEAM_ENABLED": "true"}
        self.console.start("--workers", "5", OPENWOP_OUTBOUND_ALLOW="127.0.0.1", **seam)

    def client(self, tenant: str, role: str = "owner") -> httpx.Client:
        name = f"{tenant}/{role}"
        if name not in self.clients:
            self.clients[name] = self.console.client(tenant, role)
        return self.clients[name]

    def ask(self, tenant: str, path: str, **query: Any) -> Any:
        answer = self.client(tenant).get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def order(
        self, tenant: str, path: str, body: dict[str, Any] | None = None, *, role: str = "owner", method: str = "POST"
    ) -> Any:
        """Asked for again where SQLite's one writer was busy for too long, as the 503 says."""
        for _ in range(10):
            answer = self.client(tenant, role).request(method, path, json=body)
            if answer.status_code != 503:
                break
            time.sleep(int(answer.headers["Retry-After"]))
        assert answer.is_success, answer.text
        return answer.json()

    def install(self, tenant: str, document: dict[str, Any]) -> None:
        file = self.folder / f"{document['id']}.json"
        file.write_text(json.dumps(document))
        installed = self.console.manage("install_workflow", str(file), "--tenant", tenant)
        assert installed.returncode == 0, installed.stderr

    def run(self, tenant: str, workflow_id: str, **inputs: Any) -> str:
        return str(self.order(tenant, "/v1/runs", {"workflowId": workflow_id, "inputs": inputs})["runId"])

    def until(self, tenant: str, run_id: str, *statuses: str) -> dict[str, Any]:
        """The run as it is when it gets there. What a kill interrupted waits for the end of one lease after the other
        where the database, too, was interrupted."""
        deadline = time.monotonic() + 6 * LEASE.lasts.total_seconds()
        while (snapshot := self.ask(tenant, f"/v1/runs/{run_id}"))["status"] not in statuses:
            assert snapshot["status"] not in ENDS, snapshot
            assert time.monotonic() < deadline, snapshot
            time.sleep(0.1)
        return dict(snapshot)

    def events(self, tenant: str, run_id: str) -> list[dict[str, Any]]:
        return list(self.ask(tenant, f"/v1/runs/{run_id}/events")["events"])

    def types(self, tenant: str, run_id: str) -> list[str]:
        return [event["type"] for event in self.events(tenant, run_id)]

    def written(self, run_id: str) -> list[str]:
        """What a run of the flow wrote, oldest first."""
        events = self.events("flows", run_id)
        return [event["payload"]["memoryId"] for event in events if event["type"] == "memory.written"]

    def passes(self, **query: Any) -> list[dict[str, Any]]:
        return list(self.ask("dreams", PASSES, limit=100, **query)["passes"])

    def entries(self, tenant: str, ref: str) -> list[dict[str, Any]]:
        """All that can be read under the ref."""
        found: list[dict[str, Any]] = []
        query: dict[str, Any] = {"memoryRef": ref, "limit": 1000}
        while True:
            page = self.ask(tenant, "/v1/host/console/memory", **query)
            found += page["entries"]
            if not page.get("next"):
                return found
            query["after"] = page["next"]

    def ticks(self, tenant: str, name: str) -> list[dict[str, Any]]:
        return list(self.ask(tenant, f"{SCHEDULES}/{name}/ticks")["ticks"])

    def say(self, tenant: str, sentence: str) -> None:
        """Entries with the sentence for each of so many invoices."""
        for part in range(PARTS):
            self.run(tenant, "say", text="\n".join(sentence.format(f"INV{part}X{each}") for each in range(IN_ONE)))

    def commitments(self, tenant: str, **query: Any) -> int:
        return int(self.ask(tenant, COMMITMENTS, limit=1, **query)["total"])

    def checksum(self) -> str:
        """Of the archive that the same sources and budget make."""
        return str(self.order("dreams", dreaming.DISTILL, ARCHIVE)["archiveChecksum"])


def until(holds: Callable[[], Any], otherwise: str, seconds: float = 90, every: float = 0.1) -> Any:
    """What it comes to. Asked ``EAGERLY`` where what is to be interrupted would soon be over: an answer costs as much
    as what it is about."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, otherwise
        time.sleep(every)
    return found


def holder(console: ConsoleProcess, which: str) -> psutil.Process:
    """The worker that has taken the pass."""
    pid = until(lambda: console.shell(HOLDER.format(which)), "no worker takes the pass", every=EAGERLY)
    return psutil.Process(int(pid))


def freeze(console: ConsoleProcess, worker: psutil.Process) -> None:
    """It stands still until it is killed: so it is in the middle of its work, whatever else happens before the kill.
    On SQLite between two transactions and out of the line of those who wait for one, since nobody else could write."""
    if plugin.engine() == plugin.POSTGRES:
        worker.suspend()
        return
    deadline = time.monotonic() + 30
    database = console.data_folder / "console.sqlite3"
    with (
        Path(f"{database}{TURNSTILE}").open("r+b") as line,
        closing(sqlite3.connect(database, isolation_level=None, timeout=0)) as ours,
    ):
        fcntl.lockf(line, fcntl.LOCK_EX)
        while not ours.in_transaction:
            assert time.monotonic() < deadline, "somebody always writes"
            with suppress(sqlite3.OperationalError):
                ours.execute("BEGIN IMMEDIATE")
        worker.suspend()
        # Before it has come to the signal, one who waits would still be given what is released now, and keep it.
        while worker.status() != psutil.STATUS_STOPPED:
            assert time.monotonic() < deadline, "it does not stand still"
            time.sleep(0.001)


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def flow() -> dict[str, Any]:
    """Four writes with a little wait between each, so that a kill finds runs at every stage."""
    nodes = []
    for number in range(1, STEPS + 1):
        nodes.append(building.remember_node(f"{{{{label}}}} step {number}", node_id=f"write-{number}", tags=["crash"]))
        nodes[-1]["inputs"] = {"label": building.from_input("label")}
        nodes.append(building.node(f"wait-{number}", "core.delay", {"delayMs": 400}))
    return building.definition("crash-flow", *nodes)


def saying() -> dict[str, Any]:
    node = building.remember_node("{{content}}", node_id="say") | {"inputs": {"content": building.from_input("text")}}
    return building.definition("say", node)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """The console runs, with a tenant for each sort of work."""
    folder = tmp_path_factory.mktemp("kill")
    with fresh_database() as url, ExitStack() as stack:
        story = Story(ConsoleProcess(folder / "data", url), folder)
        stack.callback(story.receiver.close)
        stack.callback(story.console.end)
        story.console.make_tables()
        for script in (FILL_REFS, FILL_HABITS, MAKE_TENANTS):
            story.console.shell(script)
        story.install("flows", flow())
        for tenant in ("fires", "infers", "soon"):
            story.install(tenant, saying())
        story.start()
        yield story
        for client in story.clients.values():
            client.close()


@pytest.fixture(scope="module")
def killed(begun: Story) -> Story:
    """Killed in the middle of a consolidation, a forget and a synthesis, while runs wait, sleep, are paused and write,
    ticks fire, commitments are inferred and fire, and between the commit of an event and its send to a webhook; started
    again when what is scheduled once is due."""
    story = begun
    _prepare(story)
    _stop_three_in_the_middle(story)
    _begin_the_rest(story)
    freeze(story.console, story.console.child("qcluster"))  # which sends webhooks
    story.order("hooks", "/v1/host/workspace/files/notes.md", {"content": "x"}, method="PUT")
    story.console.kill()
    assert story.receiver.received == []
    story.left = json.loads(story.console.shell(LEFT_BY_THE_KILL))
    story.left |= {tenant: int(story.console.shell(STARTED.format(tenant))) for tenant in ("fires", "ticks", "waits")}
    assert int(story.console.shell(MISS_THE_REST)) > TICKS // 2
    story.start()
    return story


def _prepare(story: Story) -> None:
    """What ends or waits before anything is interrupted."""
    before = story.before
    before["checksum"] = story.checksum()
    for kind, ref in sorted(WANTED):
        body = {"kind": kind, "memoryRef": ref, "cron": "0 0 * * *"}
        story.order("dreams", PASS_SCHEDULES, body, method="PUT")
    rehearsal = story.order("learns", SYNTHESIS, {"dryRun": True})["id"]
    before["preview"] = preview = story.order("forgets", f"{FORGET}/previews", {"subject": ANA})["previewId"]
    hook = {"url": story.receiver.url, "events": ["workspace.updated"]}
    before["webhook"] = story.order("hooks", "/v1/webhooks", hook)
    story.say("fires", "When invoice {} clears, tell finance.")
    before["gate"] = story.run("waits", "conformance-approval")
    before["asked"] = story.run("waits", "conformance-clarification")
    proposal = {"kind": "prompt-template", "artifact": PROMPT, "title": "Shorter", "rationale": "Too long."}
    proposed = story.order("waits", "/v1/host/console/proposals", proposal)["id"]
    before["pending"] = story.order("waits", f"{PROPOSALS}/{proposed}/apply")
    for number in range(TICKS):
        order = {"name": f"s{number}", "workflowId": "conformance-noop", "at": in_seconds(3600)}
        story.order("ticks", SCHEDULES, order)
    story.order("waits", SCHEDULES, {"name": "once", "workflowId": "conformance-noop", "at": in_seconds(3600)})
    for tenant in ("infers", "flows"):
        story.client(tenant)
    story.until("waits", before["gate"], "waiting-approval")
    story.until("waits", before["asked"], "waiting-input")
    until(lambda: story.ask("learns", f"{SYNTHESIS}/{rehearsal}")["state"] in OVER, "the rehearsal does not end")
    before["rehearsed"] = story.ask("learns", f"{SYNTHESIS}/{rehearsal}")
    before["proposals"] = story.ask("learns", PROPOSALS)
    until(lambda: story.ask("forgets", f"{FORGET}/previews/{preview}")["state"] == "ready", "no preview")
    until(lambda: story.commitments("fires") == ALL, "not every intention is a commitment")


def _stop_three_in_the_middle(story: Story) -> None:
    """A synthesis, a consolidation and a forget, each on a worker that goes no further."""
    story.before["synthesis"] = synthesis = f"{SYNTHESIS}/{story.order('learns', SYNTHESIS, {})['id']}"
    worker = holder(story.console, "kind='synthesize'")
    until(lambda: story.ask("learns", synthesis)["done"] > 3, "nothing is proposed", every=EAGERLY)
    freeze(story.console, worker)
    assert story.console.shell(MISSED) == str(len(WANTED))

    def is_merging() -> bool:
        [row] = story.passes(kind="consolidate", memoryRef="large") or [{"doing": "", "done": 0}]
        assert row.get("state") not in OVER, "the pass was over before it could be killed"
        return row["doing"] == "merging" and row["done"] > 0

    worker = holder(story.console, "kind='consolidate', memory_ref='large'")
    until(is_merging, "the large pass has merged nothing", every=EAGERLY)
    freeze(story.console, worker)
    confirmed = {"previewId": story.before["preview"], "subject": ANA, "reason": "ticket 17"}
    story.before["forget"] = forget = f"{FORGET}/{story.order('forgets', FORGET, confirmed)['forgetId']}"
    worker = holder(story.console, "kind='forget'")
    until(lambda: story.ask("forgets", forget)["progress"]["done"] > 0, "nothing is erased", every=EAGERLY)
    freeze(story.console, worker)


def _begin_the_rest(story: Story) -> None:
    """Runs write, ticks fire, commitments are inferred and fire: the other workers have begun each, and ended none."""
    before = story.before
    story.say("infers", "When invoice {} clears, tell finance.")
    until(lambda: story.commitments("infers"), "nothing is inferred")
    before["asleep"] = story.run("waits", "conformance-delay", delayMs=5000)
    before["paused"] = story.run("waits", "conformance-delay", delayMs=500)
    story.order("waits", f"/v1/runs/{before['paused']}:pause", {"drainPolicy": "immediate"})
    assert story.console.shell(SPREAD) == str(TICKS)
    until(lambda: story.ticks("ticks", "s0"), "nothing is fired")
    story.runs = [story.run("flows", "crash-flow", label=f"run {number}") for number in range(RUNS)]
    until(lambda: any(story.written(run_id) for run_id in story.runs[:3]), "no run writes")
    before["written"] = {run_id: story.written(run_id) for run_id in story.runs}
    story.say("fires", "Invoice {} cleared.")
    until(lambda: story.commitments("fires", state="fired"), "no commitment fires", every=EAGERLY)


def test_the_kill_came_in_the_middle_of_all_three(killed: Story) -> None:
    state, doing, done, total = killed.left["dreamt"]
    assert (state, doing) == ("claimed", "merging")
    assert 0 < done < total
    assert 0 < killed.left["away"] < FACTS * TIMES
    assert killed.left["unforgotten"] > 1
    state, proposed = killed.left["looked"]
    assert state == "claimed", "the synthesis was over before it could be killed"
    assert 3 <= proposed == killed.left["proposals"] < HABITS + 3


def test_scheduled_passes_are_done_once_each_and_lose_and_double_nothing(killed: Story) -> None:
    # Sooner than the lease of a worker that is no more would be over: the console that starts releases it.
    until(lambda: all(row["state"] in OVER for row in killed.passes()), "a pass was left open", seconds=40)
    made = [row for row in killed.passes() if row["memoryRef"] != ARCHIVE["memoryRef"]]
    assert Counter((row["kind"], row["memoryRef"]) for row in made) == Counter(WANTED)
    assert {row["trigger"] for row in made} == {"scheduled"}
    codes = {(row["kind"], row["memoryRef"]): row["code"] for row in made if row["state"] != "done"}
    assert codes in ({}, {("compact", "shared"): "nothing_to_compact"})

    [large] = [row for row in made if row["memoryRef"] == "large"]
    _is_whole(killed, large)
    [distilled] = [row for row in made if row["memoryRef"] == "distilled"]
    archives = killed.ask("dreams", "/v1/host/console/archives", memoryRef="distilled")["archives"]
    assert [each["sha256"] for each in archives] == [distilled["outcome"]["archiveChecksum"]]
    [compacted] = killed.entries("dreams", "compacted")
    assert compacted["content"].split("\n") == [f"note {number} of compacted" for number in range(EACH)]


def _is_whole(story: Story, large: dict[str, Any]) -> None:
    """Its one event says what is there, and every fact is, under all its tags."""
    outcome, left, log = large["outcome"], story.entries("dreams", "large"), story.events("dreams", large["runId"])
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


def test_a_forget_is_carried_out_to_its_receipt(killed: Story) -> None:
    until(
        lambda: killed.ask("forgets", killed.before["forget"])["state"] == "forgotten", "not carried out", seconds=240
    )
    receipt = killed.ask("forgets", killed.before["forget"])["receipt"]
    assert receipt["stores"]["memory entries"]["erased"] == ROWS
    assert killed.console.shell(ENTRIES.format("tenant__slug='forgets'")) == "1"


def test_a_synthesis_proposes_each_thing_once(killed: Story) -> None:
    rehearsed = _ended(killed.before["rehearsed"])
    would = Counter(each["kind"] for each in rehearsed["outcome"]["wouldPropose"])
    wanted = {"workflow-chain-pack": 1, "agent-pack": 1, "prompt-template": 1, "automation": HABITS}
    assert would == wanted, rehearsed["outcome"]
    assert killed.before["proposals"] == {"proposals": [], "total": 0, "next": None}

    address = killed.before["synthesis"]
    until(lambda: killed.ask("learns", address)["state"] in OVER, "the synthesis does not end")
    done = _ended(killed.ask("learns", address))
    outcome, made = done["outcome"], killed.ask("learns", PROPOSALS)["proposals"]
    assert Counter(each["kind"] for each in made) == wanted
    assert sorted(outcome["proposed"]) == sorted(each["id"] for each in made)
    assert (outcome["found"], outcome["seenBefore"], outcome["refused"]) == (HABITS + 3, 0, {})
    log = killed.events("learns", done["runId"])
    told = [event["payload"]["proposalId"] for event in log if event["type"] == "proposal.created"]
    assert sorted(told) == sorted(outcome["proposed"])
    assert {each["state"] for each in made} == {"draft"}
    assert {each["provenance"]["synthesizerModel"] for each in made} == {"host:rule-miner/1"}
    assert all(each["rationale"] and each["provenance"]["sourceRunIds"] for each in made)
    _says_what_was_seen(made)

    again = json.loads(killed.console.manage("synthesize", "--tenant", "learns").stdout)
    assert (again["proposed"], again["seenBefore"]) == ([], HABITS + 3)


def _ended(row: dict[str, Any]) -> dict[str, Any]:
    assert (row["state"], row["code"]) == ("done", None), row
    return row


def _says_what_was_seen(made: list[dict[str, Any]]) -> None:
    by_kind = {each["kind"]: each["artifact"] for each in made}
    assert "Keep it to two sentences, please." in by_kind["prompt-template"]["text"]
    assert by_kind["agent-pack"]["agents"][0]["toolAllowlist"] == ["openwop:memory.write"]
    [chain] = by_kind["workflow-chain-pack"]["chains"]
    assert [node["typeId"] for node in chain["dag"]["nodes"]] == ["vendor.console.compose", "vendor.console.remember"]
    assert (by_kind["automation"]["workflowId"], by_kind["automation"]["cron"]) == ("report", "0 9 * * *")


def test_the_same_sources_make_the_same_archive_as_before(killed: Story) -> None:
    assert killed.checksum() == killed.before["checksum"]


def test_no_write_of_a_run_is_lost_or_doubled_and_every_run_ends(killed: Story) -> None:
    before = killed.before["written"]
    assert {len(entries) for entries in before.values()} - {STEPS}, "the kill came too late to prove anything"
    for run_id in before:
        snapshot = killed.until("flows", run_id, "completed", "failed")
        after = killed.written(run_id)
        assert after[: len(before[run_id])] == before[run_id], "an acknowledged write is lost"
        listed = killed.ask("flows", "/v1/host/console/memory", runId=run_id)
        assert [entry["id"] for entry in reversed(listed["entries"])] == after
        texts = [entry["content"] for entry in listed["entries"]]
        assert len(set(texts)) == len(texts), "a write is doubled"
        assert snapshot["status"] == "completed" or snapshot["error"]["code"]
        assert snapshot["status"] != "completed" or len(after) == STEPS
        types = killed.types("flows", run_id)
        assert types[-1] in {"run.completed", "run.failed"}
        assert sum(kind in {"run.completed", "run.failed"} for kind in types) == 1


def test_what_slept_wakes_and_what_was_paused_is_resumed(killed: Story) -> None:
    asleep, paused = killed.before["asleep"], killed.before["paused"]
    killed.until("waits", asleep, "completed")
    assert killed.types("waits", asleep).count("node.completed") == 1
    assert killed.ask("waits", f"/v1/runs/{paused}")["status"] == "paused"
    killed.order("waits", f"/v1/runs/{paused}:resume")
    killed.until("waits", paused, "completed")


def test_what_was_asked_is_still_asked_and_is_answered(killed: Story) -> None:
    gate, asked = killed.before["gate"], killed.before["asked"]
    killed.order("waits", f"/v1/runs/{gate}/interrupts/gate", {"resumeValue": {"action": "accept"}})
    killed.until("waits", gate, "completed")
    answers = {"resumeValue": {"answers": {"q1": "blue"}}}
    killed.order("waits", f"/v1/runs/{asked}/interrupts/ask", answers)
    killed.until("waits", asked, "completed")


def test_a_proposal_that_waited_for_a_vote_is_activated_once(killed: Story) -> None:
    pending = killed.before["pending"]
    vote = f"/v1/runs/{pending['runId']}/interrupts/{pending['nodeId']}"
    killed.order("waits", vote, {"resumeValue": {"decision": "granted"}}, role="reviewer")
    killed.until("waits", pending["runId"], "completed")
    assert killed.types("waits", pending["runId"]).count("proposal.activated") == 1


def test_a_tick_missed_while_nothing_ran_is_caught_up_with_once(killed: Story) -> None:
    assert killed.left["waits"] == 0, "it was fired before the outage"
    until(lambda: killed.ticks("waits", "once"), "the tick is lost")
    [tick] = killed.ticks("waits", "once")
    assert (tick["outcome"], tick["missed"]) == ("fired", 0)
    killed.until("waits", tick["runId"], "completed")
    assert killed.console.shell(STARTED.format("waits")) == "1"
    assert killed.ask("waits", f"{SCHEDULES}/once")["nextTick"] is None


def test_every_tick_is_one_run_whenever_the_kill_came(killed: Story) -> None:
    assert 0 < killed.left["ticks"] < TICKS, "the kill came too late to prove anything"
    names = [f"s{number}" for number in range(TICKS)]
    until(lambda: all(killed.ticks("ticks", name) for name in names), "a tick is lost")
    fired = [killed.ticks("ticks", name) for name in names]
    assert {len(found) for found in fired} == {1}
    runs = {found[0]["runId"] for found in fired}
    assert len(runs) == TICKS == int(killed.console.shell(STARTED.format("ticks")))
    for run_id in runs:
        killed.until("ticks", run_id, "completed")


def test_no_commitment_and_no_firing_is_lost_or_doubled(killed: Story) -> None:
    assert 0 < killed.left["fires"] < ALL, "the kill came too late to prove anything"
    until(lambda: killed.commitments("fires", state="fired") == ALL, "a firing is lost")
    until(lambda: killed.commitments("infers") == ALL, "a commitment is lost")
    assert killed.commitments("fires") == ALL
    known = killed.ask("fires", COMMITMENTS, limit=1000)["commitments"]
    assert {each["fireCount"] for each in known} == {1}
    assert len({each["lastRunId"] for each in known}) == ALL
    assert int(killed.console.shell(STARTED.format("fires"))) == ALL


def test_what_was_committed_before_the_kill_is_sent_to_a_webhook_afterwards(killed: Story) -> None:
    webhook = killed.before["webhook"]
    log = f"/v1/host/console/webhooks/{webhook['id']}/deliveries"

    def delivered() -> list[dict[str, Any]]:
        return [each for each in killed.ask("hooks", log)["deliveries"] if each["state"] == "delivered"]

    until(delivered, "nothing is sent")
    [delivery], received = delivered(), killed.receiver.received
    assert {each.headers["webhook-id"] for each in received} == {delivery["messageId"]}
    for each in received:
        assert Webhook(webhook["secret"]).verify(each.raw, each.headers)["data"]["path"] == "notes.md"


def test_an_intention_is_a_commitment_about_a_second_after_it_was_written(killed: Story) -> None:
    killed.client("soon")
    begun = time.monotonic()
    killed.say("soon", "When invoice {} clears, tell finance.")
    until(lambda: killed.commitments("soon") == ALL, "not every intention is a commitment")
    assert time.monotonic() - begun < 10


def test_the_command_carries_a_pass_out_here_and_now(killed: Story) -> None:
    where = ["--tenant", "dreams", "--ref", "by-hand"]
    tried = killed.console.manage("run_pass", "compact", *where, "--dry-run")
    assert (tried.returncode, json.loads(tried.stdout)["sourceCount"]) == (0, EACH)
    assert len(killed.entries("dreams", "by-hand")) == EACH
    done = killed.console.manage("run_pass", "compact", *where)
    assert json.loads(done.stdout)["outputId"] == killed.entries("dreams", "by-hand")[0]["id"]
    for words, code in (
        (["compact", *where], "nothing_to_compact"),
        (["compact", *where, "--option", "full=true"], "options"),
        (["compact", *where, "--option", "full"], "NAME=VALUE"),
        (["compact", "--tenant", "dreams", "--ref", "../x"], "memoryRef must be"),
        (["compact", "--tenant", "nobody", "--ref", "x"], "no tenant"),
    ):
        _refuses_in_one_line(killed, ["run_pass", *words], code)


def test_the_command_of_the_synthesis_looks_and_refuses_in_one_line(killed: Story) -> None:
    looked = killed.console.manage("synthesize", "--tenant", "soon", "--dry-run")
    assert json.loads(looked.stdout)["wouldPropose"] == []
    _refuses_in_one_line(killed, ["synthesize", "--tenant", "nobody"], "no tenant")
    _refuses_in_one_line(killed, ["synthesize", "--tenant", "soon", "--endpoint"], "no endpoint")


def _refuses_in_one_line(story: Story, words: list[str], code: str) -> None:
    refused = story.console.manage(*words)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert code in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1


@pytest.fixture(scope="module")
def terminated(killed: Story) -> Story:
    """Ended by SIGTERM with a task in hand and runs in the middle; then its worker is started again."""
    story = killed
    story.console.shell(QUEUE_A_NAP)
    began = time.monotonic()
    until(lambda: story.console.shell(COUNT_NAPS) == "1", "nobody takes the task", every=EAGERLY)
    story.runs = [story.run("flows", "crash-flow", label=f"run {number}") for number in range(6)]
    assert time.monotonic() - began < NAP, "the task was over before the end was asked for"
    story.before["status"] = story.console.terminate()
    story.before["took"] = time.monotonic() - began
    story.before["left behind"] = story.console.left_behind()
    story.before["naps"] = story.console.shell(COUNT_NAPS)
    story.console.start("--only", "worker")
    return story


def test_a_task_in_hand_at_sigterm_is_finished_first(terminated: Story) -> None:
    assert (terminated.before["status"], terminated.before["left behind"]) == (0, [])
    assert terminated.before["took"] > NAP
    assert terminated.before["naps"] == "0"


def test_runs_go_on_where_they_were_at_sigterm(terminated: Story) -> None:
    as_they_should = str([("completed", STEPS)] * len(terminated.runs))
    until(lambda: terminated.console.shell(ENDED.format(terminated.runs)) == as_they_should, "a run does not go on")
