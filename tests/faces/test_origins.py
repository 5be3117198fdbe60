"""What agents that run elsewhere write over the host extension, and what they state of where it came from."""

import csv
import io
import json
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory import external_runs
from memory.entry_drafts import EntryDraft
from memory.forget import execution
from memory.host import ids, tenancy, vault
from memory.host.models import Run
from memory.models import EntryOrigin, ExternalRun, ForgetRequest, ForgetState
from memory.models.entry import MemoryEntry
from memory.origins import Origin
from tests import building

pytestmark = pytest.mark.django_db
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
ORIGIN: dict[str, Any] = {
    "system": "langgraph",
    "runId": "run-7",
    "threadId": "thread-1",
    "checkpointId": "cp-3",
    "taskId": "task-9",
    "node": "call_model",
    "step": 2,
    "traceparent": TRACE,
    "sourceIds": ["doc-1", "doc-2"],
}
DOOR = "/v1/host/console/memory"
BODY = {"memoryRef": "notes", "content": "a note"}
BEGUN = {"system": "langgraph", "runId": "run-7"}


def forget(slug: str, subject: str) -> ForgetRequest:
    owner = building.scope(slug)
    found = execution.preview(owner, [subject], now=timezone.now())
    asked = execution.confirm(
        owner, found.request.id, typed=subject, reason="asked to", ticked=[], spared=[], now=timezone.now()
    )
    done = execution.execute(owner.tenant_id, asked.id, holder="test/1", now=timezone.now(), clock=timezone.now)
    assert done is not None
    return done


class Agent:
    """A client with one key."""

    def __init__(self, client: Client, slug: str = "acme", role: str = "owner", **options: Any) -> None:
        self.client, self.headers = client, building.headers(slug, role, **options)

    def send(self, path: str, body: Any, **headers: Any) -> Any:
        return self.client.post(path, json.dumps(body), content_type="application/json", **self.headers, **headers)

    def write(self, content: str = "a note", **more: Any) -> Any:
        return self.send(DOOR, {"memoryRef": "notes", "content": content, **more})

    def wrote(self, content: str = "a note", **more: Any) -> str:
        answer = self.write(content, **more)
        assert answer.status_code == 201, answer.content
        assert set(answer.json()) == {"id"}
        return str(answer.json()["id"])

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(path, query, **self.headers)

    def entry(self, memory_id: str) -> Any:
        return self.get(f"{DOOR}/{memory_id}").json()

    def run_of(self, memory_id: str) -> str:
        return str(self.entry(memory_id)["provenance"]["writes"][-1]["runId"])


@pytest.fixture
def agent(client: Client) -> Agent:
    return Agent(client)


def test_a_write_shows_where_its_agent_says_it_came_from_and_that_this_is_only_stated(agent: Agent) -> None:
    found = agent.entry(agent.wrote("the invoice is paid", origin=ORIGIN, tags=["billing"]))
    assert (found["memoryRef"], found["entry"]["content"], found["entry"]["tags"]) == (
        "notes", "the invoice is paid", ["billing"],
    )  # fmt: skip
    assert found["provenance"]["verdict"] == "stated"
    assert found["provenance"]["origin"] == ORIGIN
    [write] = found["provenance"]["writes"]
    assert (write["origin"], write["nodeId"]) == (ORIGIN, "call_model")


@pytest.mark.parametrize("query", [{}, {"rank": "relevance", "query": "invoice"}, {"tokenBudget": 50}])
def test_a_list_shows_the_origin_whatever_it_was_asked_for(agent: Agent, query: dict[str, Any]) -> None:
    agent.wrote("the invoice is paid", origin=ORIGIN)
    [entry] = agent.get(DOOR, memoryRef="notes", **query).json()["entries"]
    assert entry["origin"] == ORIGIN


def test_a_write_that_says_nothing_of_itself_is_unattributed(agent: Agent) -> None:
    found = agent.entry(agent.wrote())["provenance"]
    assert found["verdict"] == "unattributed"
    assert "origin" not in found


