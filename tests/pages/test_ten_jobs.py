"""The ten jobs of an operator, from the first page to their ends: by mouse, by finger, and without scripts.

By keyboard alone they stand in ``test_jobs_browser.py``, ``test_review_browser.py`` and ``test_inbox_browser.py``.
"""

from collections.abc import Callable

import pytest
from django.conf import settings as django_settings
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from memory import artifact_stops
from memory.host.models import Interrupt
from memory.passes import orders
from memory.passes.orders import RequestedPass
from tests import browsing, building, proposing
from tests.browsing import FINGER, Hand
from tests.budgets import THOROUGH
from tests.pages.test_commitments_page import remembered

pytestmark = pytest.mark.django_db(transaction=True)
finger: pytest.MarkDecorator = pytest.mark.browser_context_args(**FINGER)
ROSA = "rosa.owner@acme.example"
DOOR = "The door of hall 4 is blue."


def tenant_at_work() -> None:
    """Acme has a letter written from a prompt, a pass that merged, a commitment, and an agent that lacks lasting memory
    where the host has none."""
    building.install_prompt("greeting", "Dear <{{name}}>,")
    greet = building.node("greet", "vendor.console.compose", {"template": "greeting"})
    keep = building.remember_node("{{content}}", node_id="keep")
    building.install(
        "acme",
        building.definition(
            "letter",
            greet | {"inputs": {"name": building.from_input("customer")}},
            keep | {"inputs": {"content": {"type": "connection", "nodeId": "greet", "outputKey": "text"}}},
        ),
    )
    building.execute(building.scope(), "letter", customer="Marta")
    building.remember("acme", DOOR, DOOR, DOOR, memory_ref="halls")
    order = orders.order(building.scope(), RequestedPass("consolidate", "halls"), now=timezone.now())
    orders.run_pass(order.tenant_id, order.id, holder="test/1", clock=timezone.now)
    remembered("Call Ana in 3 days.", "Maybe I'll call Bob in 3 days.")
    building.install_prompt("greeting-of-customers-who-wait-since-yesterday", "Dear all,")
    long = "prompt:greeting-of-customers-who-wait-since-yesterday@1.0.0"
    artifact_stops.disable(building.scope(), long, reason="it sounds cold", now=timezone.now())
    shape = {"agentId": "private.acme.brain", "memoryShape": {"longTerm": True}}
    building.install_agent("acme", {"persona": "Brain", "modelClass": "general", **shape})


def read(hand: Hand) -> None:
    """The jobs that only read, each within its number of presses."""
    page, main = hand.page, hand.page.locator("main")
    hand.count()

    # 1. Which node wrote this, and why.
    hand.fill(page.get_by_label("Search memory, or go to an id"), "Marta")
    page.keyboard.press("Enter")
    hand.press(page.locator("#entries .row-link").first)
    expect(page.locator(".verdict")).to_contain_text("Node keep of run")
    expect(page.locator("#given")).to_be_visible()
    expect(main).to_contain_text("prompt:greeting@1.0.0")
    assert hand.count() == 1
    if not hand.is_finger:
        given = page.locator("section", has=page.locator("#given")).bounding_box()
        assert given
        assert given["y"] + given["height"] <= 800, "the inputs and the prompt are on the first screen"

    # 7. Watch a run.
    hand.press(page.get_by_role("link", name="Open in run"))
    expect(page.locator(".waterfall .lane")).not_to_have_count(0)
    expect(page.locator(".lane", has_text="keep").locator("details")).to_have_attribute("open", "")
    assert hand.count() == 1

    # 2. What the night did.
    hand.go("Passes")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Since 03:00")
    expect(page.locator("#night-list")).to_contain_text("2 removed")
    assert hand.count() == 1 + hand.is_finger


def read_on(hand: Hand, settings: Settings) -> None:
    """The other jobs that only read, which may take as many presses as they need."""
    page, main = hand.page, hand.page.locator("main")

    # 3. A degraded agent.
    settings.OPENWOP_MEMORY_BACKEND = "ephemeral"
    hand.go("Needs you")
    hand.press(page.locator("#degraded .row-link"))
    first = page.locator(".notice.warn")
    for words in (
        "memory is lost when the host restarts",
        "OPENWOP_MEMORY_BACKEND=long-term",
        "Degraded since this version",
    ):
        expect(first).to_contain_text(words)
    settings.OPENWOP_MEMORY_BACKEND = "long-term"

    # 6. Find in the ledger.
    hand.go("Memory")
    expect(page.locator("#entries [data-item]")).not_to_have_count(0)
    hand.fill(page.get_by_label("Search this list"), "Dear")
    page.keyboard.press("Enter")
    expect(page.locator("#entries [data-item]")).to_have_count(1)

    # 9. Commitments, each with its sentence.
    hand.go("Passes")
    hand.go("Commitments")
    expect(main).to_contain_text("Call Ana in 3 days.")

    # 10. The audit log.
    hand.go("Audit")
    if hand.is_finger:
        hand.press(page.locator(".filters > summary"))
    hand.fill(page.get_by_label("Action"), "operator.created")
    hand.press(page.get_by_role("button", name="Filter", exact=True))
    page.wait_for_url("**/audit?*action=operator.created*")
    expect(page.locator("[data-item]").first).to_contain_text("operator.created")
    hand.press(page.get_by_role("link", name="Clear"))
    hand.press(page.get_by_role("link", name="Group by request"))


