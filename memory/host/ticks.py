"""When a cron expression ticks, in its zone. Pure.

croniter counts wall times; here they become instants. A wall time that happens twice ticks the first time alone, and
those that the clock skips tick once, at the moment it jumps.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from cron_descriptor import FormatError, MissingFieldError, Options, get_description
from croniter import CroniterBadDateError, CroniterError, croniter

COUNTED = 1000  # a schedule is locked meanwhile
LONGEST_FOLD = timedelta(hours=3)
FIELD = re.compile(r"[0-9A-Za-z*,/#?-]+")
BY_CHANCE = re.compile(r"(?<![A-Za-z])[HR](?![A-Za-z])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Due:
    """The tick that is to fire, how many before it were missed, counted up to 1,000, and the one that comes next."""

    tick_at: datetime
    missed: int
    next_at: datetime | None


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones() - {"localtime", "Factory"})


def is_zone(name: str) -> bool:
    """Whether this is the name of an IANA time zone."""
    return name in _zones()


def problem_of(cron: str) -> str:
    """What is wrong with a cron expression, or nothing. Five fields, to the minute; nothing that is left to chance."""
    fields = cron.split()
    if len(fields) != 5 or not all(FIELD.fullmatch(field) for field in fields) or BY_CHANCE.search(cron):
        return "must be a cron expression of five fields"
    try:
        croniter(cron)
    except CroniterError:
        return "must be a cron expression of five fields"
    return ""


def in_words(cron: str) -> str:
    """A cron expression as people would say it (``At 09:00, Monday through Friday``); itself when nobody could."""
    options = Options()
    options.use_24hour_time_format = True
    try:
        return str(get_description(cron, options))
    except (FormatError, MissingFieldError, ValueError, LookupError):
        return cron


def following(cron: str, timezone: str, after: datetime) -> Iterator[datetime]:
    """The instants behind ``after`` at which it ticks, in their order; none when there is no such day."""
    zone, last = ZoneInfo(timezone), after
    walls = croniter(cron, after.astimezone(zone).replace(tzinfo=None))
    while True:
        try:
            instant = _instant(walls.get_next(datetime), zone)
        except CroniterBadDateError:
            return
        if instant > last:
            last = instant
            yield instant


def next_after(cron: str, timezone: str, after: datetime) -> datetime | None:
    return next(following(cron, timezone, after), None)


def due(cron: str, timezone: str, first: datetime, now: datetime) -> Due:
    """What is to be done at ``now`` about the tick ``first`` and all behind it: the latest of them stands for all."""
    second = next_after(cron, timezone, first)
    if second is None or second > now:
        return Due(first, 0, second)
    last = _latest(cron, timezone, now)
    return Due(last, _count_before(cron, timezone, first, last), next_after(cron, timezone, last))


def _latest(cron: str, timezone: str, until: datetime) -> datetime:
    """The last tick up to ``until``; on the clock it may lie behind that, in an hour that is repeated."""
    zone = ZoneInfo(timezone)
    walls = croniter(cron, until.astimezone(zone).replace(tzinfo=None) + LONGEST_FOLD)
    while (instant := _instant(walls.get_prev(datetime), zone)) > until:
        pass
    return instant


def _count_before(cron: str, timezone: str, first: datetime, last: datetime) -> int:
    """How many ticks there are from ``first`` on before ``last``."""
    count = 1
    for instant in following(cron, timezone, first):
        if instant >= last or count >= COUNTED:
            break
        count += 1
    return count


def instant_of(wall: datetime, timezone: str) -> datetime:
    """The instant at which a clock in that zone shows ``wall``, by the same rules."""
    return _instant(wall, ZoneInfo(timezone))


def _instant(wall: datetime, zone: ZoneInfo) -> datetime:
    """The first moment at which the clock on the wall shows ``wall``, or has jumped over it."""
    at = wall.replace(tzinfo=zone).astimezone(UTC)
    if at.astimezone(zone).replace(tzinfo=None) == wall:
        return at
    return _jump_over(wall, zone, at)


def _jump_over(wall: datetime, zone: ZoneInfo, late: datetime) -> datetime:
    """The moment the clock jumps over ``wall``: between the two instants that the offsets on either side make of it."""
    early = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    before = early.astimezone(zone).utcoffset()
    low, high = int(early.timestamp()), int(late.timestamp())
    while high - low > 1:
        middle = (low + high) // 2
        still = datetime.fromtimestamp(middle, zone).utcoffset() == before
        low, high = (middle, high) if still else (low, middle)
    return datetime.fromtimestamp(high, UTC)
