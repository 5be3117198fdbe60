"""Batches over HTTP: many entries made and changed, or deleted by what they have in common (R100, R101)."""

from itertools import product
from typing import Any

import httpx
import pytest
from django.utils import timezone

from memory.addresses import Address, Tier
from memory.host import vault
from memory.host.errors import Invalid
from memory.ledger.entries import AddressedValue
from memory.openintent import batches, entries
from memory.openintent.access import Caller
from memory.openintent.batches import Item
from tests import building
from tests.budgets import THOROUGH
from tests.openintent.conftest import Served

BATCH = "/api/v1/memory/batch"


def item(key: str, value: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"namespace": "ns", "key": key, "value": {"n": 1} if value is None else value, **more}


def post(served: Served, agent: str, *items: Any, role: str = "agent") -> httpx.Response:
    with served.http(agent, role=role) as client:
        return client.post(BATCH, json={"entries": list(items)})


def delete(served: Served, agent: str, role: str = "agent", **wanted: Any) -> httpx.Response:
    with served.http(agent, role=role) as client:
        return client.request("DELETE", BATCH, json={"filter": wanted})


def keys(served: Served, agent: str, **wanted: Any) -> dict[str, int]:
    """What the published client lists of the agent: keys and versions."""
    with served.client(agent) as client:
        return {each.key: each.version for each in client.list_memory(agent, limit=1000, **wanted)}


def events(served: Served, agent: str) -> list[str]:
    """The kinds of the agent's own events, all of which it caused."""
    with served.http(agent) as client:
        found = client.get(f"/api/v1/agents/{agent}/events").json()
    assert {each["actor"] for each in found} <= {agent}
    return [each["event_type"] for each in found]


def test_R100_a_batch_makes_and_changes_entries_at_once(served: Served) -> None:
    agent = served.agent()
    by_id, by_key = served.remembers(agent, "by-id"), served.remembers(agent, "by-key")
    answer = post(
        served,
        agent,
        item("new", tags=["x"], memory_type="episodic"),
        {"id": by_id["id"], "version": 1, "tags": ["y"]},
        item("by-key", {"n": 2}, version=1),
    )
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["created"], body["updated"]) == (1, 2)
    assert [(each["key"], each["version"]) for each in body["entries"]] == [("new", 1), ("by-id", 2), ("by-key", 2)]
    assert (body["entries"][1]["value"], body["entries"][1]["tags"]) == ({"n": 1}, ["y"])
    assert (body["entries"][2]["id"], body["entries"][2]["value"]) == (by_key["id"], {"n": 2})
    assert keys(served, agent) == {"new": 1, "by-id": 2, "by-key": 2}
    made, changed = "memory.created", "memory.updated"
    assert sorted(events(served, agent)) == sorted([made, made, made, changed, changed])


def test_R100_an_entry_that_already_is_what_a_batch_says_keeps_its_version(served: Served) -> None:
    agent = served.agent()
    served.remembers(agent, "same"), served.remembers(agent, "other")
    answer = post(served, agent, item("same", version=1), item("other", {"n": 2}, version=1))
    assert [each["version"] for each in answer.json()["entries"]] == [1, 2]
    assert events(served, agent).count("memory.updated") == 1


@pytest.mark.engines
def test_R100_an_entry_may_be_given_back_as_it_was_read(served: Served) -> None:
    agent = served.agent()
    read = served.remembers(agent, "k", scope={"intent_id": "foreign"}, ttl="PT1H", tags=["t"])
    answer = post(served, agent, read | {"value": {"n": 2}})
    assert answer.status_code == 200, answer.text
    changed = answer.json()["entries"][0]
    assert changed | {"updated_at": ""} == read | {"value": {"n": 2}, "version": 2, "updated_at": ""}


