"""Operators, API keys, secrets and passwords, each managed on its page: nothing of it needs a shell."""

import json
import re
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import time_machine
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import escape

from memory.host import access, api_keys, audit, ids, operators, sessions, vault
from memory.host.errors import Conflict, NotFound
from memory.host.models import ApiKey, Operator, OperatorSession
from tests import building
from tests.memory.test_forgetting import everything_stored
from tests.pages.conftest import SignIn, body_of

pytestmark = pytest.mark.django_db
GOOD = "a long enough sentence"


def told(action: str) -> list[Any]:
    return [each for each in audit.newest(building.tenant().id) if each.action == action]


def link_in(answer: Any) -> str:
    """The path of the link that the page shows once."""
    found = re.search(r"<code>https?://[^/]+(/set-password/[^<]+)</code>", body_of(answer))
    assert found, body_of(answer)
    return found[1]


def signs_in(email: str, password: str) -> bool:
    answer = Client().post("/login", {"login": email, "password": password})
    return bool(answer.status_code == 302)


def operator_url(email: str) -> str:
    return f"/settings/operators/{ids.wire('usr', Operator.objects.get(email=email).id)}"


@pytest.mark.parametrize(
    ("page", "form", "field"),
    [
        ("keys", {"name": "tok-93fb0c1d7e", "role": "viewer"}, "name"),
        ("keys", {"name": "n", "role": "viewer", "agents": "a, tok-93fb0c1d7e"}, "agents"),
        ("operators", {"email": "tok-93fb0c1d7e@acme.example", "role": "viewer"}, "email"),
        ("secrets", {"name": "tok-93fb0c1d7e", "value": "another-value"}, "name"),
        ("webhooks", {"url": "https://x.example/tok-93fb0c1d7e", "events": "run.ended"}, "url"),
    ],
)
def test_SR1_a_form_whose_field_holds_a_secret_of_the_vault_says_so_and_stores_nothing(
    ada: Client, page: str, form: dict[str, str], field: str
) -> None:
    vault.store_secret(building.tenant().id, "crm", "tok-93fb0c1d7e", now=timezone.now())
    answer = ada.post(f"/settings/{page}", form)
    assert answer.status_code == 422
    assert dict(answer.context["form"].errors) == {field: [vault.HOLDS]}
    assert "tok-93fb0c1d7e" not in everything_stored()


def test_all_that_is_wrong_with_a_webhook_stands_beside_its_fields_at_once(ada: Client) -> None:
    vault.store_secret(building.tenant().id, "crm", "tok-93fb0c1d7e", now=timezone.now())
    answer = ada.post("/settings/webhooks", {"url": "http://localhost/x", "tags": "tok-93fb0c1d7e"})
    assert answer.status_code == 422
    assert {*answer.context["form"].errors} == {"url", "tags", "events"}


KEY = {"name": "x", "role": "viewer"}


# --- keys -----------------------------------------------------------------------------------------------------------


def test_a_key_is_made_and_shown_once_and_opens_the_api_with_its_role(ada: Client) -> None:
    form = {"name": "night agent", "role": "viewer", "agents": "a.one, a.two"}
    answer = ada.post("/settings/keys", form)
    assert answer.status_code == 200
    assert "It never expires: revoke it" in body_of(answer)
    soon = (timezone.now() + timedelta(days=90)).date()
    assert f'value="{soon}"' in body_of(answer)  # the form suggests an end
    text = re.search(r"<code>(owk_[^<]+|[A-Za-z0-9_\-.]{30,})</code>", body_of(answer))
    assert text, body_of(answer)
    got = Client().get("/v1/host/console/memory?memoryRef=x", headers={"authorization": f"Bearer {text[1]}"})
    assert got.status_code == 200
    again = body_of(ada.get("/settings/keys"))
    assert text[1] not in again
    assert "night agent" in again
    assert "a.two" in again
    assert len(told("key.created")) == 1


@pytest.mark.engines
def test_a_key_says_when_it_was_used_last_and_is_written_at_most_once_a_minute(ada: Client) -> None:
    made = api_keys.create_api_key(building.tenant(), role="viewer", name="watched", now=timezone.now())

    def use() -> int:
        with CaptureQueriesContext(connection) as asked:
            url = "/v1/host/console/memory?memoryRef=x"
            assert Client().get(url, headers={"x-api-key": made.text}).status_code == 200
        return sum(each["sql"].startswith("UPDATE") and "last_used_at" in each["sql"] for each in asked)

    with time_machine.travel(timezone.now(), tick=False) as clock:
        first = timezone.now()
        page = body_of(ada.get("/settings/keys"))
        assert 'data-label="Last used"><span class="faint">never</span>' in page
        assert [use(), use()] == [1, 0]
        clock.shift(timedelta(seconds=59))
        assert use() == 0
        assert ApiKey.objects.get(id=made.key_id).last_used_at == first
        clock.shift(timedelta(seconds=2))
        assert [use(), use()] == [1, 0]
        assert ApiKey.objects.get(id=made.key_id).last_used_at == timezone.now()
        assert Client().get("/v1/host/console/memory", headers={"x-api-key": f"{made.text}x"}).status_code == 401
    assert "just now" in body_of(ada.get("/settings/keys"))


