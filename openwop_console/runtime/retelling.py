"""A replay: the log of its source, told again fact by fact, and its nodes called again on what they were told then.

Facts stand on the replay's log word for word: the same ids, the same order. A node whose type may be called again must
come to what is on record; of any other, what is on record stands. Where the record ends or does not fit, the replay
fails. That its source was cancelled is not told again: behind what was done by then, nodes that only compute are called
for the first time, without memory, and the first of any other type fails. Nothing is asked, written, installed, queued
or waited for.
"""

import json
import logging
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db import OperationalError, transaction

from memory.host import event_log, ids, runs
from memory.host.event_log import Recorded
from memory.host.events import (
    Event,
    Failure,
    NodeCancelled,
    NodeCompleted,
    NodeFailed,
    NodeSkipped,
    NodeStarted,
    RunCancelled,
)
from memory.host.events import ReplayDiverged as Divergence
from memory.host.models import Run, RunStatus
from memory.host.node_types import Done, NodeFailure, OnReplay, Outcome, Sleep, on_replay_of
from memory.text.matching import FORGOTTEN
from openwop_console.runtime import definitions, endings, executing, graph, steps
from openwop_console.runtime.executing import Position
from openwop_console.runtime.models import Step, StepState
from openwop_console.runtime.replaying import Diverged, RecordedMemory, SourceMissing, is_told

log = logging.getLogger(__name__)
CHUNK = 100  # events that are applied in one transaction
MISSING = Failure("replay_source_missing", "The source run has no recorded outcome that could be told again.")
OTHERWISE = Failure("replay_diverged", "The node came to something else than its source run has on record.")


class Halt(Exception):
    """The replay cannot go on at ``sequence`` of its source; ``kind`` says how it differs, when it does."""

    def __init__(self, sequence: int, failure: Failure = MISSING, kind: str = "") -> None:
        self.sequence, self.failure, self.kind = sequence, failure, kind
        super().__init__(failure.code)


@dataclass
class Telling:
    """A replay, how far its nodes are, and what its source has on record of them."""

    run: Run
    definition: dict[str, Any]
    steps: dict[str, Step]
    source: Run
    record: dict[str, Step]

    @cached_property
    def is_erased(self) -> bool:
        """Whether a forget has erased values of the source: its nodes cannot be told what they were told then."""
        values = [self.source.inputs, *([step.outputs, step.variables] for step in self.record.values())]
        return FORGOTTEN in json.dumps(values, ensure_ascii=False)


def go_on(run: Run, definition: dict[str, Any], done: dict[str, Step], now: datetime) -> bool:
    """The next facts of the source stand on the log of the replay; whether there is more to tell."""
    assert run.source_run_id is not None
    last = event_log.length(run.tenant_id, run.id) - 1
    facts = event_log.read(run.tenant_id, run.source_run_id, after=last, limit=CHUNK)
    source = runs.find(run.tenant_id, run.source_run_id)
    telling = Telling(run, definition, done, source, steps.of_run(run.tenant_id, source.id))
    told: list[Recorded] = []
    if source.status == RunStatus.CANCELLED:
        facts = [fact for fact in facts if not _is_of_cancellation(fact)]
        if not facts:
            return _go_beyond(telling, now)
    try:
        if not facts:
            raise Halt(last + 1)
        for fact in facts:
            _follow(telling, fact, told, now)
    except Halt as halt:
        _fail(telling, told, halt, now)
        return False
    endings.retell(run, source, told, now=now)
    return run.status not in runs.ENDS


def _follow(telling: Telling, fact: Recorded, told: list[Recorded], now: datetime) -> None:
    """The node that the fact is about stands in the replay where it stood, and the fact is told."""
    run = telling.run
    run.current_node = fact.node_id or run.current_node
    if fact.type == NodeStarted.type:
        recorded = telling.record.get(fact.node_id)
        attempt = recorded.attempt if recorded else 1
        telling.steps[fact.node_id] = steps.begin(run, fact.node_id, attempt=attempt, now=now)
        told.append(fact)
        return
    if fact.type == NodeSkipped.type:
        steps.skip(run, fact.node_id, now=now)
    elif fact.type == NodeFailed.type:
        steps.fail(telling.steps[fact.node_id], Failure(**fact.payload["error"]))
    elif fact.type == NodeCompleted.type:
        _complete(telling, fact)
    told.append(fact)


def _way(telling: Telling, fact: Recorded) -> OnReplay:
    """What is done with the node: what lies before the fork's ``fromSeq``, and what was told to the source itself, is
    taken from the record in any case."""
    if fact.sequence < (telling.run.from_seq or 0) or is_told(telling.source, fact.sequence):
        return OnReplay.RECORDED
    return on_replay_of(definitions.node_of(telling.definition, fact.node_id)["typeId"])


