"""Forks of a run (openwop-host 3.8): what may be forked, from where, and what the new run begins with.

A fork belongs to who asked for it, and says whose its source is. A *replay* tells the source's log again and has no
effects. A *branch* begins with what its source had done before ``from_seq``, reads memory as its source did then, and
is a run like any other from there on. No source is touched.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memory import adapter, harness, kept_reads
from memory.host import audit, event_log, ids, interrupts, runs, vault
from memory.host.errors import Conflict, Invalid, InvalidFromSeq, ReplayMemorySnapshotUnavailable
from memory.host.event_log import Recorded
from memory.host.events import (
    InterruptRequested,
    InterruptResolved,
    MemoryWritten,
    NodeCompleted,
    NodeFailed,
    NodeResumed,
    NodeRetried,
    NodeSkipped,
    NodeStarted,
    NodeSuspended,
    RunPaused,
    RunResumed,
    RunStarted,
    WorkspaceUpdated,
)
from memory.host.models import ForkMode, Interrupt, Run
from memory.host.node_types import OnReplay, on_replay_of
from memory.host.run_orders import Fork, RunOrder
from memory.host.tenancy import TenantScope
from memory.models import WorkspaceFile
from openwop_console.runtime import chains, definitions, endings, intake, limits, run_options, steps
from openwop_console.runtime.models import Step, StepState
from openwop_console.runtime.replaying import is_told

ENDED = frozenset({NodeCompleted.type, NodeFailed.type, NodeSkipped.type})
PAUSES = frozenset({RunPaused.type, RunResumed.type})
STEPPING_STONES = (
    ENDED
    | PAUSES
    | {RunStarted.type, NodeStarted.type, NodeRetried.type}
    | {NodeSuspended.type, InterruptResolved.type, NodeResumed.type}
)
GONE = "0" * ids.WIRE_LENGTH


@dataclass(frozen=True, slots=True)
class Overlay:
    """What a branch is given beside what its source had; ``tags`` None leaves them as they are."""

    configurable: dict[str, Any] = field(default_factory=dict)
    tags: list[str] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.configurable or self.tags or self.metadata)


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """What a client asks for when it forks a run; ``from_seq`` None is the beginning, for a replay alone."""

    mode: str
    from_seq: int | None = None
    overlay: Overlay = field(default_factory=Overlay)


@transaction.atomic
def fork(scope: TenantScope, run_id: UUID | None, request: ForkRequest, *, now: datetime) -> Run:
    """A replay or a branch of the run, pending or where it branched off; a worker takes it. Audited."""
    scope.check("runs:create")
    scope.check("runs:read")
    _require_well_formed(request)
    source = runs.find(scope.tenant_id, run_id)
    if source.system:
        raise Conflict("A run of the host itself is not forked.", runStatus=source.status)
    definition = json.loads(source.definition.text)
    for agent_id in {source.agent_id, *definitions.agents_of(definition)} - {""}:
        scope.check_agent(agent_id)
    from_seq = request.from_seq or 0
    _require_in_bounds(source, from_seq)
    if request.mode == ForkMode.REPLAY:
        _require_replayable(source, definition, from_seq)
        made = _replay(scope, source, definition, from_seq, now)
    else:
        made = _branch(scope, source, definition, request, now)
    chains.note_use_again(source, made, now=now)
    vault.take_over(made, source, now=now)
    details = {"sourceRunId": ids.wire("run", source.id), "mode": request.mode, "fromSeq": from_seq}
    details |= {"sourceOwner": source.principal}
    target = ids.wire("run", made.id)
    audit.append(scope.tenant_id, actor=scope.principal.id, action="run.fork", target=target, details=details, now=now)
    return made


def _require_well_formed(request: ForkRequest) -> None:
    if request.mode == ForkMode.BRANCH and request.from_seq is None:
        raise Invalid(errors=[{"field": "fromSeq", "message": "is required for a branch"}])
    if request.mode == ForkMode.REPLAY and not request.overlay.is_empty:
        raise Invalid(errors=[{"field": "runOptionsOverlay", "message": "must be empty for a replay"}])


def _require_in_bounds(source: Run, from_seq: int) -> None:
    length = event_log.length(source.tenant_id, source.id)
    if from_seq > length:
        raise InvalidFromSeq(fromSeq=from_seq, maxSeq=length - 1)


def _require_replayable(source: Run, definition: dict[str, Any], from_seq: int) -> None:
    """Refuse a source that still goes, and one of which a node read what has been forgotten or was not kept."""
    if source.status not in runs.ENDS:
        raise Conflict("A run is replayed when it has ended.", runStatus=source.status)
    completed = [fact for fact in _log(source) if fact.type == NodeCompleted.type]
    _require_on_record(source, completed, from_seq)
    types = {node["id"]: node["typeId"] for node in definition["nodes"]}
    again = {fact.node_id for fact in completed if fact.sequence >= from_seq and not is_told(source, fact.sequence)}
    called = {node_id for node_id in again if on_replay_of(types[node_id]) == OnReplay.CALLED}
    if not kept_reads.are_served(source.tenant_id, source.id, called):
        raise _unavailable(source, from_seq, "retention_expired")


def _require_on_record(source: Run, facts: list[Recorded], from_seq: int) -> dict[str, Step]:
    """The steps of the source. Refused when one that ``facts`` have completed was not kept as forks need it."""
    record = steps.of_run(source.tenant_id, source.id)
    if any(fact.type == NodeCompleted.type and not record[fact.node_id].on_record for fact in facts):
        raise _unavailable(source, from_seq, "event_log_unavailable")
    return record


def _unavailable(source: Run, from_seq: int, reason: str) -> ReplayMemorySnapshotUnavailable:
    return ReplayMemorySnapshotUnavailable(fromSeq=from_seq, sourceRunId=ids.wire("run", source.id), reason=reason)


def _log(source: Run) -> Iterator[Recorded]:
    """The log of the run, however long."""
    after = -1
    while chunk := event_log.read(source.tenant_id, source.id, after=after):
        yield from chunk
        after = chunk[-1].sequence


def _order(source: Run, definition: dict[str, Any], scope: TenantScope, made_from: Fork, **more: Any) -> RunOrder:
    """A run of the very definition and inputs of the source, with the variables that it began with; it has the rights
    and the secrets of who asked for it."""
    kept: dict[str, Any] = {
        "workspace": source.workspace,
        "configurable": source.configurable,
        "tags": source.tags,
        "metadata": source.metadata,
    }
    clean = harness.for_tenant(scope.tenant_id).redact_json
    return RunOrder(
        source.workflow_id,
        source.definition.text,
        scope.principal.id,
        agent_id=source.agent_id,
        inputs=source.inputs,
        variables={**clean(intake.variables_of(definition, source.inputs)), **source.inputs},
        fork=made_from,
        **(kept | more),
    )


def _replay(scope: TenantScope, source: Run, definition: dict[str, Any], from_seq: int, now: datetime) -> Run:
    made_from = Fork(ForkMode.REPLAY, source.id, from_seq)
    return runs.open_run(source.tenant_id, _order(source, definition, scope, made_from), now=now)


# --- branches -------------------------------------------------------------------------------------------------------


def _branch(scope: TenantScope, source: Run, definition: dict[str, Any], request: ForkRequest, now: datetime) -> Run:
    """A run that stands where its source stood before ``from_seq``."""
    before = request.from_seq or 0
    facts = _taken_over(source, before)
    record = _require_on_record(source, facts, before)
    overlay, clean = request.overlay, harness.for_tenant(scope.tenant_id).redact_json
    configurable = clean({**source.configurable, **overlay.configurable})
    run_options.check_configurable(configurable, definition)
    order = _order(
        source,
        definition,
        scope,
        Fork(ForkMode.BRANCH, source.id, before, source.snapshot_position, _inherited(source, facts)),
        configurable=configurable,
        tags=source.tags if overlay.tags is None else clean(overlay.tags),
        metadata=clean({**source.metadata, **overlay.metadata}),
        workspace=_workspace(source, facts),
    )
    branch = runs.open_run(source.tenant_id, order, now=now)
    if facts:
        _take_over(branch, source, definition, facts, record, now)
    return branch


def _taken_over(source: Run, before: int) -> list[Recorded]:
    """What the log had before the sequence and a branch goes on from: the steps that were committed by then.

    That the source has ended or was paused is not taken over, nor what a step did whose outcome lies behind the fork.
    """
    facts = [fact for fact in _log(source) if fact.sequence < before and fact.type not in event_log.ENDINGS]
    pauses = [fact for fact in facts if fact.type in PAUSES]
    if pauses and pauses[-1].type == RunPaused.type:
        facts.remove(pauses[-1])
    while facts and facts[-1].type not in STEPPING_STONES:
        facts.pop()
    return facts


def _inherited(source: Run, facts: list[Recorded]) -> int | None:
    """The ledger position up to which the branch reads what its source wrote."""
    if source.started_at is None:
        return None
    written = [ids.parse("mem", fact.payload["memoryId"]) for fact in facts if fact.type == MemoryWritten.type]
    return adapter.last_position(source.tenant_id, [entry_id for entry_id in written if entry_id])


def _workspace(source: Run, facts: list[Recorded]) -> list[dict[str, Any]]:
    """The files as the source saw them: the snapshot of its line, and what that had written. A version that is gone
    stays gone, whoever writes another one by its number."""
    line = [source]
    while line[-1].source_run_id:
        line.append(runs.find(source.tenant_id, line[-1].source_run_id))
    versions = {fact.payload["path"]: fact.payload["version"] for fact in facts if fact.type == WorkspaceUpdated.type}
    rows = WorkspaceFile.objects.of(source.tenant_id).filter(run_id__in=[run.id for run in line])
    rows = rows.filter(path__in=list(versions))
    files = {(path, version): row.hex for path, version, row in rows.values_list("path", "version", "id")}
    seen = {noted["path"]: noted for noted in line[-1].workspace}
    for path, version in versions.items():
        seen[path] = {"path": path, "version": version, "file": files.get((path, version), GONE)}
    return [seen[path] for path in sorted(seen)]


def _take_over(
    branch: Run,
    source: Run,
    definition: dict[str, Any],
    facts: list[Recorded],
    record: dict[str, Step],
    now: datetime,
) -> None:
    """The facts are on the branch's log, and its nodes and variables are as they prove."""
    ended = {fact.node_id: fact for fact in facts if fact.type in ENDED}
    for node_id, fact in ended.items():
        steps.take_over(branch, record[node_id], now=now)
        if fact.type == NodeCompleted.type:
            branch.variables = {**branch.variables, **record[node_id].variables}
    begun = [fact.node_id for fact in facts if fact.type == NodeStarted.type]
    for node_id in begun:
        if node_id not in ended:
            _begin_anew(branch, definition, node_id, facts, now)
    branch.executions = sum(fact.type in (NodeStarted.type, NodeRetried.type) for fact in facts)
    endings.retell(branch, source, facts, lasts=limits.duration_of(branch, definition), now=now)


def _begin_anew(branch: Run, definition: dict[str, Any], node_id: str, facts: list[Recorded], now: datetime) -> None:
    """A node that was under way is called again. What it asked is asked again, unless it had been answered."""
    retried = sum(1 for fact in facts if fact.type == NodeRetried.type and fact.node_id == node_id)
    timeout = limits.timeout_of(definitions.node_of(definition, node_id))
    step = steps.begin(branch, node_id, timeout=timeout, attempt=retried + 1, now=now)
    if answered := _answered(branch, node_id, facts):
        interrupts.take_over(branch, answered, now=now)
        steps.settle(step, StepState.WAITING)


def _answered(branch: Run, node_id: str, facts: list[Recorded]) -> Interrupt | None:
    """What the node asked last, if that was answered; the log names the interrupt of the run that really asked."""
    asked = (InterruptRequested.type, InterruptResolved.type)
    last = next((fact for fact in reversed(facts) if fact.node_id == node_id and fact.type in asked), None)
    if last is None or last.type == InterruptRequested.type:
        return None
    interrupt_id = ids.parse("int", last.payload["interruptId"])
    return interrupts.by_id(branch.tenant_id, interrupt_id) if interrupt_id else None