@pytest.mark.parametrize("step", [0, 3, "3", "plan"])
def test_a_step_comes_back_as_it_was_given(agent: Agent, step: Any) -> None:
    found = agent.entry(agent.wrote(origin={"system": "x", "step": step}))
    assert found["provenance"]["origin"] == {"system": "x", "step": step}


BAD: list[tuple[str, Any]] = [
    ("surprise", "x"),
    *(
        (name, bad)
        for name in ("system", "runId", "threadId", "checkpointId", "node", "taskId")
        for bad in ("", "x" * 129, 7)
    ),
    ("node", None),
    ("node", "a\nb"),
    ("node", "a\x00b"),
    ("system", " \u200b"),
    ("step", True),
    ("step", 1.5),
    ("step", 2**60),
    ("traceparent", TRACE.upper()),
    ("traceparent", f"00-{'0' * 32}-00f067aa0ba902b7-01"),
    ("traceparent", f"ff{TRACE[2:]}"),
    ("sourceIds", "doc-1"),
    ("sourceIds", ["x"] * 33),
    ("sourceIds", [""]),
    ("sourceIds", ["a\x00"]),
]


def test_a_bad_origin_is_400_and_names_the_field(agent: Agent) -> None:
    for member, value in BAD:
        answer = agent.write(origin={**ORIGIN, member: value})
        assert answer.status_code == 400, (member, value)
        assert [each["field"] for each in answer.json()["details"]["errors"]] == [f"origin.{member}"], value


def test_an_origin_that_is_none_is_400(agent: Agent) -> None:
    none: list[Any] = ["x", [], None, {}]
    for origin in none:
        answer = agent.write(origin=origin)
        assert answer.status_code == 400, origin
        assert answer.json()["details"]["errors"][0]["field"].startswith("origin"), origin


@pytest.mark.parametrize(
    "ref", ["", "../up", "a/./b", "x" * 257, "openintent/semantic/x", "tenant/globex/notes", "a\u0007"]
)
def test_a_place_that_cannot_be_written_is_400(agent: Agent, ref: str) -> None:
    answer = agent.send(DOOR, {"memoryRef": ref, "content": "x"})
    assert (answer.status_code, answer.json()["details"]["errors"][0]["field"]) == (400, "memoryRef")


def test_the_same_key_writes_once(agent: Agent) -> None:
    body = {"memoryRef": "notes", "content": "once", "origin": ORIGIN}
    first, second = (agent.send(DOOR, body, HTTP_IDEMPOTENCY_KEY="one") for _ in range(2))
    assert first.json() == second.json()
    assert agent.get(DOOR, memoryRef="notes").json()["total"] == 1


def test_a_key_that_is_bound_to_agents_writes_as_the_first_of_them(client: Client) -> None:
    bound = Agent(client, role="agent", agents=("billing-01",))
    found = bound.entry(bound.wrote(origin=ORIGIN))
    assert found["provenance"]["writes"][0]["agentId"] == "billing-01"


def test_a_key_names_the_agent_that_writes_in_the_header(client: Client, agent: Agent) -> None:
    bound, named = Agent(client, role="agent", agents=("alpha", "beta")), "HTTP_X_AGENT_ID"
    answers = [who.send(DOOR, BODY, **{named: "beta"}) for who in (bound, agent)]
    entries = [bound.entry(answer.json()["id"]) for answer in answers]
    assert [each["provenance"]["writes"][0]["agentId"] for each in entries] == ["beta", "beta"]
    opened = [bound.send("/v1/host/console/external-runs", BEGUN, **more).json() for more in ({}, {named: "beta"})]
    assert opened[0]["id"] != opened[1]["id"], "two agents are two runs"
    refused = bound.send(DOOR, BODY, **{named: "stranger"})
    assert (refused.status_code, refused.json()["details"]["rule"]) == (403, "agent-binding")
    for wrong in ("", "x" * 129):
        refused = bound.send(DOOR, BODY, **{named: wrong})
        assert (refused.status_code, refused.json()["details"]["errors"][0]["field"]) == (400, "X-Agent-ID")
    assert bound.get(DOOR, memoryRef="notes").json()["total"] == 2


