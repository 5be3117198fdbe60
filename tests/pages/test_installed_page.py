"""Installed: what runs use now, where it came from, and how it is stopped, started and rolled back from the page."""

import json
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory.host import audit, ids, registry, scheduling
from memory.host.models import ArtifactKind, Schedule
from proposals import lifecycle
from proposals.models import GateState, Proposal, State
from tests import building, proposing
from tests.pages.conftest import SignIn, body_of, standing

pytestmark = pytest.mark.django_db
PROMPT = "prompt:triage.summary@1.1.0"


def use_prompt(workflow_id: str = "uses-it") -> str:
    """A run that resolves the prompt."""
    given = {"inputs": {"ticket": {"type": "static", "value": "a ticket"}}}
    node = building.node("write", "vendor.console.compose", {"template": "triage.summary"}) | given
    building.install("acme", building.definition(workflow_id, node))
    return ids.wire("run", building.execute(building.scope(), workflow_id).id)


def two_versions() -> tuple[Proposal, Proposal]:
    first = proposing.applied(text=proposing.artifact(version="1.0.0", text="Slowly."))
    return first, proposing.applied(text=proposing.artifact(version="1.1.0", text="Quickly."))


@pytest.mark.engines
def test_the_page_says_what_is_in_force_and_through_which_proposal(ada: Client) -> None:
    _, made = two_versions()
    building.install("acme", building.definition("by-hand", building.node("n", "core.noop")))
    use_prompt()
    shown = body_of(ada.get("/installed"))
    assert "1.1.0" in shown
    assert "prompt:triage.summary@1.0.0" not in shown
    assert f"/proposals/{ids.wire('prop', made.id)}" in shown
    assert "by-hand" in shown
    assert standing(1, 3, 3, "versions") in shown
    [row] = json.loads(body_of(ada.get("/installed?kind=prompt-template&format=json")))["installed"]
    assert (row["ref"], row["state"], row["uses"]) == (PROMPT, "enabled", "1")
    assert row["proposalId"] == ids.wire("prop", made.id)
    assert row["lastUsedAt"]


def test_the_parts_of_a_pack_are_counted_with_it_and_not_listed_beside_it(ada: Client) -> None:
    proposing.applied(text=proposing.agent_pack(), kind="agent-pack")
    rows = json.loads(body_of(ada.get("/installed?format=json")))["installed"]
    assert [row["kind"] for row in rows] == ["agent-pack"]


def test_a_kind_or_a_state_narrows_the_list_and_an_unknown_one_is_refused_in_words(ada: Client) -> None:
    proposing.applied()
    assert "triage.summary" in body_of(ada.get("/installed?kind=prompt-template&state=enabled"))
    assert "triage.summary" not in body_of(ada.get("/installed?state=disabled"))
    answer = ada.get("/installed?kind=nonsense")
    assert answer.status_code == 400
    assert "must be one of" in body_of(answer)


def test_an_automation_shows_its_next_run_until_it_is_disabled(ada: Client) -> None:
    building.install("acme", building.definition("triage", building.node("n", "core.noop")))
    made = proposing.applied(text=proposing.automation(automationId="weekly.noop"), kind="automation")
    assert "next run" in body_of(ada.get("/installed"))
    ada.post(f"/artifacts/{made.installed_ref}/disable", {"reason": "too many runs"})
    shown = body_of(ada.get("/installed"))
    assert "next run" not in shown
    assert "disabled" in shown


def test_one_operator_stops_and_starts_an_artifact_in_two_clicks_with_a_reason_on_record(sign_in: SignIn) -> None:
    made, operator = proposing.applied(), sign_in(role="operator")
    assert f"/artifacts/{made.installed_ref}#id_reason" in body_of(operator.get("/installed"))
    url = f"/artifacts/{made.installed_ref}"
    assert operator.post(f"{url}/disable", {"reason": ""}).status_code == 422
    assert "was disabled" not in body_of(operator.get(url))
    assert operator.post(f"{url}/disable", {"reason": "incident 42"}).status_code == 302
    assert "incident 42" in body_of(operator.get(url))
    told = [each.action for each in audit.newest(building.tenant().id)]
    assert told.count("artifact.disabled") == 1


