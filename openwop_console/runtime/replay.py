"""Forks of runs: a replay repeats its source's log and calls nodes again; a branch continues from a point in the log.

A replay's log repeats the source's events verbatim, with the same ids in the same order. A node whose type may be
called again must reproduce the recorded outcome; every other node takes it from the record. If the record ends early or
does not match, the replay fails. A cancellation of the source is not copied: after the last step done by then, nodes
that only compute are called for the first time, without memory, and the first node of any other type fails. A replay
asks, writes, installs and queues nothing, and waits for nothing.
"""

import json
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from uuid import UUID

from django.db import OperationalError, transaction

from memory import adapter, recordings, redaction
from memory.adapter.runs import Injection
from memory.host import audit, event_log, ids, interrupts, runs, vault
from memory.host.errors import Conflict, Forbidden, Invalid, InvalidFromSeq, ReplayMemorySnapshotUnavailable
from memory.host.event_log import Recorded
from memory.host.events import (
    ApprovalRejected,
    Event,
    Failure,
    InterruptRequested,
    InterruptResolved,
    MemoryWritten,
    NodeCancelled,
    NodeCompleted,
    NodeFailed,
    NodeResumed,
    NodeRetried,
    NodeSkipped,
    NodeStarted,
    NodeSuspended,
    RunCancelled,
    RunPaused,
    RunResumed,
    RunStarted,
    WorkspaceUpdated,
)
from memory.host.events import ReplayDiverged as Divergence
from memory.host.json_types import JSONObject
from memory.host.models import ForkMode, Interrupt, Run, RunStatus
from memory.host.node_types import Done, NodeFailure, OnReplay, Outcome, Sleep, on_replay_of
from memory.host.runs import Fork, RunOrder
from memory.host.tenancy import TenantScope
from memory.models import WorkspaceFile
from memory.recordings import Served
from memory.text.matching import FORGOTTEN
from openwop_console.runtime import chains, graph, node_execution, run_operations, steps, workflows
from openwop_console.runtime.models import Step, StepState
from openwop_console.runtime.node_execution import Position, getting, listing

log = logging.getLogger(__name__)
# The maximum events applied per transaction, and the seconds after which it applies no more: other SQLite writers wait
# for it, and a node may have megabytes of values.
CHUNK, TURN_S = 100, 0.05
MISSING = Failure("replay_source_missing", "The source run has no recorded outcome to replay.")
OTHERWISE = Failure("replay_diverged", "The node came to something else than its source run has on record.")
ENDED = frozenset({NodeCompleted.type, NodeFailed.type, NodeSkipped.type})
PAUSES = frozenset({RunPaused.type, RunResumed.type})
STEPPING_STONES = (
    ENDED
    | PAUSES
    | {RunStarted.type, NodeStarted.type, NodeRetried.type}
    | {NodeSuspended.type, InterruptResolved.type, NodeResumed.type}
)
GONE = "0" * ids.WIRE_LENGTH
APPROVAL, APPROVES = "approval", "approvals:respond"
REJECTIONS = frozenset({"reject", "refine"})  # actions of a person that decide an approval


class SourceMissing(Exception):
    """The record does not hold, or no longer holds, the data that the node needs."""


