"""``conformance-noop`` and its kin: a run's life over the wire (openwop-host, section 3)."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conformance import schemas
from tests.conformance.conftest import Host

TERMINAL = {"run.completed", "run.failed", "run.cancelled"}


def test_a_noop_run_completes_within_ten_seconds(host: Host) -> None:
    with host.client() as client:
        created = client.post("/v1/runs", json={"workflowId": "conformance-noop", "inputs": {"extra": 1}})
        assert created.status_code == 201
        document = created.json()
        assert document["status"] in {"pending", "running"}
        assert document["eventsUrl"] == f"{host.url}/v1/runs/{document['runId']}/events"
        snapshot = host.finished(client, document["runId"], seconds=10)
    schemas.check("run-snapshot", snapshot)
    assert (snapshot["status"], snapshot["owner"]["tenant"]) == ("completed", "acme")


def test_every_event_is_valid_numbered_from_zero_and_the_terminal_one_is_last(host: Host) -> None:
    events = host.events(host.run("conformance-multi-node")["runId"])
    for event in events:
        schemas.check("run-event", event)
    assert [event["sequence"] for event in events] == list(range(len(events)))
    assert [event["type"] in TERMINAL for event in events] == [False] * (len(events) - 1) + [True]
    assert [e["nodeId"] for e in events if e["type"] == "node.completed"] == ["a", "b", "c"]
    assert len({event["eventId"] for event in events}) == len(events)


def test_poll_reads_on_from_a_sequence_and_answers_an_empty_page_past_the_end(host: Host) -> None:
    run_id = host.run("conformance-noop")["runId"]
    whole = host.events(run_id)
    with host.client() as client:

        def poll(**query: int) -> dict:
            return client.get(f"/v1/runs/{run_id}/events/poll", params=query).json()

        assert poll()["events"] == whole
        assert poll(lastSequence=0)["events"] == whole[1:]
        for last in (999, 2**63 - 1, 10**20):
            assert poll(lastSequence=last) == {"events": [], "isComplete": True}
        assert poll(lastSequence=0) == poll(lastSequence=0)


@pytest.mark.console
def test_poll_waits_for_the_next_event_and_no_longer(host: Host) -> None:
    with host.client() as client:
        body = {"workflowId": "conformance-delay", "inputs": {"delayMs": 1500}}
        run_id = client.post("/v1/runs", json=body).json()["runId"]
        seen, complete, last = [], False, -1
        while not complete:
            page = client.get(f"/v1/runs/{run_id}/events/poll", params={"lastSequence": last, "timeout": 20}).json()
            assert page["events"]
            seen += [event["type"] for event in page["events"]]
            last, complete = page["events"][-1]["sequence"], page["isComplete"]
    assert seen == ["run.started", "node.started", "node.completed", "run.completed"]


def test_a_failed_run_says_why_in_the_snapshot_and_on_the_log(host: Host) -> None:
    snapshot = host.run("conformance-failure")
    assert snapshot["status"] == "failed"
    assert snapshot["error"]["code"] == "node_failed"
    failed = next(event for event in host.events(snapshot["runId"]) if event["type"] == "node.failed")
    schemas.check_payload("nodeFailed", failed["payload"])
    assert failed["payload"]["error"] == snapshot["error"]


def test_a_waiting_run_is_cancelled_within_five_seconds_and_cancelling_again_changes_nothing(host: Host) -> None:
    with host.client() as client:
        run_id = client.post("/v1/runs", json={"workflowId": "conformance-cancellable"}).json()["runId"]
        time.sleep(0.5)
        asked = client.post(f"/v1/runs/{run_id}/cancel", json={"reason": "no longer needed"})
        assert asked.json() == {"runId": run_id, "status": "cancelling"}
        assert host.finished(client, run_id, seconds=5)["status"] == "cancelled"
        again = client.post(f"/v1/runs/{run_id}/cancel")
        assert (again.status_code, again.json()["status"]) == (200, "cancelled")


def test_a_run_that_is_cancelled_before_it_began_logs_that_alone(host: Host) -> None:
    with host.client() as client:
        run_id = client.post("/v1/runs", json={"workflowId": "conformance-noop"}).json()["runId"]
        assert client.post(f"/v1/runs/{run_id}/cancel", json={"reason": "not needed"}).status_code == 200
        assert host.finished(client, run_id)["status"] == "cancelled"
    [only] = host.events(run_id)
    assert (only["type"], only["sequence"]) == ("run.cancelled", 0)
    schemas.check_payload("runCancelled", only["payload"])


@pytest.mark.console
def test_twenty_runs_at_once_all_end_each_with_its_own_log(host: Host) -> None:
    with ThreadPoolExecutor(5) as pool:
        snapshots = list(pool.map(lambda _: host.run("conformance-agent-memory-roundtrip"), range(20)))
    assert {snapshot["status"] for snapshot in snapshots} == {"completed"}
    assert len({snapshot["variables"]["memoryReadback"]["id"] for snapshot in snapshots}) == 20


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "validation_error"),
        ({"workflowId": ""}, 400, "validation_error"),
        ({"workflowId": 7}, 400, "validation_error"),
        ({"workflowId": "nope"}, 404, "workflow_not_found"),
        ({"workflowId": "conformance-noop", "surprise": 1}, 400, "validation_error"),
        ({"workflowId": "conformance-noop", "inputs": []}, 400, "validation_error"),
        ({"workflowId": "conformance-noop", "agentId": 1234}, 400, "validation_error"),
        ({"workflowId": "conformance-noop", "tags": [7]}, 400, "validation_error"),
        ({"workflowId": "conformance-noop", "tags": [True]}, 400, "validation_error"),
        ({"workflowId": "conformance-noop", "tags": ["x" * 257]}, 400, "validation_error"),
        ({"workflowId": "conformance-noop", "tags": ["x"] * 101}, 400, "validation_error"),
        ({"workflowId": "conformance-noop", "tenantId": "globex"}, 403, "forbidden"),
    ],
)
def test_a_body_that_is_none_is_refused_in_the_envelope(host: Host, body: dict, status: int, code: str) -> None:
    with host.client() as client:
        refused = client.post("/v1/runs", json=body)
    assert (refused.status_code, refused.json()["error"]) == (status, code)
    schemas.check("error-envelope", refused.json())


def test_a_viewer_reads_and_does_not_create_or_cancel(host: Host) -> None:
    run_id = host.run("conformance-noop")["runId"]
    with host.client("acme/viewer") as viewer:
        assert viewer.get(f"/v1/runs/{run_id}").status_code == 200
        for refused, scope in [
            (viewer.post("/v1/runs", json={"workflowId": "conformance-noop"}), "runs:create"),
            (viewer.post(f"/v1/runs/{run_id}/cancel"), "runs:cancel"),
        ]:
            assert refused.status_code == 403
            assert refused.json()["details"]["requiredScope"] == scope
