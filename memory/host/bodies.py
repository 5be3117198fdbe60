"""JSON bodies of every face, parsed strictly: no NaN, no half surrogates, no NUL, no depth bomb, and none too large."""

from collections.abc import Mapping
from typing import Any

import orjson
from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser

from memory.host.errors import TooLarge
from memory.host.json_depth import MAX_DEPTH, depth_of

# Where ``META`` has the refusal of a body that the server did not read to its end.
REFUSED = "openwop.refused"


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
        if not raw.strip():
            return {}
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
