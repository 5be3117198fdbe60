"""Query parameters that an address does not have are refused by name; the links of the pages carry none of them."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve

from memory.host import ids
from openwop_console import errors
from tests import building, peopled
from tests.budgets import THOROUGH
from tests.pages.conftest import body_of
from tests.peopled import World

pytestmark = pytest.mark.django_db
EXTENSION = "v1/host/console/"
# The page of consent and the way back from a provider are a protocol's, whose rule is to ignore what they do not know
# (RFC 6749, 3.1 and 4.1.2).
NOT_OURS = ("healthz", "readyz", "oauth/authorize", "login/provider/callback")
SAMPLES = {"int": "1", "path": "x"}
LINK = re.compile(r'<a[^>]*? href="(/[^"#]*)')
FORM = re.compile(r'<form[^>]*?action="(/[^"]*)"[^>]*?method="get".*?</form>', re.DOTALL)
# What a form sends whatever is chosen in it: not buttons, and not one of several choices.
SENT = re.compile(r'<(?:select|input(?![^>]*type="(?:radio|checkbox|submit)"))[^>]*? name="([^"]+)"')
REFUSED = ("not a parameter of this address", "is given more than once")
NAME = re.compile(r'<(?:input|select|button)[^>]*? name="([^"]+)"')


def page_routes(patterns: Any = None, prefix: str = "") -> Iterator[str]:
    """The pattern of every page."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        place = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from page_routes(pattern.url_patterns, place)
        elif isinstance(pattern, URLPattern) and errors.face_of(f"/{place}") == "page" and place not in NOT_OURS:
            yield place


def owner() -> Client:
    browser = Client()
    browser.force_login(building.operator("acme"))
    return browser


def sample(pattern: str) -> str:
    return "/" + re.sub(r"<(?:(\w+):)?\w+>", lambda found: SAMPLES.get(found[1] or "", "x"), pattern)


def test_every_page_refuses_a_parameter_it_does_not_have_by_its_name() -> None:
    """The middleware asks before the view knows the method: in a quick run every other page is sent a form."""
    browser = owner()
    for turn, pattern in enumerate(page_routes()):
        for method in ("get", "post") if THOROUGH else (("get", "post")[turn % 2],):
            answer = getattr(browser, method)(f"{sample(pattern)}?zzz=1")
            assert answer.status_code == 400, (method, pattern)
            assert "<code>zzz</code>" in body_of(answer), (method, pattern)


def test_every_operation_of_the_host_extension_refuses_a_parameter_it_does_not_have_by_its_name() -> None:
    world = World("acme")
    routes = [each for each in peopled.routes() if each.pattern.startswith(EXTENSION)]
    assert len(routes) > 30
    for route in routes:
        for method in route.operations:
            answer = world.ask(method, f"/{route.address(route.unknown())}?zzz=1")
            assert answer.status_code == 400, (method, route.pattern)
            told = answer.json()
            assert told["error"] == "validation_error"
            assert told["details"]["errors"] == [{"field": "zzz", "message": "is not a parameter of this address"}]


def test_every_page_refuses_a_parameter_that_is_given_twice_where_it_reads_one_value() -> None:
    browser, several = owner(), set()
    for pattern in page_routes():
        view: Any = resolve(sample(pattern)).func
        names = sorted(getattr(view, "parameters", ()))
        if not names:
            continue
        answer = browser.get(f"{sample(pattern)}?{'&'.join(f'{name}=1&{name}=2' for name in names)}")
        shown = plain(answer)
        for name in names:
            is_refused = f"<code>{name}</code>: is given more than once" in shown
            assert is_refused == (name not in view.several), (pattern, name)
        several |= view.several & set(names)
        assert answer.status_code == 400 or view.several >= set(names), pattern
    assert several == {"column", "duplicate", "gate", "id", "kind", "purpose", "state", "synthesizer"}


def plain(answer: Any) -> str:
    return " ".join(body_of(answer).split())