def act(hand: Hand) -> None:
    """The jobs that change something, each within its number of presses, and stand nowhere else in this file."""
    page = hand.page

    # 2. Undo a pass.
    hand.go("Passes")
    hand.count()
    hand.press(page.get_by_role("link", name="Restore all"))
    hand.fill(page.get_by_label("Reason"), "Two halls have such a door")
    hand.press(page.get_by_role("button", name="Restore 2 entries"))
    expect(page.get_by_text("2 entries restored.")).to_be_visible()
    assert hand.count() == 2

    # 9. Arm, snooze, dismiss.
    page.goto(page.url.partition("/nights")[0] + "/commitments")
    hand.count()
    for button, words in (("Arm", "armed"), ("Snooze a day", "snoozed")):
        hand.press(page.get_by_role("button", name=button).first)
        expect(page.locator(".messages")).to_contain_text(words)
    assert hand.count() == 2


def act_at_length(hand: Hand, drain: Callable[..., int]) -> None:
    """The others, which may take as many presses as they need."""
    page = hand.page

    # 7. Fork a run at a step, and compare.
    hand.go("Runs")
    hand.press(page.get_by_role("link", name="letter").first)
    hand.press(page.locator(".lane", has_text="greet").locator("summary").first)
    hand.press(page.locator(".lane", has_text="greet").get_by_role("link", name="Fork from here"))
    hand.press(page.get_by_role("button", name="Branch"))
    expect(page.get_by_text("Branch of")).to_be_visible()
    drain()
    page.reload()
    hand.press(page.get_by_role("link", name="Compare").first)
    expect(page.get_by_role("heading", level=1)).to_have_text("Branch compared with its source")

    # 8. People, keys, secrets, policies, schedules: a page each.
    for name, heading in (("Operators", "Operators"), ("API keys", "API keys"), ("Secrets", "Secrets")):
        hand.go("Settings")
        hand.press(page.locator("main").get_by_role("link", name=name).first)
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    hand.fill(page.get_by_label("Name"), "crm-token")
    hand.fill(page.get_by_label("Value"), "s3cret-value")
    hand.press(page.get_by_role("button", name="Set secret"))
    expect(page.locator("[data-item]")).to_contain_text("crm-token")
    hand.go("Settings")
    hand.press(page.get_by_role("link", name="prompt-template"))
    hand.fill(page.get_by_label("Approvals needed"), "2")
    hand.press(page.get_by_role("button", name="Request this change"))
    expect(page.get_by_text("2 approvals")).to_be_visible()

    # 10. An export in the background.
    hand.go("Memory")
    hand.press(page.get_by_role("link", name="Export…"))
    hand.press(page.get_by_role("button", name="Start export"))
    expect(page.get_by_text("waiting for a worker")).to_be_visible()
    drain()
    page.reload()
    expect(page.get_by_role("button", name="Download")).to_be_visible()


# A finger does each with scripts: a quick run leaves the mouse with those that have a limit, where no script runs.
@pytest.mark.parametrize("scripts", [False, True] if THOROUGH else [False])
def test_by_mouse_each_job_is_done_within_its_clicks(
    request: pytest.FixtureRequest,
    live_server: LiveServer,
    drain: Callable[..., int],
    settings: Settings,
    scripts: bool,
) -> None:
    page: Page = request.getfixturevalue("page" if scripts else "plain")
    tenant_at_work()
    browsing.sign_in(page, live_server.url)
    hand = Hand(page)
    read(hand)
    act(hand)
    if THOROUGH:
        read_on(hand, settings)
        act_at_length(hand, drain)


@finger
def test_by_taps_each_job_is_done_on_a_phone(
    page: Page, live_server: LiveServer, drain: Callable[..., int], settings: Settings
) -> None:
    tenant_at_work()
    browsing.sign_in(page, live_server.url)
    hand = Hand(page, is_finger=True)
    read(hand)
    act(hand)
    read_on(hand, settings)
    act_at_length(hand, drain)