FAILURES: list[tuple[str, dict[str, Any], int, str]] = [
    ("wrong version", {**item("there"), "version": 7}, 409, "VERSION_MISMATCH"),
    ("no version", item("there"), 428, "PRECONDITION_REQUIRED"),
    ("a version of nothing", {**item("absent"), "version": 3}, 409, "VERSION_MISMATCH"),
    ("unknown id", {"id": "mem_" + "0" * 32, "version": 1, "value": {}}, 404, "ENTRY_NOT_FOUND"),
    ("somebody else's", item("mine", agent_id="somebody-else"), 403, "ACCESS_DENIED"),
    ("too large", item("large", {"t": "x" * 65_536}), 413, "VALUE_TOO_LARGE"),
    ("in the past", item("past", expires_at="2001-01-01T00:00:00Z"), 400, "VALIDATION_ERROR"),
    ("bad tier", item("tier", memory_type="procedural"), 400, "VALIDATION_ERROR"),
    ("bad ttl", item("ttl", ttl="forever"), 400, "VALIDATION_ERROR"),
    ("no object", 17, 400, "VALIDATION_ERROR"),  # type: ignore[list-item]
    ("an id of nothing", {"id": "17", "version": 1, "value": {}}, 400, "VALIDATION_ERROR"),
]


def test_R100_one_failure_refuses_all_and_says_where(served: Served) -> None:
    agent = served.agent()
    there = served.remembers(agent, "there")
    changed = {"id": served.remembers(agent, "changed")["id"], "version": 1, "value": {"n": 2}}
    for what, bad, status, code in FAILURES:
        answer = post(served, agent, item("first"), changed, bad, item("last"))
        body = answer.json()
        assert (answer.status_code, body["error"], body["index"]) == (status, code, 2), (what, body)
        assert body["message"] == body["detail"] != "", what
        assert all(each["field"].startswith("entries.2") and each["message"] for each in body["errors"]), what
        if code == "VERSION_MISMATCH" and bad["key"] == "there":
            assert (body["current_version"], body["current"]["id"]) == (1, there["id"])
    assert keys(served, agent) == {"there": 1, "changed": 1}
    assert events(served, agent) == ["memory.created"] * 2


def test_R100_everything_that_is_wrong_with_any_entry_is_told(served: Served) -> None:
    agent = served.agent()
    answer = post(served, agent, item("ok"), {"key": "k", "value": []}, item("x", tags="t", ttl="no", colour="red"))
    body = answer.json()
    assert (answer.status_code, body["error"], body["index"]) == (400, "VALIDATION_ERROR", 1)
    told = {each["field"] for each in body["errors"]}
    assert {"entries.1.namespace", "entries.1.value"} <= told
    assert any(field.startswith("entries.2") for field in told)
    assert keys(served, agent) == {}


@pytest.mark.engines
def test_R100_a_batch_names_an_entry_once(served: Served) -> None:
    agent = served.agent()
    there = served.remembers(agent, "there")
    change = {"id": there["id"], "version": 1, "value": {}}
    shared: dict[str, Any] = {"memory_type": "semantic", "namespace": served.agent("space")}
    for one, other in (
        (item("k"), item("k")),
        (item("k"), item("k", memory_type="episodic")),
        (change, change | {"version": 2}),
        (change, item("there", version=2)),
        (item("k", **shared), item("k", **shared)),
    ):
        answer = post(served, agent, one, other)
        assert (answer.status_code, answer.json()["error"], answer.json()["index"]) == (400, "VALIDATION_ERROR", 1)
    assert keys(served, agent) == {"there": 1}


def test_R100_an_entry_keeps_its_place(served: Served) -> None:
    agent = served.agent()
    there = served.remembers(agent, "there")
    for moved in ({"namespace": "other"}, {"key": "other"}, {"memory_type": "episodic"}, {"scope": {"task_id": "t"}}):
        answer = post(served, agent, {"id": there["id"], "version": 1, "value": {"n": 2}, **moved})
        assert (answer.status_code, answer.json()["index"]) == (400, 0), answer.text
    assert keys(served, agent) == {"there": 1}


def test_R100_what_is_no_batch_is_refused(served: Served) -> None:
    none: list[Any] = [
        {},
        {"entries": []},
        {"entries": {}},
        {"entries": None},
        [],
        {"entries": [item("k")], "dry": True},
    ]
    with served.http(served.agent()) as client:
        for body in none:
            answer = client.post(BATCH, json=body)
            assert (answer.status_code, answer.json()["error"]) == (400, "VALIDATION_ERROR"), body


def test_R100_a_batch_has_at_most_500_entries_and_8_mib(served: Served) -> None:
    agent = served.agent()
    answer = post(served, agent, *(item(f"k{number}") for number in range(501)))
    assert (answer.status_code, keys(served, agent)) == (400, {})
    with served.http(agent) as client:
        answer = client.post(BATCH, json={"entries": ["x" * 8 * 1024 * 1024]})
    assert answer.status_code == 413
    with served.http(agent) as client:
        full = {"entries": [item(f"k{number}") for number in range(500)]}
        assert client.post(BATCH, json=full, timeout=120).json()["created"] == 500
    assert len(keys(served, agent)) == 500


