"""Rights that an agent cannot give to itself, by making work for others or by outstaying its own (RFC-0015 2, 9.1).

Every agent here has a key that is bound to it, as in production.
"""

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory.host import ids
from memory.openintent import events, work
from memory.openintent.access import Caller
from memory.openintent.work.coordinators import TOLD
from memory.openintent.work.rows import KINDS, OF_STATUS, TOLD_BY_HOST, NewCoordinator, NewIntent, NewTask
from tests import building

pytestmark = pytest.mark.django_db
PELICAN = {"word": "pelican"}
READING = ("viewer", "author", "reviewer")
Json = dict[str, Any]
CALLER = Client()


@dataclass
class Agent:
    """An agent at the API, by a key that is bound to it unless somebody says otherwise."""

    name: str
    role: str = "agent"
    bound: bool = True
    key: str = field(init=False)

    def __post_init__(self) -> None:
        self.key = building.key("acme", self.role, **({"agents": (self.name,)} if self.bound else {}))

    def ask(self, method: str, path: str, body: Any = None, **headers: Any) -> Any:
        named = {"HTTP_X_API_KEY": self.key, "HTTP_X_AGENT_ID": self.name, **headers}
        sent = json.dumps(body) if body is not None else ""
        return CALLER.generic(method, f"/api/v1/{path}", sent, content_type="application/json", **named)

    def makes(self, path: str, **body: Any) -> Json:
        answer = self.ask("POST", path, body)
        assert answer.status_code in {200, 201}, answer.content
        made: Json = answer.json()
        return made

    def intent(self) -> str:
        return str(self.makes("intents", title="An intent")["id"])

    def task(self, intent: str, **more: Any) -> str:
        return str(self.makes("tasks", intent_id=intent, name="A task", **more)["id"])

    def coordinator(self, intent: str, agent: str, **more: Any) -> str:
        return str(self.makes("coordinators", intent_id=intent, agent_id=agent, **more)["id"])

    def change(self, path: str, **body: Any) -> int:
        """The status of the change, in the version that there is."""
        version = str(self.ask("GET", path).json()["version"])
        return int(self.ask("PATCH", path, body, HTTP_IF_MATCH=version).status_code)

    def remembers(self, key: str = "k", tier: str = "working", **more: Any) -> Any:
        given = {"namespace": f"of-{self.name}", "key": key, "value": PELICAN, "memory_type": tier, **more}
        return self.ask("POST", "memory", given)

    def status(self, path: str) -> int:
        return int(self.ask("GET", path).status_code)

    def log(self, intent: str) -> list[Json]:
        found: list[Json] = self.ask("GET", f"intents/{intent}/events").json()
        return found

    def archived(self, intent: str) -> dict[str, Any]:
        """The snapshots that it reads on the log, by task."""
        events = [each for each in self.log(intent) if each["type"] == "memory.archived"]
        return {each["task_id"]: each["data"]["snapshot"][0].get("value") for each in events}


@pytest.fixture
def alice() -> Agent:
    return Agent("alice")


@pytest.fixture
def mal() -> Agent:
    return Agent("mal")


@pytest.fixture
def boss() -> Agent:
    return Agent("boss")


def what_it_sees(overseer: Agent, entry: str) -> list[int]:
    """Of Alice: the entry, her stream, her summary, and how many of her episodic entries are listed."""
    listed = overseer.ask("GET", "agents/alice/memory?memory_type=episodic").json()
    paths = (f"memory/{entry}", "agents/alice/events", "agents/alice/memory/summary")
    return [*(overseer.status(path) for path in paths), len(listed)]


SHUT, OPEN = [403, 403, 403, 0], [200, 200, 200, 1]


@pytest.fixture
def consent(settings: Settings) -> None:
    """A host whose agents do not trust each other."""
    settings.OPENWOP_TASK_CONSENT = True


def test_R35_R78_who_coordinates_a_task_oversees_and_bounds_whom_it_gave_it_to(alice: Agent, boss: Agent) -> None:
    entry = alice.remembers("habit", "episodic").json()["id"]
    intent = boss.intent()
    boss.coordinator(intent, "boss", guardrails={"max_episodic_memory_per_agent": 1})
    assert what_it_sees(boss, entry) == SHUT
    task = boss.task(intent, assigned_agent="alice")
    assert what_it_sees(boss, entry) == OPEN
    assert alice.remembers("other", "episodic").status_code == 201
    assert alice.status(f"memory/{entry}") == 404
    assert boss.change(f"tasks/{task}", status="cancelled") == 200
    assert what_it_sees(boss, entry)[1:3] == [403, 403]