@finger
def test_by_taps_a_proposal_is_approved_stopped_and_rolled_back(
    page: Page, live_server: LiveServer, drain: Callable[..., int]
) -> None:
    building.operator(email=ROSA)
    proposing.applied(text=proposing.artifact(version="1.0.0"))
    proposing.opened(proposing.propose(title="Shorter summaries"))
    drain()
    browsing.sign_in(page, live_server.url)
    hand = Hand(page, is_finger=True)
    hand.press(page.get_by_role("link", name="Shorter summaries"))
    hand.press(page.get_by_role("button", name="Approve"))
    assert hand.count() == 2
    expect(page.locator("main")).to_contain_text("A worker is installing")
    drain()
    expect(page.get_by_role("heading", name="Installed")).to_be_visible()

    hand.go("Installed")
    hand.count()
    hand.press(page.get_by_role("link", name="Disable triage.summary"))
    page.wait_for_url("**/artifacts/prompt:triage.summary@1.1.0#id_reason")
    hand.fill(page.get_by_label("Reason"), "It leaves out the customer")
    hand.press(page.get_by_role("button", name="Disable"))
    expect(page.get_by_role("button", name="Enable")).to_be_visible()
    assert hand.count() == 2

    hand.go("Installed")
    hand.count()
    hand.press(page.get_by_role("link", name="triage.summary").first)
    hand.press(page.get_by_role("button", name="Roll back"))
    assert hand.count() == 2
    expect(page.get_by_text("waiting 0 of 1")).to_be_visible()
    drain()
    page.context.clear_cookies(name=django_settings.SESSION_COOKIE_NAME)
    page.goto(live_server.url)
    browsing.type_in(page, ROSA, building.PASSWORD)
    hand.press(page.locator("#votes .row-link"))
    hand.press(page.get_by_role("button", name="Approve"))
    expect(page.locator("main")).to_contain_text("A worker is installing")
    drain()
    expect(page.get_by_role("heading", name="Installed")).to_be_visible()
    hand.go("Installed")
    expect(page.locator("[data-item]")).to_contain_text("1.0.0")


@finger
def test_by_taps_a_run_is_answered_entries_are_retired_and_a_subject_is_forgotten(
    page: Page, live_server: LiveServer, drain: Callable[..., int]
) -> None:
    gate = building.node("gate", "core.approvalGate", {"title": "Refund of order 7"})
    building.install("acme", building.definition("asks", gate))
    building.execute(building.scope(), "asks")
    building.remember("acme", "Marta prefers mail.", "Martapolis is a town.", "first note", "second note")
    browsing.sign_in(page, live_server.url)
    hand = Hand(page, is_finger=True)
    hand.press(page.get_by_role("link", name="Refund of order 7"))
    hand.press(page.get_by_role("button", name="Accept"))
    expect(page.get_by_role("button", name="Accept")).to_have_count(0)
    assert Interrupt.objects.get().resolved_at

    hand.go("Memory")
    for words in ("first note", "second note"):
        hand.press(page.locator("[data-item]", has_text=words).locator("[data-check]"))
    expect(page.locator(".bulk-bar")).to_contain_text("2 selected")
    hand.press(page.get_by_role("button", name="Retire…"))
    hand.press(page.get_by_role("button", name="Retire 2 entries"))
    expect(page.get_by_text("2 entries are retired")).to_be_visible()

    hand.go("Forget")
    hand.count()
    hand.fill(page.get_by_label("Subject", exact=True), "Marta")
    hand.press(page.get_by_role("button", name="Preview", exact=True))
    page.wait_for_url("**/forget/fgt_*")
    drain()
    page.reload()
    assert hand.count() == 1
    hand.press(page.locator(".suspect label", has_text="Keep").first)
    hand.press(page.get_by_role("button", name="Keep all undecided"))
    hand.count()
    expect(page.get_by_text("all decided")).to_be_visible()
    hand.press(page.get_by_role("button", name="Continue to confirm"))
    hand.fill(page.get_by_label("Type the subject"), "Marta")
    hand.fill(page.get_by_label("Reason or ticket"), "4711")
    hand.fill(page.get_by_label("Your password"), building.PASSWORD)
    hand.press(page.get_by_role("button", name="Forget for good"))
    assert hand.count() == 2
    expect(page.get_by_role("heading", level=1)).to_contain_text("Forget request")
    drain()
    page.reload()
    expect(page.get_by_role("heading", name="Forgotten and verified")).to_be_visible()
    assert sorted(building.contents(building.scope())) == ["Martapolis is a town."]
