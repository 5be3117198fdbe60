"""Executes one node of a run: its inputs, its memory and files, its outcome, and the rollback of a failure.

Also recomputes the inputs of earlier nodes for the run's page.
"""

import copy
import json
import logging
import time
import traceback
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError, InterfaceError, OperationalError, transaction

from memory import adapter, addresses, agents, ledger, recordings, redaction, workspace
from memory.adapter.runs import Injection, MemoryRecord, RunView
from memory.entry_drafts import EntryDraft
from memory.host import ids, interrupts, registry, runs, tenancy
from memory.host.clock import Clock
from memory.host.errors import Refusal
from memory.host.event_log import Recorded
from memory.host.events import ArtifactCreated, Failure, NodeCompleted, NodeStarted
from memory.host.json_types import JSONObject
from memory.host.models import ArtifactKind, Resolution, Run
from memory.host.node_types import (
    Act,
    Call,
    Done,
    NodeContext,
    NodeFailure,
    Outcome,
    RunMemory,
    Sleep,
    Wait,
    function_of,
    makes_calls,
    missing_for,
    tools_of,
)
from memory.host.registry import ArtifactDisabled
from memory.host.tenancy import MemoryScope
from memory.models import WorkspaceFile
from memory.recordings import Read
from memory.run_timeline import NodeReport
from memory.wire import entry_document
from memory.workspace import DEFAULT_CONTENT_TYPE, FileDraft, checked_path
from openwop_console.runtime import expressions, steps, workflows
from openwop_console.runtime.artifacts import artifact_id
from openwop_console.runtime.expressions import Bounds
from openwop_console.runtime.models import Step, StepState

Reads = list[Read]


@dataclass(frozen=True, slots=True)
class NodeMemory:
    """Reads the run's start snapshot plus the run's own writes; writes as this node and its agent.

    Every read is appended to ``reads``, to be recorded with the step.
    """

    run: Run
    node_id: str
    agent_id: str
    now: datetime
    reads: Reads = field(default_factory=Reads)

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
        wanted = Injection(token_budget, rank, query)
        scope = self._scope(memory_ref)
        found: Sequence[MemoryRecord] = ()
        if scope is not None:
            view = RunView.for_run(self.run)
            found = adapter.runs.list_entries(scope, now=self.now, limit=limit, tag=tag, view=view, wanted=wanted)
        return self._note(listing(memory_ref, limit=limit, tag=tag, wanted=wanted), found)

    def get(self, memory_ref: str, memory_id: str) -> JSONObject | None:
        scope = self._scope(memory_ref)
        entry_id = ids.parse("mem", memory_id)
        found = None
        if scope is not None and entry_id is not None:
            found = adapter.runs.get_entry(scope, entry_id, now=self.now, view=RunView.for_run(self.run))
        documents = self._note(getting(memory_ref, memory_id), [found] if found else [])
        return documents[0] if documents else None

    def _note(self, request: str, found: Sequence[MemoryRecord]) -> Sequence[JSONObject]:
        documents = [_document(row) for row in found]
        self.reads.append(Read(request, documents))
        return documents

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
        if memory_ref.startswith(addresses.PREFIX):
            raise NodeFailure(
                "memory_ref_reserved", "Memory of OpenIntent can be written only over OpenIntent.", final=True
            )
        scope = self._scope(memory_ref)
        if scope is None:
            raise NodeFailure("memory_ref_invalid", "The node names a memory_ref that this tenant cannot have.")
        draft = EntryDraft(content, tuple(tags), subject, self.agent_id, expires_at)
        written = ledger.entries.write_entry(scope, draft, run=self.run, node_id=self.node_id, now=now or self.now)
        return ids.wire("mem", written.id)

    def _scope(self, memory_ref: str) -> MemoryScope | None:
        """The ref checked for this node's agent; None when it is not allowed."""
        return tenancy.memory_scope(tenancy.run_scope(self.run, agent_id=self.agent_id), memory_ref)


