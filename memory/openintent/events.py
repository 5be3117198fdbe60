"""Events of memory and of the work it belongs to, as OpenIntent has them (RFC-0015 5), and who may read which log."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from memory import event_notes
from memory.event_notes import Note
from memory.host import event_log, events, ids
from memory.host.access import names_of
from memory.host.errors import Forbidden, NotFound
from memory.host.event_log import Recorded
from memory.host.events import VENDOR, IntentLogged, MemoryArchived
from memory.host.expiry import unexpired
from memory.host.json_types import JSONObject
from memory.host.models import Run
from memory.host.models.base import ERASED
from memory.host.tenancy import TenantScope
from memory.models import Agent, Assignment, Coordinator, Intent, Task
from memory.openintent import access, work
from memory.openintent.access import READ, Caller
from memory.openintent.entries import ORIGIN, openintent_time
from memory.openintent.work.rows import AGENT_LOG, INTENT_LOG

# A coordinator that has finished reads what became of its work; one that was stopped or given up does not.
FINISHED = ("completing", "completed")
Document = JSONObject
LIFECYCLE = tuple(kind.type for kind in vars(events).values() if getattr(kind, "type", "").startswith(VENDOR))
# Where an event that an agent logged belongs in a trace (RFC-0020).
TRACE = ("trace_id", "parent_event_id")
SAID = (event_notes.REASON, ORIGIN)  # of a note, what was said of a removal or a return
REDACTED: Document = {"value_redacted": True}
OMITTED: Document = {"omitted": True}
ASSIGNED = "AGENT_ASSIGNED"
# Limits of a page of events: bytes of each, and bytes of the longer ones together.
SHORT, MOST_TOLD = 4_096, 8 * 1024 * 1024


# Who may read which log of OpenIntent: an intent's, and an agent's own stream (RFC-0015 2.1, 5, 9.1; R27, R65, R91).
#
# The permission of the credential is needed, and a part in what the log is of: neither is enough.


@dataclass(frozen=True, slots=True)
class Log:
    """A stream that ``reader`` may read; an agent that has not been seen yet has none.

    Names and archived values of memory are included for the tasks ``tasks`` (None means all), and for the reader's own
    memory everywhere.
    """

    tenant_id: UUID
    stream_id: UUID | None
    intent_id: str = ""
    agent_id: str = ""
    reader: str = ""
    tasks: frozenset[str] | None = None

    def shows(self, task_id: str | None, agent_id: str) -> bool:
        """Whether the reader gets details of this memory, and not only the fact."""
        return self.tasks is None or task_id in self.tasks or agent_id == self.reader


def intent_log(caller: Caller, text: str, *, now: datetime) -> Log:
    """The log of the intent; refused when there is none, and for callers without a part in it."""
    caller.scope.check(access.READ)
    if work.rows.intent(caller.tenant_id, text) is None:
        raise NotFound("There is no intent by that id.")
    log = readable_intent(caller, text, now=now)
    if log is None:
        raise Forbidden("This agent takes no part in that intent.", rule="intent-log")
    return log


def readable_intent(caller: Caller, text: str, *, now: datetime) -> Log | None:
    """The log of the intent, for an operator and participants: its creator, its coordinators, agents that have or had a
    task of it, and holders of a grant. A task, or a grant on one, opens the memory of that task alone; joining opens
    none, since any agent may join."""
    caller.scope.check(access.READ)
    intent = work.rows.intent(caller.tenant_id, text)
    if intent is None:
        return None
    log = Log(caller.tenant_id, intent.id, intent_id=ids.wire("intent", intent.id), reader=caller.agent_id)
    grants = work.rows.grants_in_force(caller.tenant_id, now=now).filter(intent_id=intent.id, agent_id=caller.agent_id)
    if caller.operates or _oversees(caller, intent, now) or grants.filter(task_id=None).exists():
        return log
    own = {*grants.values_list("task_id", flat=True), *_assignments(caller, intent).values_list("task_id", flat=True)}
    tasks = frozenset(ids.wire("task", each) for each in own if each)
    return replace(log, tasks=tasks) if tasks or caller.agent_id in intent.agents else None


def agent_log(caller: Caller, agent_id: str, *, now: datetime) -> Log:
    """The agent's own stream; refused in the same way when it does not exist and when the caller may not read it."""
    log = readable_agent(caller, agent_id, now=now)
    if log is None:
        raise Forbidden("This agent may not read the events of that agent.", rule="agent-stream")
    return log


