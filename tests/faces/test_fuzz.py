"""The API against its own document: thousands of requests, sound, unsound and odd, and what must hold of every answer.

No 5xx but the two that are meant (501, 503); every refusal is exactly the envelope; every status is documented; and an
answer that succeeds is as the document says.
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connection, transaction
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError
from pytest_django import DjangoDbBlocker
from pytest_django.fixtures import Settings

from openwop_console import openapi
from tests.budgets import THOROUGH
from tests.conformance import schemas
from tests.peopled import BODIES, PREPARED, QUERIES, VERSIONED, Route, World, routes

if TYPE_CHECKING:
    from schemathesis import Case, GenerationMode

pytestmark = pytest.mark.django_db
MEANT = {501, 503}
FACES = ("v1/", "api/v1/")
ROUTES = {told.name: (route, method) for route in routes(faces=FACES) for method, told in route.operations.items()}
# Of each operation, sound or unsound by turns, beside its own sound request and the odd ones. `make test-all` sends ten
# times as many, and asks each operation both ways. To make one up takes six times as long as to answer it.
EXAMPLES = 100 if THOROUGH else 10 if connection.vendor == "sqlite" else 2
# A stream that waits for what comes ends with its reader; test_streams.py reads them.
ENDLESS = frozenset({"subscribeToIntent", "subscribeToAgent"})


@cache
def documented() -> dict[str, tuple[str, Any]]:
    """Path and document of each operation, by its id."""
    every = ((path, each) for path, methods in openapi.document()["paths"].items() for each in methods.values())
    named = {each["operationId"]: (path, each) for path, each in every if path.startswith(("/v1/", "/api/v1/"))}
    return {name: each for name, each in named.items() if name not in ENDLESS}


@cache
def operations() -> dict[str, Any]:
    """The operations by their ids, as the package knows them that makes requests up. It is imported here: that takes a
    second of CPU, and each worker of pytest-xdist imports this module."""
    import schemathesis

    document = schemathesis.openapi.from_dict(openapi.document())
    document.app = WSGIHandler()
    document.config.generation.update(with_security_parameters=False)
    every = (found.ok() for found in document.get_all_operations())
    named = {each.definition.raw["operationId"]: each for each in every}
    return {name: named[name] for name in documented()}


def can_be_unsound(operation: Any) -> bool:
    """Whether the document leaves anything to break: any text will do in a path or a header that is only a string."""
    told = [each.definition["schema"] for each in (*operation.path_parameters, *operation.headers)]
    return bool([*operation.query, *operation.body] or [each for each in told if each != {"type": "string"}])


@contextmanager
def one_connection() -> Iterator[None]:
    """A request closes a connection that is inside a transaction, and all of a test is inside one."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    """Acme with a row of each kind, made once: each request is undone."""
    with django_db_blocker.unblock(), transaction.atomic():
        made = World("acme")
        for name in documented():
            ROUTES[name][0].real(made)
        yield made
        transaction.set_rollback(True)


@pytest.fixture
def acme(world: World, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> World:
    """That Acme with the seams open; nothing waits for a worker."""
    settings.OPENWOP_TEST_SEAM_ENABLED = True
    for patience in ("PATIENCE_S", "DISPATCH_WAIT_S"):
        monkeypatch.setattr(f"openwop_console.test_seams.runs.{patience}", 0)
    return world


def whats_wrong(name: str, status: int, kind: str, body: bytes) -> str:
    """Why this answer must not be, or nothing."""
    raw = documented()[name][1]
    if status >= 500 and status not in MEANT:
        return f"answered {status}"
    if str(status) not in raw["responses"]:
        return f"{status} is not documented"
    if status >= 400:
        return _refusal_is_wrong(name, kind, body)
    return _success_is_wrong(raw["responses"][str(status)], body) if 200 <= status < 300 else ""


def _refusal_is_wrong(name: str, kind: str, body: bytes) -> str:
    if kind.split(";", maxsplit=1)[0] != "application/json":
        return f"a refusal as {kind}"
    try:
        if documented()[name][0].startswith("/api/"):
            Draft202012Validator(openapi.OPENINTENT_ERROR).validate(json.loads(body))
        else:
            schemas.check("error-envelope", json.loads(body))
    except (ValueError, ValidationError) as problem:
        return f"no envelope: {problem}"
    return ""


def _success_is_wrong(documented: dict[str, Any], body: bytes) -> str:
    content = documented.get("content", {}).get("application/json")
    if content is None:
        return "" if not body else "a body where none is documented"
    whole = {**content["schema"], "components": openapi.document()["components"]}
    checker = Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER)
    wrong = next(iter(checker.iter_errors(json.loads(body))), None)
    return f"not as documented: {wrong.json_path} {wrong.message[:200]}" if wrong else ""


class Finding(Exception):
    """An answer that must not be."""


def send(world: World, case: "Case", name: str, seen: Counter[tuple[str, int]]) -> None:
    """The case with the owner's key; a long poll does not wait, and a stream is read as JSON."""
    case.headers.pop("Authorization", None)
    case.headers.update({"X-API-Key": world.key, "Accept": "application/json"})
    if any(each.get("name") == "timeout" for each in documented()[name][1].get("parameters", [])):
        given = str((case.query or {}).get("timeout", "0"))
        case.query = {**(case.query or {}), "timeout": "0" if given.strip("+ ").isdigit() else given}
    with one_connection():
        answer = case.call()
    seen[name, answer.status_code] += 1
    wrong = whats_wrong(name, answer.status_code, answer.headers.get("content-type", [""])[0], answer.content)
    if wrong:
        raise Finding(f"{name}: {wrong}\n{case.as_curl_command()}\n{answer.content[:500]!r}")


