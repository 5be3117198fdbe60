"""``GET /v1/runs/{id}/events``: what each mode shows, and what is refused (openwop-host 3.6)."""

import httpx
import pytest

from tests import sse
from tests.conformance import schemas
from tests.conformance.conftest import Host

pytestmark = pytest.mark.console

MODES = ["values", "updates", "messages", "debug"]


def started(client: httpx.Client, workflow_id: str = "conformance-delay", **inputs: object) -> str:
    created = client.post("/v1/runs", json={"workflowId": workflow_id, "inputs": inputs})
    assert created.status_code == 201, created.text
    return str(created.json()["runId"])


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (None, ["run.started", "node.completed", "run.completed"]),
        ("updates", ["run.started", "node.completed", "run.completed"]),
        ("debug", ["run.started", "node.started", "node.completed", "run.completed"]),
        ("updates,messages,debug", ["run.started", "node.started", "node.completed", "run.completed"]),
        ("messages,updates", ["run.started", "node.completed", "run.completed"]),
        ("messages", ["run.completed"]),
    ],
)
def test_a_mode_shows_its_events_under_their_own_types_and_the_terminal_one_in_any_case(
    host: Host, mode: str | None, expected: list[str]
) -> None:
    with host.client() as client:
        run_id = started(client, delayMs=300)
        live = sse.read(client, run_id, **({"streamMode": mode} if mode else {}))
        later = sse.read(client, run_id, **({"streamMode": mode} if mode else {}))
    assert [frame.event for frame in live] == sse.types(live) == expected
    assert [frame.id for frame in live] == [frame.data["sequence"] for frame in live]
    assert [(frame.id, frame.data) for frame in later] == [(frame.id, frame.data) for frame in live]


def test_values_are_snapshots_of_the_run_one_first_and_one_after_every_change(host: Host) -> None:
    with host.client() as client:
        run_id = started(client, delayMs=600)
        found = sse.read(client, run_id, streamMode="values")
        final = client.get(f"/v1/runs/{run_id}").json()
        length = len(host.events(run_id))
    assert {frame.event for frame in found} == {"state.snapshot"}
    for frame in found:
        schemas.check("run-snapshot", frame.data)
    assert [frame.data["status"] for frame in found][-1] == "completed"
    assert found[0].data["status"] in {"pending", "running"}
    assert found[-1].data == final
    numbers = [frame.id for frame in found if frame.id is not None]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == length - 1


def test_a_resumed_reader_of_values_gets_a_snapshot_first_and_of_an_ended_run_nothing_it_has(host: Host) -> None:
    with host.client() as client:
        run_id = started(client, delayMs=1500)
        with sse.opened(client, run_id, streamMode="values", last=0) as answer:
            assert next(sse.frames(answer.iter_text())).event == "state.snapshot"
        last = sse.read(client, run_id, streamMode="values")[-1]
        assert [frame.id for frame in sse.read(client, run_id, streamMode="values", last=0)] == [last.id]
        assert sse.read(client, run_id, streamMode="values", last=last.id) == []


def test_a_stream_is_what_json_and_poll_tell_event_by_event(host: Host) -> None:
    run_id = host.run("conformance-multi-node")["runId"]
    with host.client() as client:
        streamed = [frame.data for frame in sse.read(client, run_id, streamMode="debug")]
        polled = client.get(f"/v1/runs/{run_id}/events/poll").json()
    assert streamed == host.events(run_id) == polled["events"]
    for event in streamed:
        schemas.check("run-event", event)


def test_a_write_to_memory_is_an_update(host: Host) -> None:
    run_id = host.run("conformance-agent-memory-roundtrip")["runId"]
    with host.client() as client:
        assert "memory.written" in sse.types(sse.read(client, run_id))


@pytest.mark.parametrize("mode", MODES)
def test_each_of_the_four_modes_is_accepted_and_gives_at_least_one_event(host: Host, mode: str) -> None:
    run_id = host.run("conformance-noop")["runId"]
    with host.client() as client:
        assert sse.read(client, run_id, streamMode=mode)


@pytest.mark.parametrize("accept", ["application/json", sse.STREAM, "*/*"])
@pytest.mark.parametrize("mode", ["bogus", "", "values,updates", "debug,values", "updates,bogus", "UPDATES"])
def test_a_mode_that_is_none_is_refused_for_every_caller_with_those_there_are(
    host: Host, mode: str, accept: str
) -> None:
    run_id = host.run("conformance-noop")["runId"]
    with host.client() as client:
        refused = client.get(f"/v1/runs/{run_id}/events", params={"streamMode": mode}, headers={"Accept": accept})
    assert (refused.status_code, refused.json()["error"]) == (400, "unsupported_stream_mode")
    assert refused.headers["Content-Type"] == "application/json"
    assert sorted(refused.json()["details"]["supported"]) == sorted(MODES)
    schemas.check("error-envelope", refused.json())


@pytest.mark.parametrize("accept", ["application/json", sse.STREAM])
@pytest.mark.parametrize("buffer", ["99999", "5001", "-1", "soon", "", "1.5"])
def test_a_buffer_time_that_is_none_is_refused_for_every_caller(host: Host, buffer: str, accept: str) -> None:
    run_id = host.run("conformance-noop")["runId"]
    with host.client() as client:
        refused = client.get(f"/v1/runs/{run_id}/events", params={"bufferMs": buffer}, headers={"Accept": accept})
    assert (refused.status_code, refused.json()["error"]) == (400, "validation_error")
    schemas.check("error-envelope", refused.json())


@pytest.mark.parametrize(
    ("accept", "answered"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("application/json, text/event-stream;q=0.5", "application/json"),
        ("text/html", "application/json"),
        ("text/event-stream", sse.STREAM),
        ("text/event-stream, */*", sse.STREAM),
        ("text/event-stream, application/json;q=0.9", sse.STREAM),
    ],
)
def test_a_stream_is_for_those_who_prefer_one(host: Host, accept: str | None, answered: str) -> None:
    run_id = host.run("conformance-noop")["runId"]
    with host.client() as client:
        client.headers.pop("Accept")
        answer = client.get(f"/v1/runs/{run_id}/events", headers={"Accept": accept} if accept else {})
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, answered)
    if answered == sse.STREAM:
        assert answer.headers["Cache-Control"] == "no-cache"
        assert answer.headers["X-Accel-Buffering"] == "no"
    else:
        assert answer.json()["isComplete"] is True


def test_a_stream_of_another_tenant_s_run_or_of_none_is_not_found_in_json(host: Host) -> None:
    foreign = host.run("conformance-noop", key="globex/owner")["runId"]
    with host.client() as client:
        for run_id in (foreign, "run_x", "run_" + "0" * 32):
            refused = client.get(f"/v1/runs/{run_id}/events", headers={"Accept": sse.STREAM})
            assert (refused.status_code, refused.json()["error"]) == (404, "not_found")
            schemas.check("error-envelope", refused.json())
