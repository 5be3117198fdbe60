"""The columns of the ledger that a person chose, kept in a cookie, and rows of one line."""

import re

import pytest
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests import browsing, building
from tests.pages.conftest import body_of
from tests.pages.test_addressed_entries import remember


@pytest.mark.django_db
def test_columns_are_chosen_and_kept_and_the_filter_stays(ada: Client) -> None:
    building.remember("acme", "a red pump", tags=["red"])
    assert all(f">{head}</th>" in body_of(ada.get("/memory")) for head in ("Agent and ref", "Written by", "Expires"))
    answer = ada.get("/memory?tag=red&columns=chosen&column=created&column=agent&column=nonsense")
    assert answer["Location"] == "/memory?tag=red"
    kept = answer.cookies["columns"]
    assert (kept.value, kept["samesite"], kept["httponly"]) == ("agent.created", "Lax", True)
    shown = body_of(ada.get("/memory?tag=red"))
    assert ">Agent and ref</th>" in shown
    assert ">Written by</th>" not in shown
    assert 'data-label="Written by"' not in shown
    assert 'class="tag"' not in shown
    ada.get("/memory?columns=chosen")
    assert '<th scope="col">Content</th></tr>' in body_of(ada.get("/memory"))


@pytest.mark.django_db
@pytest.mark.parametrize("kept", ["", "nonsense", "agent.agent.<b>", "x" * 3000])
def test_a_cookie_that_says_something_else_breaks_nothing(ada: Client, kept: str) -> None:
    building.remember("acme", "a red pump")
    ada.cookies["columns"] = kept
    assert "a red pump" in body_of(ada.get("/memory"))


@pytest.mark.django_db(transaction=True)
def test_every_row_is_36_pixels_high_and_fifteen_are_in_view(page: Page, live_server: LiveServer) -> None:
    owner = building.scope()
    run = building.open_run(owner)
    for number in range(20):
        building.write(
            owner, run, f"{number} " + "the pump sounds like a tractor " * 9, tags=("a-rather-long-tag", "b")
        )
    page.set_viewport_size({"width": 1280, "height": 800})
    browsing.sign_in(page, live_server.url)
    page.goto(f"{live_server.url}/memory")
    rows = page.locator("#entries [data-item]")
    expect(rows).to_have_count(20)
    boxes = [box for each in rows.all() if (box := each.bounding_box())]
    assert {round(box["height"]) for box in boxes} == {36}
    assert sum(box["y"] + box["height"] <= 800 for box in boxes) >= 15
    text, agent = rows.first.locator(".row-link").bounding_box(), rows.first.locator("td").nth(2).bounding_box()
    assert text
    assert agent
    assert text["width"] > 2 * agent["width"]
    remember("a-key", namespace="a-namespace-with-a-long-name", pinned=True)
    page.context.add_cookies([{"name": "density", "value": "compact", "url": live_server.url}])
    page.goto(f"{live_server.url}/memory?age=7d")
    expect(rows).to_have_count(21)
    boxes = [box for each in rows.all() if (box := each.bounding_box())]
    assert {round(box["height"]) for box in boxes} == {36}
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.django_db
def test_an_agent_s_name_is_cut_where_it_says_least_and_whole_in_the_tooltip(ada: Client) -> None:
    owner = building.scope()
    name = "support-assistant-for-customers-in-berlin"
    building.write(owner, building.open_run(owner), "a note", agent_id=name)
    shown = body_of(ada.get("/memory"))
    assert f'title="{name} · ' in shown
    assert re.search(r'<code class="small">support[^<]*…[^<]*berlin</code>', shown)
    building.write(owner, building.open_run(owner), "a note", agent_id="private.acme.support-triage")
    shown = body_of(ada.get("/memory"))
    assert '<code class="small">…support-triage</code>' in shown
    assert '<span title="private.acme.support-triage">…support-triage</span>' in shown
