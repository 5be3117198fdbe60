"""The gate: votes about one digest, who casts them, and what the activation run makes of them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from memory.host import audit, event_log, ids, interrupts, registry, runs
from memory.host.errors import Conflict, Forbidden, Invalid
from memory.host.interrupts import InterruptNotFound
from memory.host.models import ArtifactKind, Run
from memory.host.registry import Artifact
from openwop_console.runtime import workflows
from proposals import activation, comments, lifecycle, review, revisions, rules
from proposals import gate as gates
from proposals.drafts import Change
from proposals.models import Proposal, Revision
from tests import building, proposing
from tests.building import types_of
from tests.proposing import actions, opened

pytestmark = pytest.mark.django_db


def test_the_activation_workflow_is_none_that_a_tenant_installs_because_its_nodes_are_the_host_s() -> None:
    nodes = ((gates.GATE_NODE, gates.GATE_TYPE), (gates.INSTALL_NODE, gates.INSTALL_TYPE))
    with pytest.raises(Invalid) as refused:
        workflows.check(json.loads(gates.activation(*nodes)))
    fields = [error["field"] for error in refused.value.details["errors"]]
    assert fields == ["$.nodes[0].typeId", "$.nodes[1].typeId"]


def forge(name: str, *nodes: dict[str, Any]) -> None:
    """A workflow with the host's own nodes, past the check that refuses it."""
    text = json.dumps(building.definition(name, *nodes))
    artifact = Artifact(ArtifactKind.WORKFLOW, name, "1.0.0", text)
    registry.install(building.tenant().id, artifact, source="host", installed_by="host", now=timezone.now())


def test_asking_pins_the_digest_and_asking_again_gives_the_same_gate() -> None:
    made = proposing.propose()
    gate = opened(made)
    assert (gate.revision, gate.sha256) == (1, revisions.current(made).sha256)
    assert runs.find(gate.tenant_id, gate.run_id).inputs["sha256"] == gate.sha256
    assert opened(made).id == gate.id
    assert Run.objects.of(made.tenant_id).filter(workflow_id="host-activation").count() == 1


def test_a_grant_installs_exactly_the_approved_bytes_and_tells_it_before_the_run_ends() -> None:
    text = '{"text":"A\\tb \\u20ac {{x}}","version":"1.0.0","kind":"user","templateId":"hard","variables":[],"tags":[]}'
    made = proposing.propose(text=text)
    gate = opened(made)
    proposing.advance(gate)
    assert runs.find(gate.tenant_id, gate.run_id).status == "waiting-approval"
    proposing.decide(made, gate)
    run = proposing.advance(gate)
    done = proposing.fresh(made)
    installed = registry.current(made.tenant_id, "prompt-template", "hard")
    assert installed is not None
    assert (installed.text, installed.sha256, installed.ref) == (text, gate.sha256, "prompt:hard@1.0.0")
    assert (done.state, done.approval_id, done.installed_ref) == ("applied", gate.id, installed.ref)
    told = types_of(run)
    assert told[-3:] == ["proposal.activated", "node.completed", "run.completed"]
    assert told.index("interrupt.requested") < told.index("approval.granted") < told.index("interrupt.resolved")
    assert actions(made) == ["proposal.create", "proposal.gate.open", "proposal.vote", "proposal.install"]


@pytest.mark.engines
@pytest.mark.parametrize("worker_first", [True, False])
def test_the_installation_is_the_act_of_the_one_whose_vote_decided_and_names_the_one_who_asked(
    worker_first: bool,
) -> None:
    proposing.policy(quorum=2)
    made = proposing.propose()
    rosa, first, ada = (building.scope(role="reviewer") for _ in range(3))
    gate = proposing.ask(made, by=rosa).gate
    assert gate
    if worker_first:
        proposing.advance(gate)
    proposing.decide(made, gate, by=first)
    proposing.decide(made, gate, by=ada)
    run = proposing.advance(gate)
    proposing.ask(made, by=rosa)
    done = proposing.fresh(made)
    installed = registry.current(made.tenant_id, "prompt-template", "triage.summary")
    assert installed is not None
    assert (done.closed_by, installed.installed_by) == (ada.principal.id, ada.principal.id)
    assert run.principal == rosa.principal.id, "the run belongs to the one who asked for it, as before"
    [record] = [each for each in audit.newest(made.tenant_id) if each.action == "proposal.install"]
    assert (record.actor, record.facts["requestedBy"]) == (ada.principal.id, rosa.principal.id)


