"""Times in words: an instant behind the moment at which they were written, or a cron expression. Pure.

A day without a time is 09:00 in the zone. What lies in the past is no time at all.
"""

import calendar
import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from memory.host import cron
from memory.intentions import recurring
from memory.intentions.clocks import CLOCK, MONTH, NUMBER, WEEKDAY, clock_in, number_of, weekday_of

MORNING = time(9)
EVENING = time(17)
UNITS = r"(?:minutes?|mins?|hours?|hrs?|days?|weeks?|fortnights?|months?)"
RELATIVE = re.compile(
    rf"\b(?:in|within|after)\s+(?P<n>half an|{NUMBER})\s+(?P<unit>{UNITS})\b|"
    rf"\b(?P<n2>{NUMBER})\s+(?P<unit2>{UNITS})\s+(?:from now|hence|later)\b",
    re.IGNORECASE,
)
ABSOLUTE = re.compile(
    rf"\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{MONTH}(?!\w)(?:,?\s+\d{{4}}\b)?|"
    rf"\b{MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?!:)(?:,?\s+\d{{4}}\b)?",
    re.IGNORECASE,
)
NAMED = re.compile(
    r"\b(?:(?P<after>(?:the )?day after tomorrow)|(?P<tomorrow>tomorrow)|(?P<tonight>tonight)|(?P<today>today)|"
    r"(?P<this>this (?:morning|afternoon|evening))|(?P<week>next week)|(?P<month>next month)|"
    r"(?P<end>end of (?:the |this )?(?P<span>day|week|month|year)|eod|cob))\b",
    re.IGNORECASE,
)
DAY = re.compile(
    rf"\b(?:(?P<past>last|past|previous|since)\s+)?(?P<how>(?:(?:on|by|before|until|for|next|this|coming)\s+){{0,2}})"
    rf"(?P<day>{WEEKDAY})\b(?!s\b)",
    re.IGNORECASE,
)
ORDINAL = re.compile(r"\b(?:on|by|before) the (?P<n>\d{1,2})(?:st|nd|rd|th)\b", re.IGNORECASE)
YEAR = re.compile(r"\d{4}")


@dataclass(frozen=True, slots=True)
class When:
    """An instant, and with ``cron`` the first of many."""

    at: datetime
    cron: str = ""


def spans(text: str) -> list[tuple[int, int]]:
    """Where words of time stand in ``text``."""
    rules = (RELATIVE, ABSOLUTE, NAMED, DAY, ORDINAL, CLOCK, *recurring.RULES)
    return sorted(found.span() for rule in rules for found in rule.finditer(text))


def when(text: str, *, zone: str, base: datetime) -> When | None:
    """The time that ``text`` speaks of, as written at ``base``; None when there is none, or it was before ``base``."""
    local = base.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    if recurring.is_meant(text):
        return _repeated(text, zone, base, local)
    exact = _exact(text, base)
    if exact is not None:
        return exact
    wall = _wall(text, local)
    if wall is None:
        return None
    at = cron.instant_of(wall, zone)
    return When(at) if at > base else None


def _repeated(text: str, zone: str, base: datetime, local: datetime) -> When | None:
    repeats = recurring.cron_of(text, local)
    first = cron.next_after(repeats, zone, base) if repeats else None
    return When(first, repeats) if first else None


def _exact(text: str, base: datetime) -> When | None:
    """So many minutes or hours from then: by the clock that never jumps."""
    found = RELATIVE.search(text)
    unit = _unit(found) if found else ""
    if found is None or unit[0] not in "mh" or unit.startswith("mo"):
        return None
    amount = number_of(found["n"] or found["n2"])
    return When(base + amount * (timedelta(hours=1) if unit[0] == "h" else timedelta(minutes=1)))


def _unit(found: re.Match[str]) -> str:
    return str(found["unit"] or found["unit2"]).casefold()


def _wall(text: str, local: datetime) -> datetime | None:
    """What the clock on the wall will show."""
    clock = clock_in(text)
    for look in (_relative, _absolute, _named, _weekday, _ordinal):
        found = look(text, local, clock)
        if found is not False:
            return found if isinstance(found, datetime) else None
    return _today(local, clock) if clock else None


Found = datetime | None | bool


