"""Runs that wait, as a client sees them."""

import time
from typing import Any

import httpx

from tests.conformance import schemas

WAITING = {"waiting-approval", "waiting-input", "waiting-external"}


def waiting(client: httpx.Client, workflow_id: str, seconds: float = 15) -> dict[str, Any]:
    """The snapshot of a fresh run of the workflow, once it waits."""
    created = client.post("/v1/runs", json={"workflowId": workflow_id})
    assert created.status_code == 201, created.text
    deadline = time.monotonic() + seconds
    while True:
        snapshot: dict[str, Any] = client.get(f"/v1/runs/{created.json()['runId']}").json()
        if snapshot["status"] in WAITING:
            schemas.check("run-snapshot", snapshot)
            return snapshot
        assert time.monotonic() < deadline, snapshot
        time.sleep(0.05)


def answer(client: httpx.Client, run_id: str, node_id: str, value: Any, **more: Any) -> httpx.Response:
    return client.post(f"/v1/runs/{run_id}/interrupts/{node_id}", json={"resumeValue": value, **more})


def refusal(response: httpx.Response) -> tuple[int, str]:
    """The status and the code of a refusal, which is in the envelope."""
    schemas.check("error-envelope", response.json())
    return response.status_code, response.json()["error"]


def asked(snapshot: dict[str, Any]) -> None:
    """What the snapshot says is asked is a suspend request of the contract."""
    interrupt = snapshot["interrupt"]
    request = {"kind": interrupt["kind"], "key": interrupt["key"], "data": interrupt["payload"]}
    schemas.check("suspend-request", request)
    assert (snapshot["currentNodeId"], snapshot["interrupts"][0]) == (interrupt["nodeId"], interrupt)