def test_a_key_is_rotated_and_revoked_from_its_row(ada: Client) -> None:
    made = api_keys.create_api_key(building.tenant(), role="viewer", name="old", now=timezone.now())
    url = f"/settings/keys/{ids.wire('key', made.key_id)}"

    def opens(text: str) -> bool:
        return Client().get("/v1/host/console/memory?memoryRef=x", headers={"x-api-key": text}).status_code == 200

    assert opens(made.text)
    shown = body_of(ada.post(f"{url}/rotate"))
    assert "The old key no longer works." in shown
    rotated = re.search(r"<code>([^<]{30,})</code> <button", shown)
    assert rotated
    assert not opens(made.text)
    assert opens(rotated[1])
    assert ada.post(f"{url}/revoke").status_code == 302
    assert not opens(rotated[1])
    assert "revoked" in body_of(ada.get("/settings/keys"))


def test_before_a_key_or_a_secret_goes_the_page_says_what_would_stop_and_changes_nothing(ada: Client) -> None:
    scope, now = building.scope(), timezone.now()
    made = api_keys.create_api_key(building.tenant(), role="agent", agents=("planner",), name="night", now=now)
    url = f"/settings/keys/{ids.wire('key', made.key_id)}"
    vault.set_secret(scope, "crm-token", "s3cret", kind="tenant", owner="", now=now)
    for address, facts in (
        (f"{url}/revoke", ("Revoke this key?", "night", "planner", "never", "refused at once")),
        (f"{url}/rotate", ("Rotate this key?", "night", "planner", "until they have the new one")),
        ("/settings/secrets/remove?name=crm-token&scope=tenant", ("Remove this secret?", "crm-token", "all runs")),
    ):
        shown = body_of(ada.get(address))
        assert [fact for fact in facts if fact not in shown] == [], address
    assert f"/runs?by={ids.wire('key', made.key_id)}" in body_of(ada.get(f"{url}/revoke")), "what it did is a link away"
    key = ApiKey.objects.get(id=made.key_id)
    assert (key.revoked_at, key.rotated_at) == (None, None)
    assert ada.get("/settings/secrets/remove?name=none&scope=tenant").status_code == 404
    ada.post(f"{url}/revoke")
    assert "The key is revoked already." in body_of(ada.get(f"{url}/revoke", follow=True))


@pytest.mark.engines
def test_a_question_about_what_is_not_there_is_not_found(ada: Client) -> None:
    for query in ("", "name=%00&scope=tenant", "name=a&scope=%00", "name=a&scope=tenant&owner=%00", "name=%ff"):
        assert ada.get(f"/settings/secrets/remove?{query}").status_code == 404, query
    for path in ("keys/x/revoke", "keys/%00/rotate", f"keys/key_{'0' * 32}/revoke", "webhooks/x/remove"):
        assert ada.get(f"/settings/{path}").status_code == 404, path


def test_a_wrong_key_form_says_what_is_wrong_and_makes_nothing(ada: Client) -> None:
    for form, says in [
        ({"role": "emperor"}, "is not one of the choices"),
        ({"role": "viewer", "agents": "one " + "x" * 200}, "must be agent ids"),
        ({"role": "viewer", "expires_at": "2020-01-01"}, "must be in the future"),
        ({"role": "viewer", "person": "nobody@acme.example"}, "nobody"),
        ({"role": "viewer", "name": ""}, "Name: is required"),
    ]:
        answer = ada.post("/settings/keys", {"name": "x", **form})
        assert answer.status_code == 422, form
        assert says in body_of(answer), form
        assert ApiKey.objects.count() == 0, form


