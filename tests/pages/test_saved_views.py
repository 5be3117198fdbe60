"""Views of the ledger that are kept under a name: one's own, shared, and removed."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from memory import saved_filters
from memory.host import ids, vault
from memory.host.errors import Forbidden
from memory.host.models import SavedFilter
from tests import building
from tests.pages.conftest import SignIn, body_of

pytestmark = pytest.mark.django_db


def save(browser: Client, name: str, query: str, *, shared: bool = False) -> str:
    sent = {"name": name, "query": query} | ({"shared": "on"} if shared else {})
    return browser.post("/memory/views", sent)["Location"]


@pytest.mark.engines
def test_a_filter_is_saved_under_a_name_offered_beside_the_list_and_removed(ada: Client) -> None:
    building.remember("acme", "a red pump", tags=["red"])
    listed = body_of(ada.get("/memory?tag=red&age=24h"))
    assert 'href="/memory/views?tag=red&amp;age=24h"' in listed
    asked = body_of(ada.get("/memory/views?tag=red&age=24h"))
    assert "Created: Last 24 hours" in asked
    assert 'name="query" value="tag=red&amp;age=24h"' in asked
    assert save(ada, "Red pumps", "tag=red&age=24h") == "/memory?tag=red&age=24h"
    shown = body_of(ada.get("/memory?tag=red&age=24h"))
    assert 'href="/memory?tag=red&amp;age=24h" aria-current="page"' in shown
    assert "Red pumps" in body_of(ada.get("/memory"))
    kept = SavedFilter.objects.get()
    ada.post(f"/memory/views/{ids.wire('flt', kept.id)}/remove", {"next": "/memory?tag=red"})
    assert "Red pumps" not in body_of(ada.get("/memory"))


def test_a_view_is_renamed_by_its_owner_alone_and_keeps_what_it_asks_for(ada: Client, sign_in: SignIn) -> None:
    building.remember("acme", "a red pump", tags=["red"])
    save(ada, "Red pumps", "tag=red", shared=True)
    made = SavedFilter.objects.get()
    address = f"/memory/views/{ids.wire('flt', made.id)}/rename"
    assert f'href="{address}"' in body_of(ada.get("/memory?tag=red"))
    asked = body_of(ada.get(address))
    assert 'value="Red pumps"' in asked
    assert "Tag: red" in asked
    assert ada.post(address, {"name": ""}).status_code == 422
    assert sign_in(role="viewer").post(address, {"name": "Mine now"}).status_code == 403
    assert ada.post(address, {"name": "Crimson", "query": "tag=blue"})["Location"] == "/memory?tag=red"
    kept = SavedFilter.objects.get()
    assert (kept.name, kept.query, kept.shared) == ("Crimson", "tag=red", False)
    assert (kept.id, kept.created_at) == (made.id, made.created_at), "a bookmark of the form still leads to it"
    save(ada, "Blue pumps", "tag=blue")
    assert ada.post(address, {"name": "Blue pumps"})["Location"] == "/memory?tag=red"
    assert list(SavedFilter.objects.values_list("id", "query")) == [(made.id, "tag=red")], "the namesake is replaced"


@pytest.mark.engines
def test_a_shared_view_is_for_everybody_of_the_tenant_and_its_owner_alone_removes_it(
    ada: Client, sign_in: SignIn
) -> None:
    save(ada, "For all", "tag=red", shared=True)
    save(ada, "Mine", "tag=blue")
    viewer, other = sign_in(role="viewer"), sign_in("globex")
    shown = body_of(viewer.get("/memory"))
    assert "For all" in shown
    assert "Mine" not in shown
    assert "For all" not in body_of(other.get("/memory"))
    kept = SavedFilter.objects.get(name="For all")
    address = f"/memory/views/{ids.wire('flt', kept.id)}/remove"
    assert (viewer.post(address).status_code, other.post(address).status_code) == (403, 404)


def test_the_name_is_typed_at_once_and_a_refused_form_has_its_summary_first(ada: Client) -> None:
    for page, query in (("/memory/views", "tag=red"), ("/proposals/filters", "state=draft")):
        assert re.search(r'<input[^>]* name="name"[^>]* autofocus', body_of(ada.get(f"{page}?{query}"))), page
        assert "autofocus" not in body_of(ada.post(page, {"name": "", "query": query})), page


def test_a_view_without_a_name_or_a_filter_is_refused_in_words(ada: Client) -> None:
    assert "A view needs a filter." in body_of(ada.get("/memory/views"))
    for name, query in [("", "tag=red"), ("Nothing", ""), ("Long", "q=" + "x" * 1000)]:
        answer = ada.post("/memory/views", {"name": name, "query": query})
        assert answer.status_code == 422, name
        assert not SavedFilter.objects.exists(), name
    assert ada.post("/memory/views", {"name": "None", "query": "state=nonsense"}).status_code == 400
    assert not SavedFilter.objects.exists()


def test_a_view_of_the_inbox_is_none_of_the_ledger(ada: Client) -> None:
    saved_filters.save_filter(
        building.scope(), "proposals", name="Drafts", query="state=draft", shared=True, now=timezone.now()
    )
    assert "Drafts" not in body_of(ada.get("/memory"))


def test_no_filter_of_a_list_is_saved_with_a_secret(ada: Client) -> None:
    vault.store_secret(building.tenant().id, "mail", "Tr0ub4dor&3x", now=timezone.now())
    queries = ["q=Tr0ub4dor%263x", "q=%54r0ub4dor%263x", "q=a+Tr0ub4dor%25263x"]
    for form in ({"name": "under Tr0ub4dor&3x"}, *({"query": query} for query in queries)):
        for address in ("/memory/views", "/proposals/filters"):
            answer = ada.post(address, {"name": "Mine", "query": "q=pump"} | form)
            assert answer.status_code == 422, (address, form)
            assert "names a secret" in body_of(answer), (address, form)
    assert not SavedFilter.objects.exists()


def test_a_filter_is_saved_and_removed_by_its_own_list_and_role_alone(ada: Client) -> None:
    scope, now = building.scope(), timezone.now()
    kept = saved_filters.save_filter(
        scope, saved_filters.INBOX, name="Drafts", query="state=draft", shared=True, now=now
    )
    assert ada.post(f"/memory/views/{ids.wire('flt', kept.id)}/remove").status_code == 404
    auditor = building.scope(role="auditor")
    with pytest.raises(Forbidden, match="proposals:read"):
        saved_filters.remove_filter(auditor, saved_filters.INBOX, kept.id)
    with pytest.raises(Forbidden, match="proposals:read"):
        saved_filters.list_filters(auditor, saved_filters.INBOX)
