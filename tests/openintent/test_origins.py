"""Entries of OpenIntent with the origin that an agent elsewhere states, and entries put at their address."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone

from memory import ledger_search
from memory.host import vault
from memory.ledger_search import LedgerFilter
from memory.models import EntryOrigin, ExternalRun
from tests import building
from tests.faces.test_origins import ORIGIN

pytestmark = pytest.mark.django_db
PLACE = {"namespace": "invoices", "key": "progress", "memory_type": "episodic"}


class Agent:
    def __init__(self, client: Client, agent_id: str = "billing-01", slug: str = "acme", role: str = "owner") -> None:
        self.client, self.headers = client, {**building.headers(slug, role), "HTTP_X_AGENT_ID": agent_id}

    def ask(self, method: str, path: str, body: Any = None, **headers: Any) -> Any:
        raw = "" if body is None else json.dumps(body)
        own = self.headers | headers
        return self.client.generic(method, path, raw, content_type="application/json", **own)

    def put(self, value: Any, **more: Any) -> Any:
        headers = {name: more.pop(name) for name in list(more) if name.startswith("HTTP_")}
        return self.ask("PUT", "/api/v1/memory", {**PLACE, "value": value, **more}, **headers)

    def provenance(self, entry_id: str) -> Any:
        return self.ask("GET", f"/v1/host/console/memory/{entry_id}").json()["provenance"]


@pytest.fixture
def agent(client: Client) -> Agent:
    return Agent(client)


@pytest.mark.engines
def test_an_entry_put_twice_at_its_address_is_one_entry_and_the_last_wins(agent: Agent) -> None:
    first, second = agent.put({"n": 1}, tags=["a"]), agent.put({"n": 2})
    assert (first.status_code, second.status_code) == (201, 200)
    assert first["Location"] == f"/api/v1/memory/{first.json()['id']}"
    assert (second.json()["id"], second.json()["version"]) == (first.json()["id"], 2)
    assert (second.json()["value"], second.json()["tags"]) == ({"n": 2}, ["a"])
    listed = agent.ask("GET", "/api/v1/memory?namespace=invoices").json()
    assert [each["value"] for each in listed["entries"]] == [{"n": 2}]


def test_a_put_is_held_to_a_version_only_where_it_says_one(agent: Agent) -> None:
    agent.put({"n": 1})
    assert agent.put({"n": 2}, HTTP_IF_MATCH='"7"').status_code == 409
    assert agent.put({"n": 2}, HTTP_IF_MATCH='"1"').json()["version"] == 2
    missing = agent.ask("PUT", "/api/v1/memory", {**PLACE, "key": "other", "value": {}}, HTTP_IF_MATCH='"1"')
    assert missing.status_code == 409


def test_a_put_that_is_for_a_new_entry_alone_changes_none(agent: Agent) -> None:
    assert agent.put({"n": 1}, HTTP_IF_NONE_MATCH="*").status_code == 201
    refused = agent.put({"n": 2}, HTTP_IF_NONE_MATCH="*")
    assert (refused.status_code, refused.json()["error"]) == (409, "KEY_EXISTS")
    assert (refused.json()["current_version"], refused.json()["current"]["value"]) == (1, {"n": 1})
    assert agent.put({"n": 2}, HTTP_IF_NONE_MATCH='"1"').status_code == 400


def test_an_entry_that_the_reader_has_already_is_not_sent_again(agent: Agent) -> None:
    path = f"/api/v1/memory/{agent.put({'n': 1}).json()['id']}"
    for tags in ('"1"', 'W/"1"', '"0", "1"', "*"):
        known = agent.ask("GET", path, HTTP_IF_NONE_MATCH=tags)
        assert (known.status_code, known.content, known["ETag"]) == (304, b"", '"1"'), tags
    assert agent.ask("GET", path, HTTP_IF_NONE_MATCH='"2"').json()["version"] == 1
    assert agent.ask("GET", f"{path}0", HTTP_IF_NONE_MATCH="*").status_code == 404


@pytest.mark.engines
def test_a_put_makes_the_entry_anew_when_it_was_deleted(agent: Agent) -> None:
    first = agent.put({"n": 1}).json()["id"]
    agent.ask("DELETE", f"/api/v1/memory/{first}")
    again = agent.put({"n": 2})
    assert again.status_code == 201
    assert again.json()["id"] != first


@pytest.mark.engines
def test_an_entry_is_deleted_at_its_address_and_held_to_a_version_only_where_one_is_named(agent: Agent) -> None:
    first = agent.put({"n": 1}).json()["id"]
    at = f"/api/v1/memory?{urlencode(PLACE)}"
    assert agent.ask("DELETE", at, HTTP_IF_MATCH='"7"').status_code == 409
    gone = agent.ask("DELETE", at, HTTP_IF_MATCH='"1"')
    assert (gone.status_code, gone.json()) == (200, {"status": "deleted", "entry_id": first})
    assert agent.ask("GET", f"/api/v1/memory/{first}").status_code == 404
    assert agent.ask("DELETE", at).status_code == 404


@pytest.mark.parametrize(
    "wrong",
    [
        *({name: ""} for name in PLACE),
        {"memory_type": "other"},
        {"agent_id": "no\tagent"},
        {"key": "a" * 300},
        {"filter": "{}"},
        {"namespace": "a\0"},
    ],
)
def test_a_deletion_says_a_whole_address_and_nothing_else(agent: Agent, wrong: dict[str, str]) -> None:
    agent.put({"n": 1})
    answer = agent.ask("DELETE", f"/api/v1/memory?{urlencode(PLACE | wrong)}")
    assert answer.status_code == 400, answer.content
    assert [each["field"] for each in answer.json()["errors"]] == list(wrong)
    assert agent.ask("DELETE", "/api/v1/memory").status_code == 400
    assert agent.ask("GET", "/api/v1/memory?namespace=invoices").json()["total"] == 1


def test_another_agent_deletes_nothing_at_an_address(client: Client, agent: Agent) -> None:
    agent.put({"n": 1})
    other = Agent(client, "billing-02", role="agent")
    assert other.ask("DELETE", f"/api/v1/memory?{urlencode(PLACE)}").status_code == 404
    named = urlencode({**PLACE, "agent_id": "billing-01"})
    assert other.ask("DELETE", f"/api/v1/memory?{named}").status_code == 403
    assert Agent(client, slug="globex").ask("DELETE", f"/api/v1/memory?{named}").status_code == 404


def test_a_key_of_other_agents_is_told_which_are_its_own(client: Client) -> None:
    for agents, told in (
        (("desk",), "acts as desk, and not"),
        (tuple("abcdefg"), "acts as a, b, c, d, e and 2 more, and not"),
    ):
        headers = building.headers(role="agent", agents=agents) | {"HTTP_X_AGENT_ID": "billing-01"}
        answer = client.put("/api/v1/memory", {**PLACE, "value": {}}, content_type="application/json", **headers)
        assert (answer.status_code, told in answer.json()["message"]) == (403, True)


def test_a_put_never_moves_an_entry(agent: Agent) -> None:
    agent.put({"n": 1})
    answer = agent.put({"n": 2}, memory_type="working")
    assert answer.status_code == 400


def test_a_shared_entry_is_put_by_whoever_may_write_the_namespace(client: Client, agent: Agent) -> None:
    other = Agent(client, "billing-02")
    first = agent.put({"n": 1}, memory_type="semantic")
    second = other.put({"n": 2}, memory_type="semantic")
    assert (first.status_code, second.status_code, second.json()["id"]) == (201, 200, first.json()["id"])
    assert second.json()["curated_by"] == "billing-02"


@pytest.mark.engines
def test_two_tenants_put_at_the_same_address(client: Client, agent: Agent) -> None:
    globex = Agent(client, slug="globex")
    assert agent.put({"n": 1}).json()["id"] != globex.put({"n": 2}).json()["id"]


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_an_entry_shows_the_origin_that_its_agent_states(agent: Agent, method: str) -> None:
    made = agent.ask(method, "/api/v1/memory", {**PLACE, "value": {"n": 1}, "origin": ORIGIN})
    assert made.status_code == 201
    read = agent.ask("GET", f"/api/v1/memory/{made.json()['id']}").json()
    assert made.json()["stated_origin"] == read["stated_origin"] == ORIGIN
    found = agent.provenance(made.json()["id"])
    assert (found["verdict"], found["origin"]) == ("stated", ORIGIN)
    [write] = found["writes"]
    run = agent.ask("GET", f"/v1/runs/{write['runId']}").json()
    assert (run["kind"], run["status"]) == ("external", "running")
    events = agent.ask("GET", f"/v1/runs/{write['runId']}/events/poll").json()["events"]
    assert [(each["type"], each.get("nodeId")) for each in events[1:]] == [("memory.written", "call_model")]


def test_every_write_of_an_entry_has_its_own_origin_and_the_last_decides(agent: Agent) -> None:
    entry = agent.put({"n": 1}, origin={"system": "langgraph", "threadId": "t", "node": "plan"}).json()
    second = agent.put({"n": 2}, origin={"system": "langgraph", "threadId": "t", "node": "act"})
    assert second.json()["stated_origin"]["node"] == "act"
    path, match = f"/api/v1/memory/{entry['id']}", {"HTTP_IF_MATCH": '"2"'}
    changed = agent.ask("PATCH", path, {"value": {"n": 3}, "origin": {"system": "cron", "node": "night"}}, **match)
    assert changed.status_code == 200
    found = agent.provenance(entry["id"])
    assert [write["origin"]["node"] for write in found["writes"]] == ["plan", "act", "night"]
    assert len({write["runId"] for write in found["writes"]}) == 2
    assert found["origin"] == {"system": "cron", "node": "night"}
    agent.put({"n": 4})
    assert "stated_origin" not in agent.ask("GET", path).json()
    last = agent.provenance(entry["id"])
    assert "origin" not in last
    assert last["verdict"] != "stated"


def test_the_ledger_of_a_run_elsewhere_has_the_entries_that_it_wrote_last(agent: Agent) -> None:
    """The entry itself stands on the log of its agent's memory."""
    origins = [{"system": "langgraph", "runId": number} for number in ("1", "2")]
    entry = [agent.put({"n": n}, origin=each).json()["id"] for n, each in enumerate(origins)][-1]
    first, last = (each["runId"] for each in agent.provenance(entry)["writes"])

    def written_by(run_id: str) -> list[str]:
        found = agent.ask("GET", f"/v1/host/console/memory?runId={run_id}").json()["entries"]
        return [each["id"] for each in found]

    assert (written_by(first), written_by(last)) == ([], [entry])


