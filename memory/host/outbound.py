"""Outbound requests, restricted to permitted addresses; the check is on the address that is connected to.

Addresses that are not on the public internet are refused unless ``OPENWOP_OUTBOUND_ALLOW`` lists their host or network.
A name is resolved once and connected to at the checked address, so a later change of the name has no effect; the
certificate is checked against the name. Redirects and proxies of the environment are not used.
"""

import asyncio
import contextlib
import ipaddress
import logging
import math
import os
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import Future
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpcore
import httpx
from django.conf import settings

log = logging.getLogger(__name__)
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
AddressInfo = tuple[Any, ...]  # of ``socket.getaddrinfo``

# The public addresses of IPv6, without NAT64 (64:ff9b::/96) and site-local addresses.
GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
# Networks that Python calls global, wholly or in part, and no public host has: in IPv6 those that lead to an unchecked
# IPv4 address (6to4, Teredo) and documentation (RFC 9637); in IPv4 protocol assignments (RFC 6890) and the relays of
# 6to4 (RFC 7526).
CLOSED = tuple(map(ipaddress.ip_network, ("2002::/16", "2001::/32", "3fff::/20", "192.0.0.0/24", "192.88.99.0/24")))
CONNECT_SECONDS = 5.0
HEAD_BYTES = (
    256 * 1024
)  # of interim answers (1xx) and headers; the HTTP library bounds each of them, and not their number


class OutboundRefused(httpcore.ConnectError):
    """The host has no permitted address."""


class OutboundFailed(Exception):
    """A request had no usable answer, for ``reason``.

    It is ``timeout``, ``refused`` (no connection), ``not_allowed`` (an address that this host does not connect to),
    ``status``, ``too_large``, ``malformed`` or ``empty``.
    """

    def __init__(self, reason: str, *, status: int = 0) -> None:
        self.reason, self.status = reason, status
        super().__init__(reason)


def is_sendable(url: str) -> bool:
    """Whether a request can be made for ``url``: its host and port can be read, and it has no control character."""
    try:
        return bool(urlsplit(url).hostname) and urlsplit(url).port != 0 and bool(request_to("GET", url))
    except (ValueError, OutboundFailed):
        return False


def request_to(method: str, url: str, **parts: Any) -> httpx.Request:
    """Build a request; raises ``OutboundFailed`` (``refused``) for an address that no request can be sent to."""
    try:
        return httpx.Request(method, url, **parts)
    except (httpx.InvalidURL, UnicodeError):
        raise OutboundFailed("refused") from None


@contextlib.asynccontextmanager
async def exchange(request: httpx.Request, *, seconds: float, listed: str = "") -> AsyncIterator[httpx.Response]:
    """Send a request and yield its response with an unread body, all within ``seconds``. Raises ``OutboundFailed``.

    A compressed answer is refused: its size is unknown before it is unpacked. The host ``listed`` may have any address,
    as those that the administrator lists.
    """
    request.headers["Accept-Encoding"] = "identity"
    timeout = httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))
    try:
        async with asyncio.timeout(seconds), client(timeout=timeout, listed=listed) as http:
            answer = await http.send(request, stream=True)
            stream = answer.extensions["network_stream"]
            try:
                if not isinstance(stream, _Stream):  # it has switched to another protocol
                    raise OutboundFailed("malformed")
                stream.head_is_read()
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
    """Read the whole body of an answer; raises ``OutboundFailed`` over ``most`` bytes."""
    content = bytearray()
    async for part in answer.aiter_raw():
        content += part
        if len(content) > most:
            raise OutboundFailed("too_large")
    return bytes(content)


async def lines(answer: httpx.Response, *, most: int) -> AsyncIterator[str]:
    """Yield the lines of an answer's body as they arrive; raises ``OutboundFailed`` over ``most`` bytes in all."""
    begun: list[bytes] = []  # the pieces of a line, joined at its end: a body may come in as many pieces as bytes
    length = 0
    async for part in answer.aiter_raw():
        length += len(part)
        if length > most:
            raise OutboundFailed("too_large")
        *whole, rest = part.split(b"\n")
        for line in whole:
            yield b"".join((*begun, line)).decode(errors="replace").rstrip("\r")
            begun.clear()
        begun.append(rest)
    if last := b"".join(begun):
        yield last.decode(errors="replace").rstrip("\r")


def client(*, timeout: httpx.Timeout, listed: str = "") -> httpx.AsyncClient:
    """Return the client for every request that leaves this host."""
    return httpx.AsyncClient(transport=_Transport(listed), timeout=timeout, trust_env=False, follow_redirects=False)


def is_refused(problem: Exception) -> bool:
    """Whether a request failed because its destination is not permitted."""
    return isinstance(problem.__cause__, OutboundRefused)


def may_connect(host: str, address: Address) -> bool:
    """Whether ``host`` may be connected to at ``address``: one of them is listed, or the address is public."""
    plain = getattr(address, "ipv4_mapped", None) or address
    listed = _listed()
    return wire_name(host) in listed or any(_covers(each, plain) for each in listed) or _is_public(plain)


