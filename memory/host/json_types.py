"""Types for JSON documents that a schema or serializer has checked or will check, and the form of their numbers."""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias

import orjson

# A JSON object; its members are defined by the document's schema.
JSONObject: TypeAlias = dict[str, Any]
# One that is only read.
JSONMapping: TypeAlias = Mapping[str, Any]

# Characters: 2 MB of numbers, deeply nested, would be 60 times as many.
MOST_LAID_OUT = 1_000_000
_LARGE_FLOAT = re.compile(r"(?:^|[:,\[ ])-?\d[\d.]*e\+?\d\d")
_STRING_OR_LARGE_FLOAT = re.compile(r'"(?:[^"\\]|\\.)*"|(?<![\d.])-?\d[\d.]*e\+?\d+')


def json_bytes(document: object) -> bytes:
    """Return the document as JSON, with integers of any size."""
    try:
        return orjson.dumps(document)
    except TypeError:  # an integer of more than 64 bits, which stays what it was (R5)
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def indented(value: object) -> str:
    """The JSON of the value laid out over lines; in one line where that is long and nesting makes it many times as
    long."""
    laid_out = json.dumps(value, indent=2, ensure_ascii=False)
    if len(laid_out) <= MOST_LAID_OUT:
        return laid_out
    plain = json.dumps(value, ensure_ascii=False)
    return plain if len(laid_out) > 4 * len(plain) else laid_out


def without_exponents(text: str) -> str:
    """Write the large floats of a JSON text in full: ``1e+22`` as ``10000000000000000000000.0``.

    PostgreSQL's jsonb keeps the digits of a number and no exponent: ``1e+22`` would come back as an integer.
    """
    return _STRING_OR_LARGE_FLOAT.sub(_in_full, text) if _LARGE_FLOAT.search(text) else text


def _in_full(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else f"{Decimal(found[0]):f}.0"
