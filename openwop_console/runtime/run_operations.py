"""Operations on runs and their policy: create, read, answer, pause and cancel; every API shares these refusals."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from memory import addresses, event_notes, external_runs, recordings, redaction, workspace
from memory.host import access, audit, event_log, ids, interrupts, json_schemas, registry, runs
from memory.host.errors import (
    CapabilityNotProvided,
    Conflict,
    Forbidden,
    ForceEngineVersionForbidden,
    Invalid,
    NotFound,
    RunAlreadyActive,
    Unprocessable,
    WorkflowNotFound,
)
from memory.host.event_log import Recorded
from memory.host.events import Event, Failure
from memory.host.interrupts import InterruptNotFound
from memory.host.json_types import JSONObject
from memory.host.models import Interrupt, Run, RunStatus
from memory.host.runs import ENDS, RunOrder
from memory.host.tenancy import TenantScope
from memory.models import ExternalRun
from memory.openintent import events
from memory.text.matching import FORGOTTEN
from memory.wire import instant
from openwop_console.runtime import artifacts, chains, interrupt_answers, steps, workflows
from openwop_console.runtime.artifacts import RunArtifact
from openwop_console.runtime.chains import Plan
from openwop_console.runtime.models import Step

RETRY_AFTER_S = 5
MAX_RUN_IDS = 100
FROM_OUTSIDE = " from outside"
IN_ONE = transaction.atomic(savepoint=False)  # no savepoint: an error rolls back the caller's whole transaction
MAX_METADATA_BYTES = 50_000
# Fields that the contract's closed request body has and this host does not support: refused, never ignored.
NOT_OFFERED = {
    "callback_url": "runs.callbackUrl",
    "residency": "residency",
    "mode": "agents.evalSuite",
    "eval_suite": "agents.evalSuite",
}
FIELD = "configurable"
CONFIGURABLE = {
    "type": "object",
    "properties": {
        "recursionLimit": {"type": "integer", "minimum": 1},
        "runTimeoutMs": {"type": "integer", "minimum": 1},
        # A name: it goes on the log, which holds no content.
        "model": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": r"^\S+$"},
        "temperature": {"type": "number", "minimum": 0, "maximum": 2},
        "maxTokens": {"type": "integer", "minimum": 1},
        "distillation.tokenBudget": {"type": "integer", "minimum": 1},
        "promptOverrides": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
MAX_NODE_EXECUTIONS = 1000
MAX_RUN_DURATION_MS = 30 * 24 * 3_600_000
MAX_RETRIES = 10
RETRY_DELAY_MS = 1000
LONGEST_RETRY_DELAY = timedelta(minutes=5)


class MockProviderForbidden(Forbidden):
    code = "mock_provider_forbidden"
    message = "This host has no mock provider."


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A client's request to create a run. ``dedup`` refuses a second active run of one ``scope_id``."""

    workflow_id: str
    inputs: JSONObject = field(default_factory=dict)
    agent_id: str = ""
    tenant_slug: str = ""
    scope_id: str = ""
    dedup: bool = False
    engine_version: str = ""
    callback_url: str = ""
    residency: str = ""
    mode: str = ""
    eval_suite: str = ""
    configurable: JSONObject = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    metadata: JSONObject = field(default_factory=dict)


def create_run(scope: TenantScope, request: RunRequest, *, now: datetime) -> Run:
    """Create a pending run of the tenant's workflow for a worker to claim. Inputs override the variables' defaults.

    A vault secret passed as a value is stored redacted: a node resolves secrets by name (SR-1).
    """
    scope.check("runs:create")
    check_request(scope, request)
    plan = chains.find(scope.tenant_id, request.workflow_id)
    if plan is None:
        raise WorkflowNotFound
    plan.require_enabled()
    check_agents(scope, request, plan.definition)
    check_configurable(request.configurable, plan.definition)
    variables = begun_with(plan.definition, request.inputs)
    redactor = redaction.for_tenant(scope.tenant_id)
    if redactor.redact(request.agent_id).count:
        raise Invalid(errors=[{"field": "agentId", "message": addresses.NEVER_AN_ID}])
    clean = redactor.redact_json
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
    """Open the run and record its use of a pack. With ``alone``, refuse while a run of its scope is active."""
    if alone:
        _require_none_active(scope, order)
    run = runs.open_run(scope.tenant_id, order, now=now)
    if plan.part:
        registry.note_use(run, plan.part, now=now)
    return run


