"""Operators and keys: who is let in to which tenant, and what is taken back."""

import time
from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from io import StringIO
from itertools import product
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection
from django.db.migrations.loader import MigrationLoader
from django.test import Client
from django.utils import timezone

from memory.host import access, api_keys, ids, key_management, operators, tenancy, throttle
from memory.host.errors import Conflict, Forbidden, KeyRevoked, LastOwner, Unauthenticated
from memory.host.models import ApiKey, AuditRecord, Membership, Operator, Throttle
from openwop_console.management.base import administrator_scope
from openwop_console.management.commands import list_api_keys
from tests import building

pytestmark = [pytest.mark.django_db, pytest.mark.engines]
ADA = "ada@acme.example"
FORMS = "0013_domains_as_looked_up"


def test_domains_that_only_an_older_codec_takes_for_one_are_two() -> None:
    forms = [access.email_form(f"max@{domain}") for domain in ("straße.de", "strasse.de", "STRASSE.de")]
    assert forms == ["max@xn--strae-oqa.de", "max@strasse.de", "max@strasse.de"]


def test_a_key_that_is_not_on_record_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.host.audit.append", lambda *_, **__: 1 / 0)
    acme = building.tenant()
    with pytest.raises(ZeroDivisionError):
        api_keys.create_api_key(acme, role="viewer", name="lost", now=timezone.now())
    assert not ApiKey.objects.filter(name="lost").exists()


def manage(*words: str, **options: Any) -> str:
    said = StringIO()
    call_command(*words, stdout=said, **options)
    return said.getvalue()


def sign_in(email: str = ADA, password: str = building.PASSWORD) -> Client:
    client = Client()
    assert client.post("/login", {"login": email, "password": password}).status_code == 302
    return client


def test_a_second_tenant_for_an_address_that_exists_is_a_membership_and_the_password_stays() -> None:
    acme, globex, now = building.tenant(), building.tenant("globex"), timezone.now()
    ada = building.operator(role="owner", email=ADA)
    building.tenant("globex")
    call_command("create_operator", ADA.upper(), tenant="globex", role="viewer")
    assert (Operator.objects.count(), Membership.objects.count()) == (1, 2)
    assert Operator.objects.get().check_password(building.PASSWORD)
    there, here = (tenancy.operator_principal(ada, tenant.id) for tenant in (globex, acme))
    assert (there.tenant_slug, here.tenant_slug) == ("globex", "acme")
    assert "memory:forget" in here.scopes
    assert "memory:forget" not in there.scopes
    with pytest.raises(Conflict, match="already"):
        operators.create_operator(globex, ADA, role="owner", now=now)
    with pytest.raises(Unauthenticated):
        tenancy.operator_principal(ada, building.tenant("initech").id)


def test_an_address_whose_domain_only_looks_different_is_the_same_person_and_one_that_looks_the_same_shows_it() -> None:
    acme, now = building.tenant(), timezone.now()
    ada = building.operator(role="owner", email="ada@m\u00fcnchen.example")
    assert Operator.objects.get(id=ada.id).email == "ada@xn--mnchen-3ya.example"
    for same in ("ADA@M\u00dcNCHEN.example", "ada@mu\u0308nchen.example", "ada@m\u00fcn\u200bchen.exa\u00admple"):
        assert access.operator_by_email(same) == ada, ascii(same)
        with pytest.raises(Conflict, match="already"):
            operators.create_operator(acme, same, role="viewer", now=now)
    other = operators.create_operator(acme, "ada@m\u00fcnch\u0435n.example", role="viewer", password=None, now=now)
    assert other.email.isascii()
    Operator.objects.filter(id=ada.id).update(email="ada@m\u00fcnchen.example")  # as earlier releases stored it
    assert access.operator_by_email("Ada@m\u00fcnchen.example") == ada
    assert sign_in("ada@m\u00fcnchen.example").get("/memory").status_code == 200


