"""The second factor of a person: set up, asked for at sign-in, required by a tenant, lost and reset."""

import re
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory.host import access, ids, operators
from memory.host.models import AuditRecord, Operator
from tests import building
from tests.pages.conftest import body_of

pytestmark = pytest.mark.django_db
ADA, PAGE = "ada@acme.example", "/settings/second-factor"


class Clock:
    """Time stands still until it is moved: a code is good once, and the next one 30 seconds later."""

    def __init__(self, traveller: Any) -> None:
        self.traveller = traveller

    def pass_by(self, seconds: int = 30) -> None:
        self.traveller.shift(timedelta(seconds=seconds))


@pytest.fixture
def clock() -> Iterator[Clock]:
    with time_machine.travel(timezone.now(), tick=False) as traveller:
        yield Clock(traveller)


def code_of(secret: str) -> str:
    counter = int(timezone.now().timestamp()) // 30
    return str(totp.format_hotp_value(totp.hotp_value(secret, counter)))


def password_step(email: str = ADA) -> tuple[Client, Any]:
    client = Client()
    return client, client.post("/login?next=/memory", {"login": email, "password": building.PASSWORD})


def signed_in(client: Client) -> bool:
    return client.get("/settings/password").status_code == 200


def set_up(client: Client, *, page: str = PAGE, password: str = building.PASSWORD) -> tuple[str, list[str], Any]:
    """The secret of the new app, its recovery codes, and the answer."""
    shown = body_of(client.get(page))
    secret = re.findall(r"Secret: <code>([A-Z2-7 ]+)</code>", shown)[0].replace(" ", "")
    sealed = re.findall(r'name="secret" value="([^"]+)"', shown)[0]
    answer = client.post(page, {"secret": sealed, "code": code_of(secret), "current": password})
    return secret, re.findall(r"^(?:.*>)?([0-9]{8})$", body_of(answer), re.MULTILINE), answer


@pytest.fixture
def ada() -> Client:
    building.operator(role="owner", email=ADA)
    client, _ = password_step()
    return client


def actions() -> list[str]:
    told = AuditRecord.objects.of(building.tenant().id).order_by("seq")
    return [each.action for each in told if each.action.startswith(("operator.", "tenant."))]


def test_a_person_with_an_app_is_asked_for_its_code_after_the_password(ada: Client, clock: Clock) -> None:
    secret, codes, _ = set_up(ada)
    assert len(codes) == 10
    clock.pass_by()
    browser, answer = password_step()
    assert answer["Location"] == "/login/code"
    assert not signed_in(browser), "the password alone opens nothing"
    assert "authenticator app" in body_of(browser.get("/login/code"))
    answer = browser.post("/login/code", {"code": code_of(secret)})
    assert (answer.status_code, answer["Location"]) == (302, "/memory")
    assert signed_in(browser)
    told = AuditRecord.objects.of(building.tenant().id).order_by("-seq").first()
    assert told is not None
    assert (told.action, told.details["secondFactor"]) == ("operator.signed_in", "authenticator app")


def test_a_code_used_while_the_clock_was_a_day_ahead_does_not_lock_its_person_out(ada: Client, clock: Clock) -> None:
    secret, _, _ = set_up(ada)
    app = Authenticator.objects.get(type=Authenticator.Type.TOTP)
    clock.pass_by()
    for ahead, status in ((timedelta(minutes=5), 200), (timedelta(days=1), 302), (timedelta(), 200)):
        if ahead:
            app.data["counter"] = int((timezone.now() + ahead).timestamp()) // 30
            app.save()
        assert password_step()[0].post("/login/code", {"code": code_of(secret)}).status_code == status, ahead


def test_a_code_is_good_once_and_a_recovery_code_too(ada: Client, clock: Clock) -> None:
    secret, codes, _ = set_up(ada)
    assert "not correct" in body_of(password_step()[0].post("/login/code", {"code": code_of(secret)})), "used to set up"
    clock.pass_by()
    code = code_of(secret)
    assert password_step()[0].post("/login/code", {"code": code}).status_code == 302
    assert password_step()[0].post("/login/code", {"code": code}).status_code == 200
    browser = password_step()[0]
    assert browser.post("/login/code", {"code": codes[3]}).status_code == 302
    assert password_step()[0].post("/login/code", {"code": codes[3]}).status_code == 200
    shown = body_of(browser.get(PAGE))
    assert re.search(r"Recovery codes left</dt><dd>9<", shown)
    assert codes[0] not in shown, "shown once"


def test_who_is_active_nowhere_accepts_an_invitation_with_the_code_and_not_before(ada: Client, clock: Clock) -> None:
    secret, _, _ = set_up(ada)
    clock.pass_by()
    person = Operator.objects.get(email=ADA)
    building.deactivate(person)
    offered = operators.invite(building.scope("globex"), ADA, role="viewer", now=timezone.now())
    link = f"/set-password/{ids.wire('usr', person.id)}/{offered.token}"
    browser = Client()
    answer = browser.post("/login", {"login": ADA, "password": building.PASSWORD, "next": link})
    assert answer["Location"].startswith("/login/code")
    assert access.memberships_of(person.id) == []
    assert browser.post("/login/code", {"code": code_of(secret)})["Location"] == "/"
    assert [each.tenant.slug for each in access.memberships_of(person.id)] == ["globex"]
    assert signed_in(browser)


