"""``/v1/openapi.json``: every route is in it, it is valid, it names no tenant, and the page shows just that."""

import json
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import inflection
import pytest
from django.core.management.utils import get_random_secret_key
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.validation import validate_schema
from pytest_django.fixtures import Settings

from memory.host import access
from memory.host.http import COUNT, Answer, Omittable, operations_of
from openwop_console import middleware, openapi
from openwop_console.process import bind_address
from tests import building
from tests.pages.conftest import body_of

pytestmark = pytest.mark.django_db
FACES = ("/v1/", "/api/v1/", "/.well-known/")
OPENINTENT = "/api/"


def routes(patterns: Any = None, prefix: str = "/") -> Iterator[tuple[str, Any]]:
    """Every route of the URL configuration, as the document spells it, with its view."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        place = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, place)
        else:
            assert isinstance(pattern, URLPattern)
            spelled = re.sub(r"<(?:\w+:)?(\w+)>", lambda name: f"{{{inflection.camelize(name[1], False)}}}", place)
            yield spelled, pattern.callback


ROUTES = {path: view for path, view in routes() if path.startswith(FACES)}


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return list(openapi.operations_in(openapi.document()))


def test_every_route_of_a_face_is_in_the_document_with_all_its_methods() -> None:
    assert len(ROUTES) > 100
    document = openapi.document()
    for path, view in ROUTES.items():
        assert hasattr(view, "cls"), f"{path} is no endpoint of the REST framework"
        methods = set(view.cls().allowed_methods) - {"OPTIONS", "HEAD"}
        assert {method.upper() for method in document["paths"].get(path, {})} == methods, path


def test_every_view_has_said_what_it_is() -> None:
    for view in ROUTES.values():
        told = operations_of(view)
        methods = set(view.cls().allowed_methods) - {"OPTIONS", "HEAD"}
        assert told, f"{view.__name__} has no @operation"
        assert set(told) == methods or (set(told) == {""} and len(methods) == 1), f"{view.__name__}: one per method"


def test_the_document_is_valid_openapi_3_1() -> None:
    document = openapi.document()
    assert document["openapi"].startswith("3.1.")
    validate_schema(document)


def test_every_operation_has_a_name_of_its_own_a_tag_and_known_permissions() -> None:
    names = [each["operationId"] for _, _, each in operations()]
    assert len(names) == len(set(names))
    known = frozenset().union(*access.ROLES.values())
    assert set(access.PERMISSIONS) == known, "the page of roles has words for each"
    for path, method, each in operations():
        assert re.fullmatch(r"[a-z][A-Za-z0-9]+", each["operationId"])
        assert each["tags"] != ["v1"], f"{method} {path} has no tag"
        scopes = re.findall(r"[^ |]+", each.get("x-required-scope", ""))
        assert set(scopes) <= known, f"{method} {path} names a permission that no role has"


def test_what_needs_no_permission_is_public_or_opened_by_a_token() -> None:
    for path, _, each in operations():
        if "x-required-scope" not in each:
            assert path.startswith((*middleware.PUBLIC, *bind_address.PROBES)) or "{token}" in path, path
            assert each["security"] == []
        else:
            assert each["security"] == [{"bearer": []}, {"apiKey": []}]


def test_every_refusal_is_the_one_envelope_of_its_face() -> None:
    document = openapi.document()
    for path, method, each in operations():
        refusals = {status: answer for status, answer in each["responses"].items() if status[0] in "45"}
        assert "500" in refusals
        for status, answer in refusals.items():
            if (path, status) == ("/readyz", "503"):
                continue  # no refusal, but what a probe asks for
            name = f"OpenIntentRefused{status}" if path.startswith(OPENINTENT) else f"Refused{status}"
            assert answer == {"$ref": f"#/components/responses/{name}"}, f"{method} {path} {status}"
    for name, answer in document["components"]["responses"].items():
        shape = "OpenIntentError" if name.startswith("OpenIntent") else "ErrorEnvelope"
        assert answer["content"]["application/json"]["schema"] == {"$ref": f"#/components/schemas/{shape}"}


def test_every_change_of_openwop_takes_an_idempotency_key_and_no_read_does() -> None:
    reference = {"$ref": "#/components/parameters/IdempotencyKey"}
    for path, method, each in operations():
        takes = reference in each.get("parameters", [])
        keeps = method != "get" and "x-required-scope" in each and not path.startswith(OPENINTENT)
        assert takes == keeps, f"{method} {path}"


def test_every_route_of_openintent_says_its_answer_who_calls_and_which_version_it_changes() -> None:
    described = {each["operationId"]: each for path, _, each in operations() if path.startswith(OPENINTENT)}
    assert len(described) > 30
    for name, each in described.items():
        headers = {found["name"] for found in each.get("parameters", []) if found.get("in") == "header"}
        assert "X-Agent-ID" in headers, name
        assert each["tags"] == ["openintent"]
        changes = name.startswith("change") and name != "changeAgentStatus"
        assert ("If-Match" in headers) == (changes or name in {"deleteMemory", "deleteMemoryAt", "putMemory"}), name
        assert ("428" in each["responses"]) == ("403" in each["responses"] and "413" in each["responses"]), name
    asked = {found["name"] for found in described["queryMemory"]["parameters"] if found["in"] == "query"}
    assert {"scope.task_id", "tags_any", "memory_type", "limit", "offset", "updated_after"} <= asked
    assert (
        "filter" in described["deleteMemoryBatch"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    )


def test_bodies_are_closed() -> None:
    document = openapi.document()
    for path, method, each in operations():
        for media in each.get("requestBody", {}).get("content", {}).values():
            name = media["schema"].get("$ref", "").rpartition("/")[2]
            schema = document["components"]["schemas"][name] if name else media["schema"]
            assert schema["additionalProperties"] is False, f"{method} {path}"
            within = [part for part in schemas_in(schema) if isinstance(part.get("properties"), dict)]
            within = [] if "/host/sample/" in path else within  # the seams take what the suite sends
            assert [part for part in within if part.get("additionalProperties") is not False] == [], f"{method} {path}"


def schemas_in(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, dict):
        yield part
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from schemas_in(each)


def test_words_that_a_field_may_have_hold_its_default_and_null_just_where_its_type_does() -> None:
    words = [each for each in schemas_in(openapi.document()) if isinstance(each.get("enum"), list) and "type" in each]
    assert len(words) > 50
    for each in words:
        assert (None in each["enum"]) == ("null" in each["type"]), each
        assert each.get("default", each["enum"][0]) in each["enum"], each


def test_a_number_is_whole_unless_it_is_a_measure() -> None:
    named = [each["properties"] for each in schemas_in(openapi.document()) if isinstance(each.get("properties"), dict)]
    fractions = {name for each in named for name, part in each.items() if "number" in str(part.get("type", ""))}
    assert fractions == {"score", "confidence", "confidenceThreshold", "defaultThreshold"}


def test_an_answer_with_a_body_says_what_it_holds() -> None:
    for path, method, each in operations():
        given = {status: answer for status, answer in each["responses"].items() if status.startswith("2")}
        assert given, f"{method} {path} says nothing of its success"
        for answer in given.values():
            for media in answer.get("content", {}).values():
                assert media["schema"], f"{method} {path} has an empty schema"


def test_an_answer_is_described_by_the_members_it_is_made_of_and_leaves_out_only_what_may_be_missing() -> None:
    halves = Answer[int](
        "Halves", half=(COUNT, lambda row: row // 2), rest=(Omittable(COUNT), lambda row: row % 2 or None)
    )
    assert halves.documents([4, 5]) == [{"half": 2}, {"half": 2, "rest": 1}]
    assert halves["required"] == ["half"]
    assert halves["properties"] == {"half": COUNT, "rest": COUNT}
    assert halves["additionalProperties"] is False
    never = Answer[int](half=(COUNT, lambda _: None))
    assert never.document(4) == {"half": None}, "a member that is needed was left out"


def test_the_events_of_a_run_are_documented_as_json_and_as_a_stream() -> None:
    [answer] = [each["responses"]["200"] for _, _, each in operations() if each["operationId"] == "readRunEvents"]
    assert set(answer["content"]) == {"application/json", "text/event-stream"}
    assert answer["content"]["text/event-stream"]["schema"]["type"] == "string"


def test_it_is_public_cacheable_and_the_same_for_everybody(client: Client) -> None:
    answer = client.get("/v1/openapi.json")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    assert answer["Cache-Control"] == "public, max-age=300"
    assert answer.json() == json.loads(json.dumps(openapi.document()))
    same = client.get("/v1/openapi.json", HTTP_IF_NONE_MATCH=answer["ETag"])
    assert (same.status_code, same.content, same["ETag"]) == (304, b"", answer["ETag"])
    other = client.get("/v1/openapi.json", HTTP_ACCEPT="text/html", **building.headers("globex"))
    assert (other.status_code, other.content) == (200, answer.content)
    assert client.head("/v1/openapi.json").status_code == 200
    assert client.post("/v1/openapi.json").json()["error"] == "method_not_allowed"


def test_it_names_no_tenant_and_no_secret(client: Client, settings: Settings) -> None:
    building.remember("acme", "x")
    text = client.get("/v1/openapi.json").content.decode()
    for word in ("acme", "globex", settings.SECRET_KEY, get_random_secret_key()):
        assert word not in text


def test_options_tells_the_methods_and_nothing_else(client: Client) -> None:
    answer = client.options("/v1/runs", **building.headers())
    assert (answer.status_code, answer.content, answer["Allow"]) == (204, b"", "OPTIONS, POST")
    assert client.options("/v1/runs").status_code == 401


def test_the_page_shows_every_operation_of_the_document_and_links_to_it(client: Client) -> None:
    client.force_login(building.operator())
    shown, shared = body_of(client.get("/api")), openapi.document()["components"].get("parameters", {})
    for path, method, each in operations():
        assert f'id="{each["operationId"]}"' in shown, f"{method} {path}"
        of_it = shown.partition(f'id="{each["operationId"]}"')[2].partition("</details>")[0]
        given = [shared[one["$ref"].rpartition("/")[2]] if "$ref" in one else one for one in each.get("parameters", [])]
        names = [one["name"] for one in given]
        assert [name for name in names if f">{name}<" not in of_it] == [], f"{method} {path}"
    for name in openapi.document()["components"]["schemas"]:
        assert f'id="schema-{name}"' in shown
    for target in re.findall(r'href="#([^"]+)"', shown):
        assert f'id="{target}"' in shown, target
    assert 'href="/v1/openapi.json" download' in shown
    for words in ("http://testserver/mcp", "OTEL_EXPORTER_OTLP_ENDPOINT", "/readyz", "If-Match"):
        assert words in shown


def test_who_reads_nothing_but_the_audit_log_may_read_of_the_api_too(client: Client) -> None:
    client.force_login(building.operator(role="auditor"))
    assert client.get("/api").status_code == 200


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string", "maxLength": 64}, "string up to 64 characters"),
        ({"type": "integer", "minimum": 2, "maximum": 9}, "integer 2 to 9"),
        ({"type": "integer", "minimum": 0, "maximum": 9}, "integer up to 9"),
        ({"type": "integer", "minimum": 5}, "integer from 5"),
        ({"type": "integer", "minimum": 0}, "integer"),
        ({"type": "string", "format": "date-time"}, "string date-time"),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Run"}}, "list of Run"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string or null"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"enum": ["a", "b"]}, "a | b"),
        ({"const": True}, "true"),
        ({}, "anything"),
    ],
)
def test_a_schema_is_said_in_few_words(schema: dict[str, Any], words: str) -> None:
    assert openapi.kind(schema) == words


def test_callers_that_ask_for_the_document_at_the_same_moment_get_the_same_one() -> None:
    expected, interval = openapi.document(), sys.getswitchinterval()
    openapi._document.cache_clear()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as together:
            found = list(together.map(lambda _: openapi.document(), range(4)))
    finally:
        sys.setswitchinterval(interval)
    assert found == [expected] * 4
