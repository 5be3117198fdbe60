"""The client module of this project, over the published clients and over ``httpx`` alone."""

import inspect
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.test import Client
from openintent import AsyncOpenIntentClient, OpenIntentClient
from openintent.agents import _MemoryProxy
from openintent.exceptions import AuthenticationError, ConflictError, NotFoundError, OpenIntentError

import openwop_console_client as ours
from openwop_console_client import (
    MemoryAccessError,
    MemoryCapacityError,
    MemoryConflictError,
    MemoryInvalidError,
    MemoryNotFoundError,
    TaskClosedError,
    TaskMemory,
    flows,
)
from openwop_console_client.agents import ConsoleSession
from openwop_console_client.entries import Entry, Place, Versions
from openwop_console_client.langgraph import ConsoleStore
from tests.awaiting import awaited
from tests.openintent.conftest import Served


def client_of(served: Served, agent: str = "", **more: Any) -> Any:
    """The published client of a fresh agent, with a memory."""
    return ours.install(served.client(agent or served.agent(), **more))


def a_task(served: Served, agent: str, **more: Any) -> tuple[str, str]:
    """The ids of a fresh task of the agent, and of its intent."""
    with served.http("root", role="operator") as root:
        intent = root.post("/api/v1/intents", json={"title": "work", "description": ""}).json()["id"]
        given = {"intent_id": intent, "name": "t", "assigned_agent": agent, **more}
        answer = root.post("/api/v1/tasks", json=given)
        assert answer.status_code < 300, answer.text
        return answer.json()["id"], intent


def ended(served: Served, task_id: str) -> None:
    with served.http("root", role="operator") as root:
        version = root.get(f"/api/v1/tasks/{task_id}").json()["version"]
        done = root.patch(f"/api/v1/tasks/{task_id}", json={"status": "completed"}, headers={"If-Match": str(version)})
        assert done.status_code == 200, done.text


# --- the RFC's own samples -------------------------------------------------------------------------------------------


@pytest.mark.engines
def test_R107_the_sample_of_the_client_interface_runs_as_it_is_printed(served: Served) -> None:
    agent, shared = served.agent("billing"), served.agent("company_policies")
    with served.http("root", role="operator") as root:
        rule = {"agent_id": agent, "namespace": shared, "key": "charge_approval_threshold", "memory_type": "semantic"}
        assert root.post("/api/v1/memory", json={**rule, "value": {"threshold_usd": 10_000}}).status_code == 201

    with ours.Client(server_url=served.url, api_key=served.key("agent", agent)) as client:
        client.memory.set(
            namespace="invoice_processing",
            key="batch_progress",
            value={"total": 47, "completed": 23, "last_id": "inv_789"},
            memory_type="working",
            tags=["batch", "in-progress"],
        )
        progress = client.memory.get(namespace="invoice_processing", key="batch_progress")
        assert progress == {"total": 47, "completed": 23, "last_id": "inv_789"}

        entries = client.memory.query(namespace="invoice_processing", tags=["in-progress"], memory_type="working")
        assert [entry["key"] for entry in entries] == ["batch_progress"]
        assert entries.total == 1

        changed = client.memory.set(
            namespace="invoice_processing",
            key="batch_progress",
            value={"total": 47, "completed": 24, "last_id": "inv_790"},
            tags=["batch", "invoices", "in-progress"],
        )
        assert (changed.version, changed["tags"]) == (2, ["batch", "invoices", "in-progress"])

        policy = client.memory.get(namespace=shared, key="charge_approval_threshold")
        assert policy["threshold_usd"] == 10_000
        assert client.memory.agent_id == agent


