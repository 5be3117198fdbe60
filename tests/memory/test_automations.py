"""Automations: what they may be, the schedule that comes and goes with one, and the runs it starts (RFC 0052)."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory.forget import execution
from memory.host import audit, ids, registry, runs, scheduling, vault
from memory.host.errors import Conflict, NotFound, Unprocessable
from memory.host.models import Run, Schedule
from memory.wire import instant
from openwop_console.runtime import automations, engine
from openwop_console.runtime import schedules as timed_schedules
from proposals import lifecycle, review
from proposals.drafts import Change
from proposals.models import Proposal
from tests import building, proposing

pytestmark = pytest.mark.django_db
KIND = "automation"
CHAIN = "private.acme.followUp"
NAMED = "automation/weekly.noop"
MINUTELY = {"automationId": "weekly.noop", "cron": "* * * * *"}


def propose(**changes: Any) -> Proposal:
    return proposing.propose(text=proposing.automation(**changes), kind=KIND, title="Every week")


def install(**changes: Any) -> Proposal:
    return proposing.applied(proposing.automation(**changes), kind=KIND)


def later(**distance: float) -> str:
    return instant(timezone.now() + timedelta(**distance))


def schedules() -> list[Schedule]:
    return scheduling.page(building.tenant().id, size=100).rows


def advanced(run: Run, *, at: datetime) -> Run:
    """The run as it is after a worker had it at that time."""
    engine.advance(run.tenant_id, run.id, holder="test/1", clock=lambda: at)
    return runs.find(run.tenant_id, run.id)


def named(**changes: Any) -> str:
    return automations.name_of(json.loads(proposing.automation(**changes)))


# --- what an automation may be ----------------------------------------------------------------------------------------

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no workflow of this tenant": ({"workflowId": "canary"}, "artifact.workflowId"),
    "a workflow's id with a line break": ({"workflowId": "conformance-noop\n"}, "artifact.workflowId"),
    "an input that is not allowed": ({"workflowId": CHAIN, "inputs": {"customer": 5}}, "artifact.inputs.customer"),
    "an input that is missing": ({"workflowId": CHAIN}, "artifact.inputs.customer"),
    "inputs that are no object": ({"inputs": ["canary"]}, "artifact.inputs"),
    "no time": ({"cron": None}, "artifact.cron"),
    "two times": ({"cron": "0 7 * * 1", "fireAt": "2026-01-01T00:00:00Z"}, "artifact"),
    "a cron that is too short": ({"cron": "* * * *"}, "artifact.cron"),
    "a cron that is too long": ({"cron": "0" + " " * 300 + "7 * * 1"}, "artifact.cron"),
    "a cron that is none": ({"cron": "canary canary"}, "artifact.cron"),
    "a cron of seven fields": ({"cron": "0 0 7 * * 1 2030"}, "artifact.cron"),
    "a cron by chance": ({"cron": "H 7 * * 1"}, "artifact.cron"),
    "a second within the minute": ({"cron": "30 0 7 * * 1"}, "artifact.cron"),
    "every second": ({"cron": "* * * * * *"}, "artifact.cron"),
    "a day that no calendar has": ({"cron": "0 7 31 2 *"}, "artifact.cron"),
    "an instant that is over": ({"fireAt": "2020-01-01T00:00:00Z"}, "artifact.fireAt"),
    "an instant beyond the horizon": ({"fireAt": "2999-01-01T00:00:00Z"}, "artifact.fireAt"),
    "an instant without a zone": ({"fireAt": "2030-01-01T00:00:00"}, "artifact.fireAt"),
    "an instant that no calendar has": ({"fireAt": "0001-01-01T00:00:00+23:59"}, "artifact.fireAt"),
    "a zone that is none": ({"timezone": "Mars/Canary"}, "artifact.timezone"),
    "a policy that is none": ({"missedTickPolicy": "catch-up"}, "artifact.missedTickPolicy"),
    "a name that is none": ({"automationId": "Canary"}, "artifact.automationId"),
    "a name with a line break": ({"automationId": "weekly\n"}, "artifact.automationId"),
    "a version that is none": ({"version": "1"}, "artifact.version"),
    "an unknown member": ({"canary": 1}, "artifact"),
}  # fmt: skip


def test_an_automation_that_could_not_be_carried_out_is_refused_by_path_and_keeps_no_schedule() -> None:
    proposing.applied(proposing.chain_pack(), kind="workflow-chain-pack")
    for name, (change, path) in BAD.items():
        with pytest.raises(Unprocessable) as refused:
            propose(**change)
        assert path in {each["field"] for each in refused.value.details["errors"]}, name
        assert "anary" not in " ".join(each["message"] for each in refused.value.details["errors"]), name
    assert schedules() == []


def test_the_inputs_of_an_automation_are_those_that_its_workflow_takes() -> None:
    proposing.applied(proposing.chain_pack(), kind="workflow-chain-pack")
    assert propose(workflowId=CHAIN, inputs={"customer": "Marta", "days": 2}).state == "draft"
    for inputs, wrong in (({"customer": "Marta", "days": 0}, "days"), ({"days": 2}, "customer")):
        with pytest.raises(Unprocessable) as refused:
            propose(workflowId=CHAIN, inputs=inputs)
        assert [each["field"] for each in refused.value.details["errors"]] == [f"artifact.inputs.{wrong}"]


def test_a_day_beyond_the_horizon_is_refused() -> None:
    leap_day = proposing.draft(proposing.automation(cron="0 7 29 2 *"), kind=KIND)
    with pytest.raises(Unprocessable) as refused:
        lifecycle.create(building.scope(role="agent"), leap_day, now=datetime(2026, 11, 3, tzinfo=UTC))
    assert {each["field"] for each in refused.value.details["errors"]} == {"artifact.cron"}
    near = lifecycle.create(building.scope(role="agent"), leap_day, now=datetime(2028, 2, 3, tzinfo=UTC))
    assert near.state == "draft"


@pytest.mark.parametrize(
    "given",
    [
        {"cron": "0 0 7 * * 1"},
        {"cron": "0 7 * * 1", "timezone": "Europe/Berlin", "missedTickPolicy": "skip"},
        {"cron": "  0   7 * *  MON "},
        {"fireAt": later(days=1).lower(), "timezone": "Asia/Tokyo"},
    ],
)
def test_a_time_that_this_host_can_keep_is_taken(given: dict[str, Any]) -> None:
    assert propose(**given).state == "draft"


def test_a_workflow_of_another_tenant_is_none_of_ours() -> None:
    building.install("globex", building.definition("theirs", building.node("a", "core.noop")))
    with pytest.raises(Unprocessable):
        propose(workflowId="theirs")


def test_two_times_of_one_workflow_are_two_automations_however_a_time_is_written() -> None:
    monday = named(cron="0 7 * * 1")
    assert monday.startswith("conformance-noop.")
    assert len(monday.removeprefix("conformance-noop.")) == 8
    assert monday == named(cron="0 0 7  * * 1", timezone="UTC", version="2.0.0", inputs={"a": 1})
    assert monday not in {named(cron="0 8 * * 1"), named(cron="0 7 * * 1", timezone="Europe/Berlin")}
    once = named(fireAt="2030-01-01T00:00:00Z")
    assert once == named(fireAt="2030-01-01t01:00:00+01:00")
    assert named(automationId="weekly") == "weekly"
    install()
    install(cron="0 8 * * 1")
    assert len(schedules()) == 2


# --- it comes and goes ------------------------------------------------------------------------------------------------


def test_a_draft_keeps_no_schedule_and_what_is_installed_keeps_one() -> None:
    made = propose(**MINUTELY, timezone="Europe/Berlin", missedTickPolicy="skip", inputs={"greeting": "hello"})
    assert schedules() == []
    assert timed_schedules.fire_due(timezone.now() + timedelta(days=1)) == 0
    gate = proposing.opened(made)
    proposing.decide(made, gate)
    assert proposing.advance(gate).status == "completed"
    [kept] = schedules()
    assert (kept.name, kept.workflow_id, kept.principal) == (NAMED, "conformance-noop", "host")
    assert (kept.cron, kept.timezone, kept.missed) == ("* * * * *", "Europe/Berlin", "skip")
    assert kept.inputs == {"greeting": "hello"}
    assert (kept.enabled, kept.next_at is not None) == (True, True)


def test_a_run_that_an_automation_started_is_on_record_as_its_effect() -> None:
    acme = building.scope()
    made = install(**MINUTELY)
    assert review.detail(acme, made.id).effect.uses_total == 0
    after = timezone.now() + timedelta(minutes=2)
    assert timed_schedules.fire_due(after) == 1
    run = advanced(Run.objects.of(acme.tenant_id).get(workflow_id="conformance-noop"), at=after)
    assert (run.status, run.metadata["origin"]["schedule"]) == ("completed", NAMED)
    assert [use.installation.ref for use in registry.used_by(run)] == ["automation:weekly.noop@1.0.0"]
    assert [use.run_id for use in review.detail(acme, made.id).effect.uses] == [run.id]


@pytest.mark.engines
def test_a_run_of_an_ordinary_schedule_is_nobody_s_effect() -> None:
    acme = building.scope()
    install(**MINUTELY)
    order = scheduling.ScheduleOrder("own", "conformance-noop", acme.principal.id, cron="* * * * *")
    timed_schedules.create(acme, order, now=timezone.now())
    timed_schedules.change(acme, NAMED, {"enabled": False}, now=timezone.now())
    assert timed_schedules.fire_due(timezone.now() + timedelta(minutes=2)) == 1
    assert registry.used_by(Run.objects.of(acme.tenant_id).get(workflow_id="conformance-noop")) == []


def test_the_next_version_takes_the_place_of_the_one_before_and_a_rollback_brings_that_back() -> None:
    install(**MINUTELY)
    install(**MINUTELY | {"cron": "0 7 * * 1", "version": "2.0.0"})
    assert [(row.name, row.cron) for row in schedules()] == [(NAMED, "0 7 * * 1")]
    back = lifecycle.propose(building.scope(role="agent"), "automation:weekly.noop@1.0.0", now=timezone.now())
    gate = proposing.opened(back)
    proposing.decide(back, gate)
    assert proposing.advance(gate).status == "completed"
    assert [(row.name, row.cron) for row in schedules()] == [(NAMED, "* * * * *")]


def test_what_is_archived_and_uninstalled_starts_nothing_any_more() -> None:
    made = install(**MINUTELY)
    proposing.policy(KIND, uninstall_on_archive=True)
    lifecycle.archive(building.scope(), made.id, now=timezone.now())
    assert schedules() == []
    assert timed_schedules.fire_due(timezone.now() + timedelta(days=1)) == 0


def test_an_instant_that_passes_while_the_gate_is_open_installs_nothing() -> None:
    made = propose(fireAt=later(hours=1))
    gate = proposing.opened(made)
    proposing.decide(made, gate)
    run = advanced(runs.find(gate.tenant_id, gate.run_id), at=timezone.now() + timedelta(hours=2))
    assert (run.status, run.error["code"]) == ("failed", "validation_error")
    assert (proposing.fresh(made).state, schedules()) == ("draft", [])


def test_an_instant_that_has_passed_is_refused_again_when_it_is_asked_for_or_revised() -> None:
    made = propose(fireAt=later(hours=1))
    after = timezone.now() + timedelta(hours=2)
    with pytest.raises(Unprocessable) as refused:
        lifecycle.ask_to_apply(building.scope(role="reviewer"), made.id, now=after)
    assert {each["field"] for each in refused.value.details["errors"]} == {"artifact.fireAt"}
    with pytest.raises(Unprocessable):
        lifecycle.revise(building.scope(role="author"), made.id, Change(title="Later"), now=after)


# --- the API of schedules ---------------------------------------------------------------------------------------------


def test_the_schedule_of_an_automation_is_read_and_switched_and_nothing_else() -> None:
    install(**MINUTELY)
    acme, now = building.scope(), timezone.now()
    for change in ({"cron": "0 7 * * 1"}, {"inputs": {"x": 1}}, {"workflow_id": "conformance-delay"}):
        with pytest.raises(Conflict):
            timed_schedules.change(acme, NAMED, change, now=now)
    with pytest.raises(Conflict):
        timed_schedules.remove(acme, NAMED, now=now)
    assert timed_schedules.change(acme, NAMED, {"enabled": False}, now=now).next_at is None
    assert timed_schedules.fire_due(now + timedelta(days=1)) == 0
    assert timed_schedules.change(acme, NAMED, {"enabled": True}, now=now).next_at
    assert timed_schedules.read(acme, NAMED).principal == "host"
    with pytest.raises(NotFound):
        timed_schedules.read(building.scope("globex"), NAMED)


def test_it_has_an_address_like_every_schedule() -> None:
    install(**MINUTELY)
    client, address, owner = Client(), f"/v1/host/console/schedules/{NAMED}", building.headers()
    assert client.get(address, **owner).json()["nextTicks"]
    assert client.get(f"{address}/ticks", **owner).json()["ticks"] == []
    assert client.delete(address, **owner).status_code == 409
    assert client.get(address, **building.headers("globex")).status_code == 404
    body = json.dumps({"enabled": False})
    assert client.patch(address, body, content_type="application/json", **owner).json()["enabled"] is False


# --- what it keeps ----------------------------------------------------------------------------------------------------


def test_a_forgotten_subject_goes_from_what_an_automation_gives_its_runs_and_it_can_still_go() -> None:
    acme, now = building.scope(), timezone.now()
    install(**MINUTELY, inputs={"to": "marta.kowalska"})
    asked = execution.preview(acme, ["marta.kowalska"], now=now).request
    execution.confirm(acme, asked.id, typed="marta.kowalska", reason="asked", ticked=set(), now=now)
    execution.execute(acme.tenant_id, asked.id, holder="test/1", now=now, clock=timezone.now)
    [kept] = schedules()
    assert (kept.inputs, kept.enabled) == ({"to": "[FORGOTTEN]"}, True)
    install(**MINUTELY | {"version": "2.0.0"})
    assert [row.inputs for row in schedules()] == [{}]


def test_one_that_is_called_after_the_subject_stands_still_and_its_removal_finds_nothing() -> None:
    acme, now = building.scope(), timezone.now()
    made = install(automationId="marta.kowalska")
    asked = execution.preview(acme, ["marta.kowalska"], now=now).request
    execution.confirm(acme, asked.id, typed="marta.kowalska", reason="asked", ticked=set(), now=now)
    execution.execute(acme.tenant_id, asked.id, holder="test/1", now=now, clock=timezone.now)
    [kept] = schedules()
    assert (kept.name.startswith("forgotten-"), kept.enabled) == (True, False)
    installed = registry.by_ref(acme.tenant_id, made.installed_ref or "")
    assert installed
    automations.INSTALLER.on_superseded(installed, now)
    assert len(schedules()) == 1


def test_a_secret_that_the_vault_learned_later_does_not_come_into_a_schedule() -> None:
    acme = building.scope()
    made = propose(**MINUTELY, inputs={"with": "hunter2-hunter2"})
    vault.store_secret(acme.tenant_id, "crm-key", "hunter2-hunter2", now=timezone.now())
    gate = proposing.opened(made)
    proposing.decide(made, gate)
    proposing.advance(gate)
    assert [row.inputs for row in schedules()] == [{"with": "[REDACTED:crm-key]"}]


def test_that_it_came_is_told_by_the_audit_of_its_proposal() -> None:
    made = install(**MINUTELY)
    told = [record.details for record in audit.newest(made.tenant_id) if record.target == ids.wire("prop", made.id)]
    assert any(details.get("installedArtifactRef") == "automation:weekly.noop@1.0.0" for details in told)


def test_a_tick_is_kept_in_its_zone() -> None:
    install(automationId="weekly.noop", cron="30 7 * * *", timezone="America/New_York")
    [kept] = schedules()
    assert kept.next_at
    assert kept.next_at.astimezone(UTC).minute == 30
    assert kept.next_at > datetime.now(UTC)
