"""A real browser: pytest-playwright's ``page``, driven in the Chromium of this machine.

``page`` with ``live_server.url`` opens the console; at the end of the test it must not have logged an error. Tests
share it one after another, each as if it were new.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, ViewportSize

# Without the first, Chromium makes no new frame and compositor for each page of a host: an eighth of what a page takes.
# The others are of Playwright's own list, whose place this takes.
OFF = (
    "RenderDocument",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)
HARDLY_TALKATIVE = [
    f"--disable-features={','.join(OFF)}",
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


@dataclass
class Windows:
    """One page for each way to open a context, which the tests use one after another: a context and a page of its own
    take a test 0.3 s of CPU, twice what it takes to open a page of the console."""

    browser: Browser
    _open: dict[str, Page] = field(default_factory=dict)

    @contextmanager
    def window(self, **options: Any) -> Iterator[Page]:
        """A page that is as a new one: nothing is known there of the test before."""
        key = repr(sorted(options.items()))
        page = self._open.pop(key, None) or self.browser.new_context(**options).new_page()
        page.set_default_timeout(30_000)
        yield page
        try:
            _make_new(page, options["viewport"])
        except Error:
            page.context.close()
        else:
            self._open[key] = page


def _make_new(page: Page, viewport: ViewportSize) -> None:
    """The page forgets what a test did in it. Its last document, which may ask the host again and again, gives way to a
    file of the same host: an empty page would take a renderer of its own."""
    for other in page.context.pages:
        if other != page:
            other.close()
    if page.url.startswith("http"):
        page.goto(urljoin(page.url, "/static/favicon.svg"))
        page.evaluate("localStorage.clear(), sessionStorage.clear()")
    page.context.clear_cookies()
    page.context.clear_permissions()
    page.emulate_media(media="null", color_scheme="null", reduced_motion="null", forced_colors="null")
    page.mouse.move(0, 0)
    if page.viewport_size != viewport:
        page.set_viewport_size(viewport)


@pytest.fixture(scope="session")
def windows(browser: Browser) -> Windows:
    return Windows(browser)


@pytest.fixture
def page(
    windows: Windows,
    browser_context_args: dict[str, Any],
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Page]:
    """A page whose console stays free of errors, and so of anything the content security policy blocked.

    A key waits until the scripts of the page have run, as a person does: they listen for it.
    """
    marker = request.node.get_closest_marker("browser_context_args")
    with windows.window(**(browser_context_args | (marker.kwargs if marker else {}))) as page:
        errors: list[str] = []

        def complain(message: ConsoleMessage) -> None:
            errors.extend(_complaint(message))

        def crash(error: Error) -> None:
            errors.append(str(error))

        page.on("console", complain)
        page.on("pageerror", crash)
        press = page.keyboard.press

        def press_when_ready(key: str, **options: Any) -> None:
            page.wait_for_load_state("domcontentloaded")
            press(key, **options)

        monkeypatch.setattr(page.keyboard, "press", press_when_ready)
        yield page
        page.remove_listener("console", complain)
        page.remove_listener("pageerror", crash)
    assert errors == []


@pytest.fixture
def plain(windows: Windows, browser_context_args: dict[str, Any]) -> Iterator[Page]:
    """A page of a browser that runs no scripts."""
    with windows.window(**browser_context_args, java_script_enabled=False) as page:
        yield page


# What htmx says of a request that another took the place of; a lost connection it also calls ``htmx:sendError``.
REPLACED = ("htmx:afterRequest", "htmx:sendAbort")


def _complaint(message: ConsoleMessage) -> list[str]:
    """An error of the page; that a request was answered with 4xx is the test's own business."""
    harmless = message.text.startswith(("Failed to load resource: the server responded with a status of 4", *REPLACED))
    return [message.text] if message.type == "error" and not harmless else []