def readable_agent(caller: Caller, agent_id: str, *, now: datetime) -> Log | None:
    """The agent's own stream, for itself, an operator, and who coordinates a task under way that it took up."""
    caller.scope.check(access.READ)
    overseen = work.rows.overseen_by(caller.tenant_id, caller.agent_id, now=now).filter(agent_id=agent_id)
    if not (caller.operates or agent_id == caller.agent_id or overseen.exists()):
        return None
    found = Agent.objects.of(caller.tenant_id).filter(agent_id=agent_id).values_list("run_id", flat=True).first()
    return Log(caller.tenant_id, found, agent_id=agent_id, reader=caller.agent_id)


def open_agent_log(caller: Caller, agent_id: str, *, now: datetime) -> Log:
    """The same, to wait at: an agent that waits for its own events has a stream from here on."""
    log = agent_log(caller, agent_id, now=now)
    if log.stream_id is None and agent_id == caller.agent_id:
        return replace(
            log, stream_id=work.rows.agent(caller.tenant_id, agent_id, by=caller.scope.principal.id, now=now).run_id
        )
    if log.stream_id is None:
        raise NotFound("There is no agent by that id.")
    return log


def _oversees(caller: Caller, intent: Intent, now: datetime) -> bool:
    """Whether the agent made the intent, or coordinates it, or did so to the end, for the time that it was given."""
    tenant_id, agent_id = caller.tenant_id, caller.agent_id
    finished = Coordinator.objects.of(tenant_id).filter(unexpired(now), status__in=FINISHED)
    return agent_id == intent.created_by or any(
        rows.filter(intent_id=intent.id, agent_id=agent_id).exists()
        for rows in (work.rows.active_coordinators(tenant_id, now=now), finished)
    )


def _assignments(caller: Caller, intent: Intent) -> "QuerySet[Assignment]":
    """The agent's tasks of the intent, now or before. One that it lost because it had failed is none of them (C15)."""
    tasks = Task.objects.of(caller.tenant_id).filter(intent_id=intent.id)
    rows: QuerySet[Assignment] = Assignment.objects.of(caller.tenant_id).filter(task_id__in=tasks.values("id"))
    return rows.filter(agent_id=caller.agent_id, dead=False)


