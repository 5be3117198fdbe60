"""Approval policies: who changes them, how each change is recorded, and what gates make of them."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory.host import access, api_keys, audit, event_log, ids, vault
from memory.host.errors import Conflict, Forbidden, Invalid, NotFound
from memory.host.tenancy import TenantScope
from openwop_console.runtime import run_operations
from proposals import lifecycle, policies
from proposals.drafts import Change
from proposals.models import ApprovalPolicy, Gate, Kind, PolicyChange, PolicyChangeState, Vote
from proposals.policies import Policy
from tests import building, proposing
from tests.proposing import opened

pytestmark = pytest.mark.django_db
PROMPT = "prompt-template"
UNINSTALLS = "archiving what is applied uninstalls it"
BYPASSES = "owners may override, past the number of approvals"


def ask(by: TenantScope, kind: str = PROMPT, **changes: Any) -> Any:
    return policies.request_change(by, kind, changes, now=timezone.now())


def asked(by: TenantScope, kind: str = PROMPT, **changes: Any) -> PolicyChange:
    """The change, which waits for a second person."""
    made = ask(by, kind, **changes)
    assert isinstance(made, PolicyChange)
    return made


def decide(by: TenantScope, change: PolicyChange, confirmed: bool = True) -> PolicyChange:
    return policies.decide_change(by, change.id, confirmed=confirmed, now=timezone.now())


def override(by: TenantScope, gate: Gate) -> Gate:
    seen: dict[str, Any] = {"revision": gate.revision, "sha256": gate.sha256, "reason": "incident 42"}
    return lifecycle.override(by, gate.proposal_id, **seen, now=timezone.now())


def standing(kind: str = PROMPT) -> Policy:
    return policies.policy_of_kind(building.tenant().id, kind)


def told(action: str) -> list[dict[str, Any]]:
    """What the audit has of this step, oldest first."""
    records = reversed(audit.newest(building.tenant().id))
    return [record.details for record in records if record.action == f"approval-policy.{action}"]


def test_every_kind_begins_with_one_approval_by_whoever_may_vote_for_two_weeks_and_owners_override() -> None:
    for kind in Kind.values:
        assert policies.policy_of_kind(building.tenant().id, kind) == Policy(
            quorum=1,
            eligible_roles=("reviewer", "operator", "owner"),
            override_roles=("owner",),
            override_bypasses_quorum=False,
            expires_s=14 * 86_400,
            uninstall_on_archive=False,
            number=0,
        )


def test_a_change_waits_for_a_second_person_and_then_is_the_next_version_of_its_kind_alone() -> None:
    ada, oda = building.scope(), building.scope()
    change = asked(ada, quorum=2, expires_s=3600)
    assert (standing().number, standing().quorum) == (0, 1)
    decide(oda, change)
    assert (standing().number, standing().quorum, standing().expires) == (1, 2, timedelta(hours=1))
    assert standing("automation") == Policy()
    [version] = policies.history(ada, PROMPT)
    assert (version.asked_by, version.confirmed_by) == (ada.principal.id, oda.principal.id)
    assert policies.list_waiting(ada) == []


def test_who_asked_does_not_confirm_it_but_may_take_it_back() -> None:
    ada, _ = building.scope(), building.scope()
    change = asked(ada, quorum=2)
    with pytest.raises(Forbidden) as refused:
        decide(ada, change)
    assert refused.value.details == {"rule": "separation-of-duties"}
    assert decide(ada, change, confirmed=False).state == PolicyChangeState.REFUSED
    assert (standing(), policies.list_waiting(ada)) == (Policy(), [])


def test_another_may_refuse_it_and_what_was_decided_stays_decided() -> None:
    ada, oda = building.scope(), building.scope()
    change = asked(ada, quorum=2)
    assert decide(oda, change, confirmed=False).decided_by == oda.principal.id
    for confirmed in (True, False):
        with pytest.raises(Conflict) as refused:
            decide(oda, change, confirmed)
        assert refused.value.details == {"state": "refused"}
    assert standing() == Policy()


def test_where_nobody_else_could_confirm_a_change_is_in_force_at_once_and_says_that_it_was_made_alone() -> None:
    ada = building.scope()
    building.scope(role="operator")
    building.scope(role="owner", agents=("acme.writer",))
    building.key(role="owner", expires_at=timezone.now() - timedelta(seconds=1))
    building.deactivate(building.operator())
    building.scope("globex")
    made = ask(ada, quorum=2)
    assert isinstance(made, ApprovalPolicy)
    assert (standing().quorum, made.confirmed_by) == (2, "")
    assert told("changed") == [
        {
            "number": 1,
            "askedBy": ada.principal.id,
            "confirmedBy": None,
            "alone": True,
            "changed": ["quorum"],
            "policy": {
                "quorum": 2,
                "eligible_roles": ["reviewer", "operator", "owner"],
                "override_roles": ["owner"],
                "override_bypasses_quorum": False,
                "expires_s": 1_209_600,
                "uninstall_on_archive": False,
            },
        }
    ]


@pytest.mark.parametrize("other", ["person", "key"])
def test_one_other_who_could_be_let_in_is_enough_to_need_a_second_person(other: str) -> None:
    ada = building.scope()
    building.operator() if other == "person" else building.scope()
    assert isinstance(ask(ada, quorum=2), PolicyChange)


def test_a_change_that_waits_stays_in_the_way_when_its_asker_is_gone() -> None:
    ada, oda = building.scope(), building.scope()
    change = asked(oda, quorum=3)
    gone = ids.parse("key", oda.principal.id)
    assert gone
    api_keys.revoke_api_key(oda.tenant_id, gone, now=timezone.now())
    with pytest.raises(Conflict) as refused:
        ask(ada, quorum=2)
    assert "changeId" in refused.value.details
    decide(ada, change, confirmed=False)
    assert isinstance(ask(ada, quorum=2), ApprovalPolicy)


def test_every_step_is_audited_with_its_values_and_without_its_reason() -> None:
    ada, oda = building.scope(), building.scope()
    vault.store_secret(ada.tenant_id, "pager", "tok-pager-secret-1", now=timezone.now())
    reason = "canary-reason by tok-pager-secret-1"
    change = policies.request_change(ada, PROMPT, {"quorum": 2}, reason=reason, now=timezone.now())
    assert isinstance(change, PolicyChange)
    decide(oda, change)
    decide(oda, asked(ada, quorum=3), confirmed=False)
    assert [each["changed"] for each in told("asked")] == [["quorum"], ["quorum"]]
    assert [(each["confirmedBy"], each["alone"]) for each in told("changed")] == [(oda.principal.id, False)]
    assert told("refused") == [{"askedBy": ada.principal.id}]
    [version] = policies.history(ada, PROMPT)
    assert version.reason.startswith("canary-reason")
    assert "tok-pager" not in version.reason + change.reason
    said = [str(record.details) for record in audit.newest(ada.tenant_id)]
    assert not [text for text in said if "canary-reason" in text]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"quorum": 0}, "quorum"),
        ({"quorum": 21}, "quorum"),
        ({"eligible_roles": ()}, "eligible_roles"),
        ({"eligible_roles": ("viewer", "owner")}, "eligible_roles"),
        ({"eligible_roles": ("agent",)}, "eligible_roles"),
        ({"override_roles": ("reviewer",)}, "override_roles"),
        ({"expires_s": 59}, "expires_s"),
        ({"expires_s": 90 * 86_400 + 1}, "expires_s"),
        ({"quorum": 1}, "quorum"),
        ({"eligible_roles": ("owner", "operator", "reviewer", "owner")}, "quorum"),
    ],
)
def test_a_policy_that_could_not_work_and_a_change_that_changes_nothing_are_refused(
    changes: dict[str, Any], field: str
) -> None:
    ada = building.scope()
    with pytest.raises(Invalid) as refused:
        ask(ada, **changes)
    assert [error["field"] for error in refused.value.details["errors"]] == [field]
    assert (policies.list_waiting(ada), policies.history(ada, PROMPT)) == ([], [])


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(Invalid) as refused:
        ask(building.scope(), quorum=0, eligible_roles=(), expires_s=1)
    fields = [error["field"] for error in refused.value.details["errors"]]
    assert fields == ["quorum", "eligible_roles", "expires_s"]


def test_a_reason_that_cannot_be_stored_changes_nothing() -> None:
    with pytest.raises(Invalid):
        policies.request_change(building.scope(), PROMPT, {"quorum": 2}, reason="x" * 501, now=timezone.now())
    assert standing() == Policy()


def test_one_change_of_a_kind_waits_at_a_time_and_one_made_from_an_old_version_is_refused() -> None:
    ada, oda = building.scope(), building.scope()
    change = asked(ada, quorum=2)
    assert isinstance(asked(ada, "automation", quorum=2), PolicyChange)
    with pytest.raises(Conflict):
        ask(oda, quorum=3)
    decide(oda, change)
    with pytest.raises(Conflict) as refused:
        policies.request_change(oda, PROMPT, {"quorum": 3}, based_on=0, now=timezone.now())
    assert refused.value.details == {"number": 1}
    again = policies.request_change(oda, PROMPT, {"quorum": 3}, based_on=1, now=timezone.now())
    assert isinstance(again, PolicyChange)


def test_a_kind_and_a_change_that_are_none_are_not_found() -> None:
    ada, gil = building.scope(), building.scope("globex")
    building.scope()
    for act in (
        lambda: ask(ada, "rule", quorum=2),
        lambda: policies.history(ada, "rule"),
        lambda: policies.decide_change(ada, None, confirmed=True, now=timezone.now()),
        lambda: decide(gil, asked(ada, quorum=2)),
    ):
        with pytest.raises(NotFound):
            act()
    assert (policies.list_waiting(gil), policies.history(gil, PROMPT)) == ([], [])


@pytest.mark.parametrize("role", [role for role in access.ROLES if role != "owner"])
def test_nobody_but_an_owner_changes_a_policy(role: str) -> None:
    somebody, ada = building.scope(role=role), building.scope()
    building.scope()
    change = asked(ada, quorum=2)
    for act in (lambda: ask(somebody, quorum=3), lambda: decide(somebody, change)):
        with pytest.raises(Forbidden) as refused:
            act()
        assert refused.value.details == {"requiredScope": "policies:manage"}


def test_a_key_bound_to_agents_changes_no_policy_whatever_its_role() -> None:
    bound, ada = building.scope(role="owner", agents=("acme.writer",)), building.scope()
    building.scope()
    change = asked(ada, quorum=2)
    for act in (lambda: ask(bound, "automation", quorum=3), lambda: decide(bound, change)):
        with pytest.raises(Forbidden) as refused:
            act()
        assert refused.value.details == {"rule": "agents-never-vote"}


def test_a_gate_keeps_the_policy_it_was_opened_under() -> None:
    made, later = proposing.propose(), proposing.propose(text=proposing.artifact(templateId="later"))
    before = opened(made)
    proposing.policy(quorum=2, eligible_roles=("owner",), override_roles=(), expires_s=60)
    after = opened(later)
    assert (before.quorum, before.policy_number, before.override_roles) == (1, 0, ["owner"])
    assert (after.quorum, after.policy_number, after.override_roles) == (2, 1, [])
    assert before.expires_at
    assert after.expires_at
    assert before.expires_at - before.opened_at == timedelta(days=14)
    assert after.expires_at - after.opened_at == timedelta(minutes=1)
    assert proposing.decide(made, before).state == "granted"
    with pytest.raises(Forbidden):
        proposing.decide(later, after)


def test_only_the_roles_of_the_policy_vote_and_the_denial_names_them() -> None:
    proposing.policy(eligible_roles=("owner",))
    made = proposing.propose()
    gate = opened(made)
    for role in ("reviewer", "operator"):
        with pytest.raises(Forbidden) as refused:
            proposing.decide(made, gate, by=building.scope(role=role))
        assert refused.value.details == {"rule": "not-eligible", "roles": ["owner"]}
        assert refused.value.on_record
    assert not Vote.objects.of(made.tenant_id).exists()
    assert proposing.decide(made, gate, by=building.scope(role="owner")).state == "granted"


def test_roles_are_looked_up_when_the_vote_is_cast_and_stand_on_it_as_they_were_then() -> None:
    proposing.policy(quorum=2, eligible_roles=("operator",))
    made, ben = proposing.propose(), building.scope(role="reviewer")
    gate = opened(made)
    with pytest.raises(Forbidden):
        proposing.decide(made, gate, by=ben)
    access.grant_role(made.tenant_id, ben.principal.id, "operator", now=timezone.now())
    proposing.decide(made, gate, by=ben)
    access.grant_role(made.tenant_id, ben.principal.id, "auditor", now=timezone.now())
    assert Vote.objects.of(made.tenant_id).get().roles == ["operator", "reviewer"]


def test_an_author_of_any_revision_is_barred_under_every_policy() -> None:
    proposing.policy(quorum=1, eligible_roles=("owner",))
    ada = building.scope(role="owner")
    made = proposing.propose(author=ada)
    gate = opened(made)
    with pytest.raises(Forbidden) as refused:
        proposing.decide(made, gate, by=ada)
    assert refused.value.details == {"rule": "separation-of-duties"}


def test_without_a_role_that_overrides_there_is_no_override() -> None:
    proposing.policy(override_roles=())
    made = proposing.propose()
    gate = opened(made)
    with pytest.raises(Forbidden) as refused:
        override(building.scope(), gate)
    assert refused.value.details == {"rule": "no-override"}
    assert not Vote.objects.of(made.tenant_id).exists()


@pytest.mark.parametrize(("bypasses", "state"), [(False, "open"), (True, "granted")])
def test_an_override_stands_for_all_grants_only_where_the_policy_says_so_and_the_audit_tells(
    bypasses: bool, state: str
) -> None:
    proposing.policy(quorum=3, override_bypasses_quorum=bypasses)
    made, owner = proposing.propose(), building.scope()
    gate = opened(made)
    proposing.advance(gate)
    assert override(owner, gate).state == state
    (record,) = [each for each in audit.newest(made.tenant_id) if each.action == "approval.override"]
    assert record.details["bypassedQuorum"] is bypasses
    assert record.details["quorum"] == {"granted": 1, "required": 3}
    run = proposing.advance(gate)
    assert run.status == ("completed" if bypasses else "waiting-approval")
    assert building.types_of(run).count("approval.overridden") == 1
    assert [vote.gate.proposal_id for vote in lifecycle.recent_overrides(owner, since=gate.opened_at)] == [made.id]
    assert not lifecycle.recent_overrides(building.scope("globex"), since=gate.opened_at)


def test_two_of_three_roles_make_a_quorum_of_two_persons_and_never_of_one() -> None:
    proposing.policy(quorum=2)
    made, ada = proposing.propose(), building.scope(role="reviewer")
    gate = opened(made)
    assert proposing.decide(made, gate, by=ada).state == "open"
    assert proposing.decide(made, gate, by=ada).state == "open"
    assert proposing.decide(made, gate, by=building.scope(role="operator")).state == "granted"
    assert proposing.actions(made).count("proposal.vote") == 3


def test_a_request_for_changes_says_which_and_leaves_the_proposal_to_be_revised() -> None:
    made = proposing.propose()
    gate = opened(made)
    proposing.advance(gate)
    with pytest.raises(Invalid):
        proposing.decide(made, gate, decision="changes-requested")
    ada = building.scope(role="reviewer")
    for value in ({"decision": "changes-requested"}, {"decision": "changes-requested", "reason": "  "}):
        with pytest.raises(Invalid) as invalid:
            run_operations.resolve_interrupt(ada, gate.run_id, "gate", value, now=timezone.now())
        assert invalid.value.code == "INVALID_RESUME_VALUE"
    answer = {"decision": "changes-requested", "reason": "canary: name the ticket"}
    run_operations.resolve_interrupt(ada, gate.run_id, "gate", answer, now=timezone.now())
    run = proposing.advance(gate)
    assert (run.status, run.error["code"], proposing.fresh(made).state) == ("failed", "changes_requested", "draft")
    assert Vote.objects.of(made.tenant_id).get().reason == "canary: name the ticket"
    logged = [str(event.payload) for event in event_log.read(run.tenant_id, run.id)]
    assert not [text for text in logged if "canary" in text]


def test_a_revision_that_voids_the_gate_takes_the_votes_with_it() -> None:
    proposing.policy(quorum=2)
    made, ada, ben = proposing.propose(), building.scope(role="reviewer"), building.scope(role="author")
    gate = opened(made)
    proposing.decide(made, gate, by=ada)
    change = Change(artifact=proposing.artifact(text="Newer."))
    lifecycle.revise(ben, made.id, change, voids_gate=True, now=timezone.now())
    assert proposing.advance(gate).status == "cancelled"
    again = opened(made)
    assert (again.revision, again.sha256 == gate.sha256) == (2, False)
    for seen in ({"revision": 1}, {"sha256": gate.sha256}):
        with pytest.raises(Conflict):
            proposing.decide(made, again, by=ada, **seen)
    assert proposing.decide(made, again, by=ada).state == "open", "the earlier vote counts for nothing"
    assert proposing.decide(made, again).state == "granted"


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Policy(), "one approval by reviewers, operators or owners; expires after 14 days; owners may override"),
        (
            Policy(quorum=2, eligible_roles=("owner",), override_roles=(), expires_s=300, uninstall_on_archive=True),
            "2 approvals by owners; expires after 5 minutes; no role may override; " + UNINSTALLS,
        ),
        (
            Policy(eligible_roles=("reviewer", "owner"), expires_s=3600, override_bypasses_quorum=True),
            "one approval by reviewers or owners; expires after 1 hour; " + BYPASSES,
        ),
        (
            Policy(expires_s=61, override_roles=(), override_bypasses_quorum=True),
            "one approval by reviewers, operators or owners; expires after 61 seconds; no role may override",
        ),
    ],
)
def test_a_policy_is_told_in_words(policy: Policy, words: str) -> None:
    assert policies.in_words(policy) == words


def test_the_history_tells_what_each_version_changed() -> None:
    proposing.policy(quorum=2, override_roles=())
    proposing.policy(expires_s=86_400, override_bypasses_quorum=True, uninstall_on_archive=True)
    now_, versions = policies.detail(building.scope(), PROMPT)
    assert (now_.kind, now_.policy.number, now_.waiting) == (PROMPT, 2, None)
    assert [each.differences for each in versions] == [
        [
            "Expires after: 14 days → 1 day",
            "An override: counts as one approval → is enough",
            "Archiving what is applied: is refused → uninstalls it",
        ],
        ["Approvals needed: 1 → 2", "Who may override: owners → no role"],
    ]


def test_a_change_waits_for_everybody_who_could_confirm_it_and_for_nobody_else() -> None:
    ada, oda = building.scope(), building.scope()
    change = asked(ada, quorum=2)
    assert policies.awaiting_me(oda) == [change]
    assert policies.awaiting_me(ada) == []
    assert policies.awaiting_me(building.scope(role="operator")) is None
    assert policies.awaiting_me(building.scope("globex")) == []
    shown = {each.kind: each.waiting for each in policies.overview(ada)}
    assert [kind for kind, waiting in shown.items() if waiting] == [PROMPT]
    waits = shown[PROMPT]
    assert waits
    assert (waits.differences, waits.denial is not None) == (["Approvals needed: 1 → 2"], True)