class Diverged(Exception):
    """The node did not do what its source run has on record; ``kind`` is one of the contract's four kinds."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(kind)


@dataclass(slots=True)
class RecordedMemory:
    """``ctx.memory`` of a replay: reads return the recorded answers, and writes return the ids on the source's log."""

    served: list[Served]
    written: list[JSONObject]
    reads: int = 0
    writes: int = 0

    @classmethod
    def from_run(cls, source: Run, node_id: str, *, before: int) -> "RecordedMemory":
        """The reads and writes of the source's node, up to its completion at the sequence ``before``."""
        facts = event_log.node_payloads(source.tenant_id, source.id, node_id, MemoryWritten.type, before=before)
        return cls(recordings.reads_of_node(source.tenant_id, source.id, node_id), facts)

    def list(
        self,
        memory_ref: str,
        *,
        limit: int = 0,
        tag: str = "",
        token_budget: int = 0,
        rank: str = "",
        query: str = "",
    ) -> Sequence[JSONObject]:
        return self._answer(listing(memory_ref, limit=limit, tag=tag, wanted=Injection(token_budget, rank, query)))

    def get(self, memory_ref: str, memory_id: str) -> JSONObject | None:
        found = self._answer(getting(memory_ref, memory_id))
        return found[0] if found else None

    def _answer(self, request: str) -> Sequence[JSONObject]:
        if self.reads == len(self.served):
            raise SourceMissing
        read = self.served[self.reads]
        if read.request_sha256 != request:
            raise Diverged("type-mismatch")
        if read.documents is None:
            raise SourceMissing
        self.reads += 1
        return read.documents

    def write(
        self,
        memory_ref: str,
        content: str,
        *,
        tags: Sequence[str] = (),
        subject: str = "",
        expires_at: datetime | None = None,
        now: datetime | None = None,
    ) -> str:
        """Return the id of the entry that the source run wrote; write nothing."""
        if self.writes == len(self.written):
            raise Diverged("extra")
        fact = self.written[self.writes]
        if fact["memoryRef"] != memory_ref:
            raise Diverged("output")
        self.writes += 1
        return str(fact["memoryId"])

    def require_all_done(self) -> None:
        """Refuse a node that read or wrote less than its source run has on record."""
        if self.writes < len(self.written) or self.reads < len(self.served):
            raise Diverged("missing")


class Halt(Exception):
    """The replay cannot continue at ``sequence`` of its source; ``kind`` is the kind of divergence, empty if none."""

    def __init__(self, sequence: int, failure: Failure = MISSING, kind: str = "") -> None:
        self.sequence, self.failure, self.kind = sequence, failure, kind
        super().__init__(failure.code)


@dataclass
class ReplayState:
    """The state of a replay: its run, definition and steps, and its source with the recorded steps."""

    run: Run
    definition: JSONObject
    steps: dict[str, Step]
    source: Run
    _record: dict[str, Step | None] = field(default_factory=dict)

    def recorded(self, node_id: str) -> Step | None:
        """The source's step at this node, cached; None when it did not reach the node."""
        if node_id not in self._record:
            self._record[node_id] = steps.at_node(self.source.tenant_id, self.source.id, node_id)
        return self._record[node_id]

    @cached_property
    def is_erased(self) -> bool:
        """Whether a forget has erased values of the source, so that its nodes cannot be given their original inputs."""
        in_inputs = FORGOTTEN in json.dumps(self.source.inputs, ensure_ascii=False)
        return in_inputs or steps.any_says(self.source.tenant_id, self.source.id, FORGOTTEN)


def continue_replay(run: Run, definition: JSONObject, done: dict[str, Step], now: datetime) -> bool:
    """Copy the next chunk of the source's events to the replay's log; return whether there is more to do."""
    assert run.source_run_id is not None
    last = event_log.length(run.tenant_id, run.id) - 1
    facts = event_log.read(run.tenant_id, run.source_run_id, after=last, limit=CHUNK)
    source = runs.find(run.tenant_id, run.source_run_id)
    state = ReplayState(run, definition, done, source)
    copied: list[Recorded] = []
    until = time.monotonic() + TURN_S
    if source.status == RunStatus.CANCELLED:
        facts = [fact for fact in facts if not _is_of_cancellation(fact)]
        if not facts:
            return _go_beyond(state, now)
    try:
        if not facts:
            raise Halt(last + 1)
        for fact in facts:
            _follow(state, fact, copied, now)
            if time.monotonic() > until:
                break
    except Halt as halt:
        _fail(state, copied, halt, now)
        return False
    run_operations.copy_events(run, source, copied, now=now)
    return run.status not in runs.ENDS


