"""Serve ``GET /v1/openapi.json``: every operation of every face, generated from the URL configuration and
``@operation``.

drf-spectacular reads the views and serializers; the hooks here add what all operations share: the credentials, the one
envelope of refusals, ``Idempotency-Key``, and a name for every schema that has a title. The document names no tenant
and is generated once per process.
"""

import hashlib
import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from drf_spectacular.extensions import OpenApiSerializerExtension, OpenApiSerializerFieldExtension
from drf_spectacular.generators import SchemaGenerator
from rest_framework.decorators import api_view, content_negotiation_class
from rest_framework.negotiation import BaseContentNegotiation

from memory.host.http import OR, Status, operation, public_document
from memory.host.json_types import JSONObject
from openwop_console import VERSION, discovery
from openwop_console.health import ready

SERVED = ("/v1/", "/api/v1/", "/.well-known/", "/healthz", "/readyz")
OPENINTENT = "/api/"
METHODS = ("get", "post", "put", "patch", "delete")
MUTATING = frozenset(METHODS) - {"get"}
ERROR_ENVELOPE: JSONObject = {
    "type": "object",
    "description": "Every refusal: a stable code, a sentence for a person, and details without content.",
    "required": ["error", "message"],
    "properties": {
        "error": {"type": "string", "pattern": "^[a-zA-Z][a-zA-Z0-9_]*$"},
        "message": {"type": "string", "minLength": 1},
        "details": {"type": "object"},
    },
    "additionalProperties": False,
}
OPENINTENT_ERROR: JSONObject = {
    "type": "object",
    "description": "Every refusal of OpenIntent: its code, a sentence for a person, and what the code names besides.",
    "required": ["error", "message", "detail"],
    "properties": {
        "error": {"type": "string", "pattern": "^[A-Z][A-Z_]*$"},
        "message": {"type": "string", "minLength": 1},
        "detail": {"type": "string", "minLength": 1},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}
SECURITY_SCHEMES: JSONObject = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key of this host."},
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same key."},
}
SECURITY: list[JSONObject] = [{"bearer": []}, {"apiKey": []}]
IDEMPOTENCY_KEY: JSONObject = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "With the same key and body the request takes effect once, and gets the same answer for a day.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[A-Za-z0-9._~:@!$&'()*+,;=/-]+$"},
}
REPLAY_HEADER: JSONObject = {
    "description": "`true` when this answer was given to an earlier request with the same key.",
    "schema": {"type": "string", "enum": ["true"]},
}
REFUSALS: dict[str, str] = {
    "400": "The request is not valid.",
    "401": "No valid credential of this host was sent.",
    "403": "The credential lacks the permission; `details.requiredScope` names it.",
    "404": "This tenant has nothing there; unknown, foreign and malformed ids answer alike.",
    "409": "The current state does not allow it.",
    "410": "It existed, and is gone for good.",
    "413": "The body is larger than this host accepts.",
    "415": "The body is not `application/json`.",
    "422": "Well formed, but not valid for what it is.",
    "500": "The host failed; `details.correlationId` finds the failure in its log.",
    "501": "This host does not offer that; `details.capability` names what is missing.",
    "503": "The host has no room for this now.",
}
OPENINTENT_REFUSALS: dict[str, str] = {
    **{status: text for status, text in REFUSALS.items() if status not in {"410", "422"}},
    "404": "There is nothing there that this caller may see.",
    "409": "The current state, or version, does not allow it.",
    "428": "`If-Match` must name the version.",
    "429": "There is no room for it, or there were too many.",
}
OF_PUBLIC = ("500",)
OF_READS = ("400", "401", "403", "404", "410", "500", "503")
OPENAPI: JSONObject = {
    "type": "object",
    "required": ["openapi", "info", "paths"],
    "properties": {"openapi": {"type": "string", "pattern": r"^3\.1\."}, "info": {}, "paths": {"type": "object"}},
}
DISCOVERY: JSONObject = {
    "title": "Capabilities",
    "type": "object",
    "description": "What this host honours; every family is at the root and under `capabilities`.",
    "required": ["protocolVersion", "implementation", "supportedEnvelopes", "schemaVersions", "limits"],
    "properties": {"protocolVersion": {"type": "string", "pattern": r"^1\."}, "capabilities": {"type": "object"}},
}
READINESS: JSONObject = {
    "title": "Readiness",
    "type": "object",
    "description": "Whether this host can serve; a check that was not reached is left out.",
    "required": ["ready", "reason", "checks"],
    "properties": {
        "ready": {"type": "boolean"},
        "reason": {"type": "string", "description": "Empty when the host is ready."},
        "checks": {"type": "object", "additionalProperties": {"type": "boolean"}},
    },
}


