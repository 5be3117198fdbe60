"""A form that is sent again after Back, or by reloading its answer: nothing happens twice, and the page says so."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memory.forget import execution, holds
from memory.host import api_keys, ids
from memory.host.models import AuditRecord
from tests import building, hooks, proposing
from tests.pages.conftest import body_of
from tests.pages.test_answering import APPROVAL, asking
from tests.pages.test_review_page import seen
from tests.proposing import page_of, propose

pytestmark = pytest.mark.django_db
MARTA = "marta@example.com"
Form = tuple[str, dict[str, Any]]


def approve() -> Form:
    proposal = propose()
    proposing.opened(proposal)
    return f"{page_of(proposal)}/decide", seen(proposal, decision="granted", reason="")


def ask_for_approval() -> Form:
    proposal = propose()
    return f"{page_of(proposal)}/ask", seen(proposal)


def reject() -> Form:
    return f"{page_of(propose())}/reject", {"reason": "not needed"}


def answer() -> Form:
    return asking(*APPROVAL)[1], {"action": "accept", "words": "in time"}


def confirm_forget() -> Form:
    building.remember("acme", f"write to {MARTA}")
    found = execution.preview(building.scope(), [MARTA], now=timezone.now()).request
    sent = {"typed": MARTA, "reason": "ticket 17", "password": building.PASSWORD}
    return f"/forget/{ids.wire('fgt', found.id)}/confirm", sent


def end_hold() -> Form:
    placed = holds.place(building.scope(), [MARTA], reason="a court case", now=timezone.now())
    return f"/forget/holds/{ids.wire('hld', placed.id)}", {"reason": "the case is closed"}


def key() -> str:
    made = api_keys.create_api_key(building.tenant(), role="viewer", name="old", now=timezone.now())
    return f"/settings/keys/{ids.wire('key', made.key_id)}"


def revoke_key() -> Form:
    return f"{key()}/revoke", {}


def rotate_key() -> Form:
    return f"{key()}/rotate", {"last": ""}


def rotate_webhook() -> Form:
    made = hooks.subscribe("run.completed")
    return f"/settings/webhooks/{ids.wire('whk', made.id)}/rotate", {"current": made.fingerprint}


def retire() -> Form:
    return f"/memory/{building.remember('acme', 'tea').entries[0]}/retire", {"reason": "no longer"}


def disable() -> Form:
    building.install("acme", building.definition("broken", building.node("only", "core.noop")))
    return "/artifacts/workflow:broken@1.0.0/disable", {"reason": "an incident"}


ACTS: dict[Callable[[], Form], tuple[int, int, str]] = {
    approve: (302, 409, "No vote and no change was recorded."),
    ask_for_approval: (302, 302, ""),
    reject: (302, 409, "This proposal is already rejected"),
    answer: (302, 409, "answered already"),
    confirm_forget: (302, 302, ""),
    end_hold: (302, 409, "already ended"),
    revoke_key: (302, 302, ""),
    rotate_key: (200, 409, "has been rotated since"),
    rotate_webhook: (200, 302, "has been rotated since"),
    retire: (302, 302, ""),
    disable: (302, 302, ""),
}


def acts_on_record() -> int:
    return AuditRecord.objects.exclude(action="audit.viewed").count()


@pytest.mark.parametrize("act", ACTS)
def test_a_form_that_is_sent_again_does_nothing_twice(
    ada: Client, drain: Callable[[], Any], act: Callable[[], Form]
) -> None:
    first, later, words = ACTS[act]
    url, form = act()
    before = acts_on_record()
    answer = ada.post(url, form)
    assert answer.status_code == first, body_of(answer)
    assert acts_on_record() > before
    for meanwhile in (lambda: None, drain):
        meanwhile()
        after = acts_on_record()
        again = ada.post(url, form, follow=later == 302)
        assert again.redirect_chain[0][1] == 302 if later == 302 else again.status_code == later
        assert words in body_of(again)
        assert acts_on_record() == after
