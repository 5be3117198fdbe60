"""What happened, as agents read it: events of an intent's log and of an agent's stream (RFC-0015 5; R64 to R70)."""

import itertools
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from openintent import OpenIntentClient
from openintent.exceptions import OpenIntentError
from openintent.models import EventType

from memory.host.events import VENDOR
from memory.openintent import events
from memory.openintent.work.rows import KINDS
from tests.openintent.conftest import Served

KEYS = itertools.count(1)
SUPERSET = {
    "id", "type", "event_type", "intent_id", "task_id", "agent_id", "actor", "data", "payload", "timestamp",
    "created_at",
}  # fmt: skip
Event = dict[str, Any]


def events_of(served: Served, agent: str, address: str, **query: Any) -> list[Event]:
    with served.http(agent) as client:
        answer = client.get(f"/api/v1/{address}/events", params=query)
    assert answer.status_code == 200, answer.text
    found: list[Event] = answer.json()
    return found


def stream_of(served: Served, agent: str, **query: Any) -> list[Event]:
    return events_of(served, agent, f"agents/{agent}", **query)


def task_of(client: OpenIntentClient, *, assigned: str = "", policy: dict[str, Any] | None = None) -> tuple[str, str]:
    """An intent of the client's agent, and a task of it under way."""
    intent_id = client.create_intent("Invoices", "of the month").id
    task = client.create_task(intent_id, "Send them", **({"memory_policy": policy} if policy else {}))
    answer = client._client.patch(
        f"/api/v1/tasks/{task.id}",
        headers={"If-Match": str(task.version)},
        json={"status": "running", "assigned_agent": assigned or client.agent_id},
    )
    assert answer.status_code == 200, answer.text
    return intent_id, str(task.id)


def end(served: Served, agent: str, task_id: str, status: str = "completed") -> None:
    with served.http(agent) as client:
        version = client.get(f"/api/v1/tasks/{task_id}").json()["version"]
        answer = client.patch(f"/api/v1/tasks/{task_id}", headers={"If-Match": str(version)}, json={"status": status})
    assert answer.status_code == 200, answer.text


@pytest.mark.engines
def test_an_agent_s_stream_says_which_work_is_given_to_it_and_taken_from_it(served: Served) -> None:
    planner, worker = served.agent("planner"), served.agent("worker")
    with served.client(planner) as client, served.client(worker) as own:
        intent = client.create_intent("Close").id
        client.assign_agent(intent, worker)
        first = client.create_task(intent, "gather", assigned_agent=worker)
        second = client.create_task(intent, "send")
        own.update_task(second.id, second.version, status="claimed")
        third = client.create_task(intent, "file")
        client.update_task(third.id, third.version, assigned_agent=worker)
        client.unassign_agent(intent, worker)
    told = [(each["type"], each["intent_id"], each["task_id"], each["actor"]) for each in stream_of(served, worker)]
    assert told == [
        ("agent_assigned", intent, None, planner),
        ("task.delegated", intent, first.id, planner),
        ("task.delegated", intent, third.id, planner),
        ("agent_unassigned", intent, None, planner),
    ]
    assert [each["type"] for each in stream_of(served, worker, event_type="agent_assigned")] == ["agent_assigned"]
    logged = events_of(served, planner, f"intents/{intent}", event_type="agent_assigned")
    assert [each["data"] for each in logged] == [{"agent_id": worker}]


