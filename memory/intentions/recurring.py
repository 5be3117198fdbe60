"""Times that come again, in words, as a cron expression of five fields. Pure."""

import re
from datetime import datetime, time

from memory.intentions.clocks import DAYS, NUMBER, WEEKDAY, clock_in, number_of, weekday_of

MORNING = time(9)
EVERY = re.compile(
    rf"\b(?:every|each)\s+(?P<other>other\s+|second\s+)?(?:(?P<n>{NUMBER})\s+)?"
    rf"(?P<unit>minutes?|hours?|days?|weekdays?|working days?|business days?|weeks?|months?|years?|quarters?"
    rf"|mornings?|afternoons?|evenings?|nights?|{WEEKDAY}s?\b(?:(?:\s*,\s*|\s+and\s+|\s*&\s*){WEEKDAY}s?\b){{0,6}})\b",
    re.IGNORECASE,
)
PLURAL = re.compile(
    r"\bon\s+(?P<days>(?:mon|tues|wednes|thurs|fri|satur|sun)days"
    r"(?:\s+and\s+(?:mon|tues|wednes|thurs|fri|satur|sun)days)?)\b",
    re.IGNORECASE,
)
ADVERB = re.compile(r"\b(?P<word>hourly|daily|weekly|monthly|once an? (?:hour|day|week|month))\b", re.IGNORECASE)
DAY_OF_MONTH = re.compile(
    r"\b(?:on )?the (?P<n>\d{1,2})(?:st|nd|rd|th) of (?:every|each) month\b"
    r"|\b(?:every|each) month on the (?P<n2>\d{1,2})(?:st|nd|rd|th)\b"
    r"|\bmonthly on the (?P<n3>\d{1,2})(?:st|nd|rd|th)\b",
    re.IGNORECASE,
)
RULES = (EVERY, PLURAL, ADVERB, DAY_OF_MONTH)
WORDS = re.compile(WEEKDAY, re.IGNORECASE)
STEPS = {"minute": (5, 60), "hour": (1, 24)}
SPANS = {"hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month"}


def is_meant(text: str) -> bool:
    """Whether ``text`` speaks of something that comes again, be it or be it not a cron expression."""
    return any(rule.search(text) for rule in RULES)


def cron_of(text: str, local: datetime) -> str:
    """The cron expression of what ``text`` says, as written at ``local``; "" when there is none that says the same."""
    clock = clock_in(text) or MORNING
    if found := DAY_OF_MONTH.search(text):
        day = int(found["n"] or found["n2"] or found["n3"])
        return f"{clock.minute} {clock.hour} {day} * *" if 1 <= day <= 31 else ""
    if found := PLURAL.search(text):
        return _on_days(found["days"], clock)
    if found := ADVERB.search(text):
        word = found["word"].casefold()
        return _spans(SPANS.get(word) or word.split()[-1], text, clock, local)
    every = EVERY.search(text)
    if every is None or every["other"]:
        return ""
    return _every(every, text, clock, local)


def _every(found: re.Match[str], text: str, clock: time, local: datetime) -> str:
    unit, amount = found["unit"].casefold(), int(number_of(found["n"] or "one"))
    if unit.rstrip("s") in STEPS:
        return _steps(unit.rstrip("s"), amount)
    if amount != 1:
        return ""
    return _on_days(unit, clock) if WORDS.match(unit) else _spans(unit.rstrip("s"), text, clock, local)


def _steps(unit: str, amount: int) -> str:
    """Every so many minutes or hours, where that divides the hour or the day; nothing faster than five minutes."""
    least, whole = STEPS[unit]
    if not least <= amount <= whole // 2 and (unit, amount) != ("hour", 1):
        return ""
    if whole % amount:
        return ""
    return f"*/{amount} * * * *" if unit == "minute" else f"0 */{amount} * * *" if amount > 1 else "0 * * * *"


def _on_days(words: str, clock: time) -> str:
    days = sorted({weekday_of(each) + 1 for each in WORDS.findall(words)})
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
        "month": f"{at} {min(local.day, 28)} * *",
    }.get(unit, "")
