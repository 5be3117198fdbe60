"""Every address of both faces: types of JSON are not converted, bodies are closed, and refusals have one order."""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django.fixtures import Settings

from memory.host import access
from memory.host.errors import MOST_PROBLEMS
from openwop_console import openapi
from openwop_console.runtime import run_operations
from proposals import lifecycle
from tests import building
from tests.budgets import THOROUGH, cpu_within
from tests.peopled import BODIES, PREPARED, QUERIES, VERSIONED, Route, World, routes

pytestmark = pytest.mark.django_db
FACES = ("v1/", "api/v1/")
OPERATIONS = {
    told.name: (route, method, told)
    for route in routes(faces=FACES)
    for method, told in route.operations.items()
    if not told.name.startswith("subscribeTo")
}
INVALID = {"v1/": "validation_error", "api/v1/": "VALIDATION_ERROR"}
WRONG: dict[str, list[Any]] = {
    "integer": ["8000", True, "x", [], {}],
    "number": ["8000", True, "x", [], {}],
    "boolean": ["yes", "true", 1, 0, [], {}],
    "string": [1, True, [], {}],
    "array": ["x", 1, {}],
    "object": ["x", 1, []],
}
# A manifest is a document: what it must hold is judged as that of its kind, with 422.
DOCUMENT = "installAgent"


