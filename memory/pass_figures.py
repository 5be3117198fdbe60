"""A pass in figures: what went in, what came out, and whether somebody should look at it. Reads only."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory import adapter, passes
from memory.host.tenancy import TenantScope
from memory.models import Pass, PassState

LOOKED_BACK = 100
WENT_IN = {"consolidate": "inputCount", "compact": "corpusCount", "distill": "corpusCount"}


@dataclass(frozen=True, slots=True)
class Summary:
    """A pass in one line of a list. ``went_in`` and ``came_out`` count entries; None when there is no outcome."""

    work: Pass
    went_in: int | None
    came_out: int | None

    @property
    def ratio(self) -> float | None:
        """How much of what went in is still there, from 0 to 1."""
        return self.came_out / self.went_in if self.went_in and self.came_out is not None else None

    @property
    def seconds(self) -> float | None:
        return (self.work.finished_at - self.work.created_at).total_seconds() if self.work.finished_at else None

    @property
    def unusual(self) -> str:
        """Why somebody should look at it; "" when nobody needs to."""
        if self.work.state == PassState.FAILED:
            return "it has failed"
        if self.work.kind == "consolidate" and self.ratio is not None and self.ratio < 0.5:
            return "more than half of the entries are gone"
        return ""


def summary(work: Pass) -> Summary:
    """What went in and what came out, in entries: one archive or compacted entry stands for all that went into it."""
    outcome = work.outcome
    went_in = _number(outcome.get(WENT_IN.get(work.kind, "")))
    came_out = _number(outcome.get("outputCount"))
    if work.kind == "compact" and went_in is not None:
        came_out = went_in - (_number(outcome.get("sourceCount")) or 1) + 1
    return Summary(work, went_in, came_out)


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class Repeat:
    """The last consolidation of a ref in which nothing had been written since the one before, and whether it found
    nothing to do."""

    work: Pass
    before: Pass

    @property
    def was_idle(self) -> bool:
        return not any(self.work.outcome.get(name) for name in ("merged", "superseded", "written"))


def last_repeat(scope: TenantScope) -> Repeat | None:
    """Among the last hundred consolidations; None when each came upon something new."""
    rows = passes.latest(scope.tenant_id, kinds=("consolidate",), limit=LOOKED_BACK)
    done = [row for row in rows if row.state == PassState.DONE and not row.dry_run]
    for place, row in enumerate(done):
        before = next((each for each in done[place + 1 :] if each.memory_ref == row.memory_ref), None)
        if before and before.finished_at and not _came_upon_something_new(scope, row, before, before.finished_at):
            return Repeat(row, before)
    return None


def _came_upon_something_new(scope: TenantScope, work: Pass, before: Pass, since: datetime) -> bool:
    until = work.created_at
    return adapter.was_written_to(scope, work.memory_ref, since=since, until=until, but_by=before.run_id)
