"""Events as they come: the published client's own subscriptions, over HTTP (RFC-0015 5; R65, R91, C20)."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Queue
from typing import Any

import httpx
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from openintent.models import EventType, Permission
from openintent.streaming import SSEEvent, SSEEventType, SSEStream
from pytest_django.fixtures import Settings

from memory.host import api_keys, ids
from memory.openintent import events
from openwop_console.runtime import streams
from openwop_console.runtime.api.streams import KEEPALIVE, _last_seen
from openwop_console.runtime.streams import Place
from tests import building
from tests.openintent.conftest import Served

SECONDS = 30


@contextmanager
def listening(stream: SSEStream) -> Iterator[Callable[[], SSEEvent]]:
    """The next event of the stream, whenever it is asked for; the first one has come when the block begins."""
    found: Queue[SSEEvent] = Queue()

    def listen() -> None:
        try:
            for event in stream:
                found.put(event)
        except (httpx.HTTPError, httpx.StreamError):
            pass  # the test has hung up

    threading.Thread(target=listen, daemon=True).start()
    first = found.get(timeout=SECONDS)
    assert first.type == "connected", first
    yield lambda: found.get(timeout=SECONDS)
    stream.stop()


@pytest.mark.console
def test_R65_the_published_client_hears_of_its_agent_s_memory_as_it_changes(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client, listening(client.subscribe_agent()) as heard:
        began = time.monotonic()
        made = client.create_memory(agent, "ns", "k", {"v": "HERON"}, tags=["t"])
        client.update_memory(made.id, 1, value={"n": 2})
        created, updated = heard(), heard()
        assert time.monotonic() - began < 5
    assert (created.type, updated.type) == ("memory.created", "memory.updated")
    assert created.agent_id == agent
    assert (created.data["data"]["entry_id"], created.data["payload"]["key"]) == (made.id, "k")
    assert updated.data["data"]["previous_version"] == 1
    assert "HERON" not in str(created.data)


@pytest.mark.console
def test_R65_the_published_client_hears_of_what_is_assigned_to_its_agent(served: Served) -> None:
    planner, agent = served.agent("planner"), served.agent("worker")
    with served.client(planner) as client, served.client(agent) as own, listening(own.subscribe_agent()) as heard:
        intent = client.create_intent("Close")
        client.assign_agent(intent.id, agent)
        task = client.create_task(intent.id, "gather", assigned_agent=agent)
        assigned, delegated = heard(), heard()
    assert (assigned.type, assigned.intent_id) == (SSEEventType.AGENT_ASSIGNED, intent.id)
    assert (delegated.type, delegated.intent_id, delegated.data["task_id"]) == ("task.delegated", intent.id, task.id)


@pytest.mark.console
def test_R65_the_published_client_hears_of_an_intent_and_what_it_hears_is_what_the_log_says(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        intent_id = client.create_intent("Listen").id
        with listening(client.subscribe_sse(intent_id)) as heard:
            client.log_event(intent_id, EventType.COMMENT, {"text": "hello"})
            client.create_memory(agent, "ns", "k", {}, scope={"intent_id": intent_id})
            told = [heard(), heard()]
    with served.http(agent) as http:
        logged = http.get(f"/api/v1/intents/{intent_id}/events").json()
    assert [each.type for each in told] == ["comment", "memory.created"]
    assert [each.data for each in told] == logged[-2:]
    assert told[0].intent_id == intent_id


@pytest.mark.console
def test_R5_R65_a_number_of_any_size_cuts_no_reader_off(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        intent_id = client.create_intent("Count").id
        with listening(client.subscribe_sse(intent_id)) as heard:
            for number in (2**200, 1):
                client.log_event(intent_id, EventType.COMMENT, {"n": number})
            assert [heard().data["payload"]["n"] for _ in range(2)] == [2**200, 1]


def test_R65_a_number_of_an_event_that_is_not_there_yet_is_the_last_that_is() -> None:
    place = Place(ids.new_id(), ids.new_id(), seen=3)
    assert [_last_seen(text, place) for text in ("1", "2", "3", "99999", "", "-1", "\xb2", "9" * 19)] == [1] + [2] * 7


@pytest.mark.console
def test_R65_an_event_queue_of_the_published_client_is_filled(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client, client.create_event_queue() as queue:
        first = queue.get(timeout=SECONDS)
        assert first
        assert first.type == "connected"
        client.create_memory(agent, "ns", "k", {})
        told = queue.get(timeout=SECONDS)
    assert told
    assert told.type == "memory.created"


@pytest.mark.console
def test_R65_a_reader_that_was_cut_off_goes_on_behind_the_last_event_it_has(served: Served) -> None:
    agent = served.agent()
    with served.client(agent) as client:
        with listening(client.subscribe_agent()) as heard:
            client.create_memory(agent, "ns", "k0", {})
            seen = heard()
        for number in (1, 2):
            client.create_memory(agent, "ns", f"k{number}", {})
        again = client.subscribe_agent()
        again._last_event_id = seen.id
        with listening(again) as heard:
            assert [heard().data["data"]["key"] for _ in range(2)] == ["k1", "k2"]


@pytest.mark.console
def test_R65_a_reader_that_was_cut_off_before_its_first_event_misses_none(served: Served) -> None:
    agent = served.agent()
    served.remembers(agent, key="before")
    with served.client(agent) as client:
        stream = client.subscribe_agent()
        with listening(stream):
            pass
        assert stream._last_event_id is not None
        client.create_memory(agent, "ns", "between", {})
        again = client.subscribe_agent()
        again._last_event_id = stream._last_event_id
        with listening(again) as heard:
            assert heard().data["data"]["key"] == "between"


@pytest.mark.console
@pytest.mark.parametrize("last", ["x", "-1", "9" * 40, ""])
def test_R65_an_id_that_is_none_begins_with_what_comes(served: Served, last: str) -> None:
    agent = served.agent()
    served.remembers(agent, key="before")
    with served.client(agent) as client:
        stream = client.subscribe_agent()
        stream._last_event_id = last
        with listening(stream) as heard:
            client.create_memory(agent, "ns", "after", {})
            assert heard().data["data"]["key"] == "after"


@pytest.mark.console
def test_R91_a_stream_is_for_whoever_may_read_what_it_is_of(served: Served) -> None:
    owner, stranger = served.agent("owner"), served.agent("stranger")
    served.remembers(owner)
    with served.client(owner) as client:
        intent_id = client.create_intent("Closed").id
    addresses = [f"/api/v1/intents/{intent_id}/subscribe", f"/api/v1/agents/{owner}/subscribe"]
    for address in addresses:
        with served.http(stranger) as http:
            answer = http.get(address, headers={"Accept": "text/event-stream"})
            assert (answer.status_code, answer.json()["error"]) == (403, "ACCESS_DENIED")
        with served.plain() as unknown:
            assert unknown.get(address).status_code == 401
        with served.http(owner, tenant="globex") as http:
            assert http.get(addresses[0]).status_code == 404
    with served.http("", role="operator") as http:
        assert http.get(f"/api/v1/agents/{served.agent('nobody')}/subscribe").status_code == 404
    with served.client(stranger) as client:
        refused = next(iter(client.subscribe_sse(intent_id)))
    assert (refused.type, refused.data["status_code"]) == ("error", 403)


@pytest.mark.console
def test_R65_a_stream_tells_nothing_of_what_follows_the_end_of_a_grant(served: Served) -> None:
    boss, other = served.agent("boss"), served.agent("other")
    with served.client(boss) as client:
        intent = client.create_intent("Lent")
        grant = client.grant_access(intent.id, other, permission=Permission.READ)
        with served.http(other) as http, http.stream("GET", f"/api/v1/intents/{intent.id}/subscribe") as answer:
            lines = answer.iter_lines()
            assert next(lines).startswith("id: ")
            client.create_task(intent.id, "Before")
            assert "event: task.created" in lines
            client.revoke_access(intent.id, grant.id)
            client.create_task(intent.id, "Afterwards")
            assert [line for line in lines if line.startswith("event: ")] == []


def raw(served: Served, agent: str, **who: Any) -> Iterator[str]:
    with (
        served.http(agent, **who) as http,
        http.stream("GET", f"/api/v1/agents/{agent}/subscribe", headers={"Accept": "text/event-stream"}) as answer,
    ):
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["cache-control"] == "no-cache"
        yield from answer.iter_lines()


@pytest.mark.console
def test_R65_a_stream_that_has_nothing_to_say_gives_a_sign_of_life(served: Served) -> None:
    began = time.monotonic()
    assert next(line for line in raw(served, served.agent()) if line.startswith(":")) == ":keepalive"
    assert time.monotonic() - began < 15


# --- in this process: what ends a stream, and what it counts as -----------------------------------------------------


def frames(answer: Any, quick: pytest.MonkeyPatch) -> Iterator[bytes]:
    quick.setattr(streams, "RECHECK_SECONDS", 0.2)
    quick.setattr(streams, "KEEPALIVE_SECONDS", 0.1)
    yield from answer.streaming_content


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_R65_a_stream_ends_with_the_credential(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = building.key("acme", "agent", agents=("a",))
    answer = client.get("/api/v1/agents/a/subscribe", HTTP_X_API_KEY=text)
    said = frames(answer, monkeypatch)
    assert b"connected" in next(said)
    key_id = ids.parse("x", f"x_{text.split('_')[2]}")
    assert key_id
    api_keys.revoke_api_key(building.tenant().id, key_id, now=timezone.now())
    assert set(said) <= {KEEPALIVE}
    answer.close()


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_R65_a_backlog_is_read_in_as_many_statements_whatever_its_length_and_told_whole(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a few readers with a long backlog keep all others waiting."""
    headers = {"HTTP_X_API_KEY": building.key("acme", "agent", agents=("a",))}

    def write(first: int, last: int, **more: Any) -> None:
        for number in range(first, last):
            body = {"agent_id": "a", "namespace": "n", "key": f"k{number}", "value": {"n": number}, **more}
            assert client.post("/api/v1/memory", body, content_type="application/json", **headers).status_code == 201

    def backlog() -> tuple[list[str], int]:
        answer = client.get("/api/v1/agents/a/subscribe", HTTP_LAST_EVENT_ID="0", **headers)
        said = iter(answer.streaming_content)
        next(said)
        with CaptureQueriesContext(connection) as asked:
            text = next(said).decode()
        answer.close()
        told = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
        return [each["data"]["key"] for each in told if each["type"] == "memory.created"], len(asked)

    write(0, 2)
    _, few = backlog()
    write(2, 30, tags=["t" * 50])
    monkeypatch.setattr(events, "SHORT", 10)
    monkeypatch.setattr(events, "MOST_TOLD", 1000)
    keys, many = backlog()
    assert keys == [f"k{number}" for number in range(30)]
    assert few <= many <= few + 10


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_R65_a_stream_ends_with_the_reader_s_part_in_the_work(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said_so = iter([True, True, False])
    look = events.readable_agent
    answer = client.get("/api/v1/agents/a/subscribe", HTTP_X_API_KEY=building.key("acme", "agent", agents=("a",)))
    said = frames(answer, monkeypatch)
    assert b"connected" in next(said)
    monkeypatch.setattr(events, "readable_agent", lambda *given, now: look(*given, now=now) if next(said_so) else None)
    assert set(said) == {KEEPALIVE}
    answer.close()


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_R65_a_stream_ends_with_the_process(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = client.get("/api/v1/agents/a/subscribe", HTTP_X_API_KEY=building.key("acme", "agent", agents=("a",)))
    said = frames(answer, monkeypatch)
    next(said)
    ending = threading.Event()
    ending.set()
    monkeypatch.setattr(streams, "_ending", ending)
    assert set(said) <= {KEEPALIVE}
    answer.close()


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_R65_streams_of_both_protocols_have_one_bound(client: Any, settings: Settings) -> None:
    settings.OPENWOP_MAX_STREAMS = 1
    headers = {"HTTP_X_API_KEY": building.key("acme", "agent", agents=("a",))}
    first = client.get("/api/v1/agents/a/subscribe", **headers)
    late = client.get("/api/v1/agents/a/subscribe", **headers)
    assert (late.status_code, late.json()["error"], late["Retry-After"]) == (503, "BUSY", "5")
    first.close()
    again = client.get("/api/v1/agents/a/subscribe", **headers)
    assert again.status_code == 200
    again.close()
