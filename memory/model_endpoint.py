"""Requests to a model at any endpoint of the OpenAI protocol: ``post``, ``distil``, ``chat``.

The owner of a tenant configures it, within what the administrator allows (``memory.host.outbound``): a private address
only when ``OPENWOP_OUTBOUND_ALLOW`` lists it. Neither redirects nor proxies of the environment are used. The key leaves
the vault for the header of this one request; no refusal, no log and no answer holds it (SR-1).
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

import httpx

from memory import redaction
from memory.host import outbound, request_slots, vault
from memory.host.errors import EndpointFailed
from memory.host.json_types import JSONObject
from memory.host.models import SecretScope
from memory.host.outbound import OutboundFailed

if TYPE_CHECKING:
    from memory.memory_policy import Policy

TOTAL_SECONDS = 60.0
MAX_BYTES = 1_048_576
MOST_TOOL_CALLS = 16
NOT_ALLOWED = "The endpoint has no address that this host may connect to; OPENWOP_OUTBOUND_ALLOW does not list it."


def distil(policy: "Policy", tenant_id: UUID, prompt: str, *, max_tokens: int) -> str:
    """What the endpoint of the policy makes of ``prompt``, redacted like all derived text.

    Asked at temperature 0 with seed 0, so that an endpoint that can repeat itself does. Raises ``EndpointFailed`` as
    ``post`` does, and with the reason ``empty``.
    """
    body = {
        "model": policy.endpoint_model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": max_tokens,
        "temperature": 0,
        "seed": 0,
        "stream": False,
    }
    url = f"{policy.endpoint_url.rstrip('/')}/chat/completions"
    said = _content(post(tenant_id, url, body, secret=policy.endpoint_secret, seconds=TOTAL_SECONDS))
    return redaction.for_derived(tenant_id)(said).text


def post(
    tenant_id: UUID, url: str, body: JSONObject, *, secret: str, seconds: float, max_bytes: int = MAX_BYTES
) -> bytes:
    """The bytes of the endpoint's 200 to ``body``, sent with the tenant's secret of that name as its key.

    ``seconds`` bounds all of it, from the look-up of the name to the last byte. Raises ``EndpointFailed`` with a
    ``reason``: ``timeout``, ``refused`` (no connection, or no key to offer), ``not_allowed`` (an address that this host
    does not connect to), ``status``, ``malformed`` or ``too_large``. The caller has no open transaction.
    """
    headers = {"Authorization": f"Bearer {_key(tenant_id, secret)}"}
    # The caller's thread may have a running loop, and serve a request: others compute while it waits.
    with request_slots.aside(), ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(lambda: asyncio.run(_post(url, headers, body, seconds, max_bytes))).result()


def _key(tenant_id: UUID, name: str) -> str:
    """The tenant's own secret of that name; what could not stand in a header is none."""
    secrets = (each for each in vault.held_by(tenant_id) if (each.scope, each.owner) == (SecretScope.TENANT, ""))
    found = next((vault.unseal(each).strip() for each in secrets if each.name == name), "")
    if not found or not found.isascii() or not found.isprintable():
        raise EndpointFailed("The vault holds no key that the endpoint could be asked with.", reason="refused")
    return found


async def _post(url: str, headers: dict[str, str], body: JSONObject, seconds: float, max_bytes: int) -> bytes:
    """The bytes of a 200; whatever drips or hangs is left after ``seconds`` in all."""
    try:
        async with _answered(url, headers, body, seconds) as answer:
            return await outbound.read(answer, most=max_bytes)
    except OutboundFailed as failed:
        status = {"status": failed.status} if failed.status else {}
        message = NOT_ALLOWED if failed.reason == "not_allowed" else None
        raise EndpointFailed(message, reason=failed.reason, **status) from None


