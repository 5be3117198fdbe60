"""Times in words: an instant after the moment at which they were written, or a cron expression.

A day without a time is 09:00 in the zone. A time in the past is none.
"""

import calendar
import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from memory.host import cron
from memory.text import patterns

WORDS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "fourteen": 14,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
    "sixty": 60,
    "ninety": 90,
}
HOUR = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
NUMBER = rf"(?:\d{{1,3}}|{'|'.join(sorted(WORDS, key=len, reverse=True))})"
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAY = r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)"
DAY_NAME = r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.?"
)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}
PARTS = {
    "morning": time(9),
    "noon": time(12),
    "midday": time(12),
    "afternoon": time(14),
    "evening": time(18),
    "tonight": time(20),
    "night": time(20),
    "midnight": time(0),
    "eod": time(17),
    "cob": time(17),
    "end of day": time(17),
    "end of the day": time(17),
    "close of business": time(17),
    "close of play": time(17),
    "end of business": time(17),
    "lunchtime": time(12),
    "before lunch": time(12),
    "over lunch": time(12),
    "after lunch": time(13),
}
AFTERNOON = time(14)
LATE = time(23)  # "tonight", when it is evening already
REACHED = timedelta(days=20 * 366)
HALF = patterns.late(r"\d\s?[ap]\.?m\b", re.IGNORECASE)
CLOCK = patterns.late(
    r"(?:(?<![-\w])(?:at|by|around|before)\s+|@\s*)(?P<h>\d{1,2})(?::(?P<m>\d{2}))?\s*(?P<half>[ap]\.?m\b\.?|o'clock|h\b)?"
    r"(?![\w:%]|[.,]\d|\s*(?:percent|dollars?|euros?|st|nd|rd|th|items?|people|days?|weeks?|months?|hours?|minutes?)\b"
    rf"|\s*(?:of\s+)?{MONTH}(?!\w))|"
    r"(?<![\d:.])\b(?P<h2>\d{1,2}):(?P<m2>\d{2})(?![:.]?\d)\s*(?P<half2>[ap]\.?m\b\.?)?|\b(?P<h3>\d{1,2})\s?(?P<half3>[ap]\.?m\b\.?)|"
    rf"(?<![-\w])(?:at|by|around|before)\s+(?:(?P<half_past>half past|quarter past"
    rf"|quarter to)\s+)?(?P<word>{HOUR})(?:\s+(?P<thirty>thirty))?"
    r"(?:\s*(?P<half4>[ap]\.?m\b\.?|o'clock\b))?(?!\s*(?:percent|dollars?|euros?|items?|people|days?|weeks?|months?"
    r"|hours?|minutes?|of)\b|[\w-])|"
    rf"\b(?P<part>{'|'.join(sorted(PARTS, key=len, reverse=True))})\b",
    re.IGNORECASE,
)
EVERY = patterns.late(
    r"\b(?:at the (?:(?P<start>start|beginning)|(?P<close>end)) of )?"
    rf"(?:every|each)\s+(?P<other>other\s+|second\s+)?(?:(?P<n>{NUMBER})\s+)?"
    rf"(?P<unit>minutes?|hours?|days?|weekdays?|working days?|business days?|weeks?|fortnights?|months?|years?"
    rf"|quarters?|mornings?|afternoons?|evenings?|nights?|{WEEKDAY}s?\b(?:(?:\s*,\s*|\s+and\s+"
    rf"|\s*&\s*){WEEKDAY}s?\b){{0,6}})\b",
    re.IGNORECASE,
)
PLURAL = patterns.late(
    r"(?:\bon\s+|^\W*)(?P<days>weekdays|(?:work|working|business) days|weekends|(?:mon|tues|wednes|thurs|fri|satur"
    r"|sun)days"
    r"(?:\s+and\s+(?:mon|tues|wednes|thurs|fri|satur|sun)days)?)\b",
    re.IGNORECASE,
)
ADVERB = patterns.late(
    r"\b(?P<word>hourly|daily|weekly|bi-?weekly|fortnightly|monthly|quarterly|yearly|annually"
    r"|(?:once|twice|three times) an? (?:hour|day|week|month|quarter))\b",
    re.IGNORECASE,
)
FORTNIGHTLY = ("biweekly", "bi-weekly", "fortnightly")
MOST_EVERY = 12
FRIDAY = 4
SELDOM = {"quarterly": "1,4,7,10", "yearly": "1", "annually": "1"}
# So many times in a span, evenly: the hour, and the days of the week or the month.
OFTEN = {
    "twice a day": "0 9,17 * * *",
    "three times a day": "0 9,13,17 * * *",
    "twice a week": "0 9 * * 1,4",
    "three times a week": "0 9 * * 1,3,5",
    "twice a month": "0 9 1,15 * *",
}
DAY_OF_MONTH = patterns.late(
    r"\b(?:on )?the (?P<n>\d{1,2})(?:st|nd|rd|th) of (?:every|each) month\b"
    r"|\b(?:every|each) month on the (?P<n2>\d{1,2})(?:st|nd|rd|th)\b"
    r"|\bmonthly on the (?P<n3>\d{1,2})(?:st|nd|rd|th)\b"
    r"|\b(?:on )?the (?P<first>first day|first) of (?:every|each|the) month\b"
    r"|\b(?:(?:on )?the (?P<last>last (?:(?:working|business) )?day)|at the end) of (?P<of>every|each|the) month\b",
    re.IGNORECASE,
)
NTH = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": -1}
# "the first Monday of each month", "the last Friday in March"
NTH_DAY = patterns.late(
    rf"\b(?:(?:on|by|before) )?(?:the |every |each )?(?P<nth>{'|'.join(NTH)}) (?P<day>{DAY_NAME}) (?:of|in) "
    rf"(?:(?P<each>every|each|the|a)\s+month|(?P<next>next month)|(?P<this>this month)|(?P<month>{MONTH}))(?!\w)",
    re.IGNORECASE,
)
RULES = (EVERY, PLURAL, ADVERB, DAY_OF_MONTH)
RECURRING_WORDS = patterns.late(WEEKDAY, re.IGNORECASE)
STEPS = {"minute": (5, 60), "hour": (1, 24)}
SPANS = {"hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month"}
MORNING = time(9)
EVENING = time(17)
UNITS = r"(?:minutes?|mins?|hours?|hrs?|(?:(?:working|business|calendar)\s+)?days?|weeks?|fortnights?|months?|years?)"
RELATIVE = patterns.late(
    rf"\b(?:in|within|after)\s+(?:the next\s+|at most\s+|about\s+)?(?P<n>half an|an?\s+couple\s+of|an?\s+few"
    rf"|{NUMBER})\s*(?P<unit>{UNITS})\b|"
    rf"\b(?P<n2>{NUMBER})\s+(?P<unit2>{UNITS})\s+(?:from (?:now|today)|hence|later)\b",
    re.IGNORECASE,
)
ORDINALS = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
    "fifteenth": 15,
}
ABSOLUTE = patterns.late(
    rf"\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{4}}\b|\b\d{{1,2}}(?:st|nd|rd"
    rf"|th)?\s+(?:of\s+)?{MONTH}(?!\w)(?:,?\s+\d{{4}}\b)?|"
    rf"\b(?:{'|'.join(ORDINALS)})\s+of\s+{MONTH}(?!\w)(?:,?\s+\d{{4}}\b)?|"
    rf"\b\d{{4}},?\s+{MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?!:)|\b\d{{4}},?\s+\d{{1,2}}\s+{MONTH}(?!\w)|"
    rf"\b{MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?!:)(?:,?\s+\d{{4}}\b)?",
    re.IGNORECASE,
)
YEAR = patterns.late(r"\b\d{4}\b")
NAMED = patterns.late(
    r"\b(?:(?P<after>(?:the )?day after tomorrow)|(?P<second>(?:the )?week after next)|(?P<tomorrow>tomorrow|tmrw"
    r"|tmr|tmw)|(?P<tonight>tonight)"
    r"|(?P<today>today)|"
    r"(?P<this>this (?:morning|afternoon|evening))|(?P<week>(?<!end of )next week)|(?P<month>(?<!end of )next month)|"
    r"(?P<weekend>(?:this|at the|on the|over the|by the|before the|next) weekend)"
    r"|(?P<later>(?<!end of )next (?:quarter|year))|(?P<rest>this (?:week|month|quarter|year))|"
    r"(?P<end>end of (?:the |this |(?P<next>next ))?(?P<span>day|week|month|quarter|year)|eod|cob|close of business"
    r"|close of play))\b",
    re.IGNORECASE,
)
DAY = patterns.late(
    rf"\b(?:(?P<past>last|past|previous|since)\s+)?(?P<how>(?:(?:on|by|before|until|for|next|this|coming)\s+){{0,2}})"
    rf"(?P<day>{WEEKDAY})\b(?!s\b)",
    re.IGNORECASE,
)
# "in March": on the first day of it; "by the end of March": on the last.
IN_MONTH = patterns.late(
    r"\b(?:(?:in|by|before|until|for|at)\s+(?:(?:early|late|mid|the beginning of|the start of)[- ])?"
    r"|(?:(?:by|before|until|at)\s+)?(?:the\s+)?(?P<close>end of)\s+)"
    r"(?!(?-i:Jan|April|May|June|August) (?-i:[A-Z][a-z]+))"  # a person's name: "by Jan Roth"
    rf"(?P<month>{MONTH}|(?:spring|summer|autumn|winter)(?=,?\s+\d{{4}})"
    r"|(?<=\bby )(?:spring|summer|autumn|winter)|(?<=\bbefore )(?:spring|summer|autumn|winter)"
    rf"|(?<=\buntil )(?:spring|summer|autumn|winter))(?:,?\s+(?P<year>\d{{4}}))?(?!\w"
    rf"|\s+\d)(?!\s+of\b)",
    re.IGNORECASE,
)
# "By the end of Q1", "in Q3 2027".
QUARTER = patterns.late(
    r"\b(?:by|before|until|in|at|for|during)?\s*(?:the\s+)?(?P<close>(?:end|close) of\s+)?"
    r"(?:(?:early|late|mid|the beginning of|the start of)[- ])?Q(?P<quarter>[1-4])(?:,?\s+(?P<year>\d{4}))?\b",
    re.IGNORECASE,
)
ORDINAL = patterns.late(r"\b(?:on|by|before|until|for|than) the (?P<n>\d{1,2})(?:st|nd|rd|th)\b", re.IGNORECASE)
HOLIDAYS = {
    "christmas eve": (12, 24),
    "christmas day": (12, 25),
    "christmas": (12, 25),
    "boxing day": (12, 26),
    "new year's eve": (12, 31),
    "new year's day": (1, 1),
    "new year": (1, 1),
    "valentine's day": (2, 14),
    "halloween": (10, 31),
}
HOLIDAY = patterns.late(rf"\b(?:on|by|before|for|until)\s+(?P<name>{'|'.join(HOLIDAYS)})\b", re.IGNORECASE)
NUMERIC = patterns.late(r"\b(\d{1,2})([./])(\d{1,2})\2(\d{4})\b")
# Where 3/4 is the fourth of March.
MONTH_FIRST = patterns.late(
    r"US/|America/(?:New_York|Chicago|Denver|Los_Angeles|Phoenix|Anchorage|Detroit|Boise|Juneau|Indiana/"
    r"|Kentucky/|North_)"
    r"|Pacific/Honolulu"
)


