"""A tick becomes a run, through the door that every run comes in by.

The run acts as the principal that wrote the schedule, with what that principal may do at this moment. A firing that is
refused is on record with its code and has no run; whatever happens to one schedule, the others go on.
"""

import logging
from datetime import datetime
from uuid import UUID

from django.db import DatabaseError, transaction

from memory.host import registry, runs, scheduling, tenancy
from memory.host.errors import Invalid, Refusal
from memory.host.models import ArtifactKind, Installation, Schedule
from memory.host.registry import ArtifactDisabled
from memory.host.scheduling import OF_AUTOMATION
from memory.host.tenancy import TenantScope
from memory.wire import instant
from openwop_console.runtime import chains, intake
from openwop_console.runtime.run_options import RunRequest

log = logging.getLogger(__name__)


def check_startable(scope: TenantScope, request: RunRequest) -> None:
    """Refuse, with field paths, what ``scope`` could not start now either."""
    scope.check("runs:create")
    plan = chains.find(scope.tenant_id, request.workflow_id)
    if plan is None:
        field = {"field": "workflowId", "message": "is not a workflow of this tenant"}
        raise Invalid("There is no such workflow.", errors=[field])
    intake.check_agents(scope, request, plan.definition)
    intake.begun_with(plan.definition, request.inputs)


def fire_due(now: datetime) -> int:
    """Every schedule that was due has been looked at; returns how many runs there are for it."""
    return sum(_fire_or_go_on(tenant_id, schedule_id, now) for tenant_id, schedule_id in scheduling.due(now=now))


def _fire_or_go_on(tenant_id: UUID, schedule_id: UUID, now: datetime) -> bool:
    try:
        return fire(tenant_id, schedule_id, now=now)
    except DatabaseError:
        log.exception("Schedule %s was not fired; it is tried again at the next look", schedule_id)
    except Exception:
        log.exception("Schedule %s cannot be fired", schedule_id)
        scheduling.give_up(tenant_id, schedule_id, now=now)
    return False


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
            return intake.create_run(scope, request, now=now).id, ""
    except Refusal as refusal:
        return None, refusal.code
