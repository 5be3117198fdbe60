"""``POST /mcp``: Streamable HTTP without sessions. A request is answered with JSON, a notification with 202.

Only the answer of a person is waited for: as a stream with progress, where the client takes one.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime

import orjson
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from rest_framework.exceptions import ParseError

from memory.host import denials
from memory.host.errors import Gone, NotFound, Refusal, UnsupportedMediaType
from memory.host.http import StrictJSONParser
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope, scope_of
from memory.wire import agent_named
from openwop_console import VERSION, errors
from openwop_console.mcp import protocol, questions, resources, tools
from openwop_console.mcp.protocol import Message, RpcError
from openwop_console.mcp.questions import OpenQuestion
from openwop_console.mcp.tools import Result
from openwop_console.runtime.api.streams import STREAM, EventStream

JSON = "application/json"
KEEPALIVE = b":keepalive\n\n"
SIGN_OF_LIFE = b"\n"
NAME = "openwop-console"


@csrf_exempt
@require_POST
def endpoint(request: HttpRequest) -> HttpResponseBase:
    scope, now = scope_of(request), timezone.now()
    protocol.require_version(request.headers.get(protocol.VERSION_HEADER))
    if request.content_type != JSON:
        raise UnsupportedMediaType
    raw = StrictJSONParser().read(request)
    body: object = None
    try:
        body = _parsed(raw)
        message = protocol.message_of(body)
    except RpcError as wrong:
        return _json(protocol.error(protocol.id_of(body), wrong.code, wrong.message, wrong.data), status=400)
    if message is None or message.id is None:
        return HttpResponse(status=202)
    scope = replace(scope, traceparent=message.traceparent or scope.traceparent)
    try:
        if message.method == "tools/call" and tools.tool_named(message) is tools.ASK:
            return _answer_question(request, scope, message, now)
        return _json(protocol.answer(message.id, _result(scope, message, raw, agent_named(request.headers), now)))
    except RpcError as wrong:
        return _json(protocol.error(message.id, wrong.code, wrong.message, wrong.data))


def _parsed(raw: bytes) -> object:
    if not raw.strip():
        raise RpcError(protocol.PARSE_ERROR, "The body is empty.")
    try:
        return StrictJSONParser().parsed(raw)
    except ParseError as problem:
        raise RpcError(protocol.PARSE_ERROR, str(problem.detail)) from None


def _json(document: JSONObject, *, status: int = 200) -> HttpResponse:
    return HttpResponse(orjson.dumps(document), status=status, content_type=JSON)


def _result(scope: TenantScope, message: Message, raw: bytes, agent: str, now: datetime) -> JSONObject:
    if message.method == "tools/call":
        tool = tools.tool_named(message)
        return tools.call(tool, scope, message.params.get("arguments", {}), agent=agent, body=raw, now=now).document
    if message.method == "resources/read":
        return _resource(scope, message, now)
    if message.method not in METHODS:
        raise RpcError(protocol.METHOD_NOT_FOUND, "That method is not offered here.")
    return METHODS[message.method](message)


def _answer_question(request: HttpRequest, scope: TenantScope, message: Message, now: datetime) -> HttpResponseBase:
    """The answer of a person, as events or as JSON with white space in front of it: either way it is written while it
    is waited for, so that the place is free soon after the client has gone."""
    waiting = questions.ask_human(scope, message.params.get("arguments", {}), now=now)
    if isinstance(waiting, Result):
        return _json(protocol.answer(message.id, waiting.document))
    if STREAM in request.headers.get("Accept", ""):
        return EventStream(waiting.place, Body(waiting, message))
    return EventStream(waiting.place, Document(waiting, message), JSON)


class Body:
    """The bytes of the stream: progress, and at its end the answer. Closed, begun or not, it gives its place back."""

    def __init__(self, waiting: OpenQuestion, message: Message) -> None:
        self._waiting, self._message = waiting, message
        self._items = questions.follow(waiting)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        item = next(self._items)
        if isinstance(item, Result):
            return _event(protocol.answer(self._message.id, item.document))
        if (token := self._message.progress_token) is None:
            return KEEPALIVE
        progress = {"progressToken": token, "progress": round(item, 3), "total": self._waiting.seconds}
        progress["message"] = "Waiting for a person to answer."
        return _event(protocol.notification("notifications/progress", progress))

    def close(self) -> None:
        self._waiting.close()


class Document(Body):
    """The bytes of one JSON document, behind a line end for each sign of life, which a reader of JSON skips."""

    def __next__(self) -> bytes:
        item = next(self._items)
        if isinstance(item, Result):
            return orjson.dumps(protocol.answer(self._message.id, item.document))
        return SIGN_OF_LIFE


def _event(document: JSONObject) -> bytes:
    return b"event: message\ndata: " + orjson.dumps(document) + b"\n\n"


def _resource(scope: TenantScope, message: Message, now: datetime) -> JSONObject:
    uri = message.params.get("uri")
    if not isinstance(uri, str):
        raise RpcError(protocol.INVALID_PARAMS, "params.uri must be the address of a resource.")
    try:
        return resources.read(scope, uri, now=now)
    except Refusal as refusal:
        if errors.is_denial(refusal):
            denials.record(scope, refusal, action="mcp resources/read", now=now)
        gone = isinstance(refusal, NotFound | Gone)
        code = protocol.RESOURCE_NOT_FOUND if gone else protocol.INVALID_REQUEST
        raise RpcError(code, refusal.message, error=refusal.code, **refusal.details) from None


def _initialize(message: Message) -> JSONObject:
    asked = message.params.get("protocolVersion")
    if not isinstance(asked, str):
        raise RpcError(protocol.INVALID_PARAMS, "params.protocolVersion must be a version of the protocol.")
    return {
        "protocolVersion": asked if asked in protocol.VERSIONS else protocol.VERSIONS[0],
        "capabilities": {"tools": {}, "resources": {}},
        "serverInfo": {"name": NAME, "title": "OpenWOP operator console", "version": VERSION},
        "instructions": resources.INSTRUCTIONS,
    }


METHODS: dict[str, Callable[[Message], JSONObject]] = {
    "initialize": _initialize,
    "ping": lambda _: {},
    "tools/list": lambda _: {"tools": [tool.document for tool in tools.TOOLS.values()]},
    "resources/list": lambda _: {"resources": []},
    "resources/templates/list": lambda _: {"resourceTemplates": resources.TEMPLATES},
}
