"""Building blocks of endpoints: strict JSON, closed bodies with limits on size and depth, and ``@operation``.

``/v1/openapi.json`` is generated from the URLs, these descriptions and the serializers; a view without one fails a
test.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Generic, TypeAlias, TypeVar, cast

import orjson
from django.conf import settings
from django.http import HttpResponse
from django.utils.http import parse_etags
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser

from memory.host import ids
from memory.host.errors import MOST_PROBLEMS, TooLarge
from memory.host.json_types import JSONObject
from memory.host.paging import Page, cursor
from memory.host.tenancy import TenantScope

RFC_3339 = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})")
MAX_DEPTH = 64
BODY = "body"
LONGEST_NAME = 40  # of a member that an error names
TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
# The ``META`` key of the refusal for a body that the server did not read to its end.
REFUSED = "openwop.refused"
OR = "|"  # between permissions of which one is enough
View = TypeVar("View", bound=Callable[..., Any])
Row = TypeVar("Row")
Serializer = type[serializers.Serializer[Any]]
AnyField = serializers.Field[Any, Any, Any, Any]
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


class Query(dict[str, str]):
    """Query parameters, which are all texts."""


class Closed(serializers.Serializer[Any]):
    """Refuses keys of a body that it does not declare, with the name of each, and a body that is no object.

    In a body a number is a JSON number, a boolean ``true`` or ``false``, and a text a JSON string: nothing is
    converted. In a query everything is a text, which is read as what the field says; the routes
    of a protocol ignore what they do not know, and the middleware refuses it for the host extension.
    """

    def to_internal_value(self, data: object) -> Any:
        if isinstance(data, dict) and not isinstance(data, Query):
            unknown = sorted(set(data) - set(self.fields))
            if unknown:
                first = unknown[:MOST_PROBLEMS]
                raise serializers.ValidationError({name[:100]: ["is not a field of this request"] for name in first})
            wrong = {name: found for name, value in data.items() if (found := _mistyped(self.fields[name], value))}
            if wrong:
                raise serializers.ValidationError({name: [message] for name, message in wrong.items()})
        return super().to_internal_value(data)


class Nothing(Closed):
    """No body, or an empty one."""


def _mistyped(field: object, value: object) -> str:
    """Return the error when ``value`` is not of the field's JSON type; empty when it is, or is null.

    A list that is too long is refused before its items are checked, which takes 25 microseconds each.
    """
    if value is None:
        return ""
    if isinstance(field, serializers.ListField):
        if isinstance(value, list) and field.max_length is not None and len(value) > field.max_length:
            return str(field.error_messages["max_length"]).format(max_length=field.max_length)
        items = value if isinstance(value, list) else ()
        return next((f"must hold only items of which each {found}" for item in items
                     if (found := _mistyped(field.child, item))), "")  # fmt: skip
    for kind, types, message in JSON_TYPES:
        if isinstance(field, kind):
            fits = isinstance(value, types) and (bool in types or not isinstance(value, bool))
            return "" if fits else message
    return ""


JSON_TYPES: tuple[tuple[Any, tuple[type, ...], str], ...] = (
    (serializers.BooleanField, (bool,), "must be true or false"),
    ((serializers.IntegerField, serializers.FloatField), (int, float), "must be a number"),
    ((serializers.CharField, serializers.ChoiceField, serializers.DateTimeField), (str,), "must be a text"),
)


class Text(serializers.CharField):
    """A JSON string as it was sent, white space and all; a number is none."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


class SoughtRef(Text):
    """A ref of memory that is looked for. One that no memory can have is answered like one that holds nothing."""

    def __init__(self) -> None:
        super().__init__(required=False)
        self.validators = []

    def to_internal_value(self, data: object) -> str:
        return super().to_internal_value(data).replace("\x00", "\x01")


class Whole(serializers.IntegerField):
    """A JSON number without a fraction; a text of digits is none."""

    def to_internal_value(self, data: object) -> int:
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("invalid")
        return int(super().to_internal_value(data))


class After(Text):
    """What ``next`` gave: the id of a row of this list, of which there may be none any more."""

    def __init__(self, prefix: str) -> None:
        super().__init__(required=False)
        self.prefix = prefix

    def to_internal_value(self, data: object) -> Any:
        found = ids.parse(self.prefix, super().to_internal_value(data))
        if found is None:
            raise serializers.ValidationError("is not what next gave")
        return found


