"""What every face reads of a request: strict JSON, closed bodies, and none too large or too deep."""

import re
from collections.abc import Mapping
from copy import copy
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, cast

import orjson
from django.conf import settings
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser

from memory.host import ids
from memory.host.errors import TooLarge

RFC_3339 = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})")
MAX_DEPTH = 64
TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
# Where ``META`` has the refusal of a body that the server did not read to its end.
REFUSED = "openwop.refused"


class Query(dict[str, str]):
    """The parameters of an address, which are texts whatever they mean."""


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
                raise serializers.ValidationError({name[:100]: ["is not a field of this request"] for name in unknown})
            wrong = {name: found for name, value in data.items() if (found := _mistyped(self.fields[name], value))}
            if wrong:
                raise serializers.ValidationError({name: [message] for name, message in wrong.items()})
        return super().to_internal_value(data)


def _mistyped(field: object, value: object) -> str:
    """What type of JSON the field takes and ``value`` is not of; empty when it is, or is null."""
    if value is None:
        return ""
    if isinstance(field, serializers.ListField):
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


class Flag(serializers.BooleanField):
    """JSON's true or false; a word or a number is neither."""

    def to_internal_value(self, data: object) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


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
    """The serializer over ``data`` after it was found valid; refuses otherwise."""
    filled = copy(cast("Body", _empty(serializer)))
    filled.initial_data = data
    filled.is_valid(raise_exception=True)
    return filled


@cache
def _empty(serializer: type[Closed]) -> Closed:
    """One with its fields, which know nothing of what they check: to make them anew takes longer than to use them."""
    made = serializer(data={})
    assert made.fields is not None
    return made


def query_of(request: Any) -> Query:
    """The query parameters of a request, the last value of each."""
    return Query({name: request.query_params[name] for name in request.query_params})


def depth_of(text: str) -> int:
    """How deep the brackets of ``text`` are nested, whether it is JSON or not; linear, and without recursion."""
    deepest = depth = 0
    for token in TOKEN.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        deepest = max(deepest, depth)
    return deepest


class StrictJSONParser(BaseParser):
    """The parser of all faces. An empty body is an empty object."""

    media_type = "application/json"
    too_large: type[TooLarge] = TooLarge

    def most(self) -> int:
        """The size of the largest body that is read."""
        return int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)

    def read(self, stream: Any) -> bytes:
        """The whole body; refused when it is larger than that."""
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
        """The value that a body holds."""
        try:
            value = orjson.loads(raw)
        except ValueError:
            raise ParseError("The body is not valid JSON in UTF-8.") from None
        if depth_of(raw.decode()) > MAX_DEPTH:
            raise ParseError(f"The body is nested deeper than {MAX_DEPTH} levels.")
        if b"\\u0000" in raw and _has_nul(value):
            raise ParseError("The body holds a NUL character.")
        return value


class JsonAlone(DefaultContentNegotiation):
    """What every face answers with: JSON. Only an ``Accept`` that could mean something else is looked at."""

    def select_renderer(self, request: Any, renderers: Any, format_suffix: str | None = None) -> Any:
        if request.META.get("HTTP_ACCEPT", "*/*") in ("*/*", "application/json"):
            return renderers[0], renderers[0].media_type
        return super().select_renderer(request, renderers, format_suffix)


def parser_of(view: object) -> StrictJSONParser:
    """What reads the bodies of ``view``."""
    known = getattr(getattr(view, "cls", None), "parser_classes", ())
    return next((kind() for kind in known if issubclass(kind, StrictJSONParser)), StrictJSONParser())


def _has_nul(value: object) -> bool:
    if isinstance(value, str):
        return "\x00" in value
    if isinstance(value, list):
        return any(_has_nul(item) for item in value)
    if isinstance(value, dict):
        return any(_has_nul(key) or _has_nul(item) for key, item in value.items())
    return False