def test_an_origin_alone_changes_nothing(agent: Agent) -> None:
    entry = agent.put({"n": 1}).json()
    path = f"/api/v1/memory/{entry['id']}"
    assert agent.ask("PATCH", path, {"origin": ORIGIN}, HTTP_IF_MATCH='"1"').status_code == 400


@pytest.mark.engines
def test_a_write_that_changes_nothing_leaves_no_run(agent: Agent) -> None:
    entry = agent.put({"n": 1}).json()
    path, match = f"/api/v1/memory/{entry['id']}", {"HTTP_IF_MATCH": '"1"'}
    same = [
        agent.put({"n": 1}, origin=ORIGIN),
        agent.ask("PATCH", path, {"value": {"n": 1}, "origin": ORIGIN}, **match),
    ]
    assert [(each.status_code, each.json()["version"]) for each in same] == [(200, 1)] * 2
    assert not ExternalRun.objects.exists()


def test_a_bad_origin_is_refused_by_its_name(agent: Agent) -> None:
    answer = agent.put({"n": 1}, origin={**ORIGIN, "node": 7})
    assert answer.status_code == 400
    assert "origin.node" in json.dumps(answer.json())


def test_what_is_too_long_once_its_secrets_are_marks_is_refused_by_its_name(agent: Agent) -> None:
    vault.store_secret(building.tenant().id, "the-key-of-the-crm", "pel-4711", now=timezone.now())
    long = "pel-4711 " * 13
    for more, field in (({"origin": {**ORIGIN, "node": long}}, "origin.node"), ({"key": long * 2}, "key")):
        refused = agent.put({"n": 1}, **more)
        assert refused.status_code == 400
        [problem] = refused.json()["errors"]
        assert (problem["field"], "once its secrets are replaced" in problem["message"]) == (field, True)
        assert "pel-4711" not in refused.content.decode()