class Instant(Text):
    """RFC 3339 with an offset, kept to the millisecond."""

    def to_internal_value(self, data: object) -> Any:
        try:
            text = super().to_internal_value(data).upper()
            at = datetime.fromisoformat(text) if RFC_3339.fullmatch(text) else self._refuse()
            at = at.replace(microsecond=at.microsecond // 1000 * 1000)
            return at if at.utcoffset() is not None and 1970 < at.year < 9000 else self._refuse()
        except ValueError:
            return self._refuse()

    def _refuse(self) -> Any:
        raise serializers.ValidationError("must be an RFC 3339 time with its offset")


Body = TypeVar("Body", bound=Closed)


def checked(serializer: type[Body], data: object) -> Body:
    """Return the serializer with valid ``data``; refuses invalid data."""
    filled = copy(cast("Body", _empty(serializer)))
    filled.initial_data = data
    filled.is_valid(raise_exception=True)
    return filled


@cache
def _empty(serializer: type[Closed]) -> Closed:
    """Return an instance with its fields, which are stateless: building them takes longer than using them."""
    made = serializer(data={})
    assert made.fields is not None
    return made


def query_of(request: Any) -> Query:
    """Return the query parameters of a request, the last value of each."""
    return Query({name: request.query_params[name] for name in request.query_params})


def depth_of(text: str) -> int:
    """Return the nesting depth of the brackets in ``text``, JSON or not; linear, and without recursion."""
    deepest = depth = 0
    for token in TOKEN.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        deepest = max(deepest, depth)
    return deepest


class NulInBody(ParseError):
    """A text or name of the body holds a NUL, which no database keeps; ``field`` names it."""

    def __init__(self, field: str) -> None:
        super().__init__("The body holds a NUL character.")
        self.field = field


class StrictJSONParser(BaseParser):
    """The parser of all faces. An empty body is an empty object."""

    media_type = "application/json"
    too_large: type[TooLarge] = TooLarge

    def most(self) -> int:
        """Return the size limit of a body in bytes."""
        return int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)

    def read(self, stream: Any) -> bytes:
        """Return the whole body; refused when it is larger than the limit."""
        most = self.most()
        raw: bytes = stream.read(most + 1)
        if len(raw) > most:
            raise self.too_large(f"A body has at most {most} bytes.")
        return raw

    def parse(
        self, stream: object, media_type: str | None = None, parser_context: Mapping[str, object] | None = None
    ) -> Any:
        raw = self.read(stream)
        return self.parsed(raw) if raw.strip() else {}

    def parsed(self, raw: bytes) -> Any:
        """Parse a body; refuses invalid JSON, deep nesting and NUL characters."""
        try:
            value = orjson.loads(raw)
        except ValueError:
            raise ParseError("The body is not valid JSON in UTF-8.") from None
        if depth_of(raw.decode()) > MAX_DEPTH:
            raise ParseError(f"The body is nested deeper than {MAX_DEPTH} levels.")
        if b"\\u0000" in raw and (place := _place_of_nul(value)) is not None:
            raise NulInBody(place)
        return value


