"""Evaluates cron expressions in a time zone.

CronSim follows Debian's cron where a clock changes. An expression of fixed times ticks once for a wall time that occurs
twice, and at the jump for one that is skipped. One whose minute or hour begins with ``*`` ticks whenever the clock
shows a matching time: it ticks throughout a repeated hour and does not make up for a skipped one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice, takewhile
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError
from cronsim.explain import explain

COUNTED = 1000  # the limit of the count, since a schedule is locked meanwhile
SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)
WRONG = "must be a cron expression of five fields"


@dataclass(frozen=True, slots=True)
class Due:
    """The tick to fire, the number of missed ticks before it, counted up to 1,000, and the next one."""

    tick_at: datetime
    missed: int
    next_at: datetime | None


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones() - {"localtime", "Factory"})


def is_zone(name: str) -> bool:
    """Whether ``name`` is an IANA time zone."""
    return name in _zones()


def problem_of(expression: str) -> str:
    """Return what is wrong with a cron expression of five fields, or an empty text."""
    try:
        _simulate(expression, SOME_DAY)
    except ValueError as error:
        return str(error)
    return ""


def in_words(expression: str) -> str:
    """Describe a cron expression (``At 09:00 on Monday through Friday``); an invalid one is returned unchanged."""
    return expression if problem_of(expression) else explain(_normalize(expression))


def _normalize(expression: str) -> str:
    """``?`` is another spelling of ``*``."""
    return expression.replace("?", "*")


def _simulate(expression: str, start: datetime) -> Iterator[datetime]:
    """Yield the ticks after ``start``, in its zone; none when no month has the day.

    Raises ``ValueError`` when the expression is not valid.
    """
    fields = _normalize(expression).split()
    if len(fields) != 5:  # CronSim accepts six, with seconds first
        raise ValueError(WRONG)
    try:
        return CronSim(" ".join(fields), start)
    except CronSimError as error:
        if not _is_valid_apart(*fields):
            part = str(error).removeprefix("Bad ")
            raise ValueError(f"{WRONG}; the {part} is not valid") from error
        return iter(())


def _is_valid_apart(minute: str, hour: str, day: str, month: str, weekday: str) -> bool:
    """Whether the day and the month are valid separately: CronSim refuses 30 February as it does month 13."""
    try:
        CronSim(f"{minute} {hour} {day} * {weekday}", SOME_DAY)
        CronSim(f"{minute} {hour} * {month} {weekday}", SOME_DAY)
    except CronSimError:
        return False
    return True


def ticks_after(expression: str, timezone: str, after: datetime) -> Iterator[datetime]:
    """Yield the ticks after ``after`` as instants, in order; none when there is no such day."""
    last = after
    for tick in _simulate(expression, after.astimezone(ZoneInfo(timezone))):
        instant = tick.astimezone(UTC)
        # Where an hour is repeated, a fixed time that is later on the clock may have been before ``after``.
        if instant > last:
            last = instant
            yield instant


def next_after(expression: str, timezone: str, after: datetime, *, every: int = 1) -> datetime | None:
    """Return the next tick after ``after``; with ``every`` = n only each n-th counts, the first n ticks ahead."""
    return next(islice(ticks_after(expression, timezone, after), every - 1, None), None)


def next_or_none(expression: str, timezone: str, after: datetime) -> datetime | None:
    """``next_after``, or None for a row whose expression or zone this host cannot read any more."""
    try:
        return next_after(expression, timezone, after) if expression else None
    except (ValueError, LookupError):
        return None


def due(expression: str, timezone: str, first: datetime, now: datetime, *, every: int = 1) -> Due:
    """Return the tick to fire at ``now``: the latest of ``first`` and its successors, which replaces all missed
    ones."""
    if every > 1:
        return _due_every(expression, timezone, first, now, every)
    second = next_after(expression, timezone, first)
    if second is None or second > now:
        return Due(first, 0, second)
    last = _latest(expression, timezone, first, now)
    return Due(last, _count_before(expression, timezone, first, last), next_after(expression, timezone, last))


def _due_every(expression: str, timezone: str, first: datetime, now: datetime, every: int) -> Due:
    """``due`` for ``every`` > 1, which counts ticks of days or longer, one by one."""
    tick, missed = first, 0
    while (following_one := next_after(expression, timezone, tick, every=every)) and following_one <= now:
        tick, missed = following_one, missed + 1
    return Due(tick, missed, following_one)


def _latest(expression: str, timezone: str, first: datetime, until: datetime) -> datetime:
    """Return the last tick up to ``until``, of at least one after ``first``."""
    back = timedelta(hours=1)
    while True:
        start = max(first, until - back)
        ticks = list(takewhile(lambda tick: tick <= until, ticks_after(expression, timezone, start)))
        if ticks or start == first:
            return ticks[-1]
        back *= 8


def _count_before(expression: str, timezone: str, first: datetime, last: datetime) -> int:
    """Count the ticks from ``first``, included, to ``last``, excluded."""
    count = 1
    for instant in ticks_after(expression, timezone, first):
        if instant >= last or count >= COUNTED:
            break
        count += 1
    return count


def instant_of(wall: datetime, timezone: str) -> datetime:
    """Return the first instant at which a clock in that zone shows ``wall``, or the one at which it skips it."""
    zone = ZoneInfo(timezone)
    while (instant := wall.replace(tzinfo=zone).astimezone(UTC)).astimezone(zone).replace(tzinfo=None) != wall:
        wall = wall.replace(second=0, microsecond=0) + timedelta(minutes=1)
    return instant
