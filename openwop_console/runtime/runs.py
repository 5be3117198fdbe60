"""What a principal may ask of runs: create, read, cancel. Policy lives here, so every door meets the same refusals."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from memory import event_notes, recordings, redaction, workspace
from memory.host import access, audit, event_log, ids, interrupts, registry, runs
from memory.host.errors import Conflict, Invalid, NotFound, RunAlreadyActive, WorkflowNotFound
from memory.host.event_log import Recorded
from memory.host.events import Event, Failure
from memory.host.interrupts import InterruptNotFound
from memory.host.json_types import JSONObject
from memory.host.models import Interrupt, Run, RunStatus
from memory.host.runs import ENDS, RunOrder
from memory.host.tenancy import TenantScope
from memory.openintent import events
from memory.wire import instant
from openwop_console.runtime import artifacts, chains, run_options, steps, workflows
from openwop_console.runtime import interrupts as runtime_interrupts
from openwop_console.runtime.artifacts import RunArtifact
from openwop_console.runtime.chains import Plan
from openwop_console.runtime.models import Step
from openwop_console.runtime.run_options import RunRequest

RETRY_AFTER_S = 5
MAX_RUN_IDS = 100
FROM_OUTSIDE = " from outside"
IN_ONE = transaction.atomic(savepoint=False)  # a caller's transaction is undone as a whole


def create_run(scope: TenantScope, request: RunRequest, *, now: datetime) -> Run:
    """A pending run of the tenant's workflow; a worker takes it. Inputs override the variables' defaults.

    A secret of the vault that somebody passes in is kept as its mark: a node resolves it by name (SR-1).
    """
    scope.check("runs:create")
    run_options.check(scope, request)
    plan = chains.find(scope.tenant_id, request.workflow_id)
    if plan is None:
        raise WorkflowNotFound
    plan.require_enabled()
    check_agents(scope, request, plan.definition)
    run_options.check_configurable(request.configurable, plan.definition)
    variables = begun_with(plan.definition, request.inputs)
    clean = redaction.for_tenant(scope.tenant_id).redact_json
    order = RunOrder(
        workflow_id=request.workflow_id,
        definition=plan.text,
        principal=scope.principal.id,
        agent_id=request.agent_id,
        traceparent=scope.traceparent,
        inputs=clean(request.inputs),
        variables=clean(variables),
        configurable=clean(request.configurable),
        tags=clean(request.tags),
        metadata=clean(request.metadata),
        scope_id=clean(request.scope_id),
        workspace=workspace.snapshot(scope),
    )
    return _opened(scope, order, plan, alone=request.dedup, now=now)


@transaction.atomic
def _opened(scope: TenantScope, order: RunOrder, plan: Plan, *, alone: bool, now: datetime) -> Run:
    """The run; ``alone``, unless one of its scope is active. What a pack has brought is noted as used by it."""
    if alone:
        _require_none_active(scope, order)
    run = runs.open_run(scope.tenant_id, order, now=now)
    if plan.part:
        registry.note_use(run, plan.part, now=now)
    return run


def _require_none_active(scope: TenantScope, order: RunOrder) -> None:
    """Who asks at the same moment waits for the tenant's row."""
    access.lock_tenant(scope.tenant_id)
    active = runs.active_in(scope.tenant_id, order.scope_id)
    if active:
        raise RunAlreadyActive(activeRunId=ids.wire("run", active.id), activeHost="self", retryAfter=RETRY_AFTER_S)


def check_agents(scope: TenantScope, request: RunRequest, definition: JSONObject) -> None:
    """Refuse a run that would act as an agent whom this principal may not act as."""
    for agent_id in {request.agent_id, *workflows.agents_of(definition)} - {""}:
        scope.check_agent(agent_id)


def begun_with(definition: JSONObject, inputs: JSONObject) -> JSONObject:
    """What the variables of a new run begin with; refused, by field, when it cannot be started with these inputs."""
    chains.check_inputs(definition, inputs)
    return variables_of(definition, inputs)


