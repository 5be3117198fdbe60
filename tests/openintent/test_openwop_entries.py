"""What agents wrote in runs of OpenWOP, as OpenIntent lists and reads it: the same rows with the same ids."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory import ledger
from memory.host import ids
from tests import building

pytestmark = pytest.mark.django_db
AGENT = "acme.writer"


def http(role: str = "agent", agent: str = AGENT, slug: str = "acme") -> Client:
    named: Any = {"HTTP_X_AGENT_ID": agent} if agent else {}
    return Client(HTTP_X_API_KEY=building.key(slug, role), **named)


def listed(client: Client, agent: str = AGENT, **params: Any) -> list[dict[str, Any]]:
    """Both lists, which are one."""
    params = {name.replace("__", "."): value for name, value in params.items()}
    array = client.get(f"/api/v1/agents/{agent}/memory", params)
    envelope = client.get("/api/v1/memory", params | {"agent_id": agent})
    assert (array.status_code, envelope.status_code) == (200, 200), array.content + envelope.content
    assert array.json() == envelope.json()["entries"]
    assert array.headers["X-Total-Count"] == str(envelope.json()["total"])
    return array.json()


def written(*contents: str, slug: str = "acme", **draft: Any) -> list[str]:
    """The wire ids of entries that the agent wrote through OpenWOP."""
    owner = building.scope(slug)
    run = building.open_run(owner)
    draft = {"agent_id": AGENT, "memory_ref": "desk/notes", **draft}
    return [ids.wire("mem", building.write(owner, run, text, **draft).id) for text in contents]


def remembered(client: Client, key: str, **more: Any) -> str:
    given = {"namespace": "ns", "key": key, "value": {"n": 1}, "memory_type": "episodic", **more}
    answer = client.post("/api/v1/memory", json.dumps(given), content_type="application/json")
    assert answer.status_code == 201, answer.content
    return answer.json()["id"]


def test_an_agent_s_list_has_what_it_wrote_in_a_run_with_its_provenance() -> None:
    told = building.remember("acme", "The printer is on fire.", memory_ref="desk/notes", tags=["printer"])
    (entry,) = listed(http())
    assert entry["id"] == told.entries[0] == entry["key"]
    assert (entry["namespace"], entry["memory_ref"], entry["memory_type"]) == ("desk/notes", "desk/notes", "episodic")
    assert entry["value"] == {"content": "The printer is on fire."}
    assert (entry["run_id"], entry["node_id"]) == (ids.wire("run", told.run.id), "remember-1")
    assert (entry["version"], entry["pinned"], entry["scope"], entry["agent_id"]) == (1, False, None, AGENT)
    assert entry["created_at"] == entry["updated_at"]
    assert http().get(f"/api/v1/memory/{entry['id']}").json() == entry


def test_both_kinds_stand_in_one_order_and_in_one_total() -> None:
    client = http()
    order = []
    for number in range(3):
        order += [remembered(client, f"k{number}"), *written(f"text {number}")]
    assert [entry["id"] for entry in listed(client)] == order[::-1]
    pages = [[entry["id"] for entry in listed(client, limit=2, offset=at)] for at in (0, 2, 4, 6)]
    assert pages == [order[:3:-1], order[3:1:-1], order[1::-1], []]
    assert client.get(f"/api/v1/memory?agent_id={AGENT}&limit=1").json()["total"] == 6
    assert client.get("/api/v1/memory", {"limit": 1}).json()["total"] == 6


def test_they_meet_every_filter_or_none() -> None:
    client = http()
    (first,), (second,) = written("one", tags=("red", "round")), written("two", memory_ref="desk", tags=("red",))
    at = listed(client, key=first)[0]["updated_at"]
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"namespace": "desk"}, [second]),
        ({"namespace": "desk*"}, [second, first]),
        ({"namespace": "desk/*"}, [first]),
        ({"namespace": "des_*"}, []),
        ({"key": second}, [second]),
        ({"key": "mem_1"}, []),
        ({"tags": "red"}, [second, first]),
        ({"tags": "red,round"}, [first]),
        ({"tags_any": "round,square"}, [first]),
        ({"memory_type": "episodic"}, [second, first]),
        ({"memory_type": "working"}, []),
        ({"memory_type": "semantic"}, []),
        ({"pinned": "false"}, [second, first]),
        ({"pinned": "true"}, []),
        ({"updated_after": at}, [second]),
        ({"updated_before": at}, []),
        ({"scope__task_id": "task_1"}, []),
        ({"scope__intent_id": "intent_1"}, []),
    ]
    for params, found in cases:
        assert [entry["id"] for entry in listed(client, **params)] == found, params


def test_only_the_agent_itself_and_operators_see_them() -> None:
    (written_id,) = written("secret")
    for client, seen in (
        (http(), 1),
        (http("operator", ""), 1),
        (http(agent="another"), 0),
        (http(slug="globex"), 0),
    ):
        assert len(listed(client)) == seen
    assert http(agent="another").get(f"/api/v1/memory/{written_id}").status_code == 403
    assert http(slug="globex").get(f"/api/v1/memory/{written_id}").status_code == 404
    assert http("operator", "").get(f"/api/v1/memory/{written_id}").status_code == 200


def test_who_only_looks_on_reads_each_that_is_listed_to_it() -> None:
    written("a note")
    onlooker = http("viewer")
    [found] = listed(onlooker)
    assert onlooker.get(f"/api/v1/memory/{found['id']}").status_code == 200


def test_they_are_only_read_here() -> None:
    (written_id,) = written("as it is")
    for client, said in ((http(), "OpenWOP"), (http("operator", ""), "OpenWOP"), (http(agent="another"), "may not")):
        path = f"/api/v1/memory/{written_id}"
        more: Any = {"content_type": "application/json", "HTTP_IF_MATCH": "1"}
        for answer in (client.patch(path, json.dumps({"tags": ["x"]}), **more), client.delete(path)):
            assert (answer.status_code, answer.json()["error"]) == (403, "ACCESS_DENIED")
            assert said in answer.json()["message"]
    assert [entry["value"] for entry in listed(http())] == [{"content": "as it is"}]


def test_what_is_expired_or_retired_is_not_there() -> None:
    now, owner = timezone.now(), building.scope()
    (lapsed,) = written("lapsed", now=now - timedelta(hours=2), expires_at=now - timedelta(hours=1))
    (retired,) = written("retired", tags=("red",))
    key = ids.parse("mem", retired)
    assert key
    ledger.retirement.retire_entry(owner, key, reason="", now=now)
    assert listed(http()) == listed(http(), tags="red") == []
    for gone in (lapsed, retired):
        assert http().get(f"/api/v1/memory/{gone}").status_code == 404


def test_they_take_no_capacity_and_are_counted_apart() -> None:
    written("one", "two")
    written("of another", agent_id="support-02")
    body = http().get(f"/api/v1/agents/{AGENT}/memory/summary").json()
    assert (body["openwop"], body["episodic"]["entry_count"]) == ({"entry_count": 2}, 0)


@pytest.mark.engines
def test_a_search_finds_what_was_written_in_runs_among_the_rest() -> None:
    asleep, _ = written("The wombat sleeps by day.", "The printer is on fire."), written("wombat", agent_id="another")
    remembered(http(), "wombats", value={"text": "a wombat and another wombat"})
    remembered(http(), "work", value={"text": "a wombat at work"}, memory_type="working")
    every = [entry["key"] for entry in listed(http(), q="wombats")]
    assert (every[0], set(every)) == ("wombats", {asleep[0], "wombats", "work"})
    assert [entry["id"] for entry in listed(http(), q='any "wombat sleeps"')] == [asleep[0]]
    assert [entry["id"] for entry in listed(http(), q="wombat", namespace="desk/*")] == [asleep[0]]
    assert listed(http(agent="somebody"), q="wombat", namespace="desk/*") == []