class JsonAlone(DefaultContentNegotiation):
    """Content negotiation of every face: it answers JSON, whatever the client accepts (RFC 9110 12.4.1)."""

    def select_renderer(self, request: Any, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


def parser_of(view: object) -> StrictJSONParser:
    """Return the parser for bodies of ``view``."""
    known = getattr(getattr(view, "cls", None), "parser_classes", ())
    return next((kind() for kind in known if issubclass(kind, StrictJSONParser)), StrictJSONParser())


def _place_of_nul(value: object, place: str = BODY) -> str | None:
    """The field that holds a NUL, as ``origin.node``; "body" for the body as a whole, None without one.

    A name that is no word is not told back.
    """
    if isinstance(value, str):
        return place if "\x00" in value else None
    parts: Iterable[tuple[str, object]] = ()
    if isinstance(value, list):
        parts = ((place, item) for item in value)
    elif isinstance(value, dict):
        if any("\x00" in key for key in value):
            return place
        parts = ((_under(place, key), item) for key, item in value.items())
    return next((found for name, item in parts if (found := _place_of_nul(item, name)) is not None), None)


def _under(place: str, key: str) -> str:
    """The place of a member, to two levels."""
    is_name = key.isidentifier() and len(key) <= LONGEST_NAME and "." not in place
    return place if not is_name else key if place == BODY else f"{place}.{key}"


def closed(title: str = "", /, **properties: Schema) -> Schema:
    """Return the schema of an object with exactly these properties; a title makes it a named component of the
    document."""
    named = {"title": title} if title else {}
    return named | {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


def also(schema: Schema, /, **optional: Schema) -> Schema:
    """Return the closed object's schema with further optional properties."""
    return {**schema, "properties": {**schema["properties"], **optional}}


def listed(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def words(values: Iterable[object]) -> Schema:
    """Return the schema of one of these words."""
    return {"type": "string", "enum": [str(each) for each in values]}


# The members of an answer: the schema of each, and its value of a row.
Members: TypeAlias = dict[str, tuple[Schema, Callable[[Row], object]]]


class Omittable(dict[str, Any]):
    """The schema of a member that an answer leaves out when its value is None."""


class Answer(dict[str, Any], Generic[Row]):
    """An object of an answer: the JSON Schema of a closed object, which also makes the object from a row.

    Each member is declared once, with its schema and its value of a row, in the order of the wire. A title makes the
    schema a named component of the document.
    """

    def __init__(self, title: str = "", /, **members: tuple[Schema, Callable[[Row], object]]) -> None:
        omittable = {name: schema for name, (schema, _) in members.items() if isinstance(schema, Omittable)}
        needed = {name: schema for name, (schema, _) in members.items() if name not in omittable}
        super().__init__(also(closed(title, **needed), **omittable))
        self.members: Members[Row] = members
        self._omittable = frozenset(omittable)

    def document(self, row: Row) -> JSONObject:
        """Return the object for ``row``."""
        made = {name: value(row) for name, (_, value) in self.members.items()}
        for name in self._omittable:
            if made[name] is None:
                del made[name]
        return made

    def documents(self, rows: Iterable[Row]) -> list[JSONObject]:
        """Return the object for each row."""
        return [self.document(row) for row in rows]


def page_answer(title: str, name: str, item: Answer[Row], prefix: str = "") -> Answer[Page[Row]]:
    """Return the answer of a list: its rows under ``name``, how many there are in all, and the cursor of the next page,
    which is an id with this prefix or, without one, a name."""
    rows: tuple[Schema, Callable[[Page[Row]], object]] = (listed(item), lambda page: item.documents(page.rows))
    return Answer[Page[Row]](
        title,
        **{name: rows},
        total=(COUNT, lambda page: page.total),
        next=(nullable(TEXT), lambda page: cursor(prefix, page.after) if prefix else page.after),
    )


@dataclass(frozen=True, slots=True)
class Operation:
    """The declaration of a view, for code that reads the view and not the document."""

    name: str
    scope: str | None
    waits: bool = False
    parameters: frozenset[str] = frozenset()
    shown_once: tuple[str, ...] = ()

    def check(self, caller: TenantScope) -> None:
        """Refuse a principal without the permissions that every request of this kind needs."""
        for needed in (self.scope or "").split():
            either = needed.split(OR)
            if not any(map(caller.can, either)):
                caller.check(either[0])


def operations_of(view: object) -> dict[str, Operation]:
    """Return the operations of ``view`` by method; a view with a single operation has it under the empty name."""
    found: dict[str, Operation] = getattr(view, "operations", {})
    return found


def operation_of(view: object, method: str) -> Operation | None:
    """Return the operation that ``view`` declares for ``method``."""
    known = operations_of(view)
    return known.get(method) or known.get("")


def operation(
    name: str,
    *,
    scope: str | None,
    gives: Mapping[Status, object],
    takes: Serializer | Mapping[str, object] | None = None,
    query: Serializer | None = None,
    headers: tuple[str, ...] = (),
    method: str | None = None,
    tag: str = "",
    waits: bool = False,
    shown_once: tuple[str, ...] = (),
) -> Callable[[View], View]:
    """Declare the view's operation ``name`` (camelCase, unique).

    ``scope`` is the required permission, None when it is public, "" when any credential will do; several are separated
    by a space, and alternatives by ``|``. ``takes`` is the serializer or JSON Schema of its body, ``query`` the
    serializer of its query, ``headers`` the headers that it reads in addition to the credential. ``gives`` maps each
    status (with its media type, for an answer that is not JSON) to a JSON Schema, a serializer, or None for an empty
    body; refusals need not be named, the generator adds the envelope. A view of several methods names each with
    ``method``. One that ``waits`` for another process commits as it goes, with an ``Idempotency-Key`` too. Members
    named in ``shown_once`` are in the answer that is sent and null in every stored copy.
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


def _extensions(scope: str | None, body: Serializer | Mapping[str, object] | None) -> JSONObject | None:
    """Return the permission, and the body of a deletion, as extensions, since the generator has no place for them."""
    said = {} if scope is None else {"x-required-scope": scope}
    return said | ({"x-request-body": body} if body else {}) or None


def _parameters(query: Serializer | None, headers: tuple[str, ...]) -> list[Any]:
    named = [OpenApiParameter(header, str, OpenApiParameter.HEADER) for header in headers]
    return [query, *named] if query else [*named]


def _telling(documented: Any, method: str, described: Operation) -> Callable[[View], View]:
    """Return the decorator that documents a view and stores its operation on it."""

    def decorate(view: View) -> View:
        known = operations_of(view)
        shown: View = documented(view)
        shown.operations = {**known, method: described}  # type: ignore[attr-defined]
        return shown

    return decorate


def is_known(headers: Mapping[str, str], etag: str) -> bool:
    """Return whether ``If-None-Match`` names the tag: alone, among others, as a weak one, or as any (RFC 9110
    13.1.2)."""
    known = {each.removeprefix("W/") for each in parse_etags(headers.get("If-None-Match", ""))}
    return not known.isdisjoint({etag.removeprefix("W/"), "*"})


# How long a proxy or a client may keep what this host says of itself.
CACHE_SECONDS = 300


def public_document(headers: Mapping[str, str], body: str | bytes, etag: str) -> HttpResponse:
    """Answer a document that is the same for everybody: 304 to who has the one of that tag (RFC 9110, 13.1.2)."""
    same = is_known(headers, etag)
    response = HttpResponse(status=304) if same else HttpResponse(body, content_type="application/json")
    response["ETag"] = etag
    response["Cache-Control"] = f"public, max-age={CACHE_SECONDS}"
    return response
