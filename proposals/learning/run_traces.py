"""Reads the traces of one tenant for the miners: executed runs, corrections, memory reads, and installed artifacts."""

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from memory import adapter, memory_policy, recordings, redaction
from memory.commitments import due
from memory.host import event_log, ids, interrupts, registry, sql
from memory.host.events import NodeCancelled, NodeCompleted, NodeFailed, NodeSkipped, NodeStarted
from memory.host.json_types import JSONObject
from memory.host.models import (
    ApiKey,
    ArtifactKind,
    Definition,
    ForkMode,
    Installation,
    Interrupt,
    Resolution,
    Run,
    Schedule,
    ScheduleKind,
    Tenant,
)
from memory.host.node_types import tools_of
from memory.host.tenancy import host_scope
from memory.models import CommitmentState
from memory.models import Firing as FiringRow
from memory.text.matching import FORGOTTEN, texts_in
from memory.text.redactor import MARK
from proposals.learning.miners.traces import (
    Correction,
    Firing,
    InstalledAgent,
    InstalledPrompt,
    InstalledSchedule,
    NodeTrace,
    Origin,
    Reading,
    RunTrace,
    Traces,
)

KNOWN = 4096
LOOKS_BACK = timedelta(days=30)
LONGEST_RUN = timedelta(days=61)
MOST_RUNS = 5000
CANCELLED = "cancelled"
PLAIN_RULE = "all_success"
ENDS = {
    NodeCompleted.type: "completed",
    NodeFailed.type: "failed",
    NodeSkipped.type: "skipped",
    NodeCancelled.type: "failed",
}
TOLD = frozenset({NodeStarted.type, *ENDS})
APPROVAL, CLARIFICATION = "approval", "clarification"
ASKS_FOR_CHANGES = frozenset({"refine", "edit-accept", "reject"})
IN_WORDS = ("text", "feedback", "reason", "comment", "message", "instructions")
LIVE = "live"
MOST_FIRINGS = 5000
Versions = dict[tuple[str, str], set[str]]


# The miners only see texts without secrets, redaction marks or forgotten passages (SR-1, RFC 0080).
#
# A text with any of these is dropped whole, never used in part.


class Sieve:
    """Filters one tenant's traces by the secrets that its vault holds when the sieve is made."""

    def __init__(self, tenant_id: UUID) -> None:
        self._redact = redaction.for_derived(tenant_id)
        self._judged = lru_cache(KNOWN)(self._judge)

    def passes(self, text: str) -> bool:
        """Whether ``text`` has nothing redacted or forgotten in it, and nothing to redact. Cached: texts recur."""
        return self._judged(text)

    def _judge(self, text: str) -> bool:
        hidden = MARK in text or FORGOTTEN in text
        return bool(text.strip()) and not hidden and self._redact(text).count == 0

    def members(self, document: JSONObject) -> JSONObject:
        """The members of ``document`` whose names and texts all pass; a member is kept or dropped whole."""
        return {name: value for name, value in document.items() if self._all_pass((name, *texts_in(value)))}

    def _all_pass(self, texts: tuple[str, ...]) -> bool:
        return all(self.passes(text) for text in texts if text.strip())


# The tenant's own runs as executed: the nodes in order, how each ended, and what started the run.
#
# Read in bulk: one more query per chunk of runs, never one per run.


@dataclass(frozen=True, slots=True)
class Workflow:
    """A definition that runs have pinned, parsed once for all of them; ``before`` has each node's ancestors."""

    nodes: dict[str, JSONObject]
    edges: tuple[tuple[str, str], ...]
    conditional: tuple[tuple[str, str], ...]
    before: dict[str, frozenset[str]]

    def leads(self, source: str, target: str) -> bool:
        """Whether ``target`` is ``source`` or downstream of it."""
        return source == target or source in self.before.get(target, frozenset())


