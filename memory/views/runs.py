"""Runs: the list, and the trail of one with what each of its nodes wrote."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memory import external_runs, interrupt_forms, recordings, run_search, run_timeline, run_verification
from memory.event_notes import Note
from memory.host import access, exports, ids, pages, proposal_links, sql, tenancy
from memory.host.errors import Refusal
from memory.host.event_log import Recorded
from memory.host.events import ApprovalReceived, InterruptRequested, InterruptResolved
from memory.host.interrupts import InterruptAlreadyResolved
from memory.host.json_types import JSONObject, indented
from memory.host.models import TERMINAL, Run, RunStatus
from memory.host.tenancy import TenantScope
from memory.interrupt_forms import AnswerForm
from memory.openintent import events
from memory.run_search import RunFilter
from memory.run_timeline import Answer, Lane, Question, Trail, TrailWrite
from memory.run_verification import RunFinding
from memory.wire import instant

SAID = frozenset({"namespace", "key", "tags", "scope", "by"})
CALL_TEXTS = ("request", "answer", "inputs", "outcome")
CHANGED_NAMED = 5
# The members of events that name who acted, what stands there for a decision by several, and who has no name.
ACTED, QUORUM, BEARER = ("decidedBy", "principal"), "quorum:", {"token": "someone with a link to answer"}
FILTERS = ("workflow", "status", "agent", "by", "slower", "since", "until")
SLOWER = ("1", "10", "60", "600", "3600")  # seconds
# The columns of the list as a file; what the page shows of a run stands in runs_list.html.
COLUMNS: dict[str, Callable[[Run], object]] = {
    "id": lambda run: ids.wire("run", run.id),
    "workflowId": lambda run: run.workflow_id,
    "status": lambda run: run.status,
    "agentId": lambda run: run.agent_id or None,
    "startedBy": lambda run: run.principal,
    "system": lambda run: run.system,
    "createdAt": lambda run: instant(run.created_at),
    "startedAt": lambda run: instant(run.started_at),
    "completedAt": lambda run: instant(run.completed_at),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One event of a lane, with the write it tells of; ``here`` when the address points at it.

    ``note`` is what an event of OpenIntent says beyond ids, and ``about`` the entry that it is about.
    ``length`` is that of a note which has a page of its own.
    """

    event: Recorded
    write: TrailWrite | None
    here: bool
    note: Note
    about: TrailWrite | None = None
    length: int = 0
    answer: Answer | None = None

    @property
    def decided(self) -> str:
        """What a person decided with this event, in words; that of one who approves stands at the event before it."""
        action = self.event.payload.get("action", "") if self.event.type == ApprovalReceived.type else ""
        return interrupt_forms.ENDED.get(self.answer.action if self.answer and not self.answer.by_one else action, "")

    @property
    def people(self) -> list[str]:
        """Who acted with this event, as far as it or the answer says; a decision by several names them all."""
        by = [self.event.payload[name] for name in ACTED if self.event.payload.get(name)]
        by = [each for each in by if not each.startswith(QUORUM)]
        return self.answer.people if self.answer and not self.answer.by_one else by

    @property
    def through(self) -> str:
        """The principal whose credential the agent of the event used; empty where none is noted."""
        return str(self.note.get("by", ""))

    @property
    def asked(self) -> list[str]:
        """The question that this event asks, in the words of the workflow's definition."""
        data = self.event.payload.get("data", {}) if self.event.type == InterruptRequested.type else {}
        texts = [data.get(name) for name in ("title", "eventType", "customKind")]
        return [text for text in [*texts, *(each["question"] for each in data.get("questions", ()))] if text]

    @property
    def more(self) -> str:
        """What of the note has no place of its own on the page, as people read it."""
        return _laid_out({name: value for name, value in self.note.items() if name not in SAID})

    @property
    def call(self) -> str:
        """What a call of the node asked or was answered."""
        texts = (self.event.payload.get(name) for name in CALL_TEXTS) if self.event.type in recordings.TEXTS else ()
        return next((_laid_out(text) for text in texts if isinstance(text, dict)), "")


@dataclass(frozen=True, slots=True)
class ShownLane:
    """A lane as the page lists it, its details open or closed."""

    lane: Lane
    rows: list[Row]
    is_open: bool

    @property
    def answer(self) -> Answer | None:
        """The last answer to what the node asked."""
        return next((row.answer for row in reversed(self.rows) if row.answer), None)

    @property
    def answered(self) -> str:
        """How the last question of the node ended, in words."""
        return interrupt_forms.ENDED.get(self.answer.action, "") if self.answer else ""

    @property
    def inputs(self) -> str:
        return _laid_out(self.lane.report.inputs or {}) if self.lane.report else ""