def test_an_agent_is_connected_with_a_key_that_the_page_makes(ada: Client, sign_in: SignIn) -> None:
    for page in ("/", "/settings", "/settings/keys", "/agents", "/memory"):
        assert 'href="/connect"' in body_of(ada.get(page)), page
    before = body_of(ada.get("/connect"))
    assert '<option value="agent" selected>' in before
    assert "<code>http://testserver/mcp</code>" in before
    programs = [each for each in (Path(settings.BASE_DIR) / "examples").iterdir() if each.suffix in (".py", ".sh")]
    assert [each.name for each in programs if escape(each.read_text()) not in before] == []
    made = body_of(ada.post("/connect", KEY | {"name": "planner", "role": "agent", "agents": "planner"}))
    found = re.search(r"export OPENWOP_URL=(\S+)\nexport OPENWOP_API_KEY=(\S+)</pre>", made)
    assert found, made
    assert found[1] == "http://testserver"
    assert f'data-copy="{found[2]}"' in made
    note = {"memoryRef": "notes", "content": "hello", "origin": {"system": "x", "node": "plan"}}
    headers = {"authorization": f"Bearer {found[2]}"}
    wrote = Client().post("/v1/host/console/memory", note, content_type="application/json", headers=headers)
    assert wrote.status_code == 201
    assert found[2] not in body_of(ada.get("/connect"))
    assert ada.post("/connect", {"role": "nobody"}).status_code == 422
    viewer = sign_in(role="viewer")
    assert "New key" not in body_of(viewer.get("/connect"))
    assert viewer.post("/connect", {"name": "x", "role": "viewer"}).status_code == 403


def test_who_manages_no_keys_sees_and_makes_none_and_another_tenant_s_key_is_not_there(sign_in: SignIn) -> None:
    operator, gil = sign_in(role="operator"), sign_in("globex")
    made = api_keys.create_api_key(building.tenant(), role="viewer", name="acme's own", now=timezone.now())
    for url in ("/settings/keys", "/settings/operators", "/settings/secrets"):
        assert operator.get(url).status_code == 403, url
        assert operator.post(url, {}).status_code == 403, url
    assert "acme&#x27;s own" not in body_of(gil.get("/settings/keys"))
    assert gil.post(f"/settings/keys/{ids.wire('key', made.key_id)}/revoke").status_code == 404


# --- operators ------------------------------------------------------------------------------------------------------


def test_an_invited_operator_sets_a_password_by_the_link_once_and_signs_in(ada: Client) -> None:
    answer = ada.post("/settings/operators", {"email": "new@acme.example", "role": "reviewer"})
    link = link_in(answer)
    assert "invited</span>" in body_of(answer)
    assert not signs_in("new@acme.example", GOOD)
    visitor = Client()
    assert "new@acme.example" in body_of(visitor.get(link))
    assert visitor.post(link, {"password": "short", "again": "short"}).status_code == 422
    assert visitor.post(link, {"password": GOOD, "again": "another"}).status_code == 422
    assert visitor.post(link, {"password": GOOD, "again": GOOD}).status_code == 302
    assert "Your password is set" in body_of(visitor.get("/login"))
    assert signs_in("new@acme.example", GOOD)
    assert visitor.get(link).status_code == 404
    assert visitor.post(link, {"password": GOOD + "2", "again": GOOD + "2"}).status_code == 404
    assert not signs_in("new@acme.example", GOOD + "2")
    assert [len(told(each)) for each in ("operator.created", "operator.password_set")] == [2, 1]


def test_a_link_expires_after_three_days_and_a_changed_one_opens_nothing(ada: Client) -> None:
    link = link_in(ada.post("/settings/operators", {"email": "new@acme.example", "role": "viewer"}))
    assert Client().get(link[:-1] + ("0" if link[-1] != "0" else "1")).status_code == 404
    with time_machine.travel(timezone.now() + timedelta(days=4)):
        assert Client().get(link).status_code == 404
    assert Client().get(link).status_code == 200


def tenants_of(browser_of: Client) -> list[str]:
    return re.findall(r'name="tenant" value="([^"]+)"', body_of(browser_of.get("/tenants")))


@pytest.mark.engines
def test_an_owner_who_set_the_password_of_a_stranger_enters_no_tenant_that_invites_them_later(ada: Client) -> None:
    """Pre-hijacking: the account was there first, under a password that its person does not know."""
    globex, now, stranger = building.scope("globex"), timezone.now(), "rosa@acme.example"
    first = operators.invite(globex, stranger, role="viewer", now=now)
    operators.set_first_password(first.operator.id, first.token, GOOD, now=now)
    link = link_in(ada.post("/settings/operators", {"email": stranger, "role": "owner"}))
    hijacker = browser(stranger, FIREFOX, "203.0.113.77", password=GOOD)
    assert (tenants_of(hijacker), hijacker.post("/tenants", {"tenant": "acme"}).status_code) == (["globex"], 404)
    assert operators.count_owners(building.tenant().id) == 1
    assert "invited" in body_of(ada.get("/settings/operators"))
    form = KEY | {"person": stranger}
    assert "not an active operator" in body_of(ada.post("/settings/keys", form)), "a key of theirs would open the API"
    for url in (operator_url(stranger), f"{operator_url(stranger)}/reset-password"):
        assert ada.post(url, {"act": "activate"}).status_code == 409, "nor does the inviter's mistake let them in"
    visitor = Client()
    assert "Ask the administrator of this host" in body_of(visitor.get(link)), "what the person is to do"
    assert visitor.post(link, {"password": "another " + GOOD, "again": "another " + GOOD})["Location"].startswith(
        "/login"
    )
    assert signs_in(stranger, GOOD), "the link sets no password"
    with pytest.raises(NotFound):
        operators.set_first_password(first.operator.id, link.rpartition("/")[2], "another " + GOOD, now=now)
    assert not told("operator.password_set"), "what happens to their login is no business of this tenant yet"
    assert not told("operator.signed_in")[1:], "nor where they sign in"


