"""OpenTelemetry: what a collector is told of requests, runs, models, tools and memory, and what it never is."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import transaction
from django.test import Client
from pytest_django.fixtures import Settings

from memory.host import event_log, ids, runs
from openwop_console import telemetry
from tests import building, collecting, serving
from tests.collecting import Collector, Span
from tests.fixtures_console import ConsoleProcess
from tests.memory.test_completions import AGENT, SEARCH, WRITE, point_at

pytestmark = pytest.mark.engines
TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
TRACE = f"00-{TRACE_ID}-{PARENT}-01"
CONSOLE = "/v1/host/console/memory"
SERVER, CLIENT = 2, 3
INVOKE, CHAT, NODE = "invoke_workflow chat", "chat small", "node core.ai.chatCompletion"
USE = f"execute_tool {WRITE}"


@pytest.fixture
def collector(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """One that this process tells of everything that it does."""
    with collecting.collecting() as found:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.url)
        monkeypatch.setattr(event_log, "_followers", [telemetry.follow])
        settings.MIDDLEWARE = [*settings.MIDDLEWARE[:-1], "openwop_console.telemetry.Requests", settings.MIDDLEWARE[-1]]
        settings.OPENWOP_OUTBOUND_ALLOW = ["127.0.0.1/32"]
        telemetry._sdk_of.cache_clear()
        yield found
        telemetry.sdk().close()
        telemetry._sdk_of.cache_clear()


def told(collector: Collector) -> dict[str, Span]:
    """The spans by their names; no two have one."""
    telemetry.sdk().flush()
    found = {span.name: span for span in collector.spans}
    assert len(found) == len(collector.spans), [span.name for span in collector.spans]
    return found


def post(client: Client, path: str, body: dict[str, Any], **headers: Any) -> Any:
    given = json.dumps(body)
    answer = client.post(path, given, content_type="application/json", **building.headers(), **headers)
    assert answer.status_code == 201, answer.content
    return answer.json()


def talk(client: Client, **headers: Any) -> str:
    """A run in which a model writes memory with a tool, asks for one that there is not, and answers."""
    building.install_agent("acme", {"agentId": AGENT, "toolAllowlist": [SEARCH, WRITE]})
    node = building.node("say", "core.ai.chatCompletion", {"prompt": "Greet the owl.", "tools": [WRITE]})
    node["agent"] = {"agentId": AGENT, "memoryRef": "helper/notes"}
    building.install("acme", building.definition("chat", node))
    with serving.serving() as model:
        point_at(model)
        model.answers = serving.one_by_one(
            serving.uses(("memory_write", {"content": "The owl was greeted"}), ("whistle_to_the_owl", {})),
            serving.streams("Good evening, owl."),
        )
        run_id = str(post(client, "/v1/runs", {"workflowId": "chat"}, **headers)["runId"])
        run = building.advance(runs.find(building.tenant().id, ids.parse("run", run_id)))
    assert run.status == "completed", run.error
    return run_id


@pytest.mark.django_db(transaction=True)
def test_the_trace_of_a_caller_goes_on_through_run_node_model_tool_and_write(
    client: Client, collector: Collector
) -> None:
    run_id = talk(client, HTTP_TRACEPARENT=TRACE)
    telemetry.sdk().flush()
    spans = collector.spans
    assert {span.trace_id for span in spans} == {TRACE_ID}
    [request] = collector.named("POST /v1/runs")
    [run] = collector.named(INVOKE)
    [node] = collector.named(NODE)
    [tool] = collector.named(USE)
    [write] = collector.named("memory.write")
    chats = collector.named("chat small") + collector.named("chat")
    assert (request.parent_id, request.kind, run.parent_id) == (PARENT, SERVER, PARENT)
    assert node.parent_id == run.span_id
    assert {each.parent_id for each in (*chats, tool, write)} == {node.span_id}
    assert {each.attributes["openwop.run.id"] for each in (run, node, tool, write, *chats)} == {run_id}
    assert [each.kind for each in chats] == [CLIENT, CLIENT]
    assert chats[0].attributes["gen_ai.operation.name"] == "chat"
    assert chats[0].attributes["gen_ai.usage.input_tokens"] > 0
    assert chats[0].attributes["gen_ai.usage.output_tokens"] > 0
    assert tool.attributes["gen_ai.tool.name"] == WRITE
    assert run.attributes["gen_ai.workflow.name"] == "chat"
    assert {span.name for span in spans if span.failed} == {"execute_tool unknown"}


@pytest.mark.django_db(transaction=True)
def test_no_text_leaves_and_the_metrics_have_names_alone(client: Client, collector: Collector) -> None:
    talk(client)
    origin = {"system": "langgraph", "threadId": "of-marta", "node": "feathered-node"}
    post(
        client, CONSOLE, {"memoryRef": "owls/marta", "content": "Tell no owl", "tags": ["feathered"], "origin": origin}
    )
    telemetry.sdk().flush()
    assert collector.named("execute_tool unknown")
    for text in (b"owl", b"feathered", b"marta", b"langgraph"):
        assert text not in collector.raw
    metrics = collector.metrics
    kinds = {point["gen_ai.token.type"] for point in metrics["gen_ai.client.token.usage"]}
    assert kinds == {"input", "output"}
    operations = {point["gen_ai.operation.name"] for point in metrics["gen_ai.client.operation.duration"]}
    assert operations == {"chat", "execute_tool"}
    assert {"openwop.run.status": "completed"} in metrics["openwop.runs"]
    assert "openwop.memory.writes" in metrics
    assert {point["http.route"] for point in metrics["http.server.request.duration"]} == {"/v1/runs", CONSOLE}


@pytest.mark.django_db(transaction=True)
def test_a_write_of_an_agent_elsewhere_is_part_of_its_request(client: Client, collector: Collector) -> None:
    origin = {"system": "langgraph", "runId": "r-1"}
    memory_id = post(client, CONSOLE, {"memoryRef": "notes", "content": "x", "origin": origin}, HTTP_TRACEPARENT=TRACE)[
        "id"
    ]
    spans = told(collector)
    request, write = spans[f"POST {CONSOLE}"], spans["memory.write"]
    assert (request.trace_id, request.parent_id, write.parent_id) == (TRACE_ID, PARENT, request.span_id)
    assert write.attributes["openwop.memory.id"] == memory_id
    assert request.attributes["http.response.status_code"] == 201


@pytest.mark.django_db(transaction=True)
def test_a_run_that_fails_says_its_code_and_one_of_nobodys_trace_is_its_own(collector: Collector) -> None:
    building.install("acme", building.definition("broken", building.node("ask", "core.http.request", BROKEN)))
    run = building.execute(building.scope(), "broken")
    spans = told(collector)
    whole, node = spans["invoke_workflow broken"], spans["node core.http.request"]
    assert (whole.trace_id, whole.parent_id, node.parent_id) == (run.id.hex, "", whole.span_id)
    assert (whole.failed, node.failed, node.attributes["error.type"]) == (True, True, "not_allowed")
    assert whole.attributes["openwop.run.status"] == "failed"


BROKEN = {"url": "http://10.1.2.3/", "method": "GET"}


@pytest.mark.django_db(transaction=True)
def test_what_is_rolled_back_is_not_told(collector: Collector) -> None:
    scope = building.scope()
    run = building.open_run(scope)
    with transaction.atomic():
        building.write(scope, run, "gone")
        transaction.set_rollback(True)
    kept = building.write(scope, run, "kept")
    assert told(collector)["memory.write"].attributes["openwop.memory.id"] == ids.wire("mem", kept.id)


@pytest.mark.django_db(transaction=True)
def test_a_caller_that_samples_nothing_is_told_of_nothing(client: Client, collector: Collector) -> None:
    talk(client, HTTP_TRACEPARENT=f"{TRACE[:-2]}00")
    assert told(collector) == {}


@pytest.mark.django_db(transaction=True)
def test_what_cannot_be_told_is_written_all_the_same(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "_RunRecorder", None)
    scope = building.scope()
    building.write(scope, building.open_run(scope), "kept")
    assert building.contents(scope) == ["kept"]
    assert told(collector) == {}


IS_ON = "from openwop_console import settings; print(settings.OPENWOP_TELEMETRY)"
SWITCH = """
import sys, django
django.setup()
from django.conf import settings
print(settings.OPENWOP_TELEMETRY, "opentelemetry.sdk" in sys.modules)
"""


@pytest.mark.only_db("sqlite")  # no statement is traced, and settings do not look at the engine
@pytest.mark.parametrize(
    ("script", "environment", "expected"),
    [
        (IS_ON, {}, "False"),
        (SWITCH, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, "True False"),
        (IS_ON, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"}, "False"),
    ],
)
def test_it_is_off_unless_a_collector_is_named_and_a_command_does_without_its_libraries(
    script: str, environment: dict[str, str], expected: str
) -> None:
    own = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    own |= {"DJANGO_SETTINGS_MODULE": "openwop_console.settings", "OPENWOP_ENV": "test"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=django_settings.BASE_DIR,
        env=own | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == expected


@pytest.mark.only_db("sqlite")
@pytest.mark.console
def test_web_and_worker_of_a_console_tell_one_trace(
    shared_console: ConsoleProcess, shared_collector: Collector
) -> None:
    with shared_console.client("acme-traced") as client:
        body = {"workflowId": "conformance-agent-memory-roundtrip"}
        answer = client.post("/v1/runs", json=body, headers={"traceparent": TRACE})
        assert answer.status_code == 201, answer.text
    name = "invoke_workflow conformance-agent-memory-roundtrip"
    trace = shared_collector.trace(TRACE_ID, "POST /v1/runs", name, "memory.write")
    [request], [run] = ([span for span in trace if span.name == each] for each in ("POST /v1/runs", name))
    assert request.process != run.process
    nodes = {span.span_id for span in trace if span.parent_id == run.span_id}
    assert {span.parent_id for span in trace if span.name == "memory.write"} <= nodes
