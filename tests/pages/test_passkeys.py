"""Passkeys, driven in Chromium with an authenticator that the browser makes up."""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memory.host.models import AuditRecord, Operator
from openwop_console import sign_in
from tests import browsing, building
from tests.browsing import ADA

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/settings/second-factor"
DEEP = "[" * 10_000 + "]" * 10_000
TOO_MUCH = [DEEP, "9" * 5_000, '{"id": 1e400}', '{"id": "\\u0000"}']


@pytest.fixture
def phone(page: Page) -> Iterator[Any]:
    """A phone beside the browser, whose owner's finger is on it."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
    }
    made = session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    yield lambda verified: session.send(
        "WebAuthn.setUserVerified", {"authenticatorId": made["authenticatorId"], "isUserVerified": verified}
    )
    session.detach()


def add(page: Page, url: str) -> None:
    """Ada, signed in, has added a passkey and seen her recovery codes."""
    browsing.sign_in(page, url, PAGE)
    page.get_by_label("Password, to add a passkey").fill(building.PASSWORD)
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("heading", name="Your recovery codes")).to_be_visible()


def sign_out(page: Page, url: str) -> None:
    page.get_by_role("button", name=f"Signed in as {ADA}").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{url}/login")


def actions() -> list[str]:
    return [each.action for each in AuditRecord.objects.of(building.tenant().id).order_by("seq")]


def test_a_passkey_signs_in_alone_and_in_place_of_a_code_until_it_is_removed(
    page: Page, live_server: LiveServer, phone: Any
) -> None:
    add(page, live_server.url)
    sign_out(page, live_server.url)
    page.goto(f"{live_server.url}/login?next=/memory")
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url(f"{live_server.url}/memory")
    told = AuditRecord.objects.filter(action="operator.signed_in").latest("seq")
    assert told.details["secondFactor"] == "passkey"
    sign_out(page, live_server.url)
    browsing.type_in(page, ADA, building.PASSWORD)
    page.wait_for_url(f"{live_server.url}/login/code")
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url(f"{live_server.url}/")
    page.goto(f"{live_server.url}{PAGE}")
    page.get_by_label("Password, to remove it").fill(building.PASSWORD)
    page.get_by_role("button", name="Remove passkey").click()
    expect(page.get_by_text("You have no passkey.")).to_be_visible()
    assert not Authenticator.objects.exists(), "the recovery codes go with the last factor"
    assert "operator.passkey_added" in actions()
    assert "operator.passkey_removed" in actions()
    sign_out(page, live_server.url)
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_text("The passkey was not accepted.")).to_be_visible()
    assert actions()[-1] == "operator.sign_in_failed"


def test_a_passkey_needs_the_password_its_owner_s_finger_and_an_active_account(
    page: Page, live_server: LiveServer, phone: Any
) -> None:
    browsing.sign_in(page, live_server.url, PAGE)
    for password in ("not it", building.PASSWORD):
        assert not Authenticator.objects.exists()
        page.get_by_label("Password, to add a passkey").fill(password)
        page.get_by_role("button", name="Add a passkey").click()
        if password != building.PASSWORD:
            expect(page.get_by_text("is not your password").first).to_be_visible()
    expect(page.get_by_role("heading", name="Your recovery codes")).to_be_visible()
    sign_out(page, live_server.url)

    phone(False)
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_text("No passkey was used.")).to_be_visible()
    assert page.url == f"{live_server.url}/login"
    for shown in ("text", "password"):
        page.get_by_label("Show password").click()
        expect(page.get_by_label("Password", exact=True)).to_have_attribute("type", shown)

    phone(True)
    page.reload()
    building.deactivate(Operator.objects.get())
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_text("The passkey was not accepted.")).to_be_visible()


def test_what_is_no_passkey_signs_nobody_in_and_waits_by_the_throttle() -> None:
    building.operator(email=ADA)
    browser = Client()
    for sent in ("", "x", "[]", "null", "{}", '{"response": {"userHandle": "AA"}}', '{"response": 1}', *TOO_MUCH):
        assert browser.post("/login/passkey", {"credential": sent})["Location"] == "/login", sent
    for _ in range(sign_in.FREE_STARTS):
        last = browser.get("/login/passkey")
    assert last.status_code == 429
    assert browser.get("/settings/password").status_code == 302
    signed_in = Client()
    signed_in.post("/login", {"login": ADA, "password": building.PASSWORD})
    for sent in ("", "x", "[]", "{}", '{"id": "AA", "response": {}}', *TOO_MUCH):
        form = {"credential": sent, "current": building.PASSWORD}
        assert signed_in.post(f"{PAGE}/passkeys", form).status_code == 422, sent
    for number in ("", "x", "0", "9" * 20, "\u0663"):
        form = {"passkey": number, "current": building.PASSWORD}
        assert signed_in.post(f"{PAGE}/passkeys/remove", form).status_code == 404, number


def test_a_passkey_whose_inner_json_is_too_deep_is_refused() -> None:
    person, inner = building.operator(email=ADA), base64.urlsafe_b64encode(DEEP.encode()).decode()
    own = base64.urlsafe_b64encode(user_pk_to_url_str(person).encode()).decode()
    answer = {"clientDataJSON": inner, "authenticatorData": "AAAA", "attestationObject": "AAAA", "signature": "AAAA"}
    sent = {"id": "AAAA", "rawId": "AAAA", "type": "public-key", "response": {**answer, "userHandle": own}}
    browser = Client()
    assert browser.post("/login/passkey", {"credential": json.dumps(sent)})["Location"] == "/login"
    assert actions()[-1] == "operator.sign_in_failed"
    browser.post("/login", {"login": ADA, "password": building.PASSWORD})
    form = {"credential": json.dumps(sent), "current": building.PASSWORD}
    assert browser.post(f"{PAGE}/passkeys", form).status_code == 422


def test_without_scripts_no_page_offers_a_passkey(plain: Page, live_server: LiveServer) -> None:
    plain.goto(f"{live_server.url}/login")
    expect(plain.get_by_role("button", name=re.compile("passkey"))).to_be_hidden()