def listing(memory_ref: str, *, limit: int, tag: str, wanted: Injection) -> str:
    """The digest of a list request; unset budget, rank and query are left out."""
    given = {"tokenBudget": wanted.token_budget, "rank": wanted.rank, "query": wanted.query}
    more = {name: value for name, value in given.items() if value}
    return recordings.digest_of({"op": "list", "memoryRef": memory_ref, "limit": limit, "tag": tag, **more})


def getting(memory_ref: str, memory_id: str) -> str:
    """The digest of a get request."""
    return recordings.digest_of({"op": "get", "memoryRef": memory_ref, "memoryId": memory_id})


def _document(record: MemoryRecord) -> JSONObject:
    return entry_document(record.id, record.content, record.tags, record.created_at, record.expires_at)


@dataclass(frozen=True, slots=True)
class NodeFiles:
    """Reads the run's snapshot of the workspace plus the run's own writes; writes as this node."""

    run: Run
    node_id: str
    now: datetime

    def list(self, prefix: str = "") -> Sequence[JSONObject]:
        own = workspace.written_by(tenancy.run_scope(self.run), self.run.id)
        seen = {noted["path"]: noted["version"] for noted in self.run.workspace}
        seen |= {path: file.version for path, file in own.items()}
        return [{"path": path, "version": seen[path]} for path in sorted(seen) if path.startswith(prefix)]

    def read(self, path: str) -> JSONObject | None:
        scope = tenancy.run_scope(self.run)
        own = workspace.written_by(scope, self.run.id).get(checked_path(path))
        row = own.id if own else self._noted(path)
        if row is None:
            return None
        found = workspace.by_id(scope, row)
        if found is None:
            raise NodeFailure("workspace_version_gone", "The version of the file that this run sees is no longer kept.")
        return {**_file_document(found), "content": found.content, "contentType": found.content_type}

    def _noted(self, path: str) -> UUID | None:
        return next((UUID(noted["file"]) for noted in self.run.workspace if noted["path"] == path), None)

    def write(self, path: str, content: str, *, content_type: str = DEFAULT_CONTENT_TYPE) -> JSONObject:
        draft, scope = FileDraft(content, content_type), tenancy.run_scope(self.run)
        return _file_document(
            workspace.write_file(scope, path, draft, run=self.run, node_id=self.node_id, now=self.now)
        )


def _file_document(file: WorkspaceFile) -> JSONObject:
    return {"path": file.path, "version": file.version, "etag": file.etag}


log = logging.getLogger(__name__)
CRASHED = Failure("node_crashed", "The node failed for a reason of the host; the host's log has it.")
UNKNOWN_TYPE = Failure("node_type_unknown", "This host has no such node type.")
NOT_ALLOWED = Failure("tool_not_allowed", "The agent's manifest does not allow a tool that this node uses.")
TIMED_OUT = Failure("node_timeout", "The node took longer than its timeout allows.")
TOO_HEAVY = Failure("expression_too_heavy", "An expression takes too long, or comes to more than may be kept.")
INVALID = Failure("expression_invalid", "An input of the node came to a text or a number that cannot be kept.")
PATIENCE_S = 0.05  # CPU seconds for the expressions of all nodes of a page


@dataclass(frozen=True, slots=True)
class Position:
    """A run at one of its nodes."""

    run: Run
    definition: JSONObject
    node_id: str
    steps: dict[str, Step]

    @property
    def node(self) -> JSONObject:
        return workflows.node_of(self.definition, self.node_id)

    @property
    def agent(self) -> JSONObject:
        """The agent that the node acts as: its own, else the run's; empty when there is neither."""
        run_agent = {"agentId": self.run.agent_id} if self.run.agent_id else {}
        return workflows.agent_of(self.node) or run_agent


class NodeFailed(Exception):
    """Carries a node's failure out of its transaction, which is rolled back. A ``final`` failure is not retried."""

    def __init__(self, position: Position, failure: Failure, *, final: bool = False) -> None:
        self.position, self.failure, self.final = position, failure, final
        super().__init__(failure.code)


@dataclass(frozen=True, slots=True)
class Acted:
    """An agent's use of a host tool: the act, its answer, and the seconds it took."""

    act: Act
    answer: JSONObject
    took: float