def variables_of(definition: JSONObject, inputs: JSONObject) -> JSONObject:
    """What the variables of a run with these inputs begin with; refused when a required one would be missing."""
    declared = definition["variables"]
    defaults = {each["name"]: each["defaultValue"] for each in declared if "defaultValue" in each}
    missing = workflows.missing_in(definition, inputs)
    if missing:
        errors = [{"field": f"inputs.{name}", "message": "is required by the workflow"} for name in missing]
        raise Invalid("The workflow needs more inputs.", errors=errors)
    return {**defaults, **inputs}


@dataclass(frozen=True, slots=True)
class RunState:
    """A run, what it waits for now (the oldest question first), and where its nodes stand.

    ``tokens`` are of the interrupts that this principal may answer.
    """

    run: Run
    interrupts: list[Interrupt]
    steps: dict[str, Step]
    tokens: dict[UUID, str] = field(default_factory=dict)


def find_run(scope: TenantScope, run_id: UUID | None, *, now: datetime) -> Run:
    """The run, for who may read it: one that is a log of OpenIntent is as open here as it is at its own address."""
    scope.check("runs:read")
    return _opened_to(scope, run_id, now)


def _opened_to(scope: TenantScope, run_id: UUID | None, now: datetime) -> Run:
    run = runs.find(scope.tenant_id, run_id)
    events.require_readable(scope, run, now=now)
    return run


def still_readable(scope: TenantScope, run_id: UUID, *, now: datetime) -> bool:
    """Whether a run that was found is readable at this moment."""
    bound = scope.principal.agent_ids is not None  # to any other key every run of its tenant is
    return not bound or events.is_readable(scope, runs.find(scope.tenant_id, run_id), now=now)


def read_run(scope: TenantScope, run_id: UUID | None, *, now: datetime) -> RunState:
    """Where the run stands, with tokens of what may be answered."""
    state = state_of(find_run(scope, run_id, now=now))
    return replace(state, tokens=runtime_interrupts.tokens_for(scope, state.interrupts, now=now))


def state_of(run: Run) -> RunState:
    """Where the run stands, for whoever was let in; without tokens."""
    asked = interrupts.open_at(run) if run.status not in ENDS else []
    return RunState(run, asked, steps.steps_of_run(run.tenant_id, run.id))


def read_events(scope: TenantScope, run: Run, *, after: int) -> tuple[list[Recorded], bool]:
    """The run's events behind ``after``, and whether the run has ended and nothing is left after these.

    For whoever was let in, by ``find_run`` or at the log's own address. ``run`` is as it was before: one that is
    terminal has its terminal event in the log already. One that has ended since is known by that event, which is
    always the last.
    """
    scope.check("runs:read")
    events = event_notes.with_reasons(scope.tenant_id, event_log.read(scope.tenant_id, run.id, after=after))
    events = recordings.with_texts(scope, run, events)
    if events and events[-1].type in event_log.ENDINGS:
        return events, True
    return events, run.status in ENDS and len(events) < event_log.PAGE


@transaction.atomic
def cancel_run(scope: TenantScope, run_id: UUID | None, *, reason: str = "", now: datetime) -> Run:
    """The run is cancelling, or has ended already and stays as it is."""
    scope.check("runs:cancel")
    run = runs.find(scope.tenant_id, run_id)
    runs.require_own(run, "cancelled", FROM_OUTSIDE)
    run = request_cancel(scope, run, reason=reason, now=now)
    target = ids.wire("run", run.id)
    audit.append(scope.tenant_id, actor=scope.principal.id, action="run.cancel", target=target, now=now)
    return run


def request_cancel(scope: TenantScope, run: Run, *, reason: str, now: datetime) -> Run:
    """The run is cancelling, or has ended already; of several who ask the first is named, with that reason."""
    run = runs.locked(run.tenant_id, run.id)
    if run.status not in runs.ENDING:
        event_notes.give_reason(run.tenant_id, run.id, reason)
    return runs.request_cancel(run, by=scope.principal.id, now=now)


