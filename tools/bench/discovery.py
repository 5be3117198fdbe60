"""B1: discovery against an application that does nothing, on the same web server.

All connections ask, then all answers are read: one thread of the bench is quicker than what it measures.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from statistics import median
from time import monotonic, sleep

from django.conf import settings

from openwop_console.process.bind_address import Address, answers
from tools.bench import serving
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan

CONNECTIONS = 16
REQUEST = b"GET /.well-known/openwop HTTP/1.1\r\nHost: localhost\r\n\r\n"
GOALS = {"wsgi": 0.8, "asgi": None}
INTERFACES = {"wsgi": "wsgi", "asgi": "asginl"}


def discovered(plan: Plan) -> Iterator[Outcome]:
    """The console serves ASGI, of which a trivial application has its price too: both are shown."""
    with ExitStack() as stack:
        ours = stack.enter_context(serving.server())
        with _connection(ours) as client:
            client.sendall(REQUEST)
            length = len(_read(client))
        peers = {name: stack.enter_context(_trivial(name, length)) for name in INTERFACES}
        ratios: dict[str, list[float]] = {name: [] for name in peers}
        for _ in range(plan.rounds):
            mine = _rate(ours, plan.calls)
            for name, address in peers.items():
                ratios[name].append(mine / _rate(address, plan.calls))
    for name, found in ratios.items():
        workload = f"discovery, {CONNECTIONS} connections; requests/s, times those of a trivial {name.upper()} app"
        yield Outcome("B1", workload, plan.engine, median(found), GOALS[name], at_least=True)


@contextmanager
def _trivial(name: str, length: int) -> Iterator[Address]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = Address("127.0.0.1", free.getsockname()[1])
    options = {
        "interface": INTERFACES[name],
        "http": "1",
        "port": address.port,
        "loop": "asyncio",
        "log-level": "error",
    }
    options |= {"workers": settings.OPENWOP_WEB_PROCESSES, "backlog": 2048}
    spelled = [f"--{option}={value}" for option, value in options.items()]
    process = subprocess.Popen(  # noqa: S603  # our own interpreter, our own arguments
        [sys.executable, "-m", "granian", *spelled, f"tools.bench.trivial:{name}"],
        cwd=settings.BASE_DIR,
        env=os.environ | {"TRIVIAL_BYTES": str(length)},
    )
    try:
        until = monotonic() + serving.SECONDS_TO_OPEN
        while not answers(address):
            if monotonic() > until or process.poll() is not None:
                raise serving.NotServed("The trivial application does not answer.")
            sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


@contextmanager
def _connection(address: Address) -> Iterator[socket.socket]:
    with socket.create_connection((address.host, address.port), timeout=60) as opened:
        yield opened


def _read(client: socket.socket) -> bytes:
    """The body of one answer."""
    text = client.recv(65536)
    while b"\r\n\r\n" not in text:
        text += client.recv(65536)
    head, _, body = text.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200 "):
        raise serving.NotServed("Discovery was not answered.")
    length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    while len(body) < length:
        body += client.recv(65536)
    return body


def _rate(address: Address, calls: int) -> float:
    """Requests a second; the first answers, which may have to be computed, are not counted."""
    with ExitStack() as stack:
        clients = [stack.enter_context(_connection(address)) for _ in range(CONNECTIONS)]
        began = 0.0
        for number in range(calls + 1):
            for client in clients:
                client.sendall(REQUEST)
            for client in clients:
                _read(client)
            began = began if number else monotonic()
        return calls * CONNECTIONS / (monotonic() - began)
