"""A run, step by step. Every step is one transaction: the node's effects, its events, its outputs and the run's lease.

A worker that dies in a step leaves nothing of it, and the step is executed again; a worker that lost the run to another
commits nothing, because ``holder`` is checked under the row's lock. Suspended runs hold no worker and survive restarts.
"""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError, OperationalError, transaction

from memory import harness, ledger
from memory.host import runs
from memory.host.errors import Refusal
from memory.host.events import Event, Failure, NodeCompleted, NodeFailed, NodeStarted
from memory.host.models import Run, RunStatus
from memory.host.node_types import Done, NodeContext, NodeFailure, Outcome, Sleep, function_of
from openwop_console.runtime import definitions, steps
from openwop_console.runtime.models import Step, StepState
from openwop_console.runtime.run_memory import NodeMemory

log = logging.getLogger(__name__)
Clock = Callable[[], datetime]
GAVE_UP = Failure("worker_lost", "The run was interrupted too often by workers that died, and was given up.")
CRASHED = Failure("node_crashed", "The node failed for a reason of the host; the host's log has it.")


class Fenced(RuntimeError):
    """The run is no longer this worker's; whatever it was doing is rolled back."""


def advance(tenant_id: UUID, run_id: UUID, *, holder: str, clock: Clock) -> None:
    """Execute the run until it ends, sleeps or waits; nothing when another worker has it."""
    if not runs.claim(tenant_id, run_id, holder=holder, now=clock()):
        return
    try:
        while _step(tenant_id, run_id, holder, clock):
            pass
    except Fenced:
        log.info("run %s went to another worker", run_id)


def _step(tenant_id: UUID, run_id: UUID, holder: str, clock: Clock) -> bool:
    """One transaction of the run; whether there is more to do now."""
    try:
        with transaction.atomic():
            run = _held(tenant_id, run_id, holder)
            return _next(run, clock())
    except _NodeFailed as failed:
        with transaction.atomic():
            run = _held(tenant_id, run_id, holder)
            _fail_node(run, failed, clock())
        return False


def _held(tenant_id: UUID, run_id: UUID, holder: str) -> Run:
    run = runs.locked(tenant_id, run_id)
    if run.holder != holder:
        raise Fenced
    return run


def _next(run: Run, now: datetime) -> bool:
    if run.status == RunStatus.CANCELLING:
        runs.cancel(run, cancelled_by=run.principal, now=now)
        return False
    if run.attempts > runs.MAX_ATTEMPTS:
        runs.fail(run, GAVE_UP, now=now)
        return False
    if run.status == RunStatus.PENDING:
        runs.start(run, snapshot_position=ledger.position(run.tenant_id), now=now)
    return _execute_next(run, now)


def _execute_next(run: Run, now: datetime) -> bool:
    definition = json.loads(run.definition.text)
    done = steps.of_run(run.tenant_id, run.id)
    for node_id in definitions.order_of(definition):
        step = done.get(node_id)
        if step is None or step.state != StepState.DONE:
            return _execute(Position(run, definition, node_id, done), now)
    runs.complete(run, now=now)
    return False


@dataclass(frozen=True, slots=True)
class Position:
    """A run at one of its nodes."""

    run: Run
    definition: dict[str, Any]
    node_id: str
    steps: dict[str, Step]

    @property
    def node(self) -> dict[str, Any]:
        return next(node for node in self.definition["nodes"] if node["id"] == self.node_id)


class _NodeFailed(Exception):
    """Carries a node's failure out of its transaction, which is rolled back."""

    def __init__(self, position: Position, failure: Failure) -> None:
        self.position, self.failure = position, failure
        super().__init__(failure.code)


def _execute(position: Position, now: datetime) -> bool:
    run, node = position.run, position.node
    step = position.steps.get(position.node_id)
    run.current_node = position.node_id
    if step is None:
        step = steps.begin(run, position.node_id, now=now)
        runs.note(run, NodeStarted(position.node_id, node["typeId"], step.attempt), now=now)
    if step.wake_at and step.wake_at > now:
        runs.progress(run, ready_at=step.wake_at, release=True, now=now)
        return False
    return _settle(position, step, _call(position, step, now), now)


