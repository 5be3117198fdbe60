"""What a principal may ask of runs: create, read, cancel. Policy lives here, so every door meets the same refusals."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memory import harness
from memory.host import audit, event_log, ids, interrupts, registry, runs, suspensions
from memory.host.errors import Conflict, Forbidden, Invalid, WorkflowNotFound
from memory.host.event_log import Recorded
from memory.host.models import Interrupt, Run
from memory.host.runs import ENDS, RunOrder
from memory.host.suspensions import InterruptNotFound
from memory.host.tenancy import TenantScope
from openwop_console.runtime import definitions


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a client asks for when it creates a run."""

    workflow_id: str
    inputs: dict[str, Any] = field(default_factory=dict)
    agent_id: str = ""
    tenant_slug: str = ""
    configurable: dict[str, Any] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)


def create_run(scope: TenantScope, request: RunRequest, *, now: datetime) -> Run:
    """A pending run of the tenant's workflow; a worker takes it. Inputs override the variables' defaults.

    A secret of the vault that somebody passes in is kept as its mark: a node resolves it by name (SR-1).
    """
    scope.check("runs:create")
    if request.tenant_slug not in ("", scope.principal.tenant_slug):
        raise Forbidden("A run is created in the tenant of its credential.", rule="tenant")
    text = registry.workflow_text(scope.tenant_id, request.workflow_id)
    if text is None:
        raise WorkflowNotFound
    definition = json.loads(text)
    for agent_id in {request.agent_id, *definitions.agents_of(definition)} - {""}:
        scope.check_agent(agent_id)
    variables = _variables(definition, request.inputs)
    clean = harness.for_tenant(scope.tenant_id).redact_json
    order = RunOrder(
        workflow_id=request.workflow_id,
        definition=text,
        principal=scope.principal.id,
        agent_id=request.agent_id,
        inputs=clean(request.inputs),
        variables=clean(variables),
        configurable=clean(request.configurable),
        tags=clean(request.tags),
        metadata=clean(request.metadata),
    )
    return runs.open_run(scope.tenant_id, order, now=now)


def _variables(definition: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    declared = definition["variables"]
    defaults = {each["name"]: each["defaultValue"] for each in declared if "defaultValue" in each}
    values = {**defaults, **inputs}
    missing = [each["name"] for each in declared if each.get("required") and each["name"] not in values]
    if missing:
        errors = [{"field": f"inputs.{name}", "message": "is required by the workflow"} for name in missing]
        raise Invalid("The workflow needs more inputs.", errors=errors)
    return values


def read_run(scope: TenantScope, run_id: UUID | None) -> tuple[Run, list[Interrupt]]:
    """The run, and what it waits for now, the oldest question first."""
    scope.check("runs:read")
    run = runs.find(scope.tenant_id, run_id)
    return run, suspensions.open_at(run) if run.status not in ENDS else []


def read_events(scope: TenantScope, run_id: UUID | None, *, after: int) -> tuple[list[Recorded], bool]:
    """The run's events behind ``after``, and whether the run has ended and nothing is left after these.

    The status is read first: a run that is terminal here has its terminal event in the log already.
    """
    scope.check("runs:read")
    run = runs.find(scope.tenant_id, run_id)
    events = event_log.read(scope.tenant_id, run.id, after=after)
    return events, run.status in ENDS and len(events) < event_log.PAGE


@transaction.atomic
def cancel_run(scope: TenantScope, run_id: UUID | None, *, now: datetime) -> Run:
    """The run is cancelling, or has ended already and stays as it is."""
    scope.check("runs:cancel")
    run = runs.find(scope.tenant_id, run_id)
    if run.system:
        raise Conflict("A run of the host itself is not cancelled from outside.", runStatus=run.status)
    run = runs.request_cancel(run, now=now)
    target = ids.wire("run", run.id)
    audit.append(scope.tenant_id, actor=scope.principal.id, action="run.cancel", target=target, now=now)
    return run


def resolve_interrupt(
    scope: TenantScope, run_id: UUID | None, node_id: str, resume_value: Any, *, now: datetime
) -> Run:
    """The interrupt at ``node_id`` is answered through whoever brought the node's type; refused when nobody did.

    The resolver authorizes and keeps its own transactions, because a denial stays on record although it is refused.
    """
    run = runs.find(scope.tenant_id, run_id)
    nodes = json.loads(run.definition.text)["nodes"]
    type_id = next((node["typeId"] for node in nodes if node["id"] == node_id), "")
    resolver = interrupts.resolver_of(type_id)
    if resolver is None:
        scope.check("approvals:respond")
        raise InterruptNotFound
    resolver(scope, run, node_id, resume_value, now)
    return runs.find(scope.tenant_id, run.id)


def run_again(scope: TenantScope, run_id: UUID | None, *, now: datetime) -> Run:
    """A fresh run of the same workflow as it is now, with the inputs that run had."""
    run = runs.find(scope.tenant_id, run_id)
    if run.system:
        raise Conflict("A run of the host itself is not started by hand.")
    return create_run(scope, RunRequest(run.workflow_id, inputs=run.inputs, agent_id=run.agent_id), now=now)


def read_workflow(scope: TenantScope, workflow_id: str) -> dict[str, Any]:
    """The definition a run of ``workflow_id`` would pin now."""
    scope.check("manifest:read")
    text = registry.workflow_text(scope.tenant_id, workflow_id)
    if text is None:
        raise WorkflowNotFound
    found: dict[str, Any] = json.loads(text)
    return found
