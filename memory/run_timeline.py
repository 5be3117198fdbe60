"""The timeline of a run: its events in order, its writes under their nodes, the host's in a lane of their own.

With the waterfall: when each node worked and when it waited, as places in the span of the whole run; and the comparison
of a replay or branch with its source. The app that executes runs registers a reporter of what each node received and
returned.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import QuerySet

from memory import adapter, event_notes, recordings, redaction
from memory.event_notes import Note
from memory.host import event_log, ids, interrupts, registry, runs
from memory.host.errors import NotFound
from memory.host.event_log import Recorded
from memory.host.events import (
    VENDOR,
    InterruptResolved,
    MemoryArchived,
    MemoryWritten,
    NodeCompleted,
    NodeResumed,
    NodeRetried,
    NodeStarted,
    NodeSuspended,
)
from memory.host.json_types import JSONObject, indented
from memory.host.models import TERMINAL, Interrupt, InterruptVote, Resolution, Run
from memory.host.registrations import Registrations
from memory.host.tenancy import TenantScope
from memory.origins import Origin
from memory.text.differences import Piece, words_apart

if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry, Tombstone


UNITS = 1000  # the width of the drawing
THINNEST = 4.0  # what lasts no time is drawn nevertheless
NO_TIME = timedelta()


@dataclass(frozen=True, slots=True)
class Span:
    """From the first moment of a run that is drawn to the last; to ``now`` while it goes on."""

    began: datetime
    ended: datetime

    @property
    def length(self) -> timedelta:
        return self.ended - self.began

    def place(self, moment: datetime) -> float:
        """The place of the moment, from 0 to ``UNITS``."""
        share = (moment - self.began) / self.length if self.length else 0.0
        return round(UNITS * min(max(share, 0.0), 1.0), 1)


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of one node: at work, or waiting for a person, an answer or its next attempt."""

    x: float
    width: float
    is_wait: bool


@dataclass(frozen=True, slots=True)
class Bar:
    """One row: when it began, counted from the beginning of the run, how long it took, and what share that is."""

    offset: timedelta
    took: timedelta
    share: float
    segments: Sequence[Segment]
    marks: Sequence[float]
    goes_on: bool


def as_drawn(run: Run, events: list[Recorded]) -> list[Recorded]:
    """Return the events at the times at which they are drawn: what a fork has taken over from its source happened days
    before, perhaps, and stands directly before the fork was made."""
    copied = [event.timestamp for event in events if run.has_copied(event.sequence)]
    gap = run.created_at - max(copied) if copied else NO_TIME
    return [
        replace(event, timestamp=event.timestamp + gap) if run.has_copied(event.sequence) else event for event in events
    ]


def span_of(run: Run, events: Sequence[Recorded], now: datetime) -> Span:
    """Return the span of the run. A run that is executed elsewhere has no end of its own: it spans to its last
    event."""
    moments = [event.timestamp for event in events]
    began = min([*moments, run.started_at or run.created_at])
    last = now if run.started_at and not (run.completed_at or run.external or run.system) else began
    return Span(began, max([*moments, run.completed_at or last, began]))


def bar_of(events: Sequence[Recorded], span: Span, *, goes_on: bool, marks: Sequence[datetime] = ()) -> Bar:
    """The row of one node with these events, of which there is at least one; it lasts to the end while it goes on."""
    began, ended = events[0].timestamp, span.ended if goes_on else events[-1].timestamp
    took = max(ended - began, NO_TIME)
    return Bar(
        offset=began - span.began,
        took=took,
        share=min(took / span.length, 1.0) if span.length else 0.0,
        segments=[_segment(span, *stretch) for stretch in _stretches(events, ended)],
        marks=[span.place(moment) for moment in marks],
        goes_on=goes_on,
    )


def _segment(span: Span, began: datetime, ended: datetime, is_wait: bool) -> Segment:
    x = min(span.place(began), UNITS - THINNEST)
    return Segment(x, max(round(span.place(ended) - x, 1), THINNEST), is_wait)


def _stretches(events: Sequence[Recorded], ended: datetime) -> list[tuple[datetime, datetime, bool]]:
    """The changes between work and wait, each until the next; those of no length are left out where others are."""
    changes = [(events[0].timestamp, False)]
    for event in events:
        if event.type == NodeSuspended.type:
            changes.append((event.timestamp, True))
        elif event.type in (NodeStarted.type, NodeResumed.type, NodeCompleted.type):
            changes.append((event.timestamp, False))
        elif event.type == NodeRetried.type:
            again = event.timestamp + timedelta(milliseconds=event.payload["delayMs"])
            changes += [(event.timestamp, True), (min(again, ended), False)]
    until = [moment for moment, _ in changes[1:]] + [ended]
    drawn = [(began, end, is_wait) for (began, is_wait), end in zip(changes, until, strict=True) if end > began]
    return drawn or [(events[0].timestamp, ended, False)]