def test_a_vote_that_is_faster_than_the_worker_counts_and_the_log_tells_the_same_story() -> None:
    made = proposing.propose()
    gate = opened(made)
    proposing.decide(made, gate)
    run = proposing.advance(gate)
    assert (run.status, proposing.fresh(made).state) == ("completed", "applied")
    assert [type_ for type_ in types_of(run) if type_.startswith(("interrupt", "approval"))] == [
        "interrupt.requested",
        "approval.granted",
        "interrupt.resolved",
    ]


@pytest.mark.parametrize("worker_first", [True, False])
def test_a_rejection_installs_nothing_ends_the_run_with_its_reason_and_leaves_the_proposal_reviewable(
    worker_first: bool,
) -> None:
    made = proposing.propose()
    gate = opened(made)
    if worker_first:
        proposing.advance(gate)
    proposing.decide(made, gate, decision="rejected", reason="needs a test run")
    run = proposing.advance(gate)
    assert (run.status, run.error["code"], proposing.fresh(made).state) == ("failed", "approval_rejected", "draft")
    assert "approval.rejected" in types_of(run)
    assert registry.by_ref(made.tenant_id, "prompt:triage.summary@1.1.0") is None
    assert opened(made).id != gate.id


def test_words_of_people_are_on_no_event_and_in_no_audit_record() -> None:
    made = proposing.propose(title="canary-title", rationale="canary-rationale")
    lifecycle.revise(building.scope(role="author"), made.id, Change(note="canary-note"), now=timezone.now())
    gate = opened(made)
    proposing.decide(made, gate, decision="rejected", reason="canary-reason")
    proposing.advance(gate)
    lifecycle.archive(building.scope(role="owner"), made.id, reason="canary-archive", now=timezone.now())
    created = event_log.list_events_about(made.tenant_id, made.id)[0]
    told = [event_log.read(made.tenant_id, stream) for stream in (created.stream_id, gate.run_id)]
    told_payloads = [event.payload for log in told for event in log]
    assert len(told_payloads) > 8
    assert "canary" not in json.dumps([told_payloads, [row.details for row in audit.newest(made.tenant_id)]])


def test_a_vote_about_another_digest_or_revision_is_no_vote() -> None:
    made = proposing.propose()
    gate = opened(made)
    for other in ({"sha256": "0" * 64}, {"revision": 2}):
        with pytest.raises(Conflict) as refused:
            proposing.decide(made, gate, **other)
        assert (refused.value.details["revision"], refused.value.details["sha256"]) == (1, gate.sha256)
    detail = review.detail(building.scope(), made.id)
    assert (detail.ballots[0].votes, detail.ballots[0].gate.state) == ([], "open")


def test_who_wrote_or_ever_revised_it_does_not_vote_and_the_denial_stays_on_record() -> None:
    ada, ben, cleo = (building.scope(role="operator") for _ in range(3))
    made = proposing.propose(author=ada)
    lifecycle.revise(ben, made.id, Change(title="Second"), now=timezone.now())
    lifecycle.revise(cleo, made.id, Change(title="Third"), now=timezone.now())
    gate = opened(made)
    run = proposing.advance(gate)
    for voter in (ada, ben, cleo):
        with pytest.raises(Forbidden) as refused:
            proposing.decide(made, gate, by=voter)
        assert refused.value.details == {"rule": "separation-of-duties"}
    denied = [event for event in event_log.read(run.tenant_id, run.id) if event.type == "authorization.decided"]
    assert [event.payload["principal"] for event in denied] == [each.principal.id for each in (ada, ben, cleo)]
    assert denied[0].payload == {
        "principal": ada.principal.id,
        "action": "approvals:respond",
        "resource": ids.wire("prop", made.id),
        "allowed": False,
        "reason": "separation-of-duties",
    }
    assert actions(made).count("authorization.denied") == 3
    proposing.decide(made, gate, by=building.scope(role="operator"))


@pytest.mark.parametrize("role", ["viewer", "author", "agent", "auditor"])
def test_a_principal_without_the_permission_does_not_vote(role: str) -> None:
    made = proposing.propose()
    gate = opened(made)
    with pytest.raises(Forbidden) as refused:
        proposing.decide(made, gate, by=building.scope(role=role))
    assert refused.value.details == {"requiredScope": "approvals:respond"}
    assert actions(made)[-1] == "authorization.denied"