def _require_none_active(scope: TenantScope, order: RunOrder) -> None:
    """Refuse while a run of the scope is active. Locks the tenant's row, so concurrent requests take turns."""
    access.lock_tenant(scope.tenant_id)
    active = runs.active_in(scope.tenant_id, order.scope_id)
    if active:
        raise RunAlreadyActive(activeRunId=ids.wire("run", active.id), activeHost="self", retryAfter=RETRY_AFTER_S)


def check_agents(scope: TenantScope, request: RunRequest, definition: JSONObject) -> None:
    """Refuse a run that would act as an agent that this principal may not use."""
    for agent_id in {request.agent_id, *workflows.agents_of(definition)} - {""}:
        scope.check_agent(agent_id)


def check_request(scope: TenantScope, request: RunRequest) -> None:
    """Refuse options that this principal may not use or this host does not support."""
    if request.tenant_slug not in ("", scope.principal.tenant_slug):
        raise Forbidden("A run is created in the tenant of its credential.", rule="tenant")
    if request.engine_version:
        raise ForceEngineVersionForbidden
    for name, capability in NOT_OFFERED.items():
        if getattr(request, name):
            raise CapabilityNotProvided(capability=capability)
    if request.dedup and not request.scope_id:
        message = "is required with X-Dedup: enforce"
        raise Invalid("A run is deduplicated by its scope.", errors=[{"field": "scopeId", "message": message}])
    if len(json.dumps(request.metadata)) > MAX_METADATA_BYTES:
        raise Invalid(errors=[{"field": "metadata", "message": f"has at most {MAX_METADATA_BYTES} bytes"}])


def check_configurable(configurable: JSONObject, definition: JSONObject) -> None:
    """Refuse, with field paths, values that violate the reserved keys or the workflow's ``configurableSchema``."""
    if "mockProvider" in configurable:
        raise MockProviderForbidden
    own = definition.get("configurableSchema", {})
    if not (configurable or own):
        return
    if problem := json_schemas.problem_of(own):
        raise Invalid("The run cannot be configured.", errors=[{"field": "configurableSchema", "message": problem}])
    errors = [
        error for schema in (CONFIGURABLE, own) for error in json_schemas.problems(schema, configurable, field=FIELD)
    ]
    if errors:
        raise Invalid("The run cannot be configured like that.", errors=errors)


def begun_with(definition: JSONObject, inputs: JSONObject) -> JSONObject:
    """The initial variables of a new run; refused, with fields, when it cannot start with these inputs."""
    chains.check_inputs(definition, inputs)
    return variables_of(definition, inputs)


def variables_of(definition: JSONObject, inputs: JSONObject) -> JSONObject:
    """Merge defaults and inputs into initial variables; refused when a required one is missing."""
    declared = definition["variables"]
    defaults = {each["name"]: each["defaultValue"] for each in declared if "defaultValue" in each}
    missing = workflows.missing_in(definition, inputs)
    if missing:
        errors = [{"field": f"inputs.{name}", "message": "is required by the workflow"} for name in missing]
        raise Invalid("The workflow needs more inputs.", errors=errors)
    return {**defaults, **inputs}


@dataclass(frozen=True, slots=True)
class RunState:
    """A run, its open interrupts (oldest first) and its steps.

    ``tokens`` are for the interrupts that this principal may answer. ``stated`` is what an agent elsewhere says of its
    run, for who may read that.
    """

    run: Run
    interrupts: list[Interrupt]
    steps: dict[str, Step]
    tokens: dict[UUID, str] = field(default_factory=dict)
    stated: ExternalRun | None = None


def find_run(scope: TenantScope, run_id: UUID | None, *, now: datetime) -> Run:
    """The run, if the principal may read it; an OpenIntent log has the same access rule here as at its own address."""
    scope.check("runs:read")
    return _opened_to(scope, run_id, now)


def _opened_to(scope: TenantScope, run_id: UUID | None, now: datetime) -> Run:
    run = runs.find(scope.tenant_id, run_id)
    events.require_readable(scope, run, now=now)
    return run


