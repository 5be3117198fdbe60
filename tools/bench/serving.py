"""B24: requests of a real web server, beside two hundred readers who wait for events and without them."""

import http.client
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from statistics import mean, median
from time import monotonic, sleep

from django.conf import settings
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from memory.host import api_keys, ids, runs
from memory.host.models import Run, Tenant
from openwop_console.process import data_folder, supervisor
from openwop_console.process.bind_address import Address
from tools.bench import ground, rounds
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan

STREAMS = 200
CLIENTS = 4
ENTRIES = 10_000
PAGE = "/v1/host/console/memory?memoryRef=bench/served&limit=50"
SECONDS_TO_OPEN = 60


class NotServed(Exception):
    """The web server did not do what is to be measured."""


def beside_streams(plan: Plan) -> Iterator[Outcome]:
    """Idle streams take next to nothing from the requests that are served beside them."""
    owner = ground.tenant()
    ground.fill(ground.running_run(owner), "bench/served", min(ENTRIES, plan.sizes[-1]))
    key = api_keys.create_api_key(owner, role="owner", now=timezone.now()).text
    calls, ratios = max(plan.calls // 2, 1), []
    with server() as address, clients(address) as load:
        rate(load, key, rounds.WARM_UP)
        for _ in range(plan.rounds):
            before = rate(load, key, calls)
            with streams(address, key, owner):
                beside = rate(load, key, calls)
            ratios.append(beside / mean([before, rate(load, key, calls)]))
    workload = f"requests/s for a page of 50 entries beside {STREAMS} idle streams, against without"
    yield Outcome("B24", workload, plan.engine, median(ratios), 0.85, at_least=True)


@contextmanager
def server(**environment: str) -> Iterator[Address]:
    """The web processes of a console on this process's own data, with these variables, and no worker."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = Address("127.0.0.1", free.getsockname()[1])
    call_command("collectstatic", interactive=False, verbosity=0)
    request = supervisor.StopRequest()
    with data_folder.lock(settings.OPENWOP_DATA_DIR, "web") as lock:
        web = supervisor.start_web(address, lock, environment)
        try:
            if not supervisor.wait_until_ready(address, [web], request, seconds=SECONDS_TO_OPEN):
                raise NotServed("The web server does not answer.")
            yield address
        finally:
            supervisor.stop([web], request)


@contextmanager
def clients(address: Address) -> Iterator[list[http.client.HTTPConnection]]:
    """The clients of a normal load."""
    clients = [http.client.HTTPConnection(address.host, address.port, timeout=60) for _ in range(CLIENTS)]
    yield clients
    for client in clients:
        client.close()


def rate(clients: list[http.client.HTTPConnection], key: str, calls: int) -> float:
    """Requests a second, of all clients at once."""
    rounds.sweep()
    with ThreadPoolExecutor(len(clients)) as together:
        began = monotonic()
        for _ in together.map(lambda client: _read_pages(client, key, calls), clients):
            pass
        return len(clients) * calls / (monotonic() - began)


def _read_pages(client: http.client.HTTPConnection, key: str, calls: int) -> None:
    client.close()  # the server may have closed what was idle
    for _ in range(calls):
        client.request("GET", PAGE, headers={"X-API-Key": key})
        answer = client.getresponse()
        if answer.status != http.client.OK or not answer.read():
            raise NotServed(f"A page was answered with {answer.status}.")


@contextmanager
def streams(address: Address, key: str, owner: Tenant) -> Iterator[None]:
    """All streams of a run in which nothing happens are open; then the run ends, and the server has closed them."""
    run = ground.running_run(owner)
    opened: list[socket.socket] = []
    until = monotonic() + SECONDS_TO_OPEN
    try:
        while len(opened) < STREAMS:
            if monotonic() > until:
                raise NotServed(f"Only {len(opened)} streams could be opened.")
            opened += _open_stream(address, key, run)
        sleep(0.5)
        yield
        with transaction.atomic():
            runs.complete(run, now=timezone.now())
        for stream in opened:
            while not stream.recv(65536).endswith(b"0\r\n\r\n"):
                pass
    finally:
        for stream in opened:
            stream.close()


def _open_stream(address: Address, key: str, run: Run) -> list[socket.socket]:
    """The open stream; none when the process that took the connection has no room, and another is to be tried."""
    stream = socket.create_connection((address.host, address.port), timeout=60)
    head = f"GET /v1/runs/{ids.wire('run', run.id)}/events HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n"
    stream.sendall(f"{head}Accept: text/event-stream\r\n\r\n".encode())
    if b" 200 " in stream.recv(4096).split(b"\r\n")[0]:
        return [stream]
    stream.close()
    return []