def test_each_refused_step_is_on_record_by_its_name_and_on_the_run_of_the_gate_by_its_permission() -> None:
    viewer, made, now = building.scope(role="viewer"), proposing.propose(), timezone.now()
    gate = opened(made)
    run = proposing.advance(gate)
    seen: dict[str, Any] = {"revision": 1, "sha256": gate.sha256}
    steps: dict[str, Callable[[], object]] = {
        "revise": lambda: lifecycle.revise(viewer, made.id, Change(title="Second"), now=now),
        "apply": lambda: lifecycle.ask_to_apply(viewer, made.id, now=now),
        "decide": lambda: proposing.decide(made, gate, by=viewer),
        "override": lambda: lifecycle.override(viewer, made.id, **seen, reason="because", now=now),
        "withdraw": lambda: lifecycle.withdraw(viewer, made.id, now=now),
        "reject": lambda: lifecycle.reject(viewer, made.id, now=now),
        "archive": lambda: lifecycle.archive(viewer, made.id, now=now),
        "comment": lambda: comments.add(viewer, made.id, "a word", now=now),
    }
    for step in steps.values():
        with pytest.raises(Forbidden, match="This needs the permission"):
            step()
    target = ids.wire("prop", made.id)
    denied = [each for each in audit.newest(made.tenant_id) if each.action == "authorization.denied"]
    assert {each.target for each in denied} == {target}
    assert sorted(each.details["action"] for each in denied) == sorted(f"proposal.{name}" for name in steps)
    told = [event for event in event_log.read(run.tenant_id, run.id) if event.type == "authorization.decided"]
    assert [(event.payload["action"], event.payload["resource"]) for event in told] == [
        (rules.scope_for(name), target) for name in steps
    ]


def test_a_key_bound_to_agents_decides_nothing_whatever_its_role() -> None:
    made = proposing.propose()
    gate = opened(made)
    bound = building.scope(role="owner", agents=("acme.writer",))
    for act in (
        lambda: proposing.decide(made, gate, by=bound),
        lambda: lifecycle.reject(bound, made.id, now=timezone.now()),
    ):
        with pytest.raises(Forbidden) as refused:
            act()
        assert refused.value.details == {"rule": "agents-never-vote"}


def test_a_key_submits_only_as_the_agents_it_is_bound_to() -> None:
    bound = building.scope(role="agent", agents=("acme.writer",))
    assert proposing.propose(author=bound, agent_id="acme.writer").agent_id == "acme.writer"
    with pytest.raises(Forbidden):
        proposing.propose(author=bound, agent_id="acme.other")


def test_a_second_vote_at_a_decided_gate_is_a_conflict() -> None:
    made = proposing.propose()
    gate = opened(made)
    proposing.decide(made, gate)
    with pytest.raises(Conflict) as refused:
        proposing.decide(made, gate, decision="rejected")
    assert refused.value.details["gateState"] == "granted"


def test_withdrawing_ends_the_activation_and_lets_the_author_go_on() -> None:
    made = proposing.propose()
    gate = opened(made)
    lifecycle.withdraw(building.scope(role="reviewer"), made.id, now=timezone.now())
    assert proposing.advance(gate).status == "cancelled"
    lifecycle.revise(building.scope(role="author"), made.id, Change(title="Again"), now=timezone.now())
    assert opened(made).revision == 2


def test_cancelling_the_activation_run_closes_its_gate() -> None:
    made = proposing.propose()
    gate = opened(made)
    runs.request_cancel(runs.find(gate.tenant_id, gate.run_id), now=timezone.now())
    with pytest.raises(Conflict):
        proposing.decide(made, gate)
    proposing.advance(gate)
    assert review.detail(building.scope(), made.id).ballots[0].gate.state == "cancelled"
    assert opened(made).id != gate.id


def test_an_installation_that_fails_closes_the_gate_and_leaves_the_proposal_reviewable() -> None:
    made = proposing.propose()
    gate = opened(made)
    proposing.applied(text=proposing.artifact(text="other bytes under the same ref"))
    proposing.decide(made, gate)
    run = proposing.advance(gate)
    assert (run.status, run.error["code"], proposing.fresh(made).state) == ("failed", "conflict", "draft")
    detail = review.detail(building.scope(), made.id)
    assert (detail.gate, detail.ballots[0].gate.state) == (None, "granted")
    with pytest.raises(Conflict) as refused:
        proposing.ask(made)
    assert refused.value.details["installedArtifactRef"] == "prompt:triage.summary@1.1.0"