@contextlib.asynccontextmanager
async def _answered(
    url: str, headers: dict[str, str], body: JSONObject, seconds: float
) -> AsyncIterator[httpx.Response]:
    """The endpoint's 200, whose body is still to be read."""
    request = outbound.request_to("POST", url, headers=headers, json=body)
    async with outbound.exchange(request, seconds=seconds) as answer:
        if answer.status_code != httpx.codes.OK:
            raise OutboundFailed("status", status=answer.status_code)
        yield answer


def _content(raw: bytes) -> str:
    """The text of the first choice; NUL, which no database keeps, is left out."""
    try:
        content = json.loads(raw)["choices"][0]["message"]["content"]
        text = content.replace("\x00", "")
        text.encode()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise EndpointFailed(reason="malformed") from None
    if not text.strip():
        raise EndpointFailed(reason="empty")
    return str(text)


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model said. The counts are the endpoint's own, and None when it gave none."""

    text: str
    tool_calls: tuple[JSONObject, ...] = ()
    finish_reason: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


async def chat(
    url: str, key: str, body: JSONObject, *, seconds: float, say: Callable[[str], None], headers: dict[str, str]
) -> Completion:
    """One completion, streamed: ``say`` is given each piece of the text as it comes. Raises ``OutboundFailed``,
    with the reason ``empty`` when nothing is said. An endpoint that does not stream is heard as a whole."""
    headers = {**headers, "Authorization": f"Bearer {key}", "Accept": "text/event-stream, application/json"}
    asked = {**body, "stream": True, "stream_options": {"include_usage": True}}
    heard = _CompletionReader(say)
    async with _answered(f"{url.rstrip('/')}/chat/completions", headers, asked, seconds) as answer:
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            async for line in outbound.lines(answer, most=MAX_BYTES):
                if not line.startswith("data:"):
                    continue
                if (data := line[5:].strip()) == "[DONE]":
                    break  # whether the endpoint closes the stream or not
                heard.take(data, "delta")
        else:
            heard.take((await outbound.read(answer, most=MAX_BYTES)).decode(errors="replace"), "message")
    return heard.completion()


class _CompletionReader:
    """The pieces of a completion, put together as they come."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._texts: list[str] = []
        self._calls: dict[int, JSONObject] = {}
        self._finish = ""
        self._usage: object = None

    def take(self, data: str, member: str) -> None:
        """One document of the endpoint; its choice has a ``delta``, or a whole ``message``."""
        try:
            said = json.loads(data)
            self._usage = said.get("usage") or self._usage
            choice: JSONObject = next(iter(said.get("choices") or ()), {})
            piece = choice.get(member) or {}
            text = str(piece.get("content") or "").replace("\x00", "")
            text.encode()
            self._finish = str(choice.get("finish_reason") or self._finish)[:32]
            for at, call in enumerate(piece.get("tool_calls") or ()):
                self._take_call(call.get("index", at), call)
        except (ValueError, OverflowError, LookupError, TypeError, AttributeError, RecursionError):
            raise OutboundFailed("malformed") from None
        if text:
            self._texts.append(text)
            self._say(text)

    def _take_call(self, at: int, call: JSONObject) -> None:
        if at not in self._calls and len(self._calls) == MOST_TOOL_CALLS:
            raise OutboundFailed("too_large")
        own = self._calls.setdefault(int(at), {"id": "", "name": "", "arguments": ""})
        given = call.get("function") or {}
        own["id"] += str(call.get("id") or "")
        own["name"] += str(given.get("name") or "")
        own["arguments"] += str(given.get("arguments") or "").replace("\x00", "")

    def completion(self) -> Completion:
        text = "".join(self._texts)
        if not text.strip() and not self._calls:
            raise OutboundFailed("empty")
        calls = tuple(call for _, call in sorted(self._calls.items()))
        return Completion(text, calls, self._finish, self._count("prompt_tokens"), self._count("completion_tokens"))

    def _count(self, name: str) -> int | None:
        value = self._usage.get(name) if isinstance(self._usage, dict) else None
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None
