"""Two replays of one run tell the same, word for word: type, node and payload of every event."""

import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.conformance.conftest import Host


def replayed(host: Host, client: httpx.Client, source: str, from_seq: int = 0) -> dict:
    made = client.post(f"/v1/runs/{source}:fork", json={"mode": "replay", "fromSeq": from_seq})
    assert made.status_code == 201, made.text
    return host.finished(client, made.json()["runId"])


def told(host: Host, run_id: str) -> list[tuple]:
    return [(event["type"], event.get("nodeId"), event["payload"]) for event in host.events(run_id)]


@pytest.mark.parametrize(
    "workflow_id",
    [
        "conformance-noop",
        "conformance-multi-node",
        "conformance-delay",
        "conformance-failure",
        "conformance-agent-memory-roundtrip",
        "conformance-agent-memory-redaction",
        "conformance-agent-memory-ttl",
    ],
)
def test_two_replays_and_their_source_are_deep_equal(host: Host, workflow_id: str) -> None:
    source = host.run(workflow_id)
    with host.client() as client:
        first, second = (replayed(host, client, source["runId"]) for _ in range(2))
    assert first["status"] == second["status"] == source["status"]
    assert told(host, first["runId"]) == told(host, second["runId"]) == told(host, source["runId"])
    assert first["variables"] == source["variables"]


@pytest.mark.console
def test_it_does_not_matter_from_where_a_replay_is_forked_or_how_many_go_at_once(host: Host) -> None:
    source = host.run("conformance-agent-memory-roundtrip")["runId"]
    expected = told(host, source)
    with host.client() as client, ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda seq: replayed(host, client, source, seq), range(len(expected) + 1)))
    assert all(told(host, snapshot["runId"]) == expected for snapshot in made)


def test_a_recorded_write_is_told_with_its_id_and_nothing_is_written(host: Host) -> None:
    source = host.run("conformance-agent-memory-roundtrip")
    with host.client() as client:
        ref = next(e["payload"] for e in host.events(source["runId"]) if e["type"] == "memory.written")["memoryRef"]
        query = {"memoryRef": ref, "limit": 1}
        before = client.get("/v1/host/console/memory", params=query).json()["total"]
        made = replayed(host, client, source["runId"])
        assert client.get("/v1/host/console/memory", params=query).json()["total"] == before
    assert made["variables"]["memoryReadback"] == source["variables"]["memoryReadback"]


def test_an_approval_is_told_with_its_ids_and_nobody_is_asked_again(host: Host) -> None:
    with host.client() as client:
        source = client.post("/v1/runs", json={"workflowId": "conformance-approval"}).json()["runId"]
        deadline = time.monotonic() + 15
        while (waiting := client.get(f"/v1/runs/{source}").json())["status"] != "waiting-approval":
            assert time.monotonic() < deadline, waiting
            time.sleep(0.05)
        answered = client.post(
            f"/v1/runs/{source}/interrupts/{waiting['currentNodeId']}", json={"resumeValue": {"action": "accept"}}
        )
        assert answered.status_code == 200, answered.text
        assert host.finished(client, source)["status"] == "completed"
        first, second = (replayed(host, client, source) for _ in range(2))
    assert first["status"] == "completed"
    assert told(host, first["runId"]) == told(host, second["runId"]) == told(host, source)
