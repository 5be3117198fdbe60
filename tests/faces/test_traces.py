"""The trace of a caller (W3C Trace Context) that its requests, its runs and its writes are part of."""

import json
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from memory.host.models import Run
from tests import building, serving

pytestmark = pytest.mark.django_db
TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACE = f"00-{TRACE_ID}-00f067aa0ba902b7-01"
OTHER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
ORIGIN = {"system": "langgraph", "threadId": "t-1", "node": "plan"}
CONSOLE, OPENINTENT = "/v1/host/console/memory", "/api/v1/memory"
PLACE = {"namespace": "ns", "key": "k", "memory_type": "episodic"}


class Caller:
    """A client with one key, whose requests name a trace."""

    def __init__(self, client: Client, traceparent: str) -> None:
        self.client, self.headers = client, building.headers() | {"HTTP_X_AGENT_ID": "bot"}
        self.traced = self.headers | {"HTTP_TRACEPARENT": traceparent}

    def send(self, method: str, path: str, body: Any, **headers: Any) -> Any:
        given = json.dumps(body)
        answer = self.client.generic(method, path, given, content_type="application/json", **self.traced, **headers)
        assert answer.status_code in (200, 201), answer.content
        return answer.json()

    def get(self, path: str) -> Any:
        return self.client.get(path, **self.headers).json()

    def write(self, door: str, origin: dict[str, Any]) -> str:
        """The id of an entry that was written through that door."""
        if door == "console":
            written = self.send("POST", CONSOLE, {"memoryRef": "notes", "content": "x", "origin": origin})
            return str(written["id"])
        if door == "mcp":
            given = {"name": "memory_write", "arguments": {"memoryRef": "notes", "content": "x", "origin": origin}}
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": given}
            answer = self.send("POST", "/mcp", call, HTTP_ACCEPT="application/json")
            return str(answer["result"]["structuredContent"]["id"])
        value = {"value": {"n": 1}, "origin": origin}
        if door in ("POST", "PUT"):
            return str(self.send(door, OPENINTENT, {**PLACE, **value})["id"])
        made = self.send("POST", OPENINTENT, {**PLACE, "value": {"n": 0}})["id"]
        return str(self.send("PATCH", f"{OPENINTENT}/{made}", value, HTTP_IF_MATCH="1")["id"])

    def origin_of(self, memory_id: str) -> Any:
        return self.get(f"{CONSOLE}/{memory_id}")["provenance"]["origin"]


def test_a_call_of_mcp_may_name_its_trace_by_itself(client: Client) -> None:
    caller = Caller(client, TRACE)
    given = {"name": "memory_write", "arguments": {"memoryRef": "notes", "content": "x", "origin": ORIGIN}}
    for meta, expected in (({"traceparent": OTHER}, OTHER), ({"traceparent": 7}, TRACE), ({}, TRACE)):
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**given, "_meta": meta}}
        answer = caller.send("POST", "/mcp", call, HTTP_ACCEPT="application/json")
        assert caller.origin_of(answer["result"]["structuredContent"]["id"])["traceparent"] == expected


def test_what_a_run_asks_of_others_is_part_of_the_trace_that_it_continues(client: Client, settings: Settings) -> None:
    settings.OPENWOP_OUTBOUND_ALLOW = ["127.0.0.1/32"]
    with serving.serving() as server:
        server.answers = serving.says({"ok": True})
        config = {"url": server.url, "method": "GET"}
        building.install("acme", building.definition("asks", building.node("ask", "core.http.request", config)))
        for caller in (Caller(client, TRACE), Caller(client, "nonsense")):
            run_id = caller.send("POST", "/v1/runs", {"workflowId": "asks"})["runId"]
            building.advance(Run.objects.get(id=building.id_of("run", run_id)))
    traced, plain = (asked.headers for asked in server.asked)
    version, trace_id, parent, flags = traced["traceparent"].split("-")
    assert (version, trace_id, flags) == ("00", TRACE_ID, "01")
    assert parent not in TRACE
    assert "traceparent" not in plain


DOORS = pytest.mark.parametrize("door", ["console", "mcp", "POST", "PUT", "PATCH"])


@DOORS
def test_a_write_is_part_of_the_trace_of_its_request_through_every_door(client: Client, door: str) -> None:
    caller = Caller(client, TRACE)
    assert caller.origin_of(caller.write(door, ORIGIN)) == {**ORIGIN, "traceparent": TRACE}


@DOORS
def test_the_trace_that_an_origin_states_stands(client: Client, door: str) -> None:
    caller, stated = Caller(client, TRACE), {**ORIGIN, "traceparent": OTHER}
    assert caller.origin_of(caller.write(door, stated)) == stated


@pytest.mark.parametrize("header", ["", "x", TRACE.upper(), f"ff{TRACE[2:]}", f"{TRACE}, {OTHER}", f" {TRACE}x"])
def test_a_malformed_header_is_ignored(client: Client, header: str) -> None:
    caller = Caller(client, header)
    assert caller.origin_of(caller.write("console", ORIGIN)) == ORIGIN
    run = caller.send("POST", "/v1/runs", {"workflowId": "conformance-noop"})
    assert "traceId" not in caller.get(f"/v1/runs/{run['runId']}")


def test_a_run_is_part_of_the_trace_of_its_request_and_so_is_one_of_an_agent_elsewhere(client: Client) -> None:
    caller = Caller(client, TRACE)
    run = caller.send("POST", "/v1/runs", {"workflowId": "conformance-noop"})["runId"]
    outside = caller.send("POST", "/v1/host/console/external-runs", {"system": "langgraph", "runId": "r"})["id"]
    for run_id in (run, outside):
        assert caller.get(f"/v1/runs/{run_id}")["traceId"] == TRACE_ID


def test_a_fork_is_part_of_the_trace_of_who_asked_for_it(client: Client) -> None:
    caller = Caller(client, TRACE)
    run = building.execute(building.scope(), "conformance-noop")
    body = {"mode": "branch", "fromSeq": 0}
    fork = caller.send("POST", f"/v1/runs/run_{run.id.hex}:fork", body)["runId"]
    assert caller.get(f"/v1/runs/{fork}")["traceId"] == TRACE_ID


def test_the_page_of_an_entry_shows_the_trace(client: Client) -> None:
    memory_id = Caller(client, TRACE).write("console", ORIGIN)
    client.force_login(building.operator())
    assert TRACE in client.get(f"/memory/{memory_id}").content.decode()
