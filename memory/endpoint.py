"""A distiller that somebody else runs: any endpoint that speaks the chat completions of the OpenAI protocol.

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

    Asked at temperature 0 with seed 0, so that an endpoint that can repeat itself does. Raises ``EndpointFailed`` with
    a ``reason``: ``timeout``, ``refused`` (no connection, or no key to offer), ``not_allowed`` (an address that this
    host does not connect to), ``status``, ``malformed``, ``empty`` or ``too_large``.
    """
    body = {
        "model": policy.endpoint_model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": max_tokens,
        "temperature": 0,
        "seed": 0,
        "stream": False,
    }
    headers = {"Authorization": f"Bearer {_key(tenant_id, policy.endpoint_secret)}", "Accept-Encoding": "identity"}
    url = f"{policy.endpoint_url.rstrip('/')}/chat/completions"
    with ThreadPoolExecutor(max_workers=1) as aside:  # whoever asks may have a loop of its own running
        said = _content(aside.submit(lambda: asyncio.run(_asked(url, headers, body))).result())
    return harness.for_derived(tenant_id)(said).text


def _key(tenant_id: UUID, name: str) -> str:
    """The tenant's own secret of that name; what could not stand in a header is none."""
    secrets = (each for each in vault.held_by(tenant_id) if (each.scope, each.owner) == (SecretScope.TENANT, ""))
    found = next((vault.unseal(each).strip() for each in secrets if each.name == name), "")
    if not found or not found.isascii() or not found.isprintable():
        raise EndpointFailed("The vault holds no key that the endpoint could be asked with.", reason="refused")
    return found


async def _asked(url: str, headers: dict[str, str], body: JSONObject) -> bytes:
    """The bytes of a 200; whatever drips or hangs is left after ``TOTAL_SECONDS`` in all."""
    timeout = httpx.Timeout(TOTAL_SECONDS, connect=CONNECT_SECONDS)
    try:
        async with asyncio.timeout(TOTAL_SECONDS), outbound.client(timeout=timeout) as client:
            return await _read(client, httpx.Request("POST", url, headers=headers, json=body))
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


async def _read(client: httpx.AsyncClient, request: httpx.Request) -> bytes:
    answer = await client.send(request, stream=True, follow_redirects=False)
    try:
        if answer.status_code != httpx.codes.OK:
            raise EndpointFailed(reason="status", status=answer.status_code)
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise EndpointFailed(reason="malformed")
        read = bytearray()
        async for part in answer.aiter_raw():
            read += part
            if len(read) > MAX_BYTES:
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