def test_addresses_of_an_earlier_release_are_migrated_to_their_form_and_no_account_is_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    people = {name: building.operator(role="owner", email=f"{name}@acme.example") for name in ("bob", "eve", "ana")}
    people |= {f"{name}2": building.operator(role="owner", email=f"{name}2@acme.example") for name in ("eve", "ana")}
    earlier = {
        "bob": "bob@m\u00fcnchen.de",
        "eve": "eve@m\u00fcnchen.de",
        "eve2": "eve@xn--mnchen-3ya.de",
        "ana": "ana@m\u00fcnchen.de",
        "ana2": "ana@m\u00fcn\u200bchen.de",
    }
    for name, email in earlier.items():
        Operator.objects.filter(id=people[name].id).update(email=email)
    assert access.operator_by_email("bob@xn--mnchen-3ya.de") is None
    migration = import_module(f"memory.host.migrations.{FORMS}")
    state = MigrationLoader(connection).project_state(("host", FORMS)).apps
    for _ in range(2):
        caplog.clear()
        migration.store_forms(state, None)
        stored = {name: Operator.objects.get(id=each.id).email for name, each in people.items()}
        same = {"bob": "bob@xn--mnchen-3ya.de", "ana": "ana@xn--mnchen-3ya.de"}
        assert stored == earlier | same, "eve2 has the form already, and of two others the older gets it"
        for first, other in (("eve2", "eve"), ("ana", "ana2")):
            assert f"usr_{people[first].id.hex} and usr_{people[other].id.hex}" in caplog.text
        assert len(caplog.records) == 2
    for name in people:
        assert access.operator_by_email(stored[name]) == people[name]
    assert access.operator_by_email("bob@m\u00fcnchen.de") == people["bob"]
    assert sign_in("bob@xn--mnchen-3ya.de").get("/memory").status_code == 200


def test_the_last_active_owner_of_a_tenant_can_be_neither_removed_nor_demoted() -> None:
    ada = building.operator(role="owner", email=ADA)
    host, now = administrator_scope(building.tenant()), timezone.now()
    building.operator("globex", "owner", "gil@globex.example")
    for change in ({"role": "viewer"}, {"active": False}):
        with pytest.raises(LastOwner):
            operators.change(host, ada.id, **change, now=now)
    ben = building.operator(role="owner", email="ben@acme.example")
    operators.change(host, ben.id, active=False, now=now)
    with pytest.raises(LastOwner):
        operators.change(host, ada.id, role="operator", now=now)
    operators.change(host, ben.id, active=True, now=now)
    assert operators.change(host, ada.id, role="operator", now=now).roles == ["operator"]


@pytest.mark.parametrize("change", [{"role": "viewer"}, {"active": False}])
def test_the_sessions_of_an_operator_who_is_re_roled_or_deactivated_end_at_once(change: dict[str, Any]) -> None:
    ada = building.operator(role="operator", email=ADA)
    building.operator("globex", "viewer", ADA)
    session = sign_in()
    assert session.get("/memory").status_code == 200
    operators.change(administrator_scope(building.tenant()), ada.id, **change, now=timezone.now())
    answer = session.get("/memory")
    assert (answer.status_code, answer["Location"]) == (302, "/login?next=%2Fmemory")
    assert session.get("/memory").status_code == 302
    assert sign_in().get("/memory").status_code == 200, "they may sign in as what they are now, or to Globex"


def test_deactivation_in_one_tenant_leaves_the_other() -> None:
    ada = building.operator(role="operator", email=ADA)
    building.operator("globex", "viewer", ADA)
    call_command("deactivate_operator", ADA, tenant="acme")
    assert "Globex" in sign_in().get("/").content.decode()
    call_command("deactivate_operator", ADA, tenant="globex")
    answer = Client().post("/login", {"login": ADA, "password": building.PASSWORD})
    assert answer.status_code == 200
    assert "are not correct" in answer.content.decode(), "as for a password that is wrong"
    with pytest.raises(Unauthenticated):
        tenancy.operator_principal(ada, building.tenant().id)


def test_the_keys_of_a_person_stop_with_the_person_and_never_do_more_than_the_person_may(client: Client) -> None:
    rosa = building.operator(role="owner", email="rosa@acme.example")
    building.operator(role="owner", email=ADA)
    headers, host = building.headers(owner=rosa), administrator_scope(building.tenant())
    assert client.get("/v1/host/console/keys", **headers).status_code == 200
    operators.change(host, rosa.id, role="viewer", now=timezone.now())
    assert client.get("/v1/host/console/keys", **headers).status_code == 403
    assert client.get("/v1/agents", **headers).status_code == 200
    operators.change(host, rosa.id, active=False, now=timezone.now())
    assert client.get("/v1/agents", **headers).status_code == 401