@pytest.mark.usefixtures("consent")
def test_R35_R78_R79_a_task_that_somebody_gave_an_agent_opens_and_bounds_nothing(alice: Agent, mal: Agent) -> None:
    entry = alice.remembers("habit", "episodic").json()["id"]
    intent = mal.intent()
    task = mal.task(intent, assigned_agent="alice", status="running")
    rails = {"max_episodic_memory_per_agent": 1, "denied_semantic_namespaces": ["plans"]}
    mal.coordinator(intent, "mal", guardrails=rails)
    assert what_it_sees(mal, entry) == SHUT
    assert alice.remembers("other", "episodic").status_code == 201
    assert alice.status(f"memory/{entry}") == 200
    assert alice.remembers("plan", "semantic", namespace="plans").status_code == 201
    assert mal.change(f"tasks/{task}", output={"n": 1}) == 200
    assert what_it_sees(mal, entry) == SHUT
    working = alice.remembers("w", scope={"task_id": task}).json()["id"]
    assert mal.status(f"memory/{working}") == 200, "what is remembered in its own task is the coordinator's to read"


@pytest.mark.usefixtures("consent")
def test_R35_R78_R79_an_agent_that_works_on_a_task_is_overseen_and_bounded(alice: Agent, boss: Agent) -> None:
    entry = alice.remembers("habit", "episodic").json()["id"]
    intent = boss.intent()
    task = boss.task(intent, assigned_agent="alice")
    boss.coordinator(
        intent, "boss", guardrails={"max_episodic_memory_per_agent": 1, "denied_semantic_namespaces": ["plans"]}
    )
    assert alice.change(f"tasks/{task}", status="running") == 200
    assert what_it_sees(boss, entry) == OPEN
    assert alice.remembers("plan", "semantic", namespace="plans").status_code == 403
    assert alice.remembers("other", "episodic").status_code == 201
    assert alice.status(f"memory/{entry}") == 404
    assert alice.change(f"tasks/{task}", assigned_agent="somebody") == 200
    assert what_it_sees(boss, entry)[1:3] == [403, 403]


@pytest.mark.usefixtures("consent")
@pytest.mark.parametrize("how", ["claims", "makes", "an operator assigns", "a key for all assigns"])
def test_R35_an_agent_has_taken_up_what_it(how: str, alice: Agent, boss: Agent) -> None:
    entry = alice.remembers("habit", "episodic").json()["id"]
    intent = boss.intent() if how != "makes" else alice.intent()
    if how == "makes":
        alice.task(intent, assigned_agent="alice")
        alice.coordinator(intent, "boss")
    else:
        boss.coordinator(intent, "boss")
        task = boss.task(intent)
        assert what_it_sees(boss, entry) == SHUT
        chief = Agent("chief", "operator" if "operator" in how else "agent", bound=False)
        given = {"status": "claimed"} if how == "claims" else {"assigned_agent": "alice"}
        chief = Agent("boss", chief.role, bound=False) if "key" in how else chief
        assert (alice if how == "claims" else chief).change(f"tasks/{task}", **given) == 200
    assert what_it_sees(boss, entry) == OPEN


def test_the_status_of_an_agent_is_its_own_to_say(alice: Agent, mal: Agent) -> None:
    alice.makes("agents/register", agent_id="alice")
    intent = mal.intent()
    mal.task(intent, assigned_agent="alice")
    mal.coordinator(intent, "mal")
    says = {"status": "dead"}
    assert mal.ask("PATCH", "agents/alice/status", says).status_code == 403
    assert Agent("mal", "operator").ask("PATCH", "agents/alice/status", says).status_code == 403
    for who in (alice, Agent("ada", "operator", bound=False), Agent("anybody", bound=False)):
        assert who.ask("PATCH", "agents/alice/status", says).status_code == 200


