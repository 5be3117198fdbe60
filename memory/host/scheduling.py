"""Schedules and their ticks; the only writer of both (RFC 0052).

A tick is claimed under the lock of its schedule, in the transaction that creates its run: the tick row, the run and the
next tick commit together or not at all. However many ticks were missed, one tick fires for all of them.
"""

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice
from typing import Any, Protocol, TypeVar
from uuid import UUID

from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import Q

from memory.host import cron, sql
from memory.host.errors import Conflict, Invalid, NotFound, ScheduleHorizonExceeded
from memory.host.json_types import JSONObject
from memory.host.models import HostTimer, MissedFirePolicy, Schedule, ScheduleKind, ScheduleTick, TenantOwned
from memory.host.paging import Page, read_page

log = logging.getLogger(__name__)

WRITER = "memory.host.scheduling"
Key = TypeVar("Key")
Row = TypeVar("Row", bound=TenantOwned)
HORIZON = timedelta(days=90)
HORIZON_TEXT = "P90D"
ON_TIME = timedelta(seconds=60)
QUIET_START = timedelta(seconds=30)
SKIPPED = "skipped"
FAILED = "internal_error"
OF_WORKFLOW = "workflow/"
OF_AUTOMATION = "automation/"
SHOWN_TICKS = 5
TIMES = ("cron", "timezone", "next_at")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
NOT_A_POLICY = "must be skip or fire-once: after an outage at most one run catches up, never the backlog"


class Timetable(Protocol):
    """A row with ticks: a schedule of runs or of passes."""

    @property
    def cron(self) -> str: ...

    @property
    def timezone(self) -> str: ...

    @property
    def next_at(self) -> datetime | None: ...


@dataclass(frozen=True, slots=True)
class ScheduleOrder:
    """The settings of a schedule: ``cron`` in ``timezone``, or once ``at`` an instant."""

    name: str
    workflow_id: str
    principal: str
    cron: str = ""
    timezone: str = "UTC"
    at: datetime | None = None
    missed: str = MissedFirePolicy.FIRE_ONCE
    agent_id: str = ""
    inputs: JSONObject = field(default_factory=dict)
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Timer:
    """A periodic task of the host itself, by its dotted name."""

    name: str
    task: str
    minutes: int


@dataclass(frozen=True, slots=True)
class TickClaim:
    """A claimed tick to settle; ``too_late`` when the schedule's policy is to skip it."""

    schedule: Schedule
    tick_at: datetime
    missed: int
    too_late: bool


def first_tick(order: ScheduleOrder, *, now: datetime, path: str = "") -> datetime:
    """Return the first tick of ``order`` after ``now``.

    Refused, with the path of the field, when there is none, or none within the horizon.
    """
    field_name, problem = _problem_of(order)
    if problem:
        raise _invalid(path + field_name, problem)
    if order.at:
        field_name, tick_at = "at", order.at
        if order.at <= now:
            raise _invalid(f"{path}at", "must be in the future")
    else:
        field_name, tick_at = "cron", _next_of_cron(order, now, path)
    if tick_at - now > HORIZON:
        errors = [{"field": path + field_name, "message": f"is further ahead than {HORIZON_TEXT}"}]
        raise ScheduleHorizonExceeded(errors=errors, maxFutureHorizon=HORIZON_TEXT)
    return tick_at


def _problem_of(order: ScheduleOrder) -> tuple[str, str]:
    """Return the invalid field and the problem; two empty texts when there is none."""
    if bool(order.cron) == bool(order.at):
        return "cron", "give either cron or at"
    if not cron.is_zone(order.timezone):
        return "timezone", "must be the name of an IANA time zone"
    if order.cron:
        return "cron", cron.problem_of(order.cron)
    return "", ""


def _next_of_cron(order: ScheduleOrder, now: datetime, path: str) -> datetime:
    tick_at = cron.next_after(order.cron, order.timezone, now)
    if tick_at is None:
        raise _invalid(f"{path}cron", "names a day that no calendar has")
    return tick_at


def _invalid(field_name: str, message: str) -> Invalid:
    return Invalid("The schedule is not valid.", errors=[{"field": field_name, "message": message}])