def _follow(state: ReplayState, fact: Recorded, copied: list[Recorded], now: datetime) -> None:
    """Apply one event of the source to the replay's steps, and append it to ``copied`` for copying."""
    run = state.run
    run.current_node = fact.node_id or run.current_node
    if fact.type == NodeStarted.type:
        recorded = state.recorded(fact.node_id)
        attempt = recorded.attempt if recorded else 1
        state.steps[fact.node_id] = steps.begin(run, fact.node_id, attempt=attempt, now=now)
        copied.append(fact)
        return
    if fact.type == NodeSkipped.type:
        steps.skip(run, fact.node_id, now=now)
    elif fact.type == NodeFailed.type:
        steps.fail(state.steps[fact.node_id], Failure(**fact.payload["error"]))
    elif fact.type == NodeCompleted.type:
        _complete(state, fact)
    copied.append(fact)


def _on_replay(state: ReplayState, fact: Recorded) -> OnReplay:
    """Whether the node is called or taken from the record. Events before the fork's ``fromSeq``, and those that the
    source itself copied, are always taken from the record."""
    if fact.sequence < (state.run.from_seq or 0) or state.source.has_copied(fact.sequence):
        return OnReplay.RECORDED
    return on_replay_of(workflows.node_of(state.definition, fact.node_id)["typeId"])


def _complete(state: ReplayState, fact: Recorded) -> None:
    """Finish the node with the recorded outcome, after calling it to verify that outcome if its type allows that."""
    recorded = state.recorded(fact.node_id)
    if recorded is None or recorded.state != StepState.DONE:
        raise Halt(fact.sequence)
    if _on_replay(state, fact) == OnReplay.CALLED and not state.is_erased:
        _call(state, recorded, fact)
    step, run = state.steps[fact.node_id], state.run
    run.variables = {**run.variables, **recorded.variables}
    steps.finish(step, outputs=recorded.outputs, variables=recorded.variables)


def _call(state: ReplayState, recorded: Step, fact: Recorded) -> None:
    """Call the node with its original time, memory and values; raise Halt unless it reproduces the recorded outcome."""
    run, node_id = state.run, fact.node_id
    memory = RecordedMemory.from_run(state.source, node_id, before=fact.sequence)
    try:
        with transaction.atomic():
            position = Position(run, state.definition, node_id, state.steps)
            _require_same(node_execution.call_again(position, recorded, memory, fact.timestamp), recorded)
        memory.require_all_done()
    except SourceMissing:
        raise Halt(fact.sequence) from None
    except Diverged as differs:
        raise Halt(fact.sequence, OTHERWISE, differs.kind) from None
    except OperationalError:
        raise
    except Exception as problem:
        log.exception("node %s of replay %s failed where its source did not", node_id, run.id)
        raise Halt(fact.sequence, OTHERWISE, "output") from problem


def _is_of_cancellation(fact: Recorded) -> bool:
    cancelled = fact.type == NodeCancelled.type and fact.payload["reason"] == "run-cancelled"
    return cancelled or fact.type == RunCancelled.type


def _go_beyond(state: ReplayState, now: datetime) -> bool:
    """Execute one step past the source's cancellation; return whether there is more to do."""
    run = state.run
    if run.status == RunStatus.PENDING:
        runs.start(run, snapshot_position=state.source.snapshot_position or 0, now=now)
    if begun := next((step for step in state.steps.values() if step.state == StepState.STARTED), None):
        return _call_first(state, begun, now)
    outlook = graph.outlook(state.definition, state.steps, run.variables)
    if outlook.lost:
        failed = [step for step in state.steps.values() if step.state == StepState.FAILED][-1]
        run_operations.fail_run(run, Failure(**(failed.error or asdict(MISSING))), node_id=failed.node_id, now=now)
    elif outlook.skip:
        steps.skip(run, outlook.skip[0], now=now)
        disabled = workflows.node_of(state.definition, outlook.skip[0]).get("disabled")
        _note(run, NodeSkipped(outlook.skip[0], "disabled" if disabled else "not-taken"), now=now)
    elif outlook.begin:
        node = workflows.node_of(state.definition, outlook.begin[0])
        run.current_node = node["id"]
        steps.begin(run, node["id"], now=now)
        _note(run, NodeStarted(node["id"], node["typeId"], 0), now=now)
    else:
        run_operations.complete_run(run, now=now)
    return run.status not in runs.ENDS