@pytest.mark.engines
def test_R107_the_sample_of_a_worker_s_context_goes_on_where_it_stopped(served: Served) -> None:
    agent = served.agent("billing")
    task_id, intent_id = a_task(served, agent)
    invoices = [f"inv_{number}" for number in range(5)]

    def process_invoices(memory: TaskMemory, stop_at: int) -> str | None:
        progress = memory.get("invoice_processing", "batch_progress")
        start_from = progress["last_id"] if progress else None
        for index, invoice in enumerate(invoices):
            if start_from is not None and invoice <= start_from:
                continue
            if index == stop_at:
                break
            memory.set(
                "invoice_processing",
                "batch_progress",
                value={"completed": index, "last_id": invoice},
                tags=["batch", "in-progress"],
            )
        memory.set(
            "learned_patterns",
            "invoice_batch_size",
            value={"optimal_batch_size": 50, "reason": "API rate limits"},
            memory_type="episodic",
            tags=["performance", "optimization"],
        )
        return start_from

    with client_of(served, agent) as client:
        assert process_invoices(TaskMemory(client, task_id, intent_id), stop_at=3) is None
    with client_of(served, agent) as client:
        memory = client.memory.for_task(task_id, intent_id)
        assert process_invoices(memory, stop_at=5) == "inv_2"
        kept = memory.entry("invoice_processing", "batch_progress")
        assert (kept["scope"], kept.version) == ({"task_id": task_id, "intent_id": intent_id}, 5)
        assert kept.value == {"completed": 4, "last_id": "inv_4"}
        assert [each["key"] for each in memory.query(tags=["in-progress"])] == ["batch_progress"]
        ended(served, task_id)
        assert memory.get("invoice_processing", "batch_progress") is None
        assert memory.get("learned_patterns", "invoice_batch_size")["optimal_batch_size"] == 50
        with pytest.raises(TaskClosedError):
            memory.set("invoice_processing", "batch_progress", value={"completed": 9})


def test_R107_the_sample_of_error_handling_merges_and_goes_on(served: Served) -> None:
    agent = served.agent()
    with client_of(served, agent) as client, client_of(served, agent) as other:
        client.memory.set("ns", "key", value={"mine": 0})
        other.memory.set("ns", "key", value={"theirs": 1})
        my_value = {"mine": 2}
        with pytest.raises(MemoryConflictError) as raised:
            client.memory.set("ns", "key", value=my_value)
        problem = raised.value
        assert (problem.current_value, problem.current_version) == ({"theirs": 1}, 2)
        merged = {**(problem.current_value or {}), **my_value}
        client.memory.set("ns", "key", value=merged, version=problem.current_version)
        assert other.memory.get("ns", "key") == {"theirs": 1, "mine": 2}


def test_R107_a_full_task_says_how_full_it_is(served: Served) -> None:
    agent = served.agent()
    task_id, _ = a_task(served, agent, memory_policy={"max_entries": 2})
    with client_of(served, agent) as client:
        memory = client.memory.for_task(task_id)
        for key in ("a", "b"):
            memory.set("ns", key, {"n": 1})
        with pytest.raises(MemoryCapacityError) as raised:
            memory.set("ns", "c", {"n": 1})
        assert (raised.value.current_count, raised.value.max_capacity) == (2, 2)
        assert raised.value.status_code == 429
        memory.set("ns", "a", {"n": 2})


CALL = re.compile(r'self\._client\.(get|post|put|patch|delete)\(\s*f?"([^"]+)"')
PARAMETER = re.compile(r"\{[^}]+\}")


@pytest.mark.django_db
def test_the_document_lists_the_requests_of_the_published_client_that_are_served(client: Client) -> None:
    paths = client.get("/v1/openapi.json").json()["paths"]
    routes = {(method, PARAMETER.sub("{}", path)) for path, methods in paths.items() for method in methods}
    made = {
        (method, PARAMETER.sub("{}", path)): name
        for name, function in inspect.getmembers(OpenIntentClient, inspect.isfunction)
        for method, path in CALL.findall(inspect.getsource(function))
    }
    text = (Path(settings.BASE_DIR) / "docs/openintent.md").read_text()
    section = text.partition("## The published client")[2].partition("\n## ")[0]
    listed = re.findall(r"`([a-z_]+)`", section)
    assert sorted(listed) == sorted(name for call, name in made.items() if call in routes)
    assert f"Of the {len(made)} requests of `OpenIntentClient`, these {len(listed)} are served" in section


# --- versions --------------------------------------------------------------------------------------------------------