def test_a_person_with_an_account_accepts_an_invitation_signed_in_and_once(ada: Client, sign_in: SignIn) -> None:
    both = building.operator("globex", "owner", email="both@globex.example").email
    link = link_in(ada.post("/settings/operators", {"email": both, "role": "viewer"}))
    assert "invited already" in body_of(ada.post("/settings/operators", {"email": both, "role": "owner"}))
    visitor = Client()
    page = visitor.get(link)
    assert (page["Referrer-Policy"], page["Cache-Control"]) == ("no-referrer", "no-store")
    way = re.search(r'href="(/login\?next=[^"]+)"', body_of(page))
    assert way
    signed = visitor.post(way[1], {"login": both, "password": building.PASSWORD})
    assert (signed["Location"], tenants_of(visitor)) == (link, ["globex"]), "to sign in does not use the link up"
    assert "Accept" in body_of(visitor.get(link))
    other = sign_in("globex", "viewer")
    assert f"signed in as {other.get('/').context['request'].user.email}" in body_of(other.get(link))
    assert other.post(link)["Location"].startswith("/login"), "another person accepts nothing"
    assert not told("operator.invitation_accepted")
    assert visitor.post(link)["Location"] == "/"
    assert tenants_of(visitor) == ["globex", "acme"]
    assert visitor.get("/settings/operators").status_code == 403, "as a viewer of Acme"
    assert [visitor.get(link).status_code, visitor.post(link).status_code] == [404, 404]
    assert [each.actor for each in told("operator.invitation_accepted")] == [operator_url(both).rpartition("/")[2]]
    refused = ada.post(f"{operator_url(both)}/link")
    assert (refused.status_code, "has accepted the invitation already" in body_of(refused)) == (409, True)


def test_an_invitation_is_withdrawn_and_its_link_renewed_and_only_the_last_link_opens(ada: Client) -> None:
    both = building.operator("globex", "owner", email="both@globex.example").email
    first = link_in(ada.post("/settings/operators", {"email": both, "role": "viewer"}))
    url = operator_url(both)
    assert ada.post(url, {"role": "author"}).status_code == 302
    assert "as author" in body_of(Client().get(first)), "another role is offered by the same link"
    second = link_in(ada.post(f"{url}/link"))
    assert [Client().get(each).status_code for each in (first, second)] == [404, 200]
    assert "Withdraw the invitation of both@globex.example?" in body_of(ada.get(f"{url}/deactivate"))
    assert ada.post(f"{url}/deactivate").status_code == 302
    assert "withdrawn" in body_of(ada.get("/settings/operators"))
    assert Client().get(second).status_code == 404
    assert ada.post(url, {"act": "activate"}).status_code == 409
    third = link_in(ada.post(f"{url}/link"))
    with time_machine.travel(timezone.now() + timedelta(days=4)):
        assert Client().get(third).status_code == 404
    assert Client().get(third).status_code == 200
    steps = ("invited", "invitation_renewed", "invitation_withdrawn", "role_changed")
    assert [len(told(f"operator.{step}")) for step in steps] == [1, 2, 1, 1]


def test_a_person_who_is_active_nowhere_accepts_by_signing_in_through_the_link(ada: Client) -> None:
    left = building.operator("globex", "viewer", email="left@globex.example")
    building.deactivate(left)
    link = link_in(ada.post("/settings/operators", {"email": left.email, "role": "viewer"}))
    assert not signs_in(left.email, building.PASSWORD)
    for wrong in (f"{link}x", link.replace(ids.wire("usr", left.id), ids.wire("usr", ids.new_id()))):
        sent = {"login": left.email, "password": building.PASSWORD, "next": wrong}
        assert Client().post("/login", sent).status_code == 200, wrong
    visitor = Client()
    assert visitor.post("/login", {"login": left.email, "password": "wrong", "next": link}).status_code == 200
    answer = visitor.post("/login", {"login": left.email, "password": building.PASSWORD, "next": link})
    assert (answer["Location"], tenants_of(visitor)) == ("/", ["acme"])
    assert Client().get(link).status_code == 404
    assert signs_in(left.email, building.PASSWORD)


