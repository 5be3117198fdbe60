"""The ledger and a forget by submit buttons and links alone; and by keyboard alone; under a strict policy."""

from collections.abc import Callable

import pytest
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from memory.models.entry import MemoryEntry
from tests import building
from tests.browsing import sign_in, sign_in_by_form

pytestmark = pytest.mark.django_db(transaction=True)
ANA = "ana@example.org"


def test_the_ledger_is_filtered_searched_and_paged(plain: Page, live_server: LiveServer) -> None:
    building.write_each(building.scope(), *(f"note {number}" for number in range(55)))
    building.remember("acme", "the needle", memory_ref="haystack")
    sign_in_by_form(plain, live_server.url, "/memory")
    expect(plain.locator(".pager")).to_contain_text("1–50 of 56 entries")  # noqa: RUF001
    plain.locator(".pager").get_by_role("link", name="Older").click()
    expect(plain.locator(".pager")).to_contain_text("51–56 of 56 entries")  # noqa: RUF001
    plain.get_by_label("Search this list").fill("needle")
    plain.get_by_label("Search this list").press("Enter")
    expect(plain.locator(".pager")).to_contain_text("of 1 entry")
    plain.locator("a.row-link").click()
    expect(plain.locator(".verdict")).to_contain_text("Node remember-1 of run")


def test_a_subject_is_forgotten(plain: Page, live_server: LiveServer, drain: Callable[..., int]) -> None:
    building.remember("acme", f"wrote from {ANA}", f"not jo{ANA}")
    sign_in(plain, live_server.url, "/forget")
    plain.get_by_label("Subject").fill(ANA)
    plain.get_by_role("button", name="Preview", exact=True).click()
    drain()
    plain.get_by_role("link", name="Refresh").click()
    plain.get_by_role("button", name="Continue to confirm").click()
    plain.get_by_label("Type the subject").fill(ANA)
    plain.get_by_label("Reason or ticket").fill("ticket 1")
    plain.get_by_label("Your password").fill(building.PASSWORD)
    plain.get_by_role("button", name="Forget for good").click()
    drain()
    plain.reload()
    expect(plain.get_by_role("heading", name="Erased; 2 suspects undecided")).to_be_visible()
    assert [row.content for row in MemoryEntry.objects.all()] == [f"not jo{ANA}"]


def test_the_ledger_is_walked_by_keyboard_alone(page: Page, live_server: LiveServer) -> None:
    building.remember("acme", "first", "second", "third")
    building.operator(email="ada@acme.example")
    page.goto(f"{live_server.url}/memory")
    expect(page.get_by_label("Email")).to_be_focused()
    page.keyboard.type("ada@acme.example")
    page.keyboard.press("Tab")
    page.keyboard.type(building.PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Memory")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to")).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("second")
    expect(page.locator(".verdict")).to_contain_text("Node remember-2 of run")


def test_every_page_has_a_policy_that_lets_no_inline_script_run(client: Client) -> None:
    for path in ("/login", "/", "/memory", "/runs", "/agents", "/proposals", "/forget", "/audit", "/nothing"):
        if path == "/":
            client.force_login(building.operator(), backend="allauth.account.auth_backends.AuthenticationBackend")
        policy = client.get(path)["Content-Security-Policy"]
        assert "default-src 'self'" in policy, path
        assert "unsafe" not in policy, path
        assert "frame-ancestors 'none'" in policy, path
