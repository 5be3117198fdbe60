"""A row of the table: what was measured, against which goal; and the table itself."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """One measured row. ``measured`` is None when ``note`` says why; ``goal`` is None for what is only reported."""

    id: str
    workload: str
    engine: str
    measured: float | None
    goal: float | None
    at_least: bool = False
    unit: str = "x"
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return f"not measured: {self.note}"
        if self.goal is None:
            return "reported"
        met = self.measured >= self.goal if self.at_least else self.measured <= self.goal
        return "met" if met else "NOT MET"

    @property
    def cells(self) -> tuple[str, ...]:
        measured = "-" if self.measured is None else f"{self.measured:.3g}{self.unit}"
        goal = "-" if self.goal is None else f"{'>=' if self.at_least else '<='} {self.goal:g}{self.unit}"
        return (self.id, self.workload, self.engine, measured, goal, self.verdict)

    def document(self) -> dict[str, Any]:
        return asdict(self)


HEAD = ("id", "workload", "engine", "measured", "goal", "")


def table(outcomes: Iterable[Outcome]) -> str:
    """The rows in columns, in the order of their ids: what is fast, then what is good."""
    ordered = sorted(outcomes, key=lambda outcome: (outcome.id[0], int(outcome.id[1:])))
    rows = [HEAD, *(outcome.cells for outcome in ordered)]
    return _columns(rows)


def comparison(before: Iterable[Outcome], after: Iterable[Outcome]) -> str:
    """What both runs have measured, and by how much it has changed."""
    earlier = {(each.id, each.workload, each.engine): each.measured for each in before}
    rows: list[tuple[str, ...]] = [("id", "workload", "engine", "before", "now", "change")]
    for each in after:
        was = earlier.get((each.id, each.workload, each.engine))
        if was is not None and each.measured is not None:
            change = f"{(each.measured / was - 1) * 100:+.0f} %" if was else "-"
            measured = (f"{number:.3g}{each.unit}" for number in (was, each.measured))
            rows.append((each.id, each.workload, each.engine, *measured, change))
    return _columns(rows)


def _columns(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