@dataclass(frozen=True, slots=True)
class NodeReport:
    """One node: the agent it acted as, its inputs, the installed template that it filled, and its outputs.

    Sensitive variables are masked. ``inputs`` is None when they are no longer known.
    """

    agent_id: str = ""
    inputs: JSONObject | None = None
    template_name: str = ""
    template_ref: str = ""
    template: str = ""
    outputs: JSONObject = field(default_factory=dict)

    @property
    def rendered(self) -> str:
        """What the template came to."""
        return str(self.outputs.get("text", "")) if self.template else ""


Reporter = Callable[[Run, Sequence[Recorded], Sequence[Resolution]], Mapping[str, NodeReport]]
_reporters: Registrations[str, Reporter] = Registrations()


def register_reporter(name: str, reporter: Reporter) -> None:
    """``reporter`` says what is kept of the nodes of a run, by its events and by what it has used."""
    _reporters[name] = reporter


def reports_of(run: Run, events: Sequence[Recorded], uses: Sequence[Resolution]) -> dict[str, NodeReport]:
    """The reports by node id; nothing of a run that is executed elsewhere."""
    return {node_id: report for each in _reporters.values() for node_id, report in each(run, events, uses).items()}


OPENINTENT = "openintent"
GOES_ON = frozenset({"started", "suspended", "resumed", "retried"})
LIMIT = 2000
# How many events of a run are read to say what a node had to write from.
EXPLAINED = 200
# The longest note that is shown in the list itself.
SHORT = 2_000
# How many reads and calls of one run are shown.
READS, CALLS = 500, 200
# How many answers to questions of one run are shown.
ANSWERS = 200


@dataclass(frozen=True, slots=True)
class TrailWrite:
    """A write as the log recorded it, with the entry as it is now, or what remains of it; on the log of an external run
    with what its agent states. ``of_source`` on the log of a fork that repeats it: the fork wrote nothing."""

    event: Recorded
    memory_id: str
    entry: "MemoryEntry | None"
    tombstone: "Tombstone | None"
    origin: Origin | None = None
    of_source: bool = False

    @property
    def fate(self) -> str:
        """``present``, ``retired``, ``forgotten``, ``expired`` or ``ephemeral``."""
        if self.entry is not None:
            return "retired" if self.entry.retired_at else "present"
        return self.tombstone.reason if self.tombstone else "expired"

    @property
    def is_outdated(self) -> bool:
        """Whether the entry was written again at its address since: what this write said is kept nowhere."""
        address = self.entry.address if self.entry else None
        return address is not None and self.event.timestamp < address.updated_at


@dataclass(frozen=True, slots=True)
class TrailRead:
    """An entry that a node was answered, as it was then; ``text`` is empty when the entry may not be shown any more."""

    memory_id: str
    text: str
    is_retired: bool = False


@dataclass(frozen=True, slots=True)
class Lane:
    """One node's events, or the host's own when ``node_id`` is empty, and the row of the waterfall that they are."""

    node_id: str
    type_id: str
    state: str
    agent_id: str
    events: list[Recorded]
    writes: list[TrailWrite]
    reads: list[TrailRead]
    report: NodeReport | None
    bar: Bar

    @property
    def own_writes(self) -> list[TrailWrite]:
        return [write for write in self.writes if not write.of_source]

    @property
    def source_writes(self) -> list[TrailWrite]:
        """The writes of the run's source that its log repeats."""
        return [write for write in self.writes if write.of_source]

    @property
    def first_sequence(self) -> int:
        """Where a fork from this step begins: before the node has."""
        return self.events[0].sequence


@dataclass(frozen=True, slots=True)
class Question:
    """What the run waits for at a node, and the votes about it where several decide."""

    interrupt: Interrupt
    votes: list[InterruptVote]


@dataclass(frozen=True, slots=True)
class Answer:
    """How a question of a run ended: by whom, with which action, and in what words.

    ``action`` is that of an approval, ``answer`` for any other question, or how it ended without one: ``timeout`` or
    ``run-ended``. ``people`` are the principals that took part, in order. ``words`` are pairs of what was asked and
    what was said, masked, for who may read memory; a forget can have taken them.
    """

    interrupt: Interrupt
    action: str
    people: list[str]
    words: list[tuple[str, str]]

    @property
    def by_one(self) -> bool:
        """Whether it is an approval that one person decided: the event of the decision names them."""
        return self.interrupt.kind == "approval" and len(self.people) == 1