def _complete(telling: Telling, fact: Recorded) -> None:
    """The node is done with what is on record, which it came to again if it was called."""
    recorded, way = telling.record.get(fact.node_id), _way(telling, fact)
    if recorded is None or recorded.state != StepState.DONE:
        raise Halt(fact.sequence)
    if way == OnReplay.CALLED and not telling.is_erased:
        _call(telling, recorded, fact)
    step, run = telling.steps[fact.node_id], telling.run
    run.variables = {**run.variables, **recorded.variables}
    steps.finish(step, outputs=recorded.outputs, variables=recorded.variables)


def _call(telling: Telling, recorded: Step, fact: Recorded) -> None:
    """The node comes to the same, with the times, the memory and the values that it had."""
    run, node_id = telling.run, fact.node_id
    memory = RecordedMemory.of(telling.source, node_id, before=fact.sequence)
    try:
        with transaction.atomic():
            position = Position(run, telling.definition, node_id, telling.steps)
            _require_same(executing.call_again(position, recorded, memory, fact.timestamp), recorded)
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


def _go_beyond(telling: Telling, now: datetime) -> bool:
    """One step of what the source was cancelled before; whether there is more to do."""
    run = telling.run
    if run.status == RunStatus.PENDING:
        runs.start(run, snapshot_position=telling.source.snapshot_position or 0, now=now)
    if begun := next((step for step in telling.steps.values() if step.state == StepState.STARTED), None):
        return _call_first(telling, begun, now)
    outlook = graph.outlook(telling.definition, telling.steps, run.variables)
    if outlook.lost:
        failed = [step for step in telling.steps.values() if step.state == StepState.FAILED][-1]
        endings.fail(run, Failure(**(failed.error or asdict(MISSING))), node_id=failed.node_id, now=now)
    elif outlook.skip:
        steps.skip(run, outlook.skip[0], now=now)
        disabled = definitions.node_of(telling.definition, outlook.skip[0]).get("disabled")
        _note(run, NodeSkipped(outlook.skip[0], "disabled" if disabled else "not-taken"), now=now)
    elif outlook.begin:
        node = definitions.node_of(telling.definition, outlook.begin[0])
        run.current_node = node["id"]
        steps.begin(run, node["id"], now=now)
        _note(run, NodeStarted(node["id"], node["typeId"], 0), now=now)
    else:
        endings.complete(run, now=now)
    return run.status not in runs.ENDS


def _note(run: Run, *facts: Event, now: datetime) -> None:
    runs.progress(run, *facts, ready_at=runs.LEASE.end(now), now=now)


def _call_first(telling: Telling, step: Step, now: datetime) -> bool:
    """The node has no outcome on record: it is called when it only computes, and its waits are over at once."""
    run = telling.run
    run.current_node = step.node_id
    position = Position(run, telling.definition, step.node_id, telling.steps)
    nothing_kept = RecordedMemory([], [])
    at = now
    try:
        if on_replay_of(position.node["typeId"]) != OnReplay.CALLED or telling.is_erased:
            raise SourceMissing
        with transaction.atomic():
            outcome = executing.call_again(position, step, nothing_kept, at)
            while isinstance(outcome, Sleep) and at < outcome.until:
                at = outcome.until
                outcome = executing.call_again(position, step, nothing_kept, at)
            if not isinstance(outcome, Done):
                raise SourceMissing
        return executing.settle(position, step, outcome, now)
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
        _fail(telling, [], Halt(event_log.length(run.tenant_id, run.id)), now)
        return False


def _require_same(outcome: Outcome, recorded: Step) -> None:
    if not isinstance(outcome, Done):
        raise Diverged("type-mismatch")
    if json.loads(json.dumps([outcome.outputs, outcome.variables])) != [recorded.outputs, recorded.variables]:
        raise Diverged("output")


def _fail(telling: Telling, told: list[Recorded], halt: Halt, now: datetime) -> None:
    """What could be told is told; the node at which the record ends or does not fit has failed, and so has the run."""
    run, source_id = telling.run, ids.wire("run", telling.source.id)
    if told:
        endings.retell(run, telling.source, told, now=now)
    facts: list[Event] = [Divergence(source_id, halt.sequence, halt.kind)] if halt.kind else []
    open_steps = [step for step in telling.steps.values() if step.state == StepState.STARTED]
    open_steps.sort(key=lambda step: step.node_id != run.current_node)
    for stuck in open_steps[:1]:
        steps.fail(stuck, halt.failure)
        facts.append(NodeFailed(stuck.node_id, halt.failure, stuck.attempt))
    facts += [NodeCancelled(step.node_id, "run-failed") for step in open_steps[1:]]
    endings.fail(run, halt.failure, *facts, node_id=open_steps[0].node_id if open_steps else None, now=now)