def _note(run: Run, *facts: Event, now: datetime) -> None:
    runs.progress(run, *facts, ready_at=runs.LEASE.end(now), now=now)


def _call_first(state: ReplayState, step: Step, now: datetime) -> bool:
    """Call a node that has no recorded outcome, if it only computes; sleeps end at once. Fail the run otherwise."""
    run = state.run
    run.current_node = step.node_id
    position = Position(run, state.definition, step.node_id, state.steps)
    nothing_kept = RecordedMemory([], [])
    at = now
    try:
        if on_replay_of(position.node["typeId"]) != OnReplay.CALLED or state.is_erased:
            raise SourceMissing
        with transaction.atomic():
            outcome = node_execution.call_again(position, step, nothing_kept, at)
            while isinstance(outcome, Sleep) and at < outcome.until:
                at = outcome.until
                outcome = node_execution.call_again(position, step, nothing_kept, at)
            if not isinstance(outcome, Done):
                raise SourceMissing
        return node_execution.settle(position, step, outcome, now)
    except NodeFailure as failed:
        failure = Failure(failed.code, failed.message)
        steps.fail(step, failure)
        _note(run, NodeFailed(step.node_id, failure, step.attempt), now=now)
        return True
    except OperationalError:
        raise
    except Exception as problem:
        if not isinstance(problem, SourceMissing | Diverged):
            log.exception("node %s of replay %s failed behind its source's record", step.node_id, run.id)
        _fail(state, [], Halt(event_log.length(run.tenant_id, run.id)), now)
        return False


def _require_same(outcome: Outcome, recorded: Step) -> None:
    if not isinstance(outcome, Done):
        raise Diverged("type-mismatch")
    if json.loads(json.dumps([outcome.outputs, outcome.variables])) != [recorded.outputs, recorded.variables]:
        raise Diverged("output")


def _fail(state: ReplayState, copied: list[Recorded], halt: Halt, now: datetime) -> None:
    """Copy the events in ``copied``, fail the node at which the record ends or does not match, and fail the run."""
    run, source_id = state.run, ids.wire("run", state.source.id)
    if copied:
        run_operations.copy_events(run, state.source, copied, now=now)
    facts: list[Event] = [Divergence(source_id, halt.sequence, halt.kind)] if halt.kind else []
    open_steps = [step for step in state.steps.values() if step.state == StepState.STARTED]
    open_steps.sort(key=lambda step: step.node_id != run.current_node)
    for stuck in open_steps[:1]:
        steps.fail(stuck, halt.failure)
        facts.append(NodeFailed(stuck.node_id, halt.failure, stuck.attempt))
    facts += [NodeCancelled(step.node_id, "run-failed") for step in open_steps[1:]]
    run_operations.fail_run(run, halt.failure, *facts, node_id=open_steps[0].node_id if open_steps else None, now=now)


@dataclass(frozen=True, slots=True)
class Overlay:
    """Options that a branch adds to or overrides in those of its source; those that are None stay as they were."""

    configurable: JSONObject | None = None
    tags: list[str] | None = None
    metadata: JSONObject | None = None


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """A client's request to fork a run; ``from_seq`` None means the beginning and is allowed only for a replay."""

    mode: str
    from_seq: int | None = None
    overlay: Overlay = field(default_factory=Overlay)


@transaction.atomic
def fork(scope: TenantScope, run_id: UUID | None, request: ForkRequest, *, now: datetime) -> Run:
    """Create a replay or a branch of the run and return it for a worker to claim. Audited.

    Requires ``runs:create``, ``runs:read``, and the right to act as every agent of the run.
    """
    scope.check("runs:create")
    scope.check("runs:read")
    _require_well_formed(request)
    source = runs.find(scope.tenant_id, run_id)
    runs.require_own(source, "forked")
    definition = json.loads(source.definition.text)
    for agent_id in {source.agent_id, *workflows.agents_of(definition)} - {""}:
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
    if request.mode == ForkMode.REPLAY and request.overlay != Overlay():
        raise Invalid(errors=[{"field": "runOptionsOverlay", "message": "must be empty for a replay"}])


