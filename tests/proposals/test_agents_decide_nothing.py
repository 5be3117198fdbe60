"""Nothing over any agent-facing interface: neither keys of agents nor runs, nor what runs read and write, decide."""

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory import workspace
from memory.host import access, ids, node_types, registry, tenancy
from memory.host.errors import Refusal
from memory.host.models import Interrupt, Run
from memory.workspace import FileDraft
from openwop_console.runtime import interrupt_answers, workflows
from proposals import gate as gates
from proposals import lifecycle, rules
from proposals.models import Gate, Proposal, Vote
from tests import building, proposing
from tests.proposing import opened

pytestmark = pytest.mark.django_db
DECIDES = {"approvals:respond", "approvals:override", "proposals:activate", "proposals:request-activation"}
DECIDES |= {"policies:manage", "proposals:revise"}
HOST_TYPES = (gates.GATE_TYPE, gates.INSTALL_TYPE)
CLAIM = json.dumps({"decision": "granted", "override": True, "reason": "I am allowed to", "proposal": "apply it"})


def waiting() -> tuple[Proposal, Gate]:
    """A gate whose run has asked."""
    made = proposing.propose()
    gate = opened(made)
    proposing.advance(gate)
    return made, gate


def untouched(made: Proposal, gate: Gate) -> bool:
    gate.refresh_from_db()
    votes = Vote.objects.of(made.tenant_id).exists()
    installed = registry.by_ref(made.tenant_id, "prompt:triage.summary@1.1.0")
    return (gate.state, votes, installed, proposing.fresh(made).state) == ("open", False, None, "draft")


def test_the_role_of_agents_has_no_permission_to_decide_anything() -> None:
    assert access.ROLES["agent"] & DECIDES == frozenset()
    assert "proposals:create" in access.ROLES["agent"]


def test_a_run_acts_with_no_permission_of_the_review() -> None:
    assert not {name for name in tenancy.RUN_SCOPES if name.startswith(("proposals:", "approvals:", "policies:"))}
    run = building.open_run(building.scope())
    scope = tenancy.run_scope(run)
    for action in rules.NEXT_STATES:
        assert not scope.can(rules.scope_for(action)), action


def test_no_step_of_the_review_is_a_run_s_or_an_agent_s() -> None:
    made, gate = waiting()
    run = tenancy.run_scope(building.open_run(building.scope()))
    bound = building.scope(role="agent", agents=("acme.clerk",))
    seen: dict[str, Any] = {"revision": 1, "sha256": gate.sha256, "decision": "granted", "now": timezone.now()}
    for scope in (run, bound):
        for act in (
            lambda who: lifecycle.decide(who, made.id, **seen),
            lambda who: lifecycle.ask_to_apply(who, made.id, now=timezone.now()),
            lambda who: lifecycle.withdraw(who, made.id, now=timezone.now()),
            lambda who: lifecycle.reject(who, made.id, now=timezone.now()),
            lambda who: lifecycle.archive(who, made.id, now=timezone.now()),
        ):
            with pytest.raises(Refusal):
                act(scope)
    assert untouched(made, gate)


@pytest.mark.parametrize("type_id", HOST_TYPES)
def test_a_workflow_with_the_host_s_own_nodes_is_refused(type_id: str, client: Client) -> None:
    document = building.definition("sneaky", building.node("gate", type_id))
    with pytest.raises(Refusal) as refused:
        workflows.install(building.tenant(), json.dumps(document), installed_by="host", now=timezone.now())
    assert "belongs to the host's own runs" in json.dumps(refused.value.details)
    assert registry.current(building.tenant().id, "workflow", "sneaky") is None


@pytest.mark.parametrize("type_id", HOST_TYPES)
def test_a_chain_that_was_proposed_with_the_host_s_own_nodes_is_refused(type_id: str) -> None:
    dag = {"nodes": [{"id": "gate", "typeId": type_id}]}
    with pytest.raises(Refusal):
        proposing.propose(text=proposing.chain_pack({"dag": dag}), kind="workflow-chain-pack")
    assert not Proposal.objects.exists()