ANSWER = "answer"
WORDS = {"reason": "Comment", "editedArtifactData": "As edited", "event": "Event", "value": "Answer"}


def answers_to(scope: TenantScope, asked: Sequence[Interrupt]) -> dict[str, Answer]:
    """Return how these plain questions ended, by their wire ids; none for one that is still open."""
    ended = [each for each in asked if each.resolved_at and interrupts.is_plain(each)]
    several = [each.id for each in ended if each.policy.get("requiredApprovals", 1) > 1]
    votes = interrupts.votes_at_each(scope.tenant_id, several) if several else {}
    masks = {each.run_id: each.run for each in ended} if scope.can("memory:read") else {}
    masked = {run_id: redaction.mask_of_run(run) for run_id, run in masks.items()}
    return {ids.wire("int", each.id): _answer(each, votes.get(each.id, []), masked.get(each.run_id)) for each in ended}


def _answer(asked: Interrupt, votes: list[InterruptVote], mask: redaction.Mask | None) -> Answer:
    if asked.outcome != interrupts.ANSWERED:
        return Answer(asked, asked.outcome, [vote.principal for vote in votes], [])
    said = asked.resume_value if isinstance(asked.resume_value, dict) else {}
    by = [vote.principal for vote in votes] or [text for text in [said.get("decidedBy")] if isinstance(text, str)]
    words = list(_words(asked, said, mask)) if mask else []
    return Answer(asked, str(said.get("action", ANSWER)), by, words)


def _words(asked: Interrupt, said: JSONObject, mask: redaction.Mask) -> Iterator[tuple[str, str]]:
    """What was asked and what was said. A forget leaves these values in any form."""
    data, said = mask.data(asked.data), mask.value(said)
    answers, feedback = said.get("answers"), said.get("refineFeedback")
    if isinstance(answers, dict):
        questions = {each.get("id"): str(each.get("question", "")) for each in data.get("questions", ())}
        yield from ((questions.get(name) or name, _as_text(text)) for name, text in answers.items())
    if isinstance(feedback, dict) and feedback.get("text"):
        yield "Comment", str(feedback["text"])
    yield from ((label, _as_text(said[name])) for name, label in WORDS.items() if said.get(name) not in (None, ""))


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else indented(value)


def _answers_on(scope: TenantScope, events: Sequence[Recorded]) -> dict[str, Answer]:
    """The answers that these events record, by the id of the question; a fork's events name those of its source."""
    wire = [event.payload["interruptId"] for event in events if event.type == InterruptResolved.type][:ANSWERS]
    named = [interrupt_id for each in wire if (interrupt_id := ids.parse("int", each))]
    return answers_to(scope, list(interrupts.by_ids(scope.tenant_id, named).values())) if named else {}


@dataclass(frozen=True, slots=True)
class Trail:
    """Everything a run's log says, of at most ``LIMIT`` events; ``total`` is how many there are.

    ``notes`` are what events of OpenIntent say beyond ids, by sequence, for who may read memory; ``long`` are the
    lengths of those that are not among them: archived values, and what is too long for a list. ``answers`` are those to
    its questions, by the ids that its events name.
    """

    run: Run
    events: list[Recorded]
    span: Span
    lanes: list[Lane]
    total: int
    uses: list[Resolution]
    asked: list[Question]
    notes: dict[int, Note]
    long: dict[int, int]
    answers: dict[str, Answer]


def find_run(scope: TenantScope, run_id: UUID | None) -> Run:
    """Return the run; ``NotFound`` when it is not this tenant's."""
    scope.check("runs:read")
    return runs.find(scope.tenant_id, run_id)


def build_timeline(scope: TenantScope, run_id: UUID | None, *, now: datetime) -> Trail:
    """Build the run's timeline; ``NotFound`` when it is not this tenant's."""
    run = find_run(scope, run_id)
    events = event_notes.with_reasons(scope.tenant_id, event_log.read(scope.tenant_id, run.id, limit=LIMIT))
    drawn = as_drawn(run, events)
    uses, span = registry.used_by(run), span_of(run, drawn, now)
    reports = reports_of(run, events, uses) if scope.can("memory:read") else {}
    read = _documents_read(scope, run, events)
    entries = _entries(scope, run, events, read, now)
    events = _with_calls(scope, run, events)
    moved = _by_place(drawn)
    lanes = [
        _lane(run, span, name, own, moved[name], entries, read.get(name, []), reports.get(name))
        for name, own in _by_place(events).items()
    ]
    length = event_log.length(scope.tenant_id, run.id)
    notes, long = _notes(scope, events)
    return Trail(run, events, span, lanes, length, uses, _open_questions(run), notes, long, _answers_on(scope, events))