def read_interrupt(scope: TenantScope, run_id: UUID | None, interrupt_id: UUID | None) -> Interrupt:
    """A plain interrupt of the run, answered or not."""
    scope.check("runs:read")
    run = runs.find(scope.tenant_id, run_id)
    found = interrupts.by_id(scope.tenant_id, interrupt_id) if interrupt_id else None
    if found is None or found.run_id != run.id or not interrupts.is_plain(found):
        raise InterruptNotFound
    return found


def resolve_interrupt(
    scope: TenantScope, run_id: UUID | None, node_id: str, resume_value: object, *, voter: str = "", now: datetime
) -> Run:
    """The interrupt at ``node_id`` is answered through whoever brought the node's type; refused when nobody did.

    Without the permission everything is one refusal, whether it is there or not; where something is, the resolver puts
    the denial on record. The resolver keeps its own transactions, so that the record stays although it refuses.
    """
    if not scope.can(interrupts.SCOPE) and not (run_id and Run.objects.of(scope.tenant_id).filter(id=run_id).exists()):
        scope.check(interrupts.SCOPE)
    run = runs.find(scope.tenant_id, run_id)
    nodes = json.loads(run.definition.text)["nodes"]
    resolver = interrupts.resolver_of(next((node["typeId"] for node in nodes if node["id"] == node_id), ""))
    if resolver is None:
        scope.check(interrupts.SCOPE)
        raise InterruptNotFound
    value = runtime_interrupts.spoken_by(voter, run, resume_value) if scope.can(interrupts.SCOPE) else resume_value
    resolver.resolve(scope, run, node_id, value, now)
    return runs.find(scope.tenant_id, run.id)


def run_again(scope: TenantScope, run_id: UUID | None, *, now: datetime) -> Run:
    """A fresh run of the same workflow as it is now, with the inputs that run had."""
    run = runs.find(scope.tenant_id, run_id)
    runs.require_own(run, "started", " by hand")
    return create_run(scope, RunRequest(run.workflow_id, inputs=run.inputs, agent_id=run.agent_id), now=now)


def read_workflow(scope: TenantScope, workflow_id: str) -> JSONObject:
    """The definition a run of ``workflow_id`` would pin now."""
    scope.check("manifest:read")
    text = registry.workflow_text(scope.tenant_id, workflow_id)
    if text is None:
        raise WorkflowNotFound
    found: JSONObject = json.loads(text)
    return found


def read_artifacts(scope: TenantScope, run_id: UUID | None, *, now: datetime) -> list[RunArtifact]:
    """What the nodes of the run have left so far."""
    scope.check("artifacts:read")
    return list(artifacts.artifacts_of_run(_opened_to(scope, run_id, now)))


def read_artifact(scope: TenantScope, run_id: UUID | None, artifact_id: str, *, now: datetime) -> RunArtifact:
    scope.check("artifacts:read")
    return artifacts.find(_opened_to(scope, run_id, now), artifact_id)


@transaction.atomic
def pause_run(scope: TenantScope, run_id: UUID | None, *, drain: bool = True, reason: str = "", now: datetime) -> Run:
    """The run begins no node any more; with ``drain`` what it had begun is finished first (openwop-host 3.8)."""
    run = _controllable(scope, run_id)
    if run.status == RunStatus.PAUSED:
        raise Conflict("The run is paused already.", runStatus=run.status, pausedAt=_when(run))
    if run.status in runs.ENDING:
        raise Conflict(f"A run that is {run.status} is not paused.", runStatus=run.status)
    event_notes.give_reason(scope.tenant_id, run.id, reason)
    event_notes.attach_reason(run, runs.pause(run, drain=drain, now=now))
    _note(scope, "run.pause", run, now)
    return run