def test_R107_a_version_is_that_of_the_last_get_or_set(served: Served) -> None:
    agent = served.agent()
    with client_of(served, agent) as client, client_of(served, agent) as other:
        assert client.memory.set("ns", "key", {"n": 1}).version == 1
        assert client.memory.set("ns", "key", {"n": 2}).version == 2
        assert other.memory.get("ns", "key") == {"n": 2}
        assert other.memory.set("ns", "key", {"n": 3}).version == 3
        with pytest.raises(MemoryConflictError):
            client.memory.set("ns", "key", {"n": 4})
        with pytest.raises(MemoryConflictError):
            client.memory.set("ns", "key", {"n": 4})
        client.memory.get("ns", "key")
        assert client.memory.set("ns", "key", {"n": 4}).version == 4


def test_R107_set_makes_changes_and_makes_again(served: Served) -> None:
    agent = served.agent()
    with client_of(served, agent) as client, client_of(served, agent) as unseen:
        client.memory.set("ns", "key", {"n": 1}, tags=["kept"], priority="high", memory_type="episodic")
        changed = unseen.memory.set("ns", "key", {"n": 2})
        assert (changed.version, changed["tags"], changed["priority"]) == (2, ["kept"], "high")
        unseen.memory.delete("ns", "key")
        made = client.memory.set("ns", "key", {"n": 3}, memory_type="episodic")
        assert (made.version, made["memory_type"]) == (1, "episodic")
        with pytest.raises(MemoryConflictError, match="episodic"):
            unseen.memory.set("ns", "key", {"n": 4}, memory_type="working")
        with pytest.raises(MemoryNotFoundError):
            client.memory.set("ns", "none", {"n": 1}, version=3)


@pytest.mark.engines
def test_R107_what_is_not_there_is_none_and_cannot_be_deleted(served: Served) -> None:
    with client_of(served) as client:
        assert client.memory.get("ns", "none") is None
        with pytest.raises(MemoryNotFoundError):
            client.memory.delete("ns", "none")
        client.memory.set("ns*", "star", {"n": 1})
        client.memory.set("nsx", "star", {"n": 2})
        assert client.memory.get("ns*", "star") == {"n": 1}
        entry = client.memory.entry("nsx", "star")
        with pytest.raises(MemoryConflictError):
            client.memory.delete("nsx", "star", version=entry.version + 1)
        client.memory.delete("nsx", "star")
        assert client.memory.get("nsx", "star") is None


def test_R107_the_errors_are_kinds_of_the_published_ones(served: Served) -> None:
    with client_of(served) as client, served.http("root", role="operator") as root:
        shut = {"permissions": {"default": "none", "allow": []}}
        name = served.agent("closed")
        assert root.patch(f"/api/v1/memory/namespaces/{name}", json=shut).status_code == 200
        with pytest.raises(MemoryAccessError) as denied:
            client.memory.set(name, "key", {"n": 1}, memory_type="semantic")
        assert (denied.value.status_code, denied.value.response["error"]) == (403, "ACCESS_DENIED")
        with pytest.raises(MemoryInvalidError) as refused:
            client.memory.set("ns", "", {"n": 1})
        assert [each["field"] for each in refused.value.errors] == ["key"]
    for kind, parent in (
        (MemoryConflictError, ConflictError),
        (MemoryNotFoundError, NotFoundError),
        (MemoryCapacityError, OpenIntentError),
    ):
        assert issubclass(kind, parent)


def test_R107_a_shared_entry_that_was_read_is_changed_where_it_is(served: Served) -> None:
    name = served.agent("facts")
    with client_of(served) as client, client_of(served) as reader:
        client.memory.set(name, "fact", {"n": 1}, memory_type="semantic")
        assert client.memory.get(name, "fact") == {"n": 1}
        assert client.memory.set(name, "fact", {"n": 2})["memory_type"] == "semantic"
        assert reader.memory.get(name, "fact") == {"n": 2}
        with pytest.raises(MemoryAccessError):
            reader.memory.set(name, "fact", {"n": 3})


# --- a search ---------------------------------------------------------------------------------------------------------


