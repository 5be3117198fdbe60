"""Triage of proposals in a real browser: by mouse, by keyboard alone, and without JavaScript."""

from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from proposals import lifecycle
from proposals.models import Kind, Proposal, Vote
from tests import browsing, building, inboxes, proposing

pytestmark = pytest.mark.django_db(transaction=True)
SMALL = """() => [...document.querySelectorAll(":is(#inbox, .page-head) :is(a, button, summary, input, label)")]
  .filter((each) => each.checkVisibility() && !each.closest("td.lead, .visually-hidden") && each.type !== "hidden")
  .map((each) => [each.closest("label") ?? each, each])
  .filter(([box]) => box.getBoundingClientRect().height < 24 || box.getBoundingClientRect().width < 24)
  .map(([, each]) => each.outerHTML.slice(0, 120))"""
UNNAMED = """() => [...document.querySelectorAll("#inbox :is(input:not([type=hidden]), button, select)")]
  .filter((each) => !each.labels?.length && !each.ariaLabel && !each.textContent.trim())
  .map((each) => each.outerHTML.slice(0, 120))"""


def open_inbox(page: Page, url: str) -> None:
    """Ada is signed in and at the inbox."""
    browsing.sign_in(page, url, "/proposals")
    expect(page.get_by_role("heading", level=1)).to_have_text("Proposals")


def some() -> list[Proposal]:
    """Three prompts and an automation; the oldest has a gate that waits."""
    now = timezone.now()
    made = [inboxes.at(number, now, title=f"prompt {number}") for number in range(1, 4)]
    inboxes.gate_over(made[0], now=now)
    return [*made, inboxes.at(4, now, kind=Kind.AUTOMATION, title="automation 4")]


def expect_titles(page: Page, *names: str) -> None:
    """The list has these, once it is there."""
    expect(page.locator("[data-item] .row-link")).to_have_text(list(names))


def states(made: list[Proposal]) -> list[str]:
    return [proposing.fresh(each).state for each in made]


def test_by_mouse_facets_filter_live_and_say_how_many(page: Page, live_server: LiveServer) -> None:
    some()
    open_inbox(page, live_server.url)
    choices = page.get_by_role("form", name="Filters")
    choices.get_by_role("checkbox", name="Automation").check()
    expect(page.locator("#live")).to_have_text("1 proposal")
    expect(page).to_have_url(f"{live_server.url}/proposals?kind=automation")
    expect(choices.get_by_role("checkbox", name="Automation")).to_be_focused()
    expect_titles(page, "automation 4")
    choices.get_by_role("checkbox", name="prompt-template").check()
    expect(page.locator("[data-item]")).to_have_count(4)
    page.get_by_label("Search proposals").press_sequentially("prompt 2")
    expect(page.locator("[data-item]")).to_have_count(1)
    expect(page.get_by_label("Search proposals")).to_be_focused()
    expect(page.get_by_label("Search proposals")).to_have_value("prompt 2")
    query = "kind=prompt-template&kind=automation&q=prompt+2"
    expect(page.get_by_role("link", name="CSV", exact=True)).to_have_attribute("href", f"/proposals?{query}&format=csv")
    page.get_by_role("link", name="Text: prompt 2").click()
    expect(page.locator("[data-item]")).to_have_count(4)
    page.go_back()
    expect(page.locator("[data-item]")).to_have_count(1)


def test_by_mouse_several_are_rejected_and_a_filter_is_saved(page: Page, live_server: LiveServer) -> None:
    made = some()
    open_inbox(page, live_server.url)
    page.get_by_role("checkbox", name="Choose prompt 2").check()
    page.get_by_role("checkbox", name="Choose prompt 3").check()
    expect(page.locator(".bulk-bar")).to_contain_text("2 selected")
    page.get_by_role("button", name="Reject…").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Reject 2 proposals")
    page.get_by_label("Reason").fill("not needed")
    page.get_by_role("button", name="Reject all 2").click()
    expect(page.locator(".messages")).to_contain_text("2 proposals are rejected")
    assert states(made) == ["draft", "rejected", "rejected", "draft"]

    page.get_by_role("checkbox", name="Rejected").check()
    page.get_by_role("link", name="Save this filter").click()
    page.get_by_label("Name").fill("Rejected ones")
    page.get_by_role("button", name="Save the filter").click()
    expect(page).to_have_url(f"{live_server.url}/proposals?saved=rejected-ones")
    expect_titles(page, "prompt 3", "prompt 2")
    page.get_by_role("button", name="Remove the saved filter").click()
    expect(page.get_by_role("navigation", name="Saved filters")).to_have_count(0)
    expect_titles(page, "prompt 3", "prompt 2")


def test_by_keyboard_alone_rows_are_walked_chosen_and_ended(page: Page, live_server: LiveServer) -> None:
    made = some()
    open_inbox(page, live_server.url)
    press = page.keyboard.press
    for key in ("j", "x", "j", "j", "k", "x"):
        press(key)
    expect(page.locator(".bulk-bar")).to_contain_text("2 selected")
    expect(page.get_by_role("checkbox", name="Choose automation 4")).to_be_checked()
    expect(page.get_by_role("checkbox", name="Choose prompt 3")).to_be_checked()
    press("x")
    expect(page.locator(".bulk-bar")).to_contain_text("1 selected")
    press("x")
    tab_to(page, "Archive…")
    press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Archive 2 proposals")
    tab_to(page, "Reason")
    page.keyboard.type("old")
    tab_to(page, "Archive all 2")
    press("Enter")
    expect(page.locator(".messages")).to_contain_text("2 proposals are archived")
    assert states(made) == ["draft", "draft", "archived", "archived"]


