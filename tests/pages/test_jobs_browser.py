"""Jobs of an operator in a real browser: go to an id, follow lineage, filter runs, answer a quorum."""

import re
from collections.abc import Callable, Iterator
from itertools import cycle

import pytest
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from memory import memory_policy
from memory.forget import execution, holds
from memory.host import ids, vault
from memory.host.models import Interrupt, Operator, Run
from memory.models import Commitment
from memory.passes import orders
from memory.passes.orders import RequestedPass
from proposals.models import Gate, Proposal
from tests import archiving, browsing, building, proposing
from tests.budgets import THOROUGH
from tests.fixtures_queue import Drain
from tests.memory.test_transfers import line
from tests.pages.test_commitments_page import remembered
from tools import screenshots

pytestmark = pytest.mark.django_db(transaction=True)
# A quick run looks at each page once, in one of the two views that differ in everything.
VIEWS = screenshots.VIEWS if THOROUGH else screenshots.VIEWS[:2]
Look = Callable[..., list[str]]


@pytest.fixture(scope="module")
def looks() -> set[str] | None:
    """Those whose contrast is known; none in a thorough run, which looks at every element's."""
    return None if THOROUGH else set()


@pytest.fixture
def look(page: Page, looks: set[str] | None) -> Iterator[Look]:
    """Looks at one page after another, each in the views whose turn it is in this test."""
    turns = cycle([[*VIEWS]] if THOROUGH else [[each] for each in VIEWS])

    def look(url: str, words: str = "", *, before: Callable[[], object] = lambda: None) -> list[str]:
        """The faults of the page at ``url``, which says ``words`` after ``before``."""
        faults = []
        for width, theme in next(turns):
            before()
            page.set_viewport_size({"width": width, "height": screenshots.HEIGHT})
            page.emulate_media(color_scheme=theme)
            found = screenshots.open_page(page, url, sample=not THOROUGH, shell=not looks, looks=looks)
            faults += [f"{url} {width} {theme}: {fault}" for fault in found]
            expect(page.locator("main")).to_contain_text(words)
        return faults

    with screenshots.bring_axe(page):
        yield look


def test_by_keyboard_an_id_in_the_header_leads_to_the_entry_and_its_archive(
    page: Page, live_server: LiveServer
) -> None:
    made = archiving.distilled("acme", "Marta prefers mail.", "The office closes at five.")
    assert made.entry_id
    browsing.sign_in(page, live_server.url)
    page.keyboard.press("/")
    page.keyboard.type(ids.wire("mem", made.entry_id))
    page.keyboard.press("Enter")
    page.wait_for_url(f"{live_server.url}/memory/{ids.wire('mem', made.entry_id)}")
    lineage = page.get_by_role("region", name="Lineage", exact=True)
    expect(lineage.get_by_role("listitem")).to_have_count(2)
    lineage.get_by_role("paragraph").get_by_role("link", name="arc_").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"{live_server.url}/archives/{ids.wire('arc', made.id)}")