@dataclass(slots=True)
class Executed:
    """A run, its workflow, the nodes it executed in order, and how each ended (state and error code).

    ``prompts`` are pairs of a resolved template's name and the node that resolved it.
    """

    run: Run
    workflow: Workflow
    order: list[str] = field(default_factory=list)
    ends: dict[str, tuple[str, str]] = field(default_factory=dict)
    prompts: tuple[tuple[str, str], ...] = ()

    @property
    def run_id(self) -> str:
        return ids.wire("run", self.run.id)

    @property
    def is_fork(self) -> bool:
        return bool(self.run.fork_mode)

    def prompt_before(self, node_id: str) -> str:
        """The template resolved last at ``node_id`` or upstream of it; "" for none."""
        place = {name: at for at, name in enumerate(self.order)}
        leading = [(place.get(at, -1), name) for name, at in self.prompts if self.workflow.leads(at, node_id)]
        return max(leading, default=(0, ""))[1]


def ended_since(tenant_id: UUID, *, now: datetime) -> QuerySet[Run]:
    """The tenant's own runs that ended in the last thirty days, without replays, which add no new evidence."""
    since = now - LOOKS_BACK
    rows = Run.objects.of(tenant_id).filter(id__gte=ids.first_of(since - LONGEST_RUN), system=False)
    return rows.filter(completed_at__gte=since, completed_at__lte=now).exclude(fork_mode=ForkMode.REPLAY)


def runs_of(tenant_id: UUID, sieve: Sieve, *, now: datetime) -> list[Executed]:
    """The newest ``MOST_RUNS`` of ``ended_since``, oldest first, without those whose definition the sieve refuses."""
    wanted = ("variables", "configurable", "workspace", "tags", "error")
    rows = list(ended_since(tenant_id, now=now).defer(*wanted).order_by("-id")[:MOST_RUNS])
    workflows = _workflows(tenant_id, {row.definition_id for row in rows}, sieve)
    found = [Executed(row, workflows[row.definition_id]) for row in reversed(rows) if row.definition_id in workflows]
    by_id = {each.run.id: each for each in found}
    _follow(tenant_id, by_id)
    _note_prompts(tenant_id, by_id)
    return found


def _workflows(tenant_id: UUID, definition_ids: Collection[UUID], sieve: Sieve) -> dict[UUID, Workflow]:
    rows = Definition.objects.of(tenant_id)
    return {
        row: _workflow(json.loads(text))
        for part in sql.in_chunks(definition_ids)
        for row, text in rows.filter(id__in=part).values_list("id", "text")
        if sieve.passes(text)
    }


def _workflow(definition: JSONObject) -> Workflow:
    edges = tuple((edge["sourceNodeId"], edge["targetNodeId"]) for edge in definition["edges"])
    nodes = {node["id"]: node for node in definition["nodes"]}
    return Workflow(nodes, edges, _deciding(definition), {node: _ancestors(node, edges) for node in nodes})


def _deciding(definition: JSONObject) -> tuple[tuple[str, str], ...]:
    """The edges with a condition or a trigger rule other than the default."""
    return tuple(
        (edge["sourceNodeId"], edge["targetNodeId"])
        for edge in definition["edges"]
        if "condition" in edge or edge.get("triggerRule", PLAIN_RULE) != PLAIN_RULE
    )


def _ancestors(node: str, edges: tuple[tuple[str, str], ...]) -> frozenset[str]:
    found: set[str] = set()
    fresh = {node}
    while fresh:
        fresh = {source for source, target in edges if target in fresh} - found
        found |= fresh
    return frozenset(found)


def _follow(tenant_id: UUID, found: dict[UUID, Executed]) -> None:
    """Fill in the executed nodes of each run from its event log."""
    for part in sql.in_chunks(found):
        for stream, kind, node_id, payload in event_log.read_streams(tenant_id, part, TOLD):
            executed = found[stream]
            if node_id not in executed.ends:
                executed.order.append(node_id)
                executed.ends[node_id] = ("failed", CANCELLED)
            if kind in ENDS:
                executed.ends[node_id] = (ENDS[kind], _code(kind, payload))


def _code(kind: str, payload: JSONObject) -> str:
    if kind == NodeFailed.type:
        return str(payload.get("error", {}).get("code", ""))
    return CANCELLED if kind == NodeCancelled.type else ""


def _note_prompts(tenant_id: UUID, found: dict[UUID, Executed]) -> None:
    kind = {"installation__kind": ArtifactKind.PROMPT_TEMPLATE}
    for part in sql.in_chunks(found):
        rows = Resolution.objects.of(tenant_id).filter(run_id__in=part, **kind).order_by("id")
        for run_id, name, node_id in rows.values_list("run_id", "installation__name", "node_id"):
            found[run_id].prompts += ((name, node_id),)


