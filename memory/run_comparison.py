"""A replay or a branch compared with its source run, node by node."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import QuerySet

from memory import run_timeline
from memory.host import runs
from memory.host.errors import NotFound
from memory.host.models import Run
from memory.host.tenancy import TenantScope
from memory.run_timeline import Lane, Trail, TrailWrite
from memory.text.differences import Piece, words_apart

SAME, DIFFERS, MISSING, ADDED = "same", "differs", "missing", "added"
FORKS_SHOWN = 20
LONGEST = 2_000  # characters of a written text that are compared word by word


@dataclass(frozen=True, slots=True)
class WritePair:
    """The n-th write of a node in the source and in the fork, with the words marked that the other has not; None where
    there is no such write, and no text where it may not be shown."""

    source: TrailWrite | None
    fork: TrailWrite | None
    before: Sequence[Piece]
    after: Sequence[Piece]


@dataclass(frozen=True, slots=True)
class NodePair:
    """One node in both runs; ``differences`` says in words what is not the same in them."""

    node_id: str
    source: Lane | None
    fork: Lane | None
    differences: Sequence[str]
    writes: Sequence[WritePair]

    @property
    def verdict(self) -> str:
        if self.fork is None:
            return MISSING
        if self.source is None:
            return ADDED
        return DIFFERS if self.differences else SAME

    @property
    def slower_by(self) -> timedelta | None:
        """How much longer the fork took; None when it was quicker, or one of the two has no such node."""
        both = self.source and self.fork
        more = self.fork.bar.took - self.source.bar.took if self.fork and self.source else timedelta()
        return more if both and more > timedelta() else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The two runs, and their nodes in the order of the source."""

    source: Trail
    fork: Trail
    pairs: Sequence[NodePair]

    @property
    def differing(self) -> int:
        return sum(pair.verdict != SAME for pair in self.pairs)


def forks_of(scope: TenantScope, run: Run) -> QuerySet[Run]:
    """The newest replays and branches of the run."""
    scope.check("runs:read")
    rows = Run.objects.of(scope.tenant_id).defer("inputs", "variables", "configurable", "metadata")
    return rows.filter(source_run_id=run.id).order_by("-id")[:FORKS_SHOWN]


def compare_with_source(scope: TenantScope, fork_id: UUID | None, *, now: datetime) -> Comparison:
    """The fork and its source; ``NotFound`` for a run that is no fork, or not this tenant's."""
    scope.check("runs:read")
    if runs.find(scope.tenant_id, fork_id).source_run_id is None:
        raise NotFound("This run is no replay or branch of another.")
    fork = run_timeline.build_timeline(scope, fork_id, now=now)
    source = run_timeline.build_timeline(scope, fork.run.source_run_id, now=now)
    ours = {lane.node_id: lane for lane in fork.lanes if lane.node_id}
    theirs = {lane.node_id: lane for lane in source.lanes if lane.node_id}
    names = dict.fromkeys([*theirs, *ours])
    return Comparison(source, fork, [_pair(name, theirs.get(name), ours.get(name)) for name in names])


def _pair(node_id: str, source: Lane | None, fork: Lane | None) -> NodePair:
    writes = _writes(source.writes if source else [], fork.writes if fork else [])
    if source is None or fork is None:
        return NodePair(node_id, source, fork, [], writes)
    differences = []
    if source.state != fork.state:
        differences.append("state")
    if source.report and fork.report:
        differences += ["inputs"] if source.report.inputs != fork.report.inputs else []
        differences += ["prompt"] if source.report.template != fork.report.template else []
        differences += ["output"] if source.report.outputs != fork.report.outputs else []
    if any(_differs(pair) for pair in writes):
        differences.append("writes")
    return NodePair(node_id, source, fork, differences, [pair for pair in writes if _differs(pair)])


def _writes(source: Sequence[TrailWrite], fork: Sequence[TrailWrite]) -> list[WritePair]:
    return [
        _write_pair(source[at] if at < len(source) else None, fork[at] if at < len(fork) else None)
        for at in range(max(len(source), len(fork)))
    ]


def _write_pair(source: TrailWrite | None, fork: TrailWrite | None) -> WritePair:
    before, after = words_apart(_text(source), _text(fork))
    return WritePair(source, fork, before, after)


def _text(write: TrailWrite | None) -> str:
    shown = write is not None and write.entry is not None and write.fate == "present" and not write.entry.sealed
    return write.entry.content[:LONGEST] if shown and write and write.entry else ""


def _differs(pair: WritePair) -> bool:
    """A replay tells of the very entries of its source; a branch writes its own, which say the same or not."""
    if pair.source is None or pair.fork is None:
        return True
    if pair.source.memory_id == pair.fork.memory_id:
        return False
    ours, theirs = pair.fork.entry, pair.source.entry
    if ours is None or theirs is None:
        return pair.source.fate != pair.fork.fate
    labels = ("memoryRef", "tags")
    said = [[each.event.payload.get(name) for name in labels] for each in (pair.source, pair.fork)]
    return ours.content != theirs.content or said[0] != said[1]
