"""Bodies of OpenIntent: strict JSON with exact numbers and no name twice, and none that is too large (R5, R18, C23)."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import ParseError

from memory.host.bodies import StrictJSONParser
from memory.host.json_depth import MAX_DEPTH, depth_of
from memory.host.json_types import JSONObject

# Around a value of the depth that is allowed: the entry, the list, and the batch that it comes in.
AROUND = 3
SUSPECT = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
UNSTORABLE = re.compile("[\\x00\\ud800-\\udfff]")


class ExactJSONParser(StrictJSONParser):
    """Integers of any size stay what they are. What cannot be kept as it was sent is refused, not changed."""

    largest = 1024 * 1024

    def most(self) -> int:
        return self.largest

    def read(self, stream: object) -> bytes:
        """The whole body; one that says it is too large is refused unread."""
        said = getattr(stream, "META", {}).get("CONTENT_LENGTH") or "0"
        if said.isdecimal() and int(said[:19]) > self.most():
            raise self.too_large(f"A body has at most {self.most()} bytes.", limit=self.most())
        return super().read(stream)

    def parse(
        self, stream: object, media_type: str | None = None, parser_context: Mapping[str, object] | None = None
    ) -> Any:
        raw = self.read(stream)
        if not raw.strip():
            return {}
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            raise ParseError("The body is not valid JSON in UTF-8.") from None
        if depth_of(text) > MAX_DEPTH + AROUND:
            raise ParseError(f"The body is nested deeper than {MAX_DEPTH} levels.")
        value = _loaded(text)
        if SUSPECT.search(text) and _has_unstorable(value):
            raise ParseError("The body holds a NUL character or half a surrogate pair.")
        return value


class BatchParser(ExactJSONParser):
    """The same for a batch, which has room for many entries."""

    largest = 8 * 1024 * 1024


def _loaded(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_number, parse_float=_finite)
    except ValueError:
        raise ParseError("The body is not valid JSON in UTF-8.") from None


def _object(pairs: list[tuple[str, Any]]) -> JSONObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ParseError("An object of the body has a name twice.")
    return found


def _no_number(word: str) -> Any:
    raise ValueError(word)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _has_unstorable(value: object) -> bool:
    if isinstance(value, str):
        return UNSTORABLE.search(value) is not None
    if isinstance(value, list):
        return any(_has_unstorable(item) for item in value)
    if isinstance(value, dict):
        return any(_has_unstorable(name) or _has_unstorable(item) for name, item in value.items())
    return False
