"""Versions: who changes an entry says which one; of two at once one is told what the other made of it (R44 to R49)."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from openintent.exceptions import ConflictError, NotFoundError, OpenIntentError, ValidationError

from tests.openintent.conftest import Served

ABREAST = 8


def patch(
    served: Served, agent: str, entry: dict[str, Any], body: Any, match: str | bytes | None = "1"
) -> httpx.Response:
    headers: dict[str, Any] = {} if match is None else {"If-Match": match}
    with served.http(agent) as client:
        return client.patch(f"/api/v1/memory/{entry['id']}", json=body, headers=headers)


def test_R44_a_change_without_a_version_is_told_to_name_one(served: Served) -> None:
    agent = served.agent()
    entry = served.remembers(agent)
    answer = patch(served, agent, entry, {"value": {}}, match=None)
    assert (answer.status_code, answer.json()["error"]) == (428, "PRECONDITION_REQUIRED")


def test_R44_a_version_that_is_none_is_refused(served: Served) -> None:
    agent = served.agent()
    entry = served.remembers(agent)
    for match in ("", "*", "abc", '"1', "1, 2", "-1", "1.0", "0x1", "٣".encode(), "9" * 40):
        answer = patch(served, agent, entry, {"value": {}}, match=match)
        assert (answer.status_code, answer.json()["error"]) == (400, "VALIDATION_ERROR"), match
        assert answer.json()["errors"][0]["field"] == "If-Match", match


def test_R44_R49_a_version_is_taken_bare_quoted_and_weak(served: Served) -> None:
    agent = served.agent()
    entry = served.remembers(agent)
    for version, match in enumerate(("1", '"2"', 'W/"3"'), 2):
        answer = patch(served, agent, entry, {"value": {"n": version}}, match=match)
        told = (answer.status_code, answer.json()["version"], answer.headers["ETag"])
        assert told == (200, version, f'"{version}"'), match


def test_R45_the_wrong_version_is_told_the_entry_as_it_is(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        made = client.create_memory(agent, "ns", "k", {"n": 1})
        client.update_memory(made.id, 1, value={"n": 2})
        for version in (0, 1, 3, 2**62):
            with pytest.raises(ConflictError) as told:
                client.update_memory(made.id, version, value={"n": 3})
            body = told.value.response
            assert (told.value.current_version, body["error"]) == (2, "VERSION_MISMATCH"), version
            current = body["current"]
            assert (body["current_value"], current["id"], current["version"]) == ({"n": 2}, made.id, 2), version
        now = client.get_memory(made.id)
    assert (now.version, now.value) == (2, {"n": 2})


def test_R45_a_stranger_is_told_nothing_of_the_state(served: Served) -> None:
    entry, stranger = served.remembers(served.agent(), value={"secret": "pelican"}), served.agent()
    for match in ("1", "7"):
        answer = patch(served, stranger, entry, {"value": {}}, match=match)
        assert (answer.status_code, answer.json()["error"]) == (403, "ACCESS_DENIED"), match
        assert "pelican" not in answer.text, match
        assert "current" not in answer.text, match


def test_R44_an_entry_that_is_not_there_is_404_and_no_conflict(served: Served) -> None:
    with served.client(served.agent()) as client:
        for entry_id in ("mem_" + "0" * 32, "mem_x", "nothing", "MEM_" + "0" * 32):
            with pytest.raises(NotFoundError):
                client.update_memory(entry_id, 1, value={})


@pytest.mark.console
@pytest.mark.engines
def test_R46_of_changes_at_one_version_one_wins(served: Served) -> None:
    agent = served.agent()
    for number in range(5):
        entry = served.remembers(agent, f"k{number}")
        bodies = [{"value": {"by": worker}} for worker in range(ABREAST)]
        with ThreadPoolExecutor(ABREAST) as pool:
            answers = list(pool.map(lambda body, entry=entry: patch(served, agent, entry, body), bodies))
        assert Counter(answer.status_code for answer in answers) == {200: 1, 409: ABREAST - 1}
        winner = next(answer.json() for answer in answers if answer.status_code == 200)
        with served.client(agent) as client:
            assert client.get_memory(entry["id"]).value == winner["value"]
        for answer in answers:
            assert answer.json().get("current_version", 2) == 2


@pytest.mark.console
@pytest.mark.engines
@pytest.mark.parametrize("tier", ["working", "episodic", "semantic"])
def test_R46_R17_of_creates_of_one_key_one_wins_and_the_others_are_told(served: Served, tier: str) -> None:
    agent = served.agent()

    def create(worker: int) -> httpx.Response:
        with served.http(agent) as client:
            body = {"namespace": agent, "key": "k", "value": {"by": worker}, "memory_type": tier}
            return client.post("/api/v1/memory", json=body)

    with ThreadPoolExecutor(ABREAST) as pool:
        answers = list(pool.map(create, range(ABREAST)))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 409: ABREAST - 1}, answers[0].text
    made = next(answer.json() for answer in answers if answer.status_code == 201)
    for answer in answers:
        if answer.status_code == 409:
            assert (answer.json()["current_version"], answer.json()["current"]) == (1, made)


@pytest.mark.console
@pytest.mark.engines
def test_R46_changes_and_deletes_at_once_end_in_one_order(served: Served) -> None:
    agent = served.agent()
    entry = served.remembers(agent)

    def act(worker: int) -> int:
        with served.http(agent) as client:
            path = f"/api/v1/memory/{entry['id']}"
            if worker % 2:
                return client.delete(path).status_code
            return client.patch(path, json={"value": {"by": worker}}, headers={"If-Match": "1"}).status_code

    with ThreadPoolExecutor(ABREAST) as pool:
        found = Counter(pool.map(act, range(ABREAST)))
    assert set(found) <= {200, 404, 409}
    assert 1 <= found[200] <= 2


def test_R47_a_change_replaces_what_it_names_and_nothing_else(served: Served) -> None:
    agent = served.agent()
    entry = served.remembers(agent, value={"a": 1, "b": 2}, tags=["x", "y"], priority="high", ttl="duration:P1D")
    changed = patch(served, agent, entry, {"value": {"b": 3}}).json()
    stays = {name: value for name, value in entry.items() if name not in {"value", "version", "updated_at"}}
    assert changed["value"] == {"b": 3}
    assert {name: changed[name] for name in stays} == stays
    assert patch(served, agent, entry, {"tags": ["z"]}, match="2").json()["tags"] == ["z"]
    assert patch(served, agent, entry, {"tags": []}, match="3").json()["tags"] == []


def test_R47_R36_every_field_that_may_change_does(served: Served) -> None:
    agent = served.agent()
    entry = served.remembers(agent, memory_type="episodic")
    end = "2099-01-01T00:00:00.000001+00:00"
    wanted = {"pinned": True, "priority": "low", "sensitivity": "public", "ttl": "task_lifetime", "expires_at": end}
    changed = patch(served, agent, entry, wanted).json()
    assert {name: changed[name] for name in wanted} == wanted
    assert (changed["version"], changed["value"]) == (2, entry["value"])


def test_R47_null_ends_a_lifetime_and_an_expiry_and_a_classification(served: Served) -> None:
    agent = served.agent()
    timed = served.remembers(agent, ttl="duration:PT1H", sensitivity="internal")
    changed = patch(served, agent, timed, {"ttl": None, "sensitivity": None}).json()
    assert (changed["ttl"], changed["expires_at"], changed["sensitivity"]) == (None, None, None)
    dated = served.remembers(agent, "dated", expires_at="2099-01-01T00:00:00Z")
    assert patch(served, agent, dated, {"expires_at": None}).json()["expires_at"] is None
    both = served.remembers(agent, "both", expires_at="2099-01-01T00:00:00Z", ttl="task_lifetime")
    assert patch(served, agent, both, {"ttl": None}).json()["expires_at"] == both["expires_at"]


def test_C13_a_lifetime_begins_anew_when_it_is_given_anew_and_only_then(served: Served) -> None:
    agent = served.agent()
    entry = served.remembers(agent, ttl="duration:PT1H")
    changed = patch(served, agent, entry, {"value": {"n": 2}}).json()
    assert changed["expires_at"] == entry["expires_at"]
    again = patch(served, agent, entry, {"ttl": "duration:PT1H"}, match="2").json()
    assert (again["version"], again["expires_at"] > entry["expires_at"]) == (3, True)


FIXED = ("key", "namespace", "agent_id", "id", "memory_type", "scope", "version", "created_by", "curated_by")
EMPTY: list[Any] = [{}, [], "text", None, {"tags": None}]
UNCHANGEABLE: list[tuple[Any, str]] = [
    *((empty, "body") for empty in EMPTY),
    *(({name: "x", "value": {}}, name) for name in (*FIXED, "created_at", "colour")),
    ({"value": None}, "value"),
    ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
    ({"ttl": "forever"}, "ttl"),
    ({"pinned": "no"}, "pinned"),
]


def test_R47_what_is_empty_unknown_or_fixed_is_refused(served: Served) -> None:
    agent = served.agent()
    entry = served.remembers(agent)
    for body, field in UNCHANGEABLE:
        answer = patch(served, agent, entry, body)
        named = [each["field"] for each in answer.json()["errors"]]
        assert (answer.status_code, field in named) == (400, True), (body, answer.text)
    with served.client(agent) as client:
        assert client.get_memory(entry["id"]).version == 1


def test_R47_what_changes_nothing_is_no_new_version(served: Served) -> None:
    agent = served.agent()
    entry = served.remembers(agent, value={"m": True, "n": 1}, tags=["a"])
    same: list[Any] = [{"value": {"n": 1.0, "m": True}}, {"tags": ["a"], "pinned": False}, {"ttl": None}]
    for body in same:
        answer = patch(served, agent, entry, body)
        assert (answer.status_code, answer.json()) == (200, entry), body


def test_R47_true_is_not_1(served: Served) -> None:
    agent = served.agent()
    entry = served.remembers(agent, value={"n": 1})
    assert patch(served, agent, entry, {"value": {"n": True}}).json()["version"] == 2


def test_R48_a_delete_is_at_once_and_for_good(served: Served) -> None:
    agent = served.agent()
    entry = served.remembers(agent)
    path = f"/api/v1/memory/{entry['id']}"
    with served.http(agent) as client:
        assert client.delete(path, headers={"If-Match": "2"}).status_code == 409
        assert client.delete(path, headers={"If-Match": "x"}).status_code == 400
        gone = client.delete(path)
        assert (gone.status_code, gone.json()) == (200, {"status": "deleted", "entry_id": entry["id"]})
        assert (client.delete(path).status_code, client.get(path).status_code) == (404, 404)
    other = served.remembers(agent)
    with served.http(agent) as client:
        assert client.delete(f"/api/v1/memory/{other['id']}", headers={"If-Match": '"1"'}).status_code == 200
    with served.client(agent) as published:
        again = published.create_memory(agent, "ns", "k", {"n": 3})
        published.delete_memory(again.id)
        with pytest.raises(NotFoundError):
            published.delete_memory(again.id)


def test_R48_a_stranger_deletes_nothing(served: Served) -> None:
    agent = served.agent()
    entry = served.remembers(agent)
    with served.client(served.agent()) as client, pytest.raises(OpenIntentError) as told:
        client.delete_memory(entry["id"])
    assert told.value.status_code == 403
    with served.client(agent) as client:
        assert client.get_memory(entry["id"]).version == 1


def test_R49_an_answer_with_an_entry_has_its_version_as_etag(served: Served) -> None:
    agent = served.agent()
    with served.http(agent) as client:
        made = client.post("/api/v1/memory", json={"namespace": "ns", "key": "k", "value": {}})
        assert made.headers["ETag"] == client.get(made.headers["Location"]).headers["ETag"] == '"1"'
        changed = client.patch(
            made.headers["Location"], json={"tags": ["a"]}, headers={"If-Match": made.headers["ETag"]}
        )
    assert changed.headers["ETag"] == '"2"'


def test_R93_a_value_is_sealed_and_opened_by_a_change_of_its_sensitivity(served: Served) -> None:
    agent, value = served.agent(), {"iban": "DE-pelican"}
    entry = served.remembers(agent, value=value)
    for version, sensitivity in enumerate(("restricted", "confidential", "public"), 1):
        changed = patch(served, agent, entry, {"sensitivity": sensitivity}, match=str(version)).json()
        assert (changed["version"], changed["sensitivity"], changed["value"]) == (version + 1, sensitivity, value)


def test_the_client_is_told_of_a_bad_body_in_its_own_way(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        made = client.create_memory(agent, "ns", "k", {})
        with pytest.raises(ValidationError):
            client.update_memory(made.id, 1, key="other")