@pytest.mark.engines
def test_a_query_with_words_finds_what_they_are_about_the_best_first(served: Served) -> None:
    with client_of(served) as client:
        client.memory.set("desk", "ask", {"text": "Refunds need the order number"}, tags=["rule"])
        client.memory.set("desk", "late", {"text": "A late refund is refunded with a voucher"}, memory_type="episodic")
        client.memory.set("desk", "noon", {"text": "The office closes at noon"})
        found = client.memory.query(q="refunding vouchers")
        assert ([each["key"] for each in found], found.total) == (["late", "ask"], 2)
        assert [each["key"] for each in client.memory.query("desk", q="refund", tags=["rule"])] == ["ask"]
        assert client.memory.query(q="zebra") == []
        for nothing in ("", " "):
            with pytest.raises(MemoryInvalidError) as refused:
                client.memory.query(q=nothing)
            assert [each["field"] for each in refused.value.errors] == ["q"]


@pytest.mark.engines
def test_a_query_with_a_filter_finds_what_has_these_fields(served: Served) -> None:
    with client_of(served) as client:
        client.memory.set("bills", "one", {"kind": "paid", "pages": 2, "text": "a refund"})
        client.memory.set("bills", "two", {"kind": "open", "pages": 5, "text": "a refund"})
        found = client.memory.query("bills", filter={"kind": "open", "pages": {"$gt": 2}})
        assert ([each["key"] for each in found], found.total) == (["two"], 1)
        assert [each["key"] for each in client.memory.query(q="refunds", filter={"kind": "paid"})] == ["one"]
        for nothing in ({}, {"pages": {"$near": 2}}):
            with pytest.raises(MemoryInvalidError) as refused:
                client.memory.query("bills", filter=nothing)
            assert [each["field"] for each in refused.value.errors] == ["filter"]


@pytest.mark.engines
def test_put_is_one_request_and_the_last_write_wins(served: Served) -> None:
    agent, requests = served.agent(), []
    with client_of(served, agent) as client, client_of(served, agent) as other:
        client._client.event_hooks["request"].append(lambda request: requests.append(request.method))
        first = client.memory.put("ns", "key", {"n": 1}, tags=["a"])
        other.memory.put("ns", "key", {"n": 2})
        third = client.memory.put("ns", "key", {"n": 3}, origin={"system": "cron", "node": "night", "step": "4"})
        assert (third.id, third.version, third.value, third["tags"]) == (first.id, 3, {"n": 3}, ["a"])
        assert requests == ["PUT", "PUT"]
        with pytest.raises(MemoryConflictError) as raised:
            client.memory.put("ns", "key", {"n": 4}, version=1)
        assert raised.value.current_value == {"n": 3}
        assert client.memory.set("ns", "key", {"n": 5}).version == 4  # at the version that put was told
        shared = client.memory.put("rules", "refunds", {"days": 14}, memory_type="semantic")
        assert shared.is_shared
    task_id, _ = a_task(served, agent)
    with client_of(served, agent) as client:
        assert client.memory.for_task(task_id).put("ns", "of_task", {"n": 1}).task_id == task_id


DOWN: dict[str, Any] = {"status_code": 503}
BUSY = DOWN | {"headers": {"Retry-After": "0"}}
STORED = {"status_code": 200, "json": {"id": "mem_1", "version": 2, "namespace": "ns", "key": "k", "value": {"n": 1}}}


@pytest.mark.parametrize("is_async", [False, True], ids=["synchronous", "asynchronous"])
@pytest.mark.parametrize(
    ("answers", "asked", "named"),
    [
        ([BUSY, BUSY, STORED], 3, {}),
        ([BUSY, BUSY, BUSY, STORED], 3, {}),
        ([BUSY, STORED], 1, {"version": 1}),
        ([DOWN, STORED], 1, {}),
    ],
    ids=["soon free", "busy", "at a version", "down"],
)
def test_put_is_sent_again_a_few_times_while_the_store_is_busy(
    answers: list[dict[str, Any]], asked: int, named: dict[str, Any], is_async: bool
) -> None:
    left = iter(answers)
    transport = httpx.MockTransport(lambda _: httpx.Response(**next(left)))

    async def put() -> Entry:
        async with httpx.AsyncClient(base_url="http://none", transport=transport) as http:
            return await ours.AsyncMemory(http, "a").put("ns", "k", {"n": 1}, **named)

    with (
        httpx.Client(base_url="http://none", transport=transport) as http,
        nullcontext() if answers[asked - 1] is STORED else pytest.raises(OpenIntentError, match="503"),
    ):
        awaited(put()) if is_async else ours.Memory(http, "a").put("ns", "k", {"n": 1}, **named)
    assert len(list(left)) == len(answers) - asked