def test_every_operation_of_the_host_extension_refuses_a_parameter_that_is_given_twice() -> None:
    world, asked = World("acme"), set()
    for route in peopled.routes():
        for method, told in route.operations.items() if route.pattern.startswith(EXTENSION) else ():
            names = sorted(told.parameters)
            if not names:
                continue
            asked |= {*names}
            query = "&".join(f"{name}=1&{name}=2" for name in names)
            answer = world.ask(method, f"/{route.address(route.unknown())}?{query}")
            assert answer.status_code == 400, route.pattern
            problems = [{"field": name, "message": "is given more than once"} for name in names]
            assert sorted(answer.json()["details"]["errors"], key=lambda each: each["field"]) == problems, route.pattern
    assert {"limit", "after", "memoryRef", "status"} <= asked


@pytest.mark.parametrize(
    "choice",
    [
        "/memory?state",
        "/memory?order",
        "/memory?age",
        "/memory/views?state",
        "/memory/export?state",
        "/proposals?show",
        "/proposals/filters?show",
        "/consolidation?kind",
        "/runs?status",
        "/runs?slower",
        "/installed?kind",
        "/installed?state",
    ],
)
def test_a_word_that_is_none_of_a_list_s_choices_is_refused_and_does_not_list_everything(choice: str) -> None:
    answer = owner().get(f"{choice}=nope")
    assert answer.status_code == 400
    assert "must be one of" in body_of(answer)


def test_a_page_with_an_unknown_parameter_leads_to_itself_without_it() -> None:
    assert 'href="/runs?workflow=daily"' in body_of(owner().get("/runs?zzz=1&workflow=daily"))


def test_a_visitor_with_an_unknown_parameter_signs_in_first(client: Client) -> None:
    answer = client.get("/runs?zzz=1")
    assert (answer.status_code, answer["Location"]) == (302, "/login?next=%2Fruns%3Fzzz%3D1")


def test_no_link_and_no_form_of_a_page_carries_a_parameter_that_its_target_does_not_have() -> None:
    """Every parameter of a link is sent to its address once; in a thorough run every combination of them is."""
    peopled_world = World("acme")
    for attribute in (
        "proposal",
        "forget",
        "hold",
        "file",
        "commitment",
        "agent",
        "background_pass",
        "archive",
        "template",
        "run",
    ):
        getattr(peopled_world, attribute)
    browser, seen, waiting = owner(), set[str](), ["/"]
    while waiting:
        url = waiting.pop()
        answer = browser.get(url)
        assert answer.status_code != 500, url
        refused = [words for words in REFUSED if words in body_of(answer)] if answer.status_code == 400 else []
        assert not refused, url
        if "text/html" not in answer.headers.get("Content-Type", ""):
            continue
        shown = body_of(answer)
        links = {unescape(each) for each in LINK.findall(shown)}
        for form in FORM.finditer(shown):
            given = dict.fromkeys(NAME.findall(form[0]), 0)
            for name in SENT.findall(form[0]):
                given[name] += 1
            names = [name for name, times in given.items() for _ in range(max(times, 1))]
            links.add(f"{unescape(form[1])}?{'&'.join(f'{name}=x' for name in names)}" if names else form[1])
        for link in sorted(links):
            if new := shapes(link) - seen:
                seen |= new
                waiting.append(link)
    assert len(seen) > 60


def shapes(link: str) -> set[str]:
    """What is to be tried of a link: its address with each parameter. Links of one kind differ in ids alone."""
    parts = urlsplit(link)
    path = re.sub(r"[a-z]+_[0-9a-f]{32}", "id", parts.path)
    names = sorted(name for name, _ in parse_qsl(parts.query))
    return {f"{path}?{names}"} if THOROUGH else {path, *(f"{path}?{name}" for name in names)}


def test_the_routes_of_the_protocol_ignore_what_they_do_not_have_and_what_is_repeated() -> None:
    world = World("acme")
    run = f"/v1/runs/{ids.wire('run', world.run.id)}"
    for address in ("/v1/audit/verify", f"{run}/events/poll", f"{run}/events", "/v1/host/workspace/files"):
        assert world.ask("get", f"{address}?zzz=1&timeout=0").status_code == 200, address
        assert world.ask("get", f"{address}?zzz=1&zzz=2&timeout=0&timeout=0").status_code == 200, address