def test_by_keyboard_a_question_is_answered_from_the_first_page_and_its_workflow_stopped(
    page: Page, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openwop_console.health.problems", lambda *, now: [])
    gate = building.node("gate", "core.approvalGate", {"title": "Refund of order 7", "requiredApprovals": 2})
    building.install("acme", building.definition("asks", gate))
    run = building.execute(building.scope(), "asks")
    browsing.sign_in(page, live_server.url)
    expect(page.get_by_role("link", name="Refund of order 7")).to_be_visible()
    for key in ("j", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(f"{live_server.url}/runs/{ids.wire('run', run.id)}#int_*")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Comment")).to_be_focused()
    page.keyboard.type("Fine.")
    for key in ("Tab", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_text("1 of 2 approvals, 0 rejections; you approved")).to_be_visible()
    page.goto(f"{live_server.url}/artifacts/workflow:asks@1.0.0")
    page.keyboard.press("d")
    page.keyboard.type("It asks too much.")
    for key in ("Tab", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("button", name="Enable")).to_be_visible()


def test_by_keyboard_a_run_is_forked_at_a_step_and_the_branch_compared_with_it(
    page: Page, live_server: LiveServer, drain: Callable[..., int]
) -> None:
    nodes = [building.remember_node(f"fact {each}", node_id=each) for each in ("first", "second")]
    building.install("acme", building.definition("facts", *nodes))
    source = building.execute(building.scope(), "facts")
    browsing.sign_in(page, live_server.url, f"/runs/{ids.wire('run', source.id)}")
    nodes_above = page.locator(".lane", has_text="second").evaluate("(at) => [...at.parentNode.children].indexOf(at)")
    for key in (*["j"] * (nodes_above + 1), "Enter", "f"):
        page.keyboard.press(key)
    page.wait_for_url("**?fork=*#fork")
    browsing.tab_to(page, "Branch")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Branch of")).to_be_visible()
    branch = Run.objects.exclude(id=source.id).get(fork_mode="branch")
    drain()
    page.reload()
    page.keyboard.press("c")
    expect(page.get_by_role("heading", level=1)).to_have_text("Branch compared with its source")
    browsing.tab_to(page, ids.wire("run", branch.id)[-5:])
    page.keyboard.press("Enter")
    page.wait_for_url(f"{live_server.url}/runs/{ids.wire('run', branch.id)}")


def test_by_keyboard_a_line_of_a_proposal_is_commented_on(page: Page, live_server: LiveServer) -> None:
    made = proposing.propose()
    browsing.sign_in(page, live_server.url, f"/proposals/{ids.wire('prop', made.id)}")
    browsing.tab_to(page, "Comment on line")
    page.keyboard.press("Enter")
    page.wait_for_url("**line=*")
    expect(page.locator("#remark")).to_be_focused()
    page.keyboard.type("Why so short?")
    browsing.tab_to(page, "Comment", most=1)
    page.keyboard.press("Enter")
    expect(page.locator(".diff-remarks")).to_contain_text("Why so short?")


def test_by_mouse_a_failed_run_is_found_and_a_quorum_is_answered_once(page: Page, live_server: LiveServer) -> None:
    building.install("acme", building.definition("broken", building.node("only", "core.fail")))
    building.execute(building.scope(), "broken")
    gate = building.node("gate", "core.approvalGate", {"title": "Refund of order 7", "requiredApprovals": 2})
    building.install("acme", building.definition("asks", gate))
    run = building.execute(building.scope(), "asks")
    proposing.propose()
    browsing.sign_in(page, live_server.url)
    expect(page.get_by_role("navigation", name="Console").get_by_role("link", name="Needs you")).to_have_text(
        "Needs you 3"
    )
    page.get_by_role("link", name="broken").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Run")
    page.get_by_role("link", name="Needs you").first.click()
    page.get_by_role("link", name="Refund of order 7").click()
    page.get_by_role("button", name="Accept").click()
    expect(page.get_by_text("1 of 2 approvals, 0 rejections; you approved")).to_be_visible()
    expect(page.get_by_role("button", name="Accept")).to_have_count(0)
    page.get_by_role("link", name="Needs you").first.click()
    expect(page.get_by_role("link", name="broken")).to_be_visible()
    expect(page.get_by_role("link", name="Refund of order 7")).to_have_count(0)
    page.goto(f"{live_server.url}/audit?action=operator.created")
    page.locator("[data-item] summary").first.click()
    value = page.locator("[data-item] .facts dd").first.bounding_box()
    assert value is not None
    assert value["width"] > 120, "the details of a record have room"
    page.goto(f"{live_server.url}/runs")
    page.get_by_label("Workflow", exact=True).fill("asks")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url(f"{live_server.url}/runs?workflow=asks")
    page.goto(f"{live_server.url}/runs?zzz=1")
    page.get_by_role("link", name="Open without it").click()
    page.wait_for_url(f"{live_server.url}/runs")
    assert Interrupt.objects.get(run_id=run.id).resolved_at is None


def test_what_was_typed_into_a_form_whose_session_had_ended_is_there_for_its_person_alone(
    page: Page, live_server: LiveServer
) -> None:
    building.operator(role="viewer", email="vera@acme.example")
    browsing.sign_in(page, live_server.url, "/forget")
    subject = page.get_by_label("Subject", exact=True)

    def type_after_the_session_ended(who: str) -> None:
        subject.fill("marta@example.com")
        page.context.clear_cookies(name="openwop_session")
        subject.press("Enter")
        expect(page.get_by_text("Your session ended before this form was sent.")).to_be_visible()
        browsing.type_in(page, who, building.PASSWORD)
        page.wait_for_url(f"{live_server.url}/forget")

    type_after_the_session_ended(browsing.ADA)
    expect(subject).to_have_value("marta@example.com")
    expect(page.get_by_text("What you had typed is here again.")).to_be_visible()
    page.reload()
    expect(subject).to_have_value("")
    type_after_the_session_ended("vera@acme.example")
    assert page.evaluate("sessionStorage.getItem('typed')") is None


def test_a_form_from_before_signing_in_again_leads_back_to_its_page_with_what_was_typed(
    page: Page, live_server: LiveServer
) -> None:
    """Signing in gives the browser another token, also for what is open in other tabs."""
    browsing.sign_in(page, live_server.url, "/forget")
    page.get_by_label("Subject", exact=True).fill("marta@example.com")
    page.context.clear_cookies(name="openwop_csrf")
    page.get_by_label("Subject", exact=True).press("Enter")
    expect(page.locator("main")).to_contain_text("or you have signed in again since.")
    page.get_by_role("link", name="Start again").click()
    expect(page.get_by_label("Subject", exact=True)).to_have_value("marta@example.com")
    expect(page.get_by_text("What you had typed is here again.")).to_be_visible()


def test_a_refusal_at_the_top_of_a_page_has_the_focus(page: Page, live_server: LiveServer) -> None:
    browsing.sign_in(page, live_server.url, "/settings/operators")
    page.get_by_label("Email").fill(browsing.ADA)
    page.get_by_role("button", name="Invite", exact=True).click()
    refusal = page.locator(".notice.bad")
    expect(refusal).to_contain_text("exists already")
    expect(refusal).to_be_focused()


def test_a_phone_shows_the_write_that_the_timeline_marks(page: Page, live_server: LiveServer) -> None:
    made = building.remember("acme", *(f"note {number}" for number in range(8)))
    page.set_viewport_size({"width": 390, "height": 800})
    browsing.sign_in(page, live_server.url, f"/memory/{made.entries[5]}")
    region, mark = page.locator(".strip-region"), page.locator(".strip .event.here")
    assert region.evaluate("(region) => region.scrollWidth > region.clientWidth")
    at = mark.bounding_box()
    assert at
    assert 0 <= at["x"] <= 390 - at["width"]


def test_who_types_an_answer_is_told_that_another_has_given_one(page: Page, live_server: LiveServer) -> None:
    asked = [{"id": "why", "question": "Why?"}]
    building.install(
        "acme", building.definition("asks", building.node("ask", "core.clarificationGate", {"questions": asked}))
    )
    run = building.execute(building.scope(), "asks")
    interrupt = Interrupt.objects.get(run_id=run.id)
    browsing.sign_in(page, live_server.url, f"/runs/{ids.wire('run', run.id)}")
    page.get_by_label("Why?").fill("Because of the")
    rosa = Client()
    building.sign_in(rosa, building.operator(role="reviewer"))
    address = f"/runs/{ids.wire('run', run.id)}/answer/{ids.wire('int', interrupt.id)}"
    assert rosa.post(address, {"resumeValue.answers.why": "It rained."}).status_code == 302
    expect(page.get_by_role("status").filter(has_text="Nothing that you typed was sent.")).to_be_visible()
    expect(page.get_by_label("Why?")).to_have_count(0)


def test_a_double_click_sends_a_form_once_and_a_later_click_sends_it_again(page: Page, live_server: LiveServer) -> None:
    browsing.sign_in(page, live_server.url, "/forget")
    page.get_by_label("Subject", exact=True).fill("marta@example.com")
    page.evaluate("document.addEventListener('submit', (event) => event.preventDefault())")
    page.evaluate("window.sent = 0; document.addEventListener('submit', () => { window.sent += 1; })")
    button = page.locator("form[method=post]:has([name=subject]) button:not([type=button])")
    button.dblclick()
    assert page.evaluate("window.sent") == 1
    page.wait_for_timeout(1000)
    button.click()
    assert page.evaluate("window.sent") == 2


def test_axe_finds_nothing_on_holds_and_on_a_forget_that_awaits_a_second_person(
    page: Page, live_server: LiveServer, look: Look
) -> None:
    browsing.sign_in(page, live_server.url)
    rosa = building.scope(owner=building.operator(email="rosa.owner@acme.example"))
    now = timezone.now()
    memory_policy.change(rosa, {"forget_second_person": True}, now=now)
    in_force, over = (holds.place(rosa, [name], reason="a court case", now=now) for name in ("marta", "jonas"))
    holds.end(rosa, over.id, reason="it was settled", now=now)
    building.remember("acme", "write to tom@example.com", "tom@example.comet is another")
    request = execution.preview(rosa, ["tom@example.com"], now=now).request
    execution.confirm(rosa, request.id, typed="tom@example.com", reason="ticket 17", now=now)
    forget = f"/forget/{ids.wire('fgt', request.id)}"
    shown = ["/forget/holds", *(f"/forget/holds/{ids.wire('hld', each.id)}" for each in (in_force, over))]
    paths = (*shown, "/forget", forget, f"{forget}/confirm")
    assert [fault for path in paths for fault in look(f"{live_server.url}{path}")] == []


def test_axe_finds_nothing_on_what_is_verified_selected_imported_filtered_or_locked(
    page: Page, live_server: LiveServer, look: Look, drain: Callable[..., int], settings: Settings
) -> None:
    """The states of pages that no link leads to."""
    vault.set_secret(building.scope(), "crm", "first-value", kind="tenant", owner="", now=timezone.now())
    made = building.remember("acme", "write to tom@example.com")
    own, run = settings.SECRET_KEY, f"/runs/{ids.wire('run', made.run.id)}"
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another key", []
    browsing.sign_in(page, live_server.url, "/health")
    faults = look(f"{live_server.url}/health", "The vault is locked")
    settings.SECRET_KEY = own
    page.goto(f"{live_server.url}/settings/import")
    browsing.type_in(page, browsing.ADA, building.PASSWORD)
    lines = "\n".join((line(1, tags=["crm"]), line(2), "not json"))
    page.get_by_label("File").set_input_files({"name": "m.jsonl", "mimeType": "text/plain", "buffer": lines.encode()})
    page.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/settings/import/imp_*")
    drain()
    faults += look(page.url, "Refused lines")
    for path, words in (
        ("/audit?group=request&action=operator.created", "Ungroup"),
        (f"/memory/selected?action=forget&id={made.entries[0]}", "tom@example.com"),
    ):
        faults += look(f"{live_server.url}{path}", words)
    page.goto(f"{live_server.url}{run}")
    verify = """() => {
      const form = document.querySelector("form[action$='/verify']");
      return fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" }).then(() => {});
    }"""
    # What was found stands on the page that is opened next.
    faults += look(f"{live_server.url}{run}", "This run is intact", before=lambda: page.evaluate(verify))
    assert faults == []


def test_by_one_key_each_a_possible_commitment_is_armed_and_another_dismissed(
    page: Page, live_server: LiveServer
) -> None:
    for sentence in ("Maybe I'll call Bob in 3 days.", "Maybe I'll call Eve in 4 days."):
        remembered(sentence)
    browsing.sign_in(page, live_server.url, "/commitments")
    page.keyboard.press("j")
    for key, said in (("d", "dismissed"), ("a", "armed")):  # the row that took the place has the focus
        page.keyboard.press(key)
        expect(page.locator(".messages")).to_contain_text(said)
    assert sorted(Commitment.objects.values_list("state", flat=True)) == ["armed", "cancelled"]


def test_by_keyboard_a_subject_is_forgotten_and_a_suspect_kept(
    page: Page, live_server: LiveServer, drain: Callable[..., int]
) -> None:
    building.remember("acme", "Marta prefers mail.", "Martapolis is a town.")
    browsing.sign_in(page, live_server.url, "/forget")
    page.keyboard.press("n")
    page.keyboard.type("Marta")
    page.keyboard.press("Enter")
    page.wait_for_url("**/forget/fgt_*")
    drain()
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Erasure preview")
    for key in ("j", "b"):
        page.keyboard.press(key)
    expect(page.get_by_label("Keep", exact=True).first).to_be_checked()
    browsing.tab_to(page, "Keep all undecided")
    page.keyboard.press("Enter")
    expect(page.get_by_text("all decided")).to_be_visible()
    page.wait_for_load_state()
    for key in ("c", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url("**/confirm")
    expect(page.get_by_label("Type the subject")).to_be_focused()
    page.keyboard.type("Marta")
    for label, words in (("Reason or ticket", "4711"), ("Your password", building.PASSWORD)):
        browsing.tab_to(page, label)
        page.keyboard.type(words)
    browsing.tab_to(page, "Forget for good")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Forget request")
    drain()
    page.reload()
    expect(page.get_by_role("heading", name="Forgotten and verified")).to_be_visible()
    assert building.contents(building.scope()) == ["Martapolis is a town."]


def test_by_keyboard_a_person_is_invited_given_another_role_and_signed_out(page: Page, live_server: LiveServer) -> None:
    browsing.sign_in(page, live_server.url, "/settings/operators")
    browsing.tab_to(page, "Email")
    page.keyboard.type("vera@acme.example")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Hand this link to vera@acme.example.")).to_be_visible()
    browsing.tab_to(page, "Role of vera@acme.example")
    page.keyboard.type("viewer")
    browsing.tab_to(page, "Change", most=1)
    page.keyboard.press("Enter")
    expect(page.get_by_label("Role of vera@acme.example")).to_have_value("viewer")
    vera = Client()
    vera.force_login(Operator.objects.get(email="vera@acme.example"))
    assert vera.get("/memory").status_code == 200
    browsing.tab_to(page, "Role of vera@acme.example")
    browsing.tab_to(page, "Sessions", most=2)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Sessions of vera@acme.example")).to_be_visible()
    browsing.tab_to(page, "Sign out of this tenant")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Signed out of this tenant everywhere.")).to_be_visible()


def test_by_keyboard_a_key_is_made_and_revoked(page: Page, live_server: LiveServer) -> None:
    browsing.sign_in(page, live_server.url, "/settings/keys")
    browsing.tab_to(page, "Name")
    page.keyboard.type("nightly import")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Copy the key now.")).to_be_visible()
    browsing.tab_to(page, "Revoke…")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Programs that use it are refused at once")).to_be_visible()
    browsing.tab_to(page, "Revoke")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The key is revoked.")).to_be_visible()


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def go_to(page: Page, words: str, heading: str | re.Pattern[str]) -> None:
    """Name a page in the palette, and be there."""
    page.wait_for_load_state()
    page.keyboard.press("Control+k")
    page.keyboard.type(words)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    page.wait_for_load_state()


def test_by_keyboard_a_night_is_undone_an_agent_read_a_prompt_stopped_and_rolled_back(
    page: Page, live_server: LiveServer, drain: Callable[..., int], settings: Settings
) -> None:
    door = "The door of hall 4 is blue."
    building.remember("acme", door, door, door)
    order = orders.order(building.scope(), RequestedPass("consolidate", "notes"), now=timezone.now())
    orders.run_pass(order.tenant_id, order.id, holder="test/1", clock=timezone.now)
    shape = {"agentId": "private.acme.brain", "memoryShape": {"longTerm": True}}
    building.install_agent("acme", {"persona": "Brain", "modelClass": "general", **shape})
    proposing.applied(text=proposing.artifact(version="1.0.0"))
    proposing.applied(text=proposing.artifact(version="1.1.0"))
    building.operator(email="rosa.owner@acme.example")
    browsing.sign_in(page, live_server.url)

    go_to(page, "passes", re.compile("Since 03:00 (today|yesterday)"))
    press(page, "j", "e")
    expect(page.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("Two halls have such a door")
    press(page, "Tab", "Enter")
    expect(page.get_by_text("2 entries restored.")).to_be_visible()
    assert building.contents(building.scope()) == [door] * 3

    settings.OPENWOP_MEMORY_BACKEND = "ephemeral"
    go_to(page, "agents", "Agents")
    press(page, "j", "Enter")
    expect(page.locator(".notice.warn")).to_contain_text("OPENWOP_MEMORY_BACKEND=long-term")
    settings.OPENWOP_MEMORY_BACKEND = "long-term"

    go_to(page, "installed", "Installed")
    press(page, "j", "d")
    expect(page.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("It leaves out the customer")
    press(page, "Tab", "Enter")
    expect(page.get_by_role("button", name="Enable")).to_be_visible()
    browsing.tab_to(page, "Roll back")
    page.keyboard.press("Enter")
    expect(page.get_by_text("waiting 0 of 1")).to_be_visible()
    drain()
    gate = Gate.objects.get(state="open")
    proposing.decide(Proposal.objects.get(id=gate.proposal_id), gate)
    drain()
    page.reload()
    expect(page.get_by_role("heading", name="Installed")).to_be_visible()


def test_by_keyboard_secrets_webhooks_policies_and_schedules_are_set_and_the_audit_log_filtered(
    page: Page, live_server: LiveServer
) -> None:
    remembered("Call Ana in 3 days.")
    browsing.sign_in(page, live_server.url, "/commitments")
    press(page, "j", "s")
    expect(page.get_by_text("The commitment is snoozed.")).to_be_visible()

    go_to(page, "secrets", "Secrets")
    browsing.tab_to(page, "Name")
    page.keyboard.type("crm-token")
    browsing.tab_to(page, "Value", most=2)
    page.keyboard.type("s3cret-value")
    browsing.tab_to(page, "Set secret")
    page.keyboard.press("Enter")
    expect(page.locator("[data-item]", has_text="crm-token")).to_be_visible()
    browsing.tab_to(page, "Remove…")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Remove this secret?")).to_be_visible()
    browsing.tab_to(page, "Remove")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No secrets yet")).to_be_visible()

    go_to(page, "webhooks", "Webhooks")
    browsing.tab_to(page, "Address")
    page.keyboard.type("https://receiver.example/hook")
    browsing.tab_to(page, "run.completed")
    page.keyboard.press("Space")
    browsing.tab_to(page, "Create webhook")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("Copy the secret now.")

    go_to(page, "settings", "Settings")
    browsing.tab_to(page, "prompt-template")
    page.keyboard.press("Enter")
    page.wait_for_url("**/settings/approval/prompt-template")
    browsing.tab_to(page, "Approvals needed")
    page.keyboard.type("2")
    browsing.tab_to(page, "Request this change")
    page.keyboard.press("Enter")
    expect(page.get_by_text("2 approvals")).to_be_visible()

    go_to(page, "consolidation", "Consolidation")
    browsing.tab_to(page, "Schedule passes over a ref")
    page.keyboard.press("Enter")
    browsing.tab_to(page, "Memory ref")
    page.keyboard.type("notes")
    browsing.tab_to(page, "Cron")
    page.keyboard.type("0 3 * * *")
    browsing.tab_to(page, "Save schedule")
    page.keyboard.press("Enter")
    expect(page.locator("caption", has_text="Schedules of passes")).to_be_attached()

    go_to(page, "audit", "Audit")
    browsing.tab_to(page, "Action")
    page.keyboard.type("secret.")
    page.keyboard.press("Enter")
    page.wait_for_url("**/audit?action=secret.*")

    go_to(page, "memory", "Memory")
    browsing.tab_to(page, "Export…")
    page.keyboard.press("Enter")
    page.wait_for_url("**/memory/export")
    browsing.tab_to(page, "Start export")
    page.keyboard.press("Enter")
    expect(page.get_by_text("waiting for a worker")).to_be_visible()


def test_an_unbroken_word_hides_neither_the_form_of_an_answer_nor_a_column(page: Page, live_server: LiveServer) -> None:
    asked = [{"id": "name", "question": "W" * 300}, {"id": "why", "question": "Why?"}]
    building.install(
        "acme", building.definition("asks", building.node("ask", "core.clarificationGate", {"questions": asked}))
    )
    run = building.execute(building.scope(), "asks")
    gate = building.node("gate", "core.approvalGate", {"title": "W" * 300, "description": "W" * 300})
    building.install("acme", building.definition("gates", gate))
    other = building.execute(building.scope(), "gates")
    building.operator(email=f"{'w' * 64}@{'w' * 60}.example")
    holds.place(building.scope(), ["marta"], reason="w" * 300, now=timezone.now())
    browsing.sign_in(page, live_server.url)
    for waiting, button in ((run, "Answer"), (other, "Accept")):
        page.goto(f"{live_server.url}/runs/{ids.wire('run', waiting.id)}")
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 800})
            expect(page.locator(".question").get_by_role("button", name=button)).to_be_visible()
            assert page.locator(".question").evaluate("(panel) => panel.scrollWidth <= panel.clientWidth"), (
                button,
                width,
            )
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (button, width)
    page.set_viewport_size({"width": 1280, "height": 800})
    for path in ("", "/settings/operators", "/forget/holds"):
        page.goto(live_server.url + path)
        region = page.locator(".table-region").first
        assert region.evaluate("(region) => region.scrollWidth <= region.clientWidth"), path


def test_an_unbroken_subject_or_name_makes_no_page_wider_than_its_window(
    page: Page, live_server: LiveServer, drain: Drain
) -> None:
    building.scope(name="k" * 200)
    browsing.sign_in(page, live_server.url, "/forget")
    page.get_by_label("Subject").fill("w" * 250)
    page.get_by_role("button", name="Preview", exact=True).click()
    drain()
    expect(page.locator("h1")).to_contain_text("Erasure preview")
    preview = page.url
    for url in (preview, f"{live_server.url}/go-to?q={'k' * 50}"):
        page.goto(url)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (url, width)


def test_the_head_of_a_table_shown_as_cards_takes_no_focus(page: Page, live_server: LiveServer) -> None:
    archiving.distilled("acme", "a note", "a note of something else")
    browsing.sign_in(page, live_server.url)
    for path in ("/memory", "/archives"):
        page.goto(live_server.url + path)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 800})
            expect(page.locator("thead :is(a, input)").first).to_be_visible(visible=width == 1280)
