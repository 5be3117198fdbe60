"""Go to: the command palette in a real browser, and the same list as a page."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memory.host import ids
from tests import browsing, building, proposing
from tests.pages.conftest import HTMX, SignIn, body_of


def listed(browser: Client, words: str) -> str:
    answer = browser.get("/go-to", {"q": words}, **HTMX)
    assert "<!doctype" not in body_of(answer).lower()
    return body_of(answer)


@pytest.mark.django_db
@pytest.mark.engines
def test_words_lead_to_an_id_a_page_an_artifact_a_proposal_and_a_search(ada: Client) -> None:
    made, proposal = building.remember("acme", "x"), proposing.propose()
    leaked = building.scope(name="Nightly CI").principal.id
    proposing.applied(text=proposing.artifact(version="9.0.0"))
    assert f'href="/memory/{made.entries[0]}"' in listed(ada, made.entries[0])
    assert 'href="/consolidation"' in listed(ada, "run cons")
    for words, page in (("legal", "/forget/holds"), ("export", "/memory/export"), ("approval", "/settings")):
        assert f'href="{page}"' in listed(ada, words)
    assert "/artifacts/prompt:triage.summary@9.0.0" in listed(ada, "triage.sum")
    assert f"/proposals/{ids.wire('prop', proposal.id)}" in listed(ada, proposal.title[:6].upper())
    assert f'href="/settings/keys?id={leaked}"' in listed(ada, "nightly")
    assert 'href="/memory?q=no+such+thing"' in listed(ada, "no such thing")


@pytest.mark.django_db
def test_a_role_is_offered_what_it_may_see_and_another_tenant_s_things_are_not_there(sign_in: SignIn) -> None:
    made, gil, viewer = building.remember("acme", "x"), sign_in("globex"), sign_in(role="viewer")
    proposing.applied()
    assert "Forget a subject" in listed(sign_in(), "")
    assert "Forget a subject" not in listed(viewer, "")
    assert "/memory" not in listed(sign_in(role="auditor"), "anything")
    assert f'href="/memory/{made.entries[0]}"' not in listed(gil, made.entries[0])
    assert "/artifacts/" not in listed(gil, "triage.")
    building.scope(name="Nightly CI")
    assert "?id=key_" not in listed(gil, "nightly") + listed(viewer, "nightly")


@pytest.mark.django_db
def test_the_list_is_a_page_of_its_own_and_costs_few_queries(ada: Client) -> None:
    shown = body_of(ada.get("/go-to"))
    assert "<h1>Go to" in shown
    assert "Run a consolidation" in shown
    ada.get("/go-to", {"q": "triage"}, **HTMX)
    with CaptureQueriesContext(connection) as asked:
        ada.get("/go-to", {"q": "triage"}, **HTMX)
    assert len(asked.captured_queries) <= 14


@pytest.mark.django_db(transaction=True)
def test_by_keyboard_alone_any_page_is_a_few_keys_away_and_the_last_ones_are_listed(
    page: Page, live_server: LiveServer
) -> None:
    made = building.remember("acme", "the desk closes at six")
    browsing.sign_in(page, live_server.url, "/memory")
    page.goto(f"{live_server.url}/proposals")
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Go to")
    expect(page.get_by_placeholder("An id, a name")).to_be_focused()
    expect(palette.locator("#recent a")).to_have_text(["Memory"])
    for waits in (False, True):
        page.keyboard.type("audit")
        if waits:
            expect(palette.locator("#places")).to_have_attribute("data-words", "audit")
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{live_server.url}/audit")
        page.goto(f"{live_server.url}/proposals")
        page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type(made.entries[0])
    expect(palette.locator("#places a").first).to_have_attribute("href", f"/memory/{made.entries[0]}")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{live_server.url}/memory/{made.entries[0]}")
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
    page.evaluate("addEventListener('keydown', (event) => { document.title = event.defaultPrevented; })")
    page.keyboard.press("Escape")
    expect(page).to_have_title("false")  # closed, it takes no key from the page
    page.get_by_role("link", name="Go to", exact=True).click()
    page.keyboard.type("the desk closes")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{live_server.url}/memory?q=the+desk+closes")