def still_readable(scope: TenantScope, run_id: UUID, *, now: datetime) -> bool:
    """Whether a run that was found before is still readable now."""
    bound = scope.principal.agent_ids is not None  # any other key may read every run of its tenant
    return not bound or events.is_readable(scope, runs.find(scope.tenant_id, run_id), now=now)


def read_run(scope: TenantScope, run_id: UUID | None, *, now: datetime) -> RunState:
    """The run's state, with tokens for the interrupts that the principal may answer."""
    state = state_of(scope, find_run(scope, run_id, now=now))
    return replace(state, tokens=interrupt_answers.tokens_for(scope, state.run, state.interrupts, now=now))


def state_of(scope: TenantScope, run: Run) -> RunState:
    """The run's state without tokens; the caller has checked access to the run."""
    asked = interrupts.open_at(run) if run.status not in ENDS else []
    stated = external_runs.statements_about(scope, [run]).get(run.id)
    return RunState(run, asked, steps.steps_of_run(run.tenant_id, run.id), stated=stated)


def read_events(scope: TenantScope, run: Run, *, after: int) -> tuple[list[Recorded], bool]:
    """One page of the run's events after ``after``, and whether it completes the log of an ended run.

    The caller has checked access, through ``find_run`` or at the log's own address. ``run`` may be stale: if it is
    terminal, its terminal event is already in the log; if it has ended since, that event, always the last, shows it.
    """
    scope.check("runs:read")
    events = event_notes.with_reasons(scope.tenant_id, event_log.read(scope.tenant_id, run.id, after=after))
    events = recordings.with_texts(scope, run, events)
    if events and events[-1].type in event_log.ENDINGS:
        return events, True
    return events, run.status in ENDS and len(events) < event_log.PAGE


@transaction.atomic
def cancel_run(scope: TenantScope, run_id: UUID | None, *, reason: str = "", now: datetime) -> Run:
    """Request cancellation of the run; no effect on a run that has ended. Audited."""
    scope.check("runs:cancel")
    run = runs.find(scope.tenant_id, run_id)
    runs.require_own(run, "cancelled", FROM_OUTSIDE)
    run = request_cancel(scope, run, reason=reason, now=now)
    target = ids.wire("run", run.id)
    audit.append(scope.tenant_id, actor=scope.principal.id, action="run.cancel", target=target, now=now)
    return run


def request_cancel(scope: TenantScope, run: Run, *, reason: str, now: datetime) -> Run:
    """Request cancellation under the run's lock; of several requests, the first one's principal and reason count."""
    run = runs.locked(run.tenant_id, run.id)
    if run.status not in runs.ENDING:
        event_notes.give_reason(run.tenant_id, run.id, reason)
    return runs.request_cancel(run, by=scope.principal.id, now=now)


def read_interrupt(scope: TenantScope, run_id: UUID | None, interrupt_id: UUID | None) -> Interrupt:
    """A plain interrupt of the run, open or answered; raises InterruptNotFound for any other."""
    scope.check("runs:read")
    run = runs.find(scope.tenant_id, run_id)
    found = interrupts.by_id(scope.tenant_id, interrupt_id) if interrupt_id else None
    if found is None or found.run_id != run.id or not interrupts.is_plain(found):
        raise InterruptNotFound
    return found


def resolve_interrupt(
    scope: TenantScope, run_id: UUID | None, node_id: str, resume_value: object, *, voter: str = "", now: datetime
) -> Run:
    """Answer the interrupt at ``node_id`` through the resolver of the node's type; refused when it has none.

    Without the permission the refusal is the same whether or not the run or interrupt exists; if it exists, the
    resolver records the denial. The resolver manages its own transactions, so that this record survives the refusal.
    """
    if not scope.can(interrupts.SCOPE) and not (run_id and Run.objects.of(scope.tenant_id).filter(id=run_id).exists()):
        scope.check(interrupts.SCOPE)
    run = runs.find(scope.tenant_id, run_id)
    nodes = json.loads(run.definition.text)["nodes"]
    resolver = interrupts.resolver_of(next((node["typeId"] for node in nodes if node["id"] == node_id), ""))
    if resolver is None:
        scope.check(interrupts.SCOPE)
        raise InterruptNotFound
    value = interrupt_answers.spoken_by(voter, run, resume_value) if scope.can(interrupts.SCOPE) else resume_value
    resolver.resolve(scope, run, node_id, value, now)
    return runs.find(scope.tenant_id, run.id)


