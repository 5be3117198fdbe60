"""``conformance-approval``: a gate that somebody accepts or rejects (openwop-host 3.8 and 3.9)."""

import pytest

from tests.conformance import schemas
from tests.conformance.asking import answer, asked, refusal, waiting
from tests.conformance.conftest import Host

ACCEPT = {"action": "accept"}


def test_an_accepted_run_completes_and_the_log_says_what_happened(host: Host) -> None:
    with host.client() as client:
        snapshot = waiting(client, "conformance-approval")
        assert (snapshot["status"], snapshot["currentNodeId"]) == ("waiting-approval", "gate")
        asked(snapshot)
        run_id = snapshot["runId"]
        resolved = answer(client, run_id, "gate", ACCEPT)
        assert resolved.status_code == 200
        assert set(resolved.json()) == {"runId", "nodeId", "status"}
        assert host.finished(client, run_id)["status"] == "completed"
    events = host.events(run_id)
    kinds = [event["type"] for event in events]
    story = ["interrupt.requested", "node.suspended", "approval.received", "interrupt.resolved", "node.resumed"]
    assert [kind for kind in kinds if kind in story] == story
    for event in events:
        schemas.check("run-event", event)
    payloads = {event["type"]: event["payload"] for event in events}
    for definition, kind in [
        ("nodeSuspended", "node.suspended"),
        ("nodeResumed", "node.resumed"),
        ("interruptResolved", "interrupt.resolved"),
        ("approvalReceived", "approval.received"),
    ]:
        schemas.check_payload(definition, payloads[kind])
    schemas.check("suspend-request", {name: payloads["interrupt.requested"][name] for name in ("kind", "key", "data")})
    assert payloads["approval.received"]["decidedBy"].startswith("key_")


def test_a_rejected_run_that_has_no_edge_for_it_fails(host: Host) -> None:
    with host.client() as client:
        run_id = waiting(client, "conformance-approval")["runId"]
        assert answer(client, run_id, "gate", {"action": "reject"}).status_code == 200
        ended = host.finished(client, run_id)
    assert (ended["status"], ended["error"]["code"]) == ("failed", "approval_rejected")


def test_the_older_words_are_understood(host: Host) -> None:
    with host.client() as client:
        run_id = waiting(client, "conformance-approval")["runId"]
        assert answer(client, run_id, "gate", {"decision": "approved"}).status_code == 200
        assert host.finished(client, run_id)["status"] == "completed"


@pytest.mark.parametrize("value", [{"action": "nonsense"}, {"action": "refine"}, {}, "accept", None, [ACCEPT]])
def test_a_value_that_is_no_answer_is_refused_and_the_run_waits_on(host: Host, value: object) -> None:
    with host.client() as client:
        run_id = waiting(client, "conformance-approval")["runId"]
        assert refusal(answer(client, run_id, "gate", value)) == (400, "validation_error")
        assert client.get(f"/v1/runs/{run_id}").json()["status"] == "waiting-approval"


def test_the_body_is_closed_and_the_node_must_be_one_that_waits(host: Host) -> None:
    with host.client() as client:
        run_id = waiting(client, "conformance-approval")["runId"]
        assert refusal(client.post(f"/v1/runs/{run_id}/interrupts/gate", json={}))[0] == 400
        assert refusal(answer(client, run_id, "gate", ACCEPT, extra=1))[0] == 400
        assert refusal(answer(client, run_id, "nowhere", ACCEPT)) == (404, "interrupt_not_found")
        assert refusal(answer(client, "run_unknown", "gate", ACCEPT))[0] == 404


def test_an_answered_interrupt_is_not_answered_again(host: Host) -> None:
    with host.client() as client:
        run_id = waiting(client, "conformance-approval")["runId"]
        answer(client, run_id, "gate", ACCEPT)
        assert refusal(answer(client, run_id, "gate", ACCEPT)) == (409, "interrupt_already_resolved")
        host.finished(client, run_id)
        assert refusal(answer(client, run_id, "gate", ACCEPT)) == (409, "interrupt_already_resolved")


def test_a_cancelled_run_asks_nobody(host: Host) -> None:
    with host.client() as client:
        run_id = waiting(client, "conformance-approval")["runId"]
        client.post(f"/v1/runs/{run_id}/cancel")
        assert host.finished(client, run_id)["status"] == "cancelled"
        assert refusal(answer(client, run_id, "gate", ACCEPT)) == (422, "interrupt_cancelled")
        assert "interrupt" not in client.get(f"/v1/runs/{run_id}").json()


@pytest.mark.engines
def test_without_a_key_without_the_permission_and_from_another_tenant(host: Host) -> None:
    with host.client() as client, host.client("acme/viewer") as viewer, host.client("globex/owner") as globex:
        run_id = waiting(client, "conformance-approval")["runId"]
        path, body = f"/v1/runs/{run_id}/interrupts/gate", {"resumeValue": ACCEPT}
        assert refusal(client.post(path, json=body, headers={"Authorization": "Bearer wrong"}))[0] == 401
        for address in (path, "/v1/runs/run_unknown/interrupts/gate", f"/v1/runs/{run_id}/interrupts/nowhere"):
            refused = viewer.post(address, json=body)
            assert refusal(refused) == (403, "forbidden")
            assert refused.json()["details"]["requiredScope"] == "approvals:respond"
        assert refusal(globex.post(path, json=body))[0] == 404
        assert client.get(f"/v1/runs/{run_id}").json()["status"] == "waiting-approval"
    decided = next(event for event in host.events(run_id) if event["type"] == "authorization.decided")
    schemas.check_payload("authorizationDecided", decided["payload"])