@dataclass(frozen=True, slots=True)
class LaneFilter:
    """Which nodes of a run to list: of this id, of this agent; empty means all."""

    node: str = ""
    agent: str = ""

    def takes(self, lane: Lane) -> bool:
        return (not self.node or lane.node_id == self.node) and (not self.agent or lane.agent_id == self.agent)


def filter_of(request: HttpRequest) -> RunFilter:
    """The runs that the parameters ``FILTERS`` name."""
    return RunFilter(
        workflow_part=pages.text_of(request, "workflow"),
        agent=pages.text_of(request, "agent"),
        started_by=pages.text_of(request, "by"),
        at_least=timedelta(seconds=int(pages.word_of(request, "slower", SLOWER) or 0)),
        status=pages.word_of(request, "status", (*RunStatus.values, run_search.UNFINISHED)),
        since=pages.moment_of(request, "since"),
        until=pages.moment_of(request, "until", end=True),
    )


@pages.parameters(*FILTERS, *pages.LIST)
@require_safe
def run_list(request: HttpRequest) -> HttpResponseBase:
    """The tenant's runs, newest first."""
    scope, cursor = tenancy.scope_of(request), pages.Cursor.from_request(request, "run")
    wanted = filter_of(request)
    listed = run_search.run_page(scope, wanted, before=cursor.after, size=pages.PAGE)
    if file_format := pages.file_format(request):
        found = run_search.export_runs(scope, wanted)
        return exports.listing(file_format, "runs", _documents(scope, found), columns=(*COLUMNS, "agents"))
    called = {run.principal for run in listed.runs}
    starters = set() if pages.wants_fragment(request) else run_search.recent_starters(scope)
    starters |= {wanted.started_by} - {"", run_search.CLIENTS}
    people = access.names_of(scope.tenant_id, called | starters)
    context = {
        "nav": "runs",
        "now": timezone.now(),
        "listed": listed,
        "names": _names(scope, listed.runs),
        "agents": run_search.acting_agents(scope, listed.runs),
        "people": people,
        "starters": sorted(starters, key=lambda each: (each == "host", people.get(each, each))),
        "by": wanted.started_by,
        "workflow": wanted.workflow_part,
        "agent": wanted.agent,
        "slower": pages.text_of(request, "slower"),
        "lengths": [(each, timedelta(seconds=int(each))) for each in SLOWER],
        "status": wanted.status,
        "since": pages.text_of(request, "since"),
        "until": pages.text_of(request, "until"),
        "statuses": (*RunStatus.values, run_search.UNFINISHED),
        "filtered": wanted != RunFilter(),
        "may_cancel": wanted.status == run_search.UNFINISHED and listed.runs and scope.can("runs:cancel"),
        **cursor.links(len(listed.runs), listed.after),
        **pages.files(request),
    }
    return pages.render(request, "memory/runs.html", context, fragment="memory/runs_list.html")


def _documents(scope: TenantScope, found: Iterator[Run]) -> Iterator[dict[str, object]]:
    """The rows of the file; the agents that acted in them are looked up a chunk at a time."""
    for chunk in sql.in_chunks(found):
        acting = run_search.acting_agents(scope, chunk)
        for run in chunk:
            yield {**{name: value(run) for name, value in COLUMNS.items()}, "agents": acting[run.id]}


def _names(scope: TenantScope, found: list[Run]) -> dict[UUID, str]:
    """What runs are called that are not called by their workflow: logs, and those of agents elsewhere."""
    stated = external_runs.statements_about(scope, found)
    return events.log_names(scope, found) | {run_id: each.name for run_id, each in stated.items()}


def _owners(found: Run) -> list[str]:
    """Whose the run is, and whose its source is when it is a fork."""
    return [found.principal, *([found.source_run.principal] if found.source_run_id else [])]


def names_in(scope: TenantScope, principals: Collection[str]) -> dict[str, str]:
    """What those who act in runs are called: principals, and who has a link to answer."""
    return access.names_of(scope.tenant_id, principals) | BEARER


