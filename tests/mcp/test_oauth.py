"""A client of ``/mcp`` without a key: it registers, a person consents, and its tokens open what was granted."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs, quote_plus, urlencode, urlsplit

import pytest
from allauth.idp.oidc.models import Client as Registered
from allauth.idp.oidc.models import Token
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings
from time_machine import travel

from memory.forget import execution
from memory.host import audit, ids, operators
from memory.host.models import ApiKey
from openwop_console import passwords
from openwop_console.oauth import tokens
from tests import building
from tests.budgets import THOROUGH
from tests.mcp.conftest import Model
from tests.pages.conftest import body_of

pytestmark = pytest.mark.django_db
BACK = "http://127.0.0.1:5000/callback"
VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
RESOURCE = "http://testserver/mcp"
Browse = Callable[..., Client]


@pytest.fixture
def browse() -> Browse:
    """``browse("globex", "viewer")``: the browser of a person who is signed in there."""

    def signed_in(slug: str = "acme", role: str = "operator", person: Any = None) -> Client:
        browser = Client()
        browser.force_login(person or building.operator(slug, role))
        return browser

    return signed_in


@dataclass
class Program:
    """A client of OAuth, with what it was given so far."""

    client: Client = field(default_factory=Client)
    id: str = ""
    tokens: dict[str, Any] = field(default_factory=dict)

    def register(self, name: str = "Desk", *uris: str, **more: Any) -> Any:
        body = {
            "client_name": name,
            "redirect_uris": list(uris) or [BACK],
            "token_endpoint_auth_method": "none",
            **more,
        }
        answer = self.client.post("/oauth/register", json.dumps(body), content_type="application/json")
        self.id = answer.json().get("client_id", "")
        return answer

    def address(self, **changes: Any) -> str:
        asked = {
            "response_type": "code",
            "client_id": self.id,
            "redirect_uri": BACK,
            "state": "st",
            "scope": "mcp",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "resource": RESOURCE,
        }
        return f"/oauth/authorize?{urlencode({name: value for name, value in {**asked, **changes}.items() if value})}"

    def exchange(self, code: str, **changes: Any) -> Any:
        sent = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, "client_id": self.id}
        answer = self.client.post("/oauth/token", {**sent, "code_verifier": VERIFIER, "resource": RESOURCE, **changes})
        self.tokens = answer.json()
        return answer

    def refresh(self) -> Any:
        sent = {"grant_type": "refresh_token", "refresh_token": self.tokens["refresh_token"], "client_id": self.id}
        answer = self.client.post("/oauth/token", sent)
        self.tokens = answer.json() if answer.status_code == 200 else self.tokens
        return answer

    @property
    def model(self) -> Model:
        return Model(self.client, {"HTTP_AUTHORIZATION": f"Bearer {self.tokens['access_token']}"})

    def status(self) -> int:
        """What ``/mcp`` answers to its token."""
        found: int = self.model.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}).status_code
        return found


def consent(browser: Client, address: str, action: str = "grant") -> Any:
    page = browser.get(address)
    assert page.status_code == 200, body_of(page)
    signed = re.search(r'name="request" value="([^"]+)"', body_of(page))
    assert signed
    return browser.post("/oauth/authorize", {"request": signed[1], "scopes": "mcp", "action": action})


def told(answer: Any) -> dict[str, str]:
    """What the client is told where it is sent back to."""
    assert answer.status_code == 302, answer.content
    assert answer["Location"].startswith(BACK)
    return {name: values[0] for name, values in parse_qs(urlsplit(answer["Location"]).query).items()}


def granted(browser: Client, name: str = "Desk") -> Program:
    """A program to which the person of the browser has granted access."""
    program = Program()
    assert program.register(name).status_code == 201
    back = told(consent(browser, program.address()))
    assert back["state"] == "st"
    assert program.exchange(back["code"]).status_code == 200, program.tokens
    return program


def actions(slug: str = "acme") -> list[str]:
    return [record.action for record in audit.newest(building.tenant(slug).id)]


def test_the_metadata_leads_from_the_refusal_to_every_address(client: Client) -> None:
    for path in ("", "/mcp"):
        found = client.get(f"/.well-known/oauth-protected-resource{path}").json()
        assert (found["resource"], found["authorization_servers"]) == (RESOURCE, ["http://testserver"])
    told_of = client.get("/.well-known/oauth-authorization-server").json()
    assert told_of["issuer"] == "http://testserver"
    assert told_of["code_challenge_methods_supported"] == ["S256"]
    assert told_of["grant_types_supported"] == ["authorization_code", "refresh_token"]
    for name in ("authorization", "token", "registration", "revocation"):
        assert told_of[f"{name}_endpoint"].startswith("http://testserver/oauth/")


@pytest.mark.engines
def test_a_person_grants_a_client_access_and_it_reads_as_they_may(browse: Browse) -> None:
    kept = building.remember("acme", "the owl").entries[0]
    browser = browse()
    program = Program()
    program.register("Desk <3".replace("<", ""))
    page = body_of(browser.get(program.address()))
    assert "Grant Desk 3 access to Acme?" in page
    assert "search, list and read memory" in page
    back = told(consent(browser, program.address()))
    tokens = program.exchange(back["code"])
    assert tokens["Cache-Control"] == "no-store"
    assert program.tokens["expires_in"] <= 24 * 3600
    assert program.tokens["refresh_expires_in"] <= 24 * 3600
    result = program.model.call("memory_get", id=kept)
    assert result["isError"] is False
    record = audit.newest(building.tenant().id, audit.AuditFilter(action="mcp.call"))[0]
    assert (record.details["roles"], record.details["tool"]) == (["agent"], "memory_get")
    assert "grant.created" in actions()


def test_the_consent_page_lets_its_form_lead_to_this_client_alone(browse: Browse) -> None:
    browser, program = browse(), Program()
    for uri, target in (
        (BACK, "http://127.0.0.1:5000"),
        ("https://app.example/cb", "https://app.example"),
        ("cursor://anysphere/cb", "cursor:"),
    ):
        program.register("Desk", uri)
        policy = browser.get(program.address(redirect_uri=uri))["Content-Security-Policy"]
        [directive] = [each for each in policy.split("; ") if each.startswith("form-action")]
        assert directive.split() == ["form-action", "'self'", target]


@pytest.mark.parametrize(
    "uri",
    [
        "http://evil.example/cb",
        "http://127.0.0.1.evil.example/cb",
        "http://localhost@evil.example/cb",
        "https://app.example@evil.example/cb",
        "javascript://x/%0aalert(1)",
        "data://x",
        "file:///etc/passwd",
        "https:///cb",
        "https://a.example/cb#part",
        "https://a.example/cb; script-src *",
        "https://*.example/cb",
        "urn:ietf:wg:oauth:2.0:oob",
        "x",
        "http://[::1",
        "http://127.0.0.1:99999999/cb",
    ],
)
def test_a_client_is_sent_back_by_https_its_own_scheme_or_to_this_machine_alone(uri: str) -> None:
    answer = Program().register("Desk", uri)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_redirect_uri")


def test_a_client_is_not_called_by_what_cannot_be_shown() -> None:
    answer = Program().register("Desk\u202ekseD")
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_client_metadata")


@pytest.mark.parametrize("uri", ["http://localhost:33418/", "http://[::1]:8/cb", "https://claude.ai/api/mcp/callback"])
def test_these_redirects_are_registered(uri: str) -> None:
    assert Program().register("Desk", uri).status_code == 201


def test_registration_is_limited_and_gives_what_this_address_needs_alone(settings: Settings) -> None:
    program = Program()
    made = program.register("Desk", scope="openid everything", grant_types=["client_credentials"]).json()
    assert (made["scope"], made["response_types"]) == ("mcp", ["code"])
    assert set(made["grant_types"]) == {"authorization_code", "refresh_token"}
    answers = [program.register() for _ in range(12)]
    assert {each.status_code for each in answers} == {201, 429}
    assert answers[-1]["Retry-After"] == "60"


@pytest.mark.engines
def test_a_flood_of_registrations_ends_at_a_bound_and_leaves_clients_with_a_grant(
    browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Program()
    program.register()
    program.exchange(told(consent(browse(), program.address()))["code"])
    monkeypatch.setattr(tokens, "MOST_UNUSED", 3)
    answers = [Program().register(f"Flood {number}") for number in range(4)]
    assert [each.status_code for each in answers] == [201, 201, 201, 503]
    assert answers[-1]["Retry-After"] == "600"
    Registered.objects.filter(name="Flood 1").update(created_at=timezone.now() - tokens.UNUSED_IN_A_FLOOD)
    assert Program().register("Later").status_code == 201
    assert set(Registered.objects.values_list("name", flat=True)) == {"Desk", "Flood 0", "Flood 2", "Later"}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"response_type": "token"}, "unauthorized_client"),
        ({"scope": "openid"}, "invalid_scope"),
        ({"prompt": "none"}, "interaction_required"),
    ],
)
def test_a_request_that_is_not_this_host_s_way_goes_back_with_an_error(
    browse: Browse, change: dict[str, Any], error: str
) -> None:
    program = Program()
    program.register()
    answer = browse().get(program.address(**change))
    if "code_challenge" in change:
        assert "Location" in answer
    back = told(answer)
    assert (back["error"], "code" in back) == (error, False)


@pytest.mark.parametrize(
    "change",
    [
        {"client_id": "unknown"},
        {"redirect_uri": "https://evil.example/cb"},
        {"redirect_uri": f"{BACK}?next=https://evil.example"},
        {"redirect_uri": f"{BACK}?next=https://evil.example", "response_type": "token"},
        {"redirect_uri": BACK.replace("http://", "http://x@")},
        {"redirect_uri": None},
        {"resource": "https://evil.example/mcp"},
    ],
)
def test_nobody_is_sent_anywhere_by_a_request_of_an_unknown_client_or_to_another_place(
    browse: Browse, change: dict[str, Any]
) -> None:
    program = Program()
    program.register()
    answer = browse().get(program.address(**change))
    assert (answer.status_code, "Location" in answer) == (400, False)


def test_a_parameter_that_the_page_of_consent_does_not_know_is_ignored(browse: Browse) -> None:
    program = Program()
    program.register()
    assert browse().get(f"{program.address()}&surprise=1").status_code == 200


def test_a_visitor_signs_in_first_and_comes_back(client: Client) -> None:
    program = Program()
    program.register()
    answer = client.get(program.address())
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login?next=%2Foauth%2Fauthorize%3F")


@pytest.mark.engines
def test_the_name_of_a_client_is_forgotten_unless_it_is_another_tenant_s(browse: Browse) -> None:
    acme, now = building.scope("acme"), timezone.now()
    here, there = (granted(browse(slug), f"Marta Kowalska at {slug}") for slug in ("acme", "globex"))
    alone, near = Program(), Program()
    alone.register("Marta Kowalska's desk")
    near.register("Marta Kowalskas desk")
    found = execution.preview(acme, ["Marta Kowalska"], now=now).request
    asked = execution.confirm(acme, found.id, typed="Marta Kowalska", reason="ticket 17", now=now)
    done = execution.execute(acme.tenant_id, asked.id, holder="t/1", now=now, clock=timezone.now)
    assert done is not None
    counts = done.receipt["stores"]["names of OAuth clients"]
    assert (counts["erased"], counts["leftAfter"], counts["undecided"]) == (2, 0, 0)
    names = [Registered.objects.get(id=each.id).name for each in (here, there, alone, near)]
    assert names == ["", "Marta Kowalska at globex", "", "Marta Kowalskas desk"]
    assert here.status() == 200


def test_who_refuses_grants_nothing(browse: Browse) -> None:
    program = Program()
    program.register()
    assert told(consent(browse(), program.address(), "deny")) == {"error": "access_denied", "state": "st"}
    assert not ApiKey.objects.exclude(client_id="").exists()


def test_a_consent_without_the_token_of_the_page_is_refused(browse: Browse) -> None:
    program = Program()
    program.register()
    browser = browse()
    signed = re.search(r'name="request" value="([^"]+)"', body_of(browser.get(program.address())))
    assert signed
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = browser.cookies
    sent = {"request": signed[1], "scopes": "mcp", "action": "grant"}
    assert strict.post("/oauth/authorize", sent).status_code == 403
    assert browser.post("/oauth/authorize", {**sent, "request": "x"}).status_code == 403
    assert browser.post("/oauth/authorize", {"action": "grant"}).status_code == 400
    assert not ApiKey.objects.exclude(client_id="").exists()


def test_a_code_is_exchanged_once_with_its_verifier(browse: Browse) -> None:
    browser, program = browse(), Program()
    program.register()
    code = told(consent(browser, program.address()))["code"]
    for wrong in ({"code_verifier": "w" * 64}, {"redirect_uri": "http://127.0.0.1:5000/other"}):
        assert program.exchange(code, **wrong).status_code == 400
    code = told(consent(browser, program.address()))["code"]
    assert program.exchange(code, resource="https://evil.example/mcp").json()["error"] == "invalid_target"
    assert program.exchange(code).status_code == 200
    assert program.exchange(code).status_code == 400


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_client_with_a_secret_proves_it(browse: Browse, method: str) -> None:
    browser, program = browse(), Program()
    secret = program.register(token_endpoint_auth_method=method).json()["client_secret"]
    assert secret == quote_plus(secret), "clients encode what stands in the header"
    code = told(consent(browser, program.address()))["code"]
    assert program.exchange(code).status_code == 401
    if method == "client_secret_post":
        assert program.exchange(code, client_secret="x").status_code == 401
        assert program.exchange(code, client_secret=secret).status_code == 200
    else:
        pair = base64.b64encode(f"{program.id}:{secret}".encode()).decode()
        program.client.defaults["HTTP_AUTHORIZATION"] = f"Basic {pair}"
        assert program.exchange(code).status_code == 200


@pytest.fixture
def no_room_for_passwords(settings: Settings) -> Iterator[None]:
    """As many passwords are being computed as may wait for their turn."""
    settings.PASSWORD_HASHERS = [f"openwop_console.passwords.{name}Hasher" for name in ("Password", "RandomSecret")]
    for _ in range(passwords.WAITING):
        passwords._room.acquire()
    yield
    for _ in range(passwords.WAITING):
        passwords._room.release()


@pytest.mark.usefixtures("no_room_for_passwords")
def test_strangers_who_register_and_guess_secrets_compute_no_password() -> None:
    program = Program()
    assert program.register(token_endpoint_auth_method="client_secret_post").status_code == 201
    assert program.exchange("any", client_secret="x" * 64).status_code == 401
    assert {program.register(token_endpoint_auth_method="client_secret_basic").status_code for _ in range(12)} == {
        201,
        429,
    }


def test_a_token_ends_and_is_refreshed(browse: Browse) -> None:
    program = granted(browse())
    assert program.status() == 200
    first = dict(program.tokens)
    with travel(timezone.now() + timedelta(hours=1, minutes=1)):
        assert program.status() == 401
        assert program.refresh().status_code == 200
        assert program.status() == 200
    program.tokens = first
    assert program.refresh().status_code == 400, "a refresh token is used once"


def test_no_token_is_good_for_more_than_a_day(browse: Browse) -> None:
    program = granted(browse())
    with travel(timezone.now() + timedelta(hours=24, minutes=1)):
        assert program.status() == 401
        assert program.refresh().status_code == 400


def test_a_program_on_this_machine_listens_at_any_port(browse: Browse) -> None:
    program = Program()
    program.register()
    assert browse().get(program.address(redirect_uri=BACK.replace("5000", "6123"))).status_code == 200


def test_a_code_that_is_presented_again_ends_the_tokens_that_came_of_it(browse: Browse) -> None:
    browser, program = browse(), Program()
    program.register()
    code = told(consent(browser, program.address()))["code"]
    program.exchange(code)
    first = program.tokens
    assert program.refresh().status_code == 200
    second = program.tokens
    assert program.exchange(code).status_code == 400
    for program.tokens in (first, second):
        assert program.status() == 401
        assert program.refresh().status_code == 400


def test_a_refresh_token_that_is_presented_again_ends_the_tokens_that_came_of_it(browse: Browse) -> None:
    browser = browse()
    program, other = granted(browser), granted(browser, "Shelf")
    first = program.tokens
    assert [program.refresh().status_code, program.refresh().status_code, program.status()] == [200, 200, 200]
    latest, program.tokens = program.tokens, first
    assert program.refresh().status_code == 400
    program.tokens = latest
    assert (program.refresh().status_code, program.status()) == (400, 401)
    assert other.status() == 200, "another program of the same person"


def test_so_many_tokens_that_came_before_one_are_known_and_no_more(
    browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "MOST_SPENT", 2)
    program = granted(browse())
    assert [program.refresh().status_code for _ in range(3)] == [200] * 3
    assert len(Token.objects.get(type=Token.Type.REFRESH_TOKEN).data[tokens.SPENT]) == 2


def test_a_code_whose_grant_was_revoked_gives_no_tokens(browse: Browse) -> None:
    browser, program = browse(), Program()
    program.register()
    code = told(consent(browser, program.address()))["code"]
    row = ApiKey.objects.exclude(client_id="").get()
    browser.post(f"/settings/grants/{ids.wire('key', row.id)}/revoke")
    answer = program.exchange(code)
    assert (answer.status_code, answer.json()) == (400, {"error": "invalid_grant"})


def test_a_client_revokes_its_own_tokens_and_with_a_refresh_token_all_of_its_access(browse: Browse) -> None:
    browser = browse()
    program, other = granted(browser), granted(browser, "Shelf")

    def revoke(sender: Program, name: str, **more: str) -> int:
        sent = {"token": program.tokens[name], "client_id": sender.id, **more}
        found: int = sender.client.post("/oauth/revoke", sent).status_code
        return found

    for name in ("access_token", "refresh_token"):
        assert revoke(other, name) == revoke(other, name, token_type_hint=name) == 400
    answer = other.client.post("/oauth/revoke", {"token": program.tokens["access_token"], "client_id": other.id})
    assert answer.json()["error"] == "invalid_grant"
    evil = Program()
    secret = evil.register("Evil", token_endpoint_auth_method="client_secret_basic").json()["client_secret"]
    basic = base64.b64encode(f"{evil.id}:{secret}".encode()).decode()
    sent = {"token": program.tokens["access_token"], "client_id": program.id}
    assert evil.client.post("/oauth/revoke", sent, HTTP_AUTHORIZATION=f"Basic {basic}").status_code == 400
    assert (program.status(), revoke(program, "access_token", token_type_hint="refresh_token")) == (200, 200)
    assert program.status() == 401, "the hint only helps to find it"
    assert (program.refresh().status_code, program.status()) == (200, 200)
    assert (revoke(program, "refresh_token"), program.status(), program.refresh().status_code) == (200, 401, 400)
    assert revoke(program, "refresh_token") == 200, "it is none any more"
    assert other.status() == 200


def test_a_token_opens_mcp_alone(browse: Browse) -> None:
    program = granted(browse())
    headers = program.model.headers
    assert program.client.get("/v1/host/console/memory", **headers).status_code == 401
    assert program.client.get("/api/v1/memory", **headers).status_code == 401


def test_a_token_for_another_address_is_refused(browse: Browse, settings: Settings) -> None:
    program = granted(browse())
    settings.ALLOWED_HOSTS = ["other.example"]
    answer = program.model.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, HTTP_HOST="other.example")
    assert answer.status_code == 401


def test_settings_list_the_client_by_its_name_and_a_revoked_grant_ends_at_once(browse: Browse) -> None:
    browser = browse()
    program = granted(browser, "Desk of Ada")
    page = body_of(browser.get("/settings"))
    assert "Desk of Ada" in page
    address = re.search(r'action="(/settings/grants/[^"]+/revoke)"', page)
    assert address
    assert browser.post(address[1]).status_code == 302
    assert not Token.objects.exists()
    assert program.status() == 401
    assert program.refresh().status_code == 400
    assert "Desk of Ada" not in body_of(browser.get("/settings")).split("Clients with access")[1]
    assert actions().count("grant.revoked") == 1


def test_who_manages_keys_sees_and_revokes_the_grants_of_all_and_others_their_own(browse: Browse) -> None:
    program = granted(browse(role="operator"), "Desk of Ada")
    viewer, owner, stranger = browse(role="viewer"), browse(role="owner"), browse("globex", "owner")
    address = f"/settings/grants/{ids.wire('key', ApiKey.objects.exclude(client_id='').get().id)}/revoke"
    for other in (viewer, stranger):
        assert "Desk of Ada" not in body_of(other.get("/settings"))
        assert other.post(address).status_code == 404
    assert program.status() == 200
    building.key("acme")
    no_grant = ids.wire("key", ApiKey.objects.get(client_id="").id)
    assert owner.post(f"/settings/grants/{no_grant}/revoke").status_code == 404
    assert "Desk of Ada" in body_of(owner.get("/settings"))
    assert owner.post(address).status_code == 302
    assert program.status() == 401


@pytest.mark.parametrize("change", [{"active": False}, {"role": "viewer"}])
def test_a_person_who_is_deactivated_or_has_another_role_ends_their_grants_for_good(
    browse: Browse, change: dict[str, Any]
) -> None:
    person = building.operator("acme", "operator")
    program = granted(browse(person=person))
    owner = building.scope()
    operators.change(owner, person.id, **change, now=timezone.now())
    assert program.status() == 401
    assert program.refresh().status_code == 400
    operators.change(
        owner, person.id, **({"active": True} if "active" in change else {"role": "operator"}), now=timezone.now()
    )
    assert program.status() == 401


def test_a_client_may_never_more_than_its_person(browse: Browse) -> None:
    result = granted(browse(role="viewer")).model.call("proposal_create", kind="automation", artifact={})
    assert result["structuredContent"]["requiredScope"] == "proposals:create"
    program = Program()
    program.register()
    auditor = browse(role="auditor")
    assert "no permission that a client could be granted" in body_of(auditor.get(program.address()))
    assert consent(auditor, program.address()).status_code == 403


def test_a_grant_is_for_the_tenant_of_the_session_and_a_newer_one_takes_its_place(browse: Browse) -> None:
    mine, theirs = (building.remember(slug, f"the owl of {slug}").entries[0] for slug in ("acme", "globex"))
    ada, greta = granted(browse()), granted(browse("globex"))
    for program, own, other in ((ada, mine, theirs), (greta, theirs, mine)):
        assert program.model.call("memory_get", id=own)["isError"] is False
        assert program.model.call("memory_get", id=other)["isError"] is True
        assert len(program.model.call("memory_search", query="owl")["structuredContent"]["entries"]) == 1
    assert actions("acme").count("grant.created") == actions("globex").count("grant.created") == 1


def test_a_person_of_two_tenants_moves_a_client_by_consenting_again(browse: Browse) -> None:
    person = building.operator("acme", "operator", "ada@both.example")
    browser = browse(person=person)
    program = granted(browser)
    building.operator("globex", "operator", "ada@both.example")
    old = dict(program.tokens)
    browser.post("/tenants", {"tenant": "globex"})
    program.exchange(told(consent(browser, program.address()))["code"])
    theirs = building.remember("globex", "their owl").entries[0]
    assert program.model.call("memory_get", id=theirs)["isError"] is False
    program.tokens = old
    assert program.status() == 401
    assert "grant.revoked" in actions("acme")


def test_a_grant_has_no_key_to_rotate(browse: Browse, client: Client) -> None:
    granted(browse())
    key_id = ids.wire("key", ApiKey.objects.exclude(client_id="").get().id)
    answer = client.post(
        f"/v1/host/console/keys/{key_id}:rotate", content_type="application/json", **building.headers()
    )
    assert answer.status_code == 409


def test_what_is_over_is_swept(browse: Browse) -> None:
    program = granted(browse())
    Program().register("Nobody's")
    assert tokens.sweep(now=timezone.now()) == 0
    assert tokens.sweep(now=timezone.now() + timedelta(hours=25)) == 4
    assert program.status() == 401


@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/register", "/oauth/revoke"])
def test_bad_bodies_are_answered_in_the_shape_of_oauth(path: str, client: Client, settings: Settings) -> None:
    for body, kind in ((b"\xff{", "application/json"), (b"a=1", "application/x-www-form-urlencoded"), (b"", "text/x")):
        answer = client.post(path, body, content_type=kind)
        assert 400 <= answer.status_code < 500
        assert answer.json()["error"]
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10
    answer = client.post(path, b"a=" + b"x" * 100, content_type="application/x-www-form-urlencoded")
    assert 400 <= answer.status_code < 500
    assert answer.json()["error"]


def shown(browser: Client, program: Program) -> dict[str, str]:
    """The form of the page of consent as it is shown now."""
    signed = re.search(r'name="request" value="([^"]+)"', body_of(browser.get(program.address())))
    assert signed
    return {"request": signed[1], "scopes": "mcp"}


def test_a_tenant_that_is_switched_after_the_page_was_shown_is_not_granted(browse: Browse) -> None:
    person = building.operator("acme", "operator", "ada@both.example")
    browser, program = browse(person=person), Program()
    program.register()
    page = body_of(browser.get(program.address()))
    assert "access to Acme?" in page
    assert "ada@both.example" in page
    form = shown(browser, program)
    building.operator("globex", "operator", "ada@both.example")
    browser.post("/tenants", {"tenant": "globex"})
    for action in ("grant", "deny"):
        refused = browser.post("/oauth/authorize", {**form, "action": action})
        assert (refused.status_code, "Location" in refused) == (409, False)
        assert "Nothing was granted" in body_of(refused)
    assert not ApiKey.objects.exclude(client_id="").exists()

    again = re.search(r'href="([^"]+)">Start again', body_of(refused))
    assert again
    address = unescape(again[1])
    assert "access to Globex?" in body_of(browser.get(address))
    assert program.exchange(told(consent(browser, address))["code"]).status_code == 200
    assert "grant.created" in actions("globex")


def test_a_page_that_was_shown_to_another_person_grants_nothing(browse: Browse) -> None:
    program = Program()
    program.register()
    form = shown(browse(), program)
    for other in (browse(person=building.operator("acme", "operator", "grace@acme.example")), browse("globex")):
        refused = other.post("/oauth/authorize", {**form, "action": "grant"})
        assert (refused.status_code, "Location" in refused) == (409, False)
    assert not ApiKey.objects.exclude(client_id="").exists()


# A database may fail on these: a NUL, and what is longer than its column.
HOSTILE = ["a\x00b", "é" * 5000]
if connection.vendor == "sqlite" or THOROUGH:
    HOSTILE += ["\x00", "http://[", "http://127.0.0.1:99999999/", "\x7f\u202e", "[" * 5000, "%zz", ""]


def hostile(name: str, turn: int) -> list[str]:
    """The texts for a field: in a quick run all for one that is read as an address, else the first two and by turns
    one of the others."""
    others = HOSTILE[2:]
    if THOROUGH or name in {"redirect_uri", "resource"} or not others:
        return HOSTILE
    return [*HOSTILE[:2], others[turn % len(others)]]


FORMS = {
    "/oauth/token": (
        *("grant_type", "code", "redirect_uri", "client_id", "client_secret", "code_verifier", "resource", "scope"),
        *("refresh_token", "device_code", "unknown"),
    ),
    "/oauth/revoke": ("token", "token_type_hint", "client_id", "client_secret", "unknown"),
}
OF_ANY = {"grant_type", "client_id", "client_secret", "resource", "scope", "token", "token_type_hint"}
GRANTS = {
    "authorization_code": OF_ANY | {"code", "redirect_uri", "code_verifier"},
    "refresh_token": OF_ANY | {"refresh_token"},
}


@pytest.mark.engines
@pytest.mark.filterwarnings("ignore::django.core.cache.CacheKeyWarning")  # a code is looked up in the database's cache
@pytest.mark.parametrize("path", FORMS)
def test_no_text_in_any_field_of_a_form_makes_the_server_fail(path: str, client: Client) -> None:
    program = Program()
    program.register()
    for grant, read in GRANTS.items():
        good = {"grant_type": grant, "client_id": program.id, "code": "x", "refresh_token": "x", "token": "x"}
        for turn, name in enumerate(FORMS[path]):
            # What a grant does not read, it reads like the field that is unknown.
            for text in hostile(name, turn) if THOROUGH or name in read or name == "unknown" else HOSTILE[:1]:
                answer = client.post(path, {**good, "redirect_uri": BACK, name: text})
                where = (name, text[:20], answer.content)
                assert answer.status_code < 500, where
                if "\x00" in text:
                    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request"), where
                if grant == "refresh_token" and text in HOSTILE[:2]:  # a query is read alike whatever is granted
                    urlencoded = client.post(f"{path}?{urlencode({name: text})}", good)
                    assert urlencoded.status_code < 500, where
        assert client.post(path, {**good, "n\x00me": "x"}).json()["error"] == "invalid_request"
        basic = base64.b64encode(b"a\x00b:c\x00d").decode()
        assert client.post(path, good, headers={"Authorization": f"Basic {basic}"}).status_code == 400
        assert client.post(f"{path}?a=%zz", good).status_code == 400
        assert (
            client.post(path, b"a=%zz&client_id=%", content_type="application/x-www-form-urlencoded").status_code < 500
        )
        assert client.post(path, b"--", content_type="multipart/form-data").status_code == 400


@pytest.mark.engines
@pytest.mark.parametrize(
    "body",
    [
        b'{"client_name": "a\\u0000b"}',
        b'{"client_name": "\\ud800"}',
        b'{"client_name": "%s", "redirect_uris": ["https://app.example/cb"]}' % (b"x" * 101),
        b'{"client_\\u0000name": "x"}',
        b'{"redirect_uris": "[\\"\\\\u0000\\"]"}',
        b'{"redirect_uris": "' + b"[" * 50_000 + b'"}',
        b'{"grant_types": "' + b"[" * 50_000 + b'"}',
        b'{"redirect_uris": {"a": 1}}',
        b'{"redirect_uris": [["x"], 1, null]}',
        b'{"redirect_uris": [' + b"9" * 5000 + b"]}",
        b'{"x": ' * 5000 + b"1" + b"}" * 5000,
        b"[" * 100_000,
        b"[]",
        b'"x"',
        b"1",
        b"null",
        b"{",
        b"\x00",
        b"\xff",
        b"",
        b'{"client_name": {"a": []}, "scope": [1, {}], "token_endpoint_auth_method": {"a": 1}, "redirect_uris": 1}',
    ],
    ids=range(21),
)
def test_metadata_that_cannot_be_read_is_refused_in_the_shape_of_registration(body: bytes, client: Client) -> None:
    for kind in ("application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        answer = client.post("/oauth/register", body, content_type=kind)
        assert answer.status_code == 400, answer.content
        assert answer.json()["error"] in {"invalid_client_metadata", "invalid_redirect_uri"}


@pytest.mark.engines
def test_no_text_in_any_parameter_of_the_page_of_consent_makes_it_fail(browse: Browse) -> None:
    program, browser = Program(), browse()
    program.register()
    asked = parse_qs(urlsplit(program.address()).query)
    unread = ("nonce", "claims", "login_hint", "max_age", "request", "response_mode", "unknown")
    for turn, name in enumerate((*asked, "prompt", *unread)):
        for text in HOSTILE[:1] if name in unread and not THOROUGH else hostile(name, turn):
            answer = browser.get(program.address(**{name: text}))
            assert answer.status_code < 500, (name, text[:20])
            if "\x00" in text:
                assert (answer.status_code, "Location" in answer) == (400, False), name
    for name in ("request", "scopes", "action"):
        for text in HOSTILE:
            sent = {"request": "x", "scopes": "mcp", "action": "grant", name: text}
            assert 400 <= browser.post("/oauth/authorize", sent).status_code < 500
    assert browser.get("/oauth/authorize?client_id=%zz").status_code == 400
    assert Client().get("/oauth/authorize?client_id=%00").status_code == 302
