"""A run that fails says why, in the snapshot and on the log, in the same words (openwop-host 3.3, 3.4)."""

from tests.conformance import schemas
from tests.conformance.conftest import Host


def test_the_snapshot_of_a_failed_run_has_a_structured_error(host: Host) -> None:
    snapshot = host.run("conformance-failure")
    schemas.check("run-snapshot", snapshot)
    assert snapshot["status"] == "failed"
    assert set(snapshot["error"]) <= {"code", "message", "details"}
    assert snapshot["error"]["code"]
    assert snapshot["error"]["message"]
    assert snapshot["completedAt"] >= snapshot["startedAt"]
    assert snapshot["nodeStates"]["fail"]["status"] == "failed"


def test_the_log_ends_with_run_failed_and_the_node_that_failed(host: Host) -> None:
    snapshot = host.run("conformance-failure")
    last = host.events(snapshot["runId"])[-1]
    schemas.check_payload("runFailed", last["payload"])
    assert (last["type"], last["payload"]["failedNodeId"]) == ("run.failed", "fail")
    assert last["payload"]["error"] == snapshot["error"]
