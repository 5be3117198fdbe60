"""The sign-in page: who waits, who does not, what is on record, and which tenant a session is for."""

import hashlib
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.auth_backends import AuthenticationBackend
from django.contrib.auth import hashers
from django.core import signing
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory.host import ids, operators, throttle
from memory.host.models import AuditRecord, Throttle
from openwop_console import sign_in
from tests import building

pytestmark = pytest.mark.django_db
ADA, WRONG = "ada@acme.example", "not the password at all"


class Clock:
    def __init__(self) -> None:
        self.moment = timezone.now()

    def now(self) -> Any:
        return self.moment

    def pass_by(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(sign_in, "timezone", made)
    return made


def attempt(password: str, client: Client | None = None, *, email: str = ADA, network: str = "203.0.113.7") -> Any:
    return (client or Client()).post("/login", {"login": email, "password": password}, REMOTE_ADDR=network)


def fails(many: int, **where: Any) -> None:
    for _ in range(many):
        assert attempt(WRONG, **where).status_code == 200


def test_after_five_failures_each_further_try_waits_one_second_and_doubles_to_thirty(clock: Clock) -> None:
    building.operator(email=ADA)
    fails(5)
    for seconds in (1, 2, 4, 8, 16, 30, 30):
        early = attempt(building.PASSWORD)
        assert (early.status_code, early["Retry-After"]) == (429, str(seconds))
        words = "1 second" if seconds == 1 else f"{seconds} seconds"
        assert f"Try again in {words}." in early.content.decode()
        clock.pass_by(seconds)
        assert attempt(WRONG).status_code == 200
    clock.pass_by(30)
    assert attempt(building.PASSWORD).status_code == 302, "nobody is refused for good"
    fails(4)


def pairs(answers: list[Any]) -> list[tuple[Any, str]]:
    return [(answer, answer.content.decode()) for answer in answers]


def test_a_try_that_must_wait_costs_no_hash_and_an_unknown_address_is_told_the_same(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    building.operator(email=ADA)
    texts = []
    for email in (ADA, "nobody@acme.example"):
        answers = [attempt(WRONG, email=email, network="198.51.100.9") for _ in range(5)]
        answers.append(attempt(WRONG, email=email, network="198.51.100.9"))
        texts.append([(each.status_code, "Try again" in text, "not correct" in text) for each, text in pairs(answers)])
    assert texts[0] == texts[1]
    monkeypatch.setattr(hashers, "check_password", lambda *_, **__: pytest.fail("a hash was computed"))
    monkeypatch.setattr(hashers, "make_password", lambda *_, **__: pytest.fail("a hash was computed"))
    assert attempt(building.PASSWORD, network="198.51.100.9").status_code == 429


def test_a_failure_is_written_down_for_an_unknown_address_as_for_a_known_one() -> None:
    """Or the time of the answer would tell who has an account."""
    building.operator(email=ADA)
    fails(1)
    written = []
    for email in (ADA, "nobody@acme.example"):
        with CaptureQueriesContext(connection) as asked:
            fails(1, email=email, network="198.51.100.9")
        statements = [each["sql"] for each in asked.captured_queries]
        hashed = max(at for at, text in enumerate(statements) if "host_operator" in text)
        written.append(any(text.startswith(("INSERT", "UPDATE")) for text in statements[hashed:]))
    assert written == [True, True]


def test_failures_from_one_network_do_not_hold_up_another() -> None:
    building.operator(email=ADA)
    fails(5)
    assert attempt(building.PASSWORD).status_code == 429
    assert attempt(building.PASSWORD, network="198.51.100.1").status_code == 302


def test_an_ipv6_network_is_a_64_and_a_mapped_address_is_its_ipv4() -> None:
    building.operator(email=ADA)
    for first, second, together in [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:203.0.113.7", "203.0.113.7", True),
    ]:
        with building.undone():
            fails(5, network=first)
            assert (attempt(building.PASSWORD, network=second).status_code == 429) is together, first


def test_a_network_that_tries_many_accounts_waits_too(clock: Clock) -> None:
    building.operator(email=ADA)
    for number in range(sign_in.FREE_OF_NETWORK):
        fails(1, email=f"someone{number}@acme.example")
    assert attempt(building.PASSWORD).status_code == 429
    clock.pass_by(1)
    assert attempt(building.PASSWORD).status_code == 302


def test_the_networks_of_one_ipv6_site_are_counted_together() -> None:
    """A single subscriber is given up to 65,536 networks, each of which would have five tries for each account."""
    building.operator(email=ADA)
    for number in range(sign_in.FREE_OF_NETWORK):
        fails(1, network=f"2001:db8:1:{number:x}::1")
    assert attempt(building.PASSWORD, network="2001:db8:1:ffff::1").status_code == 429
    assert attempt(building.PASSWORD, network="2001:db8:2:ffff::1").status_code == 302


@pytest.mark.engines
def test_a_network_that_is_held_up_leaves_no_row_for_each_address_it_makes_up(clock: Clock) -> None:
    building.operator(email=ADA)
    for number in range(sign_in.FREE_OF_NETWORK):
        fails(1, email=f"someone{number}@acme.example")
    before = Throttle.objects.count()
    for number in range(30):
        assert attempt("wrong password", email=f"another{number}@acme.example").status_code == 429
    assert Throttle.objects.count() == before


def test_a_known_browser_is_told_by_a_signature_of_the_sign_in_alone(clock: Clock) -> None:
    ada = building.operator(email=ADA)
    fails(5)
    value = {"device": "d", "accounts": [ada.id.hex]}
    for cookie in (
        signing.dumps(value),  # signed by this host for something else
        signing.dumps(value, salt="openwop.other"),
        signing.dumps(value, salt=sign_in.DEVICE_SALT, key="another host's key"),
        signing.dumps([ada.id.hex], salt=sign_in.DEVICE_SALT),
        signing.dumps({"accounts": [ada.id.hex]}, salt=sign_in.DEVICE_SALT),
        "",
        "x" * 5000,
    ):
        forged = Client()
        forged.cookies[sign_in.DEVICE_COOKIE] = cookie
        assert attempt(building.PASSWORD, forged).status_code == 429, cookie


def test_all_spellings_of_an_address_wait_together_and_sign_in(clock: Clock) -> None:
    building.operator(email=ADA)
    for spelling in (ADA, ADA.upper(), f"{ADA}\u200b", "ada@acme\u00ad.example", "ada@\u2060acme.example"):
        assert attempt(WRONG, email=spelling).status_code == 200, ascii(spelling)
    assert attempt(building.PASSWORD).status_code == 429
    clock.pass_by(1)
    assert attempt(building.PASSWORD, email="ada@AC\u200bME.example").status_code == 302


def test_an_address_that_the_database_takes_for_another_signs_nobody_in(monkeypatch: pytest.MonkeyPatch) -> None:
    ada = building.operator(email=ADA)
    monkeypatch.setattr(AuthenticationBackend, "authenticate", lambda *_, **__: ada)
    assert attempt(building.PASSWORD, email=f"\u017f{ADA}").status_code == 200
    assert attempt(building.PASSWORD).status_code == 302


def test_a_browser_that_has_signed_in_before_gets_through_whatever_others_have_tried(clock: Clock) -> None:
    building.operator(email=ADA)
    building.operator(role="viewer", email="ben@acme.example")
    mine = Client()
    assert attempt(building.PASSWORD, mine).status_code == 302
    cookie = mine.cookies[sign_in.DEVICE_COOKIE]
    assert (cookie["httponly"], cookie["path"], cookie["samesite"]) == (True, "/login", "Lax")
    mine.post("/logout")
    fails(5)
    assert attempt(building.PASSWORD).status_code == 429
    assert attempt(building.PASSWORD, mine).status_code == 302
    mine.post("/logout")
    fails(5, email="ben@acme.example")
    assert attempt(building.PASSWORD, mine, email="ben@acme.example").status_code == 429, "it is known to Ada alone"
    forged = Client()
    forged.cookies[sign_in.DEVICE_COOKIE] = cookie.value[:-2] + "xx"
    assert attempt(building.PASSWORD, forged).status_code == 429
    fails(5, client=mine)
    assert attempt(building.PASSWORD, mine).status_code == 429, "a browser is counted by itself"


@pytest.mark.engines
@pytest.mark.django_db(transaction=True)
def test_twenty_tries_at_once_get_five_checks_and_not_twenty() -> None:
    buckets = [throttle.bucket("a", free=5), throttle.bucket("b", free=50)]
    now = timezone.now()

    def one(_: int) -> bool:
        try:
            return not throttle.reserve(buckets, now=now)
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as pool:
        assert sum(pool.map(one, range(20))) == 5


def test_a_wait_from_a_clock_that_was_a_day_ahead_is_over_when_it_is_right_and_one_minute_is_not() -> None:
    now = timezone.now()
    for ahead, waits in ((timedelta(days=1), False), (timedelta(minutes=1), True)):
        buckets = [throttle.bucket(str(ahead), free=2)]
        for _ in range(3):
            throttle.reserve(buckets, now=now + ahead)
        assert bool(throttle.reserve(buckets, now=now)) is waits, ahead


@pytest.mark.engines
def test_the_rows_of_the_throttle_name_nobody_and_are_forgotten(clock: Clock) -> None:
    fails(1, email="nobody@acme.example")
    kept = " ".join(str(row) for row in Throttle.objects.values_list())
    assert "nobody" not in kept
    assert "203.0.113" not in kept
    assert hashlib.sha256(b"nobody@acme.example").hexdigest() not in kept
    assert throttle.purge(now=clock.now()) == 0
    assert throttle.purge(now=clock.now() + throttle.KEPT) == 3
    assert not Throttle.objects.exists()


def test_a_forwarded_address_that_is_no_address_is_a_page_and_no_failure(settings: Settings) -> None:
    building.operator(email=ADA)
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 2
    for sent in ("nonsense", "1.2.3.4", "a, b, c"):
        answer = Client().post(
            "/login", {"login": ADA, "password": building.PASSWORD}, headers={"x-forwarded-for": sent}
        )
        assert answer.status_code == 302, sent


def test_a_tenant_that_has_invited_a_person_is_told_of_no_failure_before_they_accept() -> None:
    ada, globex = building.operator(email=ADA), building.scope("globex")
    invitation = operators.invite(globex, ADA, role="viewer", now=timezone.now())
    told = AuditRecord.objects.of(globex.tenant_id).filter(action="operator.sign_in_failed")
    fails(1)
    assert not told.exists()
    operators.accept(ada, invitation.token, now=timezone.now())
    fails(1)
    assert told.count() == 1


@pytest.mark.engines
def test_sign_ins_failures_and_sign_outs_are_on_record_without_what_was_typed() -> None:
    ada = building.operator(email=ADA)
    building.operator("globex", email="gil@globex.example")
    client = Client()
    fails(2, client=client)
    attempt("hunter2-secret", email="hunter2-secret@acme.example")
    attempt(building.PASSWORD, client)
    client.post("/logout")
    attempt(building.PASSWORD, client)
    told = AuditRecord.objects.of(building.tenant().id).filter(target=ids.wire("usr", ada.id)).order_by("seq")
    assert [(each.action, each.actor) for each in told[1:]] == [
        ("operator.sign_in_failed", "visitor"),
        ("operator.signed_in", ids.wire("usr", ada.id)),
        ("operator.signed_out", ids.wire("usr", ada.id)),
        ("operator.signed_in", ids.wire("usr", ada.id)),
    ]
    assert [each.details for each in told[1:3]] == [
        {"network": "203.0.113.0/24", "reason": "password"},
        {"network": "203.0.113.0/24", "browser": "new"},
    ]
    assert told[4].details["browser"] == "known"
    everything = " ".join(str(each) for each in AuditRecord.objects.values_list("actor", "target", "details"))
    for word in ("hunter2", WRONG, building.PASSWORD, "203.0.113.7"):
        assert word not in everything


def test_a_person_of_two_tenants_picks_one_and_switches_without_seeing_the_other() -> None:
    building.operator(role="owner", email=ADA)
    building.tenant("initech")
    building.tenant("globex")
    call_command("create_operator", ADA, tenant="globex", role="viewer")
    entry, other = building.remember("acme", "of Acme").entries[0], building.remember("globex", "of Globex").entries[0]
    client = Client()
    answer = client.post("/login?next=/memory", {"login": ADA, "password": building.PASSWORD, "next": "/memory"})
    assert answer["Location"] == "/tenants?next=%2Fmemory"
    page = client.get(answer["Location"]).content.decode()
    assert ("Acme" in page, "Globex" in page, "Initech" in page) == (True, True, False)
    assert re.findall(r'<span class="muted">(\w+)</span>', page) == ["owner", "viewer"]
    answer = client.post("/tenants", {"tenant": "globex", "next": "/memory"})
    assert answer["Location"] == "/memory"
    assert client.get(f"/memory/{other}").status_code == 200
    assert client.get(f"/memory/{entry}").status_code == 404
    assert client.get("/forget").status_code == 403, "a viewer here, whatever they are elsewhere"
    assert "Switch tenant" in client.get("/").content.decode()
    assert client.post("/tenants", {"tenant": "initech"}).status_code == 404
    assert client.post("/tenants", {"tenant": "acme", "next": "https://evil.example/"})["Location"] == "/"
    assert client.get(f"/memory/{entry}").status_code == 200
    assert client.get(f"/memory/{other}").status_code == 404
    told = AuditRecord.objects.of(building.tenant("globex").id).filter(action="operator.signed_in")
    assert told.count() == 1


def test_a_person_of_one_tenant_is_offered_no_switch() -> None:
    building.operator(role="owner", email=ADA)
    client = Client()
    assert client.post("/login", {"login": ADA, "password": building.PASSWORD})["Location"] == "/"
    assert "Switch tenant" not in client.get("/").content.decode()


def test_the_sign_in_page_says_whom_to_ask_for_an_account_or_another_password(client: Client) -> None:
    shown = client.get("/login").content.decode()
    assert "No account? Ask your administrator." in shown
    assert "Forgot your password? Ask an owner to reset it" in shown


def test_a_form_that_is_sent_without_a_session_leads_to_its_page_after_signing_in_and_says_so(client: Client) -> None:
    sent = client.post("/settings/keys", {"name": "x"}, HTTP_REFERER="http://testserver/memory?ref=notes")
    assert sent["Location"] == "/login?next=%2Fmemory%3Fref%3Dnotes"
    assert "Your session ended before this form was sent." in client.get(sent["Location"]).content.decode()
    for elsewhere in ("https://evil.example/memory", "javascript:alert(1)", "", "//evil.example"):
        assert client.post("/forget", HTTP_REFERER=elsewhere)["Location"] == "/login?next=%2F"


@pytest.mark.engines
def test_whatever_a_browser_sends_as_its_cookies_is_a_visitor_s_and_no_failure() -> None:
    """A NUL comes in a quoted value, as ``\\000``."""
    for odd in ("\0" * 32, "a" * 31, "a" * 5000, "\u00e9" * 32, "' OR 1=1 --", ""):
        for path, status in (("/memory", 302), ("/login", 200)):
            browser = Client()
            for name in ("openwop_session", "openwop_csrf", sign_in.DEVICE_COOKIE, "columns"):
                browser.cookies[name] = odd
            assert browser.get(path).status_code == status, (odd, path)


def test_a_sign_in_that_is_to_lead_to_no_address_leads_to_the_first_page() -> None:
    building.operator(email=ADA)
    for odd in ("http://[::1", "//[", "https://evil.example/", "javascript:alert(1)", "\0", "/\\evil.example"):
        client = Client()
        assert client.get("/login", {"next": odd}).status_code == 200, odd
        for path in ("/login", "/login/code"):  # signed in at the first, and so at the second
            answer = client.post(path, {"login": ADA, "password": building.PASSWORD, "next": odd})
            assert (answer.status_code, answer["Location"]) == (302, "/"), (odd, path)
        assert client.get("/login", {"next": odd})["Location"] == "/", odd