class AsItIs(BaseContentNegotiation):
    """Content negotiation for a document that has one form, whatever ``Accept`` says."""

    def select_renderer(self, request: object, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


class ClosedBodies(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # their metaclass
    """Describe a ``Closed`` body with ``additionalProperties: false``."""

    target_class = "memory.host.http.Closed"
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: object) -> JSONObject:
        found: JSONObject = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)  # noqa: SLF001
        return {**found, "additionalProperties": False}


class OneOfWords(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]  # their metaclass
    """Describe an OpenIntent ``Word`` field as an enum."""

    target_class = "memory.openintent.api.serializers.Word"

    def map_serializer_field(self, auto_schema: object, direction: object) -> JSONObject:
        null = [None] if self.target.allow_null else []
        return {"type": "string", "enum": [*map(str, self.target.words), *null]}


def served(endpoints: list[Any], **_: object) -> list[Any]:
    """Keep the endpoints of the faces, and drop pages."""
    return [each for each in endpoints if each[0].startswith(SERVED)]


def completed(result: JSONObject, **_: object) -> JSONObject:
    """Add to the generated document what all operations share."""
    result["info"]["version"] = VERSION
    components: JSONObject = result.setdefault("components", {})
    schemas: JSONObject = components.setdefault("schemas", {})
    for path, method, each in operations_in(result):
        _complete(path, method, each)
        for answer in each["responses"].values():
            for media in answer.get("content", {}).values():
                media["schema"] = _lift_components(media["schema"], schemas)
    schemas["ErrorEnvelope"] = ERROR_ENVELOPE
    schemas["OpenIntentError"] = OPENINTENT_ERROR
    components["securitySchemes"] = SECURITY_SCHEMES
    components["parameters"] = {"IdempotencyKey": IDEMPOTENCY_KEY}
    components["responses"] = {
        **{f"Refused{status}": _refusal(text, "ErrorEnvelope") for status, text in REFUSALS.items()},
        **{f"OpenIntentRefused{status}": _refusal(text, "OpenIntentError")
           for status, text in OPENINTENT_REFUSALS.items()},
    }  # fmt: skip
    return result


def operations_in(document: JSONObject) -> Iterator[tuple[str, str, JSONObject]]:
    """Yield the path, method and operation of every operation."""
    for path, item in document["paths"].items():
        yield from ((path, method, item[method]) for method in METHODS if method in item)


def _refusals(path: str, method: str, *, public: bool) -> tuple[str, ...]:
    """Return the statuses an operation may refuse with: a public document only 500, one with a token in its path like a
    read, and 409 once the token was used."""
    if method in MUTATING:
        return tuple(OPENINTENT_REFUSALS if path.startswith(OPENINTENT) else REFUSALS)
    if path.startswith(OPENINTENT):
        return tuple(status for status in OF_READS if status in OPENINTENT_REFUSALS)
    if public:
        return (*OF_READS, "409") if "{" in path else OF_PUBLIC
    return OF_READS


