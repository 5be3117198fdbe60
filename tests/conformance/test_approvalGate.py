"""``governance/approval-gate``: the gate's own answers to the suite's principals, and that nothing gets installed."""

from typing import Any

import pytest

from tests.conformance import schemas
from tests.conformance.conftest import Host

GATE = "/v1/host/sample/governance/approval-gate"


def play(host: Host, scenario: str, key: str = "acme/author", **more: Any) -> dict[str, Any]:
    with host.client(key) as client:
        answer = client.post(GATE, json={"scenario": scenario, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_an_unauthorized_grant_releases_nothing(seamed: Host) -> None:
    found = play(seamed, "unauthorized-grant", principal="conformance-unauthorized-principal")
    assert found["released"] is False
    assert found["event"]["type"] == "authorization.decided"
    schemas.check_payload("authorizationDecided", found["event"]["payload"])
    assert found["event"]["payload"]["allowed"] is False
    with seamed.client("acme/auditor") as auditor:
        records = auditor.get("/v1/host/console/audit").json()["records"]
    (denied,) = [each for each in records if each["actor"] == "conformance-unauthorized-principal"]
    assert (denied["action"], denied["details"]["action"]) == ("authorization.denied", "proposal.decide")


def test_an_override_says_the_reason_that_was_given_and_the_audit_holds_it(seamed: Host) -> None:
    found = play(seamed, "override", principal="conformance-owner-principal", reason="incident 42 of the suite")
    assert (found["released"], found["event"]["type"]) == (True, "approval.overridden")
    schemas.check_payload("approvalOverridden", found["event"]["payload"])
    assert found["event"]["payload"]["reason"] == "incident 42 of the suite"
    with seamed.client("acme/auditor") as auditor:
        records = auditor.get("/v1/host/console/audit").json()["records"]
    audited = next(each for each in records if each["action"] == "approval.override")
    assert audited["details"]["reason"] == "incident 42 of the suite"
    assert audited["target"] == found["event"]["payload"]["gateId"]


@pytest.mark.parametrize(
    ("scenario", "released", "type_", "definition"),
    [
        ("grant", True, "approval.granted", "approvalGranted"),
        ("quorum", True, "approval.granted", "approvalGranted"),
        ("reject", False, "approval.rejected", "approvalRejected"),
    ],
)
def test_a_decision_is_what_the_gate_makes_of_it(
    seamed: Host, scenario: str, released: bool, type_: str, definition: str
) -> None:
    found = play(seamed, scenario, principal="conformance-owner-principal", reason="looked at")
    assert (found["released"], found["event"]["type"]) == (released, type_)
    schemas.check_payload(definition, found["event"]["payload"])


def test_whatever_was_played_nothing_is_installed_and_nothing_waits(seamed: Host) -> None:
    play(seamed, "grant", principal="conformance-owner-principal")
    with seamed.client("acme/owner") as owner:
        states = {each["state"] for each in owner.get("/v1/host/sample/proposals").json()["proposals"]}
        audited = owner.get("/v1/host/console/audit", params={"limit": 1000}).json()["records"]
    assert states == {"rejected"}
    assert "proposal.install" not in {each["action"] for each in audited}


@pytest.mark.parametrize(
    "body",
    [
        {"scenario": "override", "principal": "conformance-owner-principal"},
        {"scenario": "override", "principal": "conformance-owner-principal", "reason": "  "},
        {"scenario": "nothing"},
        {"scenario": "grant", "principal": "usr_somebody"},
        {},
    ],
)
def test_a_scenario_that_is_none_is_refused(seamed: Host, body: dict[str, Any]) -> None:
    with seamed.client() as client:
        refused = client.post(GATE, json=body)
    assert (refused.status_code, refused.json()["error"]) == (400, "validation_error")
