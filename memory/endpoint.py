"""Requests to a model that somebody else runs, at any endpoint that speaks the OpenAI protocol: ``post``, ``distil``.

The owner of a tenant says where it is, within what the administrator allows (``memory.host.outbound``): a private
address only when ``OPENWOP_OUTBOUND_ALLOW`` lists it. Neither redirects nor proxies of the environment are used.
The key leaves the vault for the header of this one request; no refusal, no log and no answer holds it (SR-1).
"""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from uuid import UUID

import httpx

from memory import harness
from memory.host import outbound, vault
from memory.host.errors import EndpointFailed
from memory.host.json_types import JSONObject
from memory.host.models import SecretScope

if TYPE_CHECKING:
    from memory.policies import Policy

CONNECT_SECONDS = 5.0
TOTAL_SECONDS = 60.0
MAX_BYTES = 1_048_576


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
    return harness.for_derived(tenant_id)(said).text


def post(
    tenant_id: UUID, url: str, body: JSONObject, *, secret: str, seconds: float, max_bytes: int = MAX_BYTES
) -> bytes:
    """The bytes of the endpoint's 200 to ``body``, asked with the tenant's secret of that name as its key.

    ``seconds`` bounds all of it, from the look-up of the name to the last byte. Raises ``EndpointFailed`` with a
    ``reason``: ``timeout``, ``refused`` (no connection, or no key to offer), ``not_allowed`` (an address that this
    host does not connect to), ``status``, ``malformed`` or ``too_large``. Whoever asks has no transaction open.
    """
    headers = {"Authorization": f"Bearer {_key(tenant_id, secret)}", "Accept-Encoding": "identity"}
    with ThreadPoolExecutor(max_workers=1) as aside:  # whoever asks may have a loop of its own running
        return aside.submit(lambda: asyncio.run(_asked(url, headers, body, seconds, max_bytes))).result()


def _key(tenant_id: UUID, name: str) -> str:
    """The tenant's own secret of that name; what could not stand in a header is none."""
    secrets = (each for each in vault.held_by(tenant_id) if (each.scope, each.owner) == (SecretScope.TENANT, ""))
    found = next((vault.unseal(each).strip() for each in secrets if each.name == name), "")
    if not found or not found.isascii() or not found.isprintable():
        raise EndpointFailed("The vault holds no key that the endpoint could be asked with.", reason="refused")
    return found


async def _asked(url: str, headers: dict[str, str], body: JSONObject, seconds: float, max_bytes: int) -> bytes:
    """The bytes of a 200; whatever drips or hangs is left after ``seconds`` in all."""
    timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
    try:
        async with asyncio.timeout(seconds), outbound.client(timeout=timeout) as client:
            return await _read(client, httpx.Request("POST", url, headers=headers, json=body), max_bytes)
    except (TimeoutError, httpx.TimeoutException):
        raise EndpointFailed(reason="timeout") from None
    except (httpx.NetworkError, httpx.InvalidURL, httpx.UnsupportedProtocol) as problem:
        if outbound.is_refused(problem):
            message = (
                "The endpoint has no address that this host may connect to; OPENWOP_OUTBOUND_ALLOW does not list it."
            )
            raise EndpointFailed(message, reason="not_allowed") from None
        raise EndpointFailed(reason="refused") from None
    except httpx.HTTPError:
        raise EndpointFailed(reason="malformed") from None


async def _read(client: httpx.AsyncClient, request: httpx.Request, max_bytes: int) -> bytes:
    answer = await client.send(request, stream=True, follow_redirects=False)
    try:
        if answer.status_code != httpx.codes.OK:
            raise EndpointFailed(reason="status", status=answer.status_code)
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise EndpointFailed(reason="malformed")
        read = bytearray()
        async for part in answer.aiter_raw():
            read += part
            if len(read) > max_bytes:
                raise EndpointFailed(reason="too_large")
        return bytes(read)
    finally:
        await answer.aclose()


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
