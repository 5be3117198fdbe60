"""The ledger in a real browser: filtered and narrowed, and all that match retired by keys alone."""

from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memory import external_runs, origins
from memory.entry_drafts import EntryDraft
from memory.host import ids
from memory.models.entry import MemoryEntry
from memory.origins import MAX_TEXT
from tests import browsing, building

pytestmark = pytest.mark.django_db(transaction=True)


def write(*texts: str, hours: int = 0, **draft: Any) -> None:
    owner = building.scope()
    run = building.open_run(owner)
    for text in texts:
        building.write(owner, run, text, now=timezone.now() - timedelta(hours=hours), **draft)


def test_a_choice_narrows_the_list_and_the_counts_beside_it(page: Page, live_server: LiveServer) -> None:
    write("old and red", hours=50, tags=("red",), agent_id="a")
    write("new and red", tags=("red",), agent_id="b")
    write("new and blue", tags=("blue",), agent_id="b")
    page.set_viewport_size({"width": 1280, "height": 800})
    browsing.sign_in(page, live_server.url, "/memory")
    tags, filters = page.locator(".facet", has_text="Tag"), page.get_by_role("form", name="Filters")
    red = tags.locator("li").filter(has_text="red")
    expect(red).to_have_text("red2")
    filters.get_by_role("radio", name="Last 24 hours").check()
    expect(page.locator("#entries [data-item]")).to_have_count(2)
    expect(red).to_have_text("red1")
    expect(filters.get_by_role("radio", name="Last 24 hours")).to_be_focused()
    tags.get_by_role("radio", name="blue").focus()
    page.keyboard.press("Space")
    expect(page.locator("#entries [data-item]")).to_have_count(1)
    assert "age=24h" in page.url
    assert "tag=blue" in page.url
    page.get_by_role("link", name="Clear all").click()
    expect(page.locator("#entries [data-item]")).to_have_count(3)


def test_by_keys_alone_a_row_or_all_that_match_are_retired(page: Page, live_server: LiveServer) -> None:
    write(*(f"note {number}" for number in range(52)))
    browsing.sign_in(page, live_server.url, "/memory")
    page.get_by_role("link", name="Older").press("Enter")
    expect(page.get_by_text("of 52 entries")).to_contain_text("51")
    expect(page.locator("#entries")).to_be_focused()
    page.get_by_role("link", name="Newest").press("Enter")
    expect(page.get_by_role("link", name="Older")).to_be_visible()
    for key in ("j", "x", "e"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="Retire 1 entry")).to_be_visible()
    page.get_by_role("button", name="Retire 1 entry").press("Enter")
    expect(page.get_by_text("of 51 entries")).to_be_visible()
    for key in ("j", "x"):
        page.keyboard.press(key)
    page.get_by_label("All 51 that match").focus()
    page.keyboard.press("Space")
    page.keyboard.press("e")
    expect(page.get_by_role("heading", name="Retire 51 entries")).to_be_visible()
    page.get_by_role("button", name="Retire 51 entries").press("Enter")
    expect(page.get_by_text("51 entries are retired.").first).to_be_visible()
    expect(page.get_by_text("No memory entries yet")).to_be_visible()


def test_a_row_has_whole_badges_only_and_a_short_page_no_scroll_bar(page: Page, live_server: LiveServer) -> None:
    write(
        "The express lorry leaves Leipzig at four in the afternoon, and never on a Sunday",
        tags=[f"tag-{number}" for number in range(12)],
    )
    page.set_viewport_size({"width": 1280, "height": 800})
    browsing.sign_in(page, live_server.url, "/memory")
    cut = """row => {
        const end = row.getBoundingClientRect(), boxes = [...row.children].map(each => each.getBoundingClientRect());
        return boxes.filter(each => each.top < end.bottom && each.right > end.right + 0.5).length;
    }"""
    assert page.locator("td.lead .badges").evaluate(cut) == 0
    page.goto(f"{live_server.url}/workspace")
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")


def test_the_longest_names_that_an_agent_states_leave_every_page_as_wide_as_its_window(
    page: Page, live_server: LiveServer
) -> None:
    owner, long = building.scope(), "\N{HUGGING FACE}" * MAX_TEXT
    for node in (long, long[1:] + "x"):
        members = dict.fromkeys(("system", "runId", "threadId", "checkpointId"), long) | {"node": node}
        draft = EntryDraft("far away", agent_id="m" * 256)
        made = external_runs.write_entry(owner, "notes", draft, origins.of_document(members), now=timezone.now())
    entry, run = ids.wire("mem", made.id), ids.wire("run", MemoryEntry.objects.get(id=made.id).run_id)
    browsing.sign_in(page, live_server.url, f"/memory?system={quote(long)}")
    for path in ("", "/memory", f"/memory/{entry}", "/runs", f"/runs/{run}"):
        if path:
            page.goto(live_server.url + path)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, width)