@dataclass(frozen=True, slots=True)
class NodeMaterial:
    """What a node had to write from: its inputs, the prompts that were filled until then, by node, and how many entries
    each node had read."""

    inputs: JSONObject
    prompts: Sequence[tuple[str, NodeReport]]
    reads: Sequence[tuple[str, int]]


def given_to(scope: TenantScope, run: Run, node_id: str, *, sequence: int) -> NodeMaterial | None:
    """Return what the node had when it wrote the event of that number; None where the host does not know, or where the
    run had written more than ``EXPLAINED`` events before."""
    if sequence > EXPLAINED or run.external or not scope.can("memory:read"):
        return None
    events = event_log.read(scope.tenant_id, run.id, limit=sequence + 1)
    reports = reports_of(run, events, registry.used_by(run))
    if node_id not in reports:
        return None
    begun = list(dict.fromkeys(event.node_id for event in events if event.node_id))
    read = recordings.count_reads(scope.tenant_id, run.id)
    return NodeMaterial(
        reports[node_id].inputs or {},
        [(name, reports[name]) for name in begun if name in reports and reports[name].template],
        [(name, read[name]) for name in begun if name in read],
    )


def _by_place(events: list[Recorded]) -> dict[str, list[Recorded]]:
    """Group the events: those of the host, which begins and ends every run, then those of each node."""
    found: dict[str, list[Recorded]] = {"": []}
    for event in events:
        found.setdefault(_place(event), []).append(event)
    return {name: own for name, own in found.items() if own}


def _with_calls(scope: TenantScope, run: Run, events: list[Recorded]) -> list[Recorded]:
    """The events with what their calls asked and were answered, of the first calls of the run."""
    calls = [event for event in events if event.type in recordings.TEXTS][: 2 * CALLS]
    texts = {event.sequence: event for event in recordings.with_texts(scope, run, calls)}
    return [texts.get(event.sequence, event) for event in events]


def _documents_read(scope: TenantScope, run: Run, events: list[Recorded]) -> dict[str, list[JSONObject]]:
    """What each node was answered; of what the run only tells again, what its source was."""
    if not scope.can("memory:read") or run.external:
        return {}
    own = recordings.reads_of_run(scope.tenant_id, run.id, limit=READS)
    if not run.source_run_id:
        return own
    source = recordings.reads_of_run(scope.tenant_id, run.source_run_id, limit=READS)
    begun = {event.node_id: event.sequence for event in events if event.type == NodeStarted.type}
    served = {node for node, at in begun.items() if run.has_copied(at)}
    return {**{node: read for node, read in source.items() if node in served}, **own}


def _place(event: Recorded) -> str:
    """The node that the event is of; of one of OpenIntent the task, or else its log as a whole."""
    task_id = event.payload.get("taskId") or OPENINTENT if event.type.startswith(VENDOR) else ""
    return event.node_id or task_id


def _notes(scope: TenantScope, events: list[Recorded]) -> tuple[dict[int, Note], dict[int, int]]:
    noted = [event for event in events if event.type.startswith(VENDOR)] if scope.can("memory:read") else []
    archived = [event for event in noted if event.type == MemoryArchived.type]
    notes, long = event_notes.notes_within(
        scope.tenant_id, [event for event in noted if event not in archived], each=SHORT
    )
    return notes, long | event_notes.notes_within(scope.tenant_id, archived, each=0)[1]


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


def _open_questions(run: Run) -> list[Question]:
    plain = [each for each in interrupts.open_at(run) if interrupts.is_plain(each) and run.status not in runs.ENDING]
    return [question_of(each) for each in plain]


def question_of(interrupt: Interrupt) -> Question:
    """Return the question with its votes, where several decide."""
    several = interrupt.policy.get("requiredApprovals", 1) > 1
    return Question(interrupt, interrupts.votes_at(interrupt) if several else [])