def test_codes_of_other_times_and_of_nobody_open_nothing(ada: Client, clock: Clock) -> None:
    secret, codes, _ = set_up(ada)
    clock.pass_by(600)
    stale = code_of(secret)
    clock.pass_by(90)
    browser = password_step()[0]
    for wrong in (stale, "", "000000000000", "abc", "12345678", "\x00", codes[0][:6]):
        assert browser.post("/login/code", {"code": wrong}).status_code in (200, 429), wrong
        clock.pass_by(30)
    assert not signed_in(browser)
    assert Client().post("/login/code", {"code": codes[0]})["Location"].startswith("/login"), "no password before it"


@pytest.mark.engines
def test_wrong_codes_wait_like_wrong_passwords_from_any_network_and_are_on_record(ada: Client, clock: Clock) -> None:
    secret, _, _ = set_up(ada)
    clock.pass_by()
    for number in range(5):
        answer = password_step()[0].post("/login/code", {"code": "123"}, REMOTE_ADDR=f"203.0.113.{number}")
        assert answer.status_code == 200
    browser, early = password_step()[0], {"code": code_of(secret)}
    answer = browser.post("/login/code", early, REMOTE_ADDR="198.51.100.1")
    assert (answer.status_code, answer["Retry-After"]) == (429, "1")
    assert "Try again in 1 second." in body_of(answer)
    clock.pass_by(30)
    assert browser.post("/login/code", {"code": code_of(secret)}).status_code == 302
    failed = AuditRecord.objects.of(building.tenant().id).filter(action="operator.sign_in_failed")
    assert {each.details["reason"] for each in failed} == {"second factor"}
    assert "123" not in " ".join(str(each.details.get("code", "")) for each in failed)


def test_a_browser_that_is_known_is_not_held_up_by_who_has_the_password(ada: Client, clock: Clock) -> None:
    secret, _, _ = set_up(ada)
    ada.post("/logout")
    clock.pass_by()
    for _ in range(5):
        password_step()[0].post("/login/code", {"code": "123"})
    assert password_step()[0].post("/login/code", {"code": code_of(secret)}).status_code == 429
    ada.post("/login", {"login": ADA, "password": building.PASSWORD})
    assert ada.post("/login/code", {"code": code_of(secret)}).status_code == 302


@pytest.mark.engines
def test_neither_the_secret_nor_a_recovery_code_stands_in_the_database_or_on_record(ada: Client, clock: Clock) -> None:
    secret, codes, answer = set_up(ada)
    assert answer["Cache-Control"] == "no-store"
    kept = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            kept += [str(bytes(each) if isinstance(each, memoryview) else each) for row in cursor for each in row]
    everything = "\n".join(kept)
    assert "operator.second_factor_enabled" in everything
    for hidden in (secret, *codes):
        assert hidden not in everything


def test_setting_up_takes_the_password_and_a_code_of_the_very_app(ada: Client, clock: Clock) -> None:
    assert set_up(ada, password="not it")[2].status_code == 422
    shown = body_of(ada.get(PAGE))
    sealed = re.findall(r'name="secret" value="([^"]+)"', shown)[0]
    answer = ada.post(PAGE, {"secret": sealed, "code": "000000", "current": building.PASSWORD})
    assert "is not the code that the app shows" in body_of(answer)
    assert f'name="secret" value="{sealed}"' in body_of(answer), "the app that was scanned stays good"
    for forged in ("", "AAAA", sealed[:-8] + "AAAAAAA="):
        answer = ada.post(PAGE, {"secret": forged, "code": "000000", "current": building.PASSWORD})
        assert "too old" in body_of(answer)
    assert not Authenticator.objects.exists()


def test_an_app_that_is_set_up_in_another_tab_meanwhile_is_not_replaced(ada: Client, clock: Clock) -> None:
    shown = body_of(ada.get(PAGE))
    sealed = re.findall(r'name="secret" value="([^"]+)"', shown)[0]
    set_up(ada)
    before = Authenticator.objects.get(type="totp").data
    answer = ada.post(PAGE, {"secret": sealed, "code": "000000", "current": building.PASSWORD})
    assert (answer.status_code, "You have an authenticator app already" in body_of(answer)) == (409, True)
    assert Authenticator.objects.get(type="totp").data == before


def test_who_has_no_second_factor_gets_no_recovery_codes(ada: Client) -> None:
    assert ada.post(f"{PAGE}/codes", {"current": building.PASSWORD}).status_code == 404
    assert not Authenticator.objects.exists()


