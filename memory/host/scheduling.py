"""Schedules and their ticks: the only writer of both (RFC 0052).

A tick is claimed under the lock of its schedule, in the transaction that makes its run: the row of the tick, the run
and the next tick commit together or not at all. However long nobody looked, one tick stands for all that were missed.
"""

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import Q

from memory.host import cron
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
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@dataclass(frozen=True, slots=True)
class ScheduleOrder:
    """What a schedule is to be: ``cron`` in ``timezone``, or once ``at`` an instant."""

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
    """A task of the host itself, by its dotted name, every so many minutes."""

    name: str
    task: str
    minutes: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A tick that is ours to settle; ``too_late`` when the schedule's policy is to skip it."""

    schedule: Schedule
    tick_at: datetime
    missed: int
    too_late: bool


def first_tick(order: ScheduleOrder, *, now: datetime, path: str = "") -> datetime:
    """When ``order`` ticks for the first time behind ``now``. Refused, with the path of the field, when it does not, or
    not within the horizon."""
    field_name, problem = _problem_of(order)
    if problem:
        raise _invalid(path + field_name, problem)
    if order.at:
        field_name, tick_at = "at", order.at
        if order.at <= now:
            raise _invalid(f"{path}at", "must lie in the future")
    else:
        field_name, tick_at = "cron", _next_of_cron(order, now, path)
    if tick_at - now > HORIZON:
        errors = [{"field": path + field_name, "message": f"lies farther ahead than {HORIZON_TEXT}"}]
        raise ScheduleHorizonExceeded(errors=errors, maxFutureHorizon=HORIZON_TEXT)
    return tick_at


def _problem_of(order: ScheduleOrder) -> tuple[str, str]:
    """The field that is wrong and what is wrong with it; two empty texts when nothing is."""
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
    """A new schedule; its name is taken by no other of the tenant."""
    next_at = first_tick(order, now=now, path=path)
    schedule = Schedule(tenant_id=tenant_id, created_at=now)
    _write(schedule, order, next_at if order.enabled else None)
    try:
        with transaction.atomic():
            return schedule.insert(by=WRITER)
    except IntegrityError:
        raise Conflict("There is a schedule of that name already.") from None


def change(schedule: Schedule, order: ScheduleOrder, *, now: datetime, path: str = "") -> None:
    """The locked schedule is as ``order`` says. The next tick is looked for anew when the time was changed or it was
    enabled; otherwise it stays."""
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
    """What the schedule is now, as it could be ordered."""
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
    """The schedule and its ticks are gone; the runs it has started stay."""
    Schedule.objects.written_by(WRITER).filter(tenant_id=schedule.tenant_id, id=schedule.id).delete()


def find(tenant_id: UUID, name: str) -> Schedule:
    """The schedule of that name; a foreign one is not found."""
    return _there(Schedule.objects.of(tenant_id).filter(name=name).first())


def locked(tenant_id: UUID, name: str) -> Schedule:
    """The same, locked until the transaction ends."""
    return _there(Schedule.objects.of(tenant_id).select_for_update().filter(name=name).first())


def _there(schedule: Schedule | None) -> Schedule:
    if schedule is None:
        raise NotFound("There is no schedule of that name.")
    return schedule


def schedules_of_workflow(tenant_id: UUID, workflow_id: str) -> dict[str, Schedule]:
    """The schedules of the workflow's own triggers, by name, locked."""
    rows = Schedule.objects.of(tenant_id).select_for_update().filter(name__startswith=f"{OF_WORKFLOW}{workflow_id}/")
    return {row.name: row for row in rows.order_by("name")}


def schedule_of_automation(tenant_id: UUID, name: str) -> Schedule | None:
    """The schedule of the installed automation of that name, locked; None when there is none."""
    rows = Schedule.objects.of(tenant_id).select_for_update()
    found: Schedule | None = rows.filter(name=f"{OF_AUTOMATION}{name}").first()
    return found


def page(tenant_id: UUID, *, after: str = "", size: int) -> Page[Schedule]:
    """The schedules whose names come behind ``after``."""
    return read_page(Schedule.objects.of(tenant_id), after, size, order="name")


def coming(row: Any) -> list[datetime]:
    """The next five ticks of a schedule, of a run or of a pass, or as many as there are; none while it rests."""
    if row.next_at is None or not row.cron:
        return [row.next_at] if row.next_at else []
    behind = cron.following(row.cron, row.timezone, row.next_at)
    return [row.next_at, *islice(behind, SHOWN_TICKS - 1)]


