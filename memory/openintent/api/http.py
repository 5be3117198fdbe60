"""What every request of RFC-0015 shares: who calls, which page is asked for, and how an answer is written."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import orjson
from django.http import HttpResponse
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from memory import addresses
from memory.host.errors import Forbidden, Invalid, PreconditionRequired
from memory.host.operations import View, operation
from memory.host.tenancy import scope_of
from memory.openintent.queries import DEFAULT_LIMIT, FARTHEST, MAX_LIMIT
from memory.openintent.tiers import Caller

Problems = list[dict[str, str]]


def described(name: str, *, scope: str, headers: tuple[str, ...] = (), **said: Any) -> Callable[[View], View]:
    """``operation`` for an endpoint of OpenIntent, each of which reads who calls from ``X-Agent-ID``."""
    return operation(name, scope=scope, headers=("X-Agent-ID", *headers), tag="openintent", **said)


@contextmanager
def permitted_first(check: Callable[[], Any]) -> Iterator[None]:
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
    """
    scope, named = scope_of(request), _named(request)
    bound = scope.principal.agent_ids
    if bound is None:
        return Caller(scope, named or otherwise or scope.principal.id)
    if named and named not in bound:
        raise Forbidden("This key is not bound to that agent.", rule="agent-binding")
    return Caller(scope, named or (otherwise if otherwise in bound else scope.principal.first_agent))


def _named(request: Request) -> str:
    """The agent in ``X-Agent-ID``; "" without that header. The web server empties one that holds more than ASCII, so an
    empty one names nobody, and is not passed over."""
    named: str | None = request.headers.get("X-Agent-ID")
    if named is None:
        return ""
    if not 0 < len(named) <= addresses.MAX_AGENT or not (named.isascii() and named.isprintable()):
        message = f"must be 1 to {addresses.MAX_AGENT} printable characters of ASCII"
        raise Invalid("There is no agent of that name.", errors=[{"field": "X-Agent-ID", "message": message}])
    return named


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


def json_bytes(document: object) -> bytes:
    """The document as JSON, with integers of any size."""
    try:
        return orjson.dumps(document)
    except TypeError:  # an integer of more than 64 bits, which stays what it was (R5)
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
