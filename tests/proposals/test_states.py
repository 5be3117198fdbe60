"""The table of openwop-host 1.5: what each action does in each state, the open gate included."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from memory.host import audit, registry
from memory.host.errors import Conflict
from memory.host.tenancy import TenantScope
from proposals import lifecycle, review, rules
from proposals.drafts import Change
from proposals.lifecycle import Activation
from proposals.models import Proposal, State
from tests import building, proposing
from tests.proposing import opened

pytestmark = pytest.mark.django_db

Act = Callable[[TenantScope, Proposal], Any]
ACTS: dict[str, Act] = {
    "revise": lambda scope, made: lifecycle.revise(scope, made.id, Change(title="New"), now=timezone.now()).state,
    "apply": lambda scope, made: _what_apply_gave(lifecycle.ask_to_apply(scope, made.id, now=timezone.now())),
    "reject": lambda scope, made: lifecycle.reject(scope, made.id, now=timezone.now()).state,
    "archive": lambda scope, made: lifecycle.archive(scope, made.id, now=timezone.now()).state,
}
CELLS: dict[str, dict[str, Any]] = {
    "draft": {"revise": "revised", "apply": "pending", "reject": "rejected", "archive": "archived"},
    "revised": {"revise": "revised", "apply": "pending", "reject": "rejected", "archive": "archived"},
    "waiting": {"revise": Conflict, "apply": "pending", "reject": "rejected", "archive": "archived"},
    "applied": {"revise": Conflict, "apply": "prompt:triage.summary@1.1.0", "reject": Conflict, "archive": Conflict},
    "rejected": {"revise": Conflict, "apply": Conflict, "reject": "rejected", "archive": "archived"},
    "archived": {"revise": Conflict, "apply": Conflict, "reject": Conflict, "archive": "archived"},
}


def _what_apply_gave(activation: Activation) -> str:
    return "pending" if activation.gate else activation.installed_ref


def _in_state(state: str) -> Proposal:
    ada = building.scope(role="owner")
    if state == "applied":
        return proposing.applied()
    made = proposing.propose()
    if state == "revised":
        return lifecycle.revise(ada, made.id, Change(title="Second"), now=timezone.now())
    if state == "waiting":
        opened(made)
    if state == "rejected":
        return lifecycle.reject(ada, made.id, now=timezone.now())
    if state == "archived":
        return lifecycle.archive(ada, made.id, now=timezone.now())
    return made


@pytest.mark.parametrize(("state", "action"), [(state, action) for state in CELLS for action in CELLS[state]])
def test_each_state_answers_each_action_as_the_contract_says(state: str, action: str) -> None:
    made, ada = _in_state(state), building.scope(role="owner")
    audited = audit.total(made.tenant_id)
    expected = CELLS[state][action]
    if not isinstance(expected, str):
        with pytest.raises(Conflict) as refused:
            ACTS[action](ada, made)
        shown = "draft" if state == "waiting" else state
        assert {key: refused.value.details[key] for key in ("state", "action")} == {"state": shown, "action": action}
        assert audit.total(made.tenant_id) == audited
        return
    assert ACTS[action](ada, made) == expected
    assert ACTS[action](ada, made) == expected
    assert rules.can(action, ada, proposing.fresh(made), None) or expected == "pending"


def test_every_state_and_action_of_the_table_is_tried_above() -> None:
    assert set(CELLS) - {"waiting"} == set(State.values)
    assert all(set(cells) == set(ACTS) for cells in CELLS.values())
    assert set(rules.NEXT_STATES) == {*ACTS, "decide", "override", "withdraw"}


@pytest.mark.parametrize("action", ["reject", "archive"])
def test_ending_the_review_cancels_the_gate_even_after_a_grant(action: str) -> None:
    made = proposing.propose()
    gate = opened(made)
    proposing.decide(made, gate)
    ACTS[action](building.scope(role="owner"), made)
    assert proposing.advance(gate).status == "cancelled"
    assert registry.by_ref(made.tenant_id, "prompt:triage.summary@1.1.0") is None
    assert review.detail(building.scope(), made.id).gate is None
