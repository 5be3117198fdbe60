"""Signing in by OpenID Connect: who is let in, with which role, and what becomes of them when their groups change."""

import gzip
import ipaddress
import socket
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.core.cache import caches
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from memory.host import access, ids, operators, outbound, second_factors
from memory.host.models import AuditRecord, Membership, Operator, OperatorSession
from memory.host.sessions import SessionStore
from openwop_console import settings as console_settings
from openwop_console import sign_in
from openwop_console.management.base import administrator_scope
from openwop_console.sign_in import single_sign_on
from tests import building, identity_provider, serving
from tests.identity_provider import Provider
from tests.pages.conftest import body_of
from tests.pages.test_second_factor import code_of

pytestmark = pytest.mark.django_db
ADA = "ada@acme.example"
ROLES = {"acme": {"owners": "owner", "staff": "operator", "guests": "viewer"}, "globex": {"staff": "viewer"}}


@pytest.fixture
def provider(settings: Settings) -> Iterator[Provider]:
    building.operator("acme", "owner", "root@acme.example")
    building.tenant("globex")
    with identity_provider.serving() as serving:
        settings.OPENWOP_OIDC_ISSUER = serving.issuer
        settings.OPENWOP_OIDC_CLIENT_ID = identity_provider.CLIENT_ID
        settings.OPENWOP_OIDC_CLIENT_SECRET = identity_provider.CLIENT_SECRET
        settings.OPENWOP_OIDC_NAME = "Corp SSO"
        settings.OPENWOP_OIDC_ROLES = ROLES
        yield serving


def go(provider: Provider, browser: Client | None = None, *, then: str = "") -> tuple[Client, Any]:
    """A browser from the sign-in page over the provider and back; the answer to where it came back."""
    browser = browser or Client()
    asked = browser.get("/login/provider", {"next": then} if then else {})
    place = urlsplit(asked["Location"])
    assert asked["Location"].startswith(provider.issuer)
    back = urlsplit(provider.code(dict(parse_qsl(place.query))))
    return browser, browser.get(back.path, parse_qs(back.query))


def may(browser: Client) -> str:
    """The tenant and role that the session has; "" for a visitor."""
    answer = browser.get("/settings")
    if answer.status_code != 200:
        return ""
    who = answer.wsgi_request.principal  # type: ignore[attr-defined]
    return f"{who.tenant_slug}:{','.join(access.roles_of(who.tenant_id, who.id))}"


def told(browser: Client) -> str:
    return body_of(browser.get("/login"))


def actions(person: Operator, slug: str = "acme") -> list[str]:
    rows = AuditRecord.objects.of(building.tenant(slug).id).filter(target=ids.wire("usr", person.id))
    return [each.action for each in rows.order_by("seq")]


def test_a_person_whose_group_has_a_role_is_let_in_with_it(provider: Provider) -> None:
    provider.person("s-1", "Rosa@Acme.example", "staff", "others")
    assert "Sign in with Corp SSO" in told(Client())
    browser, answer = go(provider, then="/memory?tag=x")
    assert answer["Location"] == "/tenants?next=%2Fmemory%3Ftag%3Dx", "she is an operator of both"
    rosa = Operator.objects.get(email="rosa@acme.example")
    assert not rosa.has_usable_password()
    assert access.roles_of(building.tenant().id, ids.wire("usr", rosa.id)) == ["operator"]
    assert access.roles_of(building.tenant("globex").id, ids.wire("usr", rosa.id)) == ["viewer"]
    assert may(browser) in ("acme:operator", "globex:viewer")
    everywhere = [*actions(rosa), *actions(rosa, "globex")]
    assert sorted(everywhere) == sorted([*["operator.created", "operator.linked"] * 2, "operator.signed_in"])
    record = AuditRecord.objects.get(action="operator.signed_in")
    assert record.details["by"] == "OpenID Connect"
    go(provider)
    assert Operator.objects.filter(email="rosa@acme.example").count() == SocialAccount.objects.count() == 1


@pytest.mark.engines
def test_the_role_follows_the_groups_on_each_sign_in_and_older_sessions_end(provider: Provider) -> None:
    provider.person("s-1", "rosa@acme.example", "guests")
    first, _ = go(provider)
    assert may(first) == "acme:viewer"
    provider.person("s-1", "rosa@acme.example", "guests", "owners")
    second, _ = go(provider)
    assert may(second) == "acme:owner", "of several, the one that the configuration names first"
    assert may(first) == "", "a role change ends the sessions that began before"
    provider.person("s-1", "rosa@acme.example", "others")
    third, answer = go(provider)
    assert answer["Location"] == "/login"
    assert "None of your groups has a role" in told(third)
    assert (may(second), may(third)) == ("", "")
    rosa = Operator.objects.get(email="rosa@acme.example")
    assert actions(rosa)[-2:] == ["operator.deactivated", "operator.sign_in_failed"]
    provider.person("s-1", "rosa@acme.example", "guests")
    assert may(go(provider)[0]) == "acme:viewer", "the group lets her in again"