def test_R100_a_batch_reaches_no_other_agent_s_entries(served: Served) -> None:
    mine, other = served.agent(), served.agent()
    theirs = served.remembers(other, "k")
    answer = post(served, mine, item("new"), {"id": theirs["id"], "version": 9, "value": {"n": 2}})
    body = answer.json()
    assert (answer.status_code, body["error"], body["index"]) == (403, "ACCESS_DENIED", 1)
    assert not {"current", "current_version"} & set(body)
    assert (keys(served, mine), keys(served, other)) == ({}, {"k": 1})


def test_R40_a_batch_asks_of_each_namespace_whether_the_agent_may_write_there(served: Served) -> None:
    agent, own, closed = served.agent(), served.agent("own"), served.agent("closed")
    rules: dict[str, Any] = {"memory_type": "semantic", "namespace": closed}
    served.remembers(served.agent(), "there", **rules)
    with served.http(role="operator") as client:
        answer = client.patch(f"/api/v1/memory/namespaces/{closed}", json={"permissions": {"default": "read"}})
        assert answer.status_code == 200
    answer = post(served, agent, item("a", memory_type="semantic") | {"namespace": own}, item("b") | rules)
    assert (answer.status_code, answer.json()["error"], answer.json()["index"]) == (403, "ACCESS_DENIED", 1)
    assert keys(served, agent, memory_type="semantic", namespace=closed) == {"there": 1}


