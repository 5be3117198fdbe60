"""Bodies with an artifact: checked like every body, and the artifact kept as the text that was received.

What a reviewer approves and the host installs are those bytes (RFC 0096), so they are cut out of the body, not written
anew from what a parser made of them.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from io import BytesIO
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import APIException, ParseError

from memory.host import http
from memory.host.errors import TooLarge
from memory.host.http import StrictJSONParser
from memory.host.tenancy import TenantScope
from proposals import artifacts, denials

MAX_BODY = 2 * artifacts.MAX_BYTES
SPACE = " \t\n\r"
ARTIFACT = "artifact"


class Verbatim(str):
    """A member of a body as it was written."""

    __slots__ = ()


class ArtifactParser(StrictJSONParser):
    """Like the parser of all faces; a top-level ``artifact`` is replaced by its ``Verbatim`` text."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        raw = stream.read(MAX_BODY + 1)
        if len(raw) > MAX_BODY:
            raise TooLarge(f"The body has at most {MAX_BODY} bytes.", maxBytes=MAX_BODY)
        value = super().parse(BytesIO(raw), media_type, parser_context)
        if isinstance(value, dict) and ARTIFACT in value:
            value[ARTIFACT] = verbatim(raw.decode(), ARTIFACT)
        return value


def verbatim(body: str, *path: str) -> Verbatim:
    """The text of the artifact at ``path`` in ``body``, which is known to be a JSON object that has one there."""
    deepest = artifacts.MAX_DEPTH + len(path)
    if http.depth_of(body) > deepest:
        raise ParseError(f"The body is nested more than {deepest} levels deep.")
    for step in path:
        found = [text for name, text in _members(body) if name == step]
        if len(found) != 1:
            raise ParseError(f"The body names its {step} twice.")
        body = found[0]
    return Verbatim(body)


def _members(body: str) -> Iterator[tuple[str, str]]:
    """Each member of the object in ``body``: its name, and its value as it is written."""
    decoder = json.JSONDecoder()
    at = _behind_space(body, _behind_space(body, 0) + 1)
    while body[at] != "}":
        name, at = decoder.raw_decode(body, at)
        start = _behind_space(body, _behind_space(body, at) + 1)
        _, end = decoder.raw_decode(body, start)
        yield name, body[start:end]
        at = _behind_space(body, end)
        at = _behind_space(body, at + 1) if body[at] == "," else at


def _behind_space(body: str, at: int) -> int:
    while body[at] in SPACE:
        at += 1
    return at


@extend_schema_field({"type": "object"})
class ArtifactField(serializers.Field[str, Any, Any, Any]):
    """The artifact's text. That it is an object, and one of its kind, is for the domain to find."""

    def to_internal_value(self, data: object) -> str:
        assert isinstance(data, Verbatim), "the view has no ArtifactParser"
        return str(data)


@contextmanager
def before_the_body(
    scope: TenantScope, *actions: str, proposal_id: UUID | None = None, now: datetime
) -> Iterator[None]:
    """Around the reading of a body, which may be any of ``actions``: a bad one is refused as such only to who may take
    one of them. What a good one asks for is authorized, and a denial of it recorded, by what carries it out."""
    try:
        yield
    except APIException:
        denials.authorize_one_of(scope, actions, proposal_id, now=now)
        raise