def test_unknown_groups_open_nothing_and_leave_no_account(provider: Provider) -> None:
    for groups in ([], ["others"], ["Owners"]):
        provider.person("s-2", "eve@evil.example", *groups)
        browser, answer = go(provider)
        assert answer["Location"] == "/login"
        assert "None of your groups has a role" in told(browser)
        assert may(browser) == ""
    provider.claims["groups"] = {"owners": 1}
    assert may(go(provider)[0]) == ""
    assert not Operator.objects.filter(email="eve@evil.example").exists()
    assert not SocialAccount.objects.exists()


def test_whom_an_owner_has_deactivated_no_group_lets_in_again(provider: Provider) -> None:
    provider.person("s-1", "rosa@acme.example", "guests")
    go(provider)
    rosa = Operator.objects.get(email="rosa@acme.example")
    host = administrator_scope(building.tenant())
    operators.change(host, rosa.id, active=False, now=timezone.now())
    browser, answer = go(provider)
    assert answer["Location"] == "/login"
    assert may(browser) == ""
    assert actions(rosa)[-1] == "operator.sign_in_failed"


def test_the_groups_accept_an_open_invitation_and_none_that_was_withdrawn(provider: Provider) -> None:
    provider.person("s-1", "rosa@acme.example", "guests")
    go(provider)
    rosa, globex, now = Operator.objects.get(email="rosa@acme.example"), building.scope("globex"), timezone.now()
    operators.invite(globex, rosa.email, role="author", now=now)
    go(provider)
    operators.change(globex, rosa.id, active=False, now=now)
    provider.person("s-1", rosa.email, "staff")
    go(provider)
    assert operators.find(globex, rosa.id).state == "withdrawn"
    operators.renew_link(globex, rosa.id, now=now)
    assert operators.find(globex, rosa.id).state == "invited", "groups of another tenant accept nothing"
    go(provider)
    assert (operators.find(globex, rosa.id).row.is_active, operators.find(globex, rosa.id).roles) == (True, ["viewer"])


def test_the_last_owner_stays_one_whatever_the_groups_say(provider: Provider, settings: Settings) -> None:
    provider.person("s-1", "rosa@acme.example", "owners")
    go(provider)
    host = administrator_scope(building.tenant())
    root = Operator.objects.get(email="root@acme.example")
    operators.change(host, root.id, active=False, now=timezone.now())
    for groups in (["guests"], []):
        provider.person("s-1", "rosa@acme.example", *groups)
        assert may(go(provider)[0]) == "acme:owner"


@pytest.mark.engines
def test_a_password_account_is_linked_only_when_the_address_is_verified_and_the_host_allows_it(
    provider: Provider, settings: Settings
) -> None:
    ada = building.operator("acme", "viewer", ADA)
    provider.person("s-1", ADA, "staff")
    browser, _ = go(provider)
    assert "signs in with a password" in told(browser)
    settings.OPENWOP_OIDC_LINK = True
    for verified in (False, None, "true", 1):
        provider.person("s-1", ADA, "staff")
        provider.claims["email_verified"] = verified
        browser, _ = go(provider)
        assert "does not say that your email address is verified" in told(browser), verified
    assert not SocialAccount.objects.exists()
    provider.person("s-1", ADA, "staff")
    browser, _ = go(provider)
    assert SocialAccount.objects.get().user == ada
    assert access.roles_of(building.tenant().id, ids.wire("usr", ada.id)) == ["operator"]
    assert "operator.linked" in actions(ada)
    provider.person("s-9", ADA, "owners")
    later, _ = go(provider)
    assert "belongs to another account of the provider" in told(later), "an address that was given to another person"
    assert (SocialAccount.objects.count(), may(later), may(browser)) == (1, "", "acme:operator")


