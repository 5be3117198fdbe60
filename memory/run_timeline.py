"""The run trail: a run's events in order, its writes under their nodes, the host's in a lane of their own."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from memory import adapter, event_notes, kept_calls
from memory.event_notes import Note
from memory.host import event_log, ids, interrupts, registry, runs, sql
from memory.host.errors import NotFound
from memory.host.event_log import Recorded
from memory.host.events import VENDOR, MemoryArchived
from memory.host.models import Interrupt, InterruptVote, Resolution, Run, RunStatus
from memory.host.paging import cut
from memory.host.tenancy import TenantScope
from memory.origins import Origin

if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry, Tombstone

OPENINTENT = "openintent"
LIMIT = 2000
# The longest note that stands in the list itself.
SHORT = 2_000
# How far a list counts what matches.
COUNTED = 10_000
# The beginning of the codes of runs that a decision ended, and how long before its failure a run may have begun.
DECIDED, LONGEST_FAILING = "approval_", timedelta(days=30)


@dataclass(frozen=True, slots=True)
class TrailWrite:
    """A write as the log recorded it, with the entry as it is now, or what remains of it; on the log of an external run
    with what its agent states."""

    event: Recorded
    memory_id: str
    entry: "MemoryEntry | None"
    tombstone: "Tombstone | None"
    origin: Origin | None = None

    @property
    def fate(self) -> str:
        """``present``, ``retired``, ``forgotten``, ``expired`` or ``ephemeral``."""
        if self.entry is not None:
            return "retired" if self.entry.retired_at else "present"
        return self.tombstone.reason if self.tombstone else "expired"


@dataclass(frozen=True, slots=True)
class Lane:
    """One node's events, or the host's own when ``node_id`` is empty."""

    node_id: str
    type_id: str
    state: str
    started_at: datetime | None
    events: list[Recorded]
    writes: list[TrailWrite]


@dataclass(frozen=True, slots=True)
class Question:
    """What the run waits for at a node, and the votes about it where several decide."""

    interrupt: Interrupt
    votes: list[InterruptVote]


@dataclass(frozen=True, slots=True)
class Trail:
    """Everything a run's log says, of at most ``LIMIT`` events; ``total`` is how many there are.

    ``notes`` are what events of OpenIntent say beyond ids, by sequence, for who may read memory; ``long`` are the
    lengths of those that are not among them: archived values, and what is too long for a list.
    """

    run: Run
    events: list[Recorded]
    lanes: list[Lane]
    total: int
    uses: list[Resolution]
    asked: list[Question]
    notes: dict[int, Note]
    long: dict[int, int]


def build_timeline(scope: TenantScope, run_id: UUID | None, *, now: datetime) -> Trail:
    """The run's trail; ``NotFound`` for a run that is not this tenant's."""
    scope.check("runs:read")
    run = runs.find(scope.tenant_id, run_id)
    events = event_notes.with_reasons(scope.tenant_id, event_log.read(scope.tenant_id, run.id, limit=LIMIT))
    writes = _writes(scope, run, events, now)
    names = list(dict.fromkeys(name for event in events if (name := _place(event))))
    lanes = [_lane(name, events, writes) for name in (*names, "")]
    length = event_log.length(scope.tenant_id, run.id)
    return Trail(run, events, lanes, length, registry.used_by(run), _asked(run), *_notes(scope, events))


def _place(event: Recorded) -> str:
    """The node that the event is of; of one of OpenIntent the task, or else its log as a whole."""
    told = event.payload.get("taskId") or OPENINTENT if event.type.startswith(VENDOR) else ""
    return event.node_id or told


def _notes(scope: TenantScope, events: list[Recorded]) -> tuple[dict[int, Note], dict[int, int]]:
    told = [event for event in events if event.type.startswith(VENDOR)] if scope.can("memory:read") else []
    archived = [event for event in told if event.type == MemoryArchived.type]
    notes, long = event_notes.fitting(scope.tenant_id, [event for event in told if event not in archived], each=SHORT)
    return notes, long | event_notes.fitting(scope.tenant_id, archived, each=0)[1]


def note_of(scope: TenantScope, run_id: UUID | None, sequence: int) -> tuple[Recorded, Note]:
    """An event of OpenIntent on the run's log, with all that it says beyond ids."""
    scope.check("runs:read")
    scope.check("memory:read")
    run = runs.find(scope.tenant_id, run_id)
    events = event_log.read(scope.tenant_id, run.id, after=sequence - 1, limit=1) if sequence >= 0 else []
    notes = event_notes.notes_of(scope.tenant_id, events)
    if not events or sequence not in notes:
        raise NotFound("There is no event of that number which says more.")
    return events[0], notes[sequence]


def _asked(run: Run) -> list[Question]:
    plain = [each for each in interrupts.open_at(run) if interrupts.is_plain(each) and run.status not in runs.ENDING]
    return [question_of(each) for each in plain]