@transaction.atomic
def resume_run(scope: TenantScope, run_id: UUID | None, *, reason: str = "", now: datetime) -> Run:
    """The paused run goes on where it stood; no timeout of its nodes and questions counts the time it was paused."""
    run = _controllable(scope, run_id)
    if run.status != RunStatus.PAUSED:
        raise Conflict("The run is not paused.", runStatus=run.status)
    paused = now - (run.paused_at or now)
    steps.postpone(run, paused)
    interrupts.postpone(run, paused)
    is_told = run.started_at is not None and not run.draining
    event_notes.give_reason(scope.tenant_id, run.id, reason if is_told else "")
    event_notes.attach_reason(run, runs.resume(run, now=now))
    _note(scope, "run.resume", run, now)
    return run


def _controllable(scope: TenantScope, run_id: UUID | None) -> Run:
    scope.check("runs:cancel")
    run = runs.find(scope.tenant_id, run_id)
    runs.require_own(run, "steered", FROM_OUTSIDE)
    return runs.locked(scope.tenant_id, run.id)


def _when(run: Run) -> str | None:
    return instant(run.paused_at) if run.paused_at else None


def _note(scope: TenantScope, action: str, run: Run, now: datetime) -> None:
    audit.append(scope.tenant_id, actor=scope.principal.id, action=action, target=ids.wire("run", run.id), now=now)


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What became of one id of a bulk cancel: the run's status, or why not."""

    run_id: str
    status: str = ""
    code: str = ""
    message: str = ""


@transaction.atomic
def cancel_runs(scope: TenantScope, run_ids: list[str], *, reason: str = "", now: datetime) -> list[Cancelled]:
    """Each run is cancelling, or has ended already, or the reason why not is told; in the order asked for.

    The runs are locked by id and the audit chain last, as everybody else does: nobody waits for one who waits for them.
    """
    scope.check("runs:cancel")
    wanted = [ids.parse("run", run_id) for run_id in run_ids]
    found = runs.find_many(scope.tenant_id, [run_id for run_id in wanted if run_id])
    for run_id in sorted(found):
        if _is_own(found[run_id]):
            found[run_id] = request_cancel(scope, found[run_id], reason=reason, now=now)
    for run in found.values():
        if _is_own(run):
            _note(scope, "run.cancel", run, now)
    return [_outcome(text, found.get(run_id) if run_id else None) for text, run_id in zip(run_ids, wanted, strict=True)]


def _is_own(run: Run) -> bool:
    """Whether this host executes the run for somebody."""
    return not (run.system or run.external)


def _outcome(run_id: str, run: Run | None) -> Cancelled:
    if run is None:
        return Cancelled(run_id, code=NotFound.code, message="There is no run by that id.")
    if not _is_own(run):
        whose = "that an agent executes elsewhere" if run.external else "of the host itself"
        return Cancelled(run_id, code=Conflict.code, message=f"A run {whose} is not cancelled{FROM_OUTSIDE}.")
    return Cancelled(run_id, status=run.status)


@IN_ONE
def complete_run(run: Run, *, now: datetime) -> None:
    runs.complete(run, now=now)
    interrupts.end_with(run, now=now)


@IN_ONE
def fail_run(run: Run, failure: Failure, *events: Event, node_id: str | None = None, now: datetime) -> None:
    runs.fail(run, failure, *events, node_id=node_id, now=now)
    interrupts.end_with(run, now=now)


@IN_ONE
def end_cancelled_run(run: Run, *events: Event, now: datetime) -> None:
    """The reason that was given for it is kept beside ``run.cancelled``."""
    event_notes.attach_reason(run, runs.cancel(run, *events, now=now))
    interrupts.end_with(run, now=now)


@IN_ONE
def copy_events(
    run: Run, source: Run, told: Sequence[Recorded], *, lasts: timedelta | None = None, now: datetime
) -> None:
    """The events of ``source`` stand on the log of its fork, which ends with the last of them if ``source`` did."""
    runs.retell(run, source, told, lasts=lasts, now=now)
    if run.status in runs.ENDS:
        interrupts.end_with(run, now=now)