# What has happened to memory and to the work it belongs to, as OpenIntent tells it (RFC-0015 5; R64 to R70).
#
# The log has ids; names, tags, payloads and archived values are joined from the notes kept with it, for readers of
# the log. What a forget took out of a note is missing, and the event then says that it is.
# Facts of OpenWOP on the same stream are left out: the published client knows no other types than its own.


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Which events: of one type, after a time, or all; and which page (C20)."""

    event_type: str = ""
    since: datetime | None = None
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True, slots=True)
class EventPage:
    """A page of events, oldest first, and how many there are."""

    events: list[Document]
    total: int


def page(log: Log, asked: EventQuery) -> EventPage:
    """What happened, as far as it was asked for: as many events as asked, whatever they hold.

    Where the archived values and logged payloads of a page come to more than ``MOST_TOLD``, those of the later events
    are left out, which then say ``omitted``; the first is always whole. Who wants the others asks for a smaller page
    that begins there, of one event at the least.
    """
    if log.stream_id is None:
        return EventPage([], 0)
    kinds = _types_of(asked.event_type)
    found, total = event_log.read_kinds(
        log.tenant_id, log.stream_id, kinds, since=asked.since, offset=asked.offset, limit=asked.limit
    )
    return EventPage(documents(log, found), total)


def documents(log: Log, found: Sequence[Recorded]) -> list[Document]:
    """Those of these events that OpenIntent tells of, as it tells them."""
    ours = [each for each in found if each.type.startswith(VENDOR)]
    notes, left = event_notes.notes_within(log.tenant_id, ours, each=SHORT, most=MOST_TOLD)
    return [_document(log, each, None if each.sequence in left else _legible(notes, each)) for each in ours]


def frame_name(log: Log, document: Document) -> str:
    """What a stream calls the event: its type. Of an agent's assignment to an intent it is the name for which the
    agents and workers of the published package wait."""
    kind: str = document["event_type"]
    return ASSIGNED if log.agent_id and kind == "agent_assigned" else kind


def whole_documents(log: Log, found: Sequence[Recorded]) -> Iterator[tuple[Recorded, Document]]:
    """Each of these events that OpenIntent tells of, with all that it holds: as many are read at once as ``documents``
    leaves whole."""
    ours = [each for each in found if each.type.startswith(VENDOR)]
    while ours:
        notes, left = event_notes.notes_within(log.tenant_id, ours, each=SHORT, most=MOST_TOLD)
        count = next((place for place, each in enumerate(ours) if each.sequence in left), len(ours))
        for event in ours[:count]:
            yield event, _document(log, event, _legible(notes, event))
        ours = ours[count:]


def _legible(notes: Mapping[int, Note], event: Recorded) -> Note:
    """The note of the event; what a forget took out of it is said to be missing."""
    note = notes.get(event.sequence, {})
    is_blanked = event.sequence in notes and (not note or note.get(event_notes.REASON) == ERASED)
    return note | REDACTED if is_blanked else note


def _types_of(event_type: str) -> dict[str, tuple[str, ...]]:
    """The types on the log that stand for this one, or for all."""
    if not event_type:
        return dict.fromkeys(LIFECYCLE, ())
    vendor_type = VENDOR + event_type
    return (
        {vendor_type: ()}
        if vendor_type in LIFECYCLE and vendor_type != IntentLogged.type
        else {IntentLogged.type: (event_type,)}
    )


def _document(log: Log, event: Recorded, note: Note | None) -> Document:
    """Under both sets of names, RFC-0015's and those of the intent log (R68). The actor is an agent, never a key.

    ``note`` is None for one that the page has no room for.
    """
    said, at = event.payload, openintent_time(event.timestamp)
    kind = said["kind"] if event.type == IntentLogged.type else event.type.removeprefix(VENDOR)
    data, scope = _data(log, event, note), (note or {}).get("scope", {})
    return {
        "id": ids.wire("evt", event.event_id),
        "type": kind,
        "event_type": kind,
        "intent_id": log.intent_id or scope.get("intent_id") or data.get("intent_id"),
        "task_id": said.get("taskId") or scope.get("task_id") or data.get("task_id"),
        "agent_id": said.get("agentId") or said["actor"],
        "actor": said["actor"],
        "data": data,
        "payload": data,
        "timestamp": at,
        "created_at": at,
        **{name: data[name] for name in TRACE if event.type == IntentLogged.type and name in data},
    }


def _data(log: Log, event: Recorded, note: Note | None) -> Document:
    said = event.payload
    if event.type == IntentLogged.type:
        return dict(OMITTED if note is None else note)
    shown = note if log.shows(said.get("taskId"), said["agentId"]) else {}
    form = _archived if event.type == MemoryArchived.type else _changed
    return form(said, shown) if shown is not None else form(said, {"snapshot": []}) | OMITTED


def _changed(said: Document, note: Note) -> Document:
    """With the names of the entry, why a person retired or restored it, and where a deletion came from; where the names
    are missing, that they are."""
    data = {
        "entry_id": said["entryId"],
        "namespace": note.get("namespace"),
        "key": note.get("key"),
        "memory_type": said["memoryType"],
        "version": said["version"],
        "tags": note.get("tags", []),
    }
    stated = {name: note[name] for name in SAID if name in note}
    before = {"previous_version": said["previousVersion"]} if "previousVersion" in said else {}
    return data | before | stated | ({} if "namespace" in note else REDACTED)


def _archived(said: Document, note: Note) -> Document:
    """With the snapshot, which has values only of entries that were not confidential and were not
    forgotten since (C1)."""
    count = said["entriesArchived"]
    return {"entries_archived": count, "snapshot": note.get("snapshot", [REDACTED] * count)}


# The runs whose streams are the logs of OpenIntent's agents and intents: who reads them, and what they are called.


def is_log(run: Run) -> bool:
    """Whether the run executes nothing: it is as long as its agent or its intent is known."""
    return run.system and run.workflow_id in {AGENT_LOG, INTENT_LOG}


def require_readable(scope: TenantScope, run: Run, *, now: datetime) -> None:
    """Refuse a key that is bound to agents, of which none may read all of the log that ``run`` is (R27, R91)."""
    if not is_readable(scope, run, now=now):
        rule = "intent-log" if run.workflow_id == INTENT_LOG else "agent-stream"
        raise Forbidden("This run is a log of OpenIntent, which is not for the agents of this key.", rule=rule)


def is_readable(scope: TenantScope, run: Run, *, now: datetime) -> bool:
    """Whether the run is no log, or one for this principal: the events of OpenWOP on it name every task and namespace,
    so a part of it, as a grant on one task opens, is read at its OpenIntent address alone."""
    bound = scope.principal.agent_ids
    if bound is None or not is_log(run):
        return True
    return scope.can(READ) and any(_reads(Caller(scope, agent_id), run, now) for agent_id in sorted(bound))


def _reads(caller: Caller, run: Run, now: datetime) -> bool:
    if run.workflow_id == AGENT_LOG:
        found = readable_agent(caller, run.agent_id, now=now)
    else:
        found = readable_intent(caller, ids.wire("intent", run.id), now=now)
    return found is not None and found.tasks is None


def log_names(scope: TenantScope, runs: Iterable[Run]) -> dict[UUID, str]:
    """What those of ``runs`` that are logs are called. An intent's title is for who may read memory."""
    logs = [run for run in runs if is_log(run)]
    intents = [run.id for run in logs if run.workflow_id == INTENT_LOG]
    readable = Intent.objects.of(scope.tenant_id).filter(id__in=intents) if scope.can(READ) else Intent.objects.none()
    titles = dict(readable.values_list("id", "title")) if intents else {}
    # A key that names no agent acts as itself.
    keys = {run.agent_id for run in logs if ids.parse("key", run.agent_id)}
    names = names_of(scope.tenant_id, keys) if keys else {}
    return {run.id: _name(run, titles.get(run.id, ""), names.get(run.agent_id, "")) for run in logs}


def _name(run: Run, title: str, key: str) -> str:
    if run.workflow_id == AGENT_LOG:
        return f"{key}, over OpenIntent" if key else f"Agent {run.agent_id}, over OpenIntent"
    return f"Intent: {title or ids.wire('intent', run.id)}"


def tasks_of(scope: TenantScope, run: Run) -> dict[str, str]:
    """The names of the tasks of the intent whose log the run is, by their wire ids, for who may read memory."""
    if not is_log(run) or run.workflow_id != INTENT_LOG or not scope.can(READ):
        return {}
    rows = Task.objects.of(scope.tenant_id).filter(intent_id=run.id).values_list("id", "name")
    return {ids.wire("task", task_id): name for task_id, name in rows}