def test_an_owner_cannot_take_over_a_person_of_another_tenant_who_has_no_password_by_inviting_them(ada: Client) -> None:
    """One who signs in by a provider, or has not used the link of the first invitation yet."""
    globex, now = building.scope("globex"), timezone.now()
    first = operators.invite(globex, "gil@globex.example", role="owner", now=now)
    operators.join_by_groups(building.tenant("globex"), "rosa@globex.example", role="owner", now=now)
    for email in ("gil@globex.example", "rosa@globex.example"):
        link = link_in(ada.post("/settings/operators", {"email": email, "role": "viewer"}))
        assert Client().post(link, {"password": GOOD, "again": GOOD})["Location"].startswith("/login"), email
        assert not signs_in(email, GOOD)
        person = Operator.objects.get(email=email)
        with pytest.raises(NotFound):
            operators.set_first_password(person.id, link.rstrip("/").rpartition("/")[2], GOOD, now=now)
    operators.set_first_password(first.operator.id, first.token, GOOD, now=now)
    assert signs_in("gil@globex.example", GOOD), "by the link of their own tenant"


def test_a_reset_ends_sessions_and_the_old_password_and_spares_members_of_other_tenants(sign_in: SignIn) -> None:
    ada, rosa = sign_in(), Client()
    building.operator("acme", "reviewer", email="rosa@acme.example")
    assert rosa.post("/login", {"login": "rosa@acme.example", "password": building.PASSWORD}).status_code == 302
    assert rosa.get("/proposals").status_code == 200
    link = link_in(ada.post(f"{operator_url('rosa@acme.example')}/reset-password"))
    assert rosa.get("/proposals").status_code == 302
    assert not signs_in("rosa@acme.example", building.PASSWORD)
    assert Client().post(link, {"password": GOOD, "again": GOOD}).status_code == 302
    assert signs_in("rosa@acme.example", GOOD)
    person = Operator.objects.get(email="rosa@acme.example")
    operators.create_operator(building.tenant("globex"), person.email, role="viewer", now=timezone.now())
    assert ada.post(f"{operator_url(person.email)}/reset-password").status_code == 409
    assert signs_in("rosa@acme.example", GOOD)


def test_a_link_sets_no_password_of_one_who_is_or_was_an_operator_elsewhere(ada: Client) -> None:
    globex, now, gil = building.scope("globex"), timezone.now(), "gil@globex.example"
    operators.invite(globex, gil, role="owner", now=now)
    link = link_in(ada.post("/settings/operators", {"email": gil, "role": "viewer"}))
    person = Operator.objects.get(email=gil)
    operators.accept(person, link.rpartition("/")[2], now=now)
    building.operator("acme", "owner", email="second@acme.example")
    operators.change(building.scope(), person.id, active=False, now=now)
    link_in(ada.post("/settings/operators", {"email": gil, "role": "viewer"}))
    with pytest.raises(Conflict, match="another tenant"):
        operators.reset_password(globex, person.id, now=now)
    rosa = building.operator("acme", "reviewer", email="rosa@acme.example")
    link = link_in(ada.post(f"{operator_url(rosa.email)}/reset-password"))
    assert Client().get(link).status_code == 200
    operators.create_operator(building.tenant("globex"), rosa.email, role="viewer", password=None, now=now)
    assert [Client().get(link).status_code, Client().post(link, {"password": GOOD, "again": GOOD}).status_code] == [
        404,
        404,
    ]
    assert not Operator.objects.get(email=rosa.email).has_usable_password()


def test_a_password_that_a_person_sets_while_they_are_added_elsewhere_stays_theirs(ada: Client) -> None:
    rosa, now = building.operator("acme", "reviewer", email="rosa@acme.example"), timezone.now()
    link = link_in(ada.post(f"{operator_url(rosa.email)}/reset-password"))
    fresh = operators.prepare_operator(rosa.email, f"{GOOD}, of another tenant", now=now)
    assert fresh
    assert Client().post(link, {"password": GOOD, "again": GOOD}).status_code == 302
    operators.admit_operator(building.tenant("globex"), rosa.email, fresh, role="viewer", now=now)
    assert signs_in(rosa.email, GOOD)


def test_a_person_is_signed_out_everywhere_and_can_sign_in_again(ada: Client, sign_in: SignIn) -> None:
    vera, gil = sign_in(role="viewer"), sign_in("globex")
    url = f"{operator_url('ada.viewer@acme.example')}/sign-out"
    sessions_url = url.replace("sign-out", "sessions")
    assert f'href="{sessions_url}"' in body_of(ada.get("/settings/operators"))
    browser("ada.viewer@acme.example", FIREFOX, "203.0.113.77")
    assert f'action="{url}"' in body_of(ada.get(sessions_url))
    assert vera.post(url).status_code == 403
    assert gil.post(url).status_code == 404
    assert vera.get("/memory").status_code == 200
    assert ada.post(url)["Location"] == "/settings/operators"
    assert vera.get("/memory").status_code == 302
    assert signs_in("ada.viewer@acme.example", building.PASSWORD)
    assert [each.target for each in told("operator.sessions_ended")] == [url.split("/")[3]]
    call_command("end_sessions", "ada.owner@acme.example", tenant="acme", stdout=StringIO())
    assert ada.get("/memory").status_code == 302


FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
EDGE = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0"


def browser(email: str, user_agent: str, address: str, *, password: str = building.PASSWORD) -> Client:
    """A browser in which that person has signed in."""
    found = Client(headers={"user-agent": user_agent}, REMOTE_ADDR=address)
    assert found.post("/login", {"login": email, "password": password}).status_code == 302
    return found


def session_names(page: str) -> list[str]:
    return re.findall(r'name="session" value="([0-9a-f]+)"', page)


def test_people_see_where_they_are_signed_in_and_end_sessions() -> None:
    rosa = building.operator("acme", "viewer", email="rosa@acme.example")
    building.operator("acme", "viewer", email="ada@acme.example")
    here, there, third = (
        browser(rosa.email, FIREFOX, "203.0.113.77"),
        browser(rosa.email, EDGE, "2001:db8:1:2:3::4"),
        browser(rosa.email, "curl/8", "198.51.100.7"),
    )
    foreign = browser("ada@acme.example", EDGE, "203.0.113.77")
    page = body_of(here.get("/settings/sessions"))
    for shown in ("Firefox on Linux", "Edge on Windows", "Unknown browser", "203.0.113.0/24", "2001:db8:1::/48"):
        assert shown in page
    assert "203.0.113.77" not in page
    assert page.count("this session") == 1
    assert str(here.session.session_key) not in page
    names = session_names(page)
    assert len(names) == 2  # newest first, and not the one that asks
    assert foreign.post("/settings/sessions", {"session": names[0]}).status_code == 404
    assert here.post("/settings/sessions", {"session": names[0]}).status_code == 302
    assert third.get("/memory").status_code == 302
    assert there.get("/memory").status_code == 200
    assert here.post("/settings/sessions", {"session": names[0]}).status_code == 404
    assert here.post("/settings/sessions").status_code == 302
    assert there.get("/memory").status_code == 302
    assert here.get("/memory").status_code == foreign.get("/memory").status_code == 200
    assert len(told("operator.session_ended")) == 2


def test_all_other_sessions_end_however_many_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_LISTED", 1)
    rosa = building.operator("acme", "viewer", email="rosa@acme.example")
    others, here = (
        [browser(rosa.email, EDGE, "203.0.113.7") for _ in range(2)],
        browser(rosa.email, EDGE, "203.0.113.7"),
    )
    assert here.post("/settings/sessions").status_code == 302
    assert [each.get("/memory").status_code for each in (here, *others)] == [200, 302, 302]


def test_an_owner_sees_the_sessions_of_a_person_in_this_tenant_alone(ada: Client, sign_in: SignIn) -> None:
    rosa = building.operator("acme", "viewer", email="rosa@acme.example")
    operators.create_operator(building.tenant("globex"), rosa.email, role="viewer", now=timezone.now())
    here, elsewhere = browser(rosa.email, FIREFOX, "203.0.113.77"), browser(rosa.email, EDGE, "203.0.113.78")
    assert elsewhere.post("/tenants", {"tenant": "globex", "next": "nowhere"}).headers["Location"] == "/"
    url = f"{operator_url(rosa.email)}/sessions"
    page = body_of(ada.get(url))
    assert "Firefox on Linux" in page
    assert "Edge on Windows" not in page
    [name] = session_names(page)
    vera = sign_in(role="viewer")
    assert vera.get(url).status_code == vera.post(url, {"session": name}).status_code == 403
    assert ada.get(f"/settings/operators/{ids.wire('usr', ids.new_id())}/sessions").status_code == 404
    assert ada.post(url, {"session": name}).status_code == 302
    assert here.get("/memory").status_code == 302
    assert elsewhere.get("/memory").status_code == 200
    [ended] = told("operator.session_ended")
    assert ended.target == ids.wire("usr", rosa.id)
    assert "not signed in to this tenant" in body_of(ada.get(url))


def test_a_session_that_opens_nothing_any_more_is_not_listed_and_goes() -> None:
    rosa = building.operator("acme", "viewer", email="rosa@acme.example")
    before, now = browser(rosa.email, FIREFOX, "203.0.113.77"), timezone.now()
    sent = {"current": building.PASSWORD, "password": GOOD, "again": GOOD}
    assert browser(rosa.email, EDGE, "203.0.113.77").post("/settings/password", sent).status_code == 302
    rosa.refresh_from_db()
    assert [each.browser for each in sessions.list_own(rosa, current="", now=now)] == ["Edge on Windows"]
    assert before.get("/memory").status_code == 302
    tomorrow = now + timedelta(days=1)
    assert sessions.list_own(rosa, current="", now=tomorrow) == []
    assert sessions.sweep(now=tomorrow) >= 1
    assert not OperatorSession.objects.exists()