def test_what_opened_an_account_before_it_was_linked_opens_it_no_more(provider: Provider, settings: Settings) -> None:
    """The owner of another tenant may have made it, and still be signed in."""
    settings.OPENWOP_OIDC_LINK, now = True, timezone.now()
    link = operators.invite(building.scope("globex"), ADA, role="viewer", now=now)
    ada = operators.set_first_password(link.operator.id, link.token, building.PASSWORD, now=now)
    other = Client()
    other.post("/login", {"login": ADA, "password": building.PASSWORD})
    secret = second_factors.new_secret()
    second_factors.enrol(ada, secret, code_of(secret), now=now)
    assert may(other) == "globex:viewer"
    provider.person("s-1", ADA, "others")
    operators.change(building.scope("globex"), ada.id, active=False, now=now)
    assert may(go(provider)[0]) == ""
    ada.refresh_from_db()
    assert (ada.has_usable_password(), SocialAccount.objects.exists()) == (True, False), (
        "who is not let in loses nothing"
    )
    operators.change(building.scope("globex"), ada.id, active=True, now=now)
    other.post("/login", {"login": ADA, "password": building.PASSWORD})
    waiting = other
    other = Client()
    other.force_login(Operator.objects.get(email=ADA))
    assert may(other) == "globex:viewer"
    provider.person("s-1", ADA, "guests")
    browser, _ = go(provider)
    assert may(browser) in ("acme:viewer", "globex:viewer"), "no code is asked for that another's app shows"
    ada.refresh_from_db()
    assert not ada.has_usable_password()
    assert not second_factors.enrolled([ada.id])
    assert waiting.post("/login/code", {"code": code_of(secret)})["Location"] == "/login", "nor is it accepted"
    assert [may(each) for each in (other, waiting)] == ["", ""]
    steps = ["operator.password_removed", "operator.second_factor_reset", "operator.linked"]
    assert [each for each in actions(ada, "globex") if each in steps] == steps
    access.store_password(ada, access.encode_password(ada, building.PASSWORD), action="operator.password_set", now=now)
    go(provider)
    ada.refresh_from_db()
    assert ada.check_password(building.PASSWORD), "a password of later stays"


def test_groups_that_open_a_second_tenant_drop_a_password_that_the_owner_of_the_first_may_know(
    provider: Provider,
) -> None:
    provider.person("s-1", ADA, "guests")
    go(provider)
    ada, now = Operator.objects.get(email=ADA), timezone.now()
    link = operators.reset_password(administrator_scope(building.tenant()), ada.id, now=now)
    operators.set_first_password(ada.id, link.token, building.PASSWORD, now=now)
    provider.person("s-1", ADA, "owners")
    go(provider)
    ada.refresh_from_db()
    assert ada.has_usable_password(), "in one tenant it stays"
    other = Client()
    other.post("/login", {"login": ADA, "password": building.PASSWORD})
    provider.person("s-1", ADA, "staff")
    browser, _ = go(provider)
    ada.refresh_from_db()
    assert (ada.has_usable_password(), may(other)) == (False, "")
    assert may(browser) in ("acme:operator", "globex:viewer")
    access.store_password(ada, access.encode_password(ada, building.PASSWORD), action="operator.password_set", now=now)
    go(provider)
    ada.refresh_from_db()
    assert ada.has_usable_password(), "with two tenants an administrator alone sets one"


def test_an_unverified_address_makes_no_account_that_another_could_be_invited_into(provider: Provider) -> None:
    provider.person("s-1", "victim@acme.example", "staff", verified=False)
    assert may(go(provider)[0]) == ""
    assert not Operator.objects.filter(email="victim@acme.example").exists()


def test_a_person_without_an_address_gets_no_account(provider: Provider) -> None:
    provider.person("s-1", "  ", "staff")
    browser, _ = go(provider)
    assert "did not send your email address" in told(browser)
    assert not SocialAccount.objects.exists()


def test_an_answer_without_a_token_or_a_subject_or_in_another_form_signs_nobody_in(provider: Provider) -> None:
    provider.person("s-1", "rosa@acme.example", "owners")
    del provider.claims["sub"]
    for body in (None, {"access_token": "a", "token_type": "Bearer"}, {"id_token": "x"}, ["a"], {}):
        provider.answers = body
        browser, _ = go(provider)
        assert "did not complete" in told(browser), body
        assert may(browser) == "", body


def test_metadata_of_another_issuer_signs_nobody_in(provider: Provider) -> None:
    provider.person("s-1", "rosa@acme.example", "owners")
    provider.elsewhere = {"issuer": "https://another.example"}
    browser = Client()
    assert browser.get("/login/provider")["Location"] == "/login"
    assert "does not answer" in told(browser)


def test_a_membership_that_a_person_gave_outlives_the_groups(provider: Provider, settings: Settings) -> None:
    settings.OPENWOP_OIDC_LINK = True
    building.operator("globex", "owner", ADA)
    provider.person("s-1", ADA, "guests")
    go(provider)
    provider.person("s-1", ADA)
    browser, _ = go(provider)
    assert may(browser) == "globex:owner"


