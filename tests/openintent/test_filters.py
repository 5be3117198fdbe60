"""Lists narrowed by the fields of values: what matches, what is refused, and who sees it."""

import json
from typing import Any

import pytest
from django.test import Client

from memory.openintent import queries
from tests.openintent.test_origins import Agent

pytestmark = [pytest.mark.django_db, pytest.mark.engines]
VALUES: dict[str, Any] = {
    "a": {"kind": "note", "n": 1, "done": True, "meta": {"lang": "de", "page": 3}},
    "b": {"kind": "note", "n": 2, "done": False, "meta": {"lang": "en", "page": 4}, "gone": None},
    "c": {"kind": "task", "n": 2.5, "tags": ["x", "y"], "meta": "none"},
    "d": {"kind": 'a "note"', "n": "2"},
}


@pytest.fixture
def agent(client: Client) -> Agent:
    made = Agent(client)
    for key, value in VALUES.items():
        assert made.put(value, key=key).status_code == 201
    return made


def fitting(agent: Agent, wanted: Any, path: str = "/api/v1/memory", **more: str) -> list[str]:
    text = wanted if isinstance(wanted, str) else json.dumps(wanted)
    answer = agent.client.get(path, {"namespace": "invoices", "filter": text, **more}, **agent.headers)
    assert answer.status_code == 200, answer.content
    found = answer.json() if isinstance(answer.json(), list) else answer.json()["entries"]
    return sorted(each["key"] for each in found)


FITTING: list[tuple[dict[str, Any], str]] = [
    ({"kind": "note"}, "ab"),
    ({"kind": 'a "note"'}, "d"),
    ({"kind": {"$eq": "task"}}, "c"),
    ({"kind": {"$ne": "note"}}, "cd"),
    ({"n": 2}, "b"),
    ({"n": 2.5}, "c"),
    ({"n": {"$gt": 1, "$lte": 2.5}}, "bc"),
    ({"n": {"$gte": 2}}, "bc"),
    ({"n": {"$lt": 2}}, "a"),
    ({"done": True}, "a"),
    ({"done": 1}, ""),
    ({"done": None}, "cd"),
    ({"gone": None}, "abcd"),
    ({"gone": {"$ne": None}}, ""),
    ({"meta": {"lang": "de"}}, "a"),
    ({"meta": {"lang": {"$ne": "de"}}}, "b"),
    ({"meta": {"page": {"$gt": 3}}}, "b"),
    ({"meta": {"$eq": {"lang": "de"}}}, ""),
    ({"meta": "none"}, "c"),
    ({"tags": ["x", "y"]}, "c"),
    ({"tags": ["x"]}, ""),
    ({"tags": {"$eq": ["x", "y"]}}, "c"),
    ({"tags": {"$ne": ["x", "z"]}}, "abcd"),
    ({"kind": "note", "n": 1}, "a"),
    ({"kind": "NOTE"}, ""),
]
NO_FILTERS = [
    "",
    "x",
    "[]",
    "{}",
    '"x"',
    '{"$eq": 1}',
    '{"n": {"$in": [1]}}',
    '{"n": {"$gt": 1, "m": 2}}',
    '{"n": {"$gt": "1"}}',
    '{"n": {"$gt": true}}',
    '{"n": NaN}',
    '{"a":' * 9 + "1" + "}" * 9,
    json.dumps({str(number): 1 for number in range(65)}),
    json.dumps({"x": "y" * queries.MAX_LENGTH}),
]


def test_an_entry_fits_when_its_value_is_what_is_said_of_it(agent: Agent) -> None:
    for wanted, keys in FITTING:
        assert fitting(agent, wanted) == list(keys), wanted


def test_a_filter_that_is_none_is_400_and_says_why(agent: Agent) -> None:
    for text in NO_FILTERS:
        answer = agent.client.get("/api/v1/memory", {"filter": text}, **agent.headers)
        assert answer.status_code == 400, text
        assert "filter" in json.dumps(answer.json()), text


def test_a_filtered_list_is_paged_and_counted(agent: Agent) -> None:
    query = {"filter": json.dumps({"n": {"$gt": 0}}), "limit": "2", "offset": "1"}
    answer = agent.client.get("/api/v1/memory", query, **agent.headers).json()
    assert ([each["key"] for each in answer["entries"]], answer["total"]) == (["b", "a"], 3)


def test_a_search_is_filtered_too(agent: Agent) -> None:
    assert fitting(agent, {"n": {"$gt": 1}}, q="note task") == ["b", "c"]


def test_the_list_of_an_agent_is_filtered_too(agent: Agent) -> None:
    assert fitting(agent, {"kind": "task"}, "/api/v1/agents/billing-01/memory") == ["c"]


def test_a_filter_finds_nothing_that_its_caller_may_not_read(client: Client, agent: Agent) -> None:
    other = Agent(client, "billing-02")
    query = {"filter": json.dumps({"kind": "note"}), "agent_id": "billing-02"}
    assert client.get("/api/v1/memory", query, **other.headers).json()["total"] == 0
    globex = Agent(client, slug="globex")
    assert fitting(globex, {"kind": "note"}) == []


def test_a_confidential_value_is_filtered_for_who_may_read_it(agent: Agent) -> None:
    agent.put({"kind": "note", "n": 9}, key="sealed", sensitivity="confidential")
    assert fitting(agent, {"n": 9, "kind": "note"}) == ["sealed"]
    assert fitting(agent, {"n": 9, "kind": "task"}) == []


def test_more_than_can_be_looked_through_is_refused(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "LOOKED_THROUGH", 3)
    query = {"filter": json.dumps({"n": {"$gt": 0}})}
    answer = agent.client.get("/api/v1/memory", query, **agent.headers)
    assert answer.status_code == 400
    assert "narrow" in json.dumps(answer.json())
    assert fitting(agent, {"kind": "note"}) == ["a", "b"]  # what is to be equal the database finds