def execute(position: Position, step: Step, clock: Clock, now: datetime) -> bool | Call | Acted:
    """Call the node and record its outcome; return whether the run can continue at once.

    Returns an outbound call or an agent's act instead, which the caller records. Every error becomes NodeFailed,
    except an unavailable database.
    """
    try:
        return _execute(position, step, clock, now)
    except (NodeFailed, OperationalError, InterfaceError):
        raise
    except Exception as bug:
        said = kind_of(bug)
        log.exception("node %s of run %s crashed: %s", position.node_id, position.run.id, said, exc_info=False)
        raise NodeFailed(position, CRASHED) from None


def kind_of(bug: Exception) -> str:
    """The type and traceback of a bug for the log, without its message, which may quote memory."""
    return f"{type(bug).__name__}\n{''.join(traceback.format_tb(bug.__traceback__))}"


def _execute(position: Position, step: Step, clock: Clock, now: datetime) -> bool | Call | Acted:
    if step.deadline_at and step.deadline_at <= now:
        raise NodeFailed(position, TIMED_OUT, final=True)
    memory = NodeMemory(position.run, position.node_id, position.agent.get("agentId", ""), now)
    outcome = _call(position, step, memory, now)
    if step.deadline_at and step.deadline_at < clock():
        raise NodeFailed(position, TIMED_OUT, final=True)
    if isinstance(outcome, Call):
        return outcome
    if isinstance(outcome, Act):
        began = time.monotonic()
        answer = _do(position.run, outcome)
        recordings.record_reads(position.run, position.node_id, memory.reads, more=True, now=now)
        return Acted(outcome, answer, time.monotonic() - began)
    again = step.state != StepState.STARTED and not makes_calls(position.node["typeId"])
    recordings.record_reads(position.run, position.node_id, memory.reads, again=again, now=now)
    return settle(position, step, outcome, clock())


def _do(run: Run, act: Act) -> JSONObject:
    """Run the tool and return its answer. A refusal is returned as an error, and its effects are rolled back."""
    try:
        with transaction.atomic():
            return {"result": act.do()}
    except (NodeFailure, Refusal) as problem:
        return {"error": asdict(_redacted_failure(run, problem))}


def call_again(position: Position, step: Step, memory: RunMemory, now: datetime) -> Outcome:
    """Call a replay's node, of a type that may be called again, at ``now`` with the recorded memory."""
    function = function_of(position.node["typeId"])
    assert function is not None
    return function(_context(position, step, memory, now))


def _call(position: Position, step: Step, memory: RunMemory, now: datetime) -> Outcome:
    """Call the node and return its outcome. Its failure, a refusal or a bug raises NodeFailed with code and message."""
    function = function_of(position.node["typeId"])
    if function is None:
        raise NodeFailed(position, UNKNOWN_TYPE, final=True)
    for capability in missing_for(position.node["typeId"]):
        missing = Failure("capability_not_provided", f"This host does not provide the capability {capability}.")
        raise NodeFailed(position, missing, final=True)
    _check_workflow(position)
    _check_agent(position, now)
    try:
        return function(_context(position, step, memory, now))
    except (NodeFailure, Refusal) as problem:
        final = isinstance(problem, NodeFailure) and problem.final
        raise NodeFailed(position, _redacted_failure(position.run, problem), final=final) from problem
    except (NodeFailed, OperationalError, InterfaceError):
        raise
    except DatabaseError as refused:
        # The driver quotes the row, and the row holds memory: only the kind of the error is logged.
        log.error("node %s of run %s: the database refused (%s)", position.node_id, position.run.id, type(refused))
        raise NodeFailed(position, CRASHED) from None
    except Exception as bug:
        log.exception("node %s of run %s crashed", position.node_id, position.run.id)
        raise NodeFailed(position, CRASHED) from bug


def _check_workflow(position: Position) -> None:
    """Fail the node for good while its workflow, or the pack that installed it, is disabled."""
    try:
        registry.require_own_enabled(position.run)
    except ArtifactDisabled as refused:
        raise NodeFailed(position, Failure(refused.code, refused.message), final=True) from None


