"""A secret of the vault, sent in the place of any text of any request, is stored nowhere in the clear (SR-1)."""

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory.host import vault
from openwop_console import openapi
from tests import building
from tests.budgets import THOROUGH
from tests.faces.test_strictness import OPERATIONS, resolved, sound
from tests.memory.test_forgetting import everything_stored
from tests.peopled import QUERIES, VERSIONED, World

pytestmark = pytest.mark.django_db
SECRET = "tr0ub4dor-hunter2"
URL = f"https://example.com/{SECRET}"
# The texts of many fields have a certain form.
FORMS = (SECRET, URL, f"{SECRET}@example.com", f"{SECRET}.md", f"private.{SECRET}.triage")
FREE = {SECRET: [SECRET]}
UNNAMED = ("Idempotency-Key", "traceparent", "tracestate", "User-Agent", "X-Agent-ID", "X-Dedup", "X-Request-ID")
DEEPEST = 4


class Sent(NamedTuple):
    """A request with the secret in the place ``where``."""

    where: str
    address: str
    body: Any
    headers: dict[str, str]


@pytest.fixture
def acme() -> World:
    return World("acme")


def forms(name: str) -> tuple[str, ...]:
    """What is sent as the field of that name; in a quick run the one form that it can have."""
    return FORMS if THOROUGH else (URL,) if name.lower().endswith("url") else (SECRET,)


def values(schema: dict[str, Any], called: str = "", depth: int = 0) -> Iterator[Any]:
    """Values with the secret in the place of one text that the schema has, or as a member that it does not name."""
    found = resolved(schema)
    kinds = found.get("type", [])
    kinds = {kinds} if isinstance(kinds, str) else set(kinds)
    if depth > DEEPEST:
        return
    if not found or ("string" in kinds and "enum" not in found):
        yield from forms(called)
    if "array" in kinds:
        yield from ([each] for each in values(found.get("items", {}), called, depth + 1))
    if not found or ("object" in kinds and found.get("additionalProperties") is not False):
        yield FREE
    for name, inner in found.get("properties", {}).items():
        yield from ({name: each} for each in values(inner, name, depth + 1))


def merged(given: Any, change: Any) -> Any:
    """``given`` with the change of some members of it, and of the first item of a list of objects."""
    if isinstance(given, dict) and isinstance(change, dict):
        return {**given, **{name: merged(given.get(name), value) for name, value in change.items()}}
    if isinstance(given, list) and given and isinstance(change, list) and isinstance(change[0], dict):
        return [merged(given[0], change[0]), *given[1:]]
    return change


def replaced(given: Any) -> Iterator[Any]:
    """``given`` with the secret in the place of one of its texts, for documents that the schema says little of."""
    if isinstance(given, str):
        yield SECRET
    elif isinstance(given, dict):
        yield from ({**given, name: each} for name, value in given.items() for each in replaced(value))
    elif isinstance(given, list):
        yield from ([*given[:at], each, *given[at + 1 :]] for at, value in enumerate(given) for each in replaced(value))


def requests(world: World, name: str, raw: dict[str, Any]) -> Iterator[Sent]:
    """Every request of the operation with the secret in one place."""
    route, _, _ = OPERATIONS[name]
    own = route.real(world)
    address, body = f"/{route.address(own)}{QUERIES.get(name, '')}", sound(world, name) or None
    headers = {"HTTP_IF_MATCH": "1"} if name in VERSIONED else {}
    schema = raw.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    for change in values(schema) if schema is not None else ():
        yield Sent(f"body {change}", address, merged(body, change), headers)
    for changed in replaced(body):
        yield Sent(f"body {changed}", address, changed, headers)
    for parameter in own:
        for text in forms(parameter):
            elsewhere = f"/{route.address({**own, parameter: quote(text, safe='')})}"
            yield Sent(f"path {parameter}", elsewhere, body, headers)
    told = [each for each in raw.get("parameters", []) if "in" in each]
    for each in (each["name"] for each in told if each["in"] == "query"):
        joined = "&" if "?" in address else "?"
        yield Sent(f"query {each}", f"{address}{joined}timeout=0&{each}={SECRET}", body, headers)
    named = {each["name"] for each in told if each["in"] == "header"}
    apart = [[each] for each in sorted(named)]
    unnamed = sorted({*UNNAMED} - named)
    # In a quick run those that the operation does not name together: it is carried out with any of them.
    apart += [[each] for each in unnamed] if THOROUGH else [unnamed]
    for each in apart:
        keys = {f"HTTP_{header.upper().replace('-', '_')}": SECRET for header in each}
        yield Sent(f"header {', '.join(each)}", address, body, {**headers, **keys})


def said(params: Any) -> str:
    """The parameters of a statement as one text, those of many rows too."""
    if isinstance(params, bytes | memoryview):
        return bytes(params).decode(errors="replace")
    if isinstance(params, dict):
        params = list(params.values())
    return "\n".join(map(said, params)) if isinstance(params, list | tuple) else str(params)