def test_what_is_stated_of_a_confidential_entry_is_for_who_may_open_it(client: Client, agent: Agent) -> None:
    entry = agent.put({"iban": "x"}, sensitivity="confidential", origin=ORIGIN).json()["id"]
    viewer = Agent(client, role="viewer").provenance(entry)
    assert viewer["verdict"] == "stated"
    assert "origin" not in viewer
    assert "origin" not in viewer["writes"][0]
    assert agent.provenance(entry)["origin"] == ORIGIN
    run_id = viewer["writes"][0]["runId"]
    events = agent.ask("GET", f"/v1/runs/{run_id}/events/poll").json()["events"]
    assert "call_model" not in json.dumps(events)
    operates, reads = building.scope(role="operator"), building.scope(role="viewer")
    counts = [
        ledger_search.facet_counts(who, LedgerFilter(), now=timezone.now())["system"].of
        for who in (operates, reads, operates)
    ]
    assert counts == [{ORIGIN["system"]: 1}, {}, {ORIGIN["system"]: 1}], "whoever asked first"


@pytest.mark.engines
def test_each_entry_of_a_batch_states_its_own_origin_and_one_run_takes_them(agent: Agent) -> None:
    known = agent.put({"n": 0}, origin={"system": "cron", "node": "night"}).json()["id"]
    nodes, place = ("plan", "act"), {**PLACE, "value": {}}
    made: list[dict[str, Any]] = [
        {**place, "key": node, "origin": {"system": "langgraph", "threadId": "t", "node": node}} for node in nodes
    ]
    changed = {"id": known, "version": 1, "value": {"n": 1}, "origin": {"system": "cron", "node": "noon"}}
    body = {"entries": [*made, changed, {**place, "key": "unsaid"}]}
    answer = agent.ask("POST", "/api/v1/memory/batch", body)
    assert answer.status_code == 200, answer.content
    plan, act, noon, unsaid = (agent.provenance(each["id"]) for each in answer.json()["entries"])
    assert [each["origin"]["node"] for each in (plan, act, noon)] == ["plan", "act", "noon"]
    assert (len(noon["writes"]), len({each["runId"] for each in noon["writes"]})) == (2, 1)
    assert plan["writes"][0]["runId"] == act["writes"][0]["runId"] != noon["writes"][0]["runId"]
    assert "origin" not in unsaid


