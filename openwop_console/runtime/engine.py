"""Advances a run step by step. A step is one transaction: node effects, events, outputs and the run's lease.

Branches advance independently: a node that sleeps or waits holds back only its downstream nodes. A node's outbound call
is sent between two steps, outside any transaction. A step whose worker dies is rolled back and executed again. A worker
that lost the run to another commits nothing, because ``holder`` is checked under the row's lock. A run that rests holds
no worker and survives restarts.
"""

import logging
from collections import Counter
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction

from memory import event_notes, ledger, provenance
from memory.entry_drafts import EntryDraft
from memory.host import ids, interrupts, runs, tenancy, wakeups
from memory.host.clock import Clock
from memory.host.events import (
    ApprovalReceived,
    CapBreached,
    Event,
    Failure,
    NodeCancelled,
    NodeRetried,
    NodeSkipped,
    NodeStarted,
)
from memory.host.events import NodeFailed as NodeFailedEvent
from memory.host.json_types import JSONObject
from memory.host.models import Interrupt, Run, RunStatus
from memory.host.node_types import Call, makes_calls
from memory.host.wakeups import Topic
from memory.wire import instant
from openwop_console.runtime import calls, chains, graph, replay, run_operations, steps, workflows
from openwop_console.runtime.calls import UnderWay
from openwop_console.runtime.expressions import TooHeavy
from openwop_console.runtime.models import Step, StepState
from openwop_console.runtime.node_execution import TOO_HEAVY, Acted, NodeFailed, Position, execute, kind_of
from openwop_console.runtime.steps import IN_FLIGHT

log = logging.getLogger(__name__)
Progress = bool | UnderWay  # whether there is more to do now, or a call that must be sent first
SUMMARIES = "runs/"
CRASHED = Failure("run_crashed", "The run failed for a reason of the host; the host's log has it.")
GAVE_UP = Failure("worker_lost", "The run was interrupted too often by workers that died, and was given up.")
TOO_LONG = Failure("run_timeout", "The run took longer than it may.")
TOO_MANY = Failure("recursion_limit_exceeded", "The run executed more nodes than it may.")


class Fenced(RuntimeError):
    """This worker no longer holds the run; its transaction is rolled back."""


def advance(tenant_id: UUID, run_id: UUID, *, holder: str, clock: Clock) -> None:
    """Execute the run until it ends, rests or is paused; do nothing when another worker holds it.

    A run that has made calls for longer than ``calls.TURN`` is handed back to the queue, to stay within the task's time
    limit.
    """
    began = clock()
    if not runs.claim(tenant_id, run_id, holder=holder, now=began):
        return
    try:
        while going := _step(tenant_id, run_id, holder, clock):
            if not isinstance(going, UnderWay):
                continue
            _make_call(going, holder, clock)
            if clock() - began > calls.TURN:
                _hand_back(tenant_id, run_id, holder, clock)
                return
    except Fenced:
        log.info("run %s went to another worker", run_id)


def _make_call(under_way: UnderWay, holder: str, clock: Clock) -> None:
    """Send the node's call and record how it ended; a failed call fails the node."""
    tenant_id, run_id = under_way.position.run.tenant_id, under_way.position.run.id
    ended = calls.make(under_way, lambda: _renew(under_way, holder, clock))
    if ended is None:
        return
    with transaction.atomic():
        run, now = _lock_held_run(tenant_id, run_id, holder), clock()
        calls.record(run, under_way, ended, now=now)
        if ended.failure:
            _fail_node(run, NodeFailed(under_way.position, ended.failure, final=ended.final), now)
        wakeups.wake(Topic.EVENTS)


def _renew(under_way: UnderWay, holder: str, clock: Clock) -> bool:
    """Renew the lease and publish streamed text; return whether the call is still wanted."""
    with transaction.atomic():
        run = _lock_held_run(under_way.position.run.tenant_id, under_way.position.run.id, holder)
        calls.publish_chunks(run, under_way, now=clock())
        wakeups.wake(Topic.EVENTS)
    return run.status != RunStatus.CANCELLING


def _hand_back(tenant_id: UUID, run_id: UUID, holder: str, clock: Clock) -> None:
    with transaction.atomic():
        runs.hand_back(_lock_held_run(tenant_id, run_id, holder), now=clock())


