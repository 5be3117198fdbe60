"""Requests that leave this host: to which addresses they may go, checked on the address that is connected to.

Addresses that are not on the public internet are refused unless ``OPENWOP_OUTBOUND_ALLOW`` lists their host or their
network. A name is resolved once and connected to at the address that was checked, so a name that changes in between
leads nowhere else; the certificate is checked against the name. Redirects and proxies of the environment are not used.
"""

import asyncio
import contextlib
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Iterable
from functools import cache
from typing import Any

import httpcore
import httpx
from django.conf import settings

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# The public addresses of IPv6. NAT64 (64:ff9b::/96) and site-local addresses are outside.
GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
# What Python calls global, wholly or in part, and no host of the public internet has: of IPv6 what leads to an IPv4
# address that is not checked (6to4, Teredo) and documentation (RFC 9637); of IPv4 protocol assignments (RFC 6890) and
# the relays of 6to4 (RFC 7526).
CLOSED = tuple(map(ipaddress.ip_network, ("2002::/16", "2001::/32", "3fff::/20", "192.0.0.0/24", "192.88.99.0/24")))


CONNECT_SECONDS = 5.0


class OutboundRefused(httpcore.ConnectError):
    """The host has no address that this one may connect to."""


class OutboundFailed(Exception):
    """A request came to no usable answer; ``reason`` is ``timeout``, ``refused`` (no connection), ``not_allowed`` (an
    address that this host does not connect to), ``status``, ``too_large``, ``malformed`` or ``empty``."""

    def __init__(self, reason: str, *, status: int = 0) -> None:
        self.reason, self.status = reason, status
        super().__init__(reason)


@contextlib.asynccontextmanager
async def exchange(request: httpx.Request, *, seconds: float) -> AsyncIterator[httpx.Response]:
    """The answer to one request, whose body is still to be read, all within ``seconds``. Raises ``OutboundFailed``.

    An answer that is compressed is refused: its size is not known before it is unpacked.
    """
    request.headers["Accept-Encoding"] = "identity"
    timeout = httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))
    try:
        async with asyncio.timeout(seconds), client(timeout=timeout) as http:
            answer = await http.send(request, stream=True)
            try:
                if answer.headers.get("content-encoding", "identity") != "identity":
                    raise OutboundFailed("malformed")
                yield answer
            finally:
                await answer.aclose()
    except (TimeoutError, httpx.TimeoutException):
        raise OutboundFailed("timeout") from None
    except (httpx.NetworkError, httpx.InvalidURL, httpx.UnsupportedProtocol) as problem:
        raise OutboundFailed("not_allowed" if is_refused(problem) else "refused") from None
    except httpx.HTTPError:
        raise OutboundFailed("malformed") from None


async def read(answer: httpx.Response, *, most: int) -> bytes:
    """The whole body of an answer, of at most ``most`` bytes."""
    content = bytearray()
    async for part in answer.aiter_raw():
        content += part
        if len(content) > most:
            raise OutboundFailed("too_large")
    return bytes(content)


async def lines(answer: httpx.Response, *, most: int) -> AsyncIterator[str]:
    """The body of an answer line by line as it comes, of at most ``most`` bytes together."""
    rest, length = b"", 0
    async for part in answer.aiter_raw():
        length += len(part)
        if length > most:
            raise OutboundFailed("too_large")
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace").rstrip("\r")
    if rest:
        yield rest.decode(errors="replace").rstrip("\r")


def client(*, timeout: httpx.Timeout) -> httpx.AsyncClient:
    """The client for every request that leaves this host."""
    return httpx.AsyncClient(transport=_Transport(), timeout=timeout, trust_env=False, follow_redirects=False)


def is_refused(problem: Exception) -> bool:
    """Whether a request failed because of where it would have gone."""
    return isinstance(problem.__cause__, OutboundRefused)


def may_connect(host: str, address: Address) -> bool:
    """Whether ``host`` may be connected to at ``address``: it is listed, or its address is a public one."""
    plain = getattr(address, "ipv4_mapped", None) or address
    listed = [each.strip().lower() for each in settings.OPENWOP_OUTBOUND_ALLOW]
    return host.lower().rstrip(".") in listed or any(_covers(each, plain) for each in listed) or _is_public(plain)


def is_listed(host: str) -> bool:
    """Whether ``host``, a name or an address, is one that the administrator lists."""
    listed = [each.strip().lower() for each in settings.OPENWOP_OUTBOUND_ALLOW]
    address = literal_address(host)
    return host.lower().rstrip(".") in listed or (
        address is not None and any(_covers(each, address) for each in listed)
    )


def literal_address(host: str) -> Address | None:
    """The address that ``host`` spells, in whatever way the system reads one; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):
        return None


def _is_public(address: Address) -> bool:
    if any(address in network for network in CLOSED):
        return False
    if isinstance(address, ipaddress.IPv6Address):
        return address.is_global and address in GLOBAL_UNICAST
    return address.is_global and not (address.is_multicast or address.is_reserved)


def _covers(listed: str, address: Address) -> bool:
    try:
        return address in ipaddress.ip_network(listed, strict=False)
    except ValueError:
        return False


class _Backend(httpcore.AnyIOBackend):
    """Connects to the first address of a host that may be connected to and answers."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        failed: Exception = OutboundRefused("The address is not one that this host may connect to.")
        for address in await _resolved(host, port, timeout):
            try:
                return await super().connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore.ConnectError as problem:
                failed = problem
        raise failed


async def _resolved(host: str, port: int, timeout: float | None) -> list[str]:
    """The addresses of ``host`` that may be connected to, as texts that need no second look-up."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(timeout):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        raise httpcore.ConnectTimeout("The name of the host was not resolved in time.") from None
    except (OSError, UnicodeError):
        raise httpcore.ConnectError("The name of the host is not known.") from None
    texts = dict.fromkeys(str(each[4][0]) for each in found)
    return [text for text in texts if may_connect(host, ipaddress.ip_address(text.partition("%")[0]))]


@cache
def _ssl_context() -> ssl.SSLContext:
    """The certificates that are trusted: to read them takes longer than most requests."""
    return httpx.create_ssl_context(trust_env=False)


class _Transport(httpx.AsyncHTTPTransport):
    """httpx's own transport over our backend, which it offers no parameter for."""

    def __init__(self) -> None:
        super().__init__(verify=_ssl_context(), trust_env=False)
        self._pool = httpcore.AsyncConnectionPool(ssl_context=_ssl_context(), network_backend=_Backend())
