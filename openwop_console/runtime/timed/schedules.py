"""Schedules of a tenant: kept, changed, and fired when a tick is due."""

from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memory import redaction
from memory.artifact_stops import stored_reason
from memory.host import audit, ids, registry, runs, scheduling, tenancy
from memory.host.errors import Conflict, Invalid, Refusal
from memory.host.json_types import JSONObject
from memory.host.models import ArtifactKind, Installation, Schedule, ScheduleTick
from memory.host.paging import Page
from memory.host.registry import ArtifactDisabled
from memory.host.scheduling import OF_AUTOMATION, OF_WORKFLOW, ScheduleOrder
from memory.host.tenancy import TenantScope
from memory.wire import instant
from openwop_console.runtime import chains
from openwop_console.runtime import runs as run_service
from openwop_console.runtime.run_options import RunRequest

POLICY = "must be skip or fire-once: after an outage at most one run catches up, never the backlog"


# A tick becomes a run, through the door that every run comes in by.
#
# The run acts as the principal that wrote the schedule, with what that principal may do at this moment. A firing that
# is refused is on record with its code and has no run; whatever happens to one schedule, the others go on.


def check_startable(scope: TenantScope, request: RunRequest) -> None:
    """Refuse, with field paths, what ``scope`` could not start now either."""
    scope.check("runs:create")
    plan = chains.find(scope.tenant_id, request.workflow_id)
    if plan is None:
        field = {"field": "workflowId", "message": "is not a workflow of this tenant"}
        raise Invalid("There is no such workflow.", errors=[field])
    run_service.check_agents(scope, request, plan.definition)
    run_service.begun_with(plan.definition, request.inputs)


def fire_due(now: datetime) -> int:
    """Every schedule that was due has been looked at; returns how many runs there are for it."""
    return scheduling.fire_each(
        "Schedule",
        scheduling.due(Schedule, now=now),
        lambda key: fire(*key, now=now),
        give_up=lambda key: scheduling.give_up(*key, now=now),
    )


@transaction.atomic
def fire(tenant_id: UUID, schedule_id: UUID, *, now: datetime) -> bool:
    """Whether this call made the run of the due tick: of all who look at once, one does, in one transaction."""
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
    """Refuse what would start something by an automation that is disabled."""
    installed = _automation_of(schedule)
    if installed:
        registry.require_enabled(installed)


def _automation_of(schedule: Schedule) -> Installation | None:
    if not schedule.name.startswith(OF_AUTOMATION):
        return None
    return registry.current(schedule.tenant_id, ArtifactKind.AUTOMATION, schedule.name.removeprefix(OF_AUTOMATION))


def _note_automation(schedule: Schedule, run_id: UUID, now: datetime) -> None:
    """That an installed automation has started the run is on record with it."""
    installed = _automation_of(schedule)
    if installed:
        registry.note_use(runs.find(schedule.tenant_id, run_id), installed, now=now)


def start(tenant_id: UUID, principal: str, request: RunRequest, *, now: datetime) -> tuple[UUID | None, str]:
    """The id of a run that ``principal`` has started now; or None, and the code it was refused with."""
    try:
        with transaction.atomic():
            scope = tenancy.standing_scope(tenant_id, principal, now=now)
            return run_service.create_run(scope, request, now=now).id, ""
    except Refusal as refusal:
        return None, refusal.code


# What a principal may ask of schedules, and the schedules that workflows bring with their triggers.
#
# A schedule acts as whoever wrote last what it does; who may not start the run now may not have it started later.


@transaction.atomic
def create(scope: TenantScope, order: ScheduleOrder, *, now: datetime) -> Schedule:
    """The schedule is kept, and waits for its first tick."""
    scope.check("schedules:manage")
    schedule = scheduling.create_schedule(scope.tenant_id, _allowed(scope, order), now=now)
    _audit(scope, "created", schedule, now)
    return schedule


@transaction.atomic
def change(scope: TenantScope, name: str, changes: dict[str, Any], *, reason: str = "", now: datetime) -> Schedule:
    """The schedule has the changes. One that a workflow or an automation brings can be switched on and off, no
    more. ``reason`` is kept in the audit log, without secrets."""
    scope.check("schedules:manage")
    schedule = scheduling.locked(scope.tenant_id, name)
    order = replace(scheduling.order_of(schedule), **changes)
    if order.enabled and schedule.name.startswith(OF_AUTOMATION):
        require_automation(schedule)
    if changes.keys() - {"enabled"}:
        _require_own(schedule)
        order = _allowed(scope, replace(order, principal=scope.principal.id))
    scheduling.change(schedule, order, now=now)
    said = stored_reason(scope, reason) if reason else ""
    _audit(scope, "changed", schedule, now, {"enabled": schedule.enabled} if said else {}, said)
    return schedule


@transaction.atomic
def remove(scope: TenantScope, name: str, *, now: datetime) -> None:
    """The schedule and its ticks are gone; the runs it has started stay."""
    scope.check("schedules:manage")
    schedule = scheduling.locked(scope.tenant_id, name)
    _require_own(schedule)
    scheduling.remove(schedule)
    _audit(scope, "removed", schedule, now)


def require_manager(scope: TenantScope, name: str) -> None:
    """Refuse who may not change the schedule of that name, or when there is none."""
    scope.check("schedules:manage")
    scheduling.find(scope.tenant_id, name)


def read(scope: TenantScope, name: str) -> Schedule:
    scope.check("schedules:read")
    return scheduling.find(scope.tenant_id, name)


def page(scope: TenantScope, *, after: str, size: int) -> Page[Schedule]:
    """The schedules whose names come behind ``after``."""
    scope.check("schedules:read")
    return scheduling.page(scope.tenant_id, after=after, size=size)


def ticks_of(scope: TenantScope, name: str, *, before: datetime | None, size: int) -> Page[ScheduleTick]:
    """What became of the ticks before ``before``, the latest first."""
    return scheduling.ticks_of(read(scope, name), before=before, size=size)


def _require_own(schedule: Schedule) -> None:
    if schedule.name.startswith(OF_WORKFLOW):
        raise Conflict("This schedule belongs to its workflow; install another version of that to change it.")
    if schedule.name.startswith(OF_AUTOMATION):
        raise Conflict("This schedule belongs to its automation, which is changed by a proposal.")


def _allowed(scope: TenantScope, order: ScheduleOrder) -> ScheduleOrder:
    """The order as it may be kept: its run could be started now, and no secret of the vault stands in it (SR-1)."""
    request = RunRequest(order.workflow_id, inputs=order.inputs, agent_id=order.agent_id)
    check_startable(scope, request)
    clean = redaction.for_tenant(scope.tenant_id).redact_json
    if clean(order.name) != order.name:
        field = {"field": "name", "message": "holds a secret"}
        raise Invalid("The schedule is not valid.", errors=[field])
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