def test_a_batch_says_which_of_its_origins_is_wrong_and_stores_nothing(agent: Agent) -> None:
    run_id = agent.provenance(agent.put({"n": 1}, origin=ORIGIN).json()["id"])["writes"][0]["runId"]
    assert agent.ask("POST", f"/v1/host/console/external-runs/{run_id}:end", {}).status_code == 200
    good = {**PLACE, "key": "good", "value": {}, "origin": {"system": "x"}}
    bad = {**PLACE, "key": "bad", "value": {}}
    for origin, status, field in (
        ({**ORIGIN, "node": 7}, 400, "entries.1.origin.node"),
        ({"system": ORIGIN["system"], "runId": run_id}, 409, "entries.1"),
    ):
        answer = agent.ask("POST", "/api/v1/memory/batch", {"entries": [good, {**bad, "origin": origin}]})
        assert (answer.status_code, answer.json()["index"]) == (status, 1)
        assert [each["field"] for each in answer.json()["errors"]] == [field]
    assert agent.ask("GET", "/api/v1/memory?namespace=invoices").json()["total"] == 1


def test_a_run_elsewhere_shows_what_its_agent_calls_it_to_who_reads_memory(client: Client, agent: Agent) -> None:
    stated = ({"system": "langgraph", "runId": "run-7", "threadId": "t"}, {"system": "cron", "threadId": "t"})
    for number, origin in enumerate(stated):
        entry = agent.put({"n": 1}, key=f"k{number}", origin=origin).json()["id"]
        path = f"/v1/runs/{agent.provenance(entry)['writes'][0]['runId']}"
        assert agent.ask("GET", path).json()["origin"] == origin
        assert "endedBy" not in agent.ask("GET", path).json()
        assert agent.ask("POST", f"/v1/host/console/external-runs/{path.rpartition('/')[2]}:end", {}).status_code == 200
        assert agent.ask("GET", path).json()["endedBy"] == "agent"
    sealed = agent.put({"n": 1}, key="sealed", sensitivity="confidential", origin={"system": "vault"}).json()["id"]
    path = f"/v1/runs/{agent.provenance(sealed)['writes'][0]['runId']}"
    assert agent.ask("GET", path).json()["origin"] == {"system": "vault"}
    assert "origin" not in Agent(client, role="viewer").ask("GET", path).json()


@pytest.mark.engines
def test_what_was_stated_of_an_entry_goes_with_it(agent: Agent) -> None:
    entry = agent.put({"n": 1}, origin=ORIGIN).json()["id"]
    assert EntryOrigin.objects.exists()
    assert agent.ask("DELETE", f"/api/v1/memory/{entry}").status_code == 200
    assert not EntryOrigin.objects.exists()


def test_a_deletion_says_on_the_log_where_it_came_from_unless_the_entry_was_sealed(agent: Agent) -> None:
    ways = {
        "by id": lambda entry_id, key: f"/api/v1/memory/{entry_id}",
        "at its address": lambda entry_id, key: f"/api/v1/memory?{urlencode({**PLACE, 'key': key})}",
    }
    for number, way in enumerate(ways.values()):
        for sensitivity, told in ((None, ORIGIN), ("confidential", None)):
            key = f"{number}-{sensitivity}"
            entry = agent.put({"n": 1}, key=key, sensitivity=sensitivity).json()["id"]
            assert agent.ask("DELETE", way(entry, key), {"origin": {**ORIGIN, "node": 7}}).status_code == 400
            assert agent.ask("DELETE", way(entry, key), {"nobodysField": 1}).status_code == 400
            assert agent.ask("DELETE", way(entry, key), {"origin": ORIGIN}).status_code == 200
            *_, event = agent.ask("GET", "/api/v1/agents/billing-01/events").json()
            assert (event["type"], event["data"]["key"], event["data"].get("origin")) == ("memory.deleted", key, told)