def _step(tenant_id: UUID, run_id: UUID, holder: str, clock: Clock) -> Progress:
    """Execute one step and return its progress. A bug fails the run, because a retry would hit it again."""
    try:
        return _advance_once(tenant_id, run_id, holder, clock)
    except (Fenced, OperationalError, InterfaceError):
        raise
    except Exception as bug:
        log.exception("run %s crashed: %s", run_id, kind_of(bug), exc_info=False)
        with transaction.atomic():
            run = _lock_held_run(tenant_id, run_id, holder)
            run_operations.fail_run(
                run,
                CRASHED,
                *_cancelled(steps.steps_of_run(tenant_id, run_id, values=False), "run-failed"),
                now=clock(),
            )
        return False


def _advance_once(tenant_id: UUID, run_id: UUID, holder: str, clock: Clock) -> Progress:
    try:
        with transaction.atomic():
            run = _lock_held_run(tenant_id, run_id, holder)
            more = _next(run, clock)
            wakeups.wake(Topic.EVENTS)
            return more
    except NodeFailed as failed:
        with transaction.atomic():
            run = _lock_held_run(tenant_id, run_id, holder)
            more = _fail_node(run, failed, clock())
            wakeups.wake(Topic.EVENTS)
            return more


def _lock_held_run(tenant_id: UUID, run_id: UUID, holder: str) -> Run:
    run = runs.locked(tenant_id, run_id)
    if run.holder != holder:
        raise Fenced
    return run


def _next(run: Run, clock: Clock) -> Progress:
    now = clock()
    done = steps.steps_of_run(run.tenant_id, run.id, values=False)
    if run.status == RunStatus.CANCELLING:
        run_operations.end_cancelled_run(run, *_cancelled(done, "run-cancelled"), now=now)
        return False
    if run.attempts > runs.MAX_ATTEMPTS:
        run_operations.fail_run(run, GAVE_UP, *_cancelled(done, "run-failed"), now=now)
        return False
    if run.status == RunStatus.PAUSED:
        return _drain(run, done, clock, now)
    definition = chains.definition_for(run)
    if run.is_replay:
        return replay.continue_replay(run, definition, done, now)
    if run.status == RunStatus.PENDING:
        _start(run, definition, now)
    if run.deadline_at and run.deadline_at <= now:
        _end_too_long(run, done, now)
        return False
    return _advance_running(run, definition, done, clock, now)


def _start(run: Run, definition: JSONObject, now: datetime) -> None:
    """Start the run with a memory snapshot of now; a branch from the beginning keeps its source's snapshot."""
    position = ledger.head.position(run.tenant_id) if run.inherits_until is None else run.snapshot_position
    runs.start(run, snapshot_position=position, lasts=run_operations.duration_of(run, definition), now=now)


def _advance_running(run: Run, definition: JSONObject, done: dict[str, Step], clock: Clock, now: datetime) -> Progress:
    if expired := [each for each in _open_interrupts(run, done) if each.timeout_at and each.timeout_at <= now]:
        _expire(run, expired[0], now)
        return True
    due = next((step for step in done.values() if _is_due(run, step, now)), None)
    if due:
        return _execute_in_turn(Position(run, definition, due.node_id, done), clock, now)
    try:
        outlook = _outlook(run, definition, done)
    except TooHeavy:
        run_operations.fail_run(run, TOO_HEAVY, *_cancelled(done, "run-failed"), now=now)
        return False
    if outlook.lost:
        _summarize(run, definition, "failed", done, now)
        _fail_run(run, done, now)
        return False
    if outlook.skip:
        _skip(run, definition, outlook.skip[0], now)
        return True
    if outlook.begin:
        more = _execute_in_turn(Position(run, definition, outlook.begin[0], done), clock, now)
        return more if more is not True else not _has_ended(run, definition, done, clock())
    if any(step.state in IN_FLIGHT for step in done.values()):
        _rest(run, done, now)
    else:
        _complete(run, definition, done, now)
    return False


def _outlook(run: Run, definition: JSONObject, done: dict[str, Step]) -> graph.Outlook:
    steps.load_outputs(done, graph.judged_sources(definition, done))
    return graph.outlook(definition, done, run.variables)


def _complete(run: Run, definition: JSONObject, done: dict[str, Step], now: datetime) -> None:
    _summarize(run, definition, "completed", done, now)
    run_operations.complete_run(run, now=now)


def _has_ended(run: Run, definition: JSONObject, done: dict[str, Step], now: datetime) -> bool:
    """Complete the run in the transaction of the step just executed, if that was the last; return whether it did.

    An error here is rolled back to keep the executed step: the next step meets it again and fails the run for it.
    """
    if any(step.state in IN_FLIGHT for step in done.values()) or (run.deadline_at and run.deadline_at <= now):
        return False
    try:
        outlook = _outlook(run, definition, done)
        if outlook.lost or outlook.skip or outlook.begin:
            return False
        with transaction.atomic():
            _complete(run, definition, done, now)
    except (OperationalError, InterfaceError):
        raise
    except Exception:  # noqa: BLE001
        return False
    return True


