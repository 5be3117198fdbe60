"""The seams of the gate, of authorization and of identity go through what everybody goes through."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory.host import access, audit, ids, registry
from memory.host.models import Run, RunStatus
from openwop_console.runtime import run_operations
from openwop_console.test_seams import identity
from proposals.models import Gate
from tests import building

pytestmark = pytest.mark.django_db
SEAMS = "/v1/host/sample"
OWNER, STRANGER = "conformance-owner-principal", "conformance-unauthorized-principal"


@pytest.fixture(autouse=True)
def open_seams(settings: Settings) -> None:
    settings.OPENWOP_TEST_SEAM_ENABLED = True


def play(client: Client, **body: Any) -> tuple[int, dict[str, Any]]:
    answer = client.post(
        f"{SEAMS}/governance/approval-gate", body, "application/json", **building.headers(role="author")
    )
    return answer.status_code, answer.json()


@pytest.mark.parametrize(
    ("scenario", "principal", "released", "event", "ended"),
    [
        ("unauthorized-grant", STRANGER, False, "authorization.decided", "cancelled"),
        ("grant", OWNER, True, "approval.granted", "cancelled"),
        ("quorum", OWNER, True, "approval.granted", "cancelled"),
        ("reject", OWNER, False, "approval.rejected", "failed"),
        ("override", OWNER, True, "approval.overridden", "cancelled"),
    ],
)
def test_each_scenario_is_played_at_a_real_gate_that_is_over_afterwards(
    client: Client, scenario: str, principal: str, released: bool, event: str, ended: str
) -> None:
    status, found = play(client, scenario=scenario, principal=principal, reason="looked at")
    assert (status, found["released"], found["event"]["type"]) == (200, released, event)
    gate = Gate.objects.get()
    assert gate.closed_at is not None
    assert Run.objects.of(gate.tenant_id).get(id=gate.run_id).status == RunStatus(ended)
    assert registry.by_ref(gate.tenant_id, "prompt:conformance") is None
    assert "proposal.install" not in [each.action for each in audit.export_records(gate.tenant_id)]


def test_a_host_without_gates_says_that_it_has_none(client: Client, settings: Settings) -> None:
    settings.OPENWOP_PROPOSALS_ACTIVATION = "direct-rbac"
    assert play(client, scenario="grant", principal=OWNER)[0] == 501


def test_a_seam_acts_in_the_name_of_the_caller_itself_and_of_nobody_else_real(client: Client) -> None:
    caller = building.scope(role="author")
    assert identity.find_principal(caller, caller.principal.id, now=timezone.now()) is caller
    other = building.scope(role="owner").principal.id
    for name in (other, "host", "conformance-" + "x" * 60, "conformance-\n"):
        assert play(client, scenario="grant", principal=name)[0] == 400, name
    assert not Gate.objects.exists()


def test_the_owner_is_seeded_once_however_often_it_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        play(client, scenario="grant", principal=OWNER)
    tenant_id = building.tenant().id
    assert access.roles_of(tenant_id, OWNER) == ["owner"]
    assert access.roles_of(tenant_id, STRANGER) == []


def test_a_decision_is_the_resolver_s_and_a_word_somebody_typed_stays_off_the_record(client: Client) -> None:
    def ask(**body: Any) -> dict[str, Any]:
        given = {"principal": STRANGER, "action": "runs:cancel", "resource": "run-conformance-probe", **body}
        headers = building.headers(role="viewer")
        return client.post(f"{SEAMS}/authorization/decide", given, "application/json", **headers).json()

    run_id = ids.wire("run", building.open_run(building.scope()).id)
    assert ask() == {"allowed": False, "reason": "role-not-seeded"}
    assert ask(action="canary:action", resource="canary") == {"allowed": False, "reason": "role-not-seeded"}
    assert ask(resource=run_id)["allowed"] is False
    assert ask(principal=OWNER) == {"allowed": True, "reason": "role-grants"}
    assert ask(principal=OWNER, action="no:such") == {"allowed": False, "reason": "missing-scope"}
    denied = [each for each in audit.export_records(building.tenant().id) if each.action == "authorization.denied"]
    assert [each.details["action"] for each in denied] == ["runs:cancel", "unknown", "runs:cancel", "unknown"]
    assert [each.target for each in denied] == ["", "", run_id, ""]


def test_a_run_of_another_is_refused_and_would_be_a_bug_if_it_were_read(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = building.headers(role="viewer")
    for _ in range(2):
        answer = client.post(f"{SEAMS}/identity/cross-workspace-read", {}, "application/json", **headers)
        assert (answer.status_code, answer.json()["error"]) == (403, "run_forbidden")
    assert Run.objects.exclude(tenant_id=building.tenant().id).count() == 1
    monkeypatch.setattr(run_operations, "read_run", lambda *_: None)
    answer = client.post(f"{SEAMS}/identity/cross-workspace-read", {}, "application/json", **headers)
    assert answer.status_code == 500


def test_an_owned_run_is_the_newest_of_the_tenant_or_one_made_for_it(client: Client) -> None:
    headers = building.headers(role="viewer")
    made = client.get(f"{SEAMS}/identity/owned-run", **headers).json()
    assert made["owner"] == {"tenant": "acme", "principal": "host"}
    owner = building.scope()
    run = building.open_run(owner)
    found = client.get(f"{SEAMS}/identity/owned-run", **headers).json()
    assert found == {
        "runId": ids.wire("run", run.id),
        "owner": {"tenant": "acme", "principal": owner.principal.id},
    }


@pytest.mark.parametrize("role", ["auditor"])
def test_the_auditor_has_no_seam(client: Client, role: str) -> None:
    headers = building.headers(role=role)
    for path, body in (
        ("governance/approval-gate", {"scenario": "grant"}),
        ("authorization/decide", {"principal": STRANGER, "action": "runs:read"}),
        ("identity/cross-workspace-read", {}),
    ):
        assert client.post(f"{SEAMS}/{path}", body, "application/json", **headers).status_code == 403
    assert client.get(f"{SEAMS}/identity/owned-run", **headers).status_code == 403