REFUSED: dict[str, Any] = BUSY | {"json": {"error": "STORE_UNAVAILABLE", "message": "Try again."}}
LIMITED: dict[str, Any] = {"status_code": 429, "headers": {"Retry-After": "0"}, "json": {"error": "RATE_LIMITED"}}
LATER: dict[str, Any] = LIMITED | {"headers": {"Retry-After": "60"}}
GONE: dict[str, Any] = {"status_code": 200, "json": {"status": "deleted"}}
FOUND: dict[str, Any] = {"status_code": 200, "json": {"entries": [STORED["json"]], "total": 1}}
LOST = httpx.RemoteProtocolError("Server disconnected without sending a response.")


def over(answers: list[Any], sent: list[str]) -> httpx.MockTransport:
    """A server that answers so, one request after the other, or breaks the connection."""
    left = iter(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.method)
        found = next(left)
        if isinstance(found, Exception):
            raise found
        return httpx.Response(**found)

    return httpx.MockTransport(answer)


@pytest.mark.parametrize("is_async", [False, True], ids=["synchronous", "asynchronous"])
@pytest.mark.parametrize(
    ("answers", "methods", "wanted"),
    [
        ([REFUSED, STORED], ["POST"] * 2, ("set", {})),
        ([FOUND, REFUSED, STORED], ["GET", "PATCH", "PATCH"], ("set", {"version": 2})),
        ([REFUSED, STORED], ["PUT"] * 2, ("put", {"version": 1})),
        ([LIMITED, STORED], ["POST"] * 2, ("set", {})),
        ([FOUND, BUSY, GONE], ["GET", "DELETE", "DELETE"], ("delete", {})),
        ([LOST, LOST, FOUND], ["GET"] * 3, ("get", {})),
    ],
    ids=["made", "changed", "put at a version", "asked too often", "deleted", "read over a connection that broke"],
)
def test_what_changed_nothing_is_sent_again(
    answers: list[Any], methods: list[str], wanted: tuple[str, dict[str, Any]], is_async: bool
) -> None:
    sent: list[str] = []
    name, named = wanted
    given = [{"n": 1}] if name in {"set", "put"} else []
    transport = over(answers, sent)

    async def work() -> None:
        async with httpx.AsyncClient(base_url="http://none", transport=transport) as http:
            await getattr(ours.AsyncMemory(http, "a"), name)("ns", "k", *given, **named)

    with httpx.Client(base_url="http://none", transport=transport) as http:
        awaited(work()) if is_async else getattr(ours.Memory(http, "a"), name)("ns", "k", *given, **named)
    assert sent == methods


def test_a_server_that_is_busy_for_long_is_asked_again_after_a_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    monkeypatch.setattr(flows, "time", SimpleNamespace(sleep=waited.append))
    transport = over([DOWN | {"headers": {"Retry-After": "3600"}}, STORED], [])
    with httpx.Client(base_url="http://none", transport=transport) as http:
        ours.Memory(http, "a").put("ns", "k", {"n": 1})
    assert waited == [flows.LONGEST_WAIT]


@pytest.mark.parametrize(
    ("answer", "kind", "after"),
    [
        (BUSY, ours.MemoryUnavailableError, 0),
        (DOWN, ours.MemoryUnavailableError, None),
        (LATER, ours.MemoryUnavailableError, 60),
        ({"status_code": 401, "json": {"message": "No key."}}, AuthenticationError, None),
        (LOST, httpx.RemoteProtocolError, None),
    ],
    ids=["busy", "down", "asked too often", "no key", "lost"],
)
def test_a_refusal_says_when_to_try_again_and_what_is_not_safe_is_not_sent_again(
    answer: Any, kind: type[Exception], after: int | None
) -> None:
    sent: list[str] = []
    with (
        httpx.Client(base_url="http://none", transport=over([answer], sent)) as http,
        pytest.raises(kind) as raised,
    ):
        ours.Memory(http, "a").set("ns", "k", {"n": 1})
    assert (sent, getattr(raised.value, "retry_after", None)) == (["POST"], after)