def _faster(timeline: Trail, refused: AnswerForm | None) -> dict[str, object] | None:
    """How the question ended to which an answer came too late: a word, by whom, and when."""
    answer = timeline.answers.get(ids.wire("int", refused.interrupt.id)) if refused else None
    if answer is None:
        return None
    word = interrupt_forms.ENDED.get(answer.action, "Answered").lower()
    return {"word": word, "people": answer.people, "at": answer.interrupt.resolved_at}


def _people(lanes: Sequence[ShownLane]) -> set[str]:
    """Who acted in these lanes."""
    rows = [row for shown in lanes for row in shown.rows]
    return {each for row in rows for each in row.people} | {row.through for row in rows if row.through}


@pages.parameters("at", "format", "node", "agent", "fork")
@require_safe
def run(request: HttpRequest, run_id: str) -> HttpResponseBase:
    """The trail of one run."""
    scope, found = tenancy.scope_of(request), ids.parse("run", run_id)
    if pages.file_format(request) == "json":
        return exports.listing("json", "events", _events(scope, run_timeline.find_run(scope, found)))
    return render_run(request, run_timeline.build_timeline(scope, found, now=timezone.now()))


def render_run(
    request: HttpRequest,
    timeline: Trail,
    *,
    refused: AnswerForm | None = None,
    conflict: Refusal | None = None,
    failed: Mapping[str, object] | None = None,
    status: int = 0,
) -> HttpResponse:
    """The page of a run; with ``refused`` where an answer that was none stands, and why it was not recorded.

    ``failed`` is an ``act`` of its buttons (again or fork) with the ``refusal`` that it met.
    """
    scope, run_id = tenancy.scope_of(request), ids.wire("run", timeline.run.id)
    wanted = LaneFilter(pages.text_of(request, "node"), pages.text_of(request, "agent"))
    lanes = _lanes(timeline, pages.number_of(request, "at"), wanted)
    asked = [interrupt_forms.question_for(scope, each, _form_at(each, refused)) for each in timeline.asked]
    over = timeline.run.status in TERMINAL or events.is_log(timeline.run)
    context = {
        "nav": "runs",
        "now": timezone.now(),
        "trail": timeline,
        "run": timeline.run,
        "run_id": run_id,
        "forks": run_timeline.forks_of(scope, timeline.run),
        "log_name": events.log_names(scope, [timeline.run]).get(timeline.run.id, ""),
        "task_names": events.tasks_of(scope, timeline.run),
        "stated": external_runs.statements_about(scope, [timeline.run]).get(timeline.run.id),
        "silence": external_runs.silence(),
        "lanes": lanes,
        "wanted": wanted,
        "nodes": [lane.node_id for lane in timeline.lanes if lane.node_id],
        "agents": sorted({lane.agent_id for lane in timeline.lanes} - {""}),
        "failed": failed,
        "proposal": proposal_links.of_activation(scope, timeline.run.id) if timeline.run.system else None,
        "fork_from": pages.as_number(request.POST.get("from_seq", "")) or pages.number_of(request, "fork") or 0,
        "fork_at": _step_at(timeline, pages.number_of(request, "fork")),
        "left_out": timeline.total - len(timeline.events),
        "writes": sum(len(lane.own_writes) for lane in timeline.lanes),
        "source_writes": sum(len(lane.source_writes) for lane in timeline.lanes),
        "as_json": pages.address(request, at="", format="json"),
        "took": timeline.run.took,
        "ended": over,
        "here": reverse("run", args=[run_id]) if refused or failed else pages.canonical_address(request),
        "can_create": scope.can("runs:create"),
        "can_cancel": scope.can("runs:cancel"),
        "names": names_in(scope, {*_owners(timeline.run), *_people(lanes)}),
        "asked": asked,
        "conflict": conflict,
        "faster": _faster(timeline, refused) if conflict and conflict.code == InterruptAlreadyResolved.code else None,
        "refused": refused if refused and refused.errors else None,
        "waits_for_you": any(each.form for each in asked),
        "polls": not over and not refused,
    }
    status = status or pages.poll_status(request, over=over)
    return pages.render(request, "memory/run.html", context, fragment="memory/run_body.html", status=status)


def _form_at(question: Question, refused: AnswerForm | None) -> AnswerForm | None:
    return refused if refused and refused.interrupt.id == question.interrupt.id else None


