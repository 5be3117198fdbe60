"""B17: a search costs the same whatever word it is for, and wherever the entries that have it are."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from statistics import median
from typing import Any

from django.db import connection

from memory import adapter, ledger
from memory.adapter import Found
from memory.host import sql, tenancy
from memory.host.models import Run
from memory.host.tenancy import TenantScope
from memory.text.words import sought, words_of
from tools.bench import ground, rounds
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan

PAGE = 50
COMMON, RARE, ABSENT, OLDEST = "invoice", "zeppelin", "xylophone", "archaeopteryx"
EVERY = 1000
TEXT_AT = 4
INDEXED_AT_ONCE = 5000
CALLS = 20


def searched(plan: Plan) -> Iterator[Outcome]:
    """Which entries are on a first page, and how many there are, of a word in every entry, in few, in none, and in the
    oldest one alone. The entries are not loaded: that is B7's."""
    owner = ground.tenant()
    run = ground.running_run(owner)
    _fill(run, plan.largest)
    scope = tenancy.host_scope(owner)
    calls: list[rounds.Call] = [partial(_found, scope, word) for word in (COMMON, RARE, ABSENT, OLDEST)]
    taken = rounds.rounds_of(calls, rounds=plan.rounds, calls=min(plan.calls, CALLS))
    worst = max(median(each) for each in zip(*taken, strict=True)) * 1000
    workload = f"search of {plan.largest:,} entries: common, rare, absent, oldest-only word; the worst median"
    yield Outcome("B17", workload, plan.engine, worst, 40 if sql.is_postgres() else 5, unit=" ms")


def _found(scope: TenantScope, word: str) -> tuple[Found, tuple[int, bool]]:
    wanted = sought(word)
    found = adapter.matching(scope, None, wanted, below=None, limit=PAGE + 1)
    if len(found.positions) <= PAGE:  # as the search does: a first page that is all there is was counted with it
        return found, (len(found.positions), found.floor is None)
    return found, adapter.count_matching(scope, None, wanted, limit=adapter.COUNTED + 1)


def _fill(run: Run, size: int) -> None:
    """The entries stand in the ledger, and are indexed as those that were written through it."""
    columns = f"{ground.COLUMNS}, words" if sql.is_postgres() else ground.COLUMNS
    ground.fill(run, "bench/search", size, columns=columns, row_of=_row)
    tenant = sql.key(run.tenant_id)
    with connection.cursor() as cursor:
        cursor.execute(ground.MOVE_HEAD, [tenant, tenant, size, size])
        if sql.is_postgres():  # which does so by itself, but later
            cursor.execute(f"VACUUM ANALYZE {ground.ENTRIES}")
    if not sql.is_postgres():
        while ledger.catch_up(run.tenant_id, most=INDEXED_AT_ONCE):
            pass


def _row(run: Run, memory_ref: str, number: int, now: datetime) -> list[Any]:
    values = ground.row(run, memory_ref, number, now)
    word = OLDEST if number == 0 else RARE if number % EVERY == 0 else ""
    values[TEXT_AT] = f"{values[TEXT_AT]} {word}".strip()
    return values + ([" ".join(f"'{each}'" for each in words_of(values[TEXT_AT]))] if sql.is_postgres() else [])
