"""Schedules of a tenant: operations on them, and the firing of due ticks."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory import redaction
from memory.host import audit, ids, registry, runs, scheduling, tenancy
from memory.host.errors import Conflict, Invalid, Refusal
from memory.host.json_types import JSONObject
from memory.host.models import ArtifactKind, Installation, Schedule, ScheduleTick
from memory.host.paging import Page
from memory.host.registry import ArtifactDisabled
from memory.host.scheduling import OF_AUTOMATION, OF_WORKFLOW, ScheduleOrder
from memory.host.tenancy import TenantScope
from memory.reasons import stored_reason
from memory.wire import instant
from openwop_console.runtime import chains, run_operations
from openwop_console.runtime.run_operations import RunRequest

# A tick starts a run through ``create_run``, like every other run.
#
# The run acts as the principal that last wrote the schedule, with the rights that the principal has at that moment. A
# refused firing is recorded with its code and has no run; a failure of one schedule does not stop the others.


def check_startable(scope: TenantScope, request: RunRequest) -> None:
    """Refuse, with field paths, a run that ``scope`` could not start now."""
    scope.check("runs:create")
    plan = chains.find(scope.tenant_id, request.workflow_id)
    if plan is None:
        field = {"field": "workflowId", "message": "is not a workflow of this tenant"}
        raise Invalid("There is no such workflow.", errors=[field])
    run_operations.check_agents(scope, request, plan.definition)
    run_operations.begun_with(plan.definition, request.inputs)


def fire_due(now: datetime) -> int:
    """Fire every due schedule; return how many runs were started."""
    return scheduling.fire_each(
        "Schedule",
        scheduling.due(Schedule, now=now),
        lambda key: fire(*key, now=now),
        give_up=lambda key: scheduling.give_up(*key, now=now),
    )


@transaction.atomic
def fire(tenant_id: UUID, schedule_id: UUID, *, now: datetime) -> bool:
    """Start the run of the due tick in one transaction; return whether this call did.

    Of concurrent calls only one claims the tick. A tick that is too late or whose automation is disabled is settled
    without a run.
    """
    claimed = scheduling.claim(tenant_id, schedule_id, now=now)
    if claimed is None:
        return False
    if claimed.too_late:
        scheduling.settle(claimed, code=scheduling.SKIPPED, now=now)
        return False
    schedule = claimed.schedule
    origin = {"schedule": schedule.name, "tickAt": instant(claimed.tick_at)}
    request = RunRequest(
        schedule.workflow_id, inputs=schedule.inputs, agent_id=schedule.agent_id, metadata={"origin": origin}
    )
    installed = _automation_of(schedule)
    if installed and installed.is_disabled:
        scheduling.settle(claimed, code=ArtifactDisabled.code, now=now)
        return False
    run_id, code = start(tenant_id, schedule.principal, request, now=now)
    scheduling.settle(claimed, run_id=run_id, code=code, now=now)
    if run_id:
        _note_automation(schedule, run_id, now)
    return run_id is not None


def require_automation(schedule: Schedule) -> None:
    """Refuse when the schedule belongs to a disabled automation."""
    installed = _automation_of(schedule)
    if installed:
        registry.require_enabled(installed)


def _automation_of(schedule: Schedule) -> Installation | None:
    if not schedule.name.startswith(OF_AUTOMATION):
        return None
    return registry.current(schedule.tenant_id, ArtifactKind.AUTOMATION, schedule.name.removeprefix(OF_AUTOMATION))


def _note_automation(schedule: Schedule, run_id: UUID, now: datetime) -> None:
    """Record on the run that an installed automation has started it."""
    installed = _automation_of(schedule)
    if installed:
        registry.note_use(runs.find(schedule.tenant_id, run_id), installed, now=now)


def start(tenant_id: UUID, principal: str, request: RunRequest, *, now: datetime) -> tuple[UUID | None, str]:
    """Start a run as ``principal`` with its current rights; return the run id, or None and the refusal's code."""
    try:
        with transaction.atomic():
            scope = tenancy.scope_without_request(tenant_id, principal, now=now)
            return run_operations.create_run(scope, request, now=now).id, ""
    except Refusal as refusal:
        return None, refusal.code