def _complete(path: str, method: str, each: JSONObject) -> None:
    public, openintent = "x-required-scope" not in each, path.startswith(OPENINTENT)
    if body := each.pop("x-request-body", None):
        each["requestBody"] = {"content": {"application/json": {"schema": body}}}
    for parameter in each.get("parameters", ()):
        if parameter["schema"].get("default") == "":  # stands for a parameter that is absent
            del parameter["schema"]["default"]
    each["security"] = [] if public else SECURITY
    for status in _refusals(path, method, public=public):
        name = f"OpenIntentRefused{status}" if openintent and status in OPENINTENT_REFUSALS else f"Refused{status}"
        each["responses"].setdefault(status, {"$ref": f"#/components/responses/{name}"})
    if method in MUTATING and not public and not openintent:
        each.setdefault("parameters", []).append({"$ref": "#/components/parameters/IdempotencyKey"})
        for status, answer in each["responses"].items():
            if status.startswith("2"):
                answer.setdefault("headers", {})["openwop-Idempotent-Replay"] = REPLAY_HEADER


def _refusal(text: str, schema: str) -> JSONObject:
    reference = {"$ref": f"#/components/schemas/{schema}"}
    return {"description": text, "content": {"application/json": {"schema": reference}}}


def _lift_components(schema: object, schemas: JSONObject) -> Any:
    """Move every part whose title is an identifier to the components, and replace it with a reference."""
    if isinstance(schema, list):
        return [_lift_components(each, schemas) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _lift_components(value, schemas) for key, value in schema.items()}
    title = inner.get("title")
    if not isinstance(title, str) or not title.isidentifier():
        return inner
    known = schemas.setdefault(title, inner)
    assert known == inner, f"two schemas of the API have the title {title!r}"
    return {"$ref": f"#/components/schemas/{title}"}


_making = threading.Lock()


def document() -> JSONObject:
    """Return the OpenAPI document of this host.

    The generator keeps state in the views, so one thread generates it and the others wait.
    """
    with _making:
        return _document()


@cache
def _document() -> JSONObject:
    generator: Any = SchemaGenerator
    made: JSONObject = generator().get_schema(request=None, public=True)
    return made


@cache
def _text() -> tuple[bytes, str]:
    body = json.dumps(document(), separators=(",", ":")).encode()
    return body, f'"{hashlib.sha256(body).hexdigest()[:32]}"'


Plain = Callable[[HttpRequest], HttpResponse]


def public(name: str, view: Plain, gives: Mapping[Status, object], headers: tuple[str, ...] = ()) -> Any:
    """Wrap a plain Django view as a public endpoint of the document."""

    def endpoint(request: HttpRequest) -> HttpResponse:
        return view(request)

    endpoint.__doc__ = view.__doc__
    wrapped = api_view(["GET", "HEAD"])(content_negotiation_class(AsItIs)(endpoint))
    return operation(name, scope=None, gives=gives, headers=headers, tag="host")(wrapped)


def _openapi(request: HttpRequest) -> HttpResponse:
    """This document."""
    body, etag = _text()
    return public_document(request.headers, body, etag)


CONDITIONAL = ("If-None-Match",)


openapi = public("getApiDocument", _openapi, {200: OPENAPI, 304: None}, CONDITIONAL)


discovered = public("getDiscovery", discovery.discovery, {200: DISCOVERY, 304: None}, CONDITIONAL)


health = public("getHealth", discovery.health, {(200, "text/plain"): {"type": "string"}})


readiness = public("getReadiness", ready, {200: READINESS, 503: READINESS})


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or body member: its name, location, type, and whether it is required."""

    name: str
    place: str
    kind: str
    required: bool
    words: str


@dataclass(frozen=True, slots=True)
class DescribedAnswer:
    """One status, its meaning, and the schema of its body, which may be the name of a schema in the document."""

    status: str
    words: str
    kind: str
    schema: str

    @property
    def is_refusal(self) -> bool:
        return self.status[0] in "45"


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one address."""

    name: str
    method: str
    path: str
    scopes: list[str]
    is_public: bool
    words: str
    parameters: list[Field]
    body: list[Field]
    body_is_open: bool
    answers: list[DescribedAnswer]
    refusals: list[DescribedAnswer]


