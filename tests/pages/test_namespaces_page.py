"""Namespaces of semantic memory on their pages: for who manages agents, changed in the version that was read."""

import html
import json
import re

import pytest
from django.test import Client
from django.utils import timezone

from memory import ledger
from memory.addresses import Address, Tier
from memory.host import tenancy
from memory.host.errors import Invalid
from memory.host.models import Operator
from memory.models import Namespace
from memory.openintent import entries, namespaces, workflow_file
from memory.openintent.access import Caller
from memory.openintent.namespaces import Permissions
from memory.views import namespaces as views
from tests import building
from tests.openintent.test_workflow_file import SEED
from tests.pages.conftest import SignIn, body_of, standing

pytestmark = pytest.mark.django_db
NAME = "acme.prices/2026 spring"
AT = "/namespaces/acme.prices/2026%20spring"


@pytest.fixture(autouse=True)
def shared() -> None:
    """billing-01 has kept something in a namespace, which is there since."""
    address = Address(Tier.SEMANTIC, "billing-01", NAME, "k")
    entries.create(
        Caller(building.scope(), "billing-01"), ledger.entries.AddressedValue(address, {"n": 1}), now=timezone.now()
    )


def asked(**more: str) -> dict[str, str]:
    return {"default": "none", "allow": "billing-01 write\nsupport-02 read\n", "version": "1", **more}


def test_the_list_has_each_with_its_entries_and_who_may(ada: Client) -> None:
    shown = body_of(ada.get("/namespaces"))
    for word in (NAME, AT, "billing-01", "1 namespace"):
        assert word in shown, word
    [row] = json.loads(body_of(ada.get("/namespaces?format=json")))["namespaces"]
    assert (row["namespace"], row["entryCount"], row["version"]) == (NAME, 1, 1)
    assert "format=csv" in shown
    [head, line] = body_of(ada.get("/namespaces?format=csv")).splitlines()
    assert (head.split(",")[0], line.split(",")[:2]) == ("namespace", [NAME, "1"])


def test_who_made_a_namespace_is_a_person_by_name_and_an_agent_by_its_id(ada: Client) -> None:
    workflow = workflow_file.parse(SEED.encode()).workflow
    assert workflow
    person = tenancy.tenant_scope(tenancy.operator_principal(Operator.objects.get()))
    workflow_file.import_workflow(person, workflow, now=timezone.now())
    shown = body_of(ada.get("/namespaces"))
    assert ">ada.owner@acme.example</span>" in shown
    assert ">billing-01</code>" in shown
    assert "Created by ada.owner@acme.example" in body_of(ada.get("/namespaces/billing_domain"))
    assert "Created by <code>billing-01</code>" in body_of(ada.get(AT))


def test_the_list_is_paged(ada: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("alpha", "zeta"):
        address = Address(Tier.SEMANTIC, "billing-01", name, "k")
        entries.create(
            Caller(building.scope(), "billing-01"), ledger.entries.AddressedValue(address, {"n": 1}), now=timezone.now()
        )
    monkeypatch.setattr(views, "SHOWN", 2)
    first, second = body_of(ada.get("/namespaces")), body_of(ada.get("/namespaces?seen=2"))
    assert standing(1, 2, 3, "namespaces") in first
    assert 'href="/namespaces?seen=2"' in first
    assert ("zeta" in first, "zeta" in second, "alpha" in second) == (False, True, False)
    assert standing(3, 3, 3, "namespaces") in second


def test_permissions_are_changed_and_hold_from_then_on(ada: Client) -> None:
    assert "billing-01 write" in body_of(ada.get(AT))
    assert ada.post(AT, asked()).status_code == 302
    row = Namespace.objects.get()
    rules = [{"agent": "billing-01", "access": "write"}, {"agent": "support-02", "access": "read"}]
    assert (row.version, row.default, row.allow) == (2, "none", rules)


def test_whoever_read_an_earlier_version_is_told_and_changes_nothing(ada: Client) -> None:
    ada.post(AT, asked())
    answer = ada.post(AT, asked(default="admin"))
    assert answer.status_code == 409
    assert "has changed since that version" in body_of(answer)
    assert Namespace.objects.get().default == "none"


def test_what_makes_no_sense_is_said_on_the_form(ada: Client) -> None:
    for wrong in [
        {"allow": "billing-01"},
        {"allow": "billing-01 rule"},
        {"allow": "a read\na write"},
        {"default": "all"},
        {"version": ""},
    ]:
        answer = ada.post(AT, asked(**wrong))
        assert answer.status_code == 422, wrong
        assert "error-summary" in body_of(answer), wrong
        assert Namespace.objects.get().version == 1, wrong


UNFIT = ["", " bob", "bob ", "bob\u00a0", "a\u2028b", "a\nb", "\u200bbob", "b" * 129]


@pytest.mark.parametrize("agent", UNFIT)
def test_no_rule_is_for_an_agent_whose_name_the_page_could_not_hold(client: Client, agent: str) -> None:
    """Saving the page unchanged would give the access to somebody else. The API and the domain refuse it alike."""
    rules = [{"agent": agent, "access": "admin"}]
    url = f"/api/v1/memory{AT}"
    answer = client.patch(url, {"allow": rules}, content_type="application/json", **building.headers(role="operator"))
    assert answer.status_code == 400, answer.content
    caller = Caller(building.scope(), "ada")
    with pytest.raises(Invalid):
        namespaces.change(caller, NAME, Permissions(allow=rules), now=timezone.now())
    assert Namespace.objects.get().version == 1


def test_a_page_saved_as_it_was_changes_nobody_s_access(ada: Client) -> None:
    rules = [{"agent": name, "access": "read"} for name in ("a  b", "read admin", "größe/1", "é\u0301", "b" * 128)]
    namespaces.change(Caller(building.scope(), "ada"), NAME, Permissions(allow=rules), now=timezone.now())
    shown = html.unescape(re.search(r"<textarea[^>]*>\n?(.*?)</textarea>", body_of(ada.get(AT)), re.DOTALL)[1])
    sent = {"default": "read", "allow": shown.replace("\n", "\r\n"), "version": "2"}
    assert ada.post(AT, sent).status_code == 302
    assert Namespace.objects.get().allow == rules


def test_it_is_for_who_manages_agents_alone(sign_in: SignIn) -> None:
    for role in ["viewer", "author", "reviewer", "auditor"]:
        browser = sign_in(role=role)
        assert [browser.get(url).status_code for url in ("/namespaces", AT)] == [403, 403], role
        assert browser.post(AT, asked()).status_code == 403, role
        assert Namespace.objects.get().version == 1, role


def test_globex_has_none_of_acme(sign_in: SignIn) -> None:
    gil = sign_in("globex")
    assert json.loads(body_of(gil.get("/namespaces?format=json")))["total"] == 0
    assert "as soon as an agent keeps something" in body_of(gil.get("/namespaces"))
    assert gil.get(AT).status_code == 404
    assert gil.post(AT, asked()).status_code == 404
    assert Namespace.objects.get().version == 1


def test_a_hostile_name_stays_text(ada: Client) -> None:
    address = Address(Tier.SEMANTIC, "billing-01", "<b>\u202ex", "k")
    entries.create(
        Caller(building.scope(), "billing-01"), ledger.entries.AddressedValue(address, {"n": 1}), now=timezone.now()
    )
    shown = body_of(ada.get("/namespaces"))
    assert "&lt;b&gt;⟦RLO U+202E⟧x" in shown
    assert "<b>\u202e" not in shown
