"""B26: a console under clients that stall: what they take from a normal load, and whether ``/healthz`` still answers.

The clients send half a head, half a body, or read nothing of a long answer. One that is cut off comes back at once.
"""

import http.client
import select
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import mean, median
from time import monotonic, sleep
from typing import Any

from django.test import Client
from django.utils import timezone

from memory.host import api_keys, ids, operators
from memory.host.models import Tenant
from openwop_console.process.bind_address import Address
from tools.bench import ground, rounds, serving
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan

HEADS, BODIES, READERS = 400, 64, 64
LOOK_EVERY = 0.1
HEALTH_TIMEOUT = 5.0
SECONDS_TO_READ = 120
PASSWORD = "a-long-bench-pass-phrase"  # noqa: S105
ENTRIES = 10_000
# What the slow readers ask for: 4 MB, more than the buffers between them and the console take.
LONG_ENTRIES, TIMES_AS_LONG = 500, 80
CONTENT = ground.COLUMNS.split(", ").index("content")
DOWNLOAD = "/memory?ref=bench/long&format=json"
STALLED_BODIES = ("/login", "/v1/interrupts/a.b", "/v1/runs")
HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow:"


def under_attack(plan: Plan) -> Iterator[Outcome]:
    """A normal load beside stalled heads, bodies, readers and idle streams, all at once, against the load alone."""
    owner = ground.tenant()
    ground.fill(ground.running_run(owner), "bench/served", ENTRIES)
    fill_long(owner)
    key = api_keys.create_api_key(owner, role="owner", now=timezone.now()).text
    email = f"bench-{ids.new_id().hex[-8:]}@example.org"
    operator = operators.create_operator(owner, email, role="owner", password=PASSWORD, now=timezone.now())
    browser = Client()
    browser.force_login(operator, backend="allauth.account.auth_backends.AuthenticationBackend")
    cookie = f"openwop_session={browser.cookies['openwop_session'].value}"
    calls, ratios, waits = max(plan.calls // 2, 1), [], []
    with serving.server() as address, serving.clients(address) as load:
        serving.rate(load, key, rounds.WARM_UP)
        for _ in range(plan.rounds):
            before = serving.rate(load, key, calls)
            with ExitStack() as attacks:
                attacks.enter_context(serving.streams(address, key, owner))
                for attack in (slow_heads(), slow_bodies(), slow_readers(DOWNLOAD, f"Cookie: {cookie}")):
                    attacks.enter_context(attack.on(address))
                with health(address) as answers:
                    beside = serving.rate(load, key, calls)
                waits += answers
            ratios.append(beside / mean([before, serving.rate(load, key, calls)]))
    stalled = f"{HEADS} stalled heads, {BODIES} bodies, {READERS} readers and {serving.STREAMS} streams"
    yield Outcome(
        "B26", f"requests/s beside {stalled}, against without", plan.engine, median(ratios), 0.8, at_least=True
    )
    yield Outcome("B26", "/healthz meanwhile, median", plan.engine, median(waits) * 1000, 100, unit=" ms")
    yield Outcome("B26", "/healthz meanwhile, slowest", plan.engine, max(waits) * 1000, None, unit=" ms")


def fill_long(owner: Tenant) -> None:
    """The tenant has what ``DOWNLOAD`` is made of."""
    ground.fill(ground.running_run(owner, system=True), "bench/long", LONG_ENTRIES, row_of=_long_row)


def _long_row(*given: Any) -> list[Any]:
    found = ground.row(*given)
    found[CONTENT] *= TIMES_AS_LONG
    return found


@dataclass(frozen=True, slots=True)
class Attack:
    """Clients that all send ``requests``, in turn, and then nothing. ``waits`` for the first byte of the answer, and
    reads no more; else whatever comes is the end, and the client begins again."""

    number: int
    requests: tuple[bytes, ...]
    waits: bool = False

    @contextmanager
    def on(self, address: Address) -> Iterator[list[socket.socket]]:
        """The clients are there, and come back when they are cut off."""
        clients = [self._begun(address, number) for number in range(self.number)]
        if self.waits:
            _await_first_bytes(clients)
        over = threading.Event()
        keeper = threading.Thread(target=self._keep, args=(address, clients, over), daemon=True)
        keeper.start()
        try:
            yield clients
        finally:
            over.set()
            keeper.join()
            for client in clients:
                client.close()

    def _begun(self, address: Address, number: int) -> socket.socket:
        client = socket.socket()
        if self.waits:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(30)
        client.connect((address.host, address.port))
        client.sendall(self.requests[number % len(self.requests)])
        return client

    def _keep(self, address: Address, clients: list[socket.socket], over: threading.Event) -> None:
        while not over.wait(LOOK_EVERY):
            for at, client in enumerate(clients):
                if _is_over(client, reads=not self.waits):
                    client.close()
                    clients[at] = self._begun(address, at)


def _is_over(client: socket.socket, *, reads: bool) -> bool:
    asking = select.poll()
    asking.register(client, select.POLLRDHUP | (select.POLLIN if reads else 0))
    return bool(asking.poll(0))


def _await_first_bytes(clients: Iterable[socket.socket]) -> None:
    until = monotonic() + SECONDS_TO_READ
    for client in clients:
        if not select.select([client], [], [], max(until - monotonic(), 0))[0]:
            raise serving.NotServed("A download did not begin.")


def slow_heads(number: int = HEADS) -> Attack:
    return Attack(number, (HEAD,))


def slow_bodies(number: int = BODIES, headers: str = "") -> Attack:
    """Three bytes of a hundred thousand, without a login."""
    lines = "".join(f"{line}\r\n" for line in ("Content-Type: application/json", headers) if line)
    return Attack(
        number,
        tuple(
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n{lines}\r\nabc".encode()
            for path in STALLED_BODIES
        ),
    )


def slow_readers(path: str, header: str, number: int = READERS) -> Attack:
    return Attack(number, (f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n".encode(),), waits=True)


@contextmanager
def health(address: Address, every: float = 0.05) -> Iterator[list[float]]:
    """The seconds that ``/healthz`` took, asked again and again inside the block; one unanswered counts its timeout."""
    took: list[float] = []
    over = threading.Event()
    asker = threading.Thread(target=_ask, args=(address, every, took, over), daemon=True)
    asker.start()
    try:
        yield took
    finally:
        over.set()
        asker.join()


def _ask(address: Address, every: float, took: list[float], over: threading.Event) -> None:
    while not over.is_set():
        began = monotonic()
        asking = http.client.HTTPConnection(address.host, address.port, timeout=HEALTH_TIMEOUT)
        try:
            asking.request("GET", "/healthz", headers={"Host": "localhost"})
            answered = asking.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            answered = False
        finally:
            asking.close()
        took.append(monotonic() - began if answered else HEALTH_TIMEOUT)
        sleep(every)