def test_who_is_an_operator_again_has_none_of_the_keys_from_before(client: Client) -> None:
    """By each way to deactivate and each way back, and after a deactivation by a release that revoked no keys."""
    tenant, ada, now = building.tenant(), building.operator(role="owner", email=ADA), timezone.now()
    host = administrator_scope(tenant)

    def accept(rosa: Operator) -> None:
        invitation = operators.invite(host, rosa.email, role="owner", now=now)
        assert client.get("/v1/agents", **headers).status_code == 401
        operators.accept(rosa, invitation.token, now=now)

    def by_command(name: str, **more: str) -> Any:
        return lambda rosa: manage(name, rosa.email, tenant="acme", **more)

    def activate(active: bool) -> Any:
        return lambda rosa: operators.change(host, rosa.id, active=active, now=now)

    def join(rosa: Operator) -> None:
        operators.join_by_groups(tenant, rosa.email, role="owner", now=now)

    away = (by_command("deactivate_operator"), activate(False), building.deactivate)
    back = (by_command("create_operator", role="owner"), activate(True), accept, join)
    for number, (leave, come) in enumerate(product(away, back)):
        rosa = building.operator(role="owner", email=f"rosa{number}@acme.example")
        text = building.key(owner=rosa)
        headers: dict[str, Any] = {"HTTP_X_API_KEY": text}
        key = ids.wire("key", api_keys.key_of(text, now=now).id)
        grant = api_keys.create_api_key(tenant, role="agent", owner=rosa, client_id="c", now=now)
        leave(rosa)
        come(rosa)
        assert rosa.email in manage("list_operators", tenant="acme")
        assert tenancy.operator_principal(rosa, tenant.id).scopes, "they are one again"
        assert client.get("/v1/agents", **headers).status_code == 401, number
        records = AuditRecord.objects.of(tenant.id)
        assert records.filter(action="key.revoked", target=key).count() == 1, number
        assert records.filter(action="grant.revoked", target=ids.wire("key", grant.key_id)).count() == 1, number
        assert client.get("/v1/agents", HTTP_X_API_KEY=building.key(owner=rosa)).status_code == 200, "a new one works"
    assert not AuditRecord.objects.of(tenant.id).filter(action="key.revoked", actor=ids.wire("usr", ada.id)).exists()


def test_a_run_without_an_agent_acts_as_none() -> None:
    run = building.open_run(building.scope())
    with pytest.raises(Forbidden, match="acts as no agent"):
        tenancy.run_scope(run).check_agent("private.acme.triage")


def test_a_rotated_key_is_the_same_key_under_a_new_secret() -> None:
    acme, now = building.tenant(), timezone.now()
    made = api_keys.create_api_key(
        acme, role="agent", agents=("acme.bot",), name="ci", expires_at=now + timedelta(days=1), now=now
    )
    before = api_keys.key_of(made.text, now=now)
    text = manage("rotate_api_key", ids.wire("key", made.key_id)).strip()
    after = api_keys.key_of(text, now=now)
    assert replace(after, digest=before.digest, last_used_at=None) == before
    with pytest.raises(Unauthenticated):
        api_keys.key_of(made.text, now=now)
    manage("revoke_api_key", ids.wire("key", made.key_id))
    with pytest.raises(KeyRevoked):
        api_keys.key_of(text, now=now)
    with pytest.raises(CommandError, match="revoked or has expired"):
        manage("rotate_api_key", ids.wire("key", made.key_id))
    actions = AuditRecord.objects.of(acme.id).order_by("seq").values_list("action", flat=True)
    assert list(actions) == ["key.created", "key.rotated", "key.revoked"]