def test_a_viewer_reads_and_is_offered_no_button(sign_in: SignIn) -> None:
    first, made = two_versions()
    viewer = sign_in(role="viewer")
    assert "#id_reason" not in body_of(viewer.get("/installed"))
    shown = body_of(viewer.get(f"/artifacts/{made.installed_ref}"))
    assert "Roll back<" not in shown
    assert viewer.post(f"/artifacts/{first.installed_ref}/roll-back").status_code == 403
    assert Proposal.objects.count() == 2


def test_rolling_back_takes_one_click_on_the_version_and_opens_the_gate(ada: Client) -> None:
    first, made = two_versions()
    page = body_of(ada.get(f"/artifacts/{made.installed_ref}"))
    assert f"/artifacts/{first.installed_ref}/roll-back" in page
    answer = ada.post(f"/artifacts/{first.installed_ref}/roll-back", follow=True)
    assert "Approval requested." in body_of(answer)
    back = Proposal.objects.get(purpose="rollback")
    opened = proposing.opened(back)
    assert (opened.state, back.state) == (GateState.OPEN, State.DRAFT)
    proposing.decide(back, opened)
    assert proposing.advance(opened).status == "completed"
    there = registry.current(building.tenant().id, ArtifactKind.PROMPT_TEMPLATE, "triage.summary")
    assert there
    assert there.ref == first.installed_ref
    shown = body_of(ada.get(f"/artifacts/{first.installed_ref}"))
    assert "in force again" in shown
    assert "rollback" in body_of(ada.get("/installed"))


def test_an_author_rolls_back_to_a_draft_that_somebody_else_takes_on(sign_in: SignIn) -> None:
    first, _ = two_versions()
    answer = sign_in(role="author").post(f"/artifacts/{first.installed_ref}/roll-back", follow=True)
    assert "Saved as a draft." in body_of(answer)
    assert Proposal.objects.get(purpose="rollback").state == State.DRAFT


def test_what_is_current_is_not_rolled_back_to_and_nothing_is_made(ada: Client) -> None:
    _, made = two_versions()
    answer = ada.post(f"/artifacts/{made.installed_ref}/roll-back")
    assert answer.status_code == 409
    assert "is the current version already" in body_of(answer)
    assert Proposal.objects.count() == 2
    assert ada.post("/artifacts/prompt:nothing@1.0.0/roll-back").status_code == 404


def test_two_versions_are_compared_line_by_line(ada: Client) -> None:
    first, made = two_versions()
    shown = body_of(ada.get(f"/artifacts/{made.installed_ref}?compare={first.installed_ref}"))
    assert "Compared with 1.0.0" in shown
    assert "<del>" in shown
    side = body_of(ada.get(f"/artifacts/{made.installed_ref}?compare={first.installed_ref}&mode=side"))
    assert "diff-side" in side
    assert ada.get(f"/artifacts/{made.installed_ref}?compare=prompt:other@1.0.0").status_code == 400


def test_the_page_of_a_version_names_who_approved_it_and_the_runs_that_used_it(ada: Client) -> None:
    proposing.applied()
    run = use_prompt()
    shown = body_of(ada.get(f"/artifacts/{PROMPT}"))
    assert "granted by" in shown
    assert f"/runs/{run}" in shown
    assert "<dt>Proposal</dt>" in shown


def test_the_page_of_a_version_in_force_again_says_by_whose_approval(ada: Client) -> None:
    first, _ = two_versions()
    again = lifecycle.propose(building.scope(role="author"), str(first.installed_ref), now=timezone.now())
    vera = building.scope(owner=building.operator(email="vera@acme.example"))
    gate = proposing.opened(again)
    proposing.decide(again, gate, by=vera)
    proposing.advance(gate)
    shown = body_of(ada.get(f"/artifacts/{first.installed_ref}"))
    assert "vera@acme.example" not in shown.partition("<dt>Installed</dt>")[2].partition("</dd>")[0]
    proposal = shown.partition("<dt>Proposal</dt>")[2].partition("</dd>")[0]
    assert re.search("in force again.* by .*vera@acme.example", proposal, re.DOTALL)


