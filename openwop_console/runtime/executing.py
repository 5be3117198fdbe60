"""One node of a run, executed: what it may see, its outcome, and the failure that takes its effects back."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, OperationalError

from memory import harness
from memory.host import runs, suspensions
from memory.host.errors import Refusal
from memory.host.events import Failure, NodeCompleted
from memory.host.models import Run
from memory.host.node_types import Done, NodeContext, NodeFailure, Outcome, Sleep, function_of
from openwop_console.runtime import artifacts, conditions, definitions, steps
from openwop_console.runtime.models import Step, StepState
from openwop_console.runtime.run_memory import NodeMemory

log = logging.getLogger(__name__)
Clock = Callable[[], datetime]
CRASHED = Failure("node_crashed", "The node failed for a reason of the host; the host's log has it.")
UNKNOWN_TYPE = Failure("node_type_unknown", "This host has no such node type.")
TIMED_OUT = Failure("node_timeout", "The node took longer than its timeout allows.")


@dataclass(frozen=True, slots=True)
class Position:
    """A run at one of its nodes."""

    run: Run
    definition: dict[str, Any]
    node_id: str
    steps: dict[str, Step]

    @property
    def node(self) -> dict[str, Any]:
        return definitions.node_of(self.definition, self.node_id)


class NodeFailed(Exception):
    """Carries a node's failure out of its transaction, which is rolled back. ``final`` is not tried again."""

    def __init__(self, position: Position, failure: Failure, *, final: bool = False) -> None:
        self.position, self.failure, self.final = position, failure, final
        super().__init__(failure.code)


def execute(position: Position, step: Step, clock: Clock, now: datetime) -> bool:
    """The node was called and its outcome is on record; whether the run can go on at once."""
    if step.deadline_at and step.deadline_at <= now:
        raise NodeFailed(position, TIMED_OUT, final=True)
    outcome = _call(position, step, now)
    if step.deadline_at and step.deadline_at < clock():
        raise NodeFailed(position, TIMED_OUT, final=True)
    return _settle(position, step, outcome, now)


def _call(position: Position, step: Step, now: datetime) -> Outcome:
    """The node's outcome. Its own failure, a refusal and a bug each end the step with a code and a fixed sentence."""
    function = function_of(position.node["typeId"])
    if function is None:
        raise NodeFailed(position, UNKNOWN_TYPE, final=True)
    try:
        return function(_context(position, step, now))
    except (NodeFailure, Refusal) as problem:
        raise NodeFailed(position, _said(position.run, problem)) from problem
    except OperationalError:
        raise
    except DatabaseError as refused:
        # The driver quotes the row, and the row holds memory: only the kind of the error is logged.
        log.error("node %s of run %s: the database refused (%s)", position.node_id, position.run.id, type(refused))
        raise NodeFailed(position, CRASHED) from None
    except Exception as bug:
        log.exception("node %s of run %s crashed", position.node_id, position.run.id)
        raise NodeFailed(position, CRASHED) from bug


def _said(run: Run, problem: NodeFailure | Refusal) -> Failure:
    """What the node said, redacted while its resolutions still stand: the failure takes them with it."""
    return Failure(problem.code, harness.for_run(run.tenant_id, run.id).redact(problem.message).text)


def _context(position: Position, step: Step, now: datetime) -> NodeContext:
    run, node = position.run, position.node
    agent = node.get("agent") or ({"agentId": run.agent_id} if run.agent_id else {})
    interrupt = suspensions.at_node(run, position.node_id) if step.state == StepState.WAITING else None
    return NodeContext(
        run=run,
        node_id=position.node_id,
        config=node["config"],
        inputs=_inputs(position),
        variables=run.variables,
        agent=agent,
        memory=NodeMemory(run, position.node_id, agent.get("agentId", ""), now),
        started_at=step.started_at,
        attempt=step.attempt,
        resume_value=interrupt.resume_value if interrupt else None,
        now=now,
    )


def _inputs(position: Position) -> dict[str, Any]:
    """The values of the node's input ports: static, from a variable, from a node before it, or an expression's."""
    return {name: _port(position, port) for name, port in position.node["inputs"].items()}


def _port(position: Position, port: dict[str, Any]) -> Any:
    if port["type"] == "static":
        return port["value"]
    if port["type"] == "expression":
        return conditions.evaluate(port["expression"], _everything(position))
    if port["type"] == "variable":
        values, key = position.run.variables, port["variableName"]
    else:
        before = position.steps.get(port["nodeId"])
        values, key = before.outputs if before else {}, port["outputKey"]
    if key not in values and not port.get("optional"):
        missing = Failure("input_missing", f"The input {key!r} has no value.")
        raise NodeFailed(position, missing, final=True)
    return values.get(key)


def _everything(position: Position) -> dict[str, Any]:
    """What an expression may look at: the variables, the inputs, and the outputs of nodes by id."""
    outputs = {node_id: step.outputs for node_id, step in position.steps.items()}
    run = position.run
    return {**run.variables, "variables": run.variables, "inputs": run.inputs, "nodes": outputs}


def _settle(position: Position, step: Step, outcome: Outcome, now: datetime) -> bool:
    run = position.run
    if isinstance(outcome, Done):
        redactor = harness.for_run(run.tenant_id, run.id)
        variables = redactor.redact_json(outcome.variables)
        run.variables = redactor.redact_json({**run.variables, **variables})
        steps.finish(step, outputs=redactor.redact_json(outcome.outputs), variables=variables)
        facts = [*artifacts.facts_of(position.node), NodeCompleted(position.node_id)]
        runs.progress(run, *facts, ready_at=now + runs.LEASE, now=now)
        return True
    if isinstance(outcome, Sleep):
        steps.settle(step, StepState.SLEEPING, wake_at=max(outcome.until, now + timedelta(milliseconds=1)))
    else:
        steps.settle(step, StepState.WAITING)
        suspensions.ask(run, position.node_id, outcome, now=now)
    runs.progress(run, ready_at=now + runs.LEASE, now=now)
    return True
