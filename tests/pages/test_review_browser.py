"""The review in Chromium, from the inbox to the installation: by mouse, by keyboard alone, and without scripts."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memory.host import ids, tenancy
from memory.host.tenancy import TenantScope
from proposals import lifecycle, revisions
from proposals.drafts import Change
from proposals.models import Gate, Proposal, Vote
from tests import building, proposing
from tests.browsing import sign_in
from tests.fixtures_queue import Drain
from tests.proposing import page_of

pytestmark = pytest.mark.django_db(transaction=True)
WHY = "Incident 4711: the queue has been stuck since midnight"


def ben() -> TenantScope:
    writer = building.operator(role="operator", email="ben@acme.example")
    return tenancy.tenant_scope(tenancy.operator_principal(writer))


def revised(proposal: Proposal, by: TenantScope, text: str) -> Gate:
    """A faster reviser voids the gate, and another one is open over what he wrote."""
    change = Change(artifact=proposing.artifact(text=text), note="faster")
    lifecycle.revise(by, proposal.id, change, voids_gate=True, now=timezone.now())
    return proposing.opened(proposal)


def is_installed(proposal: Proposal) -> bool:
    """Whether the proposal is applied with the very bytes of its standing revision."""
    fresh = proposing.fresh(proposal)
    if fresh.state != "applied" or not fresh.approval_id:
        return False
    return Gate.objects.get(id=fresh.approval_id).sha256 == revisions.current(fresh).sha256


def test_from_the_inbox_to_the_installation_by_mouse(page: Page, live_server: LiveServer, drain: Drain) -> None:
    made = proposing.propose(title="Shorter summaries")
    page.set_viewport_size({"width": 1280, "height": 800})
    sign_in(page, live_server.url, "/proposals")
    page.get_by_role("link", name="Shorter summaries").first.click()
    bar = page.locator(".decision-bar")
    expect(bar).to_contain_text("You are deciding revision 1")
    change, above = page.locator(".changes [data-item]").first.bounding_box(), bar.bounding_box()
    assert change
    assert above
    assert change["y"] + 40 <= above["y"], "the change begins on the first screen"
    expect(bar.get_by_role("button", name="Approve")).to_be_disabled()
    bar.get_by_role("button", name="Request approval").click()
    expect(page.locator(".aside")).to_contain_text("waiting 0 of 1")
    drain()
    for tab in ("Evidence", "Changes"):
        page.get_by_role("navigation", name="Sections of this proposal").get_by_role("link", name=tab).click()
        expect(page.locator(".page-tabs [aria-current]")).to_contain_text(tab)
    page.locator(".decision-bar").get_by_role("button", name="Approve").click()
    expect(page.locator("main")).to_contain_text("A worker is installing revision 1")
    drain()
    expect(page.get_by_role("heading", name="Installed")).to_be_visible()
    expect(page.locator("#review-lede .badge").first).to_have_text("applied")
    expect(page.locator("#review-steps [aria-current]")).to_contain_text("Installed")
    expect(page.locator("main")).to_contain_text("Digests match")
    expect(page.locator("main")).to_contain_text("prompt:triage.summary@1.1.0")
    assert is_installed(made)


def test_from_the_inbox_to_the_installation_by_keyboard_alone(
    page: Page, live_server: LiveServer, drain: Drain
) -> None:
    made = proposing.propose(title="Shorter summaries")
    sign_in(page, live_server.url, "/proposals")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Shorter summaries")
    page.keyboard.press("g")
    expect(page.locator(".aside")).to_contain_text("waiting 0 of 1")
    drain()
    for key, tab in (("2", "Artifact"), ("5", "History"), ("6", "Effect"), ("1", "Changes")):
        page.keyboard.press(key)
        expect(page.locator(".page-tabs [aria-current]")).to_contain_text(tab)
    page.keyboard.press("?")
    expect(page.locator("#help")).to_contain_text("Request changes")
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    expect(page.locator("#decision-reason")).to_be_focused()
    page.keyboard.type("a comma is missing")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Request changes")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".aside")).to_contain_text("a comma is missing")
    page.wait_for_load_state()  # keys work once the scripts have run
    page.keyboard.press("g")
    expect(page.locator(".aside")).to_contain_text("waiting 0 of 1")
    drain()
    page.goto(live_server.url)  # from the first page a proposal is approved by two keys
    page.keyboard.press("a")
    expect(page.get_by_role("heading", level=1)).to_have_text("Shorter summaries")
    expect(page.get_by_role("button", name="Approve")).to_be_focused()
    assert not Vote.objects.filter(decision="granted").exists()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("A worker is installing revision 1")
    drain()
    expect(page.get_by_role("heading", name="Installed")).to_be_visible()
    assert is_installed(made)
    page.keyboard.press("u")
    expect(page.get_by_role("heading", level=1)).to_have_text("Proposals")


def test_from_the_inbox_to_the_installation_without_scripts(plain: Page, live_server: LiveServer, drain: Drain) -> None:
    made = proposing.propose(title="Shorter summaries")
    sign_in(plain, live_server.url, "/proposals")
    plain.get_by_role("link", name="Shorter summaries").first.click()
    plain.get_by_role("button", name="Request approval").click()
    drain()
    plain.get_by_role("link", name="Discussion").click()
    plain.get_by_label("Comment on revision 1").fill("Fine by me <b>really</b>")
    plain.get_by_role("button", name="Comment", exact=True).click()
    expect(plain.locator(".comments")).to_contain_text("Fine by me <b>really</b>")
    plain.get_by_role("button", name="Approve").click()
    expect(plain.locator("main")).to_contain_text("A worker is installing revision 1")
    drain()
    plain.get_by_role("link", name="refresh").click()
    expect(plain.get_by_role("heading", name="Installed")).to_be_visible()
    assert is_installed(made)


def test_somebody_revises_while_the_reviewer_reads(page: Page, live_server: LiveServer, drain: Drain) -> None:
    made = proposing.propose()
    proposing.opened(made)
    sign_in(page, live_server.url, page_of(made))
    revised(made, ben(), "Somebody was faster.")
    page.get_by_role("button", name="Approve").click()
    panel = page.locator("#conflict")
    expect(panel).to_be_focused()
    expect(panel).to_contain_text("Revision 2 arrived while you read revision 1")
    assert not Vote.objects.exists()
    panel.get_by_role("link", name="Compare revision 1 with 2").click()
    expect(page.locator("ins").filter(has_text="Somebody was faster.")).to_be_visible()
    drain()
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("main")).to_contain_text("A worker is installing revision 2")
    assert Vote.objects.get().revision == 2


def test_a_revision_is_typed_and_nothing_of_it_is_lost_to_somebody_faster(page: Page, live_server: LiveServer) -> None:
    made = proposing.propose()
    proposing.opened(made)
    sign_in(page, live_server.url, page_of(made))
    page.keyboard.press("e")
    artifact = page.get_by_label("Artifact")
    artifact.fill(artifact.input_value().replace("two sentences", "one sentence"))
    page.get_by_label("Void the approval request").check()
    revised(made, ben(), "Somebody was faster.")
    page.get_by_role("button", name="Save as revision 2").click()
    expect(page.locator("#conflict")).to_be_focused()
    assert "one sentence" in page.get_by_label("Artifact").input_value()
    page.get_by_role("button", name="Save as revision 3").click()
    expect(page.locator("main")).to_contain_text("Revision 3 is saved")
    assert "one sentence" in revisions.current(proposing.fresh(made)).text
    page.keyboard.press("e")
    page.get_by_label("Artifact").fill('{"templateId": 7}')
    page.get_by_role("button", name="Save as revision 4").click()
    expect(page.locator("#error-summary")).to_be_focused()
    expect(page.locator("#error-summary")).to_contain_text("templateId must be of type string")


def test_an_override_by_keyboard_alone_leaves_its_mark(page: Page, live_server: LiveServer, drain: Drain) -> None:
    made = proposing.propose()
    proposing.opened(made)
    drain()
    sign_in(page, live_server.url, page_of(made))
    page.keyboard.press("o")
    expect(page.get_by_role("link", name="Override…")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Override approval")
    page.get_by_label("Reason").focus()
    page.keyboard.type(WHY)
    page.keyboard.press("Tab")
    page.keyboard.type(ids.wire("prop", made.id))
    page.keyboard.press("Enter")
    expect(page.locator("div.override-mark")).to_contain_text(WHY)
    drain()
    expect(page.get_by_role("heading", name="Installed")).to_be_visible()
    expect(page.locator(".aside")).to_contain_text("The approval was overridden.")


def test_the_hunks_are_walked_with_j_and_k(page: Page, live_server: LiveServer) -> None:
    texts = [f"line {number}" for number in range(60)]
    made = proposing.propose(text=proposing.artifact(text="\n".join(texts)))
    texts[3], texts[50] = "first change", "second change"
    change = Change(artifact=proposing.artifact(text="\n".join(texts)))
    lifecycle.revise(ben(), made.id, change, now=timezone.now())
    sign_in(page, live_server.url, page_of(made))
    expect(page.locator(".diff tbody[data-item]")).to_have_count(2)
    page.keyboard.press("j")
    expect(page.locator("tbody[data-current]")).to_contain_text("first change")
    page.keyboard.press("j")
    expect(page.locator("tbody[data-current]")).to_contain_text("second change")
    page.keyboard.press("k")
    expect(page.locator("tbody[data-current]")).to_contain_text("first change")


def test_no_page_of_it_is_wider_than_a_phone(page: Page, live_server: LiveServer) -> None:
    made = proposing.propose(title="x" * 200, text=proposing.artifact(text="y" * 900))
    proposing.opened(made)
    page.set_viewport_size({"width": 360, "height": 740})
    sign_in(page, live_server.url, page_of(made))
    for tab in ("", "/artifact", "/evidence", "/discussion", "/history", "/effect", "/revise"):
        if tab:
            page.goto(f"{live_server.url}{page_of(made)}{tab}")
        expect(page.get_by_role("heading", level=1)).to_contain_text(re.compile("x{200}"))
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), tab


def test_on_a_phone_the_bar_has_one_row_and_the_other_decisions_open_above_it(
    page: Page, live_server: LiveServer
) -> None:
    made = proposing.propose(title="Shorter summaries")
    proposing.opened(made)
    page.set_viewport_size({"width": 390, "height": 844})
    sign_in(page, live_server.url, page_of(made))
    bar, changes = page.locator("#decision"), page.get_by_role("button", name="Request changes")
    box = bar.bounding_box()
    assert box
    assert box["height"] < 100
    expect(page.get_by_role("link", name="Effect")).to_be_in_viewport(ratio=0.9)
    expect(changes).to_be_hidden()
    page.get_by_role("button", name="More decisions").click()
    page.locator("#decision-reason").fill("a comma is missing")
    changes.click()
    expect(page.locator(".aside")).to_contain_text("a comma is missing")


def test_a_long_ref_and_two_sides_fit_a_phone(page: Page, live_server: LiveServer) -> None:
    name = f"a.{'b' * 120}"
    made = proposing.propose(text=proposing.artifact(templateId=name, text="What was said first."))
    change = Change(artifact=proposing.artifact(templateId=name, text="What is said now."))
    lifecycle.revise(ben(), made.id, change, now=timezone.now())
    page.set_viewport_size({"width": 390, "height": 840})
    sign_in(page, live_server.url, page_of(made))
    page.get_by_role("link", name="Side by side").click()
    expect(page.locator(".stacked-sides")).to_be_visible()
    for words in ("What was said first.", "What is said now."):
        line = page.locator(".diff-side .diff-text").filter(has_text=words)
        box = line.bounding_box()
        assert box
        assert box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.set_viewport_size({"width": 1280, "height": 840})
    expect(page.locator(".stacked-sides")).to_be_hidden()
