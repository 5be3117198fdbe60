"""The override of a gate: who may, that it says why, and that it stays marked for good."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from memory.host import access, audit, event_log, ids, registry, vault
from memory.host.errors import Conflict, Forbidden, Invalid
from memory.host.models import RoleGrant
from memory.host.tenancy import TenantScope
from openwop_console.runtime import run_operations
from proposals import gate as gates
from proposals import lifecycle
from proposals.models import Gate, Proposal, Vote
from tests import building, proposing
from tests.proposing import opened

pytestmark = pytest.mark.django_db
WHY = "incident 42: triage is down"


def override(made: Proposal, gate: Gate, by: TenantScope | None = None, **more: Any) -> Gate:
    given: dict[str, Any] = {"revision": gate.revision, "sha256": gate.sha256, "reason": WHY, **more}
    return lifecycle.override(by or building.scope(role="owner"), made.id, now=timezone.now(), **given)


@pytest.mark.parametrize("worker_first", [True, False])
def test_an_override_installs_the_pinned_bytes_and_says_where_its_reason_is(worker_first: bool) -> None:
    owner = building.scope(role="owner")
    made = proposing.propose(author=owner)
    gate = opened(made)
    if worker_first:
        proposing.advance(gate)
    assert override(made, gate, owner).state == "granted"
    run = proposing.advance(gate)
    assert (run.status, proposing.fresh(made).state) == ("completed", "applied")
    installed = registry.by_ref(made.tenant_id, "prompt:triage.summary@1.1.0")
    assert installed is not None
    assert installed.sha256 == gate.sha256
    events = {event.type: event.payload for event in event_log.read(run.tenant_id, run.id)}
    assert "approval.granted" not in events
    assert events["approval.overridden"] == {
        "gateId": ids.wire("gate", gate.id),
        "principal": owner.principal.id,
        "reason": gates.JUSTIFIED,
    }


def test_the_audit_record_of_an_override_is_the_contract_s_and_holds_no_secret() -> None:
    made = proposing.propose()
    gate = opened(made)
    owner = building.scope(role="owner")
    vault.store_secret(made.tenant_id, "pager", "tok-pager-secret-1", now=timezone.now())
    override(made, gate, owner, reason="told by tok-pager-secret-1")
    (record,) = [each for each in audit.newest(made.tenant_id) if each.action == "approval.override"]
    assert (record.actor, record.target) == (owner.principal.id, ids.wire("gate", gate.id))
    assert record.reason == "told by [REDACTED:pager]"
    assert record.facts == {
        "runId": ids.wire("run", gate.run_id),
        "nodeId": "gate",
        "proposalId": ids.wire("prop", made.id),
        "reason": record.reason,
        "bypassedQuorum": False,
        "quorum": {"granted": 1, "required": 1},
        "artifactSha256": gate.sha256,
    }


def test_an_override_counts_as_one_grant_of_a_larger_quorum() -> None:
    proposing.policy(quorum=2)
    made = proposing.propose()
    gate, owner = opened(made), building.scope(role="owner")
    assert override(made, gate, owner).state == "open"
    assert override(made, gate, owner).state == "open", "one principal counts once"
    with pytest.raises(Conflict):
        proposing.decide(made, gate, by=owner)
    assert proposing.decide(made, gate).state == "granted"


def test_what_an_override_installs_is_installed_by_the_one_who_overrode() -> None:
    proposing.policy(quorum=2, override_bypasses_quorum=True)
    made = proposing.propose()
    asker, owner = building.scope(role="reviewer"), building.scope(role="owner")
    gate = proposing.ask(made, by=asker).gate
    assert gate
    proposing.decide(made, gate)
    override(made, gate, owner)
    proposing.advance(gate)
    [record] = [each for each in audit.newest(made.tenant_id) if each.action == "proposal.install"]
    assert (record.actor, record.facts["requestedBy"]) == (owner.principal.id, asker.principal.id)
    assert proposing.fresh(made).closed_by == owner.principal.id


@pytest.mark.parametrize("role", ["viewer", "author", "agent", "reviewer", "operator", "auditor"])
def test_nobody_but_an_owner_overrides_and_the_denial_is_on_record(role: str) -> None:
    made = proposing.propose()
    gate = opened(made)
    with pytest.raises(Forbidden) as refused:
        override(made, gate, building.scope(role=role))
    assert refused.value.details == {"requiredScope": "approvals:override"}
    assert refused.value.on_record
    denied = audit.newest(made.tenant_id, limit=1)[0]
    assert (denied.action, denied.details["action"]) == ("authorization.denied", "proposal.override")


def test_who_is_no_owner_any_more_when_the_override_is_carried_out_overrides_nothing() -> None:
    made, owner = proposing.propose(), building.scope(role="owner")
    gate = opened(made)
    roles = RoleGrant.objects.written_by(access.WRITER).filter(principal=owner.principal.id)
    roles.update(role="operator")
    with pytest.raises(Forbidden) as refused:
        override(made, gate, owner)
    assert refused.value.details["roles"] == ["owner"]
    assert not Vote.objects.of(made.tenant_id).exists()


def test_a_key_bound_to_agents_overrides_nothing() -> None:
    made = proposing.propose()
    gate = opened(made)
    with pytest.raises(Forbidden) as refused:
        override(made, gate, building.scope(role="owner", agents=("acme.writer",)))
    assert refused.value.details == {"rule": "agents-never-vote"}


@pytest.mark.parametrize("reason", ["", "   ", "x" * 501])
def test_an_override_without_a_reason_is_none(reason: str) -> None:
    made = proposing.propose()
    gate = opened(made)
    with pytest.raises(Invalid):
        override(made, gate, reason=reason)
    assert not Vote.objects.of(made.tenant_id).exists()


def test_an_override_of_other_bytes_or_of_a_decided_gate_is_a_conflict() -> None:
    made = proposing.propose()
    gate = opened(made)
    for other in ({"sha256": "0" * 64}, {"revision": 2}):
        with pytest.raises(Conflict):
            override(made, gate, **other)
    proposing.decide(made, gate)
    with pytest.raises(Conflict):
        override(made, gate)


def test_the_database_keeps_an_override_without_a_reason_out() -> None:
    made = proposing.propose()
    override(made, opened(made))
    with pytest.raises(IntegrityError), transaction.atomic():
        Vote.objects.written_by(gates.WRITER).filter(overrides=True).update(reason="")


def answer(gate: Gate, by: TenantScope, value: dict[str, Any]) -> str:
    return run_operations.resolve_interrupt(by, gate.run_id, "gate", value, now=timezone.now()).status


def test_the_interrupt_takes_an_override_from_who_may_and_marks_the_vote() -> None:
    made = proposing.propose()
    gate = opened(made)
    proposing.advance(gate)
    for value in (
        {"decision": "granted", "override": True},
        {"decision": "granted", "override": True, "reason": " "},
        {"decision": "rejected", "override": True, "reason": WHY},
        {"decision": "granted", "override": "yes", "reason": WHY},
    ):
        with pytest.raises(Invalid) as invalid:
            answer(gate, building.scope(role="owner"), value)
        assert invalid.value.code == "INVALID_RESUME_VALUE"
    with pytest.raises(Forbidden):
        answer(gate, building.scope(role="reviewer"), {"decision": "granted", "override": True, "reason": WHY})
    assert answer(gate, building.scope(role="owner"), {"decision": "granted", "override": True, "reason": WHY})
    cast = Vote.objects.of(made.tenant_id).get()
    assert (cast.overrides, cast.decision, cast.reason) == (True, "granted", WHY)


def test_an_override_is_marked_where_votes_are_read(client: Client) -> None:
    made = proposing.propose()
    override(made, opened(made))
    url = f"/v1/host/console/proposals/{ids.wire('prop', made.id)}/revisions"
    (vote,) = client.get(url, **building.headers()).json()["gates"][0]["votes"]
    assert (vote["override"], vote["decision"]) == (True, "granted")
    client.force_login(building.operator())
    assert "overrode approval of revision 1" in client.get(f"/proposals/{ids.wire('prop', made.id)}").content.decode()