@pytest.mark.parametrize("tier", ["working", "episodic", "semantic"])
def test_R71_a_batch_tells_a_stranger_nothing_of_what_is_there(served: Served, tier: str) -> None:
    mine, victim, space = served.agent(), served.agent(), served.agent("space")
    theirs = served.remembers(victim, "there", memory_type=tier, namespace=space)
    if tier == "semantic":
        with served.http(role="operator") as client:
            closed = {"permissions": {"default": "none", "allow": [{"agent": victim, "access": "write"}]}}
            assert client.patch(f"/api/v1/memory/namespaces/{space}", json=closed).status_code == 200

    def told(key: str, version: int | None, times: int, *before: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        owner: dict[str, Any] = {} if tier == "semantic" else {"agent_id": victim}
        asked = item(key, memory_type=tier, version=version) | owner | {"namespace": space}
        answer = post(served, mine, *before, *[asked] * times)
        return answer.status_code, answer.json()

    by_id = {"id": theirs["id"], "version": 1, "value": {}}
    places = ((1, ()), (2, ()), (1, (item("own"),)), (2, (item("own"),)), (1, (by_id,)))
    every = list(product((None, 1, 7), places))
    # In a quick run every other one, and in episodic memory those between them.
    for version, (times, before) in every if THOROUGH else every[tier == "episodic" :: 2]:
        there, absent = (told(key, version, times, *before) for key in ("there", "absent"))
        assert there == absent, (version, times, before)
        assert (there[0], there[1]["error"]) == (403, "ACCESS_DENIED"), (version, times, before)
    assert post(served, mine, by_id, by_id).json()["index"] == 0
    assert (keys(served, mine, memory_type="working"), keys(served, victim)["there"]) == ({}, 1)


@pytest.mark.django_db
def test_R100_a_secret_in_the_name_of_an_entry_is_no_reason_to_refuse_it() -> None:
    caller, now = Caller(building.scope(role="agent"), "owner"), timezone.now()
    vault.store_secret(caller.tenant_id, "card", "pelican-4711", now=now)

    def named(tier: Tier, version: int | None = None) -> Item:
        place = Address(tier, "owner", "of pelican-4711", "the pelican-4711")
        fixed = {"namespace": place.namespace, "key": place.key, "memory_type": str(tier)}
        return Item(AddressedValue(place, {"n": version}), {"value": {"n": version}}, version=version, fixed=fixed)

    for tier in Tier:
        assert batches.write(caller, [named(tier)], now=now).created == 1
        again = batches.write(caller, [named(tier, 1)], now=now)
        assert (again.created, again.rows[0].version) == (0, 2)
        assert "pelican" not in f"{again.rows[0].namespace} {again.rows[0].key}"
        with pytest.raises(Invalid, match="names an entry twice"):
            batches.write(caller, [named(tier, 2), named(tier, 2)], now=now)
        entries.delete(caller, again.rows[0].id, None, now=now)


@pytest.mark.engines
def test_R97_a_batch_over_the_bound_of_a_task_leaves_nothing(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        intent = client.create_intent("t", "d")
        task = client.create_task(intent.id, "t", memory_policy={"max_entries": 2})
    within = {"scope": {"task_id": task.id}}
    answer = post(served, agent, *(item(f"k{number}", **within) for number in range(3)))
    body = answer.json()
    assert (answer.status_code, body["error"], body["index"]) == (429, "CAPACITY_EXCEEDED", 2)
    assert (body["current_count"], body["max_capacity"], body["limit_kind"]) == (2, 2, "entries")
    assert keys(served, agent) == {}
    assert post(served, agent, *(item(f"k{number}", **within) for number in range(2))).json()["created"] == 2


@pytest.mark.engines
def test_R101_a_filter_deletes_all_that_fits_on_every_page(served: Served) -> None:
    agent = served.agent()
    post(served, agent, *(item(f"k{number}", tags=["old" if number % 2 else "new"]) for number in range(20)))
    answer = delete(served, agent, tags="old", agent_id=agent, limit=3)
    assert answer.status_code == 200, answer.text
    assert answer.json()["deleted"] == len(set(answer.json()["ids"])) == 10
    assert sorted(keys(served, agent)) == sorted(f"k{number}" for number in range(0, 20, 2))
    assert events(served, agent).count("memory.deleted") == 10
    assert delete(served, agent, tags="old", agent_id=agent).json() == {"deleted": 0, "ids": []}


@pytest.mark.engines
def test_R101_a_filter_comes_in_the_query_or_in_the_body_and_nests_its_scope(served: Served) -> None:
    agent = served.agent()
    for number in range(4):
        served.remembers(agent, f"k{number}", scope={"task_id": f"t{number}", "intent_id": "i"})
    assert delete(served, agent, **{"scope.task_id": "t0"}).json()["deleted"] == 1
    assert delete(served, agent, scope={"task_id": "t1", "intent_id": "i"}).json()["deleted"] == 1
    with served.http(agent) as client:
        answer = client.delete(BATCH, params={"scope.task_id": "t2"})
    assert answer.json()["deleted"] == 1
    assert keys(served, agent) == {"k3": 1}


UNCLEAR: list[dict[str, Any]] = [
    {}, {"limit": 5}, {"namspace": "ns"}, {"scope": {"task": "t"}}, {"memory_type": "x"}, {"tags": []}, {"key": None},
]  # fmt: skip


def test_R101_a_filter_that_says_nothing_clear_deletes_nothing(served: Served) -> None:
    agent = served.agent()
    served.remembers(agent, "k")
    for wanted in UNCLEAR:
        assert delete(served, agent, **wanted).status_code == 400, wanted
    with served.http(agent) as client:
        for answer in (
            client.delete(BATCH),
            client.delete(BATCH, params={"limit": 5}),
            client.delete(BATCH, params={"colour": "red"}),
            client.request("DELETE", BATCH, json={"key": "k"}),
            client.request("DELETE", BATCH, json={"filter": {"key": "k"}}, params={"key": "k"}),
        ):
            assert (answer.status_code, answer.json()["error"]) == (400, "VALIDATION_ERROR")
    assert keys(served, agent) == {"k": 1}


@pytest.mark.engines
def test_R101_only_what_the_caller_may_write_is_deleted(served: Served) -> None:
    mine, other, space = served.agent(), served.agent(), served.agent("space")
    served.remembers(other, "k")
    served.remembers(other, "k", namespace=space, memory_type="semantic")
    assert delete(served, mine, agent_id=other).json()["deleted"] == 0
    with served.http(mine) as client:
        readable = client.get("/api/v1/memory", params={"memory_type": "semantic", "namespace": space}).json()
    assert readable["total"] == 1
    assert delete(served, mine, memory_type="semantic", namespace=space).json()["deleted"] == 0
    assert delete(served, mine, role="viewer", agent_id=mine).status_code == 403
    assert delete(served, other, memory_type="semantic", namespace=space).json()["deleted"] == 1
    assert delete(served, "", role="operator", agent_id=other).json()["deleted"] == 1