def tab_to(page: Page, name: str) -> None:
    """The control of that name has the focus, after as many tabs as it takes."""
    control = page.locator("main").get_by_label(name).or_(page.locator("main").get_by_role("button", name=name))
    for _ in range(60):
        page.keyboard.press("Tab")
        if control.first.evaluate("each => each === document.activeElement"):
            return
    raise AssertionError(f"the keyboard does not reach {name}")


def test_by_keyboard_alone_the_list_is_searched_opened_approved_and_rejected(
    page: Page, live_server: LiveServer
) -> None:
    made = some()
    open_inbox(page, live_server.url)
    press = page.keyboard.press
    press("/")
    page.keyboard.type("prompt 1")
    expect(page.locator("[data-item]")).to_have_count(1)
    press("Tab")
    press("j")
    press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("prompt 1")
    page.go_back()
    expect(page.locator("[data-item]")).to_have_count(1)
    press("a")
    expect(page.get_by_role("button", name="Approve")).to_be_focused()
    expect(page.get_by_role("button", name="Approve")).to_be_in_viewport()
    assert page.evaluate("scrollY") == 0
    expect(page).to_have_url(f"{live_server.url}/proposals/prop_{made[0].id.hex}#decide")
    for key in ("a", "a"):
        press(key)
    expect(page.get_by_role("button", name="Approve")).to_be_focused()
    assert not Vote.objects.exists()
    press("u")
    expect(page).to_have_url(f"{live_server.url}/proposals?q=prompt+1")
    assert proposing.fresh(made[0]).state == "draft"
    page.goto(f"{live_server.url}/proposals")
    press("j")
    press("j")
    press("r")
    expect(page.get_by_role("heading", level=1)).to_contain_text("prompt 3")
    expect(page.get_by_label("Reason")).to_be_visible()


def test_by_two_keys_any_of_the_first_nine_proposals_is_approved_from_either_list(
    page: Page, live_server: LiveServer
) -> None:
    now = timezone.now()
    made = [inboxes.at(number, now, title=f"prompt {number}") for number in range(1, 4)]
    for each in made:
        inboxes.gate_over(each, now=now)
    browsing.sign_in(page, live_server.url)
    for path, key, number in (("", "2", 1), ("/proposals", "3", 0)):  # the oldest first, and the newest
        if path:
            page.goto(f"{live_server.url}{path}")
        page.keyboard.press(key)
        expect(page.get_by_role("heading", level=1)).to_have_text(made[number].title)
        expect(page.get_by_role("button", name="Approve")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_text("Your approval is on record.")).to_be_visible()
    assert {vote.gate.proposal_id for vote in Vote.objects.select_related("gate")} == {made[0].id, made[1].id}


def test_single_keys_can_be_switched_off_and_the_help_lists_them(page: Page, live_server: LiveServer) -> None:
    some()
    open_inbox(page, live_server.url)
    page.keyboard.press("?")
    for words in ("Select the row", "Review and decide", "Reject the row", "Search proposals"):
        expect(page.locator("#help")).to_contain_text(words)
    expect(page.locator("#help")).not_to_contain_text("Search memory")
    page.locator("#help").get_by_role("button", name="Off").click()
    page.keyboard.press("Escape")
    for key in ("j", "x", "r", "1"):
        page.keyboard.press(key)
    expect(page.locator("#help")).to_be_hidden()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    expect(page).to_have_url(f"{live_server.url}/proposals")
    expect(page.locator("[data-check]:checked")).to_have_count(0)


def test_without_javascript_everything_works(plain: Page, live_server: LiveServer, drain: Callable[..., int]) -> None:
    made = some()
    open_inbox(plain, live_server.url)
    plain.get_by_role("checkbox", name="prompt-template").check()
    plain.get_by_role("checkbox", name="None", exact=False).first.check()
    plain.get_by_role("button", name="Apply").click()
    expect_titles(plain, "prompt 3", "prompt 2")
    plain.get_by_role("link", name="Save this filter").click()
    plain.get_by_role("button", name="Save the filter").click()
    plain.get_by_label("Name").fill("Prompts without a gate")
    plain.get_by_role("button", name="Save the filter").click()
    expect(plain.locator(".saved-now")).to_contain_text("Prompts without a gate")
    plain.get_by_role("checkbox", name="Choose prompt 2").check()
    plain.get_by_role("button", name="Reject…").click()
    lifecycle.archive(building.scope(), made[1].id, reason="old", now=timezone.now())
    plain.get_by_label("Reason").fill("no")
    plain.get_by_role("button", name="Reject it").click()
    expect(plain.locator(".conflict")).to_contain_text("Nothing was changed")
    expect(plain.locator(".conflict")).to_contain_text("Proposal is archived; reject is not allowed.")
    plain.get_by_role("link", name="Back to the list").click()
    plain.get_by_role("button", name="Scan runs").click()
    drain()
    plain.get_by_role("link", name="Refresh").click()
    expect(plain.locator("#look")).to_contain_text("new")
    plain.get_by_label("Search proposals").fill("prompt 1")
    plain.get_by_label("Search proposals").press("Enter")
    expect_titles(plain, "prompt 1")


def test_every_control_has_a_name_and_room_and_nothing_overflows(page: Page, live_server: LiveServer) -> None:
    inboxes.crowded(20)
    open_inbox(page, live_server.url)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        page.goto(f"{live_server.url}/proposals?gate=waiting&gate=none&gate=refused&gate=overridden")
        page.locator("[data-check]").first.check()
        assert page.evaluate(SMALL) == [], width
        assert page.evaluate(UNNAMED) == [], width
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), width
        assert page.evaluate("() => document.querySelector('#inbox .table-region').hasAttribute('data-fits')"), width
