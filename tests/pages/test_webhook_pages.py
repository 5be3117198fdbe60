"""Webhooks under Settings: made with a secret that is shown once, their log, and sending again."""

import csv
import io
from typing import Any

import pytest
from django.test import Client

from memory.host import ids, vault, webhooks
from memory.host.models import Webhook, WebhookDelivery
from tests import building, hooks
from tests.pages.conftest import SignIn, body_of

pytestmark = pytest.mark.django_db
URL = "/settings/webhooks"
FORM: dict[str, Any] = {
    "url": "https://receiver.example/hook",
    "events": ["run.ended", "memory.written"],
    "tags": "production, nightly",
}


def test_a_webhook_is_made_and_its_secret_shown_once(ada: Client) -> None:
    assert "No webhooks yet" in body_of(ada.get(URL))
    assert 'href="/settings/webhooks"' in body_of(ada.get("/settings"))
    made = ada.post(URL, FORM)
    row = Webhook.objects.get()
    (secret,) = vault.open_webhook_secrets(row.tenant_id, webhooks.wire_id(row)).values()
    assert (made.status_code, made["Cache-Control"]) == (200, "no-store")
    assert secret in body_of(made)
    assert "<title>Secret of webhook whk_" in body_of(made)
    assert (row.events, row.tags) == (FORM["events"], ["production", "nightly"])
    page = f"{URL}/{webhooks.wire_id(row)}"
    for url in (URL, page, f"{page}?format=json", f"{URL}?format=json", f"{URL}?format=csv"):
        shown = body_of(ada.get(url))
        assert "receiver.example" in shown
        assert secret not in shown
    rotated = body_of(ada.post(f"{page}/rotate"))
    current = vault.open_webhook_secrets(row.tenant_id, webhooks.wire_id(row))["current"]
    assert current in rotated
    assert current != secret
    assert "The previous secret also signs" in body_of(ada.get(page))
    assert "The webhook is removed" in body_of(ada.post(f"{page}/remove", follow=True))
    assert not Webhook.objects.exists()


def test_what_is_wrong_stands_on_the_form(ada: Client) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"url": "http://receiver.example/"}, "must begin with https://"),
        ({"url": "https://10.0.0.1/"}, "must not lead to an address that is not public"),
        ({"events": []}, "is required"),
        ({"events": ["no.such"]}, "is not one of the choices"),
    ]
    for change, words in wrong:
        answer = ada.post(URL, FORM | change)
        assert answer.status_code == 422, change
        assert words in body_of(answer), change
        assert not Webhook.objects.exists(), change


def test_the_log_says_what_became_of_each_delivery_and_sends_it_again(ada: Client) -> None:
    webhook = hooks.subscribe("memory.written", "run.ended")
    building.remember("acme", "Marta prefers tea.")
    first, _ = hooks.told(webhook)
    rows = WebhookDelivery.objects.written_by(webhooks.WRITER).filter(id=first.id)
    rows.update(state="failed", code="status", status=500, attempts=11, next_at=None)
    page = f"{URL}/{webhooks.wire_id(webhook)}"
    shown = body_of(ada.get(page))
    for words in (
        "memory.written",
        "run.ended",
        "500",
        "answered with an error",
        "<strong>1\u20132</strong> of 2 deliv",
    ):
        assert words in shown
    assert "Marta" not in shown
    lines = list(csv.DictReader(io.StringIO(body_of(ada.get(f"{page}?format=csv")))))
    assert {(each["type"], each["state"], each["status"]) for each in lines} == {
        ("memory.written", "failed", "500"), ("run.ended", "pending", ""),
    }  # fmt: skip
    again = body_of(ada.post(f"{page}/deliveries/{ids.wire('dlv', first.id)}/redeliver", follow=True))
    assert "tried again now" in again
    assert rows.get().state == "pending"


def test_globex_and_an_operator_reach_nothing_of_it(sign_in: SignIn) -> None:
    webhook = hooks.subscribe("memory.written")
    building.remember("acme", "x")
    (delivery,) = hooks.told(webhook)
    page, again = f"{URL}/{webhooks.wire_id(webhook)}", f"deliveries/{ids.wire('dlv', delivery.id)}/redeliver"
    gil, oscar = sign_in("globex"), sign_in(role="operator")
    assert gil.get(page).status_code == 404
    assert oscar.get(page).status_code == 403
    for act in ("rotate", "remove", again):
        assert gil.post(f"{page}/{act}").status_code == 404
        assert oscar.post(f"{page}/{act}").status_code == 403
    assert oscar.post(URL, FORM).status_code == 403
    assert hooks.told(webhook) == [delivery]
