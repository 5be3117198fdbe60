"""What every request of RFC-0015 shares: who calls, which page is asked for, and how an answer is written."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.http import HttpResponse
from rest_framework.exceptions import APIException, ParseError
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from memory import redaction
from memory.host.errors import Invalid, PreconditionRequired
from memory.host.http import MAX_DEPTH, StrictJSONParser, View, depth_of, operation
from memory.host.json_types import JSONObject, json_bytes
from memory.host.tenancy import scope_of
from memory.openintent.access import Caller
from memory.openintent.queries import DEFAULT_LIMIT, FARTHEST, MAX_LIMIT
from memory.text.storable import UNSTORABLE
from memory.wire import agent_named

Problems = list[dict[str, str]]
# Around a value of the depth that is allowed: the entry, the list, and the batch that it comes in.
AROUND = 3
SUSPECT = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


def described(name: str, *, scope: str, headers: tuple[str, ...] = (), **said: Any) -> Callable[[View], View]:
    """``operation`` for an endpoint of OpenIntent, each of which reads who calls from ``X-Agent-ID``."""
    return operation(name, scope=scope, headers=("X-Agent-ID", *headers), tag="openintent", **said)


@contextmanager
def permitted_first(check: Callable[[], object]) -> Iterator[None]:
    """What is wrong with what was sent is said to who may do this: ``check`` refuses others first (K22)."""
    try:
        yield
    except (Invalid, PreconditionRequired, APIException):
        check()
        raise


def caller_of(request: Request, *, otherwise: str = "") -> Caller:
    """The agent that the key stands for, or the one of its agents that ``X-Agent-ID`` chooses.

    A key that is bound to agents acts as those alone; the first it was given unless the header says otherwise. Another
    key of the tenant acts as any agent, or as itself. Without the header it acts as ``otherwise``, where it may.

    A change is recorded with that name, so the header of one may hold no secret of the vault. The agents of a key were
    checked when it was made.
    """
    caller = caller_of_entries(request, otherwise=otherwise)
    if request.method not in SAFE_METHODS and caller.scope.principal.agent_ids is None:
        redaction.require_plain_agent(caller.tenant_id, agent_named(request.headers))
    return caller


def caller_of_entries(request: Request, *, otherwise: str = "") -> Caller:
    """The same for entries: the ledger refuses an entry under a secret by itself, and tells of a removal without it."""
    scope, named = scope_of(request), agent_named(request.headers)
    bound = scope.principal.agent_ids
    if bound is None:
        return Caller(scope, named or otherwise or scope.principal.id)
    scope.check_agent(named)
    return Caller(scope, named or (otherwise if otherwise in bound else scope.principal.first_agent))


def page_of(query: object, problems: Problems, *, default: int = DEFAULT_LIMIT) -> tuple[int, int]:
    """``limit`` and ``offset``; a page that is too large is the largest there is, and one that is none a problem."""
    limit = _number(query, "limit", default, 1, MAX_LIMIT, problems)
    return limit, _number(query, "offset", 0, 0, FARTHEST, problems)


def _number(query: Any, name: str, default: int, least: int, most: int, problems: Problems) -> int:
    text = query.get(name)
    if text is None:
        return default
    digits = text if text.isascii() and text.isdigit() else ""
    if not digits or (len(digits) < 20 and int(digits) < least):
        problems.append({"field": name, "message": f"must be a whole number of at least {least}"})
        return default
    return most if len(digits) >= 20 else min(int(digits), most)


def json_response(document: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """The document as plain JSON bytes: that is most of what a page of entries takes, and no serializer has a part in
    it."""
    return HttpResponse(json_bytes(document), status=status, headers=headers, content_type="application/json")


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


def _loaded(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_number, parse_float=_finite)
    except ValueError:
        raise ParseError("The body is not valid JSON in UTF-8.") from None


def _object(pairs: list[tuple[str, object]]) -> JSONObject:
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