def test_who_may_not_write_memory_may_not_here(client: Client) -> None:
    assert Agent(client, role="viewer").write().status_code == 403


def test_no_secret_of_the_tenant_stands_in_an_origin(agent: Agent) -> None:
    vault.store_secret(building.tenant().id, "crm", "tok-123456789", now=timezone.now())
    origin = {**ORIGIN, "node": "call tok-123456789", "sourceIds": ["tok-123456789"]}
    found = agent.entry(agent.wrote(origin=origin))["provenance"]["origin"]
    assert (found["node"], found["sourceIds"]) == ("call [REDACTED:crm]", ["[REDACTED:crm]"])
    stored = [row for model in (EntryOrigin, ExternalRun, Run) for row in model.objects.values()]
    assert "tok-123456789" not in str(stored)


@pytest.mark.engines
def test_writes_of_one_run_elsewhere_stand_on_one_run_here_each_with_its_node(agent: Agent) -> None:
    first, second = (agent.wrote(origin={**ORIGIN, "node": node}) for node in ("plan", "act"))
    run_id = agent.run_of(first)
    assert run_id == agent.run_of(second)
    assert agent.get(f"/v1/runs/{run_id}").json()["status"] == "running"
    events = agent.get(f"/v1/runs/{run_id}/events/poll").json()["events"]
    assert [event["type"] for event in events] == ["run.started", "memory.written", "memory.written"]
    assert [event.get("nodeId") for event in events] == [None, "plan", "act"]
    assert [event["payload"].get("nodeId") for event in events[1:]] == ["plan", "act"]


def test_runs_are_told_apart_by_agent_system_and_id_and_by_the_thread_where_there_is_no_id(
    client: Client, agent: Agent
) -> None:
    other = Agent(client, role="agent", agents=("billing-01",))
    told = [
        {"system": "a", "runId": "1"},
        {"system": "b", "runId": "1"},
        {"system": "a", "runId": "2"},
        {"system": "a", "threadId": "1"},
        {"system": "a"},
    ]
    found = [who.run_of(who.wrote(origin=origin)) for who in (agent, other) for origin in told]
    assert len(set(found)) == 10
    assert agent.run_of(agent.wrote(origin={"system": "a", "runId": "1", "threadId": "9"})) == found[0]


@pytest.mark.engines
def test_what_two_keys_write_without_agent_and_run_stands_on_two_runs_that_neither_ends_for_the_other(
    client: Client,
) -> None:
    one, other = Agent(client, role="agent"), Agent(client, role="agent")
    for origin in (None, {"system": "a", "node": "plan"}):
        stated: dict[str, Any] = {"origin": origin} if origin else {}
        mine, again, theirs = (who.run_of(who.wrote(**stated)) for who in (one, one, other))
        assert mine == again != theirs
        path = f"/v1/host/console/external-runs/{mine}:end"
        refused = other.send(path, {"status": "failed"})
        assert (refused.status_code, refused.json()["details"]["rule"]) == (403, "own-run")
        assert one.send(path, {}).status_code == 200


def test_what_two_keys_of_one_agent_write_without_run_stands_on_one_run_that_either_ends(client: Client) -> None:
    one, other = (Agent(client, role="agent", agents=("billing-01",)) for _ in range(2))
    run_id = one.run_of(one.wrote())
    assert other.run_of(other.wrote()) == run_id
    assert other.send(f"/v1/host/console/external-runs/{run_id}:end", {}).status_code == 200
    assert one.run_of(one.wrote()) != run_id