def test_who_turns_it_off_gives_the_password_and_signs_in_without_it(ada: Client, clock: Clock) -> None:
    _, old, _ = set_up(ada)
    assert ada.post(f"{PAGE}/off", {"current": "not it"}).status_code == 422
    assert ada.post(f"{PAGE}/codes", {"current": "not it"}).status_code == 422
    renewed = body_of(ada.post(f"{PAGE}/codes", {"current": building.PASSWORD}))
    assert "Your recovery codes" in renewed
    assert old[0] not in renewed
    assert password_step()[0].post("/login/code", {"code": old[0]}).status_code == 200, "the old codes are over"
    assert ada.post(f"{PAGE}/off", {"current": building.PASSWORD}).status_code == 302
    assert not Authenticator.objects.exists(), "the secret is erased"
    assert signed_in(password_step()[0])
    assert actions()[-3:-1] == ["operator.sign_in_failed", "operator.second_factor_disabled"]


def test_a_tenant_that_requires_one_leads_to_it_first_and_then_back(ada: Client, clock: Clock) -> None:
    assert ada.post("/settings/second-factor/policy", {"required": "yes"}).status_code == 302
    answer = ada.get("/memory?tag=x")
    assert (answer.status_code, answer["Location"]) == (302, f"{PAGE}?next=%2Fmemory%3Ftag%3Dx")
    assert ada.get("/memory", headers={"hx-request": "true"})["HX-Redirect"].startswith(PAGE)
    assert ada.post("/settings/keys", {"name": "x", "role": "viewer"})["Location"].startswith(PAGE)
    assert signed_in(ada), "the password can still be changed"
    shown = body_of(ada.get(answer["Location"]))
    assert "requires a second factor" in shown
    made = set_up(ada, page=answer["Location"])[2]
    assert 'href="/memory?tag=x"' in body_of(made)
    assert ada.get("/memory").status_code == 200
    ada.post(f"{PAGE}/off", {"current": building.PASSWORD})
    assert ada.get("/memory").status_code == 302
    assert "tenant.second_factor_required" in actions()


def test_a_tenant_that_requires_none_asks_nothing_of_a_person_of_two(ada: Client, clock: Clock) -> None:
    building.tenant("globex")
    call_command("create_operator", ADA, tenant="globex", role="viewer", stdout=StringIO())
    ada.post("/settings/second-factor/policy", {"required": "yes"})
    assert ada.get("/memory").status_code == 302
    assert ada.post("/tenants", {"tenant": "globex"}).status_code == 302
    assert ada.get("/memory").status_code == 200


def test_an_owner_resets_what_a_person_has_lost_and_their_sessions_end(ada: Client, clock: Clock) -> None:
    ben = building.operator(role="operator", email="ben@acme.example")
    his, _ = password_step("ben@acme.example")
    set_up(his)
    page = body_of(ada.get("/settings/operators"))
    assert "Reset second factor" in page
    url = f"/settings/operators/{ids.wire('usr', ben.id)}/reset-second-factor"
    assert his.post(url).status_code == 403
    assert ada.post(url).status_code == 302
    assert not signed_in(his)
    assert password_step("ben@acme.example")[1]["Location"] == "/memory"
    assert "operator.second_factor_reset" in actions()
    assert ada.post(url).status_code == 404, "there is none any more"


def test_no_tenant_resets_what_protects_the_login_to_another(ada: Client, clock: Clock) -> None:
    ben = building.operator(role="operator", email="ben@acme.example")
    building.tenant("globex")
    call_command("create_operator", "ben@acme.example", tenant="globex", role="viewer", stdout=StringIO())
    set_up(password_step("ben@acme.example")[0])
    answer = ada.post(f"/settings/operators/{ids.wire('usr', ben.id)}/reset-second-factor")
    assert answer.status_code == 409
    assert "operator of another tenant too" in body_of(answer)
    call_command("reset_second_factor", "ben@acme.example", stdout=StringIO())
    assert not Authenticator.objects.exists()
    assert access.operator_by_email("ben@acme.example")


def test_the_commands_reset_and_require_as_the_pages_do(ada: Client, clock: Clock) -> None:
    set_up(ada)
    call_command("reset_second_factor", ADA, stdout=StringIO())
    assert not signed_in(ada)
    with pytest.raises(CommandError, match="no second factor"):
        call_command("reset_second_factor", ADA, stdout=StringIO())
    with pytest.raises(CommandError, match="no operator"):
        call_command("reset_second_factor", "nobody@acme.example")
    call_command("require_second_factor", tenant="acme", stdout=StringIO())
    browser, _ = password_step()
    assert browser.get("/memory")["Location"].startswith(PAGE)
    call_command("require_second_factor", tenant="acme", off=True, stdout=StringIO())
    assert browser.get("/memory").status_code == 200
    assert actions()[-3:] == ["tenant.second_factor_required", "operator.signed_in", "tenant.second_factor_optional"]


@pytest.mark.engines
def test_a_new_secret_key_opens_what_the_old_one_sealed_once_the_vault_was_rotated(
    ada: Client, clock: Clock, settings: Settings
) -> None:
    secret, _, _ = set_up(ada)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "a-quite-different-key-of-this-host"
    call_command("rotate_vault_key", stdout=StringIO())
    settings.SECRET_KEY_FALLBACKS = []
    clock.pass_by()
    assert Operator.objects.count() == 1
    assert password_step()[0].post("/login/code", {"code": code_of(secret)}).status_code == 302
