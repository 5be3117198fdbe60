"""B27: sixteen clients ask a console for everything at once: reads, writes, lists, pages by tags and the ledger page.

The clients share the cores with the console, so the rate is a lower bound; none of them waits between two requests.
"""

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count, cycle
from statistics import median, quantiles
from time import monotonic

from django.test import Client
from django.utils import timezone

from memory.host import api_keys, ids, operators
from memory.host.models import Tenant
from openwop_console.process.bind_address import Address
from tools.bench import ground, remembering, rounds, serving
from tools.bench.attacking import PASSWORD
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan

CLIENTS = 16
AGENT, SIZE = "bench.agent", 100_000
SECONDS, QUICK_SECONDS, WARM_UP = 60.0, 10.0, 2.0
LEAST, SLOWEST_MS = 400, 150
OK = (200, 201)
NUMBERS = count(2 * 10**9)
KINDS = ("GET by id", "POST", "list of 50", "page by two tags", "ledger page")
# Of ten requests; each client begins at another one.
TURNS = (0, 1, 0, 2, 0, 3, 0, 1, 0, 4)


@dataclass(frozen=True, slots=True)
class Ask:
    """One kind of request: how it is sent, without its body."""

    method: str
    path: str
    headers: dict[str, str]
    body: Callable[[], str] | None = None


def mixed(plan: Plan) -> Iterator[Outcome]:
    """Requests a second, how long the slowest hundredth takes, how many failed, and the median of each kind."""
    owner, size = ground.tenant(), min(SIZE, plan.largest)
    entry_id = remembering.fill(ground.running_run(owner), AGENT, size)
    asks = _asks(owner, entry_id)
    seconds = SECONDS if plan.largest > SIZE else QUICK_SECONDS
    with serving.server() as address:
        _load(address, asks, WARM_UP)
        times = _load(address, asks, seconds)
    every = [each for kind in times for each in kind if each]
    failed = sum(each == 0 for kind in times for each in kind)
    workload = f"{CLIENTS} clients for {seconds:g} s, of {size:,} entries"
    yield Outcome("B27", f"{workload}; requests/s", plan.engine, len(every) / seconds, LEAST, at_least=True, unit="")
    slowest = quantiles(every, n=100)[98] * 1000
    yield Outcome("B27", f"{workload}; 99th percentile", plan.engine, slowest, SLOWEST_MS, unit=" ms")
    yield Outcome("B27", f"{workload}; failed requests", plan.engine, failed, 0, unit="")
    for name, kind in zip(KINDS, times, strict=True):
        middle = median(kind or [0]) * 1000
        yield Outcome("B27", f"{workload}; {name}, median", plan.engine, middle, None, unit=" ms")


def _asks(owner: Tenant, entry_id: str) -> tuple[Ask, ...]:
    """In the order of ``KINDS``: the pages with a session, everything else with a key."""
    key = api_keys.create_api_key(owner, role="owner", now=timezone.now()).text
    email = f"bench-{ids.new_id().hex[-8:]}@example.org"
    browser = Client()
    operator = operators.create_operator(owner, email, role="owner", password=PASSWORD, now=timezone.now())
    browser.force_login(operator, backend="allauth.account.auth_backends.AuthenticationBackend")
    cookie = {"Cookie": f"openwop_session={browser.cookies['openwop_session'].value}"}
    agent = {"X-API-Key": key, "X-Agent-ID": AGENT, "Content-Type": "application/json"}
    place = f"/api/v1/agents/{AGENT}/memory"
    return (
        Ask("GET", f"/api/v1/memory/{entry_id}", agent),
        Ask("POST", "/api/v1/memory", agent, _fresh),
        Ask("GET", f"{place}?limit=50", agent),
        Ask("GET", f"{place}?tags={remembering.COMMON},{remembering.RARE}", agent),
        Ask("GET", "/memory", cookie),
    )


def _fresh() -> str:
    """With the tags of its number, so that the rare one stays as rare as it was."""
    return json.dumps(remembering.entry(AGENT, next(NUMBERS)))


def _load(address: Address, asks: tuple[Ask, ...], seconds: float) -> list[list[float]]:
    """The seconds of each request, by kind; 0 for one that failed."""
    times: list[list[float]] = [[] for _ in asks]
    ready = threading.Barrier(CLIENTS)

    def repeat(number: int) -> None:
        client = http.client.HTTPConnection(address.host, address.port, timeout=60)
        turns = cycle(TURNS[number % len(TURNS) :] + TURNS[: number % len(TURNS)])
        ready.wait()
        until = monotonic() + seconds
        while (began := monotonic()) < until:
            kind = next(turns)
            times[kind].append(monotonic() - began if _is_answered(client, asks[kind]) else 0)
        client.close()

    rounds.sweep()
    with ThreadPoolExecutor(CLIENTS) as together:
        for _ in together.map(repeat, range(CLIENTS)):
            pass
    return times


def _is_answered(client: http.client.HTTPConnection, ask: Ask) -> bool:
    try:
        client.request(ask.method, ask.path, ask.body() if ask.body else None, ask.headers)
        answer = client.getresponse()
        return bool(answer.read()) and answer.status in OK
    except (OSError, http.client.HTTPException):
        client.close()
        return False