def test_a_run_that_was_opened_takes_the_writes_that_name_it_and_ends_when_told(agent: Agent) -> None:
    opened = agent.send("/v1/host/console/external-runs", {"system": "langgraph", "runId": "run-7"})
    assert opened.status_code == 201
    run_id = opened.json()["id"]
    assert agent.run_of(agent.wrote(origin=ORIGIN)) == run_id
    assert agent.run_of(agent.wrote(origin={"system": "langgraph", "runId": run_id})) == run_id
    ended = agent.send(f"/v1/host/console/external-runs/{run_id}:end", {"status": "failed"})
    assert (ended.status_code, ended.json()["status"]) == (200, "failed")
    assert agent.get(f"/v1/runs/{run_id}").json()["status"] == "failed"
    again = agent.send(f"/v1/host/console/external-runs/{run_id}:end", {})
    assert again.json()["status"] == "failed"
    assert agent.run_of(agent.wrote(origin=ORIGIN)) != run_id
    assert agent.write(origin={"system": "langgraph", "runId": run_id}).status_code == 409


RUNS = "/v1/host/console/external-runs"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"runId": "1"}, "system"),
        ({"system": "x"}, "runId"),
        ({"system": "x" * 129, "runId": "1"}, "system"),
        ({"system": "x", "runId": "1" * 129}, "runId"),
        ({"system": "x", "runId": "1", "threadId": ""}, "threadId"),
        ({"system": "x", "runId": "1", "node": "plan"}, "node"),
    ],
)
def test_a_run_is_opened_by_its_names_alone(agent: Agent, body: dict[str, Any], field: str) -> None:
    answer = agent.send(RUNS, body)
    assert (answer.status_code, [each["field"] for each in answer.json()["details"]["errors"]]) == (400, [field])
    assert not Run.objects.exists()


def test_a_run_is_opened_once_and_ends_as_its_agent_says(client: Client, agent: Agent) -> None:
    body = {"system": "langgraph", "runId": "run-7", "threadId": "t"}
    for said, status in (({}, "completed"), ({"status": "failed"}, "failed"), ({"status": "cancelled"}, "cancelled")):
        opened, again = agent.send(RUNS, body), agent.send(RUNS, body)
        assert (opened.status_code, again.status_code) == (201, 201)
        assert opened.json() == again.json()
        run_id = opened.json()["id"]
        assert agent.get(f"/v1/runs/{run_id}").json()["kind"] == "external"
        for wrong in ({"status": "running"}, {"status": None}, {"state": "failed"}):
            refused = agent.send(f"{RUNS}/{run_id}:end", wrong)
            assert (refused.status_code, refused.json()["details"]["errors"][0]["field"]) == (400, *wrong)
        assert agent.send(f"{RUNS}/{run_id}:end", said).json() == {"id": run_id, "status": status}
        assert agent.get(f"/v1/runs/{run_id}").json()["status"] == status
    assert Agent(client, role="viewer").send(RUNS, body).status_code == 403
    assert agent.send(f"{RUNS}/run_{'0' * 32}:end", {}).status_code == 404


def test_an_entry_whose_write_is_on_no_log_is_not_observable(client: Client, agent: Agent) -> None:
    kept = MemoryEntry.objects.get(id=building.id_of("mem", agent.wrote("unseen")))
    kept.id, kept.position, kept._state.adding = ids.new_id(), kept.position + 1, True
    kept.insert(by="memory.ledger")
    found = agent.entry(ids.wire("mem", kept.id))["provenance"]
    assert (found["verdict"], found["writes"], "origin" in found) == ("not-observable", [], False)
    client.force_login(building.operator())
    assert "Not observable" in client.get(f"/memory/{ids.wire('mem', kept.id)}").content.decode()


def test_naming_a_run_of_this_host_stays_stated_and_is_409_when_that_run_has_ended(agent: Agent) -> None:
    kept = building.remember("acme", "by a node of this host")
    refused = agent.write(origin={"system": "x", "runId": ids.wire("run", kept.run.id)})
    assert refused.status_code == 409
    kept.run.status, kept.run.completed_at = "running", None
    kept.run.save(by="memory.host.runs")
    found = agent.entry(agent.wrote(origin={"system": "x", "runId": ids.wire("run", kept.run.id)}))["provenance"]
    assert found["verdict"] == "stated"
    assert found["writes"][0]["runId"] != ids.wire("run", kept.run.id)


