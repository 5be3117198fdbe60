"""A gate whose time is over: it is rejected, never granted, whoever notices first, and nothing is installed by it."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory.host import event_log, ids, interrupts, registry, runs
from memory.host.errors import Conflict
from memory.host.interrupts import InterruptAlreadyResolved
from memory.host.models import Run
from openwop_console.runtime import engine, run_operations
from proposals import gate as gates
from proposals import lifecycle, review, rules
from proposals.models import Gate, Proposal, Vote
from tests import building, proposing
from tests.proposing import opened

pytestmark = pytest.mark.django_db
JUST = timedelta(milliseconds=1)


def at(moment: datetime, gate: Gate, worker: str = "test/1") -> Run:
    """The activation run as it is after a worker had it at that moment."""
    engine.advance(gate.tenant_id, gate.run_id, holder=worker, clock=lambda: moment)
    return runs.find(gate.tenant_id, gate.run_id)


def waiting(**policy: Any) -> tuple[Proposal, Gate, datetime]:
    """A proposal, its gate, and the moment at which that expires."""
    if policy:
        proposing.policy(**policy)
    made = proposing.propose()
    gate = opened(made)
    assert gate.expires_at
    return made, gate, gate.expires_at


def vote(made: Proposal, gate: Gate, now: datetime, **more: Any) -> Gate:
    given: dict[str, Any] = {"revision": gate.revision, "sha256": gate.sha256, "decision": "granted", **more}
    return lifecycle.decide(building.scope(role="reviewer"), made.id, now=now, **given)


def override(made: Proposal, gate: Gate, now: datetime) -> Gate:
    seen: dict[str, Any] = {"revision": gate.revision, "sha256": gate.sha256, "reason": "incident 42"}
    return lifecycle.override(building.scope(), made.id, now=now, **seen)


def answer(made: Proposal, gate: Gate, now: datetime) -> Run:
    ada, value = building.scope(role="reviewer"), {"decision": "granted"}
    return run_operations.resolve_interrupt(ada, gate.run_id, "gate", value, now=now)


def stored(gate: Gate) -> Gate:
    found: Gate = Gate.objects.of(gate.tenant_id).get(id=gate.id)
    return found


@pytest.mark.parametrize("worker_first", [True, False])
def test_a_timeout_rejects_and_says_so_whether_or_not_a_worker_had_reached_the_gate(worker_first: bool) -> None:
    made, gate, end = waiting()
    if worker_first:
        assert at(end - JUST, gate).status == "waiting-approval"
    run = at(end, gate)
    assert (run.status, run.error["code"]) == ("failed", "approval_timeout")
    assert (stored(gate).state, stored(gate).closed_at) == ("expired", end)
    assert proposing.fresh(made).state == "draft"
    assert registry.by_ref(made.tenant_id, "prompt:triage.summary@1.1.0") is None
    told = event_log.read(run.tenant_id, run.id)
    (resolved,) = [event.payload for event in told if event.type == "interrupt.resolved"]
    assert (resolved["outcome"], resolved["reason"]) == ("rejected", "timeout")
    types = [event.type for event in told]
    assert types.count("interrupt.requested") == 1
    assert not {"approval.granted", "approval.rejected"} & set(types)
    assert types[-1] == "run.failed"
    assert proposing.actions(made)[-1] == "proposal.gate.expire"
    assert opened(made).id != gate.id


def test_the_votes_of_a_quorum_that_was_not_met_in_time_are_told_and_grant_nothing() -> None:
    for worker_first in (True, False):
        made, gate, end = waiting(quorum=2 if worker_first else 3)
        if worker_first:
            at(end - JUST, gate)
        vote(made, gate, end - JUST)
        run = at(end, gate)
        assert (run.status, stored(gate).state, proposing.fresh(made).state) == ("failed", "expired", "draft")
        assert building.types_of(run).count("approval.granted") == 1
        lifecycle.archive(building.scope(), made.id, now=timezone.now())


@pytest.mark.parametrize("act", [vote, override, answer], ids=["vote", "override", "interrupt"])
@pytest.mark.parametrize("worker_first", [True, False])
def test_from_the_very_instant_of_the_end_nothing_grants_although_nobody_has_noticed_yet(
    worker_first: bool, act: Callable[[Proposal, Gate, datetime], Any]
) -> None:
    made, gate, end = waiting()
    if worker_first:
        at(end - JUST, gate)
    with pytest.raises(Conflict) as refused:
        act(made, gate, end)
    assert refused.value.details["gateState"] == "expired"
    assert not Vote.objects.of(made.tenant_id).exists()
    assert (at(end, gate).status, stored(gate).state) == ("failed", "expired")
    with pytest.raises(Conflict):
        act(made, gate, end)


@pytest.mark.parametrize("act", [vote, override, answer], ids=["vote", "override", "interrupt"])
def test_an_instant_before_the_end_a_grant_counts_and_is_carried_out_after_it(
    act: Callable[[Proposal, Gate, datetime], Any],
) -> None:
    made, gate, end = waiting()
    at(end - 2 * JUST, gate)
    act(made, gate, end - JUST)
    assert (at(end + timedelta(days=1), gate).status, proposing.fresh(made).state) == ("completed", "applied")


def test_a_vote_that_came_in_before_the_end_is_refused_once_the_question_has_timed_out() -> None:
    """The engine has answered the question, and the node behind it has not run yet."""
    made, gate, end = waiting(quorum=2)
    run = at(end - JUST, gate)
    interrupts.answer(
        runs.locked(run.tenant_id, run.id),
        interrupts.open_at(run)[0],
        {"decision": "rejected"},
        outcome=interrupts.TIMED_OUT,
        now=end,
    )
    with pytest.raises(InterruptAlreadyResolved):
        vote(made, gate, end - JUST)
    assert not Vote.objects.of(made.tenant_id).exists()
    assert (at(end, gate).status, stored(gate).state) == ("failed", "expired")


def test_what_a_page_offers_ends_with_the_gate() -> None:
    made, gate, end = waiting()
    ada, there = building.scope(), review.find(building.scope(), made.id)
    for action in ("decide", "override"):
        assert rules.refusal_to(action, ada, there, gate, now=end - JUST) is None
        assert rules.refusal_to(action, ada, there, gate, now=end)
    assert rules.refusal_to("withdraw", ada, there, gate, now=end) is None


def test_whoever_asks_again_after_the_end_gets_a_gate_of_its_own_and_the_old_run_still_ends_by_timeout() -> None:
    made, gate, end = waiting()
    at(end - JUST, gate)
    asker = building.scope(role="reviewer")
    assert lifecycle.ask_to_apply(asker, made.id, now=end - JUST).gate == gate
    again = lifecycle.ask_to_apply(asker, made.id, now=end).gate
    assert again
    assert (again.id != gate.id, stored(gate).state, again.state) == (True, "expired", "open")
    run = at(end, gate)
    assert (run.status, run.error["code"], stored(again).state) == ("failed", "approval_timeout", "open")
    vote(made, again, end)
    assert at(end, again).status == "completed"


def test_the_end_is_kept_by_the_database_and_found_by_whichever_host_looks_then() -> None:
    made, gate, end = waiting()
    assert at(end - timedelta(days=1), gate, "host-a/1").status == "waiting-approval"
    wanted = (made.tenant_id, gate.run_id)
    assert wanted not in [due[:2] for due in runs.due(now=end - JUST)]
    assert wanted in [due[:2] for due in runs.due(now=end)]
    assert at(end, gate, "host-b/1").error["code"] == "approval_timeout"
    assert runs.due(now=end + timedelta(days=400)) == []


def test_a_gate_may_wait_for_longer_than_a_run_of_a_tenant_may_last() -> None:
    made, gate, end = waiting(expires_s=90 * 86_400)
    for day in (1, 31, 89):
        assert at(gate.opened_at + timedelta(days=day), gate).status == "waiting-approval"
    vote(made, gate, end - JUST)
    assert at(end - JUST, gate).status == "completed"


def test_the_api_answers_a_vote_that_is_too_late_with_a_conflict(client: Client) -> None:
    made, gate, end = waiting()
    at(end - JUST, gate)
    Gate.objects.written_by(gates.WRITER).filter(id=gate.id).update(expires_at=timezone.now())
    url = f"/v1/runs/{ids.wire('run', gate.run_id)}/interrupts/gate"
    body = {"resumeValue": {"decision": "granted"}}
    late = client.post(url, body, content_type="application/json", **building.headers(role="reviewer"))
    assert (late.status_code, late.json()["error"]) == (409, "interrupt_already_resolved")
    assert late.json()["details"]["gateState"] == "expired"
    assert proposing.fresh(made).state == "draft"