@pytest.mark.timeout(900 if THOROUGH else 300)
def test_SR1_no_operation_stores_a_secret_that_stands_in_the_place_of_a_text(acme: World) -> None:
    documented = {each["operationId"]: each for _, _, each in openapi.operations_in(openapi.document())}
    names = [name for name in documented if name in OPERATIONS and not name.startswith("seam")]
    names = [name for name in names if THOROUGH or OPERATIONS[name][1] != "GET"]
    for name in names:
        OPERATIONS[name][0].real(acme)
    vault.store_secret(acme.scope.tenant_id, "canary", SECRET, now=timezone.now())
    assert SECRET not in everything_stored()
    stored, taken, written = [], set(), [False]

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        written[0] = written[0] or (not sql.startswith("SELECT") and SECRET in said(params))
        return execute(sql, params, many, context)

    for name in names:
        with building.undone(), connection.execute_wrapper(note):
            for sent in requests(acme, name, documented[name]):
                with transaction.atomic():
                    written[0] = False
                    answer = acme.ask(OPERATIONS[name][1], sent.address, sent.body, **sent.headers)
                    # Where no statement had it, nothing is looked through, which takes longer than the request.
                    if written[0] and SECRET in everything_stored():
                        stored.append(f"{name} {sent.where}: {answer.status_code}")
                    if answer.status_code < 300:
                        taken.add(name)
                        transaction.set_rollback(True)
    assert stored == []
    assert len(taken) > 0.8 * len(names)


# The fields that are stored as they are: what is sent, and the field that the refusal names.
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("changeMemoryPolicy", {"embeddingModel": SECRET}, "embeddingModel"),
    ("changeMemoryPolicy", {"endpointUrl": URL}, "endpointUrl"),
    ("createApiKey", {"role": "viewer", "name": SECRET}, "name"),
    ("createApiKey", {"role": "viewer", "agents": ["a", SECRET]}, "agents"),
    (
        "createSchedule",
        {"name": "n", "workflowId": "conformance-noop", "cron": "0 3 * * *", "agentId": SECRET},
        "agentId",
    ),
    ("putMcpServer", {"url": URL}, "url"),
    ("registerWebhook", {"url": URL, "events": ["run.ended"]}, "url"),
    ("registerWebhook", {"url": "https://example.com/", "events": ["run.ended"], "tags": [SECRET]}, "tags"),
]


def test_SR1_a_name_that_holds_a_secret_is_refused_by_its_field_and_is_not_repeated(acme: World) -> None:
    vault.store_secret(acme.scope.tenant_id, "canary", SECRET, now=timezone.now())
    agent = {"HTTP_X_AGENT_ID": f"x{SECRET}"}
    asked: list[tuple[str, str, dict[str, Any], str, dict[str, str]]] = []
    for name, body, field in REFUSED:
        route, method, _ = OPERATIONS[name]
        asked.append((method, f"/{route.address(route.real(acme))}", body, field, {}))
    asked.append(("PUT", f"/v1/host/console/secrets/{SECRET}", {"value": "another-value"}, "name", {}))
    asked.append(("PUT", "/v1/host/console/secrets/its-own-value", {"value": "own-value"}, "name", {}))
    asked.append(("POST", "/v1/host/console/memory", {"memoryRef": "n", "content": "x"}, "X-Agent-ID", agent))
    asked.append(("POST", "/v1/host/console/external-runs", {"system": "x", "runId": "1"}, "X-Agent-ID", agent))
    asked.append(("POST", "/api/v1/intents", {"title": "x"}, "X-Agent-ID", agent))
    for method, address, body, field, headers in asked:
        answer = acme.ask(method, address, body, **headers)
        assert answer.status_code == 400, (address, answer.content)
        told = answer.json()
        assert [each["field"] for each in told.get("errors") or told["details"]["errors"]] == [field]
        assert SECRET not in answer.content.decode()
    assert SECRET not in everything_stored()


def test_SR1_a_read_as_an_agent_named_by_a_secret_asks_for_no_secret(acme: World) -> None:
    vault.store_secret(acme.scope.tenant_id, "canary", SECRET, now=timezone.now())
    with CaptureQueriesContext(connection) as sent:
        assert acme.ask("GET", "/api/v1/intents", HTTP_X_AGENT_ID=SECRET).status_code == 200
    assert not [each for each in sent if "host_secret" in each["sql"]]


def test_SR1_what_is_stored_under_a_name_that_became_a_secret_can_still_be_mended(acme: World) -> None:
    """The name came first: a value is replaced, the server and the secret are removed."""
    for address, body in (("mcp-servers", {"url": "https://example.com/"}), ("secrets", {"value": "a-value"})):
        assert acme.ask("PUT", f"/v1/host/console/{address}/{SECRET}", body).status_code in {201, 204}
    vault.store_secret(acme.scope.tenant_id, "canary", SECRET, now=timezone.now())
    assert acme.ask("PUT", f"/v1/host/console/secrets/{SECRET}", {"value": "b-value"}).status_code == 204
    for address in ("mcp-servers", "secrets"):
        assert acme.ask("DELETE", f"/v1/host/console/{address}/{SECRET}").status_code == 204
