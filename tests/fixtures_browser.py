"""A real browser: pytest-playwright's ``page``, driven in the Chromium of this machine.

``page`` with ``live_server.url`` opens the console; at the end of the test it must not have logged an error.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

HARDLY_TALKATIVE = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
]


# The same engine without the windows of a desktop takes less than half the CPU, and cannot be seen.
SHELL, WHOLE = "chromium-headless-shell", "chromium"


def _chromium(*, headed: bool) -> str:
    """The browser to drive. Without one the test is skipped; where CI is set it fails, so that no green hides it."""
    named = os.environ.get("CHROMIUM") or (not headed and shutil.which(SHELL)) or shutil.which(WHOLE)
    if not named or not Path(named).exists():
        wanted = WHOLE if headed else SHELL
        missing = f"no browser {named or 'here'}: apt-get install {wanted}, or set CHROMIUM=/path"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(missing)
    return named


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    path = _chromium(headed=browser_type_launch_args.get("headless") is False)
    return browser_type_launch_args | {"executable_path": path, "args": HARDLY_TALKATIVE}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    return browser_context_args | {"viewport": {"width": 1280, "height": 800}, "locale": "en-GB"}


@pytest.fixture
def page(page: Page, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """A page whose console stays free of errors, and so of anything the content security policy blocked.

    A key waits until the scripts of the page have run, as a person does: they listen for it.
    """
    errors: list[str] = []
    page.on("console", lambda message: errors.extend(_complaint(message)))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_default_timeout(30_000)
    press = page.keyboard.press

    def press_when_ready(key: str, **options: Any) -> None:
        page.wait_for_load_state("domcontentloaded")
        press(key, **options)

    monkeypatch.setattr(page.keyboard, "press", press_when_ready)
    yield page
    assert errors == []


@pytest.fixture
def plain(browser: Browser) -> Iterator[Page]:
    """A page of a browser that runs no scripts."""
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.set_default_timeout(30_000)
    yield page
    context.close()


# What htmx says of a request that another took the place of; a lost connection it also calls ``htmx:sendError``.
REPLACED = ("htmx:afterRequest", "htmx:sendAbort")


def _complaint(message: ConsoleMessage) -> list[str]:
    """An error of the page; that a request was answered with 4xx is the test's own business."""
    harmless = message.text.startswith(("Failed to load resource: the server responded with a status of 4", *REPLACED))
    return [message.text] if message.type == "error" and not harmless else []