def test_the_message_of_what_was_refused_says_the_field_and_why(served: Served) -> None:
    with client_of(served) as client:
        with pytest.raises(MemoryInvalidError, match=r"not valid\. key: .*(empty|blank)"):
            client.memory.set("ns", "", {"n": 1})
        with pytest.raises(MemoryInvalidError) as refused:
            client.memory.set("ns", "k", {"n": "a\0b"})
    assert str(refused.value).count("NUL") == 1


@pytest.mark.parametrize("agent_id", ["Bjørn", "two\nlines", " desk", "x" * 129])
@pytest.mark.parametrize("kind", [ours.Client, ours.AsyncClient, ConsoleStore, partial(ConsoleSession, "talk")])
def test_an_agent_that_no_header_can_name_is_refused_with_the_rule(kind: Any, agent_id: str) -> None:
    with pytest.raises(ValueError, match="agent_id must be 1 to 128 printable characters of ASCII"):
        kind("http://none", "key", agent_id=agent_id)
    with pytest.raises(ValueError, match="api_key must be printable characters of ASCII"):
        kind("http://none", "kéy")


def test_the_words_of_a_query_are_looked_for_in_the_task_of_a_worker(served: Served) -> None:
    agent = served.agent()
    task_id, _ = a_task(served, agent)
    with client_of(served, agent) as client:
        client.memory.set("ns", "outside", {"text": "refund"})
        memory = client.memory.for_task(task_id)
        memory.set("ns", "inside", {"text": "refund"})
        assert [each["key"] for each in memory.query(q="refunds")] == ["inside"]


@pytest.mark.parametrize("known", [{"json": {"capabilities": ["memory", "memory-query"]}}, {"status_code": 404}])
@pytest.mark.parametrize("wanted", [{"q": "refund"}, {"filter": {"done": True}}])
def test_a_server_that_would_ignore_the_words_is_not_asked(known: dict[str, Any], wanted: dict[str, Any]) -> None:
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(**{"status_code": 200, **known})

    with (
        httpx.Client(base_url="http://none", transport=httpx.MockTransport(answer)) as http,
        pytest.raises(MemoryInvalidError, match=f"would ignore {next(iter(wanted))}"),
    ):
        ours.Memory(http, "a").query(**wanted)
    assert asked == ["/.well-known/openintent.json"]


def test_a_word_that_a_query_does_not_know_is_refused_before_any_request() -> None:
    def down(request: httpx.Request) -> httpx.Response:
        raise AssertionError(request.url)

    with httpx.Client(base_url="http://none", transport=httpx.MockTransport(down)) as http:
        for unknown in ({"search": "refund"}, {"query": "refund"}, {"task_id": "t"}, {"filters": {"a": 1}}):
            with pytest.raises(TypeError, match=next(iter(unknown))):
                ours.Memory(http, "a").query("ns", **unknown)

    async def ask() -> None:
        async with httpx.AsyncClient(base_url="http://none", transport=httpx.MockTransport(down)) as http:
            await ours.AsyncMemory(http, "a").query(search="refund")

    with pytest.raises(TypeError, match="search"):
        awaited(ask())


# --- tasks -----------------------------------------------------------------------------------------------------------


@pytest.mark.engines
def test_R107_a_replacement_reads_what_was_left_and_writes_its_own(served: Served) -> None:
    first, second = served.agent(), served.agent()
    task_id, intent_id = a_task(served, first)
    with client_of(served, first) as client:
        client.memory.for_task(task_id, intent_id).set("invoices", "progress", {"last_id": "inv_7"})
    with served.http("root", role="operator") as root:
        version = root.get(f"/api/v1/tasks/{task_id}").json()["version"]
        given = {"status": "running", "assigned_agent": second}
        moved = root.patch(f"/api/v1/tasks/{task_id}", json=given, headers={"If-Match": str(version)})
        assert moved.status_code == 200, moved.text
    with client_of(served, second) as client:
        memory = client.memory.for_task(task_id, intent_id)
        left = memory.entry("invoices", "progress")
        assert (left["agent_id"], left.value) == (first, {"last_id": "inv_7"})
        made = memory.set("invoices", "progress", {"last_id": "inv_8", "resumed_from": left.id})
        assert (made["agent_id"], made.version) == (second, 1)
        assert memory.get("invoices", "progress")["last_id"] == "inv_8"
        assert {each["agent_id"] for each in memory.query(namespace="invoices")} == {first, second}


