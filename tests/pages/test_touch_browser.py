"""The jobs of an operator on a phone: by taps alone, on a screen of 390 pixels."""

from collections.abc import Callable

import pytest
from django.conf import settings
from playwright.sync_api import Locator, Page, expect
from pytest_django.live_server_helper import LiveServer

from memory.host.models import Interrupt
from tests import browsing, building, proposing

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.browser_context_args(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True),
]
ROSA = "rosa.owner@acme.example"
# Whether a finger of 44 px on the middle of an element touches nothing else.
TOUCHED = """(wanted) => {
  const { x, y, width, height } = wanted.getBoundingClientRect();
  const labels = [...wanted.labels ?? []];
  return [[0, 0], [0, -20], [0, 20], [-20, 0], [20, 0]].map(([right, down]) => {
    const found = document.elementFromPoint(x + width / 2 + right, y + height / 2 + down);
    return wanted.contains(found) || labels.some((label) => label.contains(found)) ? "" : found?.outerHTML.slice(0, 90);
  }).filter(Boolean);
}"""


def tap(target: Locator) -> None:
    """A finger touches the middle of ``target``, and nothing else; the page is no wider than its window."""
    target.scroll_into_view_if_needed()
    assert target.evaluate(TOUCHED) == [], target
    assert target.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), target.page.url
    target.tap()


def typed(target: Locator, words: str) -> None:
    """The field is touched, and the words are typed on the keyboard that comes up."""
    tap(target)
    target.page.keyboard.type(words)


def go(page: Page, name: str) -> None:
    """Touch an entry of the navigation, which is folded on a phone."""
    tap(page.locator(".nav-fold > summary"))
    tap(page.get_by_role("navigation", name="Console").get_by_role("link", name=name).first)
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_by_taps_a_proposal_is_approved_stopped_and_rolled_back(
    page: Page, live_server: LiveServer, drain: Callable[..., int]
) -> None:
    building.operator(email=ROSA)
    proposing.applied(text=proposing.artifact(version="1.0.0"))
    proposing.opened(proposing.propose(title="Shorter summaries"))
    drain()
    browsing.sign_in(page, live_server.url)
    tap(page.get_by_role("link", name="Shorter summaries"))
    tap(page.get_by_role("button", name="Approve"))
    expect(page.locator("main")).to_contain_text("A worker is installing")
    drain()
    expect(page.get_by_role("heading", name="Installed")).to_be_visible()

    go(page, "Installed")
    tap(page.get_by_role("link", name="Disable triage.summary"))
    page.wait_for_url("**/artifacts/prompt:triage.summary@1.1.0#id_reason")
    typed(page.get_by_label("Reason"), "It leaves out the customer")
    tap(page.get_by_role("button", name="Disable"))
    expect(page.get_by_role("button", name="Enable")).to_be_visible()

    tap(page.get_by_role("button", name="Roll back"))
    expect(page.get_by_text("waiting 0 of 1")).to_be_visible()
    drain()
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    page.goto(live_server.url)
    browsing.type_in(page, ROSA, building.PASSWORD)
    tap(page.locator("#votes .row-link"))
    tap(page.get_by_role("button", name="Approve"))
    expect(page.locator("main")).to_contain_text("A worker is installing")
    drain()
    expect(page.get_by_role("heading", name="Installed")).to_be_visible()
    go(page, "Installed")
    expect(page.locator("[data-item]")).to_contain_text("1.0.0")


def test_by_taps_a_run_is_answered_entries_are_retired_and_a_subject_is_forgotten(
    page: Page, live_server: LiveServer, drain: Callable[..., int]
) -> None:
    gate = building.node("gate", "core.approvalGate", {"title": "Refund of order 7"})
    building.install("acme", building.definition("asks", gate))
    building.execute(building.scope(), "asks")
    building.remember("acme", "Marta prefers mail.", "Martapolis is a town.", "first note", "second note")
    browsing.sign_in(page, live_server.url)
    tap(page.get_by_role("link", name="Refund of order 7"))
    tap(page.get_by_role("button", name="Accept"))
    expect(page.get_by_role("button", name="Accept")).to_have_count(0)
    assert Interrupt.objects.get().resolved_at

    go(page, "Memory")
    for words in ("first note", "second note"):
        tap(page.locator("[data-item]", has_text=words).locator("[data-check]"))
    expect(page.locator(".bulk-bar")).to_contain_text("2 selected")
    tap(page.get_by_role("button", name="Retire…"))
    tap(page.get_by_role("button", name="Retire 2 entries"))
    expect(page.get_by_text("2 entries are retired")).to_be_visible()

    go(page, "Forget")
    typed(page.get_by_label("Subject", exact=True), "Marta")
    tap(page.get_by_role("button", name="Preview", exact=True))
    page.wait_for_url("**/forget/fgt_*")
    drain()
    page.reload()
    tap(page.locator(".suspect label", has_text="Keep").first)
    tap(page.get_by_role("button", name="Keep all undecided"))
    expect(page.get_by_text("all decided")).to_be_visible()
    tap(page.get_by_role("button", name="Continue to confirm"))
    typed(page.get_by_label("Type the subject"), "Marta")
    typed(page.get_by_label("Reason or ticket"), "4711")
    typed(page.get_by_label("Your password"), building.PASSWORD)
    tap(page.get_by_role("button", name="Forget for good"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Forget request")
    drain()
    page.reload()
    expect(page.get_by_role("heading", name="Forgotten and verified")).to_be_visible()
    assert sorted(building.contents(building.scope())) == ["Martapolis is a town."]