def run_again(scope: TenantScope, run_id: UUID | None, *, now: datetime) -> Run:
    """Create a run of the workflow's current version with the inputs and agent of an earlier run.

    Refused when a subject was forgotten from the inputs: the run would act, with effects, on the mark in their place.
    """
    scope.check("runs:create")
    run = runs.find(scope.tenant_id, run_id)
    runs.require_own(run, "started", " by hand")
    if FORGOTTEN in json.dumps(run.inputs, ensure_ascii=False):
        raise Unprocessable("A subject was forgotten from the inputs of this run. Start its workflow with new inputs.")
    return create_run(scope, RunRequest(run.workflow_id, inputs=run.inputs, agent_id=run.agent_id), now=now)


def read_workflow(scope: TenantScope, workflow_id: str) -> JSONObject:
    """The definition that a run of ``workflow_id`` would pin now."""
    scope.check("manifest:read")
    text = registry.workflow_text(scope.tenant_id, workflow_id)
    if text is None:
        raise WorkflowNotFound
    found: JSONObject = json.loads(text)
    return found


def read_artifacts(scope: TenantScope, run_id: UUID | None, *, now: datetime) -> list[RunArtifact]:
    """The artifacts that the run's nodes have created."""
    scope.check("artifacts:read")
    return list(artifacts.artifacts_of_run(_opened_to(scope, run_id, now)))


def read_artifact(scope: TenantScope, run_id: UUID | None, artifact_id: str, *, now: datetime) -> RunArtifact:
    scope.check("artifacts:read")
    return artifacts.find(_opened_to(scope, run_id, now), artifact_id)


@transaction.atomic
def pause_run(scope: TenantScope, run_id: UUID | None, *, drain: bool = True, reason: str = "", now: datetime) -> Run:
    """Pause the run: no further node begins; with ``drain``, started nodes finish first (openwop-host 3.8). Audited.

    A run that waits for an answer or for a worker has none to finish, and is paused at once.
    """
    run, now = _controllable(scope, run_id, now)
    if run.status == RunStatus.PAUSED:
        raise Conflict("The run is paused already.", runStatus=run.status, pausedAt=_when(run))
    if run.status in runs.ENDING:
        raise Conflict(f"A run that is {run.status} is not paused.", runStatus=run.status)
    event_notes.give_reason(scope.tenant_id, run.id, reason)
    sequence = runs.pause(run, drain=drain, now=now)
    if drain and not run.holder and not steps.has_sleeping(run):
        sequence = runs.drained(run, now=now)
    event_notes.attach_reason(run, sequence)
    _note(scope, "run.pause", run, now)
    return run


@transaction.atomic
def resume_run(scope: TenantScope, run_id: UUID | None, *, reason: str = "", now: datetime) -> Run:
    """Resume a paused run; the timeouts of its nodes and questions exclude the time it was paused. Audited."""
    run, now = _controllable(scope, run_id, now)
    if run.status != RunStatus.PAUSED:
        raise Conflict("The run is not paused.", runStatus=run.status)
    paused = now - (run.paused_at or now)
    steps.postpone(run, paused)
    interrupts.postpone(run, paused)
    event_notes.give_reason(scope.tenant_id, run.id, "" if run.draining else reason)
    event_notes.attach_reason(run, runs.resume(run, now=now))
    _note(scope, "run.resume", run, now)
    return run


def _controllable(scope: TenantScope, run_id: UUID | None, now: datetime) -> tuple[Run, datetime]:
    """The run, locked, and the present: ``now``, or the time of the last event that was appended while this waited."""
    scope.check("runs:cancel")
    run = runs.find(scope.tenant_id, run_id)
    runs.require_own(run, "steered", FROM_OUTSIDE)
    run = runs.locked(scope.tenant_id, run.id)
    last = event_log.read(run.tenant_id, run.id, after=event_log.length(run.tenant_id, run.id) - 2, limit=1)
    return run, max([now, *(each.timestamp for each in last)])