def create_schedule(tenant_id: UUID, order: ScheduleOrder, *, now: datetime, path: str = "") -> Schedule:
    """Create a schedule; refused when the tenant has one of that name."""
    next_at = first_tick(order, now=now, path=path)
    schedule = Schedule(tenant_id=tenant_id, created_at=now)
    _write(schedule, order, next_at if order.enabled else None)
    try:
        with transaction.atomic():
            return schedule.insert(by=WRITER)
    except IntegrityError:
        raise Conflict("There is already a schedule with that name.") from None


def change(schedule: Schedule, order: ScheduleOrder, *, now: datetime, path: str = "") -> None:
    """Change the locked schedule to ``order``. The next tick is recomputed when the time changed or it was enabled."""
    timed = (order.cron, order.timezone, order.at) != (schedule.cron, schedule.timezone, schedule.at)
    woken = order.enabled and not schedule.enabled
    next_at = first_tick(order, now=now, path=path) if timed or woken else schedule.next_at
    _write(schedule, order, next_at if order.enabled else None)
    schedule.save(by=WRITER)


def _write(schedule: Schedule, order: ScheduleOrder, next_at: datetime | None) -> None:
    schedule.name, schedule.workflow_id, schedule.agent_id = order.name, order.workflow_id, order.agent_id
    schedule.kind = ScheduleKind.CRON if order.cron else ScheduleKind.ONCE
    schedule.cron, schedule.timezone, schedule.at, schedule.missed = order.cron, order.timezone, order.at, order.missed
    schedule.inputs, schedule.principal = order.inputs, order.principal
    schedule.enabled, schedule.next_at = order.enabled, next_at


def order_of(schedule: Schedule) -> ScheduleOrder:
    """Return the current settings of the schedule as an order."""
    return ScheduleOrder(
        name=schedule.name,
        workflow_id=schedule.workflow_id,
        principal=schedule.principal,
        cron=schedule.cron,
        timezone=schedule.timezone,
        at=schedule.at,
        missed=schedule.missed,
        agent_id=schedule.agent_id,
        inputs=schedule.inputs,
        enabled=schedule.enabled,
    )


def remove(schedule: Schedule) -> None:
    """Delete the schedule and its ticks; the runs it started are kept."""
    Schedule.objects.written_by(WRITER).filter(tenant_id=schedule.tenant_id, id=schedule.id).delete()


def find(tenant_id: UUID, name: str) -> Schedule:
    """Return the schedule of that name; raise ``NotFound`` when the tenant has none."""
    return _require(Schedule.objects.of(tenant_id).filter(name=name).first())


def locked(tenant_id: UUID, name: str) -> Schedule:
    """Return the schedule of that name, locked until the transaction ends."""
    return _require(Schedule.objects.of(tenant_id).select_for_update().filter(name=name).first())


def _require(schedule: Schedule | None) -> Schedule:
    if schedule is None:
        raise NotFound("There is no schedule of that name.")
    return schedule


def schedules_of_workflow(tenant_id: UUID, workflow_id: str) -> dict[str, Schedule]:
    """Return the schedules of the workflow's own triggers, by name, locked."""
    rows = Schedule.objects.of(tenant_id).select_for_update().filter(name__startswith=f"{OF_WORKFLOW}{workflow_id}/")
    return {row.name: row for row in rows.order_by("name")}


def schedule_of_automation(tenant_id: UUID, name: str) -> Schedule | None:
    """Return the schedule of that installed automation, locked; None when there is none."""
    rows = Schedule.objects.of(tenant_id).select_for_update()
    found: Schedule | None = rows.filter(name=f"{OF_AUTOMATION}{name}").first()
    return found


def page(tenant_id: UUID, *, after: str = "", size: int) -> Page[Schedule]:
    """Return the schedules whose names sort after ``after``."""
    return read_page(Schedule.objects.of(tenant_id), after, size, order="name")


def list_next_ticks(row: Timetable) -> list[datetime]:
    """Return up to five next ticks of a schedule or pass; none when there is no next one."""
    if row.next_at is None or not row.cron:
        return [row.next_at] if row.next_at else []
    behind = cron.ticks_after(row.cron, row.timezone, row.next_at)
    return [row.next_at, *islice(behind, SHOWN_TICKS - 1)]


