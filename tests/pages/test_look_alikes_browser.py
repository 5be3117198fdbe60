"""Possible duplicates in a real browser: by keyboard alone, and without JavaScript."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests import browsing
from tests.memory.test_look_alikes import HELD, KEPT, Desk

pytestmark = pytest.mark.django_db(transaction=True)
URL = "/consolidation/duplicates"
FERN = ("Basil waters the big fern on Mondays.", "On Mondays the big fern gets water from Basil.")
KEYS = ("The spare keys hang beside the lift.", "Beside the lift you find all spare keys.")


def filled() -> Desk:
    desk = Desk()
    desk.say(KEPT, HELD, *FERN, *KEYS)
    assert len(desk.look()) == 3
    return desk


def test_by_keyboard_one_pair_is_decided_and_then_the_selected_ones(page: Page, live_server: LiveServer) -> None:
    desk = filled()
    browsing.sign_in(page, live_server.url, URL)
    pairs = page.locator("[data-item]")
    expect(pairs).to_have_count(3)
    page.keyboard.press("j")
    kept = desk.pairs()[0]
    page.keyboard.press("b")
    expect(pairs).to_have_count(2)
    assert {kept.older.content, kept.newer.content} <= set(desk.texts())
    expect(pairs.first).to_be_focused()
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator(".bulk-bar")).to_contain_text("2 selected")
    left = desk.pairs()
    page.keyboard.press("n")
    expect(page.get_by_text("Replaced the older entry of 2 pairs.")).to_be_visible()
    assert not {pair.older.content for pair in left} & set(desk.texts())
    assert {pair.newer.content for pair in left} <= set(desk.texts())


def test_after_a_decision_the_focus_is_on_the_pair_that_took_its_place(page: Page, live_server: LiveServer) -> None:
    desk = filled()
    browsing.sign_in(page, live_server.url, URL)
    pairs = page.locator("[data-item]")
    skipped, decided, moved_up = (pair.older.content for pair in desk.pairs())
    page.get_by_role("button", name="Keep both of pair 2").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Kept both entries of 1 pair.")).to_be_visible()
    assert [pair.older.content for pair in desk.pairs()] == [skipped, moved_up]
    expect(pairs.nth(1)).to_be_focused()
    page.keyboard.press("b")
    expect(pairs).to_have_count(1)
    assert [pair.older.content for pair in desk.pairs()] == [skipped]
    expect(pairs.first).to_be_focused()
    assert decided in desk.texts()


def test_after_the_selected_pairs_the_focus_is_where_the_first_of_them_stood(
    page: Page, live_server: LiveServer
) -> None:
    desk = filled()
    desk.say("The old printer stands in the cellar.", "In the cellar stands the old printer, out of use.")
    assert len(desk.look()) == 4
    browsing.sign_in(page, live_server.url, URL)
    pairs = page.locator("[data-item]")
    for number in (2, 4):
        page.get_by_role("checkbox", name=f"Select pair {number}").check()
    left = desk.pairs()[2].older.content
    page.keyboard.press("b")
    expect(pairs).to_have_count(2)
    assert desk.pairs()[1].older.content == left
    expect(pairs.nth(1)).to_be_focused()


def test_enter_in_a_box_decides_nothing(page: Page, live_server: LiveServer) -> None:
    desk = filled()
    browsing.sign_in(page, live_server.url, URL)
    page.get_by_role("checkbox", name="Select pair 1").focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-item]")).to_have_count(3)
    assert len(desk.texts()) == 6


def test_without_scripts_the_buttons_decide(plain: Page, live_server: LiveServer) -> None:
    desk = filled()
    browsing.sign_in(plain, live_server.url, URL)
    plain.get_by_role("button", name="Merge pair 1").click()
    expect(plain.get_by_text("Merged 1 pair.")).to_be_visible()
    plain.get_by_role("checkbox", name="Select pair 1").check()
    plain.get_by_role("checkbox", name="Select pair 2").check()
    plain.locator(".bulk-bar").get_by_role("button", name="Merge").click()
    expect(plain.get_by_text("Merged 2 pairs.")).to_be_visible()
    assert len(desk.texts()) == 3
