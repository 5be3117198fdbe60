"""B5 to B7: the adapter's list and get, against the driver alone, against a peer, and as the ledger grows."""

from collections.abc import Iterator
from functools import partial

from django.utils import timezone

from memory import adapter
from memory.adapter.runs import MemoryRecord
from memory.host.tenancy import MemoryScope
from tools.bench import ground, peers, rounds
from tools.bench.ground import RawDriver
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan

PAGE = 50
PEER_SIZE = 100_000
READ_SIZE = 10_000


def listed(plan: Plan) -> Iterator[Outcome]:
    """B5: list(50) stays as fast however many entries there are, and is far ahead of the peer."""
    run = ground.running_run(ground.tenant())
    scopes = {size: ground.fill(run, f"bench/{size}", size) for size in plan.sizes}
    calls = {size: partial(_page, scope) for size, scope in scopes.items()}
    sizes = ", ".join(f"{size:,}" for size in plan.sizes)
    exponent = rounds.growth(calls, rounds=plan.rounds, calls=plan.calls)
    yield Outcome("B5", f"list(50), growth over {sizes} entries", plan.engine, exponent, 0.05, unit="")
    yield _against_peer(plan, scopes)


def _against_peer(plan: Plan, scopes: dict[int, MemoryScope]) -> Outcome:
    size = max(size for size in scopes if size <= PEER_SIZE)
    workload = f"list(50) of {size:,}: times faster than LangGraph's store"
    try:
        with peers.langgraph_store() as store:
            texts = (ground.TEXT.format(number=number) for number in range(size))
            namespace = peers.fill(store, texts)
            theirs = rounds.ratio_apart(
                lambda: peers.newest(store, namespace, PAGE),
                lambda: _page(scopes[size]),
                rounds=plan.rounds,
                calls=max(plan.calls // 20, 3),
                quick_calls=plan.calls,
            )
    except peers.NotInstalled as reason:
        return Outcome("B5", workload, plan.engine, None, 100, at_least=True, note=str(reason))
    return Outcome("B5", workload, plan.engine, theirs, 100, at_least=True)


def got(plan: Plan) -> Iterator[Outcome]:
    """B6: get costs little more than the driver."""
    scope = _filled(plan)
    wanted = adapter.runs.list_entries(scope, now=timezone.now(), limit=PAGE)[PAGE // 2].id
    raw, now = RawDriver(), timezone.now()
    query = raw.prepared(ground.query_of(lambda: adapter.runs.get_entry(scope, wanted, now=now)))
    measured = rounds.ratio(
        lambda: adapter.runs.get_entry(scope, wanted, now=now),
        lambda: raw.execute(query).fetchone(),
        rounds=plan.rounds,
        calls=plan.calls * 5,
    )
    raw.close()
    yield Outcome("B6", "get, against the driver alone", plan.engine, measured, 1.5 if raw.is_postgres else 3)


def listed_to_objects(plan: Plan) -> Iterator[Outcome]:
    """B7: fifty objects cost little more than fifty rows."""
    scope, raw = _filled(plan), RawDriver()
    query = raw.prepared(ground.query_of(lambda: _page(scope)))
    measured = rounds.ratio(
        lambda: _page(scope), lambda: raw.execute(query).fetchall(), rounds=plan.rounds, calls=plan.calls
    )
    raw.close()
    goal = 1.8 if raw.is_postgres else 2.5
    yield Outcome("B7", "list(50) to objects, against the driver's rows", plan.engine, measured, goal)


def _filled(plan: Plan) -> MemoryScope:
    return ground.fill(ground.running_run(ground.tenant()), "bench/read", min(READ_SIZE, plan.sizes[-1]))


def _page(scope: MemoryScope) -> list[MemoryRecord]:
    return adapter.runs.list_entries(scope, now=timezone.now(), limit=PAGE)
