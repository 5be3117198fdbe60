"""What an endpoint of a face says about itself in ``/v1/openapi.json``: one decorator above the view, and its schemas.

The document is generated from the URL configuration, these words and the serializers; a view without them fails a test.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers

from memory.host.json_types import JSONObject

View = TypeVar("View", bound=Callable[..., Any])
Serializer = type[serializers.Serializer[Any]]
Schema = JSONObject
Status = int | tuple[int, str]
STRING: Schema = {"type": "string"}
TEXT: Schema = {"type": "string", "minLength": 1}
TIME: Schema = {"type": "string", "format": "date-time"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
POSITIVE: Schema = {"type": "integer", "minimum": 1}
OBJECT: Schema = {"type": "object"}
SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def closed(title: str = "", /, **properties: Schema) -> Schema:
    """An object of exactly these properties; with a title it is a component of the document, under that name."""
    named = {"title": title} if title else {}
    return named | {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


def also(schema: Schema, /, **optional: Schema) -> Schema:
    """The closed object, which may have these properties besides."""
    return {**schema, "properties": {**schema["properties"], **optional}}


def listed(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def words(values: Iterable[object]) -> Schema:
    """One of these words."""
    return {"type": "string", "enum": [str(each) for each in values]}


@dataclass(frozen=True, slots=True)
class Operation:
    """What a view has said of itself, for those who ask the view and not the document."""

    name: str
    scope: str | None
    waits: bool = False
    parameters: frozenset[str] = frozenset()
    shown_once: tuple[str, ...] = ()


def operations_of(view: object) -> dict[str, Operation]:
    """The operations of ``view`` by method; under the empty name the one of a view that answers but one."""
    found: dict[str, Operation] = getattr(view, "operations", {})
    return found


def operation_of(view: object, method: str) -> Operation | None:
    """What ``method`` of ``view`` has said of itself."""
    known = operations_of(view)
    return known.get(method) or known.get("")


def operation(
    name: str,
    *,
    scope: str | None,
    gives: Mapping[Status, object],
    takes: Serializer | Mapping[str, Any] | None = None,
    query: Serializer | None = None,
    headers: tuple[str, ...] = (),
    method: str | None = None,
    tag: str = "",
    waits: bool = False,
    shown_once: tuple[str, ...] = (),
) -> Callable[[View], View]:
    """The view answers as ``name`` (camelCase, unique): ``scope`` is the permission it needs, None when it is public,
    "" when any credential will do; several are separated by a space.

    ``takes`` is the serializer or JSON Schema of its body, ``query`` the serializer of its query, ``headers`` what it
    reads beside the credential. ``gives`` maps each status (with its media type, for an answer that is no JSON) to a
    JSON Schema, a serializer, or None for an empty body; refusals need not be named, the generator adds the envelope.
    A view of several methods names each with ``method``. One that ``waits`` for another process commits as it goes,
    with an ``Idempotency-Key`` too. What stands under the names ``shown_once`` is in the answer that is sent and in
    none that is kept: there it is null.
    """
    documented = extend_schema(
        operation_id=name,
        request={"application/json": takes} if isinstance(takes, Mapping) else takes,
        responses=dict(gives),
        parameters=_parameters(query, headers),
        methods=[method] if method else None,
        tags=[tag] if tag else None,
        auth=[] if scope is None else None,
        extensions=_extensions(scope, takes if method == "DELETE" else None),
    )

    parameters = frozenset(query().fields) if query else frozenset()
    return _telling(documented, method or "", Operation(name, scope, waits, parameters, shown_once))


def _extensions(scope: str | None, body: Serializer | Mapping[str, Any] | None) -> JSONObject | None:
    """The permission, and the body of a deletion, for which the generator has no place."""
    said = {} if scope is None else {"x-required-scope": scope}
    return said | ({"x-request-body": body} if body else {}) or None


def _parameters(query: Serializer | None, headers: tuple[str, ...]) -> list[Any]:
    named = [OpenApiParameter(header, str, OpenApiParameter.HEADER) for header in headers]
    return [query, *named] if query else [*named]


def _telling(documented: Any, method: str, told: Operation) -> Callable[[View], View]:
    """The decorator that documents a view and lets it tell of its operation."""

    def decorate(view: View) -> View:
        known = operations_of(view)
        shown: View = documented(view)
        shown.operations = {**known, method: told}  # type: ignore[attr-defined]
        return shown

    return decorate
