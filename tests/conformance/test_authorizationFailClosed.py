"""``authorization-fail-closed``: absent, unseeded and unknown are no, by the resolver that every door asks."""

import pytest

from tests.conformance.conftest import Host

DECIDE = "/v1/host/sample/authorization/decide"
UNSEEDED = {
    "principal": "conformance-unseeded-principal",
    "action": "runs:cancel",
    "resource": "run-conformance-probe",
}


def test_a_principal_without_a_role_is_denied_and_the_denial_is_on_record(seamed: Host) -> None:
    with seamed.client("acme/viewer") as client:
        answer = client.post(DECIDE, json=UNSEEDED)
    assert (answer.status_code, answer.json()) == (200, {"allowed": False, "reason": "role-not-seeded"})
    with seamed.client("acme/auditor") as auditor:
        told = auditor.get("/v1/host/console/events").json()["events"]
        audited = auditor.get("/v1/host/console/audit").json()["records"]
    mine = [each["payload"] for each in told if each["payload"]["principal"] == UNSEEDED["principal"]]
    assert mine[0]["allowed"] is False
    assert [each["action"] for each in audited if each["actor"] == UNSEEDED["principal"]] == ["authorization.denied"]


@pytest.mark.parametrize("action", ["runs:read", "runs:create", "audit:read", "no:such", "*", ""])
def test_an_action_is_allowed_by_a_role_that_carries_it_and_by_nothing_else(seamed: Host, action: str) -> None:
    with seamed.client("acme/viewer") as client:
        answer = client.post(DECIDE, json={**UNSEEDED, "action": action})
    assert answer.status_code == (200 if action else 400)
    assert answer.json().get("allowed") is not True


def test_the_seeded_owner_is_allowed_what_its_role_carries(seamed: Host) -> None:
    owner = {"principal": "conformance-owner-principal", "resource": "run-conformance-probe"}
    with seamed.client("acme/viewer") as client:
        allowed = client.post(DECIDE, json={**owner, "action": "runs:cancel"}).json()
        denied = client.post(DECIDE, json={**owner, "action": "no:such"}).json()
    assert (allowed["allowed"], denied) == (True, {"allowed": False, "reason": "missing-scope"})


def test_no_request_is_made_in_the_name_of_a_real_person(seamed: Host) -> None:
    with seamed.client("acme/viewer") as client:
        for name in ("usr_" + "0" * 32, "host", ""):
            assert client.post(DECIDE, json={**UNSEEDED, "principal": name}).status_code == 400
