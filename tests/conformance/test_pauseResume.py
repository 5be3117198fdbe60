"""``:pause`` and ``:resume`` (openwop-host 3.8)."""

import time

import pytest

from tests.conformance.conftest import Host


def test_it_is_advertised(host: Host) -> None:
    assert host.stranger.get("/.well-known/openwop").json()["runs"] == {
        "pauseResume": {"supported": True, "drainPolicies": ["immediate", "drain-current-node"]}
    }


@pytest.mark.engines
def test_a_run_is_paused_stays_so_and_goes_on_when_it_is_resumed(host: Host) -> None:
    with host.client() as client:
        body = {"workflowId": "conformance-delay", "inputs": {"delayMs": 700}}
        run_id = client.post("/v1/runs", json=body).json()["runId"]
        paused = client.post(f"/v1/runs/{run_id}:pause", json={"reason": "look first", "drainPolicy": "immediate"})
        assert (paused.status_code, paused.json()["status"]) == (202, "paused")
        again = client.post(f"/v1/runs/{run_id}:pause")
        assert again.status_code == 409
        assert again.json()["details"] == {"runStatus": "paused", "pausedAt": paused.json()["pausedAt"]}
        time.sleep(1.5)
        assert client.get(f"/v1/runs/{run_id}").json()["status"] == "paused"
        resumed = client.post(f"/v1/runs/{run_id}:resume")
        assert resumed.status_code == 202
        assert "resumedAt" in resumed.json()
        assert host.finished(client, run_id)["status"] == "completed"
        assert client.post(f"/v1/runs/{run_id}:resume").status_code == 409
        over = client.post(f"/v1/runs/{run_id}:pause")
        assert (over.status_code, over.json()["details"]["runStatus"]) == (409, "completed")


def test_a_draining_pause_completes_the_node_before_it_says_that_it_paused(host: Host) -> None:
    with host.client() as client:
        body = {"workflowId": "conformance-delay", "inputs": {"delayMs": 1200}}
        run_id = client.post("/v1/runs", json=body).json()["runId"]
        _until(host, run_id, "node.started")
        assert client.post(f"/v1/runs/{run_id}:pause", json={"drainPolicy": "drain-current-node"}).status_code == 202
        seen: list[tuple[str, list[str]]] = []
        while not seen or "run.paused" not in seen[-1][1]:
            status = client.get(f"/v1/runs/{run_id}").json()["status"]
            seen.append((status, [event["type"] for event in host.events(run_id)]))
            time.sleep(0.05)
        assert {status for status, types in seen[:-1] if "node.completed" not in types} == {"running"}
        assert seen[-1][1].index("node.completed") < seen[-1][1].index("run.paused")
        assert client.get(f"/v1/runs/{run_id}").json()["status"] == "paused"
        client.post(f"/v1/runs/{run_id}:resume")
        assert host.finished(client, run_id)["status"] == "completed"


def _until(host: Host, run_id: str, kind: str) -> list[str]:
    deadline = time.monotonic() + 10
    while kind not in (types := [event["type"] for event in host.events(run_id)]):
        assert time.monotonic() < deadline, types
        time.sleep(0.05)
    return types


def test_who_may_not_cancel_may_not_pause_and_a_foreign_run_is_not_there(host: Host) -> None:
    with host.client() as acme, host.client("acme/viewer") as viewer, host.client("globex/owner") as globex:
        run_id = acme.post("/v1/runs", json={"workflowId": "conformance-cancellable"}).json()["runId"]
        for verb in ("pause", "resume"):
            assert viewer.post(f"/v1/runs/{run_id}:{verb}").status_code == 403
            assert globex.post(f"/v1/runs/{run_id}:{verb}").status_code == 404
        assert acme.post(f"/v1/runs/{run_id}:pause", json={"drainPolicy": "never"}).status_code == 400
        acme.post(f"/v1/runs/{run_id}/cancel")
        assert host.finished(acme, run_id, seconds=5)["status"] == "cancelled"