def _call(position: Position, step: Step, now: datetime) -> Outcome:
    """The node's outcome. Its own failure, a refusal and a bug each end the step with a code and a fixed sentence."""
    function = function_of(position.node["typeId"])
    if function is None:
        raise _NodeFailed(position, Failure("node_type_unknown", "This host has no such node type."))
    try:
        return function(_context(position, step, now))
    except (NodeFailure, Refusal) as problem:
        raise _NodeFailed(position, _said(position.run, problem)) from problem
    except OperationalError:
        raise
    except DatabaseError as refused:
        # The driver quotes the row, and the row holds memory: only the kind of the error is logged.
        log.error("node %s of run %s: the database refused (%s)", position.node_id, position.run.id, type(refused))
        raise _NodeFailed(position, CRASHED) from None
    except Exception as bug:
        log.exception("node %s of run %s crashed", position.node_id, position.run.id)
        raise _NodeFailed(position, CRASHED) from bug


def _said(run: Run, problem: NodeFailure | Refusal) -> Failure:
    """What the node said, redacted while its resolutions still stand: the failure takes them with it."""
    return Failure(problem.code, harness.for_run(run.tenant_id, run.id).redact(problem.message).text)


def _context(position: Position, step: Step, now: datetime) -> NodeContext:
    run, node = position.run, position.node
    agent = node.get("agent") or ({"agentId": run.agent_id} if run.agent_id else {})
    interrupt = runs.waiting_interrupt(run, position.node_id) if step.state == StepState.WAITING else None
    return NodeContext(
        run=run,
        node_id=position.node_id,
        config=node["config"],
        inputs=_inputs(position),
        variables=run.variables,
        agent=agent,
        memory=NodeMemory(run, position.node_id, agent.get("agentId", ""), now),
        started_at=step.started_at,
        resume_value=interrupt.resume_value if interrupt else None,
        now=now,
    )


def _inputs(position: Position) -> dict[str, Any]:
    """The values of the node's input ports: static, from a variable, or from a node before it."""
    return {name: _port(position, port) for name, port in position.node["inputs"].items()}


def _port(position: Position, port: dict[str, Any]) -> Any:
    if port["type"] == "static":
        return port["value"]
    if port["type"] == "variable":
        values, key = position.run.variables, port["variableName"]
    else:
        before = position.steps.get(port["nodeId"])
        values, key = before.outputs if before else {}, port["outputKey"]
    if key not in values and not port.get("optional"):
        raise _NodeFailed(position, Failure("input_missing", f"The input {key!r} has no value."))
    return values.get(key)


def _settle(position: Position, step: Step, outcome: Outcome, now: datetime) -> bool:
    run = position.run
    if isinstance(outcome, Done):
        redactor = harness.for_run(run.tenant_id, run.id)
        run.variables = redactor.redact_json({**run.variables, **outcome.variables})
        steps.settle(step, StepState.DONE, outputs=redactor.redact_json(outcome.outputs))
        runs.progress(run, NodeCompleted(position.node_id), ready_at=now + runs.LEASE, now=now)
        return True
    if isinstance(outcome, Sleep):
        steps.settle(step, StepState.SLEEPING, wake_at=outcome.until)
        runs.progress(run, ready_at=max(outcome.until, now + timedelta(milliseconds=1)), release=True, now=now)
        return False
    steps.settle(step, StepState.WAITING)
    runs.suspend(run, position.node_id, outcome, now=now)
    return False


def _fail_node(run: Run, failed: _NodeFailed, now: datetime) -> None:
    """The node's effects are gone; that it started and failed, and that the run failed with it, is on the log."""
    position = failed.position
    step = steps.of_run(run.tenant_id, run.id).get(position.node_id)
    facts: list[Event] = []
    if run.status == RunStatus.PENDING:
        runs.start(run, snapshot_position=ledger.position(run.tenant_id), now=now)
    if step is None:
        step = steps.begin(run, position.node_id, now=now)
        facts.append(NodeStarted(position.node_id, position.node["typeId"], step.attempt))
    steps.settle(step, StepState.FAILED)
    run.current_node = position.node_id
    facts.append(NodeFailed(position.node_id, failed.failure, step.attempt))
    runs.fail(run, failed.failure, *facts, node_id=position.node_id, now=now)
