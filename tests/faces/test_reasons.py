"""The words that people give as reasons: beside the log, in the event for who may read it, gone with a forget."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory import artifact_stops, corrections, event_notes, ledger, reasons
from memory.forget import execution, holds
from memory.host import audit, event_log, ids, runs, vault
from memory.host.errors import Invalid
from memory.host.models import AuditReason, AuditRecord, Run
from memory.models import ForgetHold, ForgetRequest
from memory.models.entry import MemoryEntry
from memory.passes import orders
from memory.passes.orders import RequestedPass
from openwop_console.runtime import run_operations, schedules
from openwop_console.runtime.run_operations import RunRequest
from proposals import lifecycle
from proposals.models import Gate
from tests import building, proposing
from tests.faces.test_strictness import OPERATIONS, bodies
from tests.memory.test_forgetting import everything_stored
from tests.pages.conftest import body_of
from tests.peopled import BODIES, PREPARED, World

pytestmark = pytest.mark.django_db
PERSON = "marta.kowalska@example.com"


@pytest.fixture
def acme() -> World:
    return World("acme")


@pytest.fixture
def ada() -> Client:
    browser = Client()
    browser.force_login(building.operator("acme"))
    return browser


def begun(acme: World, workflow_id: str = "conformance-cancellable") -> Run:
    return building.advance(run_operations.create_run(acme.scope, RunRequest(workflow_id), now=timezone.now()))


def event(acme: World, run: Run, kind: str) -> dict[str, Any]:
    found = acme.ask("GET", f"/v1/runs/{ids.wire('run', run.id)}/events").json()["events"]
    [one] = [each for each in found if each["type"] == kind]
    payload: dict[str, Any] = one["payload"]
    return payload


def forget(acme: World, *, ticked: bool = False) -> ForgetRequest:
    now = timezone.now()
    found = execution.preview(acme.scope, [PERSON], now=now)
    suspects = {row.hex for each in found.holdings for row in each.suspected}
    given: dict[str, Any] = {"typed": PERSON, "ticked": suspects if ticked else set(), "reason": "asked", "now": now}
    execution.confirm(acme.scope, found.request.id, **given)
    execution.execute(acme.scope.tenant_id, found.request.id, holder="test/1", now=now, clock=timezone.now)
    return ForgetRequest.objects.of(acme.scope.tenant_id).get(id=found.request.id)


def steer(acme: World, run: Run, verb: str, **body: Any) -> Any:
    separator = "/" if verb == "cancel" else ":"
    return acme.ask("POST", f"/v1/runs/{ids.wire('run', run.id)}{separator}{verb}", body)


def test_a_pause_a_resume_and_a_cancellation_say_why_to_who_reads_the_run_and_the_log_does_not(acme: World) -> None:
    run = begun(acme)
    assert steer(acme, run, "pause", drainPolicy="immediate", reason="look first").status_code == 202
    assert steer(acme, run, "resume", reason="looked").status_code == 202
    assert steer(acme, run, "cancel", reason="enough").status_code == 200
    building.advance(runs.find(run.tenant_id, run.id))
    assert event(acme, run, "run.paused") == {"drainPolicy": "immediate", "reason": "look first"}
    assert event(acme, run, "run.resumed") == {"reason": "looked"}
    assert event(acme, run, "run.cancelled")["reason"] == "enough"
    polled = acme.ask("GET", f"/v1/runs/{ids.wire('run', run.id)}/events/poll?timeout=0").json()["events"]
    assert polled[-1]["payload"]["reason"] == "enough"
    kept = json.dumps([each.payload for each in event_log.read(run.tenant_id, run.id)])
    assert not [word for word in ("look first", "looked", "enough") if word in kept]


@pytest.mark.engines
def test_what_nobody_gave_a_reason_for_has_none(acme: World) -> None:
    run = begun(acme)
    steer(acme, run, "pause", drainPolicy="immediate")
    steer(acme, run, "resume")
    assert event(acme, run, "run.paused") == {"drainPolicy": "immediate"}
    assert event(acme, run, "run.resumed") == {}


@pytest.mark.engines
def test_the_reason_of_a_draining_pause_stands_in_the_event_that_comes_later(acme: World) -> None:
    run = begun(acme)
    steer(acme, run, "pause", reason="after this node")
    address = f"/v1/runs/{ids.wire('run', run.id)}"
    assert acme.ask("GET", address).json()["status"] == "running"
    drained = runs.drained(runs.find(run.tenant_id, run.id), now=timezone.now())
    event_notes.attach_reason(run, drained)
    assert acme.ask("GET", address).json()["status"] == "paused"
    assert event(acme, run, "run.paused") == {"drainPolicy": "drain-current-node", "reason": "after this node"}


def test_of_two_who_cancel_the_first_says_why(acme: World) -> None:
    run = begun(acme)
    steer(acme, run, "cancel", reason="first")
    steer(acme, run, "cancel", reason="second")
    building.advance(runs.find(run.tenant_id, run.id))
    assert event(acme, run, "run.cancelled")["reason"] == "first"


def test_a_secret_in_a_reason_is_redacted(acme: World) -> None:
    vault.store_secret(acme.scope.tenant_id, "crm", "tok-12345678", now=timezone.now())
    run = begun(acme)
    steer(acme, run, "pause", drainPolicy="immediate", reason="it leaked tok-12345678")
    assert event(acme, run, "run.paused")["reason"] == "it leaked [REDACTED:crm]"


def test_a_reason_that_names_a_forgotten_subject_reads_as_erased(acme: World) -> None:
    run = begun(acme)
    steer(acme, run, "cancel", reason=f"{PERSON} asked for it")
    building.advance(runs.find(run.tenant_id, run.id))
    forget(acme)
    assert event(acme, run, "run.cancelled")["reason"] == "[erased]"


@pytest.mark.engines
def test_an_override_reads_with_the_reason_that_was_given_and_the_log_without(acme: World) -> None:
    made = proposing.propose(author=acme.scope)
    gate = proposing.opened(made)
    given: dict[str, Any] = {"revision": gate.revision, "sha256": gate.sha256, "reason": "incident 42"}
    lifecycle.override(acme.scope, made.id, now=timezone.now(), **given)
    run = proposing.advance(gate)
    assert event(acme, run, "approval.overridden")["reason"] == "incident 42"
    assert "incident 42" not in json.dumps([each.payload for each in event_log.read(run.tenant_id, run.id)])


def test_the_reason_of_an_override_reads_as_erased_when_its_subject_is_forgotten(acme: World) -> None:
    made = proposing.propose(author=acme.scope)
    gate = proposing.opened(made)
    given: dict[str, Any] = {"revision": gate.revision, "sha256": gate.sha256, "reason": f"{PERSON} cannot wait"}
    lifecycle.override(acme.scope, made.id, now=timezone.now(), **given)
    run = proposing.advance(gate)
    assert event(acme, run, "approval.overridden")["reason"] == f"{PERSON} cannot wait"
    forget(acme)
    assert event(acme, run, "approval.overridden")["reason"] == "[erased]"


def gated() -> tuple[str, Gate, Run]:
    """A proposal under review, its gate, and the run of that gate."""
    made = proposing.propose()
    gate = proposing.opened(made)
    return ids.wire("prop", made.id), gate, runs.find(gate.tenant_id, gate.run_id)


@pytest.mark.parametrize(
    "verb",
    ["/v1/host/console/proposals/{}/withdraw", "/v1/host/sample/proposals/{}/reject"],
    ids=["withdraw", "reject"],
)
def test_why_a_proposal_was_withdrawn_or_rejected_stands_in_the_run_of_its_gate_until_it_is_forgotten(
    acme: World, verb: str
) -> None:
    proposal_id, _, run = gated()
    answer = acme.ask("POST", verb.format(proposal_id), {"reason": f"{PERSON} objects"})
    assert answer.status_code == 200, answer.content
    building.advance(runs.find(run.tenant_id, run.id))
    assert event(acme, run, "run.cancelled")["reason"] == f"{PERSON} objects"
    assert PERSON not in json.dumps([each.payload for each in event_log.read(run.tenant_id, run.id)])
    forget(acme)
    assert event(acme, run, "run.cancelled")["reason"] == "[erased]"


def test_a_rejecting_vote_reads_with_its_reason_until_it_is_forgotten(acme: World) -> None:
    proposal_id, gate, run = gated()
    vote = {"revision": gate.revision, "sha256": gate.sha256, "decision": "rejected", "reason": f"ask {PERSON}"}
    reviewer = building.headers("acme", "reviewer")
    answer = acme.browser.post(
        f"/v1/host/console/proposals/{proposal_id}/decisions", vote, content_type="application/json", **reviewer
    )
    assert answer.status_code == 200, answer.content
    building.advance(runs.find(run.tenant_id, run.id))
    assert event(acme, run, "approval.rejected")["reason"] == f"ask {PERSON}"
    forget(acme)
    assert event(acme, run, "approval.rejected")["reason"] == "[erased]"


# Reasons of acts that leave nothing but an audit record.


def a_retirement(acme: World, reason: str) -> None:
    made = building.write(acme.scope, building.open_run(acme.scope), "a red pump")
    ledger.retirement.retire_entry(acme.scope, made.id, reason=reason, now=timezone.now())


def a_restore(acme: World, reason: str) -> None:
    entry = MemoryEntry.objects.get(id=ids.parse("mem", acme.entry) or "")
    ledger.retirement.retire_entry(acme.scope, entry.id, reason="", now=timezone.now())
    ledger.retirement.restore_entry(acme.scope, entry.id, reason=reason, now=timezone.now())


def a_correction(acme: World, reason: str) -> None:
    entry = MemoryEntry.objects.get(id=ids.parse("mem", acme.entry) or "")
    corrections.correct(acme.scope, entry.id, content="another text", reason=reason, now=timezone.now())


def a_stop(acme: World, reason: str) -> None:
    artifact_stops.disable(acme.scope, acme.template, reason=reason, now=timezone.now())


def a_start(acme: World, reason: str) -> None:
    artifact_stops.disable(acme.scope, acme.template, reason="incident", now=timezone.now())
    artifact_stops.enable(acme.scope, acme.template, reason=reason, now=timezone.now())


def a_pause_of_a_schedule(acme: World, reason: str) -> None:
    schedules.change(acme.scope, acme.schedule, {"enabled": False}, reason=reason, now=timezone.now())


def an_undone_pass(acme: World, reason: str) -> None:
    building.remember("acme", "The door is blue.", "The door is blue.")
    order = orders.order(acme.scope, RequestedPass("consolidate", "notes", {}), now=timezone.now())
    assert orders.run_pass(acme.scope.tenant_id, order.id, holder="test/1", clock=timezone.now)
    assert orders.restore_pass(acme.scope, order.id, reason=reason, now=timezone.now()).entries == 1


def an_override(acme: World, reason: str) -> None:
    made = proposing.propose(author=acme.scope)
    gate = proposing.opened(made)
    given: dict[str, Any] = {"revision": gate.revision, "sha256": gate.sha256, "reason": reason}
    lifecycle.override(acme.scope, made.id, now=timezone.now(), **given)


ACTS: dict[str, Callable[[World, str], None]] = {
    "memory.retired": a_retirement,
    "memory.restored": a_restore,
    "memory.corrected": a_correction,
    "artifact.enabled": a_start,
    "artifact.disabled": a_stop,
    "schedule.changed": a_pause_of_a_schedule,
    "pass.restored": an_undone_pass,
    "approval.override": an_override,
}


def said_of(acme: World, browser: Client, action: str) -> list[str]:
    """The reason of the newest such record: over the API, in both files of the page, and on it."""
    asked = f"?action={action}"
    documents = acme.ask("GET", f"/v1/host/console/audit{asked}").json()["records"][:1]
    documents += json.loads(body_of(browser.get(f"/audit{asked}&format=json")))["records"][-1:]
    [*_, row] = csv.DictReader(io.StringIO(body_of(browser.get(f"/audit{asked}&format=csv"))))
    told = [*(each["details"]["reason"] for each in documents), json.loads(row["details"])["reason"]]
    assert all(each["unhashed"] == ["reason"] for each in documents)
    shown = [text for text in (f"{PERSON} asked for it", "[erased]") if text in body_of(browser.get(f"/audit{asked}"))]
    return told + shown


@pytest.mark.engines
def test_the_reason_of_each_act_is_shown_with_its_audit_record_until_its_subject_is_forgotten(
    acme: World, ada: Client
) -> None:
    for action, act in ACTS.items():
        act(acme, f"{PERSON} asked for it")
        assert said_of(acme, ada, action) == [f"{PERSON} asked for it"] * 4, action
    tenant_id = acme.scope.tenant_id
    assert PERSON not in json.dumps(list(AuditRecord.objects.of(tenant_id).values("target", "details")))
    done = forget(acme)
    assert done.receipt["stores"]["reasons on the audit log"]["erased"] == len(ACTS) + 1, "a correction retires too"
    assert "names on the audit log" not in [store for store, each in done.receipt["stores"].items() if each["stays"]]
    assert {action: said_of(acme, ada, action) for action in ACTS} == dict.fromkeys(ACTS, ["[erased]"] * 4)
    assert PERSON not in everything_stored()
    assert building.verified(tenant_id).intact


def test_a_reason_that_may_name_the_subject_is_offered_and_goes_when_it_is_ticked(acme: World) -> None:
    a_restore(acme, f"jo{PERSON} asked for it")
    (before,) = AuditReason.objects.of(acme.scope.tenant_id)
    found = execution.preview(acme.scope, [PERSON], now=timezone.now())
    assert [row for each in found.holdings for row in each.suspected] == [before.id]
    done = forget(acme, ticked=True)
    assert done.receipt["stores"]["reasons on the audit log"]["erased"] == 1
    assert AuditReason.objects.get(id=before.id).text == "[erased]"


@pytest.mark.engines
@pytest.mark.parametrize("change", ["UPDATE host_auditreason SET text = 'another'", "DELETE FROM host_auditreason"])
def test_the_database_lets_a_reason_be_erased_and_nothing_else(acme: World, change: str) -> None:
    a_stop(acme, "incident 7")
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(change)
    assert [each.reason for each in audit.newest(acme.scope.tenant_id, limit=1)] == ["incident 7"]


def test_no_operation_puts_what_a_person_types_as_a_reason_into_an_audit_record(
    acme: World, settings: Settings
) -> None:
    settings.OPENWOP_TEST_SEAM_ENABLED = True
    beside = set()
    for name, properties in bodies():
        if "reason" not in properties:
            continue
        route, method, _ = OPERATIONS[name]
        address = route.address(route.real(acme))
        with transaction.atomic():
            given = PREPARED[name](acme) if name in PREPARED else BODIES.get(name)
            acme.ask(method, f"/{address}", {**(given or {}), "reason": "canary"})
            records = AuditRecord.objects.of(acme.scope.tenant_id).values("target", "details")
            assert "canary" not in json.dumps(list(records)), name
            beside |= {name for _ in AuditReason.objects.filter(text="canary")}
            transaction.set_rollback(True)
    assert "disableArtifact" in beside


def test_every_reason_is_checked_as_it_is_stored_and_none_is_cut_off(acme: World) -> None:
    scope, now = acme.scope, timezone.now()
    vault.store_secret(scope.tenant_id, "mail-password", "Tr0ub4dor&3x", now=now)
    run = building.open_run(scope)
    entry, retired = (building.write(scope, run, text) for text in ("a red pump", "a blue pump"))
    ledger.retirement.retire_entry(scope, retired.id, reason="", now=now)
    held = holds.place(scope, ["Ana Novak"], reason="Case 17", now=now)
    proposal = proposing.propose()
    agent = building.install_agent("acme", {"agentId": "private.acme.triage"})
    acts: dict[str, Callable[[str], object]] = {
        "retire": lambda reason: ledger.retirement.retire_entry(scope, entry.id, reason=reason, now=now),
        "restore": lambda reason: ledger.retirement.restore_entry(scope, retired.id, reason=reason, now=now),
        "hold": lambda reason: holds.place(scope, ["Marta Kowalska"], reason=reason, now=now),
        "end of a hold": lambda reason: holds.end(scope, held.id, reason=reason, now=now),
        "reject": lambda reason: lifecycle.reject(scope, proposal.id, reason=reason, now=now),
        "disable": lambda reason: artifact_stops.disable(scope, agent.ref, reason=reason, now=now),
    }
    longer = "Tr0ub4dor&3x " * 38
    assert len(longer.strip()) <= reasons.MAX_REASON
    for name, act in acts.items():
        for given, problem in {
            "x" * 501: "is longer than 500 characters",
            longer: "is longer than 500 characters once its secrets are replaced",
            "a bell \a": "holds a character that cannot be stored",
            "half \ud800": "holds a character that cannot be stored",
        }.items():
            with pytest.raises(Invalid) as refused:
                act(given)
            assert refused.value.details["errors"] == [{"field": "reason", "message": problem}], (name, given)
    assert not ForgetHold.objects.filter(ended_at__isnull=False).exists()
    for name, act in acts.items():
        assert act(f" {'x' * 470} Tr0ub4dor&3x\n"), name
    stored = ForgetHold.objects.order_by("-id").values_list("reason", flat=True)[0]
    assert stored == f"{'x' * 470} [REDACTED:mail-password]"