def ticks_of(schedule: Schedule, *, before: datetime | None = None, size: int) -> Page[ScheduleTick]:
    """Return the ticks before ``before``, latest first."""
    rows = ScheduleTick.objects.of(schedule.tenant_id).filter(schedule_id=schedule.id)
    return read_page(rows, before, size, order="-tick_at")


def due(table: type[TenantOwned], *more: str, now: datetime) -> list[tuple[Any, ...]]:
    """Return the keys of at most 100 due rows of all tenants, with the columns ``more``; the longest due first."""
    found = _due(table, more).fetch(now)
    return [(sql.as_uuid(tenant), sql.as_uuid(row), *rest) for tenant, row, *rest in found]


@cache
def _due(table: type[TenantOwned], more: tuple[str, ...]) -> sql.CompiledQuery:
    """The query for a time; every worker's loop sends it four times a second."""
    now = datetime.min.replace(tzinfo=UTC)
    rows = table.objects.filter(_is_due(now)).order_by("next_at")
    return sql.CompiledQuery(rows.values_list("tenant_id", "id", *more)[:100], now)


def lock_due(table: type[Row], tenant_id: UUID, row_id: UUID, *, now: datetime) -> Row | None:
    """Lock and return the row when its tick is still due; of concurrent callers only one gets it."""
    found = table.objects.of(tenant_id).select_for_update().filter(_is_due(now), id=row_id).first()
    return found if isinstance(found, table) else None


def _is_due(now: datetime) -> Q:
    return Q(enabled=True, next_at__lte=now)


def next_tick(row: Timetable, *, now: datetime) -> datetime | None:
    """Return the next tick after one that could not be fired; None when there is none or its time cannot be parsed."""
    return cron.next_or_none(row.cron, row.timezone, now)


def correct_schedules(*, now: datetime) -> int:
    """Correct the schedules of runs, as ``correct_ahead`` does."""
    return correct_ahead(Schedule, by=WRITER, now=now)


def correct_ahead(table: type[TenantOwned], *, by: str, now: datetime) -> int:
    """Bring forward the next ticks that are later than the expression gives from ``now`` on; return how many.

    They were set while a clock was ahead: without this they would wait until it shows that time again.
    """
    late = Q(enabled=True, next_at__gt=now + QUIET_START) & ~Q(cron="")
    rows, corrected = table.objects.filter(late).order_by("tenant_id", "id"), 0
    for tenant_id, row_id, expression, timezone, ahead in rows.values_list("tenant_id", "id", *TIMES):
        following = cron.next_or_none(expression, timezone, now)
        if following and following < ahead:
            own = table.objects.written_by(by).filter(Q(next_at=ahead), tenant_id=tenant_id, id=row_id)
            changes: dict[str, object] = {"next_at": following}
            corrected += own.update(**changes)
    return corrected


def claim(tenant_id: UUID, schedule_id: UUID, *, now: datetime) -> TickClaim | None:
    """Claim the due tick, in the transaction that settles it; None for all but the first caller.

    The schedule is locked and moved to its next tick.
    """
    schedule = lock_due(Schedule, tenant_id, schedule_id, now=now)
    if schedule is None or schedule.next_at is None:
        return None
    found = cron.Due(schedule.next_at, 0, None)
    if schedule.cron:
        found = cron.due(schedule.cron, schedule.timezone, schedule.next_at, now)
    schedule.next_at = found.next_at
    schedule.save(by=WRITER, update_fields=["next_at"])
    before = ScheduleTick.objects.of(tenant_id).filter(schedule_id=schedule.id, tick_at=found.tick_at)
    if before.exists():  # a console with a slower clock has set the schedule back to this tick
        return None
    too_late = schedule.missed == MissedFirePolicy.SKIP and now - found.tick_at > ON_TIME
    return TickClaim(schedule, found.tick_at, found.missed, too_late)


def settle(claimed: TickClaim, *, run_id: UUID | None = None, code: str = "", now: datetime) -> ScheduleTick:
    """Record the result of the tick: its run, or the code of why there is none."""
    return ScheduleTick(
        tenant_id=claimed.schedule.tenant_id,
        schedule_id=claimed.schedule.id,
        tick_at=claimed.tick_at,
        fired_at=now,
        run_id=run_id,
        code=code,
        missed=claimed.missed,
    ).insert(by=WRITER)


