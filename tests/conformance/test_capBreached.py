"""Limits that are advertised are enforced (openwop-host 3.2, 4.1)."""

from tests.conformance import schemas
from tests.conformance.conftest import Host

MOST_BYTES = 2 * 1024 * 1024


def limits(host: Host) -> dict[str, int]:
    found: dict[str, int] = host.stranger.get("/.well-known/openwop").json()["limits"]
    return found


def test_the_limits_are_advertised(host: Host) -> None:
    assert limits(host)["maxNodeExecutions"] == 1000
    assert limits(host)["maxRunDurationMs"] >= 1000
    assert "maxRequestBodyBytes" not in limits(host), "a workspace file may be larger than any other body"


def test_a_run_beyond_its_recursion_limit_fails_with_the_breach_on_its_log(host: Host) -> None:
    snapshot = host.run("conformance-multi-node", configurable={"recursionLimit": 2})
    assert snapshot["error"]["code"] == "recursion_limit_exceeded"
    breached = next(event for event in host.events(snapshot["runId"]) if event["type"] == "cap.breached")
    schemas.check_payload("capBreached", breached["payload"])
    assert (breached["payload"]["kind"], breached["payload"]["limit"]) == ("node-executions", 2)


def test_a_larger_limit_than_the_host_s_is_clamped_and_no_error(host: Host) -> None:
    assert host.run("conformance-multi-node", configurable={"recursionLimit": 10**9})["status"] == "completed"


def test_a_run_that_lasts_too_long_fails_with_the_breach_on_its_log(host: Host) -> None:
    snapshot = host.run("conformance-delay", inputs={"delayMs": 20_000}, configurable={"runTimeoutMs": 600})
    assert snapshot["error"]["code"] == "run_timeout"
    breached = next(event for event in host.events(snapshot["runId"]) if event["type"] == "cap.breached")
    assert breached["payload"]["kind"] == "run-duration"
    assert breached["payload"]["observed"] > breached["payload"]["limit"] == 600


def test_a_body_larger_than_the_limit_is_refused(host: Host) -> None:
    body = {"workflowId": "conformance-noop", "inputs": {"x": "a" * MOST_BYTES}}
    with host.client() as client:
        refused = client.post("/v1/runs", json=body)
    assert (refused.status_code, refused.json()["error"]) == (413, "payload_too_large")
