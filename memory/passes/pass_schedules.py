"""Schedules of passes: one kind over one ref at every tick of a cron expression. The only writer of these rows.

A tick is the window of its pass, so it runs once; after an outage one tick stands in for all that were missed. The pass
runs with the permissions that the schedule's last writer has when it fires, and a refused one is recorded.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from memory import passes
from memory.host import access, audit, cron, ids, scheduling
from memory.host.errors import Invalid, NotFound
from memory.host.json_types import JSONObject
from memory.host.paging import Page, read_page
from memory.host.scheduling import ScheduleOrder
from memory.host.tenancy import TenantScope
from memory.models import Pass, PassSchedule, PassState, Trigger
from memory.passes import orders
from memory.passes.orders import RequestedPass
from memory.wire import instant

WRITER = "memory.passes.pass_schedules"

Queue = Callable[[Pass], None]


@dataclass(frozen=True, slots=True)
class PassTimes:
    """What a schedule is to be: a pass of ``kind`` over ``memory_ref`` at every tick of ``cron`` in ``timezone``.

    ``keeps_options``: those that are not named stay as they were.
    """

    kind: str
    memory_ref: str
    cron: str
    timezone: str = "UTC"
    options: JSONObject = field(default_factory=dict)
    enabled: bool = True
    keeps_options: bool = False


@transaction.atomic
def set_schedule(scope: TenantScope, wanted: PassTimes, *, now: datetime) -> PassSchedule:
    """Create or change the one schedule of this kind for the ref. Audited.

    The next tick is computed again when the time was changed or the schedule enabled; otherwise it stays. Refused,
    with the field, when the pass could not be ordered now, or does not tick within the horizon.
    """
    checked = orders.checked_order(scope, RequestedPass(wanted.kind, wanted.memory_ref, wanted.options))
    access.lock_tenant(scope.tenant_id)
    place, cron = {"kind": checked.kind, "memory_ref": checked.memory_ref}, " ".join(wanted.cron.split())
    row = _rows(scope.tenant_id).select_for_update().filter(**place).first()
    if row and wanted.keeps_options:
        checked = orders.checked_order(scope, replace(checked, options={**row.options, **wanted.options}))
    timed = row is None or (cron, wanted.timezone) != (row.cron, row.timezone) or (wanted.enabled and not row.enabled)
    next_at = _first_tick(scope, cron, wanted.timezone, now) if row is None or timed else row.next_at
    kept = row or PassSchedule(tenant_id=scope.tenant_id, created_at=now, **place)
    kept.cron, kept.timezone, kept.options, kept.enabled = cron, wanted.timezone, checked.options, wanted.enabled
    kept.written_by, kept.next_at = scope.principal.id, next_at if wanted.enabled else None
    if row:
        kept.save(by=WRITER)
    else:
        kept.insert(by=WRITER)
    _audit(scope, "changed" if row else "created", kept, now)
    return kept


def _first_tick(scope: TenantScope, cron: str, timezone: str, now: datetime) -> datetime:
    if not cron:
        raise Invalid("The schedule is not valid.", errors=[{"field": "cron", "message": "is required"}])
    order = ScheduleOrder("", "", scope.principal.id, cron=cron, timezone=timezone)
    return scheduling.first_tick(order, now=now)


def remove(scope: TenantScope, schedule_id: UUID | None, *, now: datetime) -> None:
    """The schedule is gone; the passes that it has made stay. Audited."""
    scope.check("passes:run")
    with transaction.atomic():
        rows = _rows(scope.tenant_id).select_for_update()
        row = _require_found(rows.filter(id=schedule_id).first() if schedule_id else None)
        PassSchedule.objects.written_by(WRITER).filter(tenant_id=row.tenant_id, id=row.id).delete()
        _audit(scope, "removed", row, now)


def find(scope: TenantScope, schedule_id: UUID | None) -> PassSchedule:
    """The schedule of this tenant, or ``NotFound``."""
    scope.check("memory:read")
    return _require_found(_rows(scope.tenant_id).filter(id=schedule_id).first() if schedule_id else None)


def page(
    scope: TenantScope, *, kind: str = "", memory_ref: str = "", after: UUID | None = None, size: int
) -> Page[PassSchedule]:
    """The schedules after ``after``, in creation order."""
    scope.check("memory:read")
    given = {"kind": kind, "memory_ref": memory_ref}
    rows = _rows(scope.tenant_id).filter(**{name: value for name, value in given.items() if value})
    return read_page(rows, after, size, order="id")


def last_passes(scope: TenantScope, schedules: list[PassSchedule]) -> dict[UUID, Pass]:
    """The last pass of each of these schedules that has had one, by the schedule's id."""
    scope.check("memory:read")
    wanted = {row.last_pass_id: row.id for row in schedules if row.last_pass_id}
    return {wanted[row.id]: row for row in passes.find_many(scope.tenant_id, list(wanted))}