def _require_in_bounds(source: Run, from_seq: int) -> None:
    length = event_log.length(source.tenant_id, source.id)
    if from_seq > length:
        raise InvalidFromSeq(fromSeq=from_seq, maxSeq=length - 1)


def _require_replayable(source: Run, definition: JSONObject, from_seq: int) -> None:
    """Refuse a source that has not ended, or whose nodes' reads or outcomes were forgotten or not recorded."""
    if source.status not in runs.ENDS:
        raise Conflict("A run is replayed when it has ended.", runStatus=source.status)
    completed = [fact for fact in _log(source) if fact.type == NodeCompleted.type]
    _require_on_record(source, completed, from_seq, values=False)
    types = {node["id"]: node["typeId"] for node in definition["nodes"]}
    again = {fact.node_id for fact in completed if fact.sequence >= from_seq and not source.has_copied(fact.sequence)}
    called = {node_id for node_id in again if on_replay_of(types[node_id]) == OnReplay.CALLED}
    if not recordings.can_serve(source.tenant_id, source.id, called):
        raise _unavailable(source, from_seq, "retention_expired")


def _require_on_record(source: Run, facts: list[Recorded], from_seq: int, *, values: bool = True) -> dict[str, Step]:
    """The source's steps by node id. Refused when a step completed in ``facts`` was not recorded as forks need it."""
    record = steps.steps_of_run(source.tenant_id, source.id, values=values)
    if any(fact.type == NodeCompleted.type and not record[fact.node_id].on_record for fact in facts):
        raise _unavailable(source, from_seq, "event_log_unavailable")
    return record


def _unavailable(source: Run, from_seq: int, reason: str) -> ReplayMemorySnapshotUnavailable:
    return ReplayMemorySnapshotUnavailable(fromSeq=from_seq, sourceRunId=ids.wire("run", source.id), reason=reason)


def _log(source: Run) -> Iterator[Recorded]:
    """Iterate over the run's whole log, page by page."""
    after = -1
    while chunk := event_log.read(source.tenant_id, source.id, after=after):
        yield from chunk
        after = chunk[-1].sequence


def _order(source: Run, definition: JSONObject, scope: TenantScope, made_from: Fork, **more: object) -> RunOrder:
    """An order for a run with the source's exact definition, inputs and initial variables, and with the rights and
    secrets of the requesting principal."""
    kept: JSONObject = {
        "workspace": source.workspace,
        "configurable": source.configurable,
        "tags": source.tags,
        "metadata": source.metadata,
    }
    clean = redaction.for_tenant(scope.tenant_id).redact_json
    return RunOrder(
        source.workflow_id,
        source.definition.text,
        scope.principal.id,
        agent_id=source.agent_id,
        traceparent=scope.traceparent,
        inputs=source.inputs,
        variables={**clean(run_operations.variables_of(definition, source.inputs)), **source.inputs},
        fork=made_from,
        **(kept | more),
    )


def _replay(scope: TenantScope, source: Run, definition: JSONObject, from_seq: int, now: datetime) -> Run:
    made_from = Fork(ForkMode.REPLAY, source.id, from_seq)
    return runs.open_run(source.tenant_id, _order(source, definition, scope, made_from), now=now)


# --- branches -------------------------------------------------------------------------------------------------------
def _branch(scope: TenantScope, source: Run, definition: JSONObject, request: ForkRequest, now: datetime) -> Run:
    """Open a run in the state that its source had before ``from_seq``."""
    before = request.from_seq or 0
    facts = _taken_over(source, before)
    _require_may_approve(scope, facts)
    record = _require_on_record(source, facts, before)
    overlay, clean = request.overlay, redaction.for_tenant(scope.tenant_id).redact_json
    configurable = clean({**source.configurable, **(overlay.configurable or {})})
    run_operations.check_configurable(configurable, definition)
    order = _order(
        source,
        definition,
        scope,
        Fork(ForkMode.BRANCH, source.id, before, source.snapshot_position, _inherited(source, facts)),
        configurable=configurable,
        tags=source.tags if overlay.tags is None else clean(overlay.tags),
        metadata=clean({**source.metadata, **(overlay.metadata or {})}),
        workspace=_workspace(source, facts),
    )
    branch = runs.open_run(source.tenant_id, order, now=now)
    if facts:
        _take_over(branch, source, definition, facts, record, now)
    return branch