# Behind a clock, a zone of which there is one by that name: IST, CST and BST are several.
STATED_ZONES = {
    **dict.fromkeys(("utc", "gmt", "z", "wet"), "UTC"),
    **dict.fromkeys(("cet", "west"), "Etc/GMT-1"),
    **dict.fromkeys(("cest", "eet"), "Etc/GMT-2"),
    "eest": "Etc/GMT-3",
    "edt": "Etc/GMT+4",
    "est": "Etc/GMT+5",
    "mdt": "Etc/GMT+6",
    **dict.fromkeys(("mst", "pdt"), "Etc/GMT+7"),
    "pst": "Etc/GMT+8",
}
ZONED = patterns.late(
    rf"(?:\d:\d\d|\d ?[ap]\.?m\.?|noon|midnight)(?P<zone>\s+\(?(?:{'|'.join(STATED_ZONES)})\b\)?)", re.IGNORECASE
)
INSTANT = patterns.late(
    r"\b\d{4}-\d\d-\d\d(?P<t>T)\d\d:\d\d(?P<rest>(?::\d\d(?:\.\d+)?)?(?:(?P<z>Z)|(?P<sign>[+-])(?P<hours>\d\d):?00))(?![\w:])"
)


def with_stated_zone(text: str, zone: str) -> tuple[str, str]:
    """``text`` with a blank for the zone that is stated behind its time, and that zone; else both as they are."""
    if found := INSTANT.search(text):
        ahead = int(found["hours"] or 0)
        stated = "UTC" if not ahead else f"Etc/GMT{'-' if found['sign'] == '+' else '+'}{ahead}"
        spaced = text[: found.start("t")] + " " + text[found.end("t") : found.start("rest")]
        return (spaced + " " * len(found["rest"]) + text[found.end() :], stated) if ahead <= 12 else (text, zone)
    if is_meant(text) or not (found := ZONED.search(text)):
        return text, zone
    name = found["zone"].strip(" ()").casefold()
    return text[: found.start("zone")] + " " * len(found["zone"]) + text[found.end() :], STATED_ZONES[name]