@dataclass(frozen=True, slots=True)
class _Entries:
    """The entries that a run wrote and read, as they are now: live, or what remains, and what agents state of them."""

    live: "dict[UUID, MemoryEntry]"
    gone: "dict[UUID, Tombstone]"
    stated: dict[int, Origin]

    def write(self, run: Run, event: Recorded) -> TrailWrite:
        entry_id = ids.parse("mem", event.payload["memoryId"])
        live, gone = (self.live.get(entry_id), self.gone.get(entry_id)) if entry_id else (None, None)
        copied = live.run_id != run.id if live else run.has_copied(event.sequence)
        of_source = bool(run.fork_mode) and copied
        return TrailWrite(event, event.payload["memoryId"], live, gone, self.stated.get(event.sequence), of_source)

    def read(self, document: JSONObject) -> TrailRead:
        entry_id = ids.parse("mem", document["id"])
        live = self.live.get(entry_id) if entry_id else None
        if live is None or live.sealed:
            return TrailRead(document["id"], "")
        return TrailRead(document["id"], document["content"], live.retired_at is not None)


def _entries(
    scope: TenantScope, run: Run, events: list[Recorded], read: dict[str, list[JSONObject]], now: datetime
) -> _Entries:
    """By the ids in the events and the reads, in three queries however many there are."""
    facts = [event for event in events if event.type == MemoryWritten.type]
    named = [event.payload["memoryId"] for event in facts]
    named += [document["id"] for documents in read.values() for document in documents]
    wanted = [entry_id for each in dict.fromkeys(named) if (entry_id := ids.parse("mem", each))]
    may = scope.can("memory:read")
    return _Entries(
        adapter.console.entries_by_id(scope, wanted, now=now) if may else {},
        adapter.console.tombstones(scope, wanted) if may else {},
        event_notes.origins_of(scope.tenant_id, facts) if run.external else {},
    )


def _lane(
    run: Run,
    span: Span,
    node_id: str,
    own: list[Recorded],
    drawn: list[Recorded],
    entries: _Entries,
    read: list[JSONObject],
    report: NodeReport | None,
) -> Lane:
    started = next((event for event in own if event.type == NodeStarted.type), None)
    is_openintent = any(event.type.startswith(VENDOR) for event in own)
    marks = [event.timestamp for event in drawn if event.type == MemoryWritten.type]
    states = [event.type.partition(".")[2] for event in own if event.type.startswith("node.")]
    state = states[-1] if states and node_id and not is_openintent else ""
    writes = [entries.write(run, event) for event in own if event.type == MemoryWritten.type]
    agent_id = report.agent_id if report else next((each.entry.agent_id for each in writes if each.entry), "")
    goes_on = run.status not in TERMINAL and (state in GOES_ON or not (node_id or run.external or run.system))
    return Lane(
        node_id=node_id,
        type_id=started.payload["typeId"] if started else "",
        state=state,
        agent_id=agent_id if node_id else "",
        events=own,
        writes=writes,
        reads=[entries.read(document) for document in read],
        report=report,
        bar=bar_of(drawn, span, goes_on=goes_on, marks=marks),
    )


def export_events(scope: TenantScope, run: Run) -> Iterator[Recorded]:
    """Yield the run's whole log, in order, read in chunks for a file."""
    scope.check("runs:read")
    after = -1
    while chunk := event_log.read(scope.tenant_id, run.id, after=after):
        yield from recordings.with_texts(scope, run, event_notes.with_reasons(scope.tenant_id, chunk))
        after = chunk[-1].sequence


# A replay or a branch compared with its source run, node by node.

SAME, DIFFERS, MISSING, ADDED = "same", "differs", "missing", "added"
FORKS_SHOWN = 20
LONGEST_COMPARED = 2_000  # characters of a written text that are compared word by word


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
    """Return the newest replays and branches of the run."""
    scope.check("runs:read")
    rows = Run.objects.of(scope.tenant_id).defer("inputs", "variables", "configurable", "metadata")
    return rows.filter(source_run_id=run.id).order_by("-id")[:FORKS_SHOWN]


def compare_with_source(scope: TenantScope, fork_id: UUID | None, *, now: datetime) -> Comparison:
    """Compare the fork with its source; ``NotFound`` for a run that is no fork or not this tenant's."""
    scope.check("runs:read")
    if runs.find(scope.tenant_id, fork_id).source_run_id is None:
        raise NotFound("This run is not a replay or branch of another.")
    fork = build_timeline(scope, fork_id, now=now)
    source = build_timeline(scope, fork.run.source_run_id, now=now)
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
    return write.entry.content[:LONGEST_COMPARED] if shown and write and write.entry else ""


def _differs(pair: WritePair) -> bool:
    """Whether the pair differs: a replay has the very entries of its source; a branch its own, which may be equal."""
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