def test_a_session_that_has_expired_opens_nothing(ada: Client) -> None:
    assert ada.get("/memory").status_code == 200
    OperatorSession.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert ada.get("/memory").status_code == 302


def test_a_role_is_changed_and_somebody_deactivated_and_the_last_owner_stays(sign_in: SignIn) -> None:
    ada = sign_in()
    building.operator("acme", "viewer", email="vera@acme.example")
    vera = operator_url("vera@acme.example")
    assert "vera@acme.example is author now" in body_of(ada.post(vera, {"role": "author"}, follow=True))
    assert ada.post(vera, {"role": "emperor"}).status_code == 422
    asked = body_of(ada.get(f"{vera}/deactivate"))
    assert "Deactivate vera@acme.example?" in asked
    assert signs_in("vera@acme.example", building.PASSWORD), "a question changes nothing"
    assert "vera@acme.example is deactivated" in body_of(ada.post(f"{vera}/deactivate", follow=True))
    assert "is deactivated already" in body_of(ada.get(f"{vera}/deactivate", follow=True))
    assert not signs_in("vera@acme.example", building.PASSWORD)
    assert "vera@acme.example may sign in again" in body_of(ada.post(vera, {"act": "activate"}, follow=True))
    assert signs_in("vera@acme.example", building.PASSWORD)
    me = ids.wire("usr", UUID(ada.session["_auth_user_id"]))
    assert ada.post(f"/settings/operators/{me}/deactivate").status_code == 409
    assert ada.get("/settings/operators").status_code == 200


# --- secrets --------------------------------------------------------------------------------------------------------


def test_a_secret_is_set_and_removed_by_name_and_its_value_is_on_no_page(ada: Client) -> None:
    assert (
        ada.post("/settings/secrets", {"name": "CRM_KEY", "value": "hunter2-hunter2"}, follow=True).status_code == 200
    )
    shown = body_of(ada.get("/settings/secrets"))
    assert "CRM_KEY" in shown
    assert "hunter2" not in shown
    assert vault.has_secret(building.tenant().id, "CRM_KEY")
    refused = ada.post("/settings/secrets", {"name": "CRM]KEY", "value": "hunter2-hunter2"})
    assert refused.status_code == 422
    assert "hunter2" not in body_of(refused)
    assert ada.post("/settings/secrets/remove", {"name": "CRM_KEY", "scope": "tenant", "owner": ""}).status_code == 302
    assert not vault.has_secret(building.tenant().id, "CRM_KEY")
    assert ada.post("/settings/secrets/remove", {"name": "CRM_KEY"}).status_code == 404


@pytest.mark.engines
def test_a_secret_that_no_vault_can_hold_is_not_there(ada: Client) -> None:
    for field in ["name", "owner"]:
        given = {"name": "CRM_KEY", "scope": "user", "owner": "usr_x", field: "a\x00b"}
        assert ada.post("/settings/secrets/remove", given).status_code == 404, field


@pytest.mark.engines
def test_a_secret_says_when_a_run_used_it_last_and_which(ada: Client) -> None:
    acme, now = building.scope(), timezone.now()
    for name in ("CRM_KEY", "OTHER"):
        vault.set_secret(acme, name, "hunter2-hunter2", kind="tenant", owner="", now=now)
    used = [building.open_run(acme) for _ in range(2)]
    for hours, run in zip((2, 3), used, strict=True):
        vault.resolve(run, "CRM_KEY", now=now - timedelta(hours=hours))
    shown = body_of(ada.get("/settings/secrets"))
    assert f'href="/runs/{ids.wire("run", used[0].id)}"' in shown
    assert ids.wire("run", used[1].id) not in shown
    assert 'data-label="Last used"><span class="faint">never</span>' in shown
    rows = json.loads(body_of(ada.get("/settings/secrets?format=json")))["secrets"]
    assert {row["name"]: row["lastUsedBy"] for row in rows} == {"CRM_KEY": ids.wire("run", used[0].id), "OTHER": None}
    assert "hunter2" not in str(rows)


# --- lists as files -------------------------------------------------------------------------------------------------