@dataclass
class Office:
    """An intent of ``boss`` on which Alice works, for whom ``deputy`` coordinates for a moment that is over."""

    boss: Agent
    alice: Agent
    deputy: Agent = field(default_factory=lambda: Agent("deputy"))

    def __post_init__(self) -> None:
        now = timezone.now()
        before, scope = now - timedelta(hours=1), building.scope(role="agent", agents=("boss",))
        self.intent = self.boss.intent()
        self.task = self.boss.task(self.intent, assigned_agent="alice")
        assert self.alice.change(f"tasks/{self.task}", status="running") == 200
        rails = {"max_working_memory_per_task": 1, "denied_semantic_namespaces": ["plans"]}
        new = NewCoordinator(self.intent, "deputy", rails, expires_at=now - timedelta(minutes=1))
        made = work.coordinators.create_coordinator(scope, new, actor="boss", now=before)
        self.coordinator = ids.wire("coord", made.id)


@pytest.fixture
def office(boss: Agent, alice: Agent) -> Office:
    return Office(boss, alice)


def test_R25_a_coordinator_whose_time_is_over_directs_nothing_at_once(office: Office) -> None:
    deputy, intent = office.deputy, f"intents/{office.intent}"
    assert deputy.ask("GET", f"coordinators/{office.coordinator}").json()["status"] == "active", "not yet found lapsed"
    assert deputy.ask("POST", f"{intent}/acl/entries", {"principal_id": "deputy"}).status_code == 403
    assert deputy.status(f"{intent}/acl") == 403
    assert deputy.ask("PUT", f"{intent}/acl", {"entries": []}).status_code == 403
    assert deputy.ask("POST", f"{intent}/status", {"status": "abandoned"}, HTTP_IF_MATCH="1").status_code == 403
    assert deputy.ask("POST", f"{intent}/agents", {"agent_id": "friend"}).status_code == 403
    assert deputy.ask("POST", "tasks", {"intent_id": office.intent, "name": "x"}).status_code == 403
    assert deputy.ask("POST", "coordinators", {"intent_id": office.intent, "agent_id": "deputy"}).status_code == 403
    assert deputy.change(f"tasks/{office.task}", assigned_agent="deputy") == 403
    assert deputy.change(f"coordinators/{office.coordinator}", guardrails={}) == 403
    assert deputy.change(f"coordinators/{office.coordinator}", guardrails=7) == 403, "before what it sent is judged"
    for path in (f"{intent}/events", "agents/alice/events", "agents/alice/memory/summary"):
        assert deputy.status(path) == 403, path


def test_R77_R80_a_coordinator_whose_time_is_over_bounds_nothing_at_once(office: Office) -> None:
    for key in ("one", "two"):
        assert office.alice.remembers(key, scope={"task_id": office.task}).status_code == 201
    assert office.alice.remembers("plan", "semantic", namespace="plans").status_code == 201


@pytest.mark.parametrize("stopped", ["paused", "completing"])
def test_a_coordinator_that_the_director_stopped_does_not_go_on_by_itself(office: Office, stopped: str) -> None:
    made = office.boss.coordinator(office.intent, "deputy")
    path, deputy, boss = f"coordinators/{made}", office.deputy, office.boss
    entry = office.alice.remembers(scope={"task_id": office.task}).json()["id"]
    assert deputy.status(f"memory/{entry}") == 200
    assert boss.change(path, status=stopped) == 200
    assert deputy.status(f"memory/{entry}") == 403
    tries: list[Json] = [{"status": "active"}, {"status": "paused"}, {"status": "completing"}, {"guardrails": {}}]
    for change in tries:
        assert deputy.change(path, **change) == 403
    assert boss.change(path, status="active") == 200
    assert deputy.status(f"memory/{entry}") == 200
    assert deputy.change(path, status=stopped) == 200
    assert deputy.change(path, status="active") == 200, "what it stopped itself it takes up again"
    assert deputy.change(path, status=stopped) == 200
    assert boss.change(path, status=stopped) == 200
    assert deputy.change(path, status="active") == 403


