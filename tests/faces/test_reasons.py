"""The words that people give as reasons: beside the log, in the event for who may read it, gone with a forget."""

import json
from typing import Any

import pytest
from django.utils import timezone

from memory import event_notes
from memory.forget import forgetting
from memory.host import event_log, ids, runs, vault
from memory.host.models import Run
from openwop_console.runtime import runs as run_service
from openwop_console.runtime.run_options import RunRequest
from proposals import overrides
from proposals.models import Gate
from tests import building, proposing
from tests.peopled import World

pytestmark = pytest.mark.django_db
PERSON = "marta.kowalska@example.com"


@pytest.fixture
def acme() -> World:
    return World("acme")


def begun(acme: World, workflow_id: str = "conformance-cancellable") -> Run:
    return building.advance(run_service.create_run(acme.scope, RunRequest(workflow_id), now=timezone.now()))


def event(acme: World, run: Run, kind: str) -> dict[str, Any]:
    found = acme.ask("GET", f"/v1/runs/{ids.wire('run', run.id)}/events").json()["events"]
    [one] = [each for each in found if each["type"] == kind]
    payload: dict[str, Any] = one["payload"]
    return payload


def forget(acme: World) -> None:
    now = timezone.now()
    found = forgetting.preview(acme.scope, [PERSON], now=now)
    given: dict[str, Any] = {"typed": PERSON, "ticked": set(), "reason": "asked", "now": now}
    forgetting.confirm(acme.scope, found.request.id, **given)
    forgetting.execute(acme.scope.tenant_id, found.request.id, holder="test/1", now=now, clock=timezone.now)


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
    vault.put(acme.scope.tenant_id, "crm", "tok-12345678", now=timezone.now())
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
    overrides.override(acme.scope, made.id, now=timezone.now(), **given)
    run = proposing.advance(gate)
    assert event(acme, run, "approval.overridden")["reason"] == "incident 42"
    assert "incident 42" not in json.dumps([each.payload for each in event_log.read(run.tenant_id, run.id)])


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