def test_keys_and_operators_as_files_are_what_the_api_answers_and_hold_all_of_them(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.views.credentials.CHUNK", 2)
    made = [
        api_keys.create_api_key(building.tenant(), role="owner", name=f"=k{n}", now=timezone.now()) for n in range(3)
    ]
    building.operator("acme", "viewer", email="vera@acme.example")
    asked = {"x-api-key": made[0].text}
    Client().get("/v1/host/console/keys", headers=asked)  # its first use, which the list tells
    for page, address, name in (("keys", "keys", "keys"), ("operators", "operators", "operators")):
        answer = Client().get(f"/v1/host/console/{address}", headers=asked).json()
        file = json.loads(body_of(ada.get(f"/settings/{page}?format=json")))
        assert file == {name: answer[name], "total": answer["total"]}
        assert len(body_of(ada.get(f"/settings/{page}?format=csv")).splitlines()) == answer["total"] + 1
        assert ada.get(f"/settings/{page}?id=none&format=json").status_code == 404
        one = answer[name][-1]
        assert json.loads(body_of(ada.get(f"/settings/{page}?id={one['id']}&format=json")))[name] == [one]
    assert ",'=k0," in body_of(ada.get("/settings/keys?format=csv")), "no spreadsheet computes it"


def test_sessions_are_a_file_too_without_what_opens_them() -> None:
    person, browser = building.operator("acme", "owner"), Client()
    browser.post("/login", {"login": person.email, "password": building.PASSWORD})
    for page in ("/settings/sessions", f"/settings/operators/{ids.wire('usr', person.id)}/sessions"):
        text = body_of(browser.get(f"{page}?format=json"))
        [row] = json.loads(text)["sessions"]
        assert (row["current"], set(row) >= {"browser", "signedInAt", "expiresAt"}) == (True, True)
        assert OperatorSession.objects.get().session_key not in text
        assert body_of(browser.get(f"{page}?format=csv")).startswith("browser,tenant,network")


def test_a_key_lists_what_it_may_do_which_is_no_more_than_its_person(ada: Client) -> None:
    vera = building.operator("acme", "viewer", email="vera@acme.example")
    made = api_keys.create_api_key(building.tenant(), role="viewer", name="watch", owner=vera, now=timezone.now())
    there = f"/settings/keys?id={ids.wire('key', made.key_id)}"
    assert f"{len(access.ROLES['viewer'])} permissions" in body_of(ada.get(there))
    assert '<code class="small">memory:read</code>' in body_of(ada.get(there))
    operators.change(building.scope(), vera.id, role="auditor", now=timezone.now())
    assert "its person has none of them" in body_of(ada.get(there))


# --- one's own password ---------------------------------------------------------------------------------------------


def test_one_s_own_password_is_changed_with_the_old_one_and_other_sessions_end() -> None:
    building.operator("acme", "viewer", email="vera@acme.example")
    here, there = Client(), Client()
    for browser in (here, there):
        browser.post("/login", {"login": "vera@acme.example", "password": building.PASSWORD})
    form = {"current": building.PASSWORD, "password": GOOD, "again": GOOD}
    assert here.post("/settings/password", form | {"current": "wrong"}).status_code == 422
    assert here.post("/settings/password", form | {"password": "password12", "again": "password12"}).status_code == 422
    assert here.post("/settings/password", form).status_code == 302
    assert here.get("/settings").status_code == 200
    assert there.get("/settings").status_code == 302
    assert signs_in("vera@acme.example", GOOD)


@pytest.mark.parametrize("what", ["nothing", "role", "no role", "deactivated", "password", "signed out"])
def test_what_is_downloaded_by_a_session_ends_with_it(ada: Client, what: str) -> None:
    person = Operator.objects.get()
    answer: Any = ada.get("/audit", {"format": "csv"})
    assert answer.may_go_on()
    if what == "role":
        building.operator(email="second.owner@acme.example")
        operators.change(building.scope(), person.id, role="viewer", now=timezone.now())
    elif what == "no role":
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM host_rolegrant")
    elif what == "deactivated":
        building.deactivate(person)
    elif what == "password":
        encoded = access.encode_password(person, building.PASSWORD[::-1])
        access.store_password(person, encoded, action="operator.password_changed", now=timezone.now())
    elif what == "signed out":
        ada.post("/logout")
    assert answer.may_go_on() == (what == "nothing")


def test_guessing_the_password_of_an_open_session_waits_after_a_few_tries() -> None:
    building.operator("acme", "viewer", email="vera@acme.example")
    browser = Client()
    browser.post("/login", {"login": "vera@acme.example", "password": building.PASSWORD})
    form = {"current": "wrong", "password": GOOD, "again": GOOD}
    with time_machine.travel(timezone.now(), tick=False):  # a busy machine takes longer for a try than its first wait
        for _ in range(8):
            said = body_of(browser.post("/settings/password", form))
        assert "Too many failed attempts" in said
        assert "Too many" in body_of(browser.post("/settings/password", form | {"current": building.PASSWORD}))


def test_settings_say_in_words_what_each_permission_lets_one_do(ada: Client) -> None:
    shown = body_of(ada.get("/settings"))
    for scope in frozenset().union(*access.ROLES.values()):
        assert re.search(rf'<th scope="row">[a-z][^<:]+ <code class="faint">{scope}<', shown), scope