# Operations on schedules.
#
# A schedule acts as the principal that last changed what it does; a principal that may not start the run now may not
# schedule it either.


@transaction.atomic
def create(scope: TenantScope, order: ScheduleOrder, *, now: datetime) -> Schedule:
    """Create a schedule that waits for its first tick. Audited."""
    scope.check("schedules:manage")
    schedule = scheduling.create_schedule(scope.tenant_id, _allowed(scope, order), now=now)
    _audit(scope, "created", schedule, now)
    return schedule


@transaction.atomic
def change(scope: TenantScope, name: str, changes: JSONObject, *, reason: str = "", now: datetime) -> Schedule:
    """Apply the changes. Audited, with ``reason`` stored without secrets.

    A schedule of a workflow or an automation can only be enabled and disabled. Any other change makes the schedule act
    as this principal.
    """
    scope.check("schedules:manage")
    schedule = scheduling.locked(scope.tenant_id, name)
    order = replace(scheduling.order_of(schedule), **changes)
    if order.enabled and schedule.name.startswith(OF_AUTOMATION):
        require_automation(schedule)
    if changes.keys() - {"enabled"}:
        _require_own(schedule)
        order = _allowed(scope, replace(order, principal=scope.principal.id))
    scheduling.change(schedule, order, now=now)
    said = stored_reason(scope.tenant_id, reason)
    _audit(scope, "changed", schedule, now, {"enabled": schedule.enabled} if said else {}, said)
    return schedule


@transaction.atomic
def remove(scope: TenantScope, name: str, *, now: datetime) -> None:
    """Delete the schedule and its ticks; the runs it has started remain. Audited."""
    scope.check("schedules:manage")
    schedule = scheduling.locked(scope.tenant_id, name)
    _require_own(schedule)
    scheduling.remove(schedule)
    _audit(scope, "removed", schedule, now)


def require_manager(scope: TenantScope, name: str) -> None:
    """Refuse a principal that may not change schedules, or a name that has none."""
    scope.check("schedules:manage")
    scheduling.find(scope.tenant_id, name)


def read(scope: TenantScope, name: str) -> Schedule:
    scope.check("schedules:read")
    return scheduling.find(scope.tenant_id, name)


def page(scope: TenantScope, *, after: str, size: int) -> Page[Schedule]:
    """A page of schedules by name, after ``after``."""
    scope.check("schedules:read")
    return scheduling.page(scope.tenant_id, after=after, size=size)


def ticks_of(scope: TenantScope, name: str, *, before: datetime | None, size: int) -> Page[ScheduleTick]:
    """A page of past ticks before ``before``, latest first."""
    return scheduling.ticks_of(read(scope, name), before=before, size=size)


def _require_own(schedule: Schedule) -> None:
    if schedule.name.startswith(OF_WORKFLOW):
        raise Conflict("This schedule belongs to its workflow; install another version of that to change it.")
    if schedule.name.startswith(OF_AUTOMATION):
        raise Conflict("This schedule belongs to its automation, which is changed by a proposal.")


def _allowed(scope: TenantScope, order: ScheduleOrder) -> ScheduleOrder:
    """Return the order with redacted inputs; refuse if its run cannot start now, or a name has a secret (SR-1)."""
    request = RunRequest(order.workflow_id, inputs=order.inputs, agent_id=order.agent_id)
    check_startable(scope, request)
    clean = redaction.for_tenant(scope.tenant_id).redact_json
    for field, text in {"name": order.name, "agentId": order.agent_id}.items():
        if clean(text) != text:
            raise Invalid("The schedule is not valid.", errors=[{"field": field, "message": "holds a secret"}])
    return replace(order, inputs=clean(order.inputs))


def _audit(
    scope: TenantScope,
    what: str,
    schedule: Schedule,
    now: datetime,
    details: JSONObject | None = None,
    reason: str = "",
) -> None:
    audit.append(
        scope.tenant_id, actor=scope.principal.id, action=f"schedule.{what}", target=ids.wire("sch", schedule.id),
        details=details, reason=reason, now=now,
    )  # fmt: skip