def _open_interrupts(run: Run, done: dict[str, Step]) -> list[Interrupt]:
    """The run's open interrupts; does not query when none of its nodes waits."""
    waits = any(step.state == StepState.WAITING for step in done.values())
    return interrupts.open_at(run) if waits else []


def _summarize(run: Run, definition: JSONObject, outcome: str, done: dict[str, Step], now: datetime) -> None:
    """Write the run's summary entry as the host, if the workflow sets ``settings.memory.runSummary``.

    It contains only ids and counts. A host with read-only memory writes none.
    """
    wanted = definition["settings"].get("memory", {}).get("runSummary", False)
    scope = tenancy.memory_scope(tenancy.run_scope(run), f"{SUMMARIES}{run.workflow_id}")
    if not wanted or scope is None or not settings.OPENWOP_MEMORY_WRITABLE:
        return
    nodes = Counter(str(step.state) for step in done.values())
    counted = ", ".join(f"{count} {state}" for state, count in sorted(nodes.items())) or "none"
    content = f"Run {ids.wire('run', run.id)} of workflow {run.workflow_id} {outcome}. Nodes: {counted}."
    ledger.entries.write_entry(scope, EntryDraft(content, (provenance.RUN_SUMMARY,)), run=run, node_id=None, now=now)


def _is_due(run: Run, step: Step, now: datetime) -> bool:
    """Whether an in-flight node can proceed: its sleep is over, its question answered, or its deadline passed."""
    if step.state not in IN_FLIGHT:
        return False
    if step.deadline_at and step.deadline_at <= now:
        return True
    if step.state == StepState.WAITING:
        asked = interrupts.at_node(run, step.node_id)
        return asked is not None and asked.resolved_at is not None
    return step.state == StepState.STARTED or step.wake_at is None or step.wake_at <= now


def _execute_in_turn(position: Position, clock: Clock, now: datetime) -> Progress:
    """Execute the node; one that makes outbound calls waits while its tenant's calls hold their share of workers."""
    run = position.run
    if makes_calls(position.node["typeId"]) and not calls.may_begin(run, now=now):
        _rest(run, position.steps, now, until=calls.next_try(run, now=now))
        return False
    return _execute(position, clock, now)


def _execute(position: Position, clock: Clock, now: datetime) -> Progress:
    run, node = position.run, position.node
    step = position.steps.get(position.node_id)
    run.current_node = position.node_id
    if _begins_attempt(step):
        run.executions += 1
        if run.executions > (limit := run_operations.executions_of(run)):
            _end_too_many(run, position, limit, now)
            return False
    if step is None:
        step = steps.begin(run, position.node_id, timeout=run_operations.timeout_of(node), now=now)
        runs.note(run, NodeStarted(position.node_id, node["typeId"], 0), now=now)
    outcome = execute(position, step, clock, now)
    position.steps[position.node_id] = step
    if isinstance(outcome, Acted):
        return calls.record_act(position, step, outcome, now)
    return calls.begin(position, step, outcome, now) if isinstance(outcome, Call) else outcome


def _begins_attempt(step: Step | None) -> bool:
    """Whether this execution counts as a new attempt: the first, or one after a failure."""
    return step is None or step.error is not None


def _skip(run: Run, definition: JSONObject, node_id: str, now: datetime) -> None:
    disabled = workflows.node_of(definition, node_id).get("disabled")
    steps.skip(run, node_id, now=now)
    skipped = NodeSkipped(node_id, "disabled" if disabled else "not-taken")
    runs.progress(run, skipped, ready_at=runs.LEASE.end(now), now=now)


def _rest(run: Run, done: dict[str, Step], now: datetime, *, until: datetime | None = None) -> None:
    """Rest the run until an answer or its earliest timeout, deadline or wake time, or ``until``."""
    asked = _open_interrupts(run, done)
    times = [each.timeout_at for each in asked] + [run.deadline_at, until]
    times += [step.deadline_at for step in done.values() if step.state in IN_FLIGHT]
    times += [step.wake_at for step in done.values() if step.state == StepState.SLEEPING]
    status = Interrupt.KINDS[asked[0].kind] if asked else RunStatus.RUNNING
    run.current_node = asked[0].node_id if asked else run.current_node
    runs.rest(run, status, ready_at=min((time for time in times if time), default=None), now=now)