def _relative(text: str, local: datetime, clock: time | None) -> Found:
    found = RELATIVE.search(text)
    if found is None:
        return False
    unit, amount = _unit(found), int(number_of(found["n"] or found["n2"]))
    if unit.startswith("month"):
        return datetime.combine(_months_on(local.date(), amount), clock or MORNING)
    days = {"d": 1, "w": 7, "f": 14}[unit[0]] * amount
    return datetime.combine(local.date() + timedelta(days=days), clock or MORNING)


def _months_on(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def _absolute(text: str, local: datetime, clock: time | None) -> Found:
    """A date of the calendar; without a year the next one to come."""
    found = ABSOLUTE.search(text)
    if found is None:
        return False
    words = found[0].replace(".", "").replace(",", " ")
    day = _parsed(words, local)
    if day is None:
        return None
    wall = datetime.combine(day.date(), clock or MORNING)
    if wall <= local and day.date() == local.date() and not clock:
        wall = datetime.combine(day.date(), EVENING)
    return wall


def _parsed(words: str, local: datetime) -> datetime | None:
    parsed = _parser(local.date()).get_date_data(words).date_obj
    return parsed if isinstance(parsed, datetime) and parsed.tzinfo is None else None


@cache
def _days() -> Any:
    from dateparser.date import DateDataParser

    return DateDataParser


def _parser(day: date) -> Any:
    """dateparser, in one language and from a given day, so that it says the same every time."""
    settings = {
        "PREFER_DATES_FROM": "future",
        "RELATIVE_BASE": datetime.combine(day, time()),
        "TIMEZONE": "UTC",
        "RETURN_AS_TIMEZONE_AWARE": False,
        "STRICT_PARSING": False,
        "PARSERS": ["absolute-time"],
        "DATE_ORDER": "DMY",
    }
    return _days()(languages=["en"], settings=settings)


def _named(text: str, local: datetime, clock: time | None) -> Found:
    found = NAMED.search(text)
    if found is None:
        return False
    today = local.date()
    if found["after"] or found["tomorrow"]:
        days = 2 if found["after"] else 1
        return datetime.combine(today + timedelta(days=days), clock or MORNING)
    if found["week"]:
        return datetime.combine(today + timedelta(days=7 - today.weekday()), clock or MORNING)
    if found["month"]:
        return datetime.combine(_months_on(today.replace(day=1), 1), clock or MORNING)
    if found["end"] and (found["span"] or "day").casefold() != "day":
        return datetime.combine(_end_of(found["span"].casefold(), today), clock or EVENING)
    return _today(local, clock)


def _end_of(span: str, today: date) -> date:
    if span == "week":
        return today + timedelta(days=(4 - today.weekday()) % 7)
    if span == "year":
        return date(today.year, 12, 31)
    return today.replace(day=calendar.monthrange(today.year, today.month)[1])


def _today(local: datetime, clock: time | None) -> datetime:
    """Today at that time; without one in the morning, or when that is over in the evening."""
    chosen = clock or (MORNING if local.time() < MORNING else EVENING)
    return datetime.combine(local.date(), chosen)


def _weekday(text: str, local: datetime, clock: time | None) -> Found:
    """The next day of that name, today only when its time is still to come; the next one, when it is called that, is
    the one of the week that begins on the next Monday."""
    found = next((each for each in DAY.finditer(text) if not each["past"] and _is_day(each)), None)
    if found is None:
        return False
    wanted, today = weekday_of(found["day"]), local.weekday()
    if "next" in found["how"].casefold():
        return datetime.combine(local.date() + timedelta(days=7 - today + wanted), clock or MORNING)
    wall = datetime.combine(local.date() + timedelta(days=(wanted - today) % 7), clock or MORNING)
    return wall + timedelta(days=7) if wall <= local else wall


def _is_day(found: re.Match[str]) -> bool:
    """A short form such as "sat" is a day only behind a word such as "on"."""
    return len(found["day"]) > 5 or bool(found["how"].strip())


def _ordinal(text: str, local: datetime, clock: time | None) -> Found:
    """The next day of the month of that number."""
    found = ORDINAL.search(text)
    if found is None:
        return False
    wanted, month = int(found["n"]), local.date().replace(day=1)
    for ahead in range(3):
        first = _months_on(month, ahead)
        if 1 <= wanted <= calendar.monthrange(first.year, first.month)[1]:
            wall = datetime.combine(first.replace(day=wanted), clock or MORNING)
            if wall > local:
                return wall
    return None