@dataclass(frozen=True, slots=True)
class Group:
    """The operations under one tag."""

    tag: str
    operations: list[Operation]


@dataclass(frozen=True, slots=True)
class Named:
    """A named schema, as JSON text."""

    name: str
    text: str


def groups(document: JSONObject) -> list[Group]:
    """Group every operation by tag: tags sorted, operations in the order of the document."""
    found: dict[str, list[Operation]] = defaultdict(list)
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                each = item[method]
                found[each.get("tags", ["other"])[0]].append(_operation(document, path, method, each))
    return [Group(tag, operations) for tag, operations in sorted(found.items())]


def schemas(document: JSONObject) -> list[Named]:
    """Return the named schemas, sorted by name."""
    known = document["components"]["schemas"]
    return [Named(name, json.dumps(known[name], indent=2, ensure_ascii=False)) for name in sorted(known)]


def _operation(document: JSONObject, path: str, method: str, each: JSONObject) -> Operation:
    given = each.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    body = _resolved(document, given) if given else {}
    answers = [_answer(document, status, each["responses"][status]) for status in sorted(each["responses"])]
    return Operation(
        name=each["operationId"],
        method=method.upper(),
        path=path,
        scopes=[scope.replace(OR, " or ") for scope in each.get("x-required-scope", "").split()],
        is_public=each.get("security") == [],
        words=each.get("description", ""),
        parameters=[_parameter(_resolved(document, parameter)) for parameter in each.get("parameters", [])],
        body=_members(body),
        body_is_open=bool(given) and not body.get("properties"),
        answers=[answer for answer in answers if not answer.is_refusal],
        refusals=[answer for answer in answers if answer.is_refusal],
    )


def _resolved(document: JSONObject, schema: JSONObject) -> JSONObject:
    """Return the target of a reference; any other schema unchanged."""
    found: Any = document
    for step in schema.get("$ref", "").split("/")[1:]:
        found = found[step]
    return schema if found is document else found


def _parameter(given: JSONObject) -> Field:
    schema = given.get("schema", {})
    return Field(given["name"], given["in"], kind(schema), given.get("required", False), given.get("description", ""))


def _members(body: JSONObject) -> list[Field]:
    needed = body.get("required", [])
    given = {name: schema for name, schema in body.get("properties", {}).items() if schema is not False}
    return [
        Field(name, "body", kind(schema), name in needed, schema.get("description", ""))
        for name, schema in given.items()
    ]


def _answer(document: JSONObject, status: str, given: JSONObject) -> DescribedAnswer:
    answer = _resolved(document, given)
    schema = next((media["schema"] for media in answer.get("content", {}).values()), None)
    words = answer.get("description") or ("" if schema is None else "The answer.")
    if schema is None:
        return DescribedAnswer(status, words, "no body", "")
    return DescribedAnswer(status, words, kind(schema), schema.get("$ref", "").rpartition("/")[2])


def kind(schema: JSONObject) -> str:
    """Summarise a schema in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return " or ".join(dict.fromkeys(kind(each) for each in schema[choice]))
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(str(each) for each in schema["enum"])
    return _plain(schema)


def _plain(schema: JSONObject) -> str:
    named = schema.get("type", "anything")
    if isinstance(named, list):
        return " or ".join(named)
    if named == "array":
        return f"list of {kind(schema.get('items', {}))}"
    limits = _between(schema, "minimum", "maximum") or _between(schema, "minLength", "maxLength", " characters")
    return " ".join(part for part in (named, limits, schema.get("format", "")) if part)


def _between(schema: JSONObject, least: str, most: str, unit: str = "") -> str:
    low, high = schema.get(least), schema.get(most)
    if high is None:
        return "" if low in (None, 0, 1) else f"from {low}{unit}"
    return f"up to {high}{unit}" if low in (None, 0) else f"{low} to {high}{unit}"