@transaction.atomic
def give_up(tenant_id: UUID, schedule_id: UUID, *, now: datetime) -> None:
    """Record a tick that could not be fired as failed, and move the schedule to its next tick, if there is one."""
    schedule = lock_due(Schedule, tenant_id, schedule_id, now=now)
    if schedule is None or schedule.next_at is None:
        return
    failed = TickClaim(schedule, schedule.next_at, 0, too_late=False)
    schedule.next_at = next_tick(schedule, now=now)
    schedule.save(by=WRITER, update_fields=["next_at"])
    if not ScheduleTick.objects.of(tenant_id).filter(schedule_id=schedule.id, tick_at=failed.tick_at).exists():
        settle(failed, code=FAILED, now=now)


def following_beat(tick_at: datetime, interval: timedelta, now: datetime) -> datetime:
    """Return the next tick after ``now`` at the interval from ``tick_at``; missed ticks are skipped."""
    return tick_at + interval * ((now - tick_at) // interval + 1)


def fire_each(
    what: str,
    due: Iterable[Key],
    fire: Callable[[Key], bool],
    *,
    give_up: Callable[[Key], None] | None = None,
) -> int:
    """Fire every due item and return how many started something; a failure does not stop the others.

    After a database error the item is tried again at the next look; after any other, ``give_up`` records the failure.
    """
    return sum(_fire_or_go_on(what, key, fire, give_up) for key in due)


def _fire_or_go_on(what: str, key: Key, fire: Callable[[Key], bool], give_up: Callable[[Key], None] | None) -> bool:
    try:
        return fire(key)
    except DatabaseError:
        log.exception("%s %s was not fired; it is tried again at the next look", what, key)
    except Exception:
        log.exception("%s %s cannot be fired", what, key)
        if give_up:
            give_up(key)
    return False


@transaction.atomic
def sync_timers(timers: Sequence[Timer], *, now: datetime) -> None:
    """Store these timers and delete all others. What is due already waits until the host has started."""
    rows, first_at = HostTimer.objects.written_by(WRITER), now + QUIET_START
    rows.exclude(name__in=[timer.name for timer in timers]).delete()
    rows.filter(next_at__lt=now).update(next_at=first_at)
    rows.bulk_create([HostTimer(name=timer.name, next_at=first_at) for timer in timers], ignore_conflicts=True)


def correct_timers(timers: Sequence[Timer], *, now: datetime) -> int:
    """Bring forward the timers that wait longer than their interval, set while a clock was ahead; return how many."""
    rows = HostTimer.objects.written_by(WRITER)
    waits = {timer.name: now + timedelta(minutes=timer.minutes) + QUIET_START for timer in timers}
    return sum(rows.filter(name=name, next_at__gt=latest).update(next_at=now) for name, latest in waits.items())


def fire_timers(timers: Sequence[Timer], *, queue: Callable[[Timer], None], now: datetime) -> int:
    """Queue every due timer, once among concurrent callers; return how many were queued here."""
    known = {timer.name: timer for timer in timers}
    due = [(name, sql.as_utc(at)) for name, at in _due_timers(tuple(known)).fetch(now)]
    return fire_each("Timer", due, lambda key: _fire_timer(known[key[0]], key[1], queue, now))


@cache
def _due_timers(names: tuple[str, ...]) -> sql.CompiledQuery:
    now = datetime.min.replace(tzinfo=UTC)
    rows = HostTimer.objects.filter(name__in=names, next_at__lte=now).order_by("next_at")
    return sql.CompiledQuery(rows.values_list("name", "next_at"), now)


@transaction.atomic
def _fire_timer(timer: Timer, tick_at: datetime, queue: Callable[[Timer], None], now: datetime) -> bool:
    next_at = following_beat(tick_at, timedelta(minutes=timer.minutes), now)
    rows = HostTimer.objects.written_by(WRITER).filter(name=timer.name, next_at=tick_at)
    is_ours: bool = rows.update(next_at=next_at) == 1
    if is_ours:
        queue(timer)
    return is_ours