def programs_of(tenant_id: UUID) -> frozenset[str]:
    """The API keys that are bound to agents, valid or not: a principal with such a key is a program."""
    rows = ApiKey.objects.of(tenant_id).exclude(agents=[]).values_list("id", flat=True)
    return frozenset(ids.wire("key", row) for row in rows)


def traced(executed: Executed, sieve: Sieve, programs: Collection[str]) -> RunTrace:
    """Convert a run for the miners; ``programs`` are the keys of agents."""
    run = executed.run
    inputs = sieve.members(run.inputs)
    return RunTrace(
        run_id=executed.run_id,
        workflow_id=run.workflow_id,
        origin=origin_of(run, programs),
        created_at=run.created_at,
        status=run.status,
        nodes=tuple(_node(executed, node_id) for node_id in executed.order),
        edges=executed.workflow.edges,
        inputs=inputs,
        prompts=executed.prompts,
        builtin=run.workflow_id in registry.builtin_ids(),
        conditional=executed.workflow.conditional,
        agent_id=run.agent_id,
        incomplete=len(inputs) < len(run.inputs),
    )


def _node(executed: Executed, node_id: str) -> NodeTrace:
    node, (state, code) = executed.workflow.nodes[node_id], executed.ends[node_id]
    agent = node.get("agent") or {"agentId": executed.run.agent_id}
    return NodeTrace(
        node_id=node_id,
        type_id=node["typeId"],
        state=state,
        config=node["config"],
        inputs=node["inputs"],
        agent_id=str(agent.get("agentId", "")),
        error_code=code,
        tools=tuple(tools_of(node["typeId"], node["config"])),
        memory_ref=str(agent.get("memoryRef", "")),
    )


def origin_of(run: Run, programs: Collection[str]) -> Origin:
    """What started the run. A fork is a fork whatever its source; a schedule, heartbeat or commitment comes before
    the principal it acts for."""
    if run.fork_mode:
        return Origin.FORK
    stated = run.metadata.get("origin")
    for origin in (Origin.SCHEDULE, Origin.HEARTBEAT, Origin.COMMITMENT):
        if isinstance(stated, dict) and origin.value in stated:
            return origin
    if run.principal in programs:
        return Origin.AGENT
    kind = run.principal.partition("_")[0]
    return {"usr": Origin.PERSON, "key": Origin.KEY}.get(kind, Origin.HOST)


# Corrections that people gave downstream of a prompt, and memories that runs read upstream of one.
#
# The only place where the synthesis reads texts by people. Memories whose entry is retired, expired or gone are left
# out, and so are answers that were forgotten or given by a program.


def corrections_of(
    tenant_id: UUID, found: Iterable[Executed], sieve: Sieve, programs: Collection[str]
) -> list[Correction]:
    """The changes that people requested at nodes downstream of a prompt, oldest first; forks do not repeat them.

    ``programs`` are the keys of agents; answers given with them do not count.
    """
    using = {each.run.id: each for each in found if each.prompts}
    said = [
        correction
        for row in _answered(tenant_id, using)
        for correction in _corrections_in(row, using[row.run_id], programs)
        if sieve.passes(correction.text)
    ]
    return sorted(said, key=lambda each: (each.at, each.evidence_id))


def _corrections_in(row: Interrupt, executed: Executed, programs: Collection[str]) -> list[Correction]:
    """The corrections in one answer; none unless a person gave it downstream of a prompt."""
    value: Any = row.resume_value
    by, prompt = _person(value, programs), executed.prompt_before(row.node_id)
    if not by or not prompt or row.resolved_at is None:
        return []
    known_by = ids.wire("int", row.id)
    return [
        Correction(executed.run_id, row.node_id, prompt, text, by, row.resolved_at, known_by)
        for text in _words_of(row.kind, value)
    ]


def _answered(tenant_id: UUID, using: dict[UUID, Executed]) -> Iterator[Interrupt]:
    """The answered plain questions of these runs; a branch has no prompt upstream of the part it took over."""
    for part in sql.in_chunks(using):
        rows = Interrupt.objects.of(tenant_id).filter(run_id__in=part, kind__in=(APPROVAL, CLARIFICATION))
        rows = rows.filter(policy__plain=True, outcome=interrupts.ANSWERED, resume_value__isnull=False)
        yield from rows.defer("data").order_by("id")