def _check_agent(position: Position, now: datetime) -> None:
    """Fail the node if its agent is disabled or may not use its tools; record the use of an installed agent.

    A replay and a failed node record none.
    """
    run, node = position.run, position.node
    under = agents.applicable_manifest(run.tenant_id, position.agent.get("agentId", ""))
    if under and under.is_disabled:
        raise NodeFailed(position, Failure(ArtifactDisabled.code, registry.disabled(under).message), final=True)
    if agents.refused_tools(under, tools_of(node["typeId"], node["config"])):
        raise NodeFailed(position, NOT_ALLOWED, final=True)
    if under and under.superseded_at is None:
        registry.note_use(run, under, node_id=position.node_id, now=now)


def _redacted_failure(run: Run, problem: NodeFailure | Refusal) -> Failure:
    """The node's failure, redacted now, because its rollback removes the record of the secrets it resolved. That of a
    refusal names the fields that it is about."""
    message = problem.in_words if isinstance(problem, Refusal) else problem.message
    return Failure(problem.code, redaction.for_run(run.tenant_id, run.id).redact(message).text)


def _context(position: Position, step: Step, memory: RunMemory, now: datetime) -> NodeContext:
    run, node = position.run, position.node
    agent = position.agent
    calls = recordings.answers_of(run, position.node_id) if makes_calls(node["typeId"]) else []
    asked = step.state == StepState.WAITING or step.attempt > 1
    interrupt = interrupts.at_node(run, position.node_id) if asked else None
    return NodeContext(
        run=run,
        node_id=position.node_id,
        config=node["config"],
        inputs=_inputs(position),
        variables=run.variables,
        agent=agent,
        memory=memory,
        files=NodeFiles(run, position.node_id, now),
        started_at=step.started_at,
        attempt=step.attempt,
        resume_value=interrupt.resume_value if interrupt else None,
        now=now,
        calls=calls,
    )


def _inputs(position: Position) -> JSONObject:
    """The values of the node's input ports; NodeFailed when they are missing, too costly or not storable."""
    bounds = expressions.bounds_in_a_run()
    try:
        found = inputs_of(position, bounds)
    except expressions.TooHeavy:
        raise NodeFailed(position, TOO_HEAVY, final=True) from None
    if not expressions.is_storable(found):
        raise NodeFailed(position, INVALID, final=True)
    return found


def inputs_of(position: Position, bounds: Bounds) -> JSONObject:
    """The values of the node's ports: static, or from variables, earlier outputs or expressions.

    Of the outputs only those that the ports read are loaded.
    """
    read = {node_id for port in position.node["inputs"].values() for node_id in _nodes_read(port, position)}
    steps.load_outputs(position.steps, read)
    return {name: _port(position, port, bounds) for name, port in position.node["inputs"].items()}


def _nodes_read(port: JSONObject, position: Position) -> Collection[str]:
    """The ids of the nodes whose outputs the port reads."""
    if port["type"] == "expression":
        named = expressions.nodes_read(port["expression"])
        return position.steps if named is None else named & position.steps.keys()
    return [port["nodeId"]] if "nodeId" in port else []


def _port(position: Position, port: JSONObject, bounds: Bounds) -> Any:
    if port["type"] == "static":
        return port["value"]
    if port["type"] == "expression":
        return expressions.evaluate(port["expression"], _values_of_nodes(position, _nodes_read(port, position)), bounds)
    if port["type"] == "variable":
        values, key = position.run.variables, port["variableName"]
    else:
        before = position.steps.get(port["nodeId"])
        values, key = before.outputs if before else {}, port["outputKey"]
    if key not in values and not port.get("optional"):
        missing = Failure("input_missing", f"The input {key!r} has no value.")
        raise NodeFailed(position, missing, final=True)
    return values.get(key)


def _values_of_nodes(position: Position, node_ids: Collection[str]) -> JSONObject:
    """The values visible to an expression that reads the outputs of these nodes: variables, inputs, and outputs by node
    id."""
    outputs = {node_id: position.steps[node_id].outputs for node_id in node_ids}
    run = position.run
    return {**run.variables, "variables": run.variables, "inputs": run.inputs, "nodes": outputs}