def is_listed(host: str) -> bool:
    """Whether the administrator lists ``host``, a name or an address."""
    listed, address = _listed(), literal_address(host)
    return wire_name(host) in listed or (address is not None and any(_covers(each, address) for each in listed))


def _listed() -> list[str]:
    return [wire_name(each.strip()) for each in settings.OPENWOP_OUTBOUND_ALLOW]


def wire_name(host: str) -> str:
    """Return ``host`` as requests spell it: in lower case, an international name in its ASCII form (``xn--``)."""
    host = host.lower().rstrip(".")
    try:
        return host if host.isascii() else httpx.URL(scheme="https", host=host).raw_host.decode()
    except httpx.InvalidURL:
        return host  # which no request can be sent to


def literal_address(host: str) -> Address | None:
    """Return the address that ``host`` spells, in any form that the system reads; None for a name."""
    host = host.rstrip(".")
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
    """Connects to the first permitted address of a host that answers; all of the host ``listed`` are permitted."""

    def __init__(self, listed: str) -> None:
        self._listed = wire_name(listed)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        failed: Exception = OutboundRefused("The address is not one that this host may connect to.")
        for address in filter(partial(self._permits, host), await _resolved(host, port, timeout)):
            try:
                return _Stream(await super().connect_tcp(address, port, timeout, local_address, socket_options))
            except httpcore.ConnectError as problem:
                failed = problem
        raise failed

    def _permits(self, host: str, address: str) -> bool:
        return wire_name(host) == self._listed or may_connect(host, ipaddress.ip_address(address.partition("%")[0]))


class _Stream(httpcore.AsyncNetworkStream):
    """The connection of one request, on which a server sends at most ``HEAD_BYTES`` before the body of its answer.

    Interim answers without end would keep the event loop busy until the time is up, which other requests share.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._left: float = HEAD_BYTES

    def head_is_read(self) -> None:
        """What comes from now on is the body, which its reader bounds."""
        self._left = math.inf

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        found = await self._stream.read(max_bytes, timeout)
        self._left -= len(found)
        if self._left < 0:
            raise httpcore.RemoteProtocolError("The answer does not begin.")
        return found

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        return _Stream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


async def _resolved(host: str, port: int, timeout: float | None) -> list[str]:
    """Return the addresses of ``host``, as texts that need no second look-up."""
    try:
        async with asyncio.timeout(timeout):
            found = await asyncio.wrap_future(_look_up(host, port))
    except TimeoutError:
        raise httpcore.ConnectTimeout("The name of the host was not resolved in time.") from None
    except (OSError, UnicodeError):
        raise httpcore.ConnectError("The name of the host is not known.") from None
    return list(dict.fromkeys(str(each[4][0]) for each in found))


_guard = threading.Lock()
_look_ups: dict[tuple[str, int], "Future[list[AddressInfo]]"] = {}


def _look_up(host: str, port: int) -> "Future[list[AddressInfo]]":
    """Begin to resolve ``host``, or join in the look-up that is under way.

    It has a thread of its own, for which nothing waits: where no name server answers, the system gives up after half a
    minute. In a pool such names would keep others from being resolved, and an event loop waits for its pool at its end.
    """
    with _guard:
        found = _look_ups.get((host, port))
        if found is None:
            found = Future()
            found.set_running_or_notify_cancel()  # whoever waits may give up, and it goes on for the others
            threading.Thread(target=_resolve, args=(host, port, found), name="resolver", daemon=True).start()
            _look_ups[host, port] = found
    return found


def _resolve(host: str, port: int, found: "Future[list[AddressInfo]]") -> None:
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except Exception as problem:  # noqa: BLE001  # it is raised where the addresses are awaited
        _end_look_up(host, port)
        found.set_exception(problem)
    else:
        _end_look_up(host, port)
        found.set_result(addresses)


def _end_look_up(host: str, port: int) -> None:
    with _guard:
        del _look_ups[host, port]


@cache
def _ssl_context() -> ssl.SSLContext:
    """The trusted certificates, cached because reading them takes longer than most requests.

    ``REQUESTS_CA_BUNDLE`` or ``SSL_CERT_FILE`` names more: the authority of an organisation's own network. Without them
    requests are made all the same: many an environment names a file that is not there.
    """
    context = httpx.create_ssl_context(trust_env=False)
    if bundle := os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("SSL_CERT_FILE"):
        is_folder = Path(bundle).is_dir()
        try:
            context.load_verify_locations(capath=bundle if is_folder else None, cafile=None if is_folder else bundle)
        except OSError as problem:  # also of OpenSSL: the file has no certificate
            log.error("the certificates of %s cannot be read, and are not trusted: %s", bundle, problem)
    return context


class _Transport(httpx.AsyncHTTPTransport):
    """httpx's transport with our network backend, for which it has no parameter."""

    def __init__(self, listed: str) -> None:
        super().__init__(verify=_ssl_context(), trust_env=False)
        self._pool = httpcore.AsyncConnectionPool(ssl_context=_ssl_context(), network_backend=_Backend(listed))
