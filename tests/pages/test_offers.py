"""No page offers an action that the viewer may not carry out: every link and form of every page, as each role."""

import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from django.db import transaction
from django.test import Client
from pytest_django import DjangoDbBlocker

from memory.host import access, ids
from tests import building, proposing
from tests.pages.conftest import SignIn, body_of
from tests.peopled import World

pytestmark = pytest.mark.django_db
NOT_ALLOWED = "This needs the permission"  # said by a page that a link of the page before it offered as an action
TO_READ = ("/runs/", "/settings/approval/")  # pages that are read first, and say beside it who may do what


class Offers(HTMLParser):
    """What a page offers: links, and in its main part forms that post with the fields and buttons that work."""

    def __init__(self, shown: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.forms: list[tuple[str, dict[str, str], list[tuple[str, str]]]] = []
        self._in_main, self._form, self._off = 0, False, 0
        self.feed(shown)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "main":
            self._in_main += 1
        if tag == "a" and given.get("href", "").startswith("/"):
            self.links.append(given["href"].partition("#")[0])
        if not self._in_main:
            return
        if tag == "form" and given.get("method", "").lower() == "post":
            self._form = True
            self.forms.append((given.get("action", ""), {}, []))
        if tag == "form" and given.get("method", "get").lower() != "post":
            self._form = False
        if self._form and "disabled" not in given:
            _, fields, buttons = self.forms[-1]
            if tag == "input" and given.get("type") == "hidden":
                fields[given.get("name", "")] = given.get("value", "")
            if tag == "button" and given.get("type", "submit") == "submit":
                buttons.append((given.get("name", ""), given.get("value", "")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "main":
            self._in_main -= 1
        if tag == "form":
            self._form = False

    def posts(self) -> Iterator[tuple[str, dict[str, str]]]:
        for action, fields, buttons in self.forms:
            for name, value in buttons:
                yield action, {**fields, **({name: value} if name else {})}


def shape(url: str) -> str:
    """Addresses that differ in ids and filters alone are of one shape."""
    path = re.sub(r"[a-z]+_[0-9a-f]{32}", "id", urlsplit(url).path)
    return re.sub(r"(/workspace|/namespaces|/agents|/settings/approval)/.+", r"\1/x", path)


def everything() -> list[str]:
    """A tenant with one of each thing that a page is about; the addresses that a crawl might not come to."""
    world = World("acme")
    draft = world.proposal
    asked = proposing.propose(title="Another")
    proposing.opened(asked)
    done = proposing.applied(proposing.artifact(templateId="triage.other"))
    for name in (
        "forget",
        "hold",
        "file",
        "commitment",
        "agent",
        "background_pass",
        "pass_schedule",
        "archive",
        "run",
        "policy_change",
    ):
        getattr(world, name)
    building.install("acme", building.definition("broken", building.node("only", "core.fail")))
    failed = building.execute(building.scope(), "broken")
    pages = [
        "/",
        "/agents",
        "/memory",
        "/archives",
        "/consolidation",
        "/commitments",
        "/proposals",
        "/forget",
        "/forget/holds",
        "/audit",
    ]
    pages += [
        "/settings",
        "/runs",
        "/retention",
        "/namespaces",
        "/workspace",
        "/workflow-files",
        "/settings/import",
        "/api",
        "/glossary",
    ]
    pages += [f"/proposals/{ids.wire('prop', each.id)}" for each in (draft, asked, done)]
    return [*pages, f"/runs/{ids.wire('run', failed.id)}", f"/runs/{ids.wire('run', world.run.id)}"]


@pytest.fixture(scope="module")
def pages(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[list[str]]:
    """Where each crawl begins; what is there is made once for all of them."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield everything()
        transaction.set_rollback(True)


@pytest.mark.parametrize("role", sorted(access.ROLES))
def test_every_link_and_form_of_every_page_is_allowed_for_who_sees_it(
    pages: list[str], sign_in: SignIn, role: str
) -> None:
    assert crawl(sign_in(role=role), pages) == []


def crawl(browser: Client, begin: list[str]) -> list[tuple[str, str]]:
    """The offers that were refused, each with the page that makes it; what is posted changes nothing."""
    waiting, seen, posted = list(begin), {shape(each) for each in begin}, set[str]()
    linked, forbidden = dict[str, tuple[str, str]](), list[tuple[str, str]]()
    refused = set[str]()
    while waiting:
        url = waiting.pop()
        answer = browser.get(url)
        is_to_read = url.startswith(TO_READ)
        if answer.status_code == 403 or (NOT_ALLOWED in body_of(answer) and not is_to_read):
            refused.add(shape(url))
        if answer.status_code != 200 or "text/html" not in answer["Content-Type"]:
            continue
        offers = Offers(body_of(answer))
        for link in map(unescape, offers.links):
            linked.setdefault(shape(link), (url, link))
            if shape(link) not in seen:
                seen.add(shape(link))
                waiting.append(link)
        for action, fields in offers.posts():
            kind = f"{shape(action or url)} {sorted(fields)} {fields.get('action', '')}{fields.get('act', '')}"
            if kind in posted:
                continue
            posted.add(kind)
            with transaction.atomic():
                if browser.post(action or url, fields).status_code == 403:
                    forbidden.append((url, f"POST {action} {fields}"))
                transaction.set_rollback(True)
    return forbidden + [linked[each] for each in refused & set(linked)]


def test_the_sweep_sees_what_a_page_offers() -> None:
    form = '<form method="post" action="/y"><button>Go</button><button disabled>No</button></form>'
    found = Offers(f'<main><a href="/x"></a>{form}</main>')
    assert (found.links, list(found.posts())) == (["/x"], [("/y", {})])