def question_of(interrupt: Interrupt) -> Question:
    """The question with its votes, where several decide."""
    several = interrupt.policy.get("requiredApprovals", 1) > 1
    return Question(interrupt, interrupts.votes_at(interrupt) if several else [])


def _writes(scope: TenantScope, run: Run, events: list[Recorded], now: datetime) -> list[TrailWrite]:
    """By the ids in the events, in three queries however many there are."""
    facts = [event for event in events if event.type == "memory.written"]
    wanted = [entry_id for event in facts if (entry_id := ids.parse("mem", event.payload["memoryId"]))]
    found = adapter.by_ids(scope, wanted, now=now) if scope.can("memory:read") else {}
    gone = adapter.tombstones(scope, wanted) if scope.can("memory:read") else {}
    stated = event_notes.origins_of(scope.tenant_id, facts) if run.external else {}
    return [
        TrailWrite(
            event, event.payload["memoryId"], found.get(entry_id), gone.get(entry_id), stated.get(event.sequence)
        )
        for event, entry_id in zip(facts, wanted, strict=True)
    ]


def _lane(node_id: str, events: list[Recorded], writes: list[TrailWrite]) -> Lane:
    own = [event for event in events if _place(event) == node_id]
    started = next((event for event in own if event.type == "node.started"), None)
    told = any(event.type.startswith(VENDOR) for event in own)
    states = [event.type.partition(".")[2] for event in own if event.type.startswith("node.")]
    return Lane(
        node_id=node_id,
        type_id=started.payload["typeId"] if started else "",
        state=states[-1] if states and node_id and not told else "",
        started_at=started.timestamp if started else None,
        events=own,
        writes=[write for write in writes if write.event.node_id == node_id],
    )


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs to list; empty means all. Created at ``since`` or later, and before ``until``."""

    workflow: str = ""
    status: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class RunPage:
    """One page of runs, how many match, and the id to continue after; beyond ``COUNTED`` the total is a lower bound."""

    runs: list[Run]
    total: int
    inexact: bool
    after: UUID | None


def run_page(scope: TenantScope, wanted: RunFilter, *, before: UUID | None = None, size: int = 50) -> RunPage:
    """The tenant's runs, newest first; ``before`` is the id of the last one seen."""
    rows = _runs(scope, wanted)
    found, last = cut(list(_older(scope, rows, before)[: size + 1]), size)
    counted = rows.order_by().values("id")[: COUNTED + 1].count()
    return RunPage(found, min(counted, COUNTED), counted > COUNTED, last.id if last else None)


def failed_since(scope: TenantScope, since: datetime) -> QuerySet[Run]:
    """The runs that failed since then and were not forked, oldest first; a refused approval is not a failure."""
    rows = _runs(scope, RunFilter(status=RunStatus.FAILED, since=since - LONGEST_FAILING))
    forks = Run.objects.of(scope.tenant_id).filter(source_run_id=OuterRef("id"))
    rows = rows.filter(completed_at__gte=since).exclude(error__code__startswith=DECIDED)
    return rows.filter(~Exists(forks)).order_by("created_at", "id")


def every_run(scope: TenantScope, wanted: RunFilter) -> Iterator[Run]:
    """All the runs that match, newest first; read in chunks, for a file."""
    rows, before = _runs(scope, wanted), None
    while chunk := list(_older(scope, rows, before)[: sql.CHUNK]):
        yield from chunk
        before = chunk[-1].id


def _runs(scope: TenantScope, wanted: RunFilter) -> QuerySet[Run]:
    scope.check("runs:read")
    rows = Run.objects.of(scope.tenant_id).defer("inputs", "variables", "configurable", "metadata")
    asked = {
        "workflow_id": wanted.workflow,
        "status": wanted.status,
        "created_at__gte": wanted.since,
        "created_at__lt": wanted.until,
    }
    return rows.filter(**{field: value for field, value in asked.items() if value}).order_by("-created_at", "-id")


def _older(scope: TenantScope, rows: QuerySet[Run], before: UUID | None) -> QuerySet[Run]:
    """The rows behind the run ``before``; every row without one."""
    last = Run.objects.of(scope.tenant_id).filter(id=before).only("created_at").first() if before else None
    return rows.filter(sql.behind("created_at", last.created_at, last.id)) if last else rows


def every_event(scope: TenantScope, run: Run) -> Iterator[Recorded]:
    """The run's whole log, in order, however long; read in chunks, for a file."""
    scope.check("runs:read")
    after = -1
    while chunk := event_log.read(scope.tenant_id, run.id, after=after):
        yield from kept_calls.with_texts(scope, run, event_notes.with_reasons(scope.tenant_id, chunk))
        after = chunk[-1].sequence