def number_of(word: str) -> float:
    """The number that a word or digits say."""
    folded = word.casefold()
    if folded.endswith(("couple of", "few")):
        return 3 if folded.endswith("few") else 2
    return 0.5 if folded == "half an" else WORDS.get(folded) or int(folded)


def weekday_of(word: str) -> int:
    """0 for Monday."""
    return next(number for number, day in enumerate(DAYS) if day.startswith(word.casefold()[:3]))


def clock_in(text: str) -> time | None:
    """The first time of the day in ``text`` that there is; a clock before a part of the day, which says which half."""
    found = [time_of(each) for each in CLOCK.finditer(text) if not each["part"]]
    parts = [PARTS[each["part"].casefold()] for each in CLOCK.finditer(text) if each["part"]]
    clock, part = next((each for each in found if each), None), next(iter(parts), None)
    if clock and part and part >= AFTERNOON and 1 <= clock.hour < 12 and not HALF.search(text):
        return clock.replace(hour=clock.hour + 12)
    return clock or part


def time_of(found: re.Match[str]) -> time | None:
    """What a clock shows; None when no clock does."""
    hour = WORDS[found["word"].casefold()] if found["word"] else int(found["h"] or found["h2"] or found["h3"])
    minute = 30 if found["thirty"] else int(found["m"] or found["m2"] or 0)
    if past := (found["half_past"] or "").casefold():
        minute, hour = {"half past": (30, hour), "quarter past": (15, hour), "quarter to": (45, hour - 1)}[past]
    half = (found["half"] or found["half2"] or found["half3"] or found["half4"] or "").casefold()[:1]
    if half in ("a", "p"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    return time(hour, minute) if hour < 24 and minute < 60 else None


def month_of(word: str) -> int:
    """1 for January."""
    return SEASONS.get(word.casefold()) or MONTHS.index(word.casefold()[:3]) + 1


def names_the_past(text: str, base: datetime) -> bool:
    """Whether a date in ``text`` has a year before that of ``base``: "2013 Jan 16"."""
    years = (YEAR.search(found[0]) for found in ABSOLUTE.finditer(text))
    return any(year is not None and int(year[0]) < base.year for year in years)


def is_meant(text: str) -> bool:
    """Whether ``text`` speaks of something that comes again, be it or be it not a cron expression."""
    return any(rule.search(text) for rule in RULES) or _each_month(text) is not None


def _each_month(text: str) -> re.Match[str] | None:
    found = NTH_DAY.search(text)
    return found if found and found["each"] else None


def every_of(text: str) -> int:
    """Of the days, weeks or months that ``text`` names, each so-manieth is meant."""
    if found := EVERY.search(text):
        unit, amount = (
            found["unit"].casefold().rstrip("s"),
            2 if found["other"] else int(number_of(found["n"] or "one")),
        )
        return 2 * amount if unit == "fortnight" else 1 if unit in STEPS else amount
    found = ADVERB.search(text)
    return 2 if found and found["word"].casefold() in FORTNIGHTLY else 1


def cron_of(text: str, local: datetime) -> str:
    """The cron expression of what ``text`` says, as written at ``local``; "" when there is none that says the same."""
    clock = clock_in(text) or MORNING
    if found := _each_month(text):
        nth, day = NTH[found["nth"].casefold()], (weekday_of(found["day"]) + 1) % 7
        return f"{clock.minute} {clock.hour} * * {day}{'L' if nth < 0 else f'#{nth}'}"
    if found := DAY_OF_MONTH.search(text):
        if found["of"]:
            working = (found["last"] or "").casefold().startswith(("last w", "last b"))
            return f"{clock.minute} {clock.hour} {'LW' if working else 'L'} * *"
        day = 1 if found["first"] else int(found["n"] or found["n2"] or found["n3"])
        return f"{clock.minute} {clock.hour} {day} * *" if 1 <= day <= 31 else ""
    if found := PLURAL.search(text):
        named = found["days"].casefold()
        whole = "1-5" if named.endswith(" days") else {"weekdays": "1-5", "weekends": "6,0"}.get(named)
        return f"{clock.minute} {clock.hour} * * {whole}" if whole else _on_days(found["days"], clock)
    if found := ADVERB.search(text):
        word = found["word"].casefold()
        if word in FORTNIGHTLY:
            return _spans("week", text, clock, local)
        if word in SELDOM:
            return f"{clock.minute} {clock.hour} 1 {SELDOM[word]} *"
        if word.startswith(("twice", "three")):
            return OFTEN.get(word.replace(" an ", " a "), "")
        return _spans(SPANS.get(word) or word.split()[-1], text, clock, local)
    every = EVERY.search(text)
    return _every(every, text, clock, local) if every else ""


def _every(found: re.Match[str], text: str, clock: time, local: datetime) -> str:
    unit = found["unit"].casefold()
    amount = 2 if found["other"] else int(number_of(found["n"] or "one"))
    if unit.rstrip("s") in STEPS:
        return _steps(unit.rstrip("s"), amount)
    if not 1 <= every_of(text) <= MOST_EVERY:
        return ""
    if unit == "week" and (found["start"] or found["close"]):
        return _on_days("monday" if found["start"] else "friday", clock)
    if unit == "month" and found["start"]:
        return f"{clock.minute} {clock.hour} 1 * *"
    return _on_days(unit, clock) if RECURRING_WORDS.match(unit) else _spans(unit.rstrip("s"), text, clock, local)


def _steps(unit: str, amount: int) -> str:
    """Every so many minutes or hours, where that divides the hour or the day; nothing faster than five minutes."""
    least, whole = STEPS[unit]
    if not least <= amount <= whole // 2 and (unit, amount) != ("hour", 1):
        return ""
    if whole % amount:
        return ""
    return f"*/{amount} * * * *" if unit == "minute" else f"0 */{amount} * * *" if amount > 1 else "0 * * * *"


def _on_days(words: str, clock: time) -> str:
    days = sorted({weekday_of(each) + 1 for each in RECURRING_WORDS.findall(words)})
    return f"{clock.minute} {clock.hour} * * {','.join(str(day % 7) for day in days)}"


def _spans(unit: str, text: str, clock: time, local: datetime) -> str:
    """Every day, week or month; a week and a month come again on the day on which it was written, if on no other."""
    at = f"{clock.minute} {clock.hour}"
    named = next((number for number, day in enumerate(DAYS, 1) if day in text.casefold()), local.weekday() + 1)
    return {
        "hour": f"{clock.minute} * * * *",
        "day": f"{at} * * *",
        "morning": f"{at} * * *",
        "afternoon": f"{at} * * *",
        "evening": f"{at} * * *",
        "night": f"{at} * * *",
        "weekday": f"{at} * * 1-5",
        "working day": f"{at} * * 1-5",
        "business day": f"{at} * * 1-5",
        "week": f"{at} * * {named % 7}",
        "fortnight": f"{at} * * {named % 7}",
        "month": f"{at} {min(local.day, 28)} * *",
        "quarter": f"{at} 1 1,4,7,10 *",
        "year": f"{at} {min(local.day, 28)} {local.month} *",
    }.get(unit, "")


@dataclass(frozen=True, slots=True)
class When:
    """An instant, and with ``cron`` the first of many, each ``every``-th of its ticks."""

    at: datetime
    cron: str = ""
    every: int = 1


def spans(text: str) -> list[tuple[int, int]]:
    """Where words of time stand in ``text``."""
    rules = (RELATIVE, ABSOLUTE, NTH_DAY, IN_MONTH, QUARTER, NAMED, DAY, ORDINAL, HOLIDAY, CLOCK, *RULES)
    return sorted(found.span() for rule in rules for found in rule.finditer(text))


def when(text: str, *, zone: str, base: datetime) -> When | None:
    """The time that ``text`` speaks of, as written at ``base``; None when there is none, or it was before ``base``."""
    local = base.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    if is_meant(text):
        return _repeated(text, zone, base, local)
    exact = _exact(text, base)
    if exact is not None:
        return exact
    wall = _wall(text, local, zone)
    # The first day of the calendar and the last have no instant in every zone, and are out of reach.
    if wall is None or not -REACHED < wall - local < REACHED:
        return None
    at = cron.instant_of(wall, zone)
    return When(at) if at > base else None


def _repeated(text: str, zone: str, base: datetime, local: datetime) -> When | None:
    repeats = cron_of(text, local)
    first = cron.next_after(repeats, zone, base) if repeats else None
    return When(first, repeats, every_of(text)) if first else None


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


def _wall(text: str, local: datetime, zone: str) -> datetime | None:
    """What the clock on the wall will show."""
    clock = clock_in(NUMERIC.sub(" ", text))
    if digits := NUMERIC.search(text):
        day = _date_of(digits, zone)
        return datetime.combine(day, clock or MORNING) if day else None
    for look in (_relative, _nth_day, _absolute, _in_month, _quarter, _holiday, _named_time, _weekday, _ordinal):
        found = look(text, local, clock)
        if found is not False:
            return found if isinstance(found, datetime) else None
    return _at_clock(local, clock) if clock else None


def _date_of(found: re.Match[str], zone: str) -> date | None:
    """A date in digits, if there is such a day: with dots the day first, with slashes as the zone writes it."""
    first, second, year = int(found[1]), int(found[3]), int(found[4])
    as_written = [(second, first), (first, second)]  # month, day
    if found[2] == "/" and MONTH_FIRST.match(zone):
        as_written.reverse()
    for month, day in as_written if found[2] == "/" else as_written[:1]:
        if 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]:
            return date(year, month, day)
    return None


