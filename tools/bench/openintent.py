"""B25: OpenIntent over HTTP against the public server, and how a query by tags grows with what is remembered."""

import http.client
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import count
from statistics import median
from time import monotonic
from typing import Any

from django.utils import timezone

from memory.host import api_keys, tenancy
from memory.openintent import queries
from memory.openintent.access import Caller
from openwop_console.process.bind_address import Address
from tools.bench import ground, public_server, remembering, rounds, serving
from tools.bench.outcomes import Outcome
from tools.bench.peers import NotInstalled
from tools.bench.plan import Plan

AGENT, SIZE, PAGE = "bench.agent", 10_000, 100
CONNECTIONS = (1, 8)
WANTED = (remembering.COMMON, remembering.RARE)
PLACE = f"/api/v1/agents/{AGENT}/memory"
NUMBERS = count(10**9)
GOALS = {"GET by id": 1.0, "POST": 0.8, "AND-tag page over {size:,}": 50.0}


@dataclass(frozen=True, slots=True)
class Side:
    """A server with 10,000 entries of one agent, or fewer where less was asked for. ``page`` is where its page of two
    tags starts from: all entries where it passes over tags, which the client then looks through; ``rows`` or more have
    both."""

    address: Address
    key: str
    entry_id: str
    page: str
    rows: int

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.address.host, self.address.port, timeout=120)

    def ask(self, client: http.client.HTTPConnection, method: str, path: str, body: str | None = None) -> bytes:
        headers = {"X-API-Key": self.key, "X-Agent-ID": AGENT, "Content-Type": "application/json"}
        client.request(method, path, body, headers)
        try:
            answer = client.getresponse()
        except ConnectionError:  # the public server hangs up on those whom it keeps waiting
            client.close()
            client.request(method, path, body, headers)
            answer = client.getresponse()
        text = answer.read()
        if answer.status not in (200, 201):
            raise serving.NotServed(f"{method} {path} was answered with {answer.status}.")
        return text


def _get(side: Side, client: http.client.HTTPConnection) -> None:
    side.ask(client, "GET", f"/api/v1/memory/{side.entry_id}")


def _post(side: Side, client: http.client.HTTPConnection) -> None:
    given = next(remembering.entries(AGENT, 1)) | {"key": f"new-{next(NUMBERS)}"}
    side.ask(client, "POST", "/api/v1/memory", json.dumps(given))


def _page(side: Side, client: http.client.HTTPConnection) -> None:
    """The newest entries that have both tags; the test that they are, is the client's work on both sides."""
    every = json.loads(side.ask(client, "GET", side.page))
    found = [entry for entry in every if set(WANTED) <= set(entry["tags"])]
    found.sort(key=lambda entry: str(entry["updated_at"]), reverse=True)
    if len(found[:PAGE]) < side.rows:
        raise serving.NotServed("A page of entries by tags is not whole.")


WORK: dict[str, tuple[Callable[[Side, http.client.HTTPConnection], None], int]] = {
    "GET by id": (_get, 1),
    "POST": (_post, 2),
    "AND-tag page over {size:,}": (_page, 20),
}


def spoken(plan: Plan) -> Iterator[Outcome]:
    """Both servers do the same work in turn, with one connection and with eight; then the query alone, as it grows."""
    owner = ground.tenant()
    run = ground.running_run(owner)
    size = min(SIZE, plan.largest)
    try:
        with ExitStack() as stack:
            theirs = stack.enter_context(public_server.running(list(remembering.entries(AGENT, size))))
            entry_id = remembering.fill(run, AGENT, size)
            key = api_keys.create_api_key(owner, role="agent", now=timezone.now()).text
            page, rows = f"{PLACE}?tags={','.join(WANTED)}", min(PAGE, size // remembering.RARITY)
            ours = Side(stack.enter_context(serving.server()), key, entry_id, page, rows)
            peer = Side(theirs[0], public_server.KEY, theirs[1], f"{PLACE}?limit={10 * SIZE}", rows)
            yield from _compared(plan, ours, peer, size)
    except NotInstalled as reason:
        for name, goal in GOALS.items():
            yield Outcome(
                "B25",
                f"{name.format(size=size)}; requests/s, times the public server's",
                plan.engine,
                None,
                goal,
                at_least=True,
                note=str(reason),
            )
    yield from _grown(plan)


def _compared(plan: Plan, ours: Side, peer: Side, size: int) -> Iterator[Outcome]:
    for name, (work, share) in WORK.items():
        for connections in CONNECTIONS:
            calls = max(plan.calls // share // connections, 1)
            _rate(ours, work, connections, calls)
            _rate(peer, work, connections, min(calls, 3))
            ratios = [
                _rate(ours, work, connections, calls) / _rate(peer, work, connections, calls)
                for _ in range(plan.rounds)
            ]
            workload = f"{name.format(size=size)}, connections: {connections}; requests/s, times the public server's"
            goal = None if size < SIZE and "size" in name else GOALS[name]
            yield Outcome("B25", workload, plan.engine, median(ratios), goal, at_least=True)


def _rate(side: Side, work: Callable[[Side, Any], None], connections: int, calls: int) -> float:
    """Requests a second, of all connections at once."""
    clients = [side.connect() for _ in range(connections)]

    def repeat(client: http.client.HTTPConnection) -> None:
        for _ in range(calls):
            work(side, client)

    rounds.sweep()
    with ThreadPoolExecutor(connections) as together:
        began = monotonic()
        for _ in together.map(repeat, clients):
            pass
        taken = monotonic() - began
    for client in clients:
        client.close()
    return connections * calls / taken


def _grown(plan: Plan) -> Iterator[Outcome]:
    """A page of 100 by two tags, with its total, out of all that one agent remembers."""
    pairs = {
        "common and rare": WANTED,
        "common and oldest": (remembering.COMMON, remembering.OLDEST),
        "two common": (remembering.COMMON, remembering.HALF),
    }
    callers = {}
    for size in sorted({min(SIZE, plan.largest), plan.largest}):
        owner = ground.tenant()
        remembering.fill(ground.running_run(owner), AGENT, size)
        callers[size] = Caller(tenancy.host_scope(owner), AGENT)
    for name, tags in pairs.items():
        calls = [partial(_queried, caller, tags) for caller in callers.values()]
        taken = rounds.rounds_of(list(calls), rounds=plan.rounds, calls=max(plan.calls // 40, 3))
        for size, times in zip(callers, zip(*taken, strict=True), strict=True):
            workload = f"page of 100 by two tags ({name}) with its total, of {size:,} entries"
            yield Outcome("B25", workload, plan.engine, median(times) * 1000, None, unit=" ms")


def _queried(caller: Caller, tags: tuple[str, ...]) -> queries.Page:
    return queries.page(caller, queries.Wanted(agent_id=AGENT, tags=tags), now=timezone.now())
