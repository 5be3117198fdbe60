"""``core.http.request``: what leaves this host, what comes of the answer, and what a worker's death leaves."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory.forget import execution
from memory.host import ids, runs, vault
from memory.host.errors import Invalid
from memory.host.models import Run
from memory.host.node_types import Call, Sending
from memory.models import KeptCall
from openwop_console.runtime import calls, engine, http_requests, node_execution, replay, run_operations
from openwop_console.runtime.calls import UnderWay
from openwop_console.runtime.models import Step
from openwop_console.runtime.node_execution import Position
from openwop_console.runtime.replay import ForkRequest
from openwop_console.runtime.run_operations import RunRequest
from tests import building, serving
from tests.building import log_of, types_of
from tests.serving import Server

pytestmark = pytest.mark.django_db
TOKEN = "token-of-the-crm-7d1f0a"


@pytest.fixture(autouse=True)
def server(settings: Settings) -> Iterator[Server]:
    settings.OPENWOP_OUTBOUND_ALLOW = ["127.0.0.1/32"]
    with serving.serving() as found:
        yield found


def install(config: dict[str, Any], *more: dict[str, Any], **options: Any) -> None:
    inputs = {name: building.from_input(name) for name in options.pop("inputs", ())}
    node = building.node("ask", "core.http.request", config, inputs=inputs, **options)
    building.install("acme", building.definition("asking", node, *more))


def executed(config: dict[str, Any], *, inputs: dict[str, Any] | None = None, **options: Any) -> Run:
    install(config, inputs=inputs or (), **options)
    return building.execute(building.scope(), "asking", **(inputs or {}))


def created() -> Run:
    return run_operations.create_run(building.scope(), RunRequest("asking"), now=timezone.now())


def outputs_of(run: Run, node_id: str = "ask") -> Any:
    return Step.objects.of(run.tenant_id).get(run_id=run.id, node_id=node_id).outputs


def test_a_request_carries_inputs_and_its_answer_is_for_the_nodes_behind_it(server: Server) -> None:
    server.answers = serving.says({"ticket": 7, "open": True})
    body = {"subject": "{{subject}}", "count": "{{count}}", "text": "{{count}} times"}
    config = {"url": f"{server.url}/tickets/{{{{subject}}}}?q={{{{subject}}}}", "method": "POST", "body": body}
    run = executed(config, inputs={"subject": "a/b & c", "count": 3})
    assert run.status == "completed", run.error
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/tickets/a%2Fb%20%26%20c?q=a%2Fb%20%26%20c")
    assert asked.json == {"subject": "a/b & c", "count": 3, "text": "3 times"}
    assert asked.headers["content-type"] == "application/json"
    assert outputs_of(run) == {
        "status": 200,
        "contentType": "application/json",
        "body": {"ticket": 7, "open": True},
    }


def test_the_log_has_ids_and_codes_and_readers_of_memory_the_texts(server: Server) -> None:
    server.answers = serving.says({"said": "the answer in words"})
    run = executed({"url": f"{server.url}/x", "method": "PUT", "body": "the question in words"})
    log = json.dumps([event.payload for event in log_of(run)])
    assert "in words" not in log
    sent, answered = (event for event in log_of(run) if event.type.startswith("console.call."))
    assert sent.payload == {
        "nodeId": "ask",
        "callId": answered.payload["callId"],
        "kind": "http.request",
        "attempt": 1,
    }
    assert answered.payload["code"] == "ok"
    assert answered.payload["durationMs"] >= 0
    told, _ = run_operations.read_events(building.scope(), run, after=-1)
    texts = {event.type: event.payload for event in told}
    assert texts["console.call.sent"]["request"]["body"] == "the question in words"
    assert texts["console.call.answered"]["answer"]["body"] == {"said": "the answer in words"}


@pytest.mark.engines
def test_a_secret_goes_out_by_its_name_and_comes_back_redacted(server: Server) -> None:
    vault.store_secret(building.tenant().id, "crm", TOKEN, now=timezone.now())
    server.answers = serving.says({"you": f"sent {TOKEN}"})
    run = executed({"url": server.url, "method": "GET", "headers": {"Authorization": {"secret": "crm"}}})
    assert server.asked[0].headers["authorization"] == TOKEN
    assert outputs_of(run)["body"] == {"you": "sent [REDACTED:crm]"}
    kept = KeptCall.objects.of(run.tenant_id).get()
    assert kept.request["headers"] == ["Authorization"]
    assert TOKEN not in json.dumps([kept.request, kept.answer, [event.payload for event in log_of(run)]])


def test_a_config_that_cannot_be_honoured_is_refused_by_field() -> None:
    for change, field in (
        ({"url": "ftp://crm.example/x"}, "config.url"),
        ({"url": "https://{{host}}/x"}, "config.url"),
        ({"url": "https://ada:secret@crm.example/x"}, "config.url"),
        ({"method": "TRACE"}, "config.method"),
        ({"retries": 3}, "config"),
        ({"headers": {"Authorization": "Bearer abc"}}, "config.headers.Authorization"),
        ({"headers": {"X-Other": {"secret": "crm", "value": "x"}}}, "config.headers['X-Other']"),
        ({"headers": {"Host": "elsewhere.example"}}, "config.headers.Host"),
        ({"headers": {"a\nb": "x"}}, "config.headers"),
        ({"body": "x"}, "config.body"),
    ):
        with pytest.raises(Invalid) as refused:
            install({"url": "https://crm.example/x", "method": "GET", **change})
        assert [each["field"] for each in refused.value.details["errors"]] == [f"$.nodes[0].{field}"], (change, field)


def failed(run: Run) -> Any:
    assert run.status == "failed"
    return next(event.payload["error"]["code"] for event in log_of(run) if event.type == "node.failed")


def test_an_answer_that_cannot_be_used_fails_the_node_with_its_code(server: Server) -> None:
    for answer, code in (
        (serving.answers(b"no", 404), "status"),
        (serving.answers(b"", 302, Location="/elsewhere"), "status"),
        (serving.answers(b"later", 503), "status"),
        (serving.answers(b"\x89PNG", Content_Type="image/png"), "type"),
        (serving.answers(b"{", Content_Type="application/json"), "malformed"),
        (serving.answers(b'{"a": "\\u0000"}', Content_Type="application/json"), "malformed"),
        (serving.answers(b"\xff", Content_Type="text/plain"), "malformed"),
        (serving.answers(b"x" * (http_requests.MAX_BYTES + 1), Content_Type="text/plain"), "too_large"),
        (serving.answers(b"x", Content_Type="text/plain", Content_Encoding="gzip"), "malformed"),
        (
            serving.answers(b"a" * 2**18 + b"-" + b"9z" * 2**18, Content_Type="text/plain; charset=punycode"),
            "malformed",
        ),
        (serving.answers(b"x", Content_Type="text/plain; charset=none-such"), "malformed"),
        (serving.answers(b"x", Content_Type='text/plain;"' + ";" * 50_000), "malformed"),
    ):
        with building.undone():
            server.answers = answer
            server.asked.clear()
            run = executed({"url": server.url, "method": "GET"})
            assert failed(run) == code, (answer, code)
            assert len(server.asked) == 1, (answer, code)
            answered = next(event for event in log_of(run) if event.type == "console.call.answered")
            assert answered.payload["code"] == code, (answer, code)


def test_an_address_that_is_not_listed_is_not_asked(server: Server, settings: Settings) -> None:
    settings.OPENWOP_OUTBOUND_ALLOW = []
    run = executed({"url": server.url, "method": "GET"}, settings={"maxRetries": 3, "retryDelayMs": 1})
    assert failed(run) == "not_allowed"
    assert "node.retried" not in types_of(run)
    assert server.asked == []


def test_what_would_be_sent_otherwise_than_it_is_said_is_not_sent(server: Server) -> None:
    vault.store_secret(building.tenant().id, "crm", "two\nlines-of-7d1f0a", now=timezone.now())
    there = {"url": f"{server.url}/{{{{who}}}}", "method": "GET"}
    for config, inputs, code in (
        (there, {"who": ".."}, "url_invalid"),
        (there | {"headers": {"Authorization": {"secret": "crm"}}}, {"who": "x"}, "header_invalid"),
        (there | {"method": "POST", "body": "{{who}}"}, {"who": "x" * (http_requests.MAX_BYTES + 1)}, "too_large"),
    ):
        with building.undone():
            assert failed(executed(config, inputs=inputs)) == code
    assert server.asked == []


def test_a_host_that_has_no_address_refuses(settings: Settings) -> None:
    settings.OPENWOP_OUTBOUND_ALLOW = ["*"]
    assert failed(executed({"url": f"http://{'a' * 64}.example/", "method": "GET"})) == "refused"


def test_a_port_where_nobody_listens_refuses() -> None:
    assert failed(executed({"url": "http://127.0.0.1:1/", "method": "GET"})) == "refused"


def test_a_server_that_hangs_is_left_when_the_time_of_the_node_is_up(server: Server) -> None:
    server.answers = lambda asked: asked.server.over.wait(5)  # type: ignore[attr-defined]
    began = time.monotonic()
    run = executed({"url": server.url, "method": "GET"}, settings={"timeout": 200})
    assert failed(run) == "timeout"
    assert time.monotonic() - began < 3


def test_a_failure_is_tried_again_as_the_node_says_each_attempt_under_its_own_key(server: Server) -> None:
    server.answers = serving.one_by_one(serving.answers(b"", 503), serving.says("at last"))
    install({"url": server.url, "method": "POST"}, settings={"maxRetries": 2, "retryDelayMs": 1000})
    run, now = created(), timezone.now()
    engine.advance(run.tenant_id, run.id, holder="test/1", clock=lambda: now)
    later = now + timedelta(minutes=1)
    engine.advance(run.tenant_id, run.id, holder="test/1", clock=lambda: later)
    assert runs.find(run.tenant_id, run.id).status == "completed"
    first, second = (asked.headers["idempotency-key"] for asked in server.asked)
    assert first != second
    assert [event.payload["attempt"] for event in log_of(run) if event.type == "console.call.sent"] == [1, 2]


@pytest.mark.engines
def test_a_worker_killed_during_the_call_leaves_it_to_be_sent_again_under_the_same_key(
    server: Server,
) -> None:
    install({"url": server.url, "method": "POST"}, building.remember_node("written once"))
    run = building.killed_at_answer(created())
    assert run.status == "completed"
    keys = [asked.headers["idempotency-key"] for asked in server.asked]
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert [call.state for call in KeptCall.objects.of(run.tenant_id).order_by("id")] == ["lost", "done"]
    assert building.contents(building.scope()) == ["written once"]
    assert types_of(run).count("node.started") == 2
    assert types_of(run).count("console.call.answered") == 1


def test_a_worker_that_lost_the_run_during_the_call_records_nothing(server: Server) -> None:
    install({"url": server.url, "method": "POST"})
    run, now = created(), timezone.now()
    later = runs.LEASE.end(now)

    def taken_over(under_way: Any, keep: Any) -> Any:
        assert runs.claim(run.tenant_id, run.id, holder="test/2", now=later)
        return made(under_way, keep)

    made = calls.make
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(calls, "make", taken_over)
        engine.advance(run.tenant_id, run.id, holder="test/1", clock=lambda: now)
    assert types_of(run)[-1] == "console.call.sent"
    at_last = runs.LEASE.end(later)
    engine.advance(run.tenant_id, run.id, holder="test/3", clock=lambda: at_last)
    assert runs.find(run.tenant_id, run.id).status == "completed"
    assert types_of(run).count("console.call.answered") == 1


def test_a_call_that_takes_long_renews_the_lease_and_ends_when_the_run_is_cancelled(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "RENEW_EVERY", 0.05)
    install({"url": server.url, "method": "POST"})
    run, ends = created(), []

    def cancelled(asked: BaseHTTPRequestHandler) -> None:
        asked.server.over.wait(5)  # type: ignore[attr-defined]

    def clock() -> Any:
        ends.append(runs.find(run.tenant_id, run.id).ready_at or run.created_at)
        if len(ends) == 8:
            run_operations.cancel_run(building.scope(), run.id, now=timezone.now())
        return timezone.now()

    server.answers = cancelled
    began = time.monotonic()
    engine.advance(run.tenant_id, run.id, holder="test/1", clock=clock)
    assert time.monotonic() - began < 3
    assert runs.find(run.tenant_id, run.id).status == "cancelled"
    assert ends[-1] > ends[2]
    assert types_of(run)[-2:] == ["node.cancelled", "run.cancelled"]


@pytest.mark.parametrize("others", [True, False], ids=["several tenants", "one tenant"])
def test_calls_of_one_tenant_leave_a_worker_to_the_others(
    server: Server, monkeypatch: pytest.MonkeyPatch, settings: Settings, others: bool
) -> None:
    settings.OPENWOP_WORKERS = 2
    monkeypatch.setattr(calls, "RENEW_EVERY", 0.05)
    if others:
        building.tenant("globex")
    install({"url": server.url, "method": "POST"})
    first, second, answered = created(), created(), threading.Event()
    found: list[Run] = []

    def slow(asked: BaseHTTPRequestHandler) -> None:
        answered.wait(5)

    server.answers = serving.one_by_one(slow, serving.answers(b"fine", Content_Type="text/plain"))

    def clock() -> Any:
        if server.asked and not found:
            engine.advance(second.tenant_id, second.id, holder="test/2", clock=timezone.now)
            found.append(runs.find(second.tenant_id, second.id))
            answered.set()
        return timezone.now()

    engine.advance(first.tenant_id, first.id, holder="test/1", clock=clock)
    assert len(found) == 1
    if others:
        assert (found[0].status, found[0].holder) == ("running", "")
        assert found[0].ready_at
        again = found[0].ready_at
        engine.advance(second.tenant_id, second.id, holder="test/2", clock=lambda: again)
    assert runs.find(second.tenant_id, second.id).status == "completed"
    assert types_of(second).count("console.call.sent") == 1


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_calls_of_one_tenant_that_begin_at_once_leave_a_worker_too(
    server: Server, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.OPENWOP_WORKERS = 3
    monkeypatch.setattr(calls, "SOONEST", timedelta(0))
    monkeypatch.setattr(calls, "LATEST", timedelta(0))
    building.tenant("globex")
    install({"url": server.url, "method": "POST"})
    ordered, executed, together = [created() for _ in range(3)], node_execution.execute, threading.Barrier(3)
    under_way, most = [], []

    def slowly(*given: Any) -> Any:
        """Behind the decision and before its commit, long enough for the others to decide as well."""
        with suppress(threading.BrokenBarrierError):
            together.wait(0.3)
        return executed(*given)

    def slow(asked: BaseHTTPRequestHandler) -> None:
        under_way.append(asked)
        most.append(len(under_way))
        time.sleep(0.2)
        under_way.remove(asked)
        serving.answers(b"fine", Content_Type="text/plain")(asked)

    def work(number: int) -> None:
        run = ordered[number]
        while runs.find(run.tenant_id, run.id).status != "completed":
            engine.advance(run.tenant_id, run.id, holder=f"test/{number}", clock=timezone.now)
        connection.close()

    monkeypatch.setattr(engine, "execute", slowly)
    server.answers = slow
    with ThreadPoolExecutor(3) as workers:
        list(workers.map(work, range(3)))
    assert max(most) <= 2
    assert len(server.asked) == 3


def test_a_run_that_has_called_for_long_is_handed_back_and_goes_on(server: Server) -> None:
    second = building.node("again", "core.http.request", {"url": server.url, "method": "GET"})
    install({"url": server.url, "method": "GET"}, second)
    run, now = created(), timezone.now()
    times = iter([now, now, now, now + 2 * calls.TURN])
    engine.advance(run.tenant_id, run.id, holder="test/1", clock=lambda: next(times, now + 3 * calls.TURN))
    waiting = runs.find(run.tenant_id, run.id)
    assert (waiting.status, waiting.holder, len(server.asked)) == ("running", "", 1)
    engine.advance(run.tenant_id, run.id, holder="test/2", clock=lambda: now + 4 * calls.TURN)
    assert (runs.find(run.tenant_id, run.id).status, len(server.asked)) == ("completed", 2)


def test_a_replay_tells_the_call_again_and_sends_nothing(server: Server) -> None:
    server.answers = serving.says({"said": "once"})
    run = executed({"url": server.url, "method": "POST", "body": "ask"})
    acme = building.scope()
    again = building.advance(replay.fork(acme, run.id, ForkRequest("replay"), now=timezone.now()))
    assert again.status == "completed", again.error
    assert len(server.asked) == 1
    assert outputs_of(again) == outputs_of(run)
    told, _ = run_operations.read_events(acme, again, after=-1)
    answered = next(event for event in told if event.type == "console.call.answered")
    assert answered.payload["answer"]["body"] == {"said": "once"}


def test_a_forget_reaches_what_was_asked_and_answered(server: Server) -> None:
    server.answers = serving.says({"name": "Marta Kowalska"})
    run = executed({"url": server.url, "method": "POST", "body": "who is marta.kowalska@example.com?"})
    acme, marta = building.scope(), "marta.kowalska@example.com"
    found = execution.preview(acme, [marta, "Marta Kowalska"], now=timezone.now())
    request = execution.confirm(acme, found.request.id, typed=marta, reason="x 17", ticked=set(), now=timezone.now())
    execution.execute(acme.tenant_id, request.id, holder="t/1", now=timezone.now(), clock=timezone.now)
    kept = KeptCall.objects.of(run.tenant_id).get()
    assert "arta" not in json.dumps([kept.request, kept.answer])


def test_an_agent_needs_the_tool_on_its_allowlist(server: Server) -> None:
    building.install_agent("acme", {"agentId": "private.acme.asker", "toolAllowlist": ["openwop:memory.read"]})
    config = {"url": server.url, "method": "GET"}
    assert failed(executed(config, agent={"agentId": "private.acme.asker"})) == "tool_not_allowed"
    building.install_agent(
        "acme", {"agentId": "private.acme.asker", "toolAllowlist": ["openwop:http.request"], "packVersion": "1.1.0"}
    )
    assert executed(config, agent={"agentId": "private.acme.asker"}).status == "completed"


def test_a_value_that_a_workflow_calls_sensitive_is_masked_for_readers(server: Server) -> None:
    node = building.node("ask", "core.http.request", {"url": server.url, "method": "POST", "body": "{{card}}"})
    node["inputs"] = {"card": building.from_input("card")}
    variables = [{"name": "card", "type": "string", "sensitive": True}]
    building.install("acme", building.definition("asking", node, variables=variables))
    run = building.execute(building.scope(), "asking", card="4111-2222")
    told, _ = run_operations.read_events(building.scope(), run, after=-1)
    sent = next(event for event in told if event.type == "console.call.sent")
    assert sent.payload["request"]["body"] == "[MASKED]"


def test_a_stream_that_was_not_read_to_its_end_is_closed_with_its_call() -> None:
    """It was closed by the collector after the loop was gone, which asyncio reported as an error for each of them."""
    closed, kept = [], []

    async def parts() -> AsyncIterator[str]:
        try:
            yield "one"
            yield "two"
        finally:
            await asyncio.sleep(0)
            closed.append(True)

    async def send(_: Sending) -> dict[str, Any]:
        kept.append(parts())
        return {"first": await anext(kept[0])}

    run = building.open_run(building.scope())
    position = Position(run, {"nodes": []}, "ask", {})
    under_way = UnderWay(position, ids.new_id(), Call("test", {}, send, 5.0), "key", 5.0)
    ended = calls.make(under_way, lambda: True)
    assert ended
    assert ended.answer == {"first": "one"}
    assert closed