def _drain(run: Run, done: dict[str, Step], clock: Clock, now: datetime) -> Progress:
    """Begin no node of a paused run; finish sleeping nodes first if the pause drains."""
    sleeping = [step for step in done.values() if step.state == StepState.SLEEPING] if run.draining else []
    due = next((step for step in sleeping if _is_due(run, step, now)), None)
    if due:
        return _execute(Position(run, chains.definition_for(run), due.node_id, done), clock, now)
    if sleeping:
        runs.rest(run, RunStatus.PAUSED, ready_at=min(step.wake_at for step in sleeping if step.wake_at), now=now)
    elif run.draining:
        event_notes.attach_reason(run, runs.drained(run, now=now))
    else:
        runs.rest(run, RunStatus.PAUSED, ready_at=None, now=now)
    return False


def _expire(run: Run, asked: Interrupt, now: datetime) -> None:
    """Resolve a timed-out interrupt as a rejection, never as a grant (RFC 0051)."""
    value = {"action": "reject", "decision": "rejected", "reason": "timeout"}
    plain = asked.kind == "approval" and interrupts.is_plain(asked)
    facts = [ApprovalReceived(asked.node_id, "timeout", instant(now))] if plain else []
    interrupts.answer(
        run,
        asked,
        value,
        *facts,
        outcome=interrupts.TIMED_OUT,
        result="rejected",
        cause="timeout",
        now=now,
    )


def _fail_node(run: Run, failed: NodeFailed, now: datetime) -> bool:
    """After the node's rollback, schedule a retry if one is left, else fail the node; return True.

    A node that had not begun when the run was paused or cancelled meanwhile stays not begun.
    """
    position = failed.position
    definition = position.definition
    if run.status == RunStatus.PENDING:
        _start(run, definition, now)
    step = steps.at_node(run.tenant_id, run.id, position.node_id)
    if step is None and run.status in (RunStatus.PAUSED, RunStatus.CANCELLING):
        return True
    run.current_node = position.node_id
    run.executions += _begins_attempt(step)
    facts: list[Event] = []
    if step is None:
        step = steps.begin(run, position.node_id, timeout=run_operations.timeout_of(position.node), now=now)
        facts.append(NodeStarted(position.node_id, position.node["typeId"], 0))
    patience = run_operations.retries_of(definition, position.node)
    if not failed.final and step.attempt <= patience.retries:
        delay = patience.delay_before(step.attempt)
        facts.append(NodeRetried(position.node_id, step.attempt, int(delay.total_seconds() * 1000), failed.failure))
        steps.retry(step, failed.failure, at=now + delay)
    else:
        steps.fail(step, failed.failure)
        interrupts.withdraw(run, node_id=position.node_id, now=now)
        if run.status in runs.WAITING and not interrupts.open_at(run):
            runs.wake(run, now=now)
        facts.append(NodeFailedEvent(position.node_id, failed.failure, step.attempt))
    runs.progress(run, *facts, ready_at=runs.LEASE.end(now), now=now)
    return True


def _fail_run(run: Run, done: dict[str, Step], now: datetime) -> None:
    """Fail the run with the last node failure, because a final node can no longer succeed."""
    step = [step for step in done.values() if step.state == StepState.FAILED][-1]
    failure = Failure(**step.error) if step.error else Failure("node_failed", "A node of the run failed.")
    run_operations.fail_run(run, failure, *_cancelled(done, "run-failed"), node_id=step.node_id, now=now)


def _end_too_long(run: Run, done: dict[str, Step], now: datetime) -> None:
    limit = (run.deadline_at or now) - (run.started_at or now)
    over = max(now - (run.started_at or now), limit + timedelta(milliseconds=1))
    breached = CapBreached("run-duration", _ms(limit), _ms(over))
    run_operations.fail_run(run, TOO_LONG, breached, *_cancelled(done, "run-failed"), now=now)


def _ms(span: timedelta) -> int:
    return int(span.total_seconds() * 1000)


def _end_too_many(run: Run, position: Position, limit: int, now: datetime) -> None:
    breached = CapBreached("node-executions", limit, run.executions, position.node_id)
    run_operations.fail_run(run, TOO_MANY, breached, *_cancelled(position.steps, "run-failed"), now=now)


def _cancelled(done: dict[str, Step], cause: str) -> list[Event]:
    """Cancellation events for the nodes in flight."""
    return [NodeCancelled(step.node_id, cause) for step in done.values() if step.state in IN_FLIGHT]
