"""Pages as a signed-in operator gets them."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from memory.host import pages
from openwop_console.templatetags import console
from tests import building
from tests.pages import markup

SignIn = Callable[..., Client]
HTMX: Any = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def sign_in() -> SignIn:
    """``sign_in("globex", role="viewer")``: a browser with that session; Acme's owner when nothing is said."""

    def sign_in(slug: str = "acme", role: str = "owner") -> Client:
        browser = Client()
        building.sign_in(browser, building.operator(slug, role))
        return browser

    return sign_in


@pytest.fixture
def ada(sign_in: SignIn) -> Client:
    """Ada, who owns Acme."""
    return sign_in()


@pytest.fixture
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists have pages of five rows, not of 50."""
    monkeypatch.setattr(pages, "PAGE", 5)


def body_of(answer: Any) -> str:
    """The text of an answer, streamed or not; a page is complete."""
    raw = b"".join(answer.streaming_content) if answer.streaming else answer.content
    shown = str(raw.decode())
    if shown.lstrip().startswith("<!doctype html>"):
        assert list(markup.faults(shown)) == []
    return shown


def standing(first: int, last: int, total: int, noun: str) -> str:
    """What the pager says of a page; ``noun`` is in the plural."""
    shown = f"{first}\u2013{last}" if last > first else str(first)
    return f"<strong>{shown}</strong> of {total} {console.counted(total, noun)}"
