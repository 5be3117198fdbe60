"""B9 and B22: many writes in one transaction, and an import, against rows that go to the driver in bulk."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from statistics import median
from time import perf_counter

from django.db import transaction
from django.utils import timezone

from memory import entry_files, ledger
from memory.entry_drafts import EntryDraft
from memory.host import ids, sql, tenancy, vault
from memory.host.models import Run, Tenant
from tools.bench import ground, rounds
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan
from tools.bench.writing import SECRETS, TAGS

AT_ONCE = 1000
LINES, FEWEST = 20_000, 500


def written_at_once(plan: Plan) -> Iterator[Outcome]:
    """Redaction, shape scan, tokens, entry, tags, words and event of each, then one commit."""
    owner = ground.tenant()
    run = _knowing_run(owner)
    scope, numbers = ground.scope(owner, "bench/bulk"), count()

    def ours() -> None:
        drafts = [
            EntryDraft(ground.TEXT.format(number=next(numbers)), TAGS, "customer-7", "bench.agent")
            for _ in range(AT_ONCE)
        ]
        ledger.entries.write_entries(scope, drafts, run=run, node_id="node", now=timezone.now())

    measured = _share(ours, lambda: ground.fill(run, "bench/raw", AT_ONCE), plan)
    workload = f"{AT_ONCE:,} writes in one transaction, as a share of the speed of bare rows"
    yield Outcome("B9", workload, plan.engine, measured, 0.2, at_least=True)


def imported(plan: Plan) -> Iterator[Outcome]:
    """Lines of JSON that are read, redacted and stored, 500 to a transaction."""
    owner = ground.tenant()
    scope = tenancy.host_scope(owner, scopes=frozenset({"memory:read", "memory:write"}))
    run, numbers, size = _knowing_run(owner), count(), max(FEWEST, min(LINES, plan.largest // 10))
    lines: list[str] = []

    def prepare() -> None:
        lines[:] = [_line(next(numbers)) for _ in range(size)]

    def ours() -> None:
        for part in sql.in_chunks(lines):
            now = timezone.now()
            incoming = [entry_files.read_line(each.encode(), entry_files.FileForm(), now=now) for each in part]
            entry_files.import_entries(scope, run, incoming, now=now)

    measured = _share(ours, lambda: ground.fill(run, "bench/raw", size), plan, prepare=prepare)
    workload = f"import of {size:,} lines, as a share of the speed of bare rows"
    yield Outcome("B22", workload, plan.engine, measured, 0.4, at_least=True)


def _knowing_run(owner: Tenant) -> Run:
    """A run that has resolved secrets."""
    run = ground.running_run(owner)
    for name in SECRETS:
        vault.store_secret(owner.id, name, f"{name}-93fb0c1d7e", now=timezone.now())
        with transaction.atomic():
            vault.resolve(run, name, now=timezone.now())
    return run


def _line(number: int) -> str:
    said = {
        "id": ids.wire("mem", ids.new_id()),
        "memoryRef": "bench/import",
        "content": ground.TEXT.format(number=number),
        "tags": list(TAGS),
        "subject": "customer-7",
        "agentId": "bench.agent",
        "createdAt": timezone.now().isoformat(),
    }
    return json.dumps(said)


def _share(ours: rounds.Call, raw: rounds.Call, plan: Plan, *, prepare: Callable[[], None] = lambda: None) -> float:
    """The raw side's seconds by ours: the median of the rounds, after one that does not count."""
    shares = []
    for _ in range(plan.rounds + 1):
        prepare()
        rounds.sweep()
        took = []
        for side in (ours, raw):
            began = perf_counter()
            side()
            took.append(perf_counter() - began)
        shares.append(took[1] / took[0])
    return median(shares[1:])