@pytest.fixture
def acme(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> World:
    settings.OPENWOP_TEST_SEAM_ENABLED = True
    monkeypatch.setattr("openwop_console.test_seams.runs.PATIENCE_S", 0)
    return World("acme")


def bodies() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each operation that takes a JSON object, with the properties of that object."""
    for _, _, each in openapi.operations_in(openapi.document()):
        schema = resolved(each.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {}))
        if schema.get("properties") and each["operationId"] in OPERATIONS and each["operationId"] != DOCUMENT:
            yield each["operationId"], schema["properties"]


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema behind a reference, and of a choice with null the other one."""
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return resolved(next((each for each in schema[choice] if each.get("type") != "null"), {}))
    named = schema.get("$ref", "").rpartition("/")[2]
    return resolved(openapi.document()["components"]["schemas"][named]) if named else schema


def mistyped(schema: dict[str, Any]) -> Iterator[Any]:
    """Values of other types of JSON than the schema says, at every depth of closed objects and lists."""
    found = resolved(schema)
    kinds = found.get("type", "")
    kinds = {kinds} if isinstance(kinds, str) else set(kinds) - {"null"}
    if len(kinds) != 1:
        return
    [kind] = kinds
    yield from WRONG.get(kind, [])
    if kind == "array":
        yield from ([wrong] for wrong in mistyped(found.get("items", {})))
    for name, inner in found.get("properties", {}).items() if kind == "object" else ():
        yield from ({name: wrong} for wrong in mistyped(inner))
    if kind == "object" and found.get("additionalProperties") is False:
        yield {"nobodysField": 1}


def sound(world: World, name: str) -> dict[str, Any]:
    prepared = PREPARED[name](world) if name in PREPARED and OPERATIONS[name][0].pattern.startswith("api/") else None
    return {**(prepared or BODIES.get(name) or {})}


def is_refused(name: str, answer: Any) -> bool:
    """As invalid, in the form of the face."""
    face = next(face for face in FACES if OPERATIONS[name][0].pattern.startswith(face))
    return (answer.status_code, answer.json().get("error")) == (400, INVALID[face])


def refused(world: World, name: str, body: Any) -> Any:
    route, method, _ = OPERATIONS[name]
    address = f"{route.address(route.real(world))}{QUERIES.get(name, '')}"
    with transaction.atomic():
        headers = {"HTTP_IF_MATCH": "1"} if name in VERSIONED else {}
        answer = world.ask(method, f"/{address}", body, **headers)
        transaction.set_rollback(True)
    return answer


def test_no_door_converts_a_type_of_json(acme: World) -> None:
    """In a quick run a field is sent a third of its wrong values, and the next field the next third."""
    taken, turn = [], 0
    for name, properties in bodies():
        given = sound(acme, name)
        for field, schema in properties.items():
            turn += 1
            for wrong in list(mistyped(schema))[None if THOROUGH else turn % 3 :: 1 if THOROUGH else 3]:
                answer = refused(acme, name, {**given, field: wrong})
                if not is_refused(name, answer):
                    taken.append(f"{name}.{field} = {json.dumps(wrong)}: {answer.status_code}")
    assert taken == []


def test_no_closed_body_takes_a_member_that_it_does_not_name(acme: World) -> None:
    taken = {}
    for name, _ in bodies():
        answer = refused(acme, name, {**sound(acme, name), "nobodysField": 1})
        if not is_refused(name, answer):
            taken[name] = answer.status_code
    assert taken == {}


def test_a_body_with_problems_without_number_is_refused_in_a_moment_and_a_few_words(acme: World) -> None:
    for body in ({"tags": [""] * 300_000}, {f"member{number}": 1 for number in range(60_000)}, {"tags": 0}):
        with cpu_within(2):
            answer = acme.ask("POST", "/v1/runs", {"workflowId": "openwop-smoke-noop", **body})
        assert answer.status_code == 400
        assert 0 < len(answer.json()["details"]["errors"]) <= MOST_PROBLEMS


def test_a_verb_that_takes_no_body_takes_an_empty_one_alone(acme: World) -> None:
    documented = {each["operationId"]: each for _, _, each in openapi.operations_in(openapi.document())}
    taken = {}
    for name, (route, method, told) in OPERATIONS.items():
        is_ours = method == "POST" and route.pattern.startswith("v1/") and not name.startswith("seam")
        if not is_ours or not told.scope or documented[name].get("requestBody"):
            continue
        for body in ({"nobodysField": 1}, [1], "x"):
            answer = refused(acme, name, body)
            if not is_refused(name, answer):
                taken[name, json.dumps(body)] = answer.status_code
    assert taken == {}


@pytest.mark.parametrize("query", ["fromSeq=x", "fromSeq=1.0", "fromSeq=true"])
def test_a_number_of_a_query_is_in_digits(acme: World, query: str) -> None:
    assert acme.ask("GET", f"/v1/audit/verify?{query}").status_code == 400


def judged() -> Iterator[tuple[str, Route, str, str]]:
    for name, (route, method, told) in OPERATIONS.items():
        if told.scope:
            yield name, route, method, told.scope.split()[0]


def test_who_may_not_is_refused_before_what_was_sent_is_looked_at(acme: World) -> None:
    """What is there is no matter either. In a quick run each operation is sent one of the eight, and the next one the
    next. A viewer changes nothing; only an auditor may read the audit log and nothing else."""
    keys = {role: building.key("acme", role=role) for role in ("auditor", "viewer")}
    bodies = (b"", b"{", b"[]", b'{"nobodysField": 1}')
    wrong, forms = {}, list(product(bodies, ({}, {"HTTP_IDEMPOTENCY_KEY": "\x7f" * 300})))
    for turn, (name, route, method, scope) in enumerate(judged()):
        key = keys["auditor" if set(scope.split("|")) & access.ROLES["viewer"] else "viewer"]
        places = [f"/{route.address(values)}" for values in (route.real(acme), route.unknown())]
        for raw, more in forms if THOROUGH else [forms[turn % 8]]:
            sent: dict[str, Any] = {"content_type": "application/json", "HTTP_X_API_KEY": key, **more}
            answers = [acme.browser.generic(method, each, raw, **sent) for each in (*places, f"{places[0]}?zzz=1")]
            if {answer.status_code for answer in answers} != {403}:
                wrong[name, raw, bool(more)] = [answer.status_code for answer in answers]
    assert wrong == {}


def test_who_is_nobody_is_refused_before_anything_else(acme: World) -> None:
    wrong = {}
    for name, route, method, _ in judged():
        for address in (route.address(route.real(acme)), route.address(route.unknown())):
            answer = acme.browser.generic(method, f"/{address}", b"{", content_type="application/json")
            if answer.status_code != 401:
                wrong[name] = answer.status_code
    assert wrong == {}


def test_a_token_that_is_unknown_or_malformed_is_not_there_whatever_comes_with_it(acme: World) -> None:
    tokens, sent = (
        ("nothing", "a.b", "x" * 5000, "bm90aGluZw.bm90aGluZw"),
        (b"", b"{", b'{"resumeValue": 1, "more": 2}'),
    )
    for method, token, raw in product(("GET", "POST"), tokens, sent):
        answer = acme.browser.generic(method, f"/v1/interrupts/{token}", raw, content_type="application/json")
        assert (answer.status_code, answer.json()["error"]) == (404, "interrupt_not_found"), (method, token, raw)


def queried(operation: dict[str, Any]) -> set[str]:
    """The query parameters of a documented operation."""
    return {each["name"] for each in operation.get("parameters", []) if each.get("in") == "query"}


REFS = ["a\x00b", "a\nb", "../other", "a/../b", "x" * 257]


def test_a_malformed_ref_is_answered_as_an_unknown_one_on_reads_and_refused_on_writes(acme: World) -> None:
    building.remember("acme", "a note")
    reads = [each for each in openapi.operations_in(openapi.document()) if "memoryRef" in queried(each[2])]
    assert {each["operationId"] for _, _, each in reads} >= {"listMemory", "listArchives", "listPasses"}
    for address, method, _ in reads:
        assert method.lower() == "get"
        unknown = acme.browser.get(address, {"memoryRef": "nothing"}, HTTP_X_API_KEY=acme.key)
        for ref in REFS:
            found = acme.browser.get(address, {"memoryRef": ref}, HTTP_X_API_KEY=acme.key)
            assert found.status_code == unknown.status_code == 200, (address, ref)
            assert {**found.json(), "memoryRef": ""} == {**unknown.json(), "memoryRef": ""}, (address, ref)
    wrong = {}
    for name in (name for name, properties in bodies() if "memoryRef" in properties):
        for ref in REFS:
            answer = refused(acme, name, {**(BODIES.get(name) or {}), "memoryRef": ref})
            if (answer.status_code, answer.json().get("error")) != (400, "validation_error"):
                wrong[name, ref] = f"{answer.status_code} {answer.content.decode()[:200]}"
    assert wrong == {}


def test_a_nul_in_an_openintent_value_is_refused_and_nothing_is_stored(acme: World) -> None:
    for value in ({"a": "x\x00y"}, {"x\x00y": 1}, {"deep": [{"a": "\x00"}]}):
        body = {"namespace": "notes", "key": "nul", "value": value}
        answer = acme.ask("POST", "/api/v1/memory", body, HTTP_X_AGENT_ID="billing-01")
        assert (answer.status_code, answer.json()["error"]) == (400, "VALIDATION_ERROR")
        doors = {"putMemory": body, "changeMemory": {"value": value}, "writeMemoryBatch": {"entries": [body]}}
        for name, sent in doors.items():
            assert is_refused(name, refused(acme, name, sent)), (name, value)
    listed = acme.ask("GET", "/api/v1/memory?namespace=notes", HTTP_X_AGENT_ID="billing-01")
    assert "nul" not in listed.content.decode()


def test_what_is_malformed_is_refused_before_what_conflicts(acme: World) -> None:
    """The world's run has ended, its proposal is archived, and its rows of OpenIntent are at another version."""
    now = timezone.now()
    run_operations.cancel_run(acme.scope, acme.run.id, now=now)
    building.advance(acme.run)
    lifecycle.archive(acme.scope, acme.proposal.id, reason="away", now=now)
    conflicting = {name: BODIES[name] for name in VERSIONED | {"reviseProposal", "rejectProposal"}}
    conflicting |= {"pauseRun": {}, "resumeRun": {}, "addRevision": BODIES["addRevision"]}
    wrong = {}
    for name, body in conflicting.items():
        route, method, _ = OPERATIONS[name]
        address, headers = f"/{route.address(route.real(acme))}", {"HTTP_IF_MATCH": "99"} if name in VERSIONED else {}
        conflict = acme.ask(method, address, body, **headers)
        malformed = acme.ask(method, address, {**body, "nobodysField": 1}, **headers)
        if (conflict.status_code, is_refused(name, malformed)) != (409, True):
            wrong[name] = (conflict.status_code, malformed.status_code)
    assert wrong == {}


def test_an_agent_that_may_not_is_refused_before_its_incomplete_body_or_missing_version_is_looked_at(
    acme: World,
) -> None:
    stranger = building.key("acme", role="agent", agents=("stranger-01",))
    wrong = {}
    for name in (
        "changeMemory", "changeNamespace", "changeTask", "changeCoordinator", "changeIntentState", "changeIntentStatus",
        "grantAccess", "replaceAcl", "logIntentEvent",
    ):  # fmt: skip
        route, method, _ = OPERATIONS[name]
        address = f"/{route.address(route.real(acme))}"
        for raw in (b"", b"{", b"[]", b'{"nobodysField": 1}'):
            sent: dict[str, Any] = {"content_type": "application/json", "HTTP_X_API_KEY": stranger}
            answer = acme.browser.generic(method, address, raw, **sent)
            if answer.status_code != 403:
                wrong[name, raw] = (answer.status_code, answer.content.decode()[:200])
    assert wrong == {}


def test_a_change_without_its_version_is_428_for_who_may_make_it(acme: World) -> None:
    for name in ("changeMemory", "changeTask", "changeCoordinator", "changeIntentState", "changeIntentStatus"):
        route, method, _ = OPERATIONS[name]
        answer = acme.ask(method, f"/{route.address(route.real(acme))}", BODIES[name])
        assert (answer.status_code, answer.json()["error"]) == (428, "PRECONDITION_REQUIRED"), name


NO_FILTERS: dict[str, list[Any]] = {
    "limit": ["5", True], "offset": ["0"], "pinned": ["true", 1], "scope": ["t"], "key": [5],
}  # fmt: skip


def test_the_json_filter_of_a_batch_delete_takes_numbers_and_booleans_as_json_has_them(acme: World) -> None:
    entry = acme.openintent["entry"]
    for name, value in ((name, value) for name, values in NO_FILTERS.items() for value in values):
        answer = acme.ask("DELETE", "/api/v1/memory/batch", {"filter": {"namespace": "shared", name: value}})
        assert (answer.status_code, answer.json()["error"]) == (400, "VALIDATION_ERROR"), (name, value)
    assert acme.ask("GET", f"/api/v1/memory/{entry}").status_code == 200
