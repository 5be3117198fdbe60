"""Two at once: whoever comes second, on either engine, there is one gate, one installation, and one story."""

from collections.abc import Callable, Iterable
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from memory.host import event_log, registry, runs
from memory.host.errors import Conflict, Refusal
from memory.host.models import Installation, Run
from proposals import gate, lifecycle, review, revisions
from proposals.drafts import Change
from tests import building, proposing
from tests.proposing import opened

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*acts: Callable[[], Any]) -> list[Any]:
    """What each act gave or was refused with, all begun at the same moment in a thread and connection of its own."""
    barrier, outcomes = Barrier(len(acts)), [None] * len(acts)

    def act(place: int) -> None:
        try:
            barrier.wait(10)
            outcomes[place] = acts[place]()
        except Refusal as refusal:
            outcomes[place] = refusal  # type: ignore[call-overload]
        finally:
            connection.close()

    threads = [Thread(target=act, args=(place,)) for place in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return outcomes


def refusals(outcomes: Iterable[Any]) -> list[Refusal]:
    return [outcome for outcome in outcomes if isinstance(outcome, Refusal)]


def test_ten_who_ask_at_once_get_one_gate() -> None:
    made = proposing.propose()
    askers = [building.scope(role="reviewer") for _ in range(10)]
    outcomes = at_once(*(lambda by=by: proposing.ask(made, by=by) for by in askers))
    assert refusals(outcomes) == []
    assert len({outcome.gate.id for outcome in outcomes}) == 1
    assert Run.objects.of(made.tenant_id).filter(workflow_id="host-activation").count() == 1


def test_ten_who_grant_at_once_give_one_installation_and_one_event() -> None:
    made = proposing.propose()
    gate_ = opened(made)
    proposing.advance(gate_)
    voters = [building.scope(role="reviewer") for _ in range(10)]
    outcomes = at_once(*(lambda by=by: proposing.decide(made, gate_, by=by) for by in voters))
    assert len(refusals(outcomes)) == 9
    assert all(isinstance(refusal, Conflict) for refusal in refusals(outcomes))
    workers = [lambda: proposing.advance(gate_)] * 4
    assert refusals(at_once(*workers)) == []
    assert Installation.objects.of(made.tenant_id).filter(kind="prompt-template").count() == 1
    told = [event.type for event in event_log.about(made.tenant_id, made.id)]
    assert told.count("proposal.activated") == 1
    assert len(review.detail(building.scope(), made.id).ballots[0].votes) == 1


def test_ten_direct_applies_at_once_give_one_installation_and_one_event(settings: Any) -> None:
    settings.OPENWOP_PROPOSALS_ACTIVATION = "direct-rbac"
    made = proposing.propose()
    owners = [building.scope(role="owner") for _ in range(10)]
    outcomes = at_once(*(lambda by=by: proposing.ask(made, by=by) for by in owners))
    assert {outcome.installed_ref for outcome in outcomes} == {"prompt:triage.summary@1.1.0"}
    told = [event.type for event in event_log.about(made.tenant_id, made.id)]
    assert told.count("proposal.activated") == 1


@pytest.mark.parametrize("attempt", range(3))
def test_a_vote_and_the_worker_that_reaches_the_gate_never_miss_each_other(attempt: int) -> None:
    made, voter = proposing.propose(), building.scope(role="reviewer")
    gate_ = opened(made)
    outcomes = at_once(lambda: proposing.decide(made, gate_, by=voter), lambda: proposing.advance(gate_))
    assert refusals(outcomes) == []
    run = proposing.advance(gate_)
    assert (run.status, proposing.fresh(made).state) == ("completed", "applied")
    told = proposing.types_of(run)
    assert [told.count(type_) for type_ in ("interrupt.requested", "approval.granted", "interrupt.resolved")] == [1] * 3


@pytest.mark.parametrize("attempt", range(3))
def test_a_revision_and_an_approval_at_once_never_install_what_nobody_approved(attempt: int) -> None:
    made, voter, ben = proposing.propose(), building.scope(role="reviewer"), building.scope(role="operator")
    change = Change(artifact=proposing.artifact(version="2.0.0", text="Never approved."))

    def withdraw_and_revise() -> None:
        lifecycle.withdraw(ben, made.id, now=timezone.now())
        lifecycle.revise(ben, made.id, change, now=timezone.now())

    gate_ = opened(made)
    proposing.advance(gate_)
    at_once(
        lambda: proposing.decide(made, gate_, by=voter),
        withdraw_and_revise,
        lambda: proposing.advance(gate_),
    )
    proposing.advance(gate_)
    after = proposing.fresh(made)
    assert registry.by_ref(made.tenant_id, "prompt:triage.summary@2.0.0") is None
    installed = registry.by_ref(made.tenant_id, "prompt:triage.summary@1.1.0")
    assert (after.state == "applied") == (installed is not None)
    assert installed is None or installed.sha256 == gate_.sha256 == revisions.current(after).sha256


def test_approve_first_then_revise_is_refused_and_revise_first_voids_nothing_that_was_seen() -> None:
    ben, voter = building.scope(role="author"), building.scope(role="reviewer")
    approved = proposing.propose()
    gate_ = opened(approved)
    proposing.decide(approved, gate_, by=voter)
    with pytest.raises(Conflict):
        lifecycle.revise(ben, approved.id, Change(title="Late"), now=timezone.now())
    revised = proposing.propose(text=proposing.artifact(templateId="other"))
    seen = revisions.current(revised)
    lifecycle.revise(ben, revised.id, Change(artifact=proposing.artifact(text="Newer")), now=timezone.now())
    opened(revised)
    with pytest.raises(Conflict):
        lifecycle.decide(
            voter, revised.id, revision=seen.number, sha256=seen.sha256, decision="granted", now=timezone.now()
        )


def test_a_rejection_and_an_installation_at_once_leave_one_of_the_two() -> None:
    made, owner = proposing.propose(), building.scope(role="owner")
    gate_ = opened(made)
    proposing.decide(made, gate_)
    at_once(lambda: lifecycle.reject(owner, made.id, now=timezone.now()), lambda: proposing.advance(gate_))
    run = proposing.advance(gate_)
    installed = registry.by_ref(made.tenant_id, "prompt:triage.summary@1.1.0")
    state = proposing.fresh(made).state
    assert (state, run.status, installed is not None) in (
        ("applied", "completed", True),
        ("rejected", "cancelled", False),
    )


def test_a_gate_that_closed_while_its_run_was_waited_for_is_not_taken_for_open(monkeypatch: pytest.MonkeyPatch) -> None:
    made = proposing.propose()
    stale = opened(made)
    lifecycle.withdraw(building.scope(role="reviewer"), made.id, now=timezone.now())
    really = gate.under_way
    answers = iter([stale])
    monkeypatch.setattr(gate, "under_way", lambda tenant, proposal: next(answers, None) or really(tenant, proposal))
    lifecycle.revise(building.scope(role="author"), made.id, Change(title="Second"), now=timezone.now())
    assert proposing.fresh(made).revision == 2


def test_voters_and_workers_in_a_crowd_never_wait_for_each_other_in_a_circle() -> None:
    made = proposing.propose()
    gate_ = opened(made)
    voters = [building.scope(role="reviewer") for _ in range(4)]
    acts = [lambda by=by: proposing.decide(made, gate_, by=by) for by in voters]
    at_once(*acts, *[lambda: proposing.advance(gate_)] * 3)
    proposing.advance(gate_)
    assert proposing.fresh(made).state == "applied"
    assert runs.find(gate_.tenant_id, gate_.run_id).status == "completed"