def test_a_run_of_another_tenant_is_a_text_like_any_other(client: Client, agent: Agent) -> None:
    kept = building.remember("globex", "theirs")
    assert agent.write(origin={"system": "x", "runId": ids.wire("run", kept.run.id)}).status_code == 201


@pytest.mark.engines
def test_a_silent_run_is_over_and_one_that_was_heard_of_is_not(agent: Agent) -> None:
    now = timezone.now()
    owner = tenancy.tenant_scope(building.scope().principal)
    origin = Origin("langgraph", "quiet")
    run = external_runs.find_or_open(owner, "", origin, now=now)
    draft = EntryDraft("still here")
    external_runs.write_entry(owner, "notes", draft, origin, now=now + timedelta(minutes=50))
    assert external_runs.end_silent(now=now + timedelta(minutes=59)) == 0
    assert external_runs.end_silent(now=now + timedelta(minutes=100)) == 0
    assert external_runs.end_silent(now=now + timedelta(minutes=111)) == 1
    assert external_runs.end_silent(now=now + timedelta(minutes=112)) == 0
    assert Run.objects.get(id=run.id).status == "completed"
    assert ExternalRun.objects.get(id=run.id).ended_by == "silence"


def test_an_agent_does_not_end_the_run_of_another(client: Client, agent: Agent) -> None:
    one, other = (Agent(client, role="agent", agents=(name,)) for name in ("one", "other"))
    run_id = one.run_of(one.wrote(origin=ORIGIN))
    path = f"/v1/host/console/external-runs/{run_id}:end"
    assert other.send(path, {}).status_code == 403
    assert Agent(client, "globex").send(path, {}).status_code == 404
    assert one.send(path, {}).status_code == 200


def test_a_run_elsewhere_is_not_executed_forked_cancelled_or_paused_here(agent: Agent) -> None:
    run_id = agent.run_of(agent.wrote(origin=ORIGIN))
    for action in (":fork", "/cancel", ":pause", ":resume"):
        answer = agent.send(f"/v1/runs/{run_id}{action}", {"mode": "branch", "fromSeq": 0} if action == ":fork" else {})
        assert answer.status_code == 409, action
        assert "elsewhere" in answer.json()["message"]


@pytest.mark.engines
def test_a_forgotten_person_is_gone_from_origins_and_runs(client: Client, agent: Agent) -> None:
    marta = "marta.kowalska@example.com"
    kept = agent.wrote("nothing personal", origin={**ORIGIN, "threadId": marta, "node": f"ask {marta}", "runId": marta})
    run_id = agent.run_of(kept)
    done = forget("acme", marta)
    assert done.state == ForgetState.FORGOTTEN
    assert done.receipt["stores"]["stated origins of entries"]["erased"] == 1
    found = agent.entry(kept)["provenance"]
    assert found["verdict"] == "stated"
    assert found["origin"]["system"] == "langgraph"
    assert marta not in json.dumps(found)
    assert marta not in json.dumps(agent.get(f"/v1/runs/{run_id}/events/poll").json())
    stored = [row for model in (EntryOrigin, ExternalRun) for row in model.objects.values()]
    assert marta not in str(stored)


@pytest.fixture
def told(agent: Agent) -> Agent:
    """Entries of two systems, in two threads, at two nodes, in this order; and one of a node of this host."""
    for system, thread, node, run in (("a", "t1", "plan", "1"), ("a", "t2", "act", "2"), ("b", "t1", "act", "3")):
        origin = {"system": system, "threadId": thread, "node": node, "runId": run}
        agent.wrote(f"{system} {thread} {node}", origin=origin)
    building.remember("acme", "seen by this host")
    return agent


def found(agent: Agent, **query: Any) -> list[str]:
    page = agent.get(DOOR, **query)
    assert page.status_code == 200, page.content
    assert page.json()["total"] == len(page.json()["entries"])
    return [each["content"] for each in page.json()["entries"]]