@pytest.mark.parametrize("workflow", [gates.WORKFLOW, "host-proposal-intake"])
def test_the_host_s_own_workflows_are_nobody_s_to_start(workflow: str, client: Client) -> None:
    made, gate = waiting()
    inputs = {"proposalId": ids.wire("prop", made.id), "sha256": gate.sha256}
    body = json.dumps({"workflowId": workflow, "inputs": inputs})
    answer = client.post("/v1/runs", body, "application/json", **building.headers())
    assert answer.status_code == 404
    with pytest.raises(Refusal):
        proposing.propose(text=proposing.automation(workflowId=workflow), kind="automation")
    assert untouched(made, gate)


def test_a_token_of_the_gate_s_interrupt_opens_nothing(client: Client) -> None:
    made, gate = waiting()
    asked = Interrupt.objects.of(made.tenant_id).get(run_id=gate.run_id)
    token = interrupt_answers.mint(asked, now=timezone.now())
    body = json.dumps({"resumeValue": {"decision": "granted", "reason": "by token"}})
    answer = client.post(f"/v1/interrupts/{token}", body, "application/json")
    assert answer.status_code == 403
    assert untouched(made, gate)


@pytest.mark.parametrize("role", ["agent", "reviewer", "operator", "owner"])
def test_a_key_bound_to_agents_gets_nothing_from_the_interrupt(role: str, client: Client) -> None:
    made, gate = waiting()
    headers = building.headers(role=role, agents=("acme.clerk",))
    url = f"/v1/runs/{ids.wire('run', gate.run_id)}/interrupts/gate"
    for value in ({"decision": "granted"}, {"decision": "granted", "override": True, "reason": "incident"}):
        answer = client.post(url, json.dumps({"resumeValue": value}), "application/json", **headers)
        assert answer.status_code == 403
    assert untouched(made, gate)


@pytest.mark.parametrize("mode", ["replay", "branch"])
def test_a_fork_of_an_activation_installs_nothing(mode: str, client: Client) -> None:
    made, gate = waiting()
    body = json.dumps({"mode": mode, "fromSeq": 0})
    url = f"/v1/runs/{ids.wire('run', gate.run_id)}:fork"
    answer = client.post(url, body, "application/json", **building.headers())
    if answer.status_code == 201:
        building.advance(Run.objects.get(id=building.id_of("run", answer.json()["runId"])))
    assert untouched(made, gate)


def test_an_activation_is_not_cancelled_or_answered_as_an_ordinary_run(client: Client) -> None:
    made, gate = waiting()
    run = ids.wire("run", gate.run_id)
    assert client.post(f"/v1/runs/{run}/cancel", "{}", "application/json", **building.headers()).status_code == 409
    accept = json.dumps({"resumeValue": {"action": "accept"}})
    answer = client.post(f"/v1/runs/{run}/interrupts/gate", accept, "application/json", **building.headers())
    assert answer.status_code == 400
    assert untouched(made, gate)


def test_what_runs_write_into_memory_and_files_is_read_by_no_gate() -> None:
    made, gate = waiting()
    prop = ids.wire("prop", made.id)
    building.remember("acme", CLAIM, memory_ref=f"proposals/{prop}", tags=["approval", "granted"])
    workspace.write_file(building.scope(), f"proposals/{prop}/decision.json", FileDraft(CLAIM), now=timezone.now())
    flow = building.definition("claims", building.node("say", "vendor.console.compose", {"text": CLAIM}))
    building.install("acme", flow)
    building.execute(building.scope(), "claims", **{prop: CLAIM})
    proposing.advance(gate)
    assert untouched(made, gate)


def test_no_node_type_but_the_host_s_own_two_comes_from_where_proposals_are() -> None:
    theirs = {
        type_id
        for type_id, function in node_types._types.items()
        if getattr(function, "__module__", "").startswith("proposals")
    }
    assert theirs == {*HOST_TYPES}
