"""How much an agent remembers (RFC-0015, Agent Memory Summary; R105)."""

import time
from typing import Any

import httpx

from tests.openintent.conftest import Served

KIB = {"text": "x" * 1000}


def summary(served: Served, caller: str, agent: str, **options: Any) -> httpx.Response:
    with served.http(caller, **options) as client:
        return client.get(f"/api/v1/agents/{agent}/memory/summary")


def test_R105_an_agent_that_remembers_nothing_has_nulls_and_zeros(served: Served) -> None:
    agent = served.agent()
    body = summary(served, agent, agent).json()
    del body["semantic_namespaces_accessible"]  # of what others made
    assert body == {
        "agent_id": agent,
        "working": {"entry_count": 0, "total_size_kb": 0, "tasks_with_memory": []},
        "episodic": {
            "entry_count": 0,
            "capacity": 1000,
            "pinned_count": 0,
            "total_size_kb": 0,
            "oldest_entry": None,
            "newest_entry": None,
        },
        "openwop": {"entry_count": 0},
    }


def test_R105_the_numbers_of_each_tier(served: Served) -> None:
    agent, other = served.agent(), served.agent()
    for key, task in (("a", "task_2"), ("b", "task_1"), ("c", "task_1"), ("d", "")):
        served.remembers(agent, key, KIB if key == "a" else {}, scope={"task_id": task} if task else None)
    first = served.remembers(agent, "e", KIB, memory_type="episodic", pinned=True)
    last = served.remembers(agent, "f", KIB, memory_type="episodic", priority="low")
    served.remembers(other, "a", KIB)
    body = summary(served, agent, agent).json()
    assert body["working"] == {"entry_count": 4, "total_size_kb": 1, "tasks_with_memory": ["task_1", "task_2"]}
    assert body["episodic"] == {
        "entry_count": 2,
        "capacity": 1000,
        "pinned_count": 1,
        "total_size_kb": 2,
        "oldest_entry": first["created_at"],
        "newest_entry": last["created_at"],
    }


def test_R105_the_namespaces_are_those_that_the_agent_may_read_whoever_asks(served: Served) -> None:
    agent, other, space = served.agent(), served.agent(), served.agent("space")
    with served.http(role="operator") as operator:
        for name, default, allow in (
            ("open", "read", []),
            ("shut", "none", []),
            ("mine", "none", [{"agent": agent, "access": "write"}]),
            ("theirs", "none", [{"agent": other, "access": "read"}]),
        ):
            permissions = {"permissions": {"default": default, "allow": allow}}
            answer = operator.patch(f"/api/v1/memory/namespaces/{space}.{name}", json=permissions)
            assert answer.status_code in (200, 201), answer.text
        seen = operator.get(f"/api/v1/agents/{agent}/memory/summary").json()
    found = summary(served, agent, agent).json()["semantic_namespaces_accessible"]
    assert [name for name in found if name.startswith(space)] == [f"{space}.mine", f"{space}.open"]
    assert seen["semantic_namespaces_accessible"] == found


def test_R105_it_is_for_the_agent_itself_its_coordinators_and_operators(served: Served) -> None:
    agent, boss, stranger = served.agent(), served.agent("boss"), served.agent()
    served.remembers(agent, "a")
    assert summary(served, stranger, agent).status_code == 403
    assert summary(served, boss, agent).json()["error"] == "ACCESS_DENIED"
    with served.http(boss) as client:
        intent = client.post("/api/v1/intents", json={"title": "t", "created_by": boss}).json()["id"]
        client.post("/api/v1/coordinators", json={"agent_id": boss, "intent_id": intent}).raise_for_status()
        task = {"intent_id": intent, "name": "n", "assigned_agent": agent}
        client.post("/api/v1/tasks", json=task).raise_for_status()
    seen = summary(served, boss, agent)
    assert (seen.status_code, seen.json()["working"]["entry_count"]) == (200, 1)
    assert "openwop" not in seen.json()
    assert summary(served, "", agent, role="operator").json()["working"]["entry_count"] == 1
    assert summary(served, stranger, agent).status_code == 403


def test_R105_what_has_expired_counts_for_nothing(served: Served) -> None:
    agent = served.agent()
    served.remembers(agent, "a", KIB, ttl="duration:PT2S", scope={"task_id": "task_1"})
    with served.http(agent) as client:
        while client.get(f"/api/v1/agents/{agent}/memory").json():
            time.sleep(0.05)
    body = summary(served, agent, agent).json()
    assert body["working"] == {"entry_count": 0, "total_size_kb": 0, "tasks_with_memory": []}
