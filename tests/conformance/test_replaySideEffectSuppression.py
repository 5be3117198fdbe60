"""``replay-side-effect-suppression``: a replay does not perform an effect, and fails closed where none is on record."""

from typing import Any

import httpx
import pytest

from tests.conformance import schemas
from tests.conformance.conftest import Host

EFFECTS: dict[str, str | int] = {"memoryRef": "conformance/effects", "limit": 1}


def acted(client: httpx.Client) -> int:
    return int(client.get("/v1/host/console/memory", params=EFFECTS).json()["total"])


def replay(host: Host, client: httpx.Client, run_id: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    made = client.post(f"/v1/runs/{run_id}:fork", json={"mode": "replay"})
    assert made.status_code == 201
    return host.finished(client, made.json()["runId"], seconds=45), host.events(made.json()["runId"])


@pytest.mark.parametrize("begun", [False, True])
def test_an_effect_that_the_cancelled_source_never_recorded_fails_closed(host: Host, begun: bool) -> None:
    with host.client() as client:
        body = {"workflowId": "conformance-replay-side-effect", "inputs": {"delayMs": 5000}}
        source = client.post("/v1/runs", json=body).json()["runId"]
        while begun and "node.started" not in [event["type"] for event in host.events(source)]:
            pass
        assert client.post(f"/v1/runs/{source}/cancel", json={}).status_code == 200
        host.finished(client, source)
        before = acted(client)
        _, events = replay(host, client, source)
        assert acted(client) == before
    of_effect = [event for event in events if event.get("nodeId") == "effect"]
    assert "node.completed" not in [event["type"] for event in of_effect]
    [failed] = [event for event in of_effect if event["type"] == "node.failed"]
    schemas.check_payload("nodeFailed", failed["payload"])
    assert failed["payload"]["error"]["code"] == "replay_source_missing"


def test_an_effect_that_completed_is_resolved_from_its_record_and_not_performed(host: Host) -> None:
    source = host.run("conformance-replay-side-effect")
    with host.client() as client:
        before = acted(client)
        made, events = replay(host, client, source["runId"])
        assert (made["status"], acted(client)) == ("completed", before)
    written = [event["payload"] for event in host.events(source["runId"]) if event["type"] == "memory.written"]
    assert written
    assert [event["payload"] for event in events if event["type"] == "memory.written"] == written


def test_a_branch_acts_again(host: Host) -> None:
    source = host.run("conformance-replay-side-effect")["runId"]
    with host.client() as client:
        before = acted(client)
        made = client.post(f"/v1/runs/{source}:fork", json={"mode": "branch", "fromSeq": 0}).json()
        assert host.finished(client, made["runId"])["status"] == "completed"
        assert acted(client) == before + 1