@require_POST
def verify(request: HttpRequest, run_id: str) -> HttpResponse:
    """Verify the log of the run, its entries and the audit records of its time, and say what was found."""
    found = run_verification.verify(tenancy.scope_of(request), ids.parse("run", run_id), now=timezone.now())
    if found.intact:
        messages.success(request, f"This run is intact: {', '.join(_intact(found))}.")
    else:
        messages.error(request, f"This run is not intact: {', '.join(_broken(found))}.")
    return redirect("run", run_id)


def _intact(found: RunFinding) -> Iterator[str]:
    yield f"{found.events:,} {'event' if found.events == 1 else 'events'} without a gap"
    if found.entries:
        yield f"{found.entries:,} {'entry' if found.entries == 1 else 'entries'} with the text that was written"
    if found.audit:
        first, last = found.audit.first, found.audit.last
        place = f"at record {first:,}" if first == last else f"from record {first:,} to {last:,}"
        yield f"the audit chain of that time unbroken {place}"


def _broken(found: RunFinding) -> Iterator[str]:
    if found.broken_at is not None:
        yield f"event {found.broken_at:,} is missing"
    if found.changed:
        yield f"the text of {', '.join(ids.wire('mem', each) for each in found.changed[:CHANGED_NAMED])} was changed"
    if found.audit and not found.audit.intact:
        yield f"the audit chain breaks at record {found.audit.broken_at:,}"


@pages.parameters()
@require_safe
def compare(request: HttpRequest, run_id: str) -> HttpResponse:
    """A replay or a branch beside the run that it comes from."""
    scope, now = tenancy.scope_of(request), timezone.now()
    found = run_timeline.compare_with_source(scope, ids.parse("run", run_id), now=now)
    source_id = ids.wire("run", found.source.run.id)
    context = {"nav": "runs", "now": now, "run_id": run_id, "source_id": source_id, "compared": found}
    return pages.render(request, "memory/run_compare.html", context)


@pages.parameters("format")
@require_safe
def note(request: HttpRequest, run_id: str, sequence: int) -> HttpResponse:
    """All that one event of OpenIntent says, which may be long."""
    scope, found = tenancy.scope_of(request), ids.parse("run", run_id)
    event, said = run_timeline.note_of(scope, found, sequence)
    if pages.file_format(request) == "json":
        return exports.document({"sequence": sequence, "type": event.type, "note": said})
    context = {
        "nav": "runs",
        "now": timezone.now(),
        "run_id": run_id,
        "event": event,
        "entries": said.get("snapshot", []),
        "text": _laid_out(said),
        **pages.files(request, "json"),
    }
    return pages.render(request, "memory/run_note.html", context)


def _laid_out(said: JSONObject) -> str:
    return indented(said) if said else ""


def _lanes(timeline: Trail, here: int | None, wanted: LaneFilter) -> list[ShownLane]:
    """The lanes that were asked for. Open are those that the address points into, that failed, or that is alone."""
    known = {write.memory_id: write for lane in timeline.lanes for write in lane.writes}
    shown = []
    for lane in filter(wanted.takes, timeline.lanes):
        rows = _rows(lane, timeline, known, here)
        is_open = bool(wanted.node) or lane.state == "failed" or any(row.here for row in rows)
        shown.append(ShownLane(lane, rows, is_open))
    return shown


def _step_at(timeline: Trail, sequence: int | None) -> str:
    """The node that has begun with the event of this number."""
    found = (lane.node_id for lane in timeline.lanes if lane.node_id and lane.first_sequence == sequence)
    return next(found, "")


def _rows(lane: Lane, timeline: Trail, known: dict[str, TrailWrite], here: int | None) -> list[Row]:
    writes = {write.event.sequence: write for write in lane.writes}
    return [
        Row(
            event,
            writes.get(event.sequence),
            event.sequence == here,
            timeline.notes.get(event.sequence, {}),
            known.get(event.payload.get("entryId", "")),
            timeline.long.get(event.sequence, 0),
            timeline.answers.get(event.payload["interruptId"]) if event.type == InterruptResolved.type else None,
        )
        for event in lane.events
    ]


def _events(scope: TenantScope, run: Run) -> Iterator[dict[str, object]]:
    """Every event of the run as the protocol writes it."""
    for event in run_timeline.export_events(scope, run):
        yield {
            "eventId": ids.wire("evt", event.event_id),
            "runId": ids.wire("run", run.id),
            **({"nodeId": event.node_id} if event.node_id else {}),
            "type": event.type,
            "payload": event.payload,
            "timestamp": instant(event.timestamp),
            "sequence": event.sequence,
        }