def test_R107_two_tasks_of_one_agent_do_not_write_over_each_other(served: Served) -> None:
    agent = served.agent()
    (one, _), (two, _) = a_task(served, agent), a_task(served, agent)
    with client_of(served, agent) as client:
        first, second = client.memory.for_task(one), client.memory.for_task(two)
        first.set("ns", "key", {"of": 1})
        assert second.get("ns", "key") is None
        with pytest.raises(MemoryConflictError, match="another task"):
            second.set("ns", "key", {"of": 2})
        assert first.get("ns", "key") == {"of": 1}


def test_R107_the_task_is_inferred_from_what_is_being_executed(served: Served) -> None:
    agent = served.agent()
    task_id, intent_id = a_task(served, agent)
    with client_of(served, agent) as client:
        with ours.current_task(task_id, intent_id):
            inside = client.memory.set("ns", "in", {"n": 1})
        outside = client.memory.set("ns", "out", {"n": 1})
    assert inside["scope"] == {"task_id": task_id, "intent_id": intent_id}
    assert not outside["scope"]


# --- over the asynchronous client, and for the published agents ------------------------------------------------------


@pytest.mark.console
def test_R107_the_asynchronous_client_does_the_same(served: Served) -> None:
    agent = served.agent()
    task_id, _ = a_task(served, agent)

    async def work() -> None:
        async with served.async_client(agent) as plain, ours.AsyncClient(served.url, served.key(), agent) as other:
            client: Any = ours.install(plain)
            await client.memory.set("ns", "key", {"n": 1}, tags=["a"])
            assert await other.memory.get("ns", "key") == {"n": 1}
            await other.memory.set("ns", "key", {"n": 2})
            with pytest.raises(MemoryConflictError) as raised:
                await client.memory.set("ns", "key", {"n": 3})
            assert raised.value.current_value == {"n": 2}
            await client.memory.set("ns", "key", {"n": 3}, version=raised.value.current_version)
            memory = client.memory.for_task(task_id)
            await memory.set("task_ns", "key", {"n": 4})
            assert [each.task_id for each in await memory.query()] == [task_id]
            assert [each.value for each in await client.memory.query("ns", tags=["a"])] == [{"n": 3}]
            await client.memory.set("ns", "found", {"text": "a wombat"})
            assert [each["key"] for each in await client.memory.query("ns", q="wombats")] == ["found"]
            await client.memory.delete("ns", "key")
            assert await client.memory.get("ns", "key") is None

    awaited(work())


@pytest.mark.console
def test_R107_an_agent_of_the_published_package_has_a_memory_that_works(served: Served) -> None:
    agent = served.agent()

    async def work() -> None:
        async with served.async_client(agent) as plain:
            client: Any = ours.install(plain)
            memory = _MemoryProxy(client, agent)
            await memory.store("greeting", "hello", tags=["words"])
            await memory.store("greeting", {"text": "hello again"}, tags=["words"])
            (found,) = await memory.recall(tags=["words"])
            assert (found.get("key"), found.get("value")) == ("greeting", {"text": "hello again"})
            assert (found["namespace"], found["memory_type"]) == ("default", "episodic")
            await memory.pin("greeting")
            assert (await memory.recall(key="greeting"))[0]["pinned"] is True
            await memory.forget("greeting")
            assert await memory.recall() == []
            with pytest.raises(MemoryNotFoundError):
                await memory.pin("greeting")

    awaited(work())


def test_R107_a_named_namespace_of_an_agent_is_found_again_by_key(served: Served) -> None:
    agent = served.agent()
    with client_of(served, agent) as client:
        client.memory.store(key="k", value="hi", namespace="notes", agent_id=agent)
        assert client.memory.pin(key="k", agent_id=agent)["pinned"] is True
        client.memory.store(key="k", value="hi", namespace="more", agent_id=agent)
        with pytest.raises(ValueError, match="which namespace"):
            client.memory.delete(key="k", agent_id=agent)
        client.memory.store(key="k", value="hi", agent_id=agent)
        client.memory.delete(key="k", agent_id=agent)
        assert {each["namespace"] for each in client.memory.query(memory_type="episodic")} == {"notes", "more"}


