"""B19: four processes write to one SQLite file at once, with our options and with those that Django has by itself."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from uuid import UUID

from django.conf import settings
from django.db import OperationalError, connection, connections
from django.utils import timezone

from memory import ledger
from memory.entry_drafts import EntryDraft
from memory.host import runs
from memory.host.models import Run
from tools.bench import ground
from tools.bench.outcomes import Outcome
from tools.bench.plan import Plan

WRITERS = 4
SECONDS, QUICK_SECONDS = 10.0, 2.0
PLAIN = "OPENWOP_BENCH_PLAIN"
WRITE = "import sys, django; django.setup(); from tools.bench import crowding; crowding.write(*sys.argv[1:])"


def crowded(plan: Plan) -> Iterator[Outcome]:
    """Whole writes of the ledger: how many commit in ten seconds, and how many are refused a lock."""
    if plan.engine != "sqlite":
        return
    run = ground.running_run(ground.tenant())
    seconds = SECONDS if plan.largest > 100_000 else QUICK_SECONDS
    ratios, errors = [], 0
    for _ in range(min(plan.rounds, 3)):
        (ours, refused), (plain, _) = _commits(run, seconds, plain=False), _commits(run, seconds, plain=True)
        ratios.append(ours / max(plain, 1))
        errors += refused
    workload = f"{WRITERS} processes that write, commits/s against Django's own options"
    yield Outcome("B19", workload, plan.engine, median(ratios), 2, at_least=True)
    yield Outcome("B19", f"{WRITERS} processes that write, lock errors", plan.engine, errors, 0, unit="")


def _commits(run: Run, seconds: float, *, plain: bool) -> tuple[int, int]:
    """How many writes of all processes were committed, and how many were refused."""
    file = Path(str(settings.DATABASES["default"]["NAME"]))
    if plain:
        file = file.with_name("plain.sqlite3")
        file.unlink(missing_ok=True)
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(file)])
    own = {"DATABASE_URL": f"sqlite:///{file}", PLAIN: "1" if plain else ""}
    command = [sys.executable, "-c", WRITE, run.tenant_id.hex, run.id.hex, str(seconds)]
    begun = [
        subprocess.Popen(command, env={**os.environ, **own}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
        for _ in range(WRITERS)
    ]
    for each in begun:
        assert each.stdout is not None
        each.stdout.readline()
    for each in begun:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    told = [each.communicate()[0].split() for each in begun]
    return sum(int(written) for written, _ in told), sum(int(refused) for _, refused in told)


def write(tenant: str, run_id: str, seconds: str) -> None:
    """What each process does: it writes for so long, and says how often."""
    if os.environ[PLAIN]:
        own = connections["default"].settings_dict
        own["OPTIONS"], own["ENGINE"] = {}, "django.db.backends.sqlite3"
        del connections["default"]
    run = runs.find(UUID(hex=tenant), UUID(hex=run_id))
    place = ground.scope(run.tenant, "bench/crowd")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    until, written, refused = time.monotonic() + float(seconds), 0, 0
    while time.monotonic() < until:
        try:
            ledger.entries.write_entry(
                place, EntryDraft(f"written {written}"), run=run, node_id="n", now=timezone.now()
            )
            written += 1
        except OperationalError:
            refused += 1
    sys.stdout.write(f"{written} {refused}\n")
