"""B18: a subject with ten thousand entries is forgotten while another process writes."""

import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from math import log
from time import perf_counter
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from memory import ledger
from memory.entry_drafts import EntryDraft
from memory.forget import execution
from memory.host import runs, sql, tenancy
from memory.host.models import Run
from memory.models import ForgetState
from tools.bench import ground, rounds
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan

SUBJECT = "marta.kowalska@example.com"
NAMING = 10_000
PAUSE = 0.005
GOALS = {100_000: 3.0, 1_000_000: 5.0}
STALL_MS = 100
INDEXED_AT_ONCE = 5000
CONTENT_AT, TEXT_AT = 3, 4
WRITER = (
    "import sys, django; django.setup(); from tools.bench import forgetting; forgetting.write_beside(*sys.argv[1:])"
)


class NotForgotten(Exception):
    """What is to be measured did not happen."""


def forgotten(plan: Plan) -> Iterator[Outcome]:
    """From the confirmation to the verified receipt, and how long one write of another process took meanwhile."""
    taken: dict[int, float] = {}
    for size in plan.sizes[-2:]:
        naming = min(NAMING, size // 10)
        took, stall, seconds_to_look, seconds_to_confirm = _forget(size, naming)
        taken[size] = took
        of = f"{naming:,} of {size:,} entries"
        yield Outcome("B18", f"forget {of}, to the receipt", plan.engine, took, GOALS.get(size), unit=" s")
        yield Outcome("B18", f"forget {of}, slowest write beside it", plan.engine, stall, STALL_MS, unit=" ms")
        yield Outcome("B18", f"forget {of}, its preview", plan.engine, seconds_to_look, None, unit=" s")
        yield Outcome("B18", f"forget {of}, its confirmation", plan.engine, seconds_to_confirm, None, unit=" s")
    if len(taken) > 1:
        (small, quick), (large, slow) = taken.items()
        exponent = log(slow / quick) / log(large / small)
        yield Outcome("B18", "forget, exponent in the size of the ledger", plan.engine, exponent, None, unit="")


def _forget(size: int, naming: int) -> tuple[float, float, float, float]:
    owner = ground.tenant()
    run = ground.running_run(owner)
    fill(run, size, naming)
    scope = tenancy.host_scope(owner, scopes=frozenset({"memory:forget"}))
    rounds.sweep()
    began = perf_counter()
    found = execution.preview(scope, [SUBJECT], now=timezone.now())
    looked = perf_counter() - began
    with _writer(run) as slowest:
        began = perf_counter()
        request = execution.confirm(
            scope, found.request.id, typed=SUBJECT, reason="bench", ticked=set(), now=timezone.now()
        )
        confirmed = perf_counter() - began
        done = execution.execute(owner.id, request.id, holder="bench/1", now=timezone.now(), clock=timezone.now)
        took = perf_counter() - began
        stall = slowest()
    if done is None or done.state != ForgetState.FORGOTTEN or done.plan["memory entries"]["erased"] < naming:
        raise NotForgotten(f"The request ended as {done and done.state}.")
    return took, stall * 1000, looked, confirmed


@sql.log_moved()
def fill(run: Run, size: int, naming: int) -> None:
    """The entries stand in the ledger with their tags, indexed as those that were written through it; ``naming`` of
    them, evenly among the others, name the subject."""
    every = size // naming

    def row(run: Run, memory_ref: str, number: int, now: datetime) -> list[Any]:
        values = ground.row(run, memory_ref, number, now)
        if number % every == 0:
            values[CONTENT_AT] = f"{values[CONTENT_AT]} It came from {SUBJECT}."
            values[TEXT_AT] = values[CONTENT_AT].casefold()
        return values

    ground.fill(run, "bench/forget", size, row_of=row)
    tenant = sql.key(run.tenant_id)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(ground.MOVE_HEAD, [tenant, tenant, size, size])
        cursor.execute(
            "INSERT INTO memory_entrytag (tenant_id, id, tag) SELECT tenant_id, id, 'invoice' FROM memory_memoryentry "
            "WHERE tenant_id = %s",
            [tenant],
        )
    if sql.is_postgres():
        with connection.cursor() as cursor:
            cursor.execute(f"VACUUM ANALYZE {ground.ENTRIES}, memory_entrytag")
    while ledger.index.catch_up(run.tenant_id, most=INDEXED_AT_ONCE):
        pass


@contextmanager
def _writer(run: Run) -> Iterator[Callable[[], float]]:
    """Another process writes an entry every few milliseconds; the value ends that, and gives its slowest write."""
    command = [sys.executable, "-c", WRITER, run.tenant_id.hex, run.id.hex]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()

        def slowest() -> float:
            answer, _ = process.communicate("enough\n")
            if process.returncode != 0:
                raise NotForgotten("The writer beside it failed.")
            return float(answer)

        yield slowest


def write_beside(tenant: str, run_id: str) -> None:
    """What the other process does, until a line comes in."""
    run = runs.find(UUID(hex=tenant), UUID(hex=run_id))
    place = ground.scope(run.tenant, "bench/beside")
    taken: list[float] = []
    while not select.select([sys.stdin], [], [], PAUSE)[0]:
        began = perf_counter()
        draft = EntryDraft(f"written meanwhile {len(taken)}")
        ledger.entries.write_entry(place, draft, run=run, node_id="n", now=timezone.now())
        taken.append(perf_counter() - began)
        if len(taken) == 1:
            sys.stdout.write("ready\n")
            sys.stdout.flush()
    sys.stdout.write(f"{max(taken[1:])}\n")