@pytest.mark.engines
def test_a_list_is_narrowed_by_what_is_stated(told: Agent) -> None:
    narrowed: list[tuple[dict[str, str], list[str]]] = [
        ({"system": "a"}, ["a t1 plan", "a t2 act"]),
        ({"threadId": "t1"}, ["a t1 plan"]),
        ({"nodeId": "act"}, ["a t2 act"]),
        ({"runId": "1"}, ["a t1 plan"]),
        ({"system": "a", "nodeId": "act", "threadId": "t2"}, ["a t2 act"]),
        ({"system": "a", "nodeId": "act", "threadId": "t1"}, []),
        ({"system": "nobody"}, []),
    ]
    texts: list[dict[str, str]] = [{}, {"q": "a", "order": "newest"}, {"q": "a t1 t2"}]
    for text, (query, wanted) in product(texts, narrowed):
        assert sorted(each for each in found(told, **query, **text) if each.startswith("a ")) == wanted, (text, query)


@pytest.mark.engines
def test_what_is_stated_and_what_was_seen_under_one_name_are_both_found(told: Agent) -> None:
    told.wrote("stated", origin={"system": "a", "node": "remember-1"})
    assert found(told, nodeId="remember-1") == ["stated", "seen by this host"]
    assert found(told, nodeId="remember-1", system="a") == ["stated"]
    run_id = told.get(DOOR, nodeId="act").json()["entries"][0]["id"]
    assert found(told, runId=told.run_of(run_id)) == ["b t1 act"]


@pytest.mark.engines
def test_a_list_of_what_is_stated_pages_to_its_end(agent: Agent) -> None:
    for number in range(5):
        last = agent.wrote(str(number), origin={"system": "a", "node": "act"})
    for query in ({"system": "a"}, {"nodeId": "act"}, {"runId": agent.run_of(last)}):
        seen: list[str] = []
        after: dict[str, str] = {}
        while True:
            page = agent.get(DOOR, limit=2, **query, **after).json()
            seen += [each["content"] for each in page["entries"]]
            assert page["total"] == 5
            if page["next"] is None:
                break
            after = {"after": page["next"]}
        assert seen == ["4", "3", "2", "1", "0"]


def test_a_row_of_a_list_says_what_is_stated_of_it(told: Agent) -> None:
    entries = told.get(DOOR, memoryRef="notes").json()["entries"]
    assert [each.get("origin", {}).get("node") for each in entries] == [None, "act", "act", "plan"]


def test_another_tenant_finds_nothing_of_what_is_stated(client: Client, told: Agent) -> None:
    globex = Agent(client, "globex")
    assert found(globex, system="a") == found(globex, nodeId="act") == found(globex, runId="1") == []


def test_a_key_finds_what_its_own_agents_stated(client: Client, told: Agent) -> None:
    bound = Agent(client, role="agent", agents=("billing-01",))
    bound.wrote("mine", origin={"system": "a", "node": "act"})
    assert found(bound, nodeId="act") == found(bound, system="a") == ["mine"]


def test_files_of_the_ledger_hold_what_is_stated_in_columns_of_its_own(client: Client, agent: Agent) -> None:
    agent.wrote("said", origin=ORIGIN)
    agent.wrote("plain")
    client.force_login(building.operator())
    plain, said = json.loads(client.get("/memory?format=json").getvalue())["entries"]
    assert (said["origin"], "origin" in plain) == (ORIGIN, False)
    text = client.get("/memory?format=csv").getvalue().decode()
    plain, said = csv.DictReader(io.StringIO(text))
    assert (said["origin.node"], said["origin.step"], said["origin.sourceIds"]) == ("call_model", "2", "doc-1 doc-2")
    assert {name: said[f"origin.{name}"] for name in ("system", "runId", "threadId", "traceparent")} == {
        name: ORIGIN[name] for name in ("system", "runId", "threadId", "traceparent")
    }
    assert {value for name, value in plain.items() if name.startswith("origin.")} == {""}