@pytest.mark.engines
def test_a_workflow_is_used_by_the_runs_that_were_started_with_its_text(ada: Client) -> None:
    building.install("acme", building.definition("plain", building.node("n", "core.noop")))
    assert json.loads(body_of(ada.get("/installed?format=json")))["installed"][0]["lastUsedAt"] is None
    run = ids.wire("run", building.execute(building.scope(), "plain").id)
    [row] = json.loads(body_of(ada.get("/installed?format=json")))["installed"]
    assert row["uses"] == "1"
    assert row["lastUsedAt"]
    shown = body_of(ada.get(f"/artifacts/{row['ref']}"))
    assert f"/runs/{run}" in shown
    assert f"{run[-5:]}</code>" in shown


def test_the_search_of_the_header_goes_to_an_artifact_by_its_ref(ada: Client) -> None:
    proposing.applied()
    assert ada.get(f"/search?q={PROMPT}")["Location"] == f"/artifacts/{PROMPT}"


def test_another_tenant_sees_none_of_it(sign_in: SignIn) -> None:
    first, made = two_versions()
    gil = sign_in("globex")
    assert "triage.summary" not in body_of(gil.get("/installed"))
    assert gil.get(f"/artifacts/{made.installed_ref}").status_code == 404
    assert gil.post(f"/artifacts/{first.installed_ref}/roll-back").status_code == 404


def test_the_list_costs_as_many_queries_however_much_is_installed(ada: Client) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert ada.get("/installed").status_code == 200
        return len(queries.captured_queries)

    proposing.applied()
    building.install("acme", building.definition("first", building.node("n", "core.noop")))
    ada.get("/installed")
    before: Any = asked()
    for number in range(12):
        building.install("acme", building.definition(f"w{number}", building.node("n", "core.noop")))
    assert asked() == before


def test_a_schedule_is_paused_and_resumed_at_once_with_a_reason_on_record(ada: Client, sign_in: SignIn) -> None:
    proposing.applied(proposing.automation(automationId="weekly.noop"), kind="automation")
    url = "/installed/schedules/automation/weekly.noop"
    assert f'action="{url}/pause"' in body_of(ada.get("/installed"))
    viewer, tenant_id = sign_in(role="viewer"), building.tenant().id

    def schedule() -> Schedule:
        return scheduling.find(tenant_id, "automation/weekly.noop")

    assert f'action="{url}/pause"' not in body_of(viewer.get("/installed"))
    assert viewer.post(f"{url}/pause", {"reason": "no"}).status_code == 403
    assert sign_in("globex").post(f"{url}/pause", {"reason": "no"}).status_code == 404
    assert ada.post(f"{url}/pause", {"reason": " "}).status_code == 422
    assert schedule().enabled
    assert ada.post(f"{url}/pause", {"reason": "It writes too much."}).status_code == 302
    assert (schedule().enabled, schedule().next_at) == (False, None)
    act = next(iter(audit.newest(tenant_id)))
    assert (act.action, act.facts) == ("schedule.changed", {"enabled": False, "reason": "It writes too much."})
    shown = body_of(ada.get("/installed"))
    assert ">paused<" in shown
    assert f'action="{url}/resume"' in shown
    ada.post(f"{url}/resume", {"reason": "It was repaired."})
    assert schedule().next_at


def test_the_schedule_of_a_disabled_automation_is_not_resumed(ada: Client) -> None:
    made = proposing.applied(proposing.automation(automationId="weekly.noop"), kind="automation")
    ada.post(f"/artifacts/{made.installed_ref}/disable", {"reason": "It writes too much."})
    refused = ada.post("/installed/schedules/automation/weekly.noop/resume", {"reason": "Once more."})
    assert refused.status_code == 409
    assert "disabled" in body_of(refused)