def test_commands_list_what_was_given_and_take_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    building.operator(role="owner", email=ADA)
    building.tenant("globex")
    manage("create_operator", ADA, tenant="globex", role="owner")
    text = manage("create_api_key", **{"tenant": "acme", "role": "viewer", "name": "ci", "for": ADA, "expires": "90d"})
    key = api_keys.key_of(text.strip(), now=timezone.now())
    assert key.expires_at
    assert timedelta(days=89) < key.expires_at - timezone.now() <= timedelta(days=90)
    listed = manage("list_api_keys", tenant="acme")
    for word in (ids.wire("key", key.id), "active", "viewer", ADA, "ci", "any agent"):
        assert word in listed
    assert key.digest not in listed
    manage("revoke_api_key", ids.wire("key", key.id))
    assert "revoked" in manage("list_api_keys", tenant="acme")
    assert ids.wire("key", key.id) not in manage("list_api_keys", tenant="globex")
    assert "The newest" not in manage("list_api_keys", tenant="acme")
    monkeypatch.setattr(list_api_keys, "MOST", 1)
    manage("create_api_key", tenant="acme", role="viewer", name="later")
    cut = manage("list_api_keys", tenant="acme")
    assert ("later" in cut, ids.wire("key", key.id) in cut) == (True, False)
    assert "The newest 1 of 2; the API lists the others." in cut
    building.operator(role="viewer", email="ben@acme.example")
    manage("set_operator_role", "Ben@acme.example", tenant="acme", role="author")
    manage("deactivate_operator", "ben@acme.example", tenant="acme")
    ben = next(line for line in manage("list_operators", tenant="acme").splitlines() if "ben@" in line)
    assert ben.split()[:3] == ["ben@acme.example", "author", "deactivated"]
    assert "ben@" not in manage("list_operators", tenant="globex")
    for bad in ("yesterday", "90", "2020-01-01T00:00:00Z"):
        with pytest.raises(CommandError):
            manage("create_api_key", tenant="acme", role="viewer", expires=bad)
    for words in (("revoke_api_key", "key_" + "0" * 32), ("rotate_api_key", "nonsense")):
        with pytest.raises(CommandError, match="There is no key"):
            manage(*words)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("taken", ["revoke_api_key", "rotate_api_key", "deactivate_operator"])
def test_an_open_stream_ends_at_once_when_what_opened_it_is_taken_back(client: Client, taken: str) -> None:
    rosa = building.operator(role="viewer", email="rosa@acme.example")
    text = building.key(role="viewer", owner=rosa)
    run = building.open_run(building.scope())
    url = f"/v1/runs/{ids.wire('run', run.id)}/events"
    answer: Any = client.get(url, HTTP_X_API_KEY=text, HTTP_ACCEPT="text/event-stream")
    frames = iter(answer.streaming_content)
    assert b"run.started" in next(frames)
    if taken == "deactivate_operator":
        manage(taken, "rosa@acme.example", tenant="acme")
    else:
        manage(taken, ids.wire("key", api_keys.key_of(text, now=timezone.now()).id))
    began = time.monotonic()
    assert list(frames) == []
    assert time.monotonic() - began < 4, "sooner than the next sign of life"
    answer.close()


def test_who_may_less_than_a_role_gives_it_to_no_key() -> None:
    acme = building.tenant()
    scope = tenancy.host_scope(acme, scopes=access.ROLES["viewer"] | {"keys:manage"})
    with pytest.raises(Forbidden) as refused:
        key_management.create(scope, role="operator", now=timezone.now())
    assert refused.value.details == {"rule": "role-above-own"}
    assert not ApiKey.objects.of(acme.id).exists()


def test_tries_are_taken_back_together_or_not_at_all() -> None:
    own, shared = throttle.bucket("account", "ada", free=5), throttle.bucket("network", "192.0.2.1", free=20)
    throttle.reserve([own, shared], now=timezone.now())

    def fails(execute: Any, statement: str, *given: Any) -> Any:
        if statement.startswith("DELETE"):
            raise OperationalError("the disk is full")
        return execute(statement, *given)

    with pytest.raises(OperationalError), connection.execute_wrapper(fails):
        throttle.succeeded(own, shared)
    assert list(Throttle.objects.values_list("failures", flat=True)) == [1, 1]
    throttle.succeeded(own, shared)
    assert list(Throttle.objects.values_list("key", "failures")) == [(shared.key, 0)]