def _person(value: object, programs: Collection[str]) -> str:
    """The principal who answered; "" for a program, for an answer without one, and for a decision by several."""
    by = str(value.get("decidedBy", "")) if isinstance(value, dict) else ""
    known = by.partition("_")[0] in ("usr", "key")
    return by if known and by not in programs else ""


def _words_of(kind: str, value: JSONObject) -> list[str]:
    """The free texts of an answer; of an approval, only when its action requests changes."""
    if kind == CLARIFICATION:
        return _texts(value.get("answers", {}))
    if value.get("action") not in ASKS_FOR_CHANGES:
        return []
    feedback = value.get("refineFeedback")
    return [*_texts(_named_values(feedback)), *_texts(_named_values(value))]


def _named_values(value: object) -> JSONObject:
    return {name: value[name] for name in IN_WORDS if name in value} if isinstance(value, dict) else {}


def _texts(values: object) -> list[str]:
    given = values.values() if isinstance(values, dict) else ()
    return [text.strip() for text in given if isinstance(text, str) and text.strip()]


def readings_of(tenant_id: UUID, found: Iterable[Executed], sieve: Sieve, *, now: datetime) -> list[Reading]:
    """The live memories that these runs read upstream of a prompt, oldest first, once per run and prompt; no forks."""
    using = {each.run.id: each for each in found if each.prompts and not each.is_fork}
    seen: dict[tuple[str, str, str], Reading] = {}
    for run_id, node_id, document in recordings.reads_of_runs(tenant_id, using):
        executed = using[run_id]
        for prompt, at in executed.prompts:
            if executed.workflow.leads(node_id, at) and sieve.passes(document["content"]):
                reading = _reading(executed, prompt, document)
                seen.setdefault((reading.run_id, prompt, reading.memory_id), reading)
    there = _live(tenant_id, {each.memory_id for each in seen.values()}, now)
    return sorted((each for each in seen.values() if each.memory_id in there), key=lambda each: (each.at, each.run_id))


def _reading(executed: Executed, prompt: str, document: JSONObject) -> Reading:
    return Reading(executed.run_id, prompt, document["id"], document["content"], executed.run.created_at)


def _live(tenant_id: UUID, memory_ids: set[str], now: datetime) -> set[str]:
    """The ids among these whose entry is live now."""
    wanted = {known: memory_id for memory_id in memory_ids if (known := ids.parse("mem", memory_id))}
    scope = host_scope(Tenant.objects.get(id=tenant_id)) if wanted else None
    states = adapter.console.entry_states(scope, sorted(wanted), now=now) if scope else {}
    return {wanted[row] for row, state in states.items() if state == LIVE}


# The installed agents, prompts, chains and schedules of the tenant, and its fired commitments.


def agents_of(tenant_id: UUID) -> tuple[InstalledAgent, ...]:
    """The currently installed agents, each with every version its name has ever had."""
    taken = _versions_of(tenant_id, ArtifactKind.AGENT, ArtifactKind.AGENT_PACK)
    return tuple(_agent(row, taken) for row in registry.agents(tenant_id))


def _agent(row: Installation, taken: Versions) -> InstalledAgent:
    manifest = json.loads(row.text)
    pack = str(manifest.get("packName", ""))
    ever = taken[ArtifactKind.AGENT, row.name] | taken.get((ArtifactKind.AGENT_PACK, pack), set())
    return InstalledAgent(manifest, row.version, row.installed_at, tuple(sorted(ever)))


def prompts_of(tenant_id: UUID) -> tuple[InstalledPrompt, ...]:
    """The currently installed prompt templates, each with every version its name has ever had."""
    kind = ArtifactKind.PROMPT_TEMPLATE
    taken = _versions_of(tenant_id, kind)
    return tuple(
        InstalledPrompt(json.loads(row.text), row.installed_at, tuple(sorted(taken[kind, row.name])))
        for row in _current(tenant_id, kind)
    )


def _versions_of(tenant_id: UUID, *kinds: str) -> Versions:
    """All versions ever installed, by kind and name."""
    found: Versions = {}
    rows = Installation.objects.of(tenant_id).filter(kind__in=kinds)
    for kind, name, version in rows.values_list("kind", "name", "version"):
        found.setdefault((kind, name), set()).add(version)
    return found