def test_a_token_of_another_issuer_for_another_client_or_of_the_past_signs_nobody_in(provider: Provider) -> None:
    for wrong in ({"iss": "https://another.example"}, {"aud": "another client"}, {"exp": 1}):
        provider.person("s-1", "rosa@acme.example", "owners")
        provider.wrong = dict[str, Any](wrong)
        browser, answer = go(provider)
        assert answer["Location"] == "/login", wrong
        assert "did not complete" in told(browser), wrong
        assert may(browser) == "", wrong


def test_a_token_that_another_key_signed_or_answers_of_two_people_sign_nobody_in(provider: Provider) -> None:
    provider.person("s-1", "rosa@acme.example", "owners")
    provider.userinfo = {"sub": "s-2", "groups": ["owners"]}
    assert may(go(provider)[0]) == ""
    provider.person("s-1", "rosa@acme.example", "owners")
    provider.signs_with = identity_provider.new_key(1)
    assert may(go(provider)[0]) == ""
    assert not SocialAccount.objects.exists()


def test_what_the_signed_token_says_of_a_person_prevails(provider: Provider) -> None:
    provider.person("s-1", "rosa@acme.example", "guests")
    provider.userinfo |= {"email": "ada@acme.example", "groups": ["owners"]}
    browser, _ = go(provider)
    assert may(browser) == "acme:viewer"
    assert SocialAccount.objects.get().user.email == "rosa@acme.example"


def test_neither_redirects_nor_metadata_lead_the_secret_or_the_keys_to_another_host(provider: Provider) -> None:
    """A redirect is not followed, and a private address is refused, except that of the issuer itself."""
    with serving.serving("127.0.0.2") as other:
        other.answers = serving.says(provider.jwks())
        for path in ("token", "jwks", "userinfo", ".well-known/openid-configuration"):
            for elsewhere in ({}, {f"/{path}": f"{other.url}/{path}"}):
                caches["process"].clear()
                provider.person("s-1", "rosa@acme.example", "owners")
                provider.moved = elsewhere
                asked = Client().get("/login/provider")
                if not elsewhere:
                    assert asked["Location"].startswith(provider.issuer)
                elif path.startswith("."):
                    assert asked["Location"] == "/login"
                else:
                    assert may(go(provider)[0]) == "", path
        provider.moved = {}
        for member in ("token_endpoint", "jwks_uri", "userinfo_endpoint"):
            caches["process"].clear()
            provider.elsewhere = {member: f"{other.url}/x"}
            assert may(go(provider)[0]) == "", member
        assert other.asked == []