def ticks_of(schedule: Schedule, *, before: datetime | None = None, size: int) -> Page[ScheduleTick]:
    """The ticks before ``before``, the latest first."""
    rows = ScheduleTick.objects.of(schedule.tenant_id).filter(schedule_id=schedule.id)
    return read_page(rows, before, size, order="-tick_at")


def due(table: type[TenantOwned], *more: str, now: datetime, limit: int = 100) -> list[tuple[Any, ...]]:
    """The keys of the rows of all tenants that have a tick to fire, with ``more`` columns; the longest due first."""
    rows = table.objects.filter(_is_due(now)).order_by("next_at")
    return list(rows.values_list("tenant_id", "id", *more)[:limit])


def lock_due(table: type[Row], tenant_id: UUID, row_id: UUID, *, now: datetime) -> Row | None:
    """The row, locked until the transaction ends, when its tick is due still: of all who look at once, one has it."""
    found = table.objects.of(tenant_id).select_for_update().filter(_is_due(now), id=row_id).first()
    return found if isinstance(found, table) else None


def _is_due(now: datetime) -> Q:
    return Q(enabled=True, next_at__lte=now)


def next_tick(row: Any, *, now: datetime) -> datetime | None:
    """The next tick of a schedule that could not be fired; None when it has none, or nor can its time be read."""
    try:
        return cron.next_after(row.cron, row.timezone, now) if row.cron else None
    except (ValueError, LookupError):
        return None


def claim(tenant_id: UUID, schedule_id: UUID, *, now: datetime) -> Claim | None:
    """The due tick, for whoever comes first; None for everybody else. In the transaction that settles it.

    The schedule is locked, and waits for its next tick from here on.
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
    if before.exists():  # a console whose clock is behind ours has set the schedule back to it
        return None
    too_late = schedule.missed == MissedFirePolicy.SKIP and now - found.tick_at > ON_TIME
    return Claim(schedule, found.tick_at, found.missed, too_late)


def settle(claimed: Claim, *, run_id: UUID | None = None, code: str = "", now: datetime) -> ScheduleTick:
    """What became of the tick is on record: its run, or why there is none."""
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
    """A tick that could not be fired is on record as failed; the schedule waits for the next one, if it can tell."""
    schedule = lock_due(Schedule, tenant_id, schedule_id, now=now)
    if schedule is None or schedule.next_at is None:
        return
    failed = Claim(schedule, schedule.next_at, 0, too_late=False)
    schedule.next_at = next_tick(schedule, now=now)
    schedule.save(by=WRITER, update_fields=["next_at"])
    if not ScheduleTick.objects.of(tenant_id).filter(schedule_id=schedule.id, tick_at=failed.tick_at).exists():
        settle(failed, code=FAILED, now=now)


def following_beat(tick_at: datetime, interval: timedelta, now: datetime) -> datetime:
    """The next tick behind ``now`` on the beat of ``tick_at``. Ticks that nobody looked at are skipped."""
    return tick_at + interval * ((now - tick_at) // interval + 1)


def fire_each(
    what: str,
    due: Iterable[Key],
    fire: Callable[[Key], bool],
    *,
    give_up: Callable[[Key], None] | None = None,
) -> int:
    """Fire all that is due; returns how many started something. One that cannot be fired stops no other.

    When the database is at fault it is tried again at the next look; otherwise ``give_up`` puts on record that it
    failed.
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
def keep_timers(timers: Sequence[Timer], *, now: datetime) -> None:
    """The host has these timers and no others. What is due already waits until the host has started."""
    rows, first_at = HostTimer.objects.written_by(WRITER), now + QUIET_START
    rows.exclude(name__in=[timer.name for timer in timers]).delete()
    rows.filter(next_at__lt=now).update(next_at=first_at)
    rows.bulk_create([HostTimer(name=timer.name, next_at=first_at) for timer in timers], ignore_conflicts=True)


def fire_timers(timers: Sequence[Timer], *, queue: Callable[[Timer], None], now: datetime) -> int:
    """Every timer that is due is queued, by whoever takes its tick first; returns how many."""
    known = {timer.name: timer for timer in timers}
    due = HostTimer.objects.filter(name__in=known, next_at__lte=now).order_by("next_at").values_list("name", "next_at")
    return fire_each("Timer", list(due), lambda key: _fire_timer(known[key[0]], key[1], queue, now))


@transaction.atomic
def _fire_timer(timer: Timer, tick_at: datetime, queue: Callable[[Timer], None], now: datetime) -> bool:
    next_at = following_beat(tick_at, timedelta(minutes=timer.minutes), now)
    rows = HostTimer.objects.written_by(WRITER).filter(name=timer.name, next_at=tick_at)
    is_ours: bool = rows.update(next_at=next_at) == 1
    if is_ours:
        queue(timer)
    return is_ours