def _require_may_approve(scope: TenantScope, facts: list[Recorded]) -> None:
    """Refuse a branch that continues after an approval, unless its requester may approve.

    The approval was given for the source, and its effects happen again in the branch.
    """
    if any(_is_approval(*each) for each in pairwise(facts)) and not scope.can(APPROVES):
        message = (
            f"This branch would continue after an approval, which needs the permission {APPROVES}. Fork from before it."
        )
        raise Forbidden(message, requiredScope=APPROVES)


def _is_approval(decision: Recorded, resolved: Recorded) -> bool:
    """Whether ``resolved`` closed an approval that was not rejected, with the ``decision`` that stands before it."""
    if resolved.type != InterruptResolved.type or resolved.payload["kind"] != APPROVAL:
        return False
    is_rejected = decision.type == ApprovalRejected.type or decision.payload.get("action") in REJECTIONS
    return not is_rejected and resolved.payload.get("outcome") != "rejected"


def _taken_over(source: Run, before: int) -> list[Recorded]:
    """The source's events before the sequence that a branch copies: the steps that were committed by then.

    The end of the source, an open pause, and the trailing events of a step that has no outcome before the fork are left
    out.
    """
    facts = [fact for fact in _log(source) if fact.sequence < before and fact.type not in event_log.ENDINGS]
    pauses = [fact for fact in facts if fact.type in PAUSES]
    if pauses and pauses[-1].type == RunPaused.type:
        facts.remove(pauses[-1])
    while facts and facts[-1].type not in STEPPING_STONES:
        facts.pop()
    return facts


def _inherited(source: Run, facts: list[Recorded]) -> int | None:
    """The ledger position up to which the branch sees its source's writes; None when the source has not started."""
    if source.started_at is None:
        return None
    written = [ids.parse("mem", fact.payload["memoryId"]) for fact in facts if fact.type == MemoryWritten.type]
    return adapter.runs.last_position(source.tenant_id, [entry_id for entry_id in written if entry_id])


def _workspace(source: Run, facts: list[Recorded]) -> list[JSONObject]:
    """The workspace as the source saw it: the snapshot of its first ancestor plus the versions written since.

    A deleted version stays missing, even if the same version number is written again.
    """
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
    definition: JSONObject,
    facts: list[Recorded],
    record: dict[str, Step],
    now: datetime,
) -> None:
    """Copy the events to the branch's log, and set its steps and variables to the state they imply."""
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
    run_operations.copy_events(branch, source, facts, lasts=run_operations.duration_of(branch, definition), now=now)


def _begin_anew(branch: Run, definition: JSONObject, node_id: str, facts: list[Recorded], now: datetime) -> None:
    """Begin anew a node that was in flight. Its question is asked again, unless it had been answered."""
    retried = sum(1 for fact in facts if fact.type == NodeRetried.type and fact.node_id == node_id)
    timeout = run_operations.timeout_of(workflows.node_of(definition, node_id))
    step = steps.begin(branch, node_id, timeout=timeout, attempt=retried + 1, now=now)
    if answered := _answered(branch, node_id, facts):
        interrupts.take_over(branch, answered, now=now)
        steps.settle(step, StepState.WAITING)


def _answered(branch: Run, node_id: str, facts: list[Recorded]) -> Interrupt | None:
    """The node's last interrupt, if it was answered. The log names the interrupt of the run that originally asked."""
    asked = (InterruptRequested.type, InterruptResolved.type)
    last = next((fact for fact in reversed(facts) if fact.node_id == node_id and fact.type in asked), None)
    if last is None or last.type == InterruptRequested.type:
        return None
    interrupt_id = ids.parse("int", last.payload["interruptId"])
    return interrupts.by_id(branch.tenant_id, interrupt_id) if interrupt_id else None