def test_an_issuer_on_a_private_network_may_have_an_international_name(
    provider: Provider, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, looked_up = socket.getaddrinfo, {"xn--bcher-kva.example", b"xn--bcher-kva.example"}

    def leading_here(host: Any, *given: Any, **named: Any) -> Any:
        return real("127.0.0.1" if host in looked_up else host, *given, **named)

    monkeypatch.setattr(socket, "getaddrinfo", leading_here)
    settings.OPENWOP_OIDC_ISSUER = provider.issuer.replace("127.0.0.1", "B\u00fccher.example")
    provider.elsewhere = {"issuer": settings.OPENWOP_OIDC_ISSUER}
    assert Client().get("/login/provider")["Location"].startswith(provider.issuer)
    settings.OPENWOP_OUTBOUND_ALLOW = ["xn--mnchen-3ya.internal", "b\u00fccher.internal", "10.1.0.0/16"]
    for host, listed in {
        "M\u00dcNCHEN.internal": True,
        "xn--bcher-kva.internal.": True,
        "munchen.internal": False,
    }.items():
        assert outbound.is_listed(host) is listed, host
        assert outbound.may_connect(host, ipaddress.ip_address("10.2.0.1")) is listed, host


def test_an_answer_of_the_provider_is_bounded_in_time_and_in_size(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single_sign_on, "SECONDS", 0.5)
    provider.person("s-1", "rosa@acme.example", "owners")

    def drips(asked: BaseHTTPRequestHandler) -> None:
        serving.answers(b"{", Content_Length="10000", Content_Type="application/json")(asked)
        while not other.over.wait(0.05):
            asked.wfile.write(b" ")

    bomb = gzip.compress(b" " * 100_000_000)
    with serving.serving() as other:
        for answers in (
            drips,
            serving.answers(bomb, Content_Type="application/json", Content_Encoding="gzip"),
            serving.answers(b" " * 2_000_000, Content_Type="application/json"),
        ):
            caches["process"].clear()
            other.answers, provider.elsewhere = answers, {"jwks_uri": f"{other.url}/jwks"}
            began = time.monotonic()
            assert may(go(provider)[0]) == ""
            assert time.monotonic() - began < 4
        assert len(other.asked) == 3


def test_a_code_is_for_the_browser_that_asked_for_it(provider: Provider) -> None:
    provider.person("s-1", "rosa@acme.example", "owners")
    asked = Client().get("/login/provider")
    back = urlsplit(provider.code(dict(parse_qsl(urlsplit(asked["Location"]).query))))
    other = Client()
    assert other.get(back.path, parse_qs(back.query))["Location"] == "/login"
    assert may(other) == ""
    for query in ({}, {"code": "x"}, {"state": "x"}, {"error": "access_denied"}, {"code": "x", "state": "x"}):
        assert Client().get("/login/provider/callback", query)["Location"] == "/login"


@pytest.mark.engines
def test_neither_claims_nor_tokens_are_kept(provider: Provider) -> None:
    provider.person("s-1", "rosa@acme.example", "owners")
    provider.claims |= {"name": "Rosa Luxemburg", "phone_number": "+49 1234"}
    go(provider)
    assert SocialAccount.objects.get().extra_data == {}
    assert not SocialToken.objects.exists()
    kept = " ".join(str(SessionStore().decode(each.session_data)) for each in OperatorSession.objects.all())
    kept += " ".join(str(each.details) for each in AuditRecord.objects.all())
    for word in ("Luxemburg", "+49", "id_token", "access_token"):
        assert word not in kept


def test_starts_that_end_in_no_sign_in_wait_by_the_throttle(provider: Provider) -> None:
    provider.person("s-1", "rosa@acme.example", "owners")
    for _ in range(sign_in.FREE_STARTS):
        assert Client().get("/login/provider")["Location"].startswith(provider.issuer)
    browser = Client()
    assert browser.get("/login/provider")["Location"] == "/login"
    assert "Too many failed attempts" in told(browser)


def test_a_provider_that_does_not_answer_is_said_and_the_password_still_works(
    provider: Provider, settings: Settings
) -> None:
    settings.OPENWOP_OIDC_ISSUER = "http://127.0.0.1:9"
    browser = Client()
    assert browser.get("/login/provider?next=/memory")["Location"] == "/login?next=%2Fmemory"
    assert "does not answer" in told(browser)
    assert browser.post("/login", {"login": "root@acme.example", "password": building.PASSWORD})["Location"] == "/"


def test_without_a_provider_nothing_of_it_is_there() -> None:
    assert "login/provider" not in told(Client())
    assert Client().get("/login/provider").status_code == 404
    assert Client().get("/login/provider/callback").status_code == 404


def test_a_required_second_factor_is_the_provider_s_business_and_one_s_own_is_still_asked_for(
    provider: Provider, settings: Settings
) -> None:
    operators.require_second_factor(administrator_scope(building.tenant()), required=True, now=timezone.now())
    provider.person("s-1", "rosa@acme.example", "guests")
    assert may(go(provider)[0]) == "acme:viewer"
    settings.OPENWOP_OIDC_LINK = True
    root = Operator.objects.get(email="root@acme.example")
    password = Client()
    password.post("/login", {"login": root.email, "password": building.PASSWORD})
    assert password.get("/memory").status_code == 302
    provider.person("s-7", root.email, "owners")
    assert may(go(provider)[0]) == "acme:owner"
    secret, now = second_factors.new_secret(), timezone.now()
    second_factors.enrol(root, secret, code_of(secret), now=now)
    browser, answer = go(provider)
    assert answer["Location"] == "/login/code"
    assert may(browser) == ""


def test_the_settings_know_the_roles() -> None:
    assert set(console_settings.ROLES) == set(access.ROLES)


@pytest.mark.django_db(transaction=True)
def test_a_browser_goes_to_the_provider_and_comes_back_signed_in_and_signs_out(
    page: Page, live_server: LiveServer, provider: Provider
) -> None:
    provider.person("s-1", "rosa@acme.example", "guests")
    page.goto(f"{live_server.url}/memory")
    page.get_by_role("link", name="Sign in with Corp SSO").click()
    page.get_by_role("button", name="Allow").click()
    page.wait_for_url(f"{live_server.url}/memory")
    page.get_by_role("button", name="Signed in as rosa@acme.example").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{live_server.url}/login")
    assert Membership.objects.get(operator__email="rosa@acme.example").from_groups
    page.goto(f"{live_server.url}/memory")
    assert "/login" in page.url