def settle(position: Position, step: Step, outcome: Outcome, now: datetime) -> bool:
    """Record the redacted outcome and its events, and renew the lease; return True."""
    run = position.run
    if isinstance(outcome, Done):
        redactor = redaction.for_run(run.tenant_id, run.id)
        variables = redactor.redact_json(outcome.variables)
        run.variables = redactor.redact_json({**run.variables, **variables})
        steps.finish(step, outputs=redactor.redact_json(outcome.outputs), variables=variables)
        facts = [*_artifact_of(position.node), NodeCompleted(position.node_id)]
        runs.progress(run, *facts, ready_at=runs.LEASE.end(now), now=now)
        return True
    if isinstance(outcome, Sleep):
        steps.settle(step, StepState.SLEEPING, wake_at=max(outcome.until, now + timedelta(milliseconds=1)))
    elif isinstance(outcome, Wait):
        steps.settle(step, StepState.WAITING)
        asked = redaction.for_run(run.tenant_id, run.id).redact_json(outcome.asked)
        interrupts.open_interrupt(run, position.node_id, replace(outcome, asked=asked), now=now)
    runs.progress(run, ready_at=runs.LEASE.end(now), now=now)
    return True


def reports_of_run(run: Run, events: Sequence[Recorded], uses: Sequence[Resolution]) -> dict[str, NodeReport]:
    """One report per node that has begun; one query for the steps, however many there are."""
    done = steps.steps_of_run(run.tenant_id, run.id)
    if not done:
        return {}
    definition, mask = json.loads(run.definition.text), redaction.mask_of_run(run)
    nodes = {node["id"]: node for node in definition["nodes"]}
    inputs = _inputs_of_nodes(run, definition, done, events)
    templates = {
        use.installation.name: use.installation for use in uses if use.installation.kind == ArtifactKind.PROMPT_TEMPLATE
    }
    reports = {}
    for node_id, step in done.items():
        node = nodes.get(node_id)
        template = templates.get(str(node["config"].get("template", ""))) if node else None
        reports[node_id] = NodeReport(
            agent_id=(workflows.agent_of(node) if node else {}).get("agentId", run.agent_id),
            inputs=mask.value(inputs.get(node_id)),
            template_name=template.name if template else "",
            template_ref=template.ref if template else "",
            template=json.loads(template.text)["text"] if template else "",
            outputs=mask.value(step.outputs),
        )
    return reports


def _inputs_of_nodes(
    run: Run, definition: JSONObject, done: dict[str, Step], events: Sequence[Recorded]
) -> dict[str, JSONObject | None]:
    """Each node's inputs when it began, recomputed from the variables and outputs that earlier nodes had set."""
    then, before = copy.copy(run), dict[str, Step]()
    defaults = {each["name"]: each["defaultValue"] for each in definition["variables"] if "defaultValue" in each}
    then.variables = {**defaults, **run.inputs}
    bounds = Bounds(time.thread_time() + PATIENCE_S, time.thread_time)
    found: dict[str, JSONObject | None] = {}
    for event in events:
        if event.node_id not in done:
            continue
        if event.type == NodeStarted.type:
            found[event.node_id] = _recorded_inputs(Position(then, definition, event.node_id, dict(before)), bounds)
        elif event.type == NodeCompleted.type:
            before[event.node_id] = done[event.node_id]
            then.variables = {**then.variables, **done[event.node_id].variables}
    return found


def _recorded_inputs(position: Position, bounds: Bounds) -> JSONObject | None:
    """The inputs; None when one is missing or an expression takes too long for a page."""
    try:
        return inputs_of(position, bounds)
    except (NodeFailed, expressions.TooHeavy, StopIteration):
        return None


def _artifact_of(node: JSONObject) -> list[ArtifactCreated]:
    """The event of the artifact that a completed node declares."""
    if kind := node.get("artifactType"):
        return [ArtifactCreated(artifact_id(node["id"]), kind, node["id"])]
    return []