@pytest.mark.engines
def test_bytes_that_are_not_the_approved_ones_are_not_installed() -> None:
    made = proposing.propose()
    gate = opened(made)
    proposing.decide(made, gate)
    tampered = Revision.objects.written_by(revisions.WRITER).filter(proposal_id=made.id)
    tampered.update(text=proposing.artifact(text="Obey me."))
    run = proposing.advance(gate)
    assert (run.status, run.error["code"]) == ("failed", "digest_mismatch")
    assert registry.by_ref(made.tenant_id, "prompt:triage.summary@1.1.0") is None
    assert proposing.fresh(made).state == "draft"


def test_a_workflow_of_somebody_elses_with_the_same_nodes_installs_nothing() -> None:
    nodes = [
        building.node("gate", "core.openwop.governance.approvalGate"),
        building.node("install", "vendor.console.install-artifact"),
    ]
    for name, given in (("forged", nodes), ("shorter", nodes[1:])):
        forge(name, *given)
        made = proposing.propose()
        run = building.execute(building.scope(), name, proposalId=ids.wire("prop", made.id))
        assert (run.status, run.error["code"]) == ("failed", "gate_unknown")


def test_a_gate_that_somebody_resumed_without_a_decision_fails_its_run() -> None:
    made = proposing.propose()
    gate = opened(made)
    run = proposing.advance(gate)
    asked = interrupts.at_node(run, "gate")
    assert asked
    interrupts.answer(runs.locked(run.tenant_id, run.id), asked, {"decision": "granted"}, now=timezone.now())
    run = proposing.advance(gate)
    assert (run.status, run.error["code"], proposing.fresh(made).state) == ("failed", "gate_bypassed", "draft")


def test_a_node_of_somebody_elses_workflow_has_no_interrupt_that_a_vote_answers() -> None:
    forge("forged", building.node("gate", gates.GATE_TYPE))
    run = building.execute(building.scope(), "forged")
    with pytest.raises(InterruptNotFound):
        activation.resolve_interrupt(building.scope(), run, "gate", {"decision": "granted"}, timezone.now())


@pytest.mark.parametrize("worker_first", [True, False])
def test_a_larger_quorum_waits_for_its_last_vote_and_counts_nobody_twice(worker_first: bool) -> None:
    proposing.policy(quorum=2)
    made, ada = proposing.propose(), building.scope(role="reviewer")
    gate = opened(made)
    if worker_first:
        proposing.advance(gate)
    for _ in range(2):
        assert proposing.decide(made, gate, by=ada).state == "open"
    with pytest.raises(Conflict):
        proposing.decide(made, gate, by=ada, decision="rejected")
    assert proposing.advance(gate).status == "waiting-approval"
    assert proposing.decide(made, gate).state == "granted"
    run = proposing.advance(gate)
    granted = [event for event in event_log.read(run.tenant_id, run.id) if event.type == "approval.granted"]
    assert [event.payload["quorumProgress"] for event in granted] == [
        {"granted": 1, "required": 2},
        {"granted": 2, "required": 2},
    ]
    assert proposing.fresh(made).state == "applied"


def test_a_decision_that_does_not_exist_is_no_vote() -> None:
    made = proposing.propose()
    with pytest.raises(Invalid):
        proposing.decide(made, opened(made), decision="maybe")


def test_asking_about_an_activation_that_is_not_there_is_a_bug() -> None:
    with pytest.raises(RuntimeError):
        gates.LockedProposal(proposing.propose()).activation()


@pytest.mark.engines
def test_an_installation_looks_for_itself_whether_it_is_still_wanted() -> None:
    first, second = proposing.propose(), proposing.propose()
    gone, shut = opened(first), opened(second)
    proposing.decide(first, gone)
    rows = Proposal.objects.written_by("proposals.lifecycle").filter(id=first.id)
    rows.update(state="archived", closed_at=timezone.now())
    proposing.decide(second, shut)
    gates.close(shut, "cancelled", now=timezone.now())
    for gate in (gone, shut):
        run = proposing.advance(gate)
        assert (run.status, run.error["code"]) == ("failed", "conflict")
    assert registry.by_ref(first.tenant_id, "prompt:triage.summary@1.1.0") is None
