"""B2 and B3: a run over HTTP from its creation to its last event, and the events of a run that has ended."""

import http.client
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from statistics import median
from time import monotonic
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.utils import timezone

from memory.host import api_keys, event_log, ids
from openwop_console.process import data_folder, supervisor
from openwop_console.process.bind_address import Address
from tools.bench import ground, rounds, serving
from tools.bench.ground import Query, RawDriver
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan

ORDER = json.dumps({"workflowId": "conformance-noop"})
CLIENTS = 8
SECONDS_TO_END = 60


def carried_out(plan: Plan) -> Iterator[Outcome]:
    """One run after the other, each to its last event; then many at once."""
    with _console() as (address, key, _):
        client = _Client(address, key)
        for _ in range(5):
            client.end(client.create())
        number = max(plan.calls // 10, 3)
        taken = [median(_latencies(client, number)) for _ in range(plan.rounds)]
        rates = [_rate(address, key, number) for _ in range(plan.rounds)]
    yield Outcome(
        "B2", "a noop run over HTTP, created to its last event", plan.engine, median(taken) * 1000, 30, unit=" ms"
    )
    workload = f"noop runs of {CLIENTS} clients, carried out a second"
    yield Outcome("B2", workload, plan.engine, median(rates), 100, at_least=True, unit="/s")


def told(plan: Plan) -> Iterator[Outcome]:
    """The events of one finished run over HTTP, against the driver that reads the same rows."""
    with _console() as (address, key, owner):
        client, raw = _Client(address, key), RawDriver()
        run = client.create()
        client.end(run)
        query = raw.prepared(_read_of(owner, run))
        read = partial(_read, raw, query)
        times = rounds.ratio(partial(client.events, run), read, rounds=plan.rounds, calls=plan.calls)
        raw.close()
    yield Outcome("B3", "events of a finished run over HTTP, times the raw driver", plan.engine, times, 12)


def _read_of(owner: Any, run: str) -> Query:
    return ground.query_of(lambda: event_log.read(owner.id, ids.parse("run", run) or owner.id))


def _read(raw: RawDriver, query: Query) -> None:
    assert raw.execute(query).fetchall()


class _Client:
    """One connection that is kept."""

    def __init__(self, address: Address, key: str) -> None:
        self._connection = http.client.HTTPConnection(address.host, address.port, timeout=60)
        self._headers = {"X-API-Key": key, "Content-Type": "application/json"}

    def _ask(self, method: str, path: str, body: str | None = None) -> Any:
        self._connection.request(method, path, body, self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status not in (200, 201):
            raise serving.NotServed(f"{method} {path} was answered with {answer.status}.")
        return json.loads(text)

    def create(self) -> str:
        return str(self._ask("POST", "/v1/runs", ORDER)["runId"])

    def events(self, run: str) -> Any:
        return self._ask("GET", f"/v1/runs/{run}/events")

    def end(self, run: str) -> None:
        """Follow the run to its last event."""
        after, until = -1, monotonic() + SECONDS_TO_END
        while True:
            found = self._ask("GET", f"/v1/runs/{run}/events/poll?timeout=10&lastSequence={after}")
            if found["isComplete"]:
                return
            after = found["events"][-1]["sequence"] if found["events"] else after
            if monotonic() > until:
                raise serving.NotServed("A run was not carried out.")


def _latencies(client: _Client, number: int) -> Iterator[float]:
    for _ in range(number):
        began = monotonic()
        client.end(client.create())
        yield monotonic() - began


def _rate(address: Address, key: str, number: int) -> float:
    def create(client: _Client) -> list[str]:
        return [client.create() for _ in range(number)]

    clients = [_Client(address, key) for _ in range(CLIENTS)]
    with ThreadPoolExecutor(CLIENTS) as together:
        began = monotonic()
        created = [run for runs in together.map(create, clients) for run in runs]
        for run in created:
            clients[0].end(run)
        return len(created) / (monotonic() - began)


@contextmanager
def _console() -> Iterator[tuple[Address, str, object]]:
    """Web and worker on this process's own data, and the key of a tenant."""
    call_command("createcachetable", verbosity=0)
    owner = ground.tenant()
    key = api_keys.create_api_key(owner, role="owner", now=timezone.now()).text
    with serving.server() as address, data_folder.lock(settings.OPENWOP_DATA_DIR, "worker") as lock:
        worker = supervisor.start_worker(lock, {})
        try:
            yield address, key, owner
        finally:
            supervisor.stop([worker], supervisor.StopRequest())
