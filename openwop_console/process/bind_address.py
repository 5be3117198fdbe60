"""The address a console listens on."""

import http.client
import re
import socket
from dataclasses import dataclass
from http import HTTPStatus

from django.conf import settings

FORM = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[^\[\]:/\s]+)):(?P<port>\d{1,5})")
PROBES = ("/healthz", "/readyz")
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104


class NotAnAddress(ValueError):
    """The text does not name a host and a port."""


class AddressTaken(Exception):
    """Nothing can listen there: the address is in use, or the machine does not have it."""


@dataclass(frozen=True)
class Address:
    """A host and a port."""

    host: str
    port: int

    @property
    def near(self) -> str:
        """Return the host under which this machine itself reaches the address."""
        return EVERYWHERE.get(self.host, self.host)

    @property
    def url(self) -> str:
        """Return the address for a browser on this machine."""
        host = f"[{self.near}]" if ":" in self.near else self.near
        return f"http://{host}:{self.port}/"


def parse(text: str) -> Address:
    """Parse ``127.0.0.1:8000``, ``localhost:8000`` or ``[::1]:8000``; raises ``NotAnAddress``."""
    form = FORM.fullmatch(text)
    if form is None or not 0 < int(form["port"]) < 65536:
        raise NotAnAddress(f"{text!r} is not an address; write HOST:PORT, like 127.0.0.1:8000")
    return Address(host=form["v6"] or form["name"], port=int(form["port"]))


def require_free(address: Address) -> None:
    """Raise ``AddressTaken`` unless ``address`` can be bound, because granian silently shares a port that is in use."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as trying:
            trying.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trying.bind(place)
    except OSError as refused:
        reason = refused.strerror or str(refused)
        raise AddressTaken(f"cannot listen on {address.host}:{address.port} ({reason.lower()})") from refused


def answers(address: Address) -> bool:
    """Return whether ``/healthz`` answers 200 within two seconds."""
    asking = http.client.HTTPConnection(address.near, address.port, timeout=2)
    try:
        asking.request("GET", "/healthz", headers={"Host": served_host()})
        return asking.getresponse().status == HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asking.close()


def served_host() -> str:
    """Return a host name that ``ALLOWED_HOSTS`` accepts."""
    first: str = settings.ALLOWED_HOSTS[0]
    return "localhost" if first == "*" else first.lstrip(".")
