"""How long an entry lives (RFC-0015 1.1 ``ttl`` and ``expires_at``; R9, R12, C13). Pure.

A duration is one of ISO 8601: years and months by the calendar, everything else by the clock.
"""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from memory.addresses import TASK_LIFETIME
from memory.host.errors import Invalid

DURATION = "duration:"
MAX_LENGTH = 64
MAX_YEARS = 1000
NUMBER = r"([0-9]{1,12}(?:[.,][0-9]{1,12})?)"
FORM = re.compile(
    "P(?=[0-9T])"
    + "".join(f"(?:{NUMBER}{unit})?" for unit in "YMWD")
    + "(?:T(?=[0-9])"
    + "".join(f"(?:{NUMBER}{unit})?" for unit in "HMS")
    + ")?"
)
SECONDS = (604_800, 86_400, 3_600, 60, 1)


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time: so many months of the calendar, and so much by the clock."""

    months: int
    clock: timedelta

    def after(self, moment: datetime) -> datetime:
        """The end of it; a day that the month does not have is the month's last."""
        years, month = divmod(moment.month - 1 + self.months, 12)
        year = moment.year + years
        day = min(moment.day, monthrange(year, month + 1)[1])
        return moment.replace(year=year, month=month + 1, day=day) + self.clock


def parse(text: str) -> str:
    """``task_lifetime`` or ``duration:<ISO 8601>`` for what was sent; a duration may be sent without the prefix."""
    problem = problem_with(text)
    if problem:
        raise Invalid("That is no lifetime of an entry.", errors=[{"field": "ttl", "message": problem}])
    return text if text == TASK_LIFETIME else DURATION + text.removeprefix(DURATION)


def problem_with(text: str) -> str:
    """Why that is no lifetime; empty for one that is. None is nothing long, or longer than ``MAX_YEARS``."""
    found = None if text == TASK_LIFETIME else _read(text.removeprefix(DURATION))
    return found if isinstance(found, str) else ""


def end_of(ttl: str, created_at: datetime) -> datetime | None:
    """When an entry of that normalised ``ttl`` ends by itself; None when time alone does not end it.

    ``task_lifetime`` ends with the task (``archival``), and never when there is none (C13).
    """
    found = _read(ttl.removeprefix(DURATION)) if ttl.startswith(DURATION) else None
    return found.after(created_at) if isinstance(found, Duration) else None


def expiry(ttl: str, expires_at: datetime | None, *, since: datetime) -> datetime | None:
    """When the entry lapses: ``expires_at`` where it was given, which wins over ``ttl`` (RFC-0015 1.1)."""
    return expires_at or end_of(ttl, since)


def _read(text: str) -> Duration | str:
    """The duration, or what is wrong with it."""
    found = FORM.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if found is None:
        return "must be task_lifetime, or a duration of ISO 8601 such as duration:PT24H"
    parts = [part.replace(",", ".") if part else "" for part in found.groups()]
    given = [part for part in parts if part]
    if any("." in part for part in [*given[:-1], *parts[:2]]):
        return "may have a fraction only in its last part, and none in years and months"
    return _of([Decimal(part or 0) for part in parts])


def _of(parts: list[Decimal]) -> Duration | str:
    months = int(parts[0] * 12 + parts[1])
    seconds = sum((part * each for part, each in zip(parts[2:], SECONDS, strict=True)), Decimal())
    if months > MAX_YEARS * 12 or seconds > MAX_YEARS * 365 * 86_400:
        return f"is longer than {MAX_YEARS} years"
    duration = Duration(months, timedelta(microseconds=int(seconds * 1_000_000)))
    return duration if months or duration.clock else "must be longer than nothing"