def fuzz(world: World, name: str, mode: "GenerationMode", seen: Counter[tuple[str, int]]) -> str:
    """What the cases of one operation have found first, or nothing; everything they changed is undone."""
    operation, route = operations()[name], ROUTES[name][0]
    own = {api_name(parameter): value for parameter, value in route.real(world).items()}
    strategies = [operation.as_strategy(mode, path_parameters=own or None)]
    if own and THOROUGH:  # a quick run sends the odd ids below instead
        strategies.append(operation.as_strategy(mode))
    if name in BODIES:
        strategies.append(operation.as_strategy(mode, path_parameters=own or None, body=BODIES[name]))

    @hypothesis.settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @hypothesis.given(case=st.one_of(strategies))
    def each(case: "Case") -> None:
        with transaction.atomic():
            send(world, case, name, seen)
            transaction.set_rollback(True)

    try:
        each()
    except Finding as found:
        return str(found)
    except hypothesis.errors.Unsatisfiable:
        return ""
    return ""


def api_name(parameter: str) -> str:
    head, *rest = parameter.split("_")
    return head + "".join(each.capitalize() for each in rest)


@pytest.mark.timeout(3600 if THOROUGH else 600)
@pytest.mark.parametrize("kind", ["positive", "negative"])
def test_every_answer_is_as_documented(acme: World, kind: str) -> None:
    from schemathesis import GenerationMode

    mode = GenerationMode(kind)
    seen: Counter[tuple[str, int]] = Counter()
    if THOROUGH:
        names = [name for name in operations() if mode.is_positive or can_be_unsound(operations()[name])]
    else:
        # What takes neither a query nor a body is asked soundly by the tests below, and with odd ids.
        asked = [name for name, each in operations().items() if each.query or each.body]
        names = asked[0 if mode.is_positive else 1 :: 2]
    found = [wrong for name in names if (wrong := fuzz(acme, name, mode, seen))]
    assert found == [], f"{len(found)} operations\n" + "\n\n".join(found)
    sent = Counter(name for name, _ in seen.elements())
    assert sent.keys() == set(names)
    # Of what has neither a body nor a parameter there is one request.
    assert [name for name, count in sent.items() if 1 < count < EXAMPLES - 1] == []
    assert sum(count > 1 for count in sent.values()) > len(names) * 0.9
    assert len(names) > len(operations()) / (2 if THOROUGH else 4)


NOT_WITHOUT_HELP = {
    "confirmForget": "needs a preview of its own",
    "resumeRun": "needs a run that is paused",
    "seamCrossWorkspaceRead": "refuses whatever it is asked",
    "seamDispatchAgent": "needs a worker",
    "stopPass": "needs a pass that is not over",
}


@pytest.mark.engines
def test_a_sound_request_succeeds_as_documented(acme: World) -> None:
    wrong = {}
    for name in sorted(set(documented()) - set(NOT_WITHOUT_HELP)):
        route, method = ROUTES[name]
        query = QUERIES.get(name, "")
        with transaction.atomic():
            body = PREPARED[name](acme) if name in PREPARED else BODIES.get(name)
            headers = {"HTTP_IF_MATCH": "1"} if name in VERSIONED else {}
            answer = acme.ask(method, f"/{route.address(route.real(acme))}{query}", body, **headers)
            transaction.set_rollback(True)
        if not 200 <= answer.status_code < 300:
            wrong[name] = f"{answer.status_code} {answer.content.decode()}: put a sound body into tests/peopled.py"
        elif found := whats_wrong(name, answer.status_code, answer.get("Content-Type", ""), answer.content):
            wrong[name] = found
    assert wrong == {}, json.dumps(wrong, indent=1)


