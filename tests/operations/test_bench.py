"""``make bench``: every row is printed, from a database of its own."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.budgets import THOROUGH
from tools.bench import throwaway
from tools.bench.command import ROWS, Command
from tools.bench.outcomes import Outcome, comparison, table
from tools.bench.plan import Plan

TINY = ["--quick", "--engine", "sqlite", "--largest", "1000", "--rounds", "1", "--calls", "3"]
# The rows that take more time than all others together, among them each that starts a console; a thorough run asks for
# them too. What Q3 and Q8 judge, a test of tests/quality judges in each run.
LONG = {"B1", "B2", "B3", "B4", "B5", "B10", "B16", "B18", "B19", "B24", "B25", "B26", "B27", "B28", "Q3", "Q8"}


def test_the_bench_prints_every_row_and_leaves_the_configured_database_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """This process may send its own no statement, as a test without one; another would find its file here."""
    monkeypatch.setenv("OPENWOP_DATA_DIR", str(tmp_path))
    out, wanted = StringIO(), [row for row in ROWS if THOROUGH or row not in LONG]
    call_command(Command(), *TINY, "--rows", ",".join(wanted), stdout=out)
    rows = [line.split()[0] for line in out.getvalue().splitlines() if " sqlite " in line]
    assert list(dict.fromkeys(rows)) == sorted(wanted, key=lambda name: (name[0], int(name[1:])))
    assert [rows.count(name) for name in ("B12", "B14")] == [8, 2]
    assert "Only the ratios count" in out.getvalue()
    assert [file for file in tmp_path.rglob("*.sqlite3*") if file.stat().st_size] == []


def test_a_row_that_is_not_there_is_refused() -> None:
    with pytest.raises(CommandError, match="There is no row 'B99'"):
        call_command(Command(), *TINY, "--rows", "B5,B99")


def test_a_pass_over_too_little_is_refused() -> None:
    with pytest.raises(CommandError, match="--passes at least 1000"):
        call_command(Command(), *TINY, "--passes", "10")


def outcome(row: str, measured: float | None, goal: float | None, *, at_least: bool = False) -> Outcome:
    return Outcome(row, "workload", "sqlite", measured, goal, at_least=at_least, note="no peer")


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (outcome("B12", 5, 6), "met"),
        (outcome("B12", 7, 6), "NOT MET"),
        (outcome("Q1", 0.99, 0.995, at_least=True), "NOT MET"),
        (outcome("Q1", 0.4, None), "reported"),
        (outcome("B5", None, 100), "not measured: no peer"),
    ],
)
def test_a_row_says_whether_its_goal_was_met(found: Outcome, verdict: str) -> None:
    assert found.verdict == verdict
    assert found.cells[-1] == verdict


def test_rows_stand_in_the_order_of_their_numbers_and_quality_last() -> None:
    shown = table([outcome("Q1", 1, None), outcome("B12", 1, 6), outcome("B8", 1, 8)])
    assert [line.split()[0] for line in shown.splitlines()] == ["id", "B8", "B12", "Q1"]


def test_two_runs_are_compared_by_what_both_have_measured() -> None:
    before = [outcome("B8", 4, 8), outcome("B9", None, 0.2), outcome("B12", 0, 6)]
    after = [outcome("B8", 3, 8), outcome("B9", 0.3, 0.2), outcome("B12", 1, 6), outcome("Q1", 1, None)]
    shown = [line.split() for line in comparison(before, after).splitlines()[1:]]
    assert [(line[0], line[-2:]) for line in shown] == [("B8", ["-25", "%"]), ("B12", ["1x", "-"])]


def test_a_run_is_kept_in_a_file_that_the_next_is_compared_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = [outcome("B8", 4, 8)]
    monkeypatch.setattr(throwaway, "measure", lambda engine, arguments: found)
    words, kept, out = ["--rows", "B8", "--engine", "sqlite"], tmp_path / "kept.json", StringIO()
    call_command(Command(), *words, "--json", str(kept), stdout=StringIO())
    found[:] = [outcome("B8", 2, 8)]
    call_command(Command(), *words, "--against", str(kept), stdout=out)
    assert "-50 %" in out.getvalue()
    with pytest.raises(CommandError, match="no file that --json has written"):
        call_command(Command(), *words, "--against", str(tmp_path / "none"))


def test_what_needs_no_database_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}

    def measured(engine: str, arguments: list[str]) -> list[Outcome]:
        asked[engine] = arguments[1]
        return []

    monkeypatch.setattr(throwaway, "measure", measured)
    call_command(Command(), "--rows", "B10,B12,Q1", "--quick", stdout=StringIO())
    assert asked == {"sqlite": "B10,B12,Q1", "postgres": "B12"}


def test_the_third_decade_of_a_pass_is_measured_when_it_is_asked_for() -> None:
    sizes = [Plan("sqlite", 1_000_000, 5, 200, passes).pass_sizes for passes in (1_000, 100_000, 1_000_000)]
    assert sizes == [[100, 1_000], [10_000, 100_000], [10_000, 100_000, 1_000_000]]
