"""B17: a search costs the same whatever word it is for, and wherever the entries that have it are."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from statistics import median
from typing import Any

from django.db import connection

from memory import adapter, ledger
from memory.adapter.fulltext import Best, Found
from memory.host import sql, tenancy
from memory.host.models import Run
from memory.host.tenancy import TenantScope
from memory.text.search_words import sought
from tools.bench import ground, rounds
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan

PAGE = 50
COMMON, RARE, ABSENT, OLDEST = "invoice", "zeppelin", "xylophone", "archaeopteryx"
QUESTION = f"Which {COMMON} of the customer is about the {RARE}?"
EVERY = 1000
TEXT_AT = 4
INDEXED_AT_ONCE = 5000
CALLS = 20


def searched(plan: Plan) -> Iterator[Outcome]:
    """Which entries are on a first page of a word in every entry, in few, in none, and in the oldest one alone, and
    how many there are; newest first, and by relevance, with a question too. The entries are not loaded: that is B7's.
    """
    owner = ground.tenant()
    run = ground.running_run(owner)
    _fill(run, plan.largest)
    scope = tenancy.host_scope(owner)
    words = (COMMON, RARE, ABSENT, OLDEST)
    for order, find, asked, goal in (
        ("newest first", _newest, words, 40 if sql.is_postgres() else 5),
        ("by relevance", _best, (*words, QUESTION), 150 if sql.is_postgres() else 60),
    ):
        calls: list[rounds.Call] = [partial(find, scope, each) for each in asked]
        taken = rounds.rounds_of(calls, rounds=plan.rounds, calls=min(plan.calls, CALLS))
        worst = max(median(each) for each in zip(*taken, strict=True)) * 1000
        workload = f"search of {plan.largest:,} entries {order}: common, rare, absent, oldest word; the worst median"
        yield Outcome("B17", workload, plan.engine, worst, goal, unit=" ms")


def _newest(scope: TenantScope, word: str) -> tuple[Found, tuple[int, bool]]:
    wanted = sought(word)
    found = adapter.fulltext.newest_matches(scope, None, wanted, below=None, limit=PAGE + 1)
    if len(found.positions) <= PAGE:  # as the search does: a first page that is all there is was counted with it
        return found, (len(found.positions), found.floor is None)
    return found, adapter.fulltext.count_matches(scope, None, wanted, limit=adapter.console.COUNTED + 1)


def _best(scope: TenantScope, text: str) -> Best:
    return adapter.fulltext.best_matches(scope, None, sought(text), limit=PAGE)


def _fill(run: Run, size: int) -> None:
    """The entries stand in the ledger, and are indexed as those that were written through it."""
    ground.fill(run, "bench/search", size, row_of=_row)
    tenant = sql.key(run.tenant_id)
    with connection.cursor() as cursor:
        cursor.execute(ground.MOVE_HEAD, [tenant, tenant, size, size])
        if sql.is_postgres():  # which does so by itself, but later
            cursor.execute(f"VACUUM ANALYZE {ground.ENTRIES}")
    while ledger.index.catch_up(run.tenant_id, most=INDEXED_AT_ONCE):
        pass


def _row(run: Run, memory_ref: str, number: int, now: datetime) -> list[Any]:
    values = ground.row(run, memory_ref, number, now)
    word = OLDEST if number == 0 else RARE if number % EVERY == 0 else ""
    values[TEXT_AT] = f"{values[TEXT_AT]} {word}".strip()
    return values
