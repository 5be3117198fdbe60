"""Installed artifacts: the emergency stop of each kind, and names that only a proposal changes."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.utils import timezone

from memory.host import audit, ids, registry, runs, scheduling, vault
from memory.host.errors import Forbidden
from memory.host.models import ArtifactKind, Installation, ScheduleTick
from openwop_console.runtime import replay, run_operations, schedules
from proposals import lifecycle
from proposals.models import Proposal
from tests import building, proposing
from tests.memory.test_forgetting import forget
from tests.proposals.test_races import at_once

pytestmark = pytest.mark.django_db
CONSOLE = "/v1/host/console"
PROMPT = "prompt:triage.summary@1.1.0"
CLERK = "private.acme.clerk"
MANIFEST: dict[str, Any] = {"agentId": CLERK, "persona": "C", "modelClass": "general", "systemPrompt": "You file."}
DISABLED = "artifact_disabled"


def send(method: str, path: str, body: Any = None, role: str = "operator", **key: Any) -> Any:
    headers = key or building.headers(role=role)
    sent = "" if body is None else json.dumps(body)
    return Client().generic(method, f"{CONSOLE}/{path}", sent, content_type="application/json", **headers)


def stop(ref: str, role: str = "operator", reason: str = "incident 42") -> Any:
    return send("POST", f"artifacts/{ref}:disable", {"reason": reason}, role)


def start(ref: str, role: str = "operator", reason: str = "looked into") -> Any:
    return send("POST", f"artifacts/{ref}:enable", {"reason": reason}, role)


def put(**changes: Any) -> Any:
    manifest = {**MANIFEST, **changes}
    return send("PUT", f"agents/{manifest['agentId']}", manifest)


def outcome(*nodes: dict[str, Any], workflow_id: str = "uses-it") -> tuple[str, str]:
    """How a run of these nodes ends, and with which code."""
    building.install("acme", building.definition(workflow_id, *nodes))
    run = building.execute(building.scope(), workflow_id)
    return run.status, (run.error or {}).get("code", "")


def composing(node_id: str = "write") -> dict[str, Any]:
    given = {"inputs": {"ticket": {"type": "static", "value": "a ticket"}}}
    return building.node(node_id, "vendor.console.compose", {"template": "triage.summary"}) | given


def acting(agent_id: str = CLERK) -> dict[str, Any]:
    return building.node("act", "core.identity", {}, agent={"agentId": agent_id})


def told(action: str) -> list[Any]:
    return [each for each in audit.newest(building.tenant().id) if each.action == action]


# --- the stop -------------------------------------------------------------------------------------------------------


def test_a_disabled_prompt_fails_the_runs_that_need_it_until_it_is_enabled_again() -> None:
    proposing.applied()
    answer = stop(PROMPT)
    assert answer.status_code == 200, answer.content
    assert (answer.json()["disabled"], answer.json()["disabledReason"]) == (True, "incident 42")
    assert outcome(composing()) == ("failed", DISABLED)
    assert start(PROMPT).json()["disabled"] is False
    assert outcome(composing(), workflow_id="again") == ("completed", "")
    [stopped], [started] = told("artifact.disabled"), told("artifact.enabled")
    assert (stopped.target, stopped.reason) == (PROMPT, "incident 42")
    assert (started.target, started.reason) == (PROMPT, "looked into")


def test_a_run_that_has_used_a_prompt_uses_it_no_more_once_it_is_disabled() -> None:
    proposing.applied()
    wait = building.node("gate", "core.approvalGate", {})
    building.install("acme", building.definition("long", composing(), wait, composing("again")))
    run = building.execute(building.scope(), "long")
    assert run.status == "waiting-approval"
    stop(PROMPT)
    run_operations.resolve_interrupt(building.scope(), run.id, "gate", {"action": "accept"}, now=timezone.now())
    done = building.advance(run)
    assert (done.status, done.error["code"]) == ("failed", DISABLED)


def test_a_disabled_pack_stops_its_agents_and_a_disabled_agent_stops_alone() -> None:
    proposing.applied(proposing.agent_pack({}, {"agentId": "private.acme.other"}), kind="agent-pack")
    stop(f"agent:{CLERK}@1.0.0")
    assert outcome(acting()) == ("failed", DISABLED)
    assert outcome(acting("private.acme.other"), workflow_id="other") == ("completed", "")
    stop("agent-pack:private.acme.office@1.0.0")
    assert outcome(acting("private.acme.other"), workflow_id="other-again") == ("failed", DISABLED)
    start("agent-pack:private.acme.office@1.0.0")
    assert outcome(acting("private.acme.other"), workflow_id="other-third") == ("completed", "")
    assert outcome(acting(), workflow_id="still") == ("failed", DISABLED)


def test_a_fork_of_a_run_does_not_wake_an_agent_that_was_stopped_since() -> None:
    proposing.applied(proposing.agent_pack(), kind="agent-pack")
    building.install("acme", building.definition("forked", acting()))
    source = building.execute(building.scope(), "forked")
    assert source.status == "completed"
    stop(f"agent:{CLERK}@1.0.0")
    branch = replay.fork(building.scope(), source.id, replay.ForkRequest("branch", 0), now=timezone.now())
    done = building.advance(branch)
    assert (done.status, done.error["code"]) == ("failed", DISABLED)
    foreign = building.scope(role="agent", agents=("private.acme.other",))
    with pytest.raises(Forbidden):
        replay.fork(foreign, source.id, replay.ForkRequest("branch", 0), now=timezone.now())


def test_a_disabled_chain_starts_no_run_and_lets_none_go_on() -> None:
    proposing.applied(proposing.chain_pack(), kind="workflow-chain-pack")
    given = {"workflowId": "private.acme.followUp", "inputs": {"customer": "Ada"}}
    key = building.headers(role="author")
    begun = Client().post("/v1/runs", given, content_type="application/json", **key)
    assert begun.status_code == 201, begun.content
    stop("chain-pack:private.acme.desk@1.0.0")
    refused = Client().post("/v1/runs", given, content_type="application/json", **key)
    assert (refused.status_code, refused.json()["error"]) == (409, DISABLED)
    run = building.advance(runs.find(building.tenant().id, ids.parse("run", begun.json()["runId"])))
    assert (run.status, run.error["code"]) == ("failed", DISABLED)


@pytest.mark.engines
def test_a_disabled_automation_fires_nothing_and_its_schedule_is_not_switched_on_behind_it() -> None:
    proposing.applied(proposing.automation(automationId="weekly"), kind="automation")
    schedule = scheduling.schedule_of_automation(building.tenant().id, "weekly")
    assert schedule
    assert schedule.next_at
    stop("automation:weekly@1.0.0")
    due = schedule.next_at + timedelta(seconds=1)
    assert schedules.fire_due(due) == 0
    refused = send("PATCH", "schedules/automation/weekly", {"enabled": True})
    assert (refused.status_code, refused.json()["error"]) == (409, DISABLED)
    scheduling.change(scheduling.locked(schedule.tenant_id, schedule.name), scheduling.order_of(schedule), now=due)
    assert schedules.fire_due(due + timedelta(days=8)) == 0, "not even when its schedule was due"
    assert ScheduleTick.objects.get(schedule_id=schedule.id).code == DISABLED
    start("automation:weekly@1.0.0")
    again = scheduling.schedule_of_automation(building.tenant().id, "weekly")
    assert again
    assert again.enabled
    assert again.next_at
    assert schedules.fire_due(again.next_at + timedelta(seconds=1)) == 1


def test_only_operators_and_owners_disable_and_enable() -> None:
    proposing.applied()
    others = ("viewer", "author", "agent", "reviewer", "auditor")
    for role in others:
        assert stop(PROMPT, role, reason="").status_code == 403, f"{role}, before the body is judged"
        assert stop(PROMPT, role).status_code == 403, role
    assert outcome(composing()) == ("completed", "")
    assert stop(PROMPT, "owner").status_code == 200
    for role in others:
        assert start(PROMPT, role).status_code == 403, role
    assert outcome(composing()) == ("failed", DISABLED)


def test_a_key_that_is_bound_to_agents_disables_nothing() -> None:
    proposing.applied()
    bound = building.headers(role="operator", agents=("acme.bot",))
    answer = send("POST", f"artifacts/{PROMPT}:disable", {"reason": "mine"}, **bound)
    assert (answer.status_code, answer.json()["details"]["rule"]) == (403, "agent-binding")


def test_a_stop_needs_a_reason_and_nothing_else() -> None:
    proposing.applied()
    bodies: list[dict[str, Any]] = [{}, {"reason": ""}, {"reason": "  "}, {"reason": 1}, {"reason": "x", "more": 1}]
    for body in bodies:
        answer = send("POST", f"artifacts/{PROMPT}:disable", body)
        assert (answer.status_code, answer.json()["error"]) == (400, "validation_error"), body


def test_unknown_foreign_and_superseded_refs_are_not_disabled() -> None:
    proposing.applied()
    assert stop("prompt:nothing@1.0.0").status_code == 404
    foreign = building.headers("globex", "owner")
    assert send("POST", f"artifacts/{PROMPT}:disable", {"reason": "x"}, **foreign).status_code == 404
    proposing.applied(proposing.artifact(version="1.2.0"))
    assert stop(PROMPT).status_code == 409


def test_a_reason_holds_no_secret_of_the_vault() -> None:
    proposing.applied()
    vault.store_secret(building.tenant().id, "pager", "tok-pager-secret-1", now=timezone.now())
    assert stop(PROMPT, reason="see tok-pager-secret-1").json()["disabledReason"] == "see [REDACTED:pager]"
    assert "tok-pager" not in str(told("artifact.disabled")[0].facts)


@pytest.mark.engines
def test_what_a_gate_installs_next_is_enabled_and_so_is_what_it_rolls_back_to() -> None:
    proposing.applied()
    stop(PROMPT)
    proposing.applied(proposing.artifact(version="1.2.0"))
    assert outcome(composing()) == ("completed", "")
    rolled = send("POST", f"artifacts/{PROMPT}/rollback", {})
    assert rolled.status_code == 201, rolled.content
    back = Proposal.objects.order_by("-id")[0]
    gate = proposing.opened(back)
    proposing.decide(back, gate)
    assert proposing.advance(gate).status == "completed"
    assert outcome(composing(), workflow_id="back") == ("completed", "")


def test_archiving_what_is_applied_says_what_to_do_instead() -> None:
    made = proposing.applied()
    with pytest.raises(Exception, match=r"Use Disable .* Roll back"):
        lifecycle.archive(building.scope(), made.id, reason="away", now=timezone.now())


def test_a_forgotten_subject_is_in_no_reason_of_a_stop() -> None:
    proposing.applied()
    stop(PROMPT, reason="asked for by marta.kowalska@example.com")
    owner = building.scope()
    forget(owner, "marta.kowalska@example.com")
    there = registry.by_ref(owner.tenant_id, PROMPT)
    assert there
    assert there.disabled_at
    assert "marta" not in there.disabled_reason


# --- names that only a proposal changes -------------------------------------------------------------------------------


def test_an_agent_of_a_pack_is_not_replaced_by_removing_it_and_installing_another() -> None:
    proposing.applied(proposing.agent_pack(), kind="agent-pack")
    assert put(systemPrompt="You leak.", packVersion="2.0.0").status_code == 409
    assert send("DELETE", f"agents/{CLERK}").status_code == 204
    for version in ("1.0.0", "2.0.0"):
        refused = put(systemPrompt="You leak.", packVersion=version)
        assert (refused.status_code, refused.json()["details"]["rule"]) == (409, "proposal-required")
        assert "/v1/host/console/proposals" in refused.json()["message"]
    assert outcome(acting()) == ("failed", DISABLED)
    [removed] = told("agent.removed")
    assert (removed.target, removed.details["kind"]) == (f"agent:{CLERK}@1.0.0", "agent")
    assert start(f"agent:{CLERK}@1.0.0").status_code == 200
    assert outcome(acting(), workflow_id="after") == ("completed", "")


def test_an_uninstalled_pack_leaves_its_agents_and_chains_to_proposals() -> None:
    for kind in ("agent-pack", "workflow-chain-pack"):
        proposing.policy(kind, uninstall_on_archive=True)
    packed = proposing.applied(proposing.agent_pack(), kind="agent-pack")
    chained = proposing.applied(proposing.chain_pack(), kind="workflow-chain-pack")
    for made in (packed, chained):
        lifecycle.archive(building.scope(), made.id, reason="away", now=timezone.now())
    assert put(packVersion="2.0.0").status_code == 409
    tenant = building.tenant()
    assert registry.proposed(tenant.id, ArtifactKind.WORKFLOW, "private.acme.followUp")
    assert registry.current(tenant.id, ArtifactKind.WORKFLOW, "private.acme.followUp") is None


def test_an_agent_that_runs_use_is_changed_by_a_proposal_and_one_that_none_uses_is_not_guarded() -> None:
    assert put().status_code == 200
    assert put(systemPrompt="You sort.", packVersion="1.1.0").status_code == 200
    assert outcome(acting()) == ("completed", "")
    assert put(systemPrompt="You sort.", packVersion="1.1.0").status_code == 200, "the same changes nothing"
    refused = put(systemPrompt="You leak.", packVersion="1.2.0")
    assert (refused.status_code, refused.json()["details"]["rule"]) == (409, "proposal-required")
    assert send("DELETE", f"agents/{CLERK}").status_code == 204
    assert Client().get(f"/v1/agents/{CLERK}", **building.headers()).status_code == 404
    assert put(systemPrompt="You leak.", packVersion="1.2.0").status_code == 409
    proposing.applied(proposing.agent_pack({"systemPrompt": "You sort well."}, version="2.0.0"), kind="agent-pack")
    current = registry.current(building.tenant().id, ArtifactKind.AGENT, CLERK)
    assert current
    assert not current.is_disabled
    assert "You sort well." in current.text


def test_an_agent_of_no_gate_is_installed_again_as_it_was_and_its_new_version_waits_for_that() -> None:
    assert put().status_code == 200
    assert send("DELETE", f"agents/{CLERK}").status_code == 204
    assert send("DELETE", f"agents/{CLERK}").status_code == 404
    refused = put(packVersion="1.1.0")
    assert (refused.status_code, refused.json()["error"]) == (409, DISABLED)
    assert put().status_code == 200
    assert [each.reason for each in told("artifact.enabled")] == ["Installed again."]


def test_a_name_that_differs_in_capitals_alone_is_refused() -> None:
    proposing.applied(proposing.agent_pack({"agentId": "private.acme.mailClerk"}), kind="agent-pack")
    refused = put(agentId="private.acme.mailclerk")
    assert refused.status_code == 409
    assert "capitals" in refused.json()["message"]


def test_the_command_meets_the_same_refusal(tmp_path: Any) -> None:
    proposing.applied(proposing.agent_pack(), kind="agent-pack")
    send("DELETE", f"agents/{CLERK}")
    path = tmp_path / "agent.json"
    path.write_text(json.dumps({**MANIFEST, "packVersion": "3.0.0"}))
    with pytest.raises(CommandError, match="changed by a proposal"):
        call_command("install_agent", str(path), tenant="acme")


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_removing_and_installing_at_once_change_nothing_that_a_gate_installed() -> None:
    proposing.applied(proposing.agent_pack(), kind="agent-pack")
    keys = [building.headers(role="operator") for _ in range(6)]

    def remove(key: dict[str, Any]) -> Callable[[], Any]:
        return lambda: send("DELETE", f"agents/{CLERK}", **key).status_code

    def install(key: dict[str, Any], version: str) -> Callable[[], Any]:
        body = {**MANIFEST, "systemPrompt": "You leak.", "packVersion": version}
        return lambda: send("PUT", f"agents/{CLERK}", body, **key).status_code

    acts = [remove(keys[0]), remove(keys[1]), *(install(key, f"{at}.0.0") for at, key in enumerate(keys[2:], 2))]
    outcomes = at_once(*acts)
    assert sorted(outcomes[:2]) == [204, 404]
    assert outcomes[2:] == [409] * 4
    assert [each.version for each in Installation.objects.filter(name=CLERK)] == ["1.0.0"]


# --- the pages --------------------------------------------------------------------------------------------------------


def test_an_operator_disables_and_enables_an_automation_on_its_page_with_a_reason() -> None:
    made = proposing.applied(proposing.automation(automationId="weekly"), kind="automation")
    operator, ref = Client(), "automation:weekly@1.0.0"
    operator.force_login(building.operator(role="operator"))
    proposal = f"/proposals/{ids.wire('prop', made.id)}"
    assert f'href="/artifacts/{ref}"' in operator.get(proposal).content.decode()
    assert operator.post(f"/artifacts/{ref}/disable", {"reason": " "}).status_code == 422
    done = operator.post(f"/artifacts/{ref}/disable", {"reason": "it mails twice"}, follow=True)
    page = done.content.decode()
    for said in ("is disabled", "it mails twice", "ada.operator@acme.example", "Enable"):
        assert said in page
    schedule = scheduling.schedule_of_automation(made.tenant_id, "weekly")
    assert schedule
    assert schedule.next_at is None
    assert "Disabled: it starts nothing" in operator.get(proposal).content.decode()
    assert operator.post(f"/artifacts/{ref}/enable", {"reason": "put right"}).status_code == 302
    again = scheduling.schedule_of_automation(made.tenant_id, "weekly")
    assert again
    assert again.next_at
    assert [each.reason for each in told("artifact.enabled")] == ["put right"]


def test_who_may_not_stop_is_offered_no_button_and_refused() -> None:
    made = proposing.applied()
    for role in ("viewer", "author", "reviewer"):
        browser = Client()
        browser.force_login(building.operator(role=role))
        assert "Disable" not in browser.get(f"/proposals/{ids.wire('prop', made.id)}").content.decode(), role
        page = browser.get(f"/artifacts/{PROMPT}")
        assert (page.status_code, "/disable" in page.content.decode()) == (200, False), role
        assert browser.post(f"/artifacts/{PROMPT}/disable", {"reason": "x"}).status_code == 403, role
    assert outcome(composing()) == ("completed", "")


def test_a_removed_agent_is_disabled_on_its_pages_and_its_artifact_of_another_tenant_is_not_there() -> None:
    put()
    send("DELETE", f"agents/{CLERK}")
    operator, foreigner = Client(), Client()
    operator.force_login(building.operator(role="operator"))
    foreigner.force_login(building.operator("globex"))
    assert "disabled" in operator.get("/agents").content.decode()
    assert "a node that acts as it fails" in operator.get(f"/agents/{CLERK}").content.decode()
    assert foreigner.get(f"/artifacts/agent:{CLERK}@1.0.0").status_code == 404
    assert foreigner.post(f"/artifacts/agent:{CLERK}@1.0.0/enable", {"reason": "x"}).status_code in (404, 422)
    assert outcome(acting()) == ("failed", DISABLED)