def _rows(tenant_id: UUID) -> QuerySet[PassSchedule]:
    return PassSchedule.objects.of(tenant_id)


def _require_found(row: PassSchedule | None) -> PassSchedule:
    if row is None:
        raise NotFound("There is no schedule of passes by that id.")
    return row


def _audit(scope: TenantScope, what: str, row: PassSchedule, now: datetime) -> None:
    target = ids.wire("psc", row.id)
    audit.append(scope.tenant_id, actor=scope.principal.id, action=f"pass-schedule.{what}", target=target, now=now)


def fire_due(*, queue: Queue, now: datetime) -> int:
    """Fire every due schedule; one that fails does not stop the others. Return how many passes wait for a worker.

    ``queue`` is called in the transaction that makes a pass.
    """

    def fire_one(key: tuple[UUID, UUID]) -> bool:
        made = fire(*key, queue=queue, now=now)
        return made is not None and made.state == PassState.WAITING

    rows = scheduling.due(PassSchedule, now=now)
    return scheduling.fire_each("Pass schedule", rows, fire_one, give_up=lambda key: give_up(*key, now=now))


def correct_ahead(*, now: datetime) -> int:
    """Bring forward the next ticks that were set while a clock was ahead; return how many."""
    return scheduling.correct_ahead(PassSchedule, by=WRITER, now=now)


@transaction.atomic
def fire(tenant_id: UUID, schedule_id: UUID, *, queue: Queue, now: datetime) -> Pass | None:
    """The pass of the due tick, waiting or refused; None when another process has claimed the tick."""
    row = scheduling.lock_due(PassSchedule, tenant_id, schedule_id, now=now)
    if row is None or row.next_at is None:
        return None
    found = cron.due(row.cron, row.timezone, row.next_at, now)
    wanted = RequestedPass(row.kind, row.memory_ref, row.options, trigger=Trigger.SCHEDULED)
    made = orders.order_for(tenant_id, row.written_by, wanted, window=_window(found.tick_at), now=now)
    _settle(row, made, found.next_at)
    if made.state == PassState.WAITING:
        queue(made)
    return made


def _window(tick_at: datetime) -> str:
    return f"tick/{instant(tick_at)}"


def _settle(row: PassSchedule, made: Pass, next_at: datetime | None) -> None:
    row.next_at, row.last_pass_id = next_at, made.id
    row.save(by=WRITER, update_fields=["next_at", "last_pass_id"])


@transaction.atomic
def give_up(tenant_id: UUID, schedule_id: UUID, *, now: datetime) -> None:
    """Record the tick that could not be fired as failed, and set the next one if it can be computed."""
    row = scheduling.lock_due(PassSchedule, tenant_id, schedule_id, now=now)
    if row is None or row.next_at is None:
        return
    wanted = RequestedPass(row.kind, row.memory_ref, trigger=Trigger.SCHEDULED)
    made = orders.record_failed_order(tenant_id, row.written_by, wanted, window=_window(row.next_at), now=now)
    _settle(row, made, scheduling.next_tick(row, now=now))
