"""The tenant's own runs as they were executed: which nodes, in which order, how each ended, and what started the run.

Read in bulk: the number of queries grows with thousands of runs, never with each of them.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memory.host import event_log, ids, registry
from memory.host.events import NodeCancelled, NodeCompleted, NodeFailed, NodeSkipped, NodeStarted
from memory.host.models import ApiKey, ArtifactKind, Definition, ForkMode, Resolution, Run
from memory.host.node_types import tools_of
from proposals.miners.traces import NodeTrace, Origin, RunTrace
from proposals.synthesis.learnable import Sieve

LOOKS_BACK = timedelta(days=30)
LONGEST_RUN = timedelta(days=61)
MOST_RUNS = 5000
PART = 500
CANCELLED = "cancelled"
PLAIN_RULE = "all_success"
ENDS = {
    NodeCompleted.type: "completed",
    NodeFailed.type: "failed",
    NodeSkipped.type: "skipped",
    NodeCancelled.type: "failed",
}
TOLD = frozenset({NodeStarted.type, *ENDS})

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Workflow:
    """A definition that runs have pinned, read once however many did."""

    sha256: str
    nodes: dict[str, Document]
    edges: tuple[tuple[str, str], ...]
    conditional: tuple[tuple[str, str], ...]
    before: dict[str, frozenset[str]]

    def leads(self, source: str, target: str) -> bool:
        """Whether ``target`` is ``source``, or stands behind it."""
        return source == target or source in self.before.get(target, frozenset())


@dataclass(slots=True)
class Executed:
    """A run as it is looked at: its row, what it was executed by, and the nodes it went through, in their order.

    ``prompts`` are the names of the templates it resolved, each with the node that did.
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
        """The template that was resolved last before ``node_id``, on a way that leads there; "" when none was."""
        place = {name: at for at, name in enumerate(self.order)}
        leading = [(place.get(at, -1), name) for name, at in self.prompts if self.workflow.leads(at, node_id)]
        return max(leading, default=(0, ""))[1]


def ended_since(tenant_id: UUID, *, now: datetime) -> Any:
    """The tenant's own runs that have ended in the last thirty days; replays tell nothing that was not told before."""
    since = now - LOOKS_BACK
    rows = Run.objects.of(tenant_id).filter(id__gte=ids.first_of(since - LONGEST_RUN), system=False)
    return rows.filter(completed_at__gte=since, completed_at__lte=now).exclude(fork_mode=ForkMode.REPLAY)


def runs_of(tenant_id: UUID, sieve: Sieve, *, now: datetime) -> list[Executed]:
    """The newest of those runs, the oldest first. One whose definition may not be learnt from is left out."""
    wanted = ("variables", "configurable", "workspace", "tags", "error")
    rows = list(ended_since(tenant_id, now=now).defer(*wanted).order_by("-id")[:MOST_RUNS])
    workflows = _workflows(tenant_id, {row.definition_id for row in rows}, sieve)
    found = [Executed(row, workflows[row.definition_id]) for row in reversed(rows) if row.definition_id in workflows]
    by_id = {each.run.id: each for each in found}
    _follow(tenant_id, by_id)
    _note_prompts(tenant_id, by_id)
    return found


def parts(wanted: Iterable[Any]) -> Iterator[Sequence[Any]]:
    """As many at a time as one statement takes well."""
    every = list(wanted)
    return (every[first : first + PART] for first in range(0, len(every), PART))


def _workflows(tenant_id: UUID, definition_ids: Collection[UUID], sieve: Sieve) -> dict[UUID, Workflow]:
    rows = Definition.objects.of(tenant_id)
    return {
        row: _workflow(sha256, json.loads(text))
        for part in parts(definition_ids)
        for row, sha256, text in rows.filter(id__in=part).values_list("id", "sha256", "text")
        if sieve.passes(text)
    }


def _workflow(sha256: str, definition: Document) -> Workflow:
    edges = tuple((edge["sourceNodeId"], edge["targetNodeId"]) for edge in definition["edges"])
    nodes = {node["id"]: node for node in definition["nodes"]}
    return Workflow(sha256, nodes, edges, _deciding(definition), {node: _ancestors(node, edges) for node in nodes})


def _deciding(definition: Document) -> tuple[tuple[str, str], ...]:
    """The edges that a condition or a rule of their own decides about."""
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
    """Each run knows the nodes it went through, from its log."""
    for part in parts(found):
        for stream, kind, node_id, payload in event_log.of_streams(tenant_id, part, TOLD):
            executed = found[stream]
            if node_id not in executed.ends:
                executed.order.append(node_id)
                executed.ends[node_id] = ("failed", CANCELLED)
            if kind in ENDS:
                executed.ends[node_id] = (ENDS[kind], _code(kind, payload))


def _code(kind: str, payload: Document) -> str:
    if kind == NodeFailed.type:
        return str(payload.get("error", {}).get("code", ""))
    return CANCELLED if kind == NodeCancelled.type else ""


def _note_prompts(tenant_id: UUID, found: dict[UUID, Executed]) -> None:
    kind = {"installation__kind": ArtifactKind.PROMPT_TEMPLATE}
    for part in parts(found):
        rows = Resolution.objects.of(tenant_id).filter(run_id__in=part, **kind).order_by("id")
        for run_id, name, node_id in rows.values_list("run_id", "installation__name", "node_id"):
            found[run_id].prompts += ((name, node_id),)


def programs_of(tenant_id: UUID) -> frozenset[str]:
    """The keys that are bound to agents, whether good or not by now: who comes with one is a program."""
    rows = ApiKey.objects.of(tenant_id).exclude(agents=[]).values_list("id", flat=True)
    return frozenset(ids.wire("key", row) for row in rows)


def traced(executed: Executed, sieve: Sieve, programs: Collection[str]) -> RunTrace:
    """The run as the rules look at it; ``programs`` are the keys of agents."""
    run = executed.run
    inputs = sieve.members(run.inputs)
    return RunTrace(
        run_id=executed.run_id,
        workflow_id=run.workflow_id,
        definition_sha256=executed.workflow.sha256,
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
    """What started the run: a fork is a fork whatever its source was, and time comes before the one it acts for."""
    if run.fork_mode:
        return Origin.FORK
    told = run.metadata.get("origin")
    for origin in (Origin.SCHEDULE, Origin.HEARTBEAT, Origin.COMMITMENT):
        if isinstance(told, dict) and origin.value in told:
            return origin
    if run.principal in programs:
        return Origin.AGENT
    kind = run.principal.partition("_")[0]
    return {"usr": Origin.PERSON, "key": Origin.KEY}.get(kind, Origin.HOST)