def test_R27_who_has_a_task_is_told_what_was_remembered_in_that_task(boss: Agent, alice: Agent, mal: Agent) -> None:
    intent = boss.intent()
    tasks = {
        who.name: boss.task(intent, **({"assigned_agent": "alice"} if who is alice else {})) for who in (alice, mal)
    }
    assert mal.status(f"intents/{intent}/events") == 403
    assert mal.change(f"tasks/{tasks['mal']}", status="claimed") == 200
    for who in (alice, mal):
        task = tasks[who.name]
        assert who.remembers(scope={"task_id": task}).status_code == 201
        assert who.change(f"tasks/{task}", status="completed") == 200
    for who in (alice, mal):
        other = tasks["mal" if who is alice else "alice"]
        assert who.archived(intent) == {tasks[who.name]: PELICAN, other: None}
    boss.makes(f"intents/{intent}/acl/entries", principal_id="reader")
    for who in (boss, Agent("reader"), Agent("ada", "operator", bound=False)):
        assert set(map(str, who.archived(intent).values())) == {str(PELICAN)}


def test_R27_a_grant_on_one_intent_opens_the_log_of_no_other(boss: Agent) -> None:
    opened, other = boss.intent(), boss.intent()
    for reader in ("first", "second"):
        boss.makes(f"intents/{opened}/acl/entries", principal_id=reader)
    assert [Agent("first").status(f"intents/{each}/events") for each in (opened, other)] == [200, 403]
    listed = boss.ask("GET", f"intents/{opened}/acl").json()["entries"]
    assert [each["principal_id"] for each in listed] == ["first", "second"], "in the order in which they were granted"


def test_R27_a_coordinator_reads_the_log_at_work_and_when_it_has_finished(office: Office) -> None:
    path = f"coordinators/{office.boss.coordinator(office.intent, 'deputy')}"
    for status, read in (("paused", 403), ("active", 200), ("failed_over", 403), ("completed", 200)):
        assert office.boss.change(path, status=status) == 200
        assert office.deputy.status(f"intents/{office.intent}/events") == read, status


@pytest.mark.parametrize("of", ["task", "intent"])
def test_R74_a_task_that_lends_its_parent_s_memory_is_not_claimed_by_strangers(
    of: str, boss: Agent, alice: Agent, mal: Agent
) -> None:
    lends = {"inherit_from_parent": True}
    if of == "intent":
        scope = building.scope(role="agent", agents=("boss",))
        made = work.intents.create_intent(scope, NewIntent("File", policy=lends), actor="boss", now=timezone.now())
        intent = ids.wire("intent", made.id)
    else:
        intent = boss.intent()
    parent = boss.task(intent, assigned_agent="alice")
    entry = alice.remembers(scope={"task_id": parent}).json()["id"]
    policy = {"memory_policy": lends} if of == "task" else {}
    child, given = (boss.task(intent, parent_task_id=parent, **policy) for _ in range(2))
    assert mal.change(f"tasks/{child}", status="claimed") == 403
    assert mal.status(f"memory/{entry}") == 403
    assert alice.change(f"tasks/{child}", status="claimed") == 200
    assert boss.change(f"tasks/{given}", status="running", assigned_agent="heir") == 200
    heir = Agent("heir")
    assert heir.status(f"memory/{entry}") == 200
    found = heir.ask("GET", f"memory?scope.task_id={given}&memory_type=working").json()["entries"]
    assert [(each["id"], each["inherited_from"]) for each in found] == [(entry, parent)]


@pytest.mark.parametrize("own", [None, {}, {"inherit_from_parent": True}, {"inherit_from_parent": False}])
@pytest.mark.parametrize("default", [{}, {"inherit_from_parent": True}, {"inherit_from_parent": False}])
def test_R74_R87_of_many_tasks_and_of_one_the_same_is_inherited(own: Json | None, default: Json) -> None:
    scope, now = building.scope(), timezone.now()
    intent = work.intents.create_intent(scope, NewIntent("x", policy=default), actor="boss", now=now)
    about = ids.wire("intent", intent.id)
    parent = work.tasks.create_task(scope, NewTask(about, "parent"), actor="boss", now=now)
    new = NewTask(about, "x", assigned_agent="heir", parent_task_id=ids.wire("task", parent.id), memory_policy=own)
    child = work.tasks.create_task(scope, new, actor="boss", now=now)
    wanted = {**default, **(own or {})}.get("inherit_from_parent", False)
    assert work.tasks.inherits(child) is work.tasks.policy_of(child, now=now).inherit_from_parent is wanted
    assert work.tasks.heirs(scope.tenant_id, "heir").exists() is wanted