ODD_IDS = ["%00", "%ED%A0%80", "%FF", "..", "%2e%2e%2fx", "a%0Ab", "%F0%9F%92%A9", "x" * 3000, ":", "run_", " ", "%25"]
ODD_QUERIES = [
    "%00=1",
    "limit=%00",
    "limit=" + "9" * 400,
    "limit=-1",
    "limit=1e9",
    "limit=",
    "after=%ED%A0%80",
    "a=" * 200,
]
ODD_BODIES: list[bytes] = [
    b"",
    b"null",
    b"[]",
    b'"x"',
    b"[" * 500 + b"]" * 500,
    b'{"a":' * 100 + b"1" + b"}" * 100,
    b'{"reason": ' + b"9" * 400 + b"}",
    b'{"reason": "\\ud800"}',
    b'{"reason": "\xed\xa0\x80"}',
    b'{"reason": "\\u0000"}',
    b'{"reason": 1e400}',
    b'{"\\u0000": 1}',
    b'{"reason": "x", "reason": 1}',
    b"\xef\xbb\xbf{}",
    b"\x00",
]
ODD_HEADERS: list[dict[str, str]] = [
    {"HTTP_ACCEPT": "nonsense"},
    {"HTTP_ACCEPT": "text/html;q=x, */*;q=0"},
    {"HTTP_IF_NONE_MATCH": "\xff"},
    {"HTTP_IF_MATCH": '"' * 50},
    {"HTTP_LAST_EVENT_ID": "9" * 400},
    {"HTTP_IDEMPOTENCY_KEY": "\xe9"},
    {"HTTP_IDEMPOTENCY_KEY": "k" * 256},
    {"HTTP_X_DEDUP": "\x7f"},
    {"HTTP_X_FORCE_ENGINE_VERSION": "9" * 400},
    {"HTTP_X_HTTP_METHOD_OVERRIDE": "DELETE"},
    {"HTTP_CONTENT_ENCODING": "gzip"},
    {"CONTENT_TYPE": "application/json; charset=utf-16"},
    {"CONTENT_TYPE": "application/json;" + "a=" * 200},
    {"CONTENT_TYPE": ""},
    {"CONTENT_TYPE": "multipart/form-data"},
    {"CONTENT_LENGTH": "x"},
    {"HTTP_HOST": "localhost:99999"},
]


def odd_requests(world: World, route: Route, name: str, turn: int) -> Iterator[tuple[str, bytes, dict[str, str]]]:
    """Address, body and headers. In a quick run an eighth of each kind, and of the next operation the next eighth; on
    PostgreSQL, where a NUL or a large number that reaches the database fails otherwise, a sixteenth."""
    step = 1 if THOROUGH else 8 if connection.vendor == "sqlite" else 16
    own_turn = slice(turn % step, None, step)
    body = json.dumps(BODIES[name]).encode() if name in BODIES else b""
    own = "/" + route.address(route.real(world))
    for odd in ODD_IDS[own_turn] if route.parameters else []:
        yield "/" + route.address(dict.fromkeys(route.parameters, odd)), body, {}
    yield from ((f"{own}?timeout=0&{odd}", body, {}) for odd in ODD_QUERIES[own_turn])
    yield from ((f"{own}?timeout=0", odd, {}) for odd in ODD_BODIES[own_turn])
    yield from ((f"{own}?timeout=0", body, odd) for odd in ODD_HEADERS[own_turn])


@pytest.mark.engines
def test_no_odd_request_makes_the_host_fail(acme: World) -> None:
    found, asked = [], 0
    for turn, name in enumerate(documented()):
        route, method = ROUTES[name]
        for url, body, headers in odd_requests(acme, route, name, turn):
            given: dict[str, Any] = {"HTTP_X_API_KEY": acme.key, "content_type": "application/json", **headers}
            if "CONTENT_TYPE" in headers:
                given["content_type"] = given.pop("CONTENT_TYPE")
            with transaction.atomic():
                answer: Any = acme.browser.generic(method, url, body, **given)
                raw = b"".join(answer.streaming_content) if answer.streaming else answer.content
                transaction.set_rollback(True)
            asked += 1
            if answer.status_code >= 500 and answer.status_code not in MEANT:
                found.append(f"{name}: {answer.status_code} for {method} {url[:200]} {body[:60]!r} {headers}")
            elif answer.status_code >= 400 and (wrong := _refusal_is_wrong(name, answer["Content-Type"], raw)):
                found.append(f"{name}: {wrong} for {method} {url[:200]} {body[:60]!r} {headers}")
    assert found == [], f"{len(found)} of {asked}\n" + "\n".join(found)
