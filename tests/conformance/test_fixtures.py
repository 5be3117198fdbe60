"""``identity``, ``cap-breach`` and ``runtime-capabilities``: the fixtures that witness them, and what is advertised."""

import re

from tests.conformance import asking, schemas
from tests.conformance.conftest import Host

FIXTURES = ("conformance-identity", "conformance-cap-breach", "conformance-capability-missing")


def test_the_fixtures_are_advertised(host: Host) -> None:
    assert set(FIXTURES) <= set(host.stranger.get("/.well-known/openwop").json()["fixtures"])


NODES = {
    "conformance-identity": ["core.identity"],
    "conformance-cap-breach": ["core.noop"] * 10,
    "conformance-capability-missing": ["conformance.requiresMissing"],
    "conformance-replay-side-effect": ["core.delay", "vendor.console.effect"],
}


def test_the_fixtures_are_made_of_the_nodes_of_the_scenarios(host: Host) -> None:
    with host.client() as client:
        for fixture, types in NODES.items():
            document = client.get(f"/v1/workflows/{fixture}").json()
            assert [node["typeId"] for node in document["nodes"]] == types, fixture


def test_a_payload_comes_back_deep_equal(host: Host) -> None:
    payload = {"text": "h\u00e9llo", "number": 1.5, "none": None, "nested": {"list": [1, "two", {"three": True}]}}
    snapshot = host.run("conformance-identity", inputs={"payload": payload})
    assert (snapshot["status"], snapshot["variables"]["payload"]) == ("completed", payload)


def test_a_run_without_the_required_payload_is_refused(host: Host) -> None:
    with host.client() as client:
        refused = client.post("/v1/runs", json={"workflowId": "conformance-identity"})
    assert (refused.status_code, refused.json()["error"]) == (400, "validation_error")


def test_ten_nodes_breach_a_recursion_limit_of_five_before_the_sixth_starts(host: Host) -> None:
    snapshot = host.run("conformance-cap-breach", configurable={"recursionLimit": 5})
    assert (snapshot["status"], snapshot["error"]["code"]) == ("failed", "recursion_limit_exceeded")
    events = host.events(snapshot["runId"])
    [breached] = [event for event in events if event["type"] == "cap.breached"]
    payload = breached["payload"]
    assert (payload["kind"], payload["limit"], payload["observed"]) == ("node-executions", 5, 6)
    assert isinstance(payload["nodeId"], str)
    assert breached["sequence"] < next(event["sequence"] for event in events if event["type"] == "run.failed")
    assert sum(event["type"] == "node.started" for event in events) == 5


def test_ten_nodes_complete_without_a_limit(host: Host) -> None:
    assert host.run("conformance-cap-breach")["status"] == "completed"


def test_a_node_whose_requirement_is_not_provided_is_not_executed_and_fails_the_run(host: Host) -> None:
    snapshot = host.run("conformance-capability-missing")
    assert (snapshot["status"], snapshot["error"]["code"]) == ("failed", "capability_not_provided")
    assert "conformance.never-provided" in snapshot["error"]["message"]
    types = [event["type"] for event in host.events(snapshot["runId"])]
    assert types[-2:] == ["node.failed", "run.failed"]


def test_every_run_document_says_the_version_of_its_log_and_of_the_engine(host: Host) -> None:
    """Ended, failed, waiting, of a fork, and of an agent that runs elsewhere."""
    ended = host.run("conformance-noop")["runId"]
    with host.client() as client:
        elsewhere = client.post("/v1/host/console/external-runs", json={"system": "langgraph", "runId": "run-1"})
        found = [ended, host.run("conformance-failure")["runId"], elsewhere.json()["id"]]
        found.append(asking.waiting(client, "conformance-approval")["runId"])
        for mode in ("replay", "branch"):
            body = {"mode": mode, "fromSeq": 0}
            found.append(client.post(f"/v1/runs/{ended}:fork", json=body).json()["runId"])
        for run_id in found:
            snapshot = client.get(f"/v1/runs/{run_id}").json()
            schemas.check("run-snapshot", snapshot)
            assert snapshot["eventLogSchemaVersion"] == 2
            assert re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?", snapshot["engineVersion"])


def test_secrets_are_advertised_with_who_resolves_them(host: Host) -> None:
    found = host.stranger.get("/.well-known/openwop").json()["secrets"]
    assert found == {"supported": True, "scopes": ["tenant", "user", "run"], "resolution": "host-managed"}
