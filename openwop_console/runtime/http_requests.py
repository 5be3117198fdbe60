"""``core.http.request``: a bounded HTTP request through the outbound guard, with secrets referenced by name."""

import codecs
import json
from collections.abc import Mapping
from urllib.parse import quote

import httpx

from memory.host import outbound, vault
from memory.host.json_schemas import config_problems
from memory.host.json_types import JSONMapping, JSONObject
from memory.host.node_types import (
    HTTP_REQUEST,
    Call,
    Done,
    NodeContext,
    NodeFailure,
    Outcome,
    Sending,
    node_type,
)
from memory.host.outbound import OutboundFailed
from openwop_console.runtime import calls
from openwop_console.runtime.expressions import fill, fill_json

KIND = "http.request"
SECONDS = 30.0
MAX_BYTES = 1_048_576
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
BODILESS = frozenset({"GET", "HEAD"})
# The host is fixed by the definition: no value of a run decides where a request and its secrets are sent.
URL = r"^https?://[^/?#@{}\s\\]+([/?#]\S*)?$"
CONFIG = {
    "type": "object",
    "required": ["url", "method"],
    "additionalProperties": False,
    "properties": {
        "url": {"type": "string", "maxLength": 4096, "pattern": URL},
        "method": {"enum": list(METHODS)},
        "headers": {
            "type": "object",
            "maxProperties": 32,
            "propertyNames": {"pattern": r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$"},
            "additionalProperties": {
                "anyOf": [
                    {"type": "string", "maxLength": 4096},
                    {
                        "type": "object",
                        "required": ["secret"],
                        "additionalProperties": False,
                        "properties": {"secret": {"type": "string", "minLength": 1, "maxLength": vault.MAX_NAME}},
                    },
                ]
            },
        },
        "body": {"type": ["string", "object", "array"]},
    },
}
# Headers that only this host sets, and those whose value is a credential.
OURS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "idempotency-key", "traceparent"}
)
CREDENTIALS = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key"})
# Python-specific encodings that no web text uses; decoding punycode takes quadratic time.
NO_CHARSETS = frozenset({"punycode", "idna", "unicode-escape", "raw-unicode-escape"})
LONGEST_TYPE = 1_000  # characters of a Content-Type
TEXTS = ("text/", "application/json", "application/xml", "application/problem+json", "application/x-ndjson")


def problems_of_node(node: JSONMapping) -> list[tuple[str, str]]:
    """(field, problem) pairs for the config of a node that sends a request."""
    config = node["config"]
    wrong = config_problems(CONFIG, node)
    if wrong:
        return wrong
    for name, value in config.get("headers", {}).items():
        if name.lower() in OURS:
            wrong.append((f"config.headers.{name}", "is set by this host"))
        elif name.lower() in CREDENTIALS and isinstance(value, str):
            wrong.append((f"config.headers.{name}", 'holds a credential: name it, as {"secret": NAME}'))
    if "body" in config and config["method"] in BODILESS:
        wrong.append(("config.body", f"is not sent with {config['method']}"))
    return wrong


@node_type("core.http.request", tools=(HTTP_REQUEST,), check=problems_of_node, makes_calls=True)
def http_request(ctx: NodeContext) -> Outcome:
    """Send one request; ``{{name}}`` in the path, the query and the body is an input of the node.

    The outputs are ``status``, ``contentType`` and ``body``: parsed JSON, or any other text unchanged.
    """
    if ctx.calls:
        return Done(outputs=ctx.calls[0])
    url = fill(ctx.config["url"], {name: _part(value) for name, value in ctx.inputs.items()})
    headers = {name: _value_of(ctx, value) for name, value in ctx.config.get("headers", {}).items()}
    content = _content(ctx, headers)
    asked: JSONObject = {"method": ctx.config["method"], "url": url, "headers": sorted(headers)}
    if content:
        asked["body"] = content.decode()

    async def send(sending: Sending) -> JSONObject:
        given = {**headers, **sending.headers}
        try:
            request = outbound.request_to(ctx.config["method"], url, headers=given, content=content)
            async with outbound.exchange(request, seconds=sending.seconds) as answer:
                return _outputs_of(answer, await outbound.read(answer, most=MAX_BYTES) if answer.is_success else b"")
        except OutboundFailed as failed:
            raise calls.failure_of(failed) from None

    return Call(KIND, asked, send, SECONDS)


def _part(value: object) -> str:
    """An input quoted for a URL; refuses ``.`` and ``..``, which would change the address that the definition names."""
    if str(value) in (".", ".."):
        raise NodeFailure("url_invalid", "An input would lead the request to another address.", final=True)
    return quote(str(value), safe="")


def _value_of(ctx: NodeContext, value: str | Mapping[str, str]) -> str:
    """A header's value; a secret's resolution is recorded before the request is sent."""
    text = value if isinstance(value, str) else vault.resolve(ctx.run, value["secret"], now=ctx.now).strip()
    if not text.isascii() or not text.isprintable():
        raise NodeFailure("header_invalid", "A header of the request has a value that cannot be sent.", final=True)
    return text


def _content(ctx: NodeContext, headers: dict[str, str]) -> bytes:
    """The encoded body; adds a Content-Type to ``headers`` if the config sets none."""
    if "body" not in ctx.config:
        return b""
    body = fill_json(ctx.config["body"], ctx.inputs)
    is_text = isinstance(body, str)
    content = (body if is_text else json.dumps(body, ensure_ascii=False)).encode()
    if len(content) > MAX_BYTES:
        raise calls.failure("too_large")
    if "content-type" not in {name.lower() for name in headers}:
        headers["Content-Type"] = "text/plain; charset=utf-8" if is_text else "application/json"
    return content


def _outputs_of(answer: httpx.Response, content: bytes) -> JSONObject:
    """Convert the response to outputs of the node; raise NodeFailure for an unusable one."""
    if not answer.is_success:
        raise calls.status_failure(answer.status_code)
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content and not (kind.startswith(TEXTS) or kind.endswith(("+json", "+xml"))):
        raise NodeFailure("type", "The server answered with something that is neither text nor JSON.", final=True)
    try:
        text = content.decode(_charset_of(answer))
        said = json.loads(text) if content and (kind.endswith(("/json", "+json"))) else text.replace("\x00", "")
    except (ValueError, LookupError, RecursionError):
        raise calls.failure("malformed") from None
    return {"status": answer.status_code, "contentType": kind, "body": said}


def _charset_of(answer: httpx.Response) -> str:
    """The response's encoding; raises LookupError for an unknown or Python-specific one, and one that has a header of
    a length that no server needs: the time to parse it grows with the square."""
    if len(answer.headers.get("content-type", "")) > LONGEST_TYPE:
        raise LookupError
    name = codecs.lookup(answer.charset_encoding or "utf-8").name
    if name in NO_CHARSETS:
        raise LookupError(name)
    return name
