"""``make bench``: the table of what this host must hold, measured on throw-away databases."""

import json
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from tests.postgres import NoPostgres
from tools.bench import (
    attacking,
    bulk,
    crowding,
    discovery,
    distilling,
    forgetting,
    mixture,
    openintent,
    paging,
    reading,
    reconciling,
    redacting,
    running,
    searching,
    serving,
    throwaway,
    unseen,
    writing,
)
from tools.bench.outcomes import Outcome, comparison, table
from tools.bench.plan import Plan

ROWS: dict[str, Callable[[Plan], Iterable[Outcome]]] = {
    "B1": discovery.discovered,
    "B2": running.carried_out,
    "B3": running.told,
    "B4": distilling.served,
    "B5": reading.listed,
    "B6": reading.got,
    "B7": reading.listed_to_objects,
    "B8": writing.written,
    "B9": bulk.written_at_once,
    "B10": redacting.redacted,
    "B11": redacting.scanned,
    "B12": reconciling.consolidated,
    "B13": reconciling.hot,
    "B14": reconciling.again,
    "B15": paging.paged,
    "B16": paging.paged_by_tag,
    "B17": searching.searched,
    "B18": forgetting.forgotten,
    "B19": crowding.crowded,
    "B20": distilling.archived,
    "B21": distilling.ranked,
    "B22": bulk.imported,
    "B24": serving.beside_streams,
    "B25": openintent.spoken,
    "B26": attacking.under_attack,
    "B27": mixture.mixed,
    "B28": paging.first_bytes,
    "Q1": reconciling.judged,
    "Q2": distilling.judged,
    "Q3": unseen.reconciled,
    "Q4": unseen.committed,
    "Q5": unseen.fired,
    "Q6": unseen.searched,
    "Q7": unseen.distilled,
    "Q8": unseen.asked,
}
# Rows without a database are measured once.
PURE = {"B10", "B11", "B20", "B21", "Q1", "Q2", "Q3", "Q4", "Q5", "Q7", "Q8"}
# What takes its subject away, or a minute, is measured once, and is no ratio.
ONCE = {"B18", "B27"}
ENGINES = ("sqlite", "postgres")
LARGEST, QUICK = 1_000_000, 100_000
PASSES, QUICK_PASSES = 100_000, 10_000


class Command(BaseCommand):
    help = "Measure the hot paths and print a table of ratios. The configured database is not touched."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--rows", default=",".join(ROWS), help=f"which rows, with commas (default: {','.join(ROWS)})"
        )
        parser.add_argument("--engine", choices=(*ENGINES, "both"), default="both")
        parser.add_argument("--rounds", type=int, default=5, help="rounds whose median counts (default: 5)")
        parser.add_argument("--largest", type=int, help=f"entries under the largest ref (default: {LARGEST:,})")
        passes = f"entries that a pass goes over (default: {PASSES:,}, or what --largest says)"
        parser.add_argument("--passes", type=int, help=passes)
        parser.add_argument("--calls", type=int, default=200, help="calls of each side in a round (default: 200)")
        parser.add_argument(
            "--quick", action="store_true", help=f"no ref over {QUICK:,} entries, no pass over {QUICK_PASSES:,}"
        )
        parser.add_argument("--texts", type=Path, help="a folder of labelled texts that Q3 to Q8 judge by as well")
        parser.add_argument("--json", type=Path, dest="kept", help="a file that keeps what was measured")
        parser.add_argument("--against", type=Path, help="such a file of another run, to compare this one with")
        parser.add_argument("--answer-to", type=Path, help=SUPPRESS)

    def handle(self, *args: Any, answer_to: Path | None, **options: Any) -> None:
        names = _known(options["rows"])
        largest = min(options["largest"] or LARGEST, QUICK if options["quick"] else LARGEST)
        wanted = options["passes"] or options["largest"] or PASSES
        options["passes"] = min(wanted, QUICK_PASSES if options["quick"] else largest)
        if min(options["rounds"], options["calls"]) < 1 or min(largest, options["passes"]) < 1000:
            raise CommandError("--rounds and --calls must be at least 1, --largest and --passes at least 1000.")
        if answer_to is not None:
            sizes = options["rounds"], options["calls"], options["passes"]
            plan = Plan(options["engine"], largest, *sizes, options["texts"])
            answer_to.write_text(json.dumps([outcome.document() for outcome in self._measured(plan, names)]))
            return
        engines = ENGINES if options["engine"] == "both" else (options["engine"],)
        before = _read(options["against"]) if options["against"] else []
        outcomes = _outcomes(engines, names, largest, options)
        self._print(outcomes, options["rounds"])
        if before:
            self.stdout.write(f"\n{comparison(before, outcomes)}")
        if options["kept"]:
            options["kept"].write_text(json.dumps([outcome.document() for outcome in outcomes], indent=2))

    def _measured(self, plan: Plan, names: list[str]) -> Iterable[Outcome]:
        """The outcomes on this process's own database."""
        call_command("migrate", verbosity=0)
        call_command("createcachetable", verbosity=0)
        for name in names:
            self.stderr.write(f"{plan.engine}: {name} ...")
            yield from ROWS[name](plan)

    def _print(self, outcomes: list[Outcome], rounds: int) -> None:
        self.stdout.write(table(outcomes))
        measured = {outcome.id for outcome in outcomes}
        if measured - ONCE:
            self.stdout.write(
                f"\nOnly the ratios count: the median of {rounds} rounds, each of which measured both sides."
            )
        for name in sorted(measured & ONCE):
            self.stdout.write(f"\n{name} is of one run on this machine, with whatever else ran on it: no median.")


def _read(file: Path) -> list[Outcome]:
    try:
        return [Outcome(**document) for document in json.loads(file.read_text())]
    except (OSError, ValueError, TypeError):
        raise CommandError(f"{file} is no file that --json has written.") from None


def _known(rows: str) -> list[str]:
    names = [name.strip().upper() for name in rows.split(",")]
    if unknown := [name for name in names if name not in ROWS]:
        raise CommandError(f"There is no row {unknown[0]!r}; there are {', '.join(ROWS)}.")
    return names


def _outcomes(engines: Sequence[str], names: list[str], largest: int, options: dict[str, Any]) -> list[Outcome]:
    arguments = ["--largest", str(largest)]
    arguments += [word for name in ("rounds", "calls", "passes") for word in (f"--{name}", str(options[name]))]
    arguments += ["--texts", str(options["texts"].resolve())] if options["texts"] else []
    try:
        return [
            outcome
            for engine in engines
            if (rows := [name for name in names if engine == engines[0] or name not in PURE])
            for outcome in throwaway.measure(engine, ["--rows", ",".join(rows), *arguments])
        ]
    except (NoPostgres, throwaway.BenchFailed) as reason:
        raise CommandError(str(reason)) from None