@pytest.mark.parametrize("given_to", ["mal", ""])
def test_R74_who_has_a_task_makes_itself_no_heir_of_all_who_work_there(
    given_to: str, boss: Agent, alice: Agent, mal: Agent
) -> None:
    intent = boss.intent()
    parent = boss.task(intent, assigned_agent=given_to)
    boss.makes(f"intents/{intent}/acl/entries", principal_id="alice", permission="write")
    if not given_to:
        assert mal.change(f"tasks/{parent}", status="claimed") == 200
    entry = alice.remembers(scope={"task_id": parent}).json()["id"]
    wanted = {"intent_id": intent, "name": "x", "parent_task_id": parent, "assigned_agent": "mal"}
    lends = {"memory_policy": {"inherit_from_parent": True}}
    assert mal.ask("POST", "tasks", wanted | lends).status_code == 403
    assert mal.ask("POST", "tasks", wanted).status_code == 201
    assert mal.status(f"memory/{entry}") == 403
    assert boss.ask("POST", "tasks", wanted | lends).status_code == 201
    assert mal.status(f"memory/{entry}") == 200


@pytest.mark.parametrize(("tier", "ttl"), [("working", None), ("episodic", "task_lifetime")])
def test_a_task_in_which_others_remember_is_not_claimed_by_strangers(
    tier: str, ttl: str | None, boss: Agent, alice: Agent, mal: Agent
) -> None:
    intent = boss.intent()
    task = boss.task(intent)
    entry = alice.remembers("k", tier, scope={"task_id": task}, ttl=ttl).json()["id"]
    assert mal.change(f"tasks/{task}", status="claimed") == 403
    assert alice.status(f"memory/{entry}") == 200
    assert alice.change(f"tasks/{task}", status="claimed") == 200
    assert boss.change(f"tasks/{task}", assigned_agent="mal") == 200


def test_who_claimed_a_task_does_not_end_the_intent(boss: Agent, mal: Agent) -> None:
    intent = boss.intent()
    assert mal.change(f"tasks/{boss.task(intent)}", status="claimed") == 200
    path, given = f"intents/{intent}/status", {"status": "abandoned"}
    version = str(boss.ask("GET", f"intents/{intent}").json()["version"])
    assert mal.ask("POST", path, given, HTTP_IF_MATCH=version).status_code == 403
    assert boss.ask("POST", path, given, HTTP_IF_MATCH=version).status_code == 200


def test_R27_who_coordinated_to_the_end_reads_the_log_for_the_time_it_was_given(boss: Agent, mal: Agent) -> None:
    intent, now = boss.intent(), timezone.now()
    lease = boss.coordinator(intent, "mal", expires_at=(now + timedelta(hours=1)).isoformat())
    assert mal.change(f"coordinators/{lease}", status="completing") == 200
    caller = Caller(building.scope(role="agent", agents=("mal",)), "mal")
    assert events.readable_intent(caller, intent, now=now + timedelta(minutes=59)) is not None
    assert events.readable_intent(caller, intent, now=now + timedelta(minutes=61)) is None


def test_who_had_a_task_that_has_ended_puts_no_other_under_it(boss: Agent, mal: Agent) -> None:
    intent = boss.intent()
    parent = boss.task(intent, assigned_agent="mal")
    wanted = {"intent_id": intent, "name": "x", "parent_task_id": parent, "assigned_agent": "mal"}
    assert mal.ask("POST", "tasks", wanted).status_code == 201
    assert mal.change(f"tasks/{parent}", status="completed") == 200
    assert mal.ask("POST", "tasks", wanted).status_code == 403
    assert boss.ask("POST", "tasks", wanted).status_code == 201