@pytest.mark.engines
def test_R64_every_mutation_makes_an_event_each_row_of_a_batch_too(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        made = client.create_memory(agent, "ns", "k", {"n": 1})
        client.update_memory(made.id, 1, value={"n": 2})
        client.delete_memory(made.id)
    rows = [{"namespace": "ns", "key": f"b{n}", "value": {"n": n}} for n in range(3)]
    with served.http(agent) as http:
        answer = http.post("/api/v1/memory/batch", json={"entries": rows})
        assert answer.status_code == 200, answer.text
        gone = http.request("DELETE", "/api/v1/memory/batch", params={"key": "b0", "agent_id": agent})
        assert gone.status_code == 200, gone.text
    kinds = [event["type"] for event in stream_of(served, agent)]
    batch = ["memory.created"] * 3
    assert kinds == ["memory.created", "memory.updated", "memory.deleted", *batch, "memory.deleted"]


def test_R64_what_was_refused_makes_no_event(served: Served) -> None:
    agent = served.agent()
    served.remembers(agent)
    with served.http(agent) as client:
        assert client.post("/api/v1/memory", json={"namespace": "ns", "key": "k", "value": {}}).status_code == 409
    assert len(stream_of(served, agent)) == 1


def test_R65_with_an_intent_it_stands_on_its_log_and_without_one_on_the_agent_s_stream(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        intent_id, task_id = task_of(client)
        client.create_memory(agent, "ns", "in a task", {}, scope={"task_id": task_id, "intent_id": intent_id})
        client.create_memory(agent, "ns", "for an intent", {}, scope={"intent_id": intent_id})
        client.create_memory(agent, "ns", "for neither", {}, memory_type="episodic")
        logged = client.get_events(intent_id, event_type=EventType.MEMORY_CREATED)
    assert [event.payload["key"] for event in logged] == ["in a task", "for an intent"]
    assert [event["data"]["key"] for event in stream_of(served, agent)] == ["for neither"]


def test_R66_the_published_client_reads_the_whole_log_of_an_intent(served: Served) -> None:
    """It raises ``ValueError`` at any type that it does not know, so no fact of OpenWOP is on that list."""
    agent = served.agent()
    with served.client(agent) as client:
        intent_id, task_id = task_of(client)
        client.create_memory(agent, "ns", "k", {"n": 1}, scope={"task_id": task_id, "intent_id": intent_id})
        client.log_event(intent_id, EventType.COMMENT, {"text": "half way"})
        end(served, agent, task_id)
        found = client.get_events(intent_id)
    kinds = [event.event_type for event in found]
    assert kinds[0] == EventType.INTENT_CREATED
    assert [kind for kind in kinds if kind.value.startswith("memory.")] == [
        EventType.MEMORY_CREATED,
        EventType.MEMORY_ARCHIVED,
    ]
    comment = next(event for event in found if event.event_type == EventType.COMMENT)
    assert (comment.payload, comment.actor) == ({"text": "half way"}, agent)


def test_R66_all_that_can_stand_on_a_log_is_known_to_the_published_client() -> None:
    told = {each.removeprefix(VENDOR) for each in events.LIFECYCLE} - {"logged"}
    assert told | KINDS <= {kind.value for kind in EventType}
    assert {kind.value for kind in EventType if kind.value.startswith("memory.")} == told


def test_R67_the_data_of_an_event(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        made = client.create_memory(agent, "invoices.2026", "progress", {"n": 1}, tags=["batch", "in progress"])
        client.update_memory(made.id, 1, tags=["done"])
    created, updated = stream_of(served, agent)
    known = {"entry_id": made.id, "namespace": "invoices.2026", "key": "progress", "memory_type": "working"}
    assert created["data"] == {**known, "version": 1, "tags": ["batch", "in progress"]}
    assert updated["data"] == {**known, "version": 2, "previous_version": 1, "tags": ["done"]}


def test_R68_an_event_has_the_names_of_the_rfc_and_those_of_the_intent_log(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        intent_id, task_id = task_of(client)
        client.create_memory(agent, "ns", "k", {"n": 1}, scope={"task_id": task_id, "intent_id": intent_id})
        client.create_memory(agent, "ns", "own", {"n": 1})
    (event,) = events_of(served, agent, f"intents/{intent_id}", event_type="memory.created")
    (own,) = stream_of(served, agent)
    assert set(event) == set(own) == SUPERSET
    assert (event["type"], event["data"], event["timestamp"]) == (
        event["event_type"],
        event["payload"],
        event["created_at"],
    )
    assert (event["intent_id"], event["task_id"], event["agent_id"], event["actor"]) == (
        intent_id, task_id, agent, agent,
    )  # fmt: skip
    assert event["id"].startswith("evt_")
    assert datetime.fromisoformat(event["timestamp"]).tzinfo is not None
    assert (own["intent_id"], own["task_id"]) == (None, None)


def test_R69_no_event_but_an_archive_has_a_value_and_that_none_that_is_confidential(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        intent_id, task_id = task_of(client)
        scope = {"task_id": task_id, "intent_id": intent_id}
        for sensitivity in (None, "public", "internal", "confidential", "restricted"):
            key = sensitivity or "none"
            made = client.create_memory(agent, "ns", key, {"v": f"HERON-{key}"}, scope=scope, sensitivity=sensitivity)
            client.update_memory(made.id, 1, value={"v": f"HERON-{key}-2"})
    before = events_of(served, agent, f"intents/{intent_id}")
    assert "HERON" not in str(before)
    end(served, agent, task_id)
    (archived,) = events_of(served, agent, f"intents/{intent_id}", event_type="memory.archived")
    assert archived["data"]["entries_archived"] == 5
    snapshot = {each["key"]: each for each in archived["data"]["snapshot"]}
    for key in ("none", "public", "internal"):
        assert snapshot[key] == {"namespace": "ns", "key": key, "value": {"v": f"HERON-{key}-2"}, "tags": []}
    for key in ("confidential", "restricted"):
        assert snapshot[key] == {"namespace": "ns", "key": key, "value_redacted": True, "tags": []}


def test_R70_the_actor_is_an_agent_and_never_a_key(served: Served) -> None:
    agent = served.agent()
    served.remembers(agent)
    with served.http(role="agent") as unnamed:
        own = unnamed.post("/api/v1/memory", json={"namespace": "ns", "key": served.agent("k"), "value": {}}).json()
        found = unnamed.get(f"/api/v1/agents/{own['agent_id']}/events").json()
    assert own["agent_id"].startswith("key_")  # the id of the key, by which nobody comes in
    secret = served.key("agent").split("_", 2)[2]  # in which "_" may stand
    for event in (*found, *stream_of(served, agent)):
        assert event["actor"] in {agent, own["agent_id"]}
        assert secret not in str(event)


@pytest.mark.engines
def test_R65_streams_are_paged_oldest_first_and_say_how_much_there_is(served: Served) -> None:
    agent = served.agent()
    for number in range(7):
        served.remembers(agent, key=f"k{number}")
    with served.http(agent) as client:
        answer = client.get(f"/api/v1/agents/{agent}/events", params={"limit": 3, "offset": 2})
        assert [each["data"]["key"] for each in answer.json()] == ["k2", "k3", "k4"]
        assert answer.headers["X-Total-Count"] == "7"
        assert len(client.get(f"/api/v1/agents/{agent}/events", params={"limit": str(2**63)}).json()) == 7
        typed = client.get(f"/api/v1/agents/{agent}/events", params={"event_type": "memory.deleted"})
        assert (typed.json(), typed.headers["X-Total-Count"]) == ([], "0")


@pytest.mark.engines
def test_R65_events_since_a_time_are_those_behind_it(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        intent_id = client.create_intent("Since").id
        between = datetime.now(UTC)
        time.sleep(0.01)
        client.log_event(intent_id, EventType.COMMENT, {"text": "later"})
        assert [each.event_type for each in client.get_events(intent_id, since=between)] == [EventType.COMMENT]


@pytest.mark.parametrize(
    "query",
    [{"limit": 0}, {"limit": "x"}, {"limit": -1}, {"offset": -1}, {"since": "yesterday"}, {"event_type": "x" * 65}],
)
def test_R65_a_page_that_makes_no_sense_is_refused_with_the_field(served: Served, query: dict[str, Any]) -> None:
    agent = served.agent()
    with served.http(agent) as client:
        answer = client.get(f"/api/v1/agents/{agent}/events", params=query)
    assert answer.status_code == 400
    assert [each["field"] for each in answer.json()["errors"]] == list(query)


def refused(served: Served, agent: str, address: str, **who: Any) -> int:
    with served.http(agent, **who) as client:
        return client.get(f"/api/v1/{address}/events").status_code


def test_R91_a_log_is_for_who_takes_part_and_a_stream_for_its_agent(served: Served) -> None:
    owner, stranger, reader = served.agent("owner"), served.agent("stranger"), served.agent("reader")
    coordinator = served.agent("coordinator")
    served.remembers(owner)
    with served.client(owner) as client:
        intent_id, _ = task_of(client)
        client.create_coordinator_lease(agent_id=coordinator, intent_id=intent_id, role="coordinator")
    log, stream = f"intents/{intent_id}", f"agents/{owner}"
    assert (refused(served, stranger, log), refused(served, stranger, stream)) == (403, 403)
    assert (refused(served, coordinator, log), refused(served, coordinator, stream)) == (200, 200)
    assert (refused(served, "", log, role="operator"), refused(served, "", stream, role="operator")) == (200, 200)
    assert (refused(served, owner, log, role="auditor"), refused(served, owner, stream, role="auditor")) == (403, 403)
    assert (refused(served, owner, log, tenant="globex"), refused(served, owner, "intents/x")) == (404, 404)
    with served.http(owner) as http:
        granted = http.post(
            f"/api/v1/intents/{intent_id}/acl/entries",
            json={"principal_id": reader, "principal_type": "agent", "permission": "read"},
        )
        assert granted.status_code < 300, granted.text
    assert (refused(served, reader, log), refused(served, reader, stream)) == (200, 403)


def test_R27_an_archived_snapshot_is_for_who_reads_the_log_and_to_have_joined_opens_no_memory(served: Served) -> None:
    owner, joined, reader = served.agent("owner"), served.agent("joined"), served.agent("reader")
    with served.client(owner) as client:
        intent_id, task_id = task_of(client)
        scope = {"task_id": task_id, "intent_id": intent_id}
        client.create_memory(owner, "ns", "HERON-key", {"v": "HERON-value"}, scope=scope)
    with served.client(joined) as client:
        client._client.post(f"/api/v1/intents/{intent_id}/agents", json={"agent_id": joined}).raise_for_status()
    with served.http(owner) as http:
        grant = {"principal_id": reader, "principal_type": "agent", "permission": "read", "task_id": task_id}
        assert http.post(f"/api/v1/intents/{intent_id}/acl/entries", json=grant).status_code < 300
    end(served, owner, task_id)
    by_joined, by_reader = (events_of(served, each, f"intents/{intent_id}") for each in (joined, reader))
    assert [each["id"] for each in by_joined] == [each["id"] for each in by_reader]
    assert "HERON" not in str(by_joined)
    assert "HERON-value" in str(by_reader)


def test_R91_an_unknown_agent_has_no_events_for_an_operator_and_is_no_business_of_others(served: Served) -> None:
    nobody = served.agent("nobody")
    assert refused(served, served.agent(), f"agents/{nobody}") == 403
    with served.http(role="operator") as client:
        assert client.get(f"/api/v1/agents/{nobody}/events").json() == []


@pytest.mark.engines
def test_R65_the_published_client_is_told_when_a_log_is_not_for_it(served: Served) -> None:
    with served.client(served.agent()) as client:
        intent_id = client.create_intent("Closed").id
    with served.client(served.agent()) as client, pytest.raises(OpenIntentError) as problem:
        client.get_events(intent_id)
    assert problem.value.response["error"] == "ACCESS_DENIED"