# --- attaching, and threads ------------------------------------------------------------------------------------------


def test_R107_only_the_client_that_was_given_one_has_a_memory(served: Served) -> None:
    class Mixed(ours.WithMemory, OpenIntentClient):  # type: ignore[misc]
        pass

    class Twined(ours.WithAsyncMemory, AsyncOpenIntentClient):  # type: ignore[misc]
        pass

    key = served.key()
    with (
        client_of(served) as client,
        OpenIntentClient(served.url, key, "x") as other,
        Mixed(served.url, key, "y") as own,
    ):
        assert client.memory is ours.install(client).memory
        assert not hasattr(other, "memory")
        assert not hasattr(OpenIntentClient, "memory")
        assert (own.memory.agent_id, own.memory.get("ns", "none")) == ("y", None)
    twined = Twined(served.url, key, "z")
    assert isinstance(twined.memory, ours.AsyncMemory)
    awaited(twined.close())


@pytest.mark.console
def test_R107_many_threads_count_through_one_client_and_lose_nothing(served: Served) -> None:
    agent, errors = served.agent(), 0
    guard = threading.Lock()

    def add(client: Any) -> None:
        nonlocal errors
        while True:
            entry = client.memory.entry("ns", "count")
            try:
                client.memory.set("ns", "count", {"n": entry.value["n"] + 1}, version=entry.version)
            except MemoryConflictError:
                with guard:
                    errors += 1
            else:
                return

    with client_of(served, agent) as client:
        client.memory.set("ns", "count", {"n": 0})
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(add, [client] * 12))
        assert client.memory.get("ns", "count") == {"n": 12}
        assert client.memory.entry("ns", "count").version == 13


def test_the_versions_that_are_tracked_are_bounded_and_never_go_back() -> None:
    versions = Versions(most=3)
    for number in range(10):
        entry = Entry(id=f"mem_{number}", version=2, memory_type="working")
        versions.note(Place("a", "ns", str(number)), entry)
    assert len(versions) == 3
    place = Place("a", "ns", "9")
    versions.note(place, Entry(id="mem_9", version=1))
    assert versions.seen(place).version == 2
    versions.note(place, Entry(id="mem_new", version=1))
    assert versions.seen(place).version == 1
    versions.forget(place, "mem_9")
    assert versions.seen(place)
    versions.forget(place, "mem_new")
    assert versions.seen(place) is None


def test_an_answer_that_is_no_json_is_an_error_with_its_status() -> None:
    def down(_: httpx.Request) -> httpx.Response:
        return httpx.Response(502, text="<html>")

    with httpx.Client(base_url="http://none", transport=httpx.MockTransport(down)) as http:
        memory = ours.Memory(http, "a")
        with pytest.raises(OpenIntentError) as raised:
            memory.get("ns", "key")
        assert raised.value.status_code == 502


def test_R107_without_the_published_client_it_stands_on_httpx_alone() -> None:
    program = """
import sys
sys.modules["openintent"] = None
import openwop_console_client as ours
from openwop_console_client.errors import OpenIntentError
assert OpenIntentError.__module__ == "openwop_console_client.standing_in"
error = ours.MemoryConflictError("x", current={"value": {"n": 1}}, current_version=3, status_code=409)
assert (error.current_value, error.current_version, error.status_code) == ({"n": 1}, 3, 409)
with ours.Client("http://127.0.0.1:1", "key") as client:
    assert client.memory.agent_id == ""
"""
    words = [sys.executable, "-c", program]
    environment = {"PYTHONPATH": str(Path(settings.BASE_DIR) / "client")}
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_an_address_that_is_no_console_is_named_in_the_error() -> None:
    elsewhere = httpx.MockTransport(lambda _: httpx.Response(404, text="<h1>Not found</h1>"))
    with (
        httpx.Client(base_url="http://host.test/mcp", transport=elsewhere) as http,
        pytest.raises(MemoryNotFoundError) as told,
    ):
        ours.Memory(http, "desk").put("notes", "owl", {})
    assert str(told.value) == "http://host.test/mcp/api/v1/memory answered 404, as no console does; is it one?"
