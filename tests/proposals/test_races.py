"""Two at once: whoever comes second, on either engine, there is one gate, one installation, and one story."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from threading import Barrier, Thread
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory.host import event_log, registry, runs
from memory.host.errors import Conflict, Refusal
from memory.host.models import Installation, Run
from openwop_console.runtime import engine
from proposals import gate, lifecycle, policies, review, revisions
from proposals.drafts import Change
from proposals.models import ApprovalPolicy, Gate, PolicyChange, Proposal, Vote
from tests import building, proposing
from tests.proposing import opened

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.engines]


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
    told = [event.type for event in event_log.list_events_about(made.tenant_id, made.id)]
    assert told.count("proposal.activated") == 1
    assert len(review.detail(building.scope(), made.id).ballots[0].votes) == 1


def installed_once(made: Proposal) -> None:
    """There is one installation, one row of it, and one event that tells of it."""
    assert Installation.objects.of(made.tenant_id).filter(kind="prompt-template").count() == 1
    told = [event.type for event in event_log.list_events_about(made.tenant_id, made.id)]
    assert told.count("proposal.activated") == 1
    assert proposing.actions(made).count("proposal.install") == 1


def test_ten_direct_applies_at_once_give_one_installation_and_one_event(settings: Settings) -> None:
    settings.OPENWOP_PROPOSALS_ACTIVATION = "direct-rbac"
    made = proposing.propose()
    owners = [building.scope(role="owner") for _ in range(10)]
    outcomes = at_once(*(lambda by=by: proposing.ask(made, by=by) for by in owners))
    assert {outcome.installed_ref for outcome in outcomes} == {"prompt:triage.summary@1.1.0"}
    installed_once(made)


def test_ten_gated_applies_at_once_give_one_installation_and_one_event_too() -> None:
    made, voter = proposing.propose(), building.scope(role="reviewer")
    askers = [building.scope(role="reviewer") for _ in range(10)]
    outcomes = at_once(*(lambda by=by: proposing.ask(made, by=by) for by in askers))
    (opened_once,) = {outcome.gate.id: outcome.gate for outcome in outcomes}.values()
    proposing.decide(made, opened_once, by=voter)
    acts = [lambda by=by: proposing.ask(made, by=by) for by in askers]
    outcomes = at_once(*acts, *[lambda: proposing.advance(opened_once)] * 3)
    assert refusals(outcomes) == []
    assert {outcome.installed_ref for outcome in (proposing.ask(made, by=by) for by in askers)} == {
        "prompt:triage.summary@1.1.0"
    }
    installed_once(made)


@pytest.mark.parametrize("attempt", range(3))
def test_a_vote_and_the_worker_that_reaches_the_gate_never_miss_each_other(attempt: int) -> None:
    made, voter = proposing.propose(), building.scope(role="reviewer")
    gate_ = opened(made)
    outcomes = at_once(lambda: proposing.decide(made, gate_, by=voter), lambda: proposing.advance(gate_))
    assert refusals(outcomes) == []
    run = proposing.advance(gate_)
    assert (run.status, proposing.fresh(made).state) == ("completed", "applied")
    told = building.types_of(run)
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


NEWER = Change(artifact=proposing.artifact(version="2.0.0", text="Never approved."))


def voiding(made: Proposal) -> Callable[[], Proposal]:
    ben = building.scope(role="author")
    return lambda: lifecycle.revise(ben, made.id, NEWER, voids_gate=True, now=timezone.now())


def installs_nothing_unseen(made: Proposal, seen: Gate) -> None:
    """Whatever was installed is what the gate had pinned, and the newer text is not."""
    assert registry.by_ref(made.tenant_id, "prompt:triage.summary@2.0.0") is None
    installed = registry.by_ref(made.tenant_id, "prompt:triage.summary@1.1.0")
    assert (proposing.fresh(made).state == "applied") == (installed is not None)
    assert installed is None or installed.sha256 == seen.sha256


def test_a_revision_that_voids_a_granted_gate_comes_first_and_nothing_is_installed() -> None:
    made = proposing.propose()
    seen = opened(made)
    proposing.decide(made, seen)
    voiding(made)()
    assert proposing.advance(seen).status == "cancelled"
    assert (proposing.fresh(made).state, Gate.objects.of(made.tenant_id).get(id=seen.id).state) == ("revised", "void")
    installs_nothing_unseen(made, seen)


def test_a_revision_that_voids_comes_before_the_vote_which_then_finds_no_gate() -> None:
    made = proposing.propose()
    seen = opened(made)
    voiding(made)()
    with pytest.raises(Conflict):
        proposing.decide(made, seen)
    again = opened(made)
    with pytest.raises(Conflict):
        proposing.decide(made, again, revision=seen.revision, sha256=seen.sha256)
    assert not Vote.objects.of(made.tenant_id).exists()


def test_a_revision_that_would_void_comes_too_late_for_what_is_installed() -> None:
    made = proposing.propose()
    seen = opened(made)
    proposing.decide(made, seen)
    proposing.advance(seen)
    with pytest.raises(Conflict) as refused:
        voiding(made)()
    assert refused.value.details["state"] == "applied"
    installs_nothing_unseen(made, seen)


@pytest.mark.parametrize("attempt", range(4))
def test_a_revision_that_voids_a_vote_and_the_worker_at_once_leave_one_story(attempt: int) -> None:
    made, voter = proposing.propose(), building.scope(role="reviewer")
    seen = opened(made)
    proposing.advance(seen)
    revise = voiding(made)
    at_once(lambda: proposing.decide(made, seen, by=voter), revise, lambda: proposing.advance(seen))
    run = proposing.advance(seen)
    installs_nothing_unseen(made, seen)
    state = Gate.objects.of(made.tenant_id).get(id=seen.id).state
    assert (proposing.fresh(made).state, state, run.status) in (
        ("revised", "void", "cancelled"),
        ("applied", "granted", "completed"),
    )


@pytest.mark.parametrize("attempt", range(4))
def test_the_end_of_a_gate_and_a_vote_at_once_have_exactly_one_outcome(attempt: int) -> None:
    made, voter = proposing.propose(), building.scope(role="reviewer")
    seen = opened(made)
    proposing.advance(seen)
    end = seen.expires_at
    assert end
    given: Any = {"revision": seen.revision, "sha256": seen.sha256, "decision": "granted"}

    def in_time() -> Gate:
        return lifecycle.decide(voter, made.id, now=end - timedelta(microseconds=1), **given)

    def too_late() -> Any:
        return engine.advance(seen.tenant_id, seen.run_id, holder="test/1", clock=lambda: end)

    voted, _ = at_once(in_time, too_late)
    too_late()
    run = runs.find(seen.tenant_id, seen.run_id)
    granted = not isinstance(voted, Refusal)
    gate_state = Gate.objects.of(made.tenant_id).get(id=seen.id).state
    outcome = (granted, gate_state, run.status, proposing.fresh(made).state)
    assert outcome in ((True, "granted", "completed", "applied"), (False, "expired", "failed", "draft"))
    assert Vote.objects.of(made.tenant_id).count() == granted
    told = building.types_of(run)
    assert [told.count(type_) for type_ in ("approval.granted", "interrupt.resolved")] == [int(granted), 1]


@pytest.mark.parametrize("attempt", range(3))
def test_two_who_approve_at_once_make_a_quorum_of_two(attempt: int) -> None:
    proposing.policy(quorum=2)
    made = proposing.propose()
    voters = [building.scope(role="reviewer") for _ in range(2)]
    seen = opened(made)
    proposing.advance(seen)
    outcomes = at_once(*(lambda by=by: proposing.decide(made, seen, by=by) for by in voters))
    assert sorted(outcome.state for outcome in outcomes) == ["granted", "open"]
    run = proposing.advance(seen)
    assert (run.status, proposing.fresh(made).state) == ("completed", "applied")
    granted = [event for event in event_log.read(run.tenant_id, run.id) if event.type == "approval.granted"]
    assert [event.payload["quorumProgress"]["granted"] for event in granted] == [1, 2]


def test_the_same_who_approves_twice_at_once_is_one_of_a_quorum_of_two() -> None:
    proposing.policy(quorum=2)
    made, voter = proposing.propose(), building.scope(role="reviewer")
    seen = opened(made)
    outcomes = at_once(*[lambda: proposing.decide(made, seen, by=voter)] * 3)
    assert [outcome.state for outcome in outcomes] == ["open"] * 3
    assert Vote.objects.of(made.tenant_id).count() == 1


def test_two_who_confirm_one_change_of_a_policy_at_once_give_one_version() -> None:
    asker, *others = (building.scope() for _ in range(5))
    change = policies.request_change(asker, "automation", {"quorum": 2}, now=timezone.now())
    acts = [lambda by=by: policies.decide_change(by, change.id, confirmed=True, now=timezone.now()) for by in others]
    outcomes = at_once(*acts)
    assert [type(refusal) for refusal in refusals(outcomes)] == [Conflict] * 3
    assert [row.number for row in ApprovalPolicy.objects.of(asker.tenant_id)] == [1]


def test_a_confirmation_and_a_refusal_at_once_are_one_of_the_two() -> None:
    asker, ada, oda = building.scope(), building.scope(), building.scope()
    change = policies.request_change(asker, "automation", {"quorum": 2}, now=timezone.now())
    outcomes = at_once(
        lambda: policies.decide_change(ada, change.id, confirmed=True, now=timezone.now()),
        lambda: policies.decide_change(oda, change.id, confirmed=False, now=timezone.now()),
    )
    assert len(refusals(outcomes)) == 1
    state = PolicyChange.objects.of(asker.tenant_id).get().state
    assert (state, ApprovalPolicy.objects.of(asker.tenant_id).count()) in (("confirmed", 1), ("refused", 0))


def test_several_who_ask_for_a_change_of_one_policy_at_once_leave_one_that_waits() -> None:
    askers = [building.scope() for _ in range(4)]
    acts = [
        lambda by=by, quorum=quorum: policies.request_change(by, "automation", {"quorum": quorum}, now=timezone.now())
        for quorum, by in enumerate(askers, 2)
    ]
    outcomes = at_once(*acts)
    assert len(refusals(outcomes)) == 3
    assert len(policies.list_waiting(askers[0])) == 1


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


def test_a_gate_that_opened_while_its_proposal_was_waited_for_is_voided_too(monkeypatch: pytest.MonkeyPatch) -> None:
    made = proposing.propose()
    opened(made)

    def wait(tenant_id: UUID, proposal_id: UUID) -> Proposal:
        monkeypatch.undo()  # from here on the gate is there
        return gate.lock_proposal(tenant_id, proposal_id)

    monkeypatch.setattr(gate, "under_way", lambda *_: None)
    monkeypatch.setattr(gate, "lock_proposal", wait)
    change, by = Change(title="Second"), building.scope(role="author")
    lifecycle.revise(by, made.id, change, voids_gate=True, now=timezone.now())
    assert (Gate.objects.get().state, proposing.fresh(made).revision) == ("void", 2)


def test_voters_and_workers_in_a_crowd_never_wait_for_each_other_in_a_circle() -> None:
    made = proposing.propose()
    gate_ = opened(made)
    voters = [building.scope(role="reviewer") for _ in range(4)]
    acts = [lambda by=by: proposing.decide(made, gate_, by=by) for by in voters]
    at_once(*acts, *[lambda: proposing.advance(gate_)] * 3)
    proposing.advance(gate_)
    assert proposing.fresh(made).state == "applied"
    assert runs.find(gate_.tenant_id, gate_.run_id).status == "completed"