def _at_clock(local: datetime, clock: time) -> datetime:
    """The hour with no day: the next one."""
    ahead = clock <= local.time()
    return datetime.combine(local.date() + timedelta(days=int(ahead)), clock)


Found = datetime | None | bool


def _relative(text: str, local: datetime, clock: time | None) -> Found:
    found = RELATIVE.search(text)
    if found is None:
        return False
    unit, amount = _unit(found), int(number_of(found["n"] or found["n2"]))
    if unit.startswith(("month", "year")):
        return datetime.combine(_months_on(local.date(), amount * (12 if unit[0] == "y" else 1)), clock or MORNING)
    if unit.startswith(("working", "business")):
        return datetime.combine(_working_days_on(local.date(), amount), clock or MORNING)
    unit = unit.removeprefix("calendar").strip()
    days = {"d": 1, "w": 7, "f": 14}[unit[0]] * amount
    return datetime.combine(local.date() + timedelta(days=days), clock or MORNING)


def _working_days_on(day: date, amount: int) -> date:
    for _ in range(amount):
        day += timedelta(days=1)
        while day.weekday() > FRIDAY:
            day += timedelta(days=1)
    return day


def _months_on(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def _absolute(text: str, local: datetime, clock: time | None) -> Found:
    """A date of the calendar; without a year the next one to come."""
    found = ABSOLUTE.search(text)
    if found is None:
        return False
    words = found[0].replace(".", "").replace(",", " ").casefold()
    first = words.split()[0]
    words = words.replace(first, str(ORDINALS[first]), 1) if first in ORDINALS else words
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


def _nth_day(text: str, local: datetime, clock: time | None) -> Found:
    """ "The first Monday of March", or of the next month."""
    found = NTH_DAY.search(text)
    if found is None:
        return False
    first = local.date().replace(day=1)
    month = month_of(found["month"]) if found["month"] else 0
    starts = [_months_on(first, ahead) for ahead in range(24)]
    wanted = [start for start in starts if start.month == month] if month else starts[1 if found["next"] else 0 :][:1]
    for start in wanted:
        day = _nth_of(start, NTH[found["nth"].casefold()], weekday_of(found["day"]))
        if day and datetime.combine(day, clock or MORNING) > local:
            return datetime.combine(day, clock or MORNING)
    return None


def _nth_of(first: date, nth: int, weekday: int) -> date | None:
    days = [first + timedelta(days=each) for each in range(calendar.monthrange(first.year, first.month)[1])]
    found = [day for day in days if day.weekday() == weekday]
    return found[nth - 1 if nth > 0 else nth] if abs(nth) <= len(found) else None


def _in_month(text: str, local: datetime, clock: time | None) -> Found:
    """The first day of the next month of that name, or the last one of it."""
    found = IN_MONTH.search(text)
    if found is None:
        return False
    first, month = local.date().replace(day=1), month_of(found["month"])
    if found["year"]:
        first = date(int(found["year"]) - (month == 1), month - 1 or 12, 1)
    if found["close"]:
        after = _months_on(first, (month - first.month) % 12 + 1)
        return datetime.combine(after - timedelta(days=1), clock or MORNING)
    ahead = (month - first.month) % 12 or 12
    return datetime.combine(_months_on(first, ahead), clock or MORNING)


def _quarter(text: str, local: datetime, clock: time | None) -> Found:
    """The first day of the next quarter of that number, or the last one of it."""
    found = QUARTER.search(text)
    if found is None:
        return False
    month = 3 * int(found["quarter"]) - 2
    year = int(found["year"] or local.year)
    wanted = [date(each, month, 1) for each in ((year,) if found["year"] else (year, year + 1))]
    if found["close"]:
        wanted = [_months_on(each, 3) - timedelta(days=1) for each in wanted]
    walls = [datetime.combine(each, clock or MORNING) for each in wanted]
    return next((wall for wall in walls if wall > local), None)


def _named_time(text: str, local: datetime, clock: time | None) -> Found:
    found = NAMED.search(text)
    if found is None or (found["end"] and (found["span"] or "day").casefold() == "day" and _has_day(text)):
        return False  # "by end of day Friday"
    today = local.date()
    if found["after"] or found["tomorrow"]:
        days = 2 if found["after"] else 1
        return datetime.combine(today + timedelta(days=days), clock or MORNING)
    if found["week"] or found["second"]:
        ahead = 7 * bool(found["second"]) + 7 - today.weekday()
        return datetime.combine(today + timedelta(days=ahead), clock or MORNING)
    if found["month"]:
        return datetime.combine(_months_on(today.replace(day=1), 1), clock or MORNING)
    if found["weekend"]:
        how = found["weekend"].casefold()
        ahead = ((FRIDAY if how[0] == "b" else FRIDAY + 1) - today.weekday()) % 7 + 7 * how.startswith("next")
        return datetime.combine(today + timedelta(days=ahead), clock or MORNING)
    if found["later"]:
        step = 3 if found["later"].casefold().endswith("quarter") else 12
        return datetime.combine(_months_on(today.replace(day=1), step - (today.month - 1) % step), clock or MORNING)
    if found["rest"]:
        return datetime.combine(_end_of(found["rest"].split()[1].casefold(), today, False), clock or EVENING)
    if found["end"] and (found["span"] or "day").casefold() != "day":
        return datetime.combine(_end_of(found["span"].casefold(), today, bool(found["next"])), clock or EVENING)
    if found["tonight"] and local.time() >= PARTS["tonight"] and _says_no_hour(text):
        clock = LATE
    return _today(local, clock)


def _says_no_hour(text: str) -> bool:
    return all(each["part"] for each in CLOCK.finditer(text))


def _has_day(text: str) -> bool:
    return _named_day(text) is not None or ORDINAL.search(text) is not None


def _end_of(span: str, today: date, of_next: bool) -> date:
    """The last working day of the week, the last day of the month, the quarter or the year; or of the one after it."""
    if span == "week":
        return today + timedelta(days=(4 - today.weekday()) % 7 + 7 * of_next)
    months = {"month": 1, "quarter": 3, "year": 12}[span]
    ahead = months - (today.month - 1) % months + months * of_next
    return _months_on(today.replace(day=1), ahead) - timedelta(days=1)


def _today(local: datetime, clock: time | None) -> datetime:
    """Today at that time; without one in the morning, or when that is over in the evening."""
    chosen = clock or (MORNING if local.time() < MORNING else EVENING)
    return datetime.combine(local.date(), chosen)


def _weekday(text: str, local: datetime, clock: time | None) -> Found:
    """The next day of that name, today only when its time is still to come; the next one, when it is called that, is
    the one of the week that begins on the next Monday."""
    found = _named_day(text)
    if found is None:
        return False
    wanted, today = weekday_of(found["day"]), local.weekday()
    if "next" in found["how"].casefold():
        return datetime.combine(local.date() + timedelta(days=7 - today + wanted), clock or MORNING)
    wall = datetime.combine(local.date() + timedelta(days=(wanted - today) % 7), clock or MORNING)
    return wall + timedelta(days=7) if wall <= local else wall


def _named_day(text: str) -> re.Match[str] | None:
    return next((each for each in DAY.finditer(text) if not each["past"] and _is_day(each)), None)


def _is_day(found: re.Match[str]) -> bool:
    """A short form such as "sat" is a day only after a word such as "on"."""
    return len(found["day"]) > 5 or bool(found["how"].strip())


def _holiday(text: str, local: datetime, clock: time | None) -> Found:
    found = HOLIDAY.search(text)
    if found is None:
        return False
    month, day = HOLIDAYS[found["name"].casefold()]
    wall = datetime.combine(date(local.year, month, day), clock or MORNING)
    return wall if wall > local else wall.replace(year=local.year + 1)


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
