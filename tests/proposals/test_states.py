"""The table of openwop-host 1.5: what each action does in each state, gates under way included."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from memory.host import audit_chain, registry
from memory.host.errors import Conflict
from memory.host.tenancy import TenantScope
from proposals import comments, lifecycle, policies, review, revisions, rules
from proposals import gate as gates
from proposals.drafts import Change
from proposals.lifecycle import Activation
from proposals.models import Proposal, State
from tests import building, proposing
from tests.proposing import opened

pytestmark = pytest.mark.django_db

Act = Callable[[TenantScope, Proposal], Any]
# How each action is carried out, in the name of the table; ``uninstall`` is archiving under a policy that uninstalls.
ACTS: dict[str, Act] = {
    "revise": lambda scope, made: lifecycle.revise(scope, made.id, Change(title="New"), now=timezone.now()).state,
    "apply": lambda scope, made: _what_apply_gave(lifecycle.ask_to_apply(scope, made.id, now=timezone.now())),
    "decide": lambda scope, made: (
        lifecycle.decide(scope, made.id, decision="granted", **_seen(made), now=timezone.now()).state
    ),
    "override": lambda scope, made: (
        lifecycle.override(scope, made.id, reason="incident 42", **_seen(made), now=timezone.now()).state
    ),
    "withdraw": lambda scope, made: lifecycle.withdraw(scope, made.id, now=timezone.now()).state,
    "reject": lambda scope, made: lifecycle.reject(scope, made.id, now=timezone.now()).state,
    "archive": lambda scope, made: lifecycle.archive(scope, made.id, now=timezone.now()).state,
    "uninstall": lambda scope, made: lifecycle.archive(scope, made.id, now=timezone.now()).state,
    "comment": lambda scope, made: comments.add(scope, made.id, "Why?", now=timezone.now()).text,
}
ONCE = {"decide", "override", "withdraw"}  # done again, there is nothing left to do it to
ENDS = {"reject": "rejected", "archive": "archived", "uninstall": "archived", "comment": "Why?"}
NO_GATE = {"decide": Conflict, "override": Conflict, "withdraw": Conflict}
NO_ACTIVATION = {"revise": Conflict, "apply": Conflict, **NO_GATE}
CELLS: dict[str, dict[str, Any]] = {
    "draft": {"revise": "revised", "apply": "pending", **NO_GATE, **ENDS},
    "revised": {"revise": "revised", "apply": "pending", **NO_GATE, **ENDS},
    "waiting": {
        "revise": Conflict,
        "apply": "pending",
        "decide": "granted",
        "override": "granted",
        "withdraw": "draft",
        **ENDS,
    },
    "granted": {
        "revise": Conflict,
        "apply": "pending",
        "decide": Conflict,
        "override": Conflict,
        "withdraw": "draft",
        **ENDS,
    },
    "applied": {
        **NO_ACTIVATION,
        "apply": "prompt:triage.summary@1.1.0",
        "reject": Conflict,
        "archive": Conflict,
        "uninstall": "archived",
        "comment": "Why?",
    },
    "rejected": {**NO_ACTIVATION, **ENDS},
    "archived": {**NO_ACTIVATION, **ENDS, "reject": Conflict},
}
UNDER_WAY = {"waiting", "granted"}


def _what_apply_gave(activation: Activation) -> str:
    return "pending" if activation.gate else activation.installed_ref


def _seen(made: Proposal) -> dict[str, Any]:
    revision = revisions.current(proposing.fresh(made))
    return {"revision": revision.number, "sha256": revision.sha256}


def _in_state(state: str) -> Proposal:
    ada = building.scope(role="owner")
    if state == "applied":
        return proposing.applied()
    made = proposing.propose()
    if state == "revised":
        return lifecycle.revise(ada, made.id, Change(title="Second"), now=timezone.now())
    if state in UNDER_WAY:
        gate = opened(made)
        if state == "granted":
            proposing.decide(made, gate)
    if state == "rejected":
        return lifecycle.reject(ada, made.id, now=timezone.now())
    if state == "archived":
        return lifecycle.archive(ada, made.id, now=timezone.now())
    return made


def _is_offered(action: str, ada: TenantScope, made: Proposal) -> bool:
    """What a page would say of the button."""
    there, under_way = proposing.fresh(made), gates.under_way(made.tenant_id, made.id)
    policy = policies.policy_of_kind(made.tenant_id, made.kind)
    meant = rules.action_of_archiving(there, policy) if action == "uninstall" else action
    return rules.refusal_to(meant, ada, there, under_way, policy=policy, now=timezone.now()) is None


@pytest.mark.parametrize("state", CELLS)
def test_each_state_answers_each_action_as_the_contract_says(state: str) -> None:
    made, ada = _in_state(state), building.scope(role="owner")
    for action in CELLS[state]:
        with transaction.atomic():
            _try(action, state, made, ada)
            transaction.set_rollback(True)


def _try(action: str, state: str, made: Proposal, ada: TenantScope) -> None:
    if action == "uninstall":
        proposing.policy(uninstall_on_archive=True)
    audited, expected = audit_chain.total(made.tenant_id), CELLS[state][action]
    assert _is_offered(action, ada, made) == isinstance(expected, str), action
    if not isinstance(expected, str):
        with pytest.raises(Conflict) as refused:
            ACTS[action](ada, made)
        shown = "draft" if state in UNDER_WAY else state
        assert {key: refused.value.details[key] for key in ("state", "action")} == {"state": shown, "action": action}
        assert audit_chain.total(made.tenant_id) == audited, action
        return
    assert ACTS[action](ada, made) == expected, action
    if action in ONCE:
        with pytest.raises(Conflict):
            ACTS[action](ada, made)
    else:
        assert ACTS[action](ada, made) == expected, action


def test_every_state_and_action_of_the_table_is_tried_above() -> None:
    assert set(CELLS) - UNDER_WAY == set(State.values)
    assert all(set(cells) == set(ACTS) for cells in CELLS.values())
    assert set(rules.NEXT_STATES) == set(ACTS)


@pytest.mark.parametrize("action", ["reject", "archive"])
def test_ending_the_review_cancels_the_gate_even_after_a_grant(action: str) -> None:
    made = proposing.propose()
    gate = opened(made)
    proposing.decide(made, gate)
    ACTS[action](building.scope(role="owner"), made)
    assert proposing.advance(gate).status == "cancelled"
    assert registry.by_ref(made.tenant_id, "prompt:triage.summary@1.1.0") is None
    assert review.detail(building.scope(), made.id).gate is None
