"""B15, B16 and B28: the pages of a large ledger, the whole of each as a browser gets it."""

import gc
import http.client
from collections.abc import Iterable, Iterator
from functools import partial
from statistics import median, quantiles
from time import perf_counter, process_time

from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from memory.host import ids, operators, sql
from memory.host.models import Tenant
from memory.models.entry import MemoryEntry
from tools.bench import ground, rounds
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan

DEEPEST = 0.999
COMMON, RARE, OLDEST = "invoice", "disputed", "first"
# The tags by the position of an entry: every one, each thousandth, the fifty oldest.
TAGGED = {COMMON: "TRUE", RARE: "position % 1000 = 7", OLDEST: "position < 50"}
CALLS = 20
LEDGER = "/memory"
# The pages that an operator opens, without those of one object.
PAGES = (
    "/",
    LEDGER,
    "/memory?state=retired",
    f"/memory?tag={COMMON}",
    "/memory?age=24h",
    "/runs",
    "/agents",
    "/proposals",
    "/nights",
    "/consolidation",
    "/consolidation/duplicates",
    "/archives",
    "/commitments",
    "/retention",
    "/installed",
    "/forget",
    "/audit",
    "/settings",
    "/settings/operators",
    "/settings/keys",
    "/health",
    "/namespaces",
    "/go-to",
)


class NotShown(Exception):
    """A page was not answered as it should be."""


def paged(plan: Plan) -> Iterator[Outcome]:
    """The whole page with its rows, through the middleware, in this process."""
    owner = _filled(plan.largest)
    browser = _browser(owner)
    rows = MemoryEntry.objects.of(owner.id).order_by("-id").values_list("id", flat=True)
    deep = min(int(plan.largest * DEEPEST), plan.largest - 51)
    after = ids.wire("mem", rows[deep])
    calls = [partial(_get, browser, "/memory"), partial(_get, browser, f"/memory?after={after}&seen={deep}")]
    first, deepest = _medians(list(calls), plan)
    of = f"of {plan.largest:,} entries"
    yield Outcome("B15", f"ledger page {of}, the first", plan.engine, first * 1000, 8, unit=" ms")
    yield Outcome("B15", f"ledger page {of}, at depth {DEEPEST}, against the first", plan.engine, deepest / first, 1.2)


def paged_by_tag(plan: Plan) -> Iterator[Outcome]:
    owner = _filled(plan.largest)
    browser = _browser(owner)
    taken = _medians([partial(_get, browser, f"/memory?tag={tag}") for tag in TAGGED], plan)
    workload = f"tag page of {plan.largest:,} entries: common, rare, oldest-only tag; the worst against the best"
    yield Outcome("B16", workload, plan.engine, max(taken) / min(taken), 4)


def first_bytes(plan: Plan) -> Iterator[Outcome]:
    """Pages are rendered whole before their first byte leaves, so the whole answer is what is measured."""
    owner = _filled(plan.largest)
    rounds.sweep()
    gc.set_threshold(10_000)  # as the web process does
    taken = times_of(_browser(owner), (*PAGES, *_of_one(owner)), calls=max(CALLS, min(plan.calls, 100)))
    late = {address: quantiles(wall, n=20)[-1] * 1000 for address, (wall, _) in taken.items()}
    slowest = max(late, key=lambda address: late[address])
    of = f"of {plan.largest:,} entries, 95th percentile"
    yield Outcome("B28", f"first byte of the ledger page {of}", plan.engine, late[LEDGER], 20, unit=" ms")
    workload = f"first byte of the slowest of {len(late)} pages {of}: {slowest.split('_')[0]}"
    yield Outcome("B28", workload, plan.engine, late[slowest], 100, unit=" ms")


def _of_one(owner: Tenant) -> tuple[str, ...]:
    entry = MemoryEntry.objects.of(owner.id).latest("id")
    return f"/memory/{ids.wire('mem', entry.id)}", f"/runs/{ids.wire('run', entry.run_id)}"


def times_of(browser: Client, addresses: Iterable[str], *, calls: int) -> dict[str, tuple[list[float], list[float]]]:
    """The seconds of each call of each address, by the clock and of this process's CPU; the addresses take turns."""
    taken: dict[str, tuple[list[float], list[float]]] = {address: ([], []) for address in addresses}
    for number in range(calls + 2):
        for address, (wall, cpu) in taken.items():
            began, worked = perf_counter(), process_time()
            answer = browser.get(address)
            if number > 1:
                wall.append(perf_counter() - began)
                cpu.append(process_time() - worked)
            if answer.status_code != http.client.OK:
                raise NotShown(f"{address} was answered with {answer.status_code}.")
    return taken


def _medians(calls: list[rounds.Call], plan: Plan) -> list[float]:
    taken = rounds.rounds_of(calls, rounds=plan.rounds, calls=min(plan.calls, CALLS))
    return [median(each) for each in zip(*taken, strict=True)]


def _get(browser: Client, address: str) -> None:
    answer = browser.get(address)
    if answer.status_code != http.client.OK or b"customer asked twice" not in answer.content:
        raise NotShown(f"{address} was answered with {answer.status_code}.")


def _browser(owner: Tenant) -> Client:
    call_command("createcachetable", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    address = f"{owner.slug}@example.com"
    person = operators.create_operator(owner, address, role="owner", password=ids.new_id().hex, now=timezone.now())
    browser = Client(SERVER_NAME="localhost")
    browser.force_login(person)
    return browser


def _filled(size: int) -> Tenant:
    owner = ground.tenant()
    ground.fill(ground.running_run(owner), "bench/page", size)
    tenant = sql.key(owner.id)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(ground.MOVE_HEAD, [tenant, tenant, size, size])
        for tag, which in TAGGED.items():
            cursor.execute(
                "INSERT INTO memory_entrytag (tenant_id, id, tag) SELECT tenant_id, id, %s FROM memory_memoryentry "  # noqa: S608
                f"WHERE tenant_id = %s AND {which.replace('%', '%%')}",
                [tag, tenant],
            )
    if sql.is_postgres():  # which does so by itself, but later
        with connection.cursor() as cursor:
            cursor.execute(f"VACUUM ANALYZE {ground.ENTRIES}, memory_entrytag")
    return owner