def _when(run: Run) -> str | None:
    return instant(run.paused_at)


def _note(scope: TenantScope, action: str, run: Run, now: datetime) -> None:
    audit.append(scope.tenant_id, actor=scope.principal.id, action=action, target=ids.wire("run", run.id), now=now)


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The outcome for one id of a bulk cancel: the run's status, or a refusal's code and message."""

    run_id: str
    status: str = ""
    code: str = ""
    message: str = ""


@transaction.atomic
def cancel_runs(scope: TenantScope, run_ids: list[str], *, reason: str = "", now: datetime) -> list[Cancelled]:
    """Request cancellation of each run; return outcomes, refusals included, in the order requested.

    Locks the runs in id order and the audit chain last, as every other writer does, so that none deadlock.
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
    """Whether the run is neither a system run of this host nor one executed elsewhere."""
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
    """End the run as cancelled and attach the stored reason to ``run.cancelled``."""
    event_notes.attach_reason(run, runs.cancel(run, *events, now=now))
    interrupts.end_with(run, now=now)


@IN_ONE
def copy_events(
    run: Run, source: Run, recorded: Sequence[Recorded], *, lasts: timedelta | None = None, now: datetime
) -> None:
    """Copy the events of ``source`` to the log of its fork, which ends with them if they include the source's end."""
    runs.copy_log(run, source, recorded, lasts=lasts, now=now)
    if run.status in runs.ENDS:
        interrupts.end_with(run, now=now)


@dataclass(frozen=True, slots=True)
class Patience:
    """A node's retry policy: the number of retries and the first delay, which doubles with each further retry."""

    retries: int
    first_delay: timedelta

    def delay_before(self, attempt: int) -> timedelta:
        """The delay after the failed ``attempt``, counted from 1; at most LONGEST_RETRY_DELAY."""
        wait: timedelta = self.first_delay * 2 ** min(attempt - 1, MAX_RETRIES)
        return min(wait, LONGEST_RETRY_DELAY)


def correct_ahead(*, now: datetime) -> int:
    """Bring forward the waits of runs that were put off while a clock was ahead; return how many."""
    corrected = interrupts.correct_ahead(now=now) + steps.correct_ahead(longest_retry=LONGEST_RETRY_DELAY, now=now)
    return corrected + runs.correct_ahead(steps.waits_until_run_is_ready(), now=now)


def executions_of(run: Run) -> int:
    """The maximum node executions of the run: its ``recursionLimit``, capped by the host's."""
    return min(_count(run.configurable.get("recursionLimit")) or MAX_NODE_EXECUTIONS, MAX_NODE_EXECUTIONS)


def duration_of(run: Run, definition: JSONObject) -> timedelta | None:
    """The run's time limit from its start; None for a run of the host itself, which waits for people."""
    if run.system:
        return None
    asked = [_count(run.configurable.get("runTimeoutMs")), _count(definition["settings"].get("timeout"))]
    return timedelta(milliseconds=min([*(ms for ms in asked if ms), MAX_RUN_DURATION_MS]))


def timeout_of(node: JSONObject) -> timedelta | None:
    """The node's time limit from its start, retries included; None when only the run's limit applies."""
    asked = _count(node.get("settings", {}).get("timeout"))
    return timedelta(milliseconds=min(asked, MAX_RUN_DURATION_MS)) if asked else None


def retries_of(definition: JSONObject, node: JSONObject) -> Patience:
    """The node's own ``maxRetries`` and ``retryDelayMs``, else the workflow's, else none."""
    settings = {**definition["settings"], **node.get("settings", {})}
    delay = _count(settings.get("retryDelayMs")) or RETRY_DELAY_MS
    return Patience(
        min(_count(settings.get("maxRetries")), MAX_RETRIES),
        min(timedelta(milliseconds=min(delay, MAX_RUN_DURATION_MS)), LONGEST_RETRY_DELAY),
    )


def _count(value: object) -> int:
    """``value`` as a positive integer, however JSON writes it (``3``, ``3.0``, ``3e0``); 0 when it is not one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return 0
    return int(value) if isinstance(value, int) or value.is_integer() else 0