@pytest.mark.parametrize("tier", ["working", "episodic", "semantic"])
def test_R20_R65_an_entry_is_told_of_on_the_log_of_an_intent_by_who_is_heard_there(
    tier: str, boss: Agent, alice: Agent, mal: Agent
) -> None:
    intent = boss.intent()
    mine, nobodys = boss.task(intent, assigned_agent="alice"), boss.task(intent)
    places = ({"intent_id": intent}, {"task_id": nobodys}, {"task_id": mine})
    assert [mal.remembers(f"m{n}", tier, scope=places[n]).status_code for n in (0, 2)] == [201, 403]
    assert mal.remembers("elsewhere", tier, scope={"intent_id": "of-another-host"}).status_code == 201
    assert [each["actor"] for each in boss.log(intent) if each["type"] == "memory.created"] == []
    mal.makes(f"intents/{intent}/agents", agent_id="mal")
    assert mal.remembers("joined", tier, scope={"intent_id": intent}).status_code == 201
    assert mal.remembers("free", tier, scope={"task_id": nobodys}).status_code == 201
    assert [each["actor"] for each in boss.log(intent) if each["type"] == "memory.created"] == ["mal", "mal"]
    assert [alice.remembers(f"a{n}", tier, scope=places[n]).status_code for n in (0, 2)] == [201, 201]
    assert [boss.remembers(f"b{n}", tier, scope=each).status_code for n, each in enumerate(places)] == [201, 201, 201]
    boss.makes(f"intents/{intent}/acl/entries", principal_id="mal", permission="write")
    assert [mal.remembers(f"g{n}", tier, scope=each).status_code for n, each in enumerate(places)] == [201, 201, 201]


def test_an_agent_forges_no_fact_of_the_host(boss: Agent, mal: Agent) -> None:
    intent = boss.intent()
    mal.makes(f"intents/{intent}/agents", agent_id="mal")
    task = boss.task(intent, assigned_agent="mal")
    assert mal.change(f"tasks/{task}", status="running") == 200
    log = f"intents/{intent}/events"
    for who in (mal, Agent("mal", bound=False)):
        answers = {
            kind: who.ask("POST", log, {"event_type": kind, "payload": {}}).status_code for kind in sorted(KINDS)
        }
        assert {kind for kind, status in answers.items() if status == 403} == TOLD_BY_HOST
        assert {answers[kind] for kind in KINDS - TOLD_BY_HOST} == {201}
    assert boss.ask("POST", log, {"event_type": "task.completed", "payload": {}}).status_code == 201


def test_what_the_host_tells_of_work_is_its_own_to_tell() -> None:
    told = set(TOLD.values()) | set(OF_STATUS.values()) | {"task.created", "access_granted", "lease_acquired"}
    assert told <= TOLD_BY_HOST <= KINDS
    by_the_published_client = {
        "comment", "agent_assigned", "intent.suspended", "engagement.decision", "tool_call_started", "stream_chunk",
        "intent.suspension_escalated", "intent.suspension_renotified", "llm_request_completed",
    }  # fmt: skip
    assert not by_the_published_client & TOLD_BY_HOST


def test_R7_an_entry_is_not_in_a_task_of_one_intent_and_in_another(boss: Agent) -> None:
    one, other = boss.intent(), boss.intent()
    task = boss.task(one, assigned_agent="boss")
    for who in (boss, Agent("boss", "operator", bound=False)):
        answer = who.remembers(scope={"task_id": task, "intent_id": other})
        assert answer.status_code == 400
        assert [each["field"] for each in answer.json()["errors"]] == ["scope.intent_id"]
    given = {"namespace": "ns", "key": "k", "value": {}, "scope": {"task_id": task, "intent_id": other}}
    batch = boss.ask("POST", "memory/batch", {"entries": [given]})
    assert batch.status_code == 400
    assert batch.json()["errors"][0]["field"] == "entries.0.scope.intent_id"
    assert boss.remembers(scope={"task_id": task, "intent_id": one}).status_code == 201
    assert boss.remembers("far", scope={"task_id": task, "intent_id": "of-another-host"}).status_code == 201


@pytest.mark.parametrize("tier", ["working", "episodic", "semantic"])
def test_C19_R108_who_only_looks_on_is_shown_nothing_sealed(tier: str, alice: Agent) -> None:
    made = {
        word: alice.remembers(word or "none", tier, sensitivity=word or None).json()["id"]
        for word in ("", "public", "internal", "confidential", "restricted")
    }
    readers = [(Agent("alice", role, bound), 200 if bound else 403) for role in READING for bound in (True, False)]
    for who, sealed in ((alice, 200), *readers):
        found = {word: who.status(f"memory/{entry}") for word, entry in made.items()}
        assert found == dict.fromkeys(made, 200) | {"confidential": sealed, "restricted": sealed}, who
        page = who.ask("GET", f"memory?memory_type={tier}&agent_id=alice").json()
        listed = who.ask("GET", f"agents/alice/memory?memory_type={tier}").json()
        assert page["total"] == len(page["entries"]) == len(listed) == list(found.values()).count(200), who