def chains_of(tenant_id: UUID) -> tuple[JSONObject, ...]:
    """The currently installed chain packs."""
    return tuple(json.loads(row.text) for row in _current(tenant_id, ArtifactKind.CHAIN_PACK))


def _current(tenant_id: UUID, kind: str) -> Iterable[Installation]:
    found: Iterable[Installation] = Installation.objects.of(tenant_id).filter(kind=kind, superseded_at=None)
    return sorted(found, key=lambda row: row.name)


def schedules_of(tenant_id: UUID) -> tuple[InstalledSchedule, ...]:
    """The cron schedules, disabled ones included: a person disabled them on purpose."""
    rows = Schedule.objects.of(tenant_id).filter(kind=ScheduleKind.CRON).order_by("id")
    return tuple(InstalledSchedule(*row) for row in rows.values_list("workflow_id", "cron", "timezone"))


def firings_of(tenant_id: UUID, sieve: Sieve, *, now: datetime) -> tuple[Firing, ...]:
    """The firings of the last thirty days, oldest first, without those of a cancelled commitment or of one whose
    memory is retired or gone."""
    rows = FiringRow.objects.of(tenant_id).select_related("commitment").filter(fired_at__gte=now - LOOKS_BACK)
    rows = rows.exclude(commitment__state=CommitmentState.CANCELLED).filter(fired_at__lte=now)
    found = list(rows.order_by("-id")[:MOST_FIRINGS])
    stands = due.current_sources(tenant_id, {row.commitment.entry_id for row in found}, now=now)
    started = _started(tenant_id, found)
    return tuple(
        _firing(row, started.get(row.enqueued_run_id), sieve)
        for row in reversed(found)
        if stands[row.commitment.entry_id].today
    )


def _started(tenant_id: UUID, found: Iterable[FiringRow]) -> dict[UUID | None, Run]:
    wanted = {row.enqueued_run_id for row in found if row.enqueued_run_id}
    rows = Run.objects.of(tenant_id).only("tenant_id", "id", "workflow_id", "inputs")
    return {row.id: row for part in sql.in_chunks(wanted) for row in rows.filter(id__in=part)}


def _firing(row: FiringRow, started: Run | None, sieve: Sieve) -> Firing:
    inputs = sieve.members(started.inputs) if started else {}
    return Firing(
        commitment_id=ids.wire("cmt", row.commitment_id),
        memory_ref=row.commitment.memory_ref,
        workflow_id=started.workflow_id if started else "",
        at=row.fired_at,
        run_id=ids.wire("run", started.id if started else row.run_id),
        inputs=inputs,
        incomplete=started is not None and len(inputs) < len(started.inputs),
    )


# The traces of one tenant for the miners: its own runs of the last thirty days and their context.
#
# Every query is scoped to the tenant. The number of queries grows by one of each kind per chunk of a few hundred runs.


def traces_of(tenant_id: UUID, *, now: datetime) -> Traces:
    """Read the traces of the newest ``MOST_RUNS`` runs, without forgotten or redacted texts."""
    sieve = Sieve(tenant_id)
    programs = programs_of(tenant_id)
    runs = runs_of(tenant_id, sieve, now=now)
    return Traces(
        runs=tuple(traced(each, sieve, programs) for each in runs),
        corrections=tuple(corrections_of(tenant_id, runs, sieve, programs)),
        readings=tuple(readings_of(tenant_id, runs, sieve, now=now)),
        firings=firings_of(tenant_id, sieve, now=now),
        agents=agents_of(tenant_id),
        prompts=prompts_of(tenant_id),
        schedules=schedules_of(tenant_id),
        chains=chains_of(tenant_id),
        timezone=memory_policy.policy_of(tenant_id).timezone,
    )


def count_of(tenant_id: UUID, *, now: datetime) -> int:
    """Count all runs of ``ended_since``, also those beyond ``MOST_RUNS``."""
    return int(ended_since(tenant_id, now=now).count())


def have_run_since(tenant_id: UUID, since: datetime | None, *, now: datetime) -> bool:
    """Whether one of the runs of ``ended_since`` ended after ``since``; any counts when that is None."""
    rows = ended_since(tenant_id, now=now)
    return bool((rows.filter(completed_at__gt=since) if since else rows).exists())
