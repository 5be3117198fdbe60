"""Words for numbers, days of the week and times of the day. Pure."""

import re
from datetime import time

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
MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.?"
)
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
}
AFTERNOON = time(14)
HALF = re.compile(r"\d\s?[ap]\.?m\b", re.IGNORECASE)
CLOCK = re.compile(
    r"(?:\b(?:at|by|around|before)\s+|@\s*)(?P<h>\d{1,2})(?::(?P<m>\d{2}))?\s*(?P<half>[ap]\.?m\b\.?|o'clock|h\b)?"
    r"(?![\w:%]|[.,]\d|\s*(?:percent|dollars?|euros?|st|nd|rd|th|items?|people|days?|weeks?|months?|hours?|minutes?)\b"
    rf"|\s*(?:of\s+)?{MONTH}(?!\w))|"
    r"\b(?P<h2>\d{1,2}):(?P<m2>\d{2})\s*(?P<half2>[ap]\.?m\b\.?)?|\b(?P<h3>\d{1,2})\s?(?P<half3>[ap]\.?m\b\.?)|"
    rf"\b(?:at|by|around|before)\s+(?:(?P<half_past>half past)\s+)?(?P<word>{HOUR})(?:\s+(?P<thirty>thirty))?"
    r"(?:\s*(?P<half4>[ap]\.?m\b\.?|o'clock\b))?(?!\s*(?:percent|dollars?|euros?|items?|people|days?|weeks?|months?"
    r"|hours?|minutes?|of)\b|[\w-])|"
    rf"\b(?P<part>{'|'.join(sorted(PARTS, key=len, reverse=True))})\b",
    re.IGNORECASE,
)


def number_of(word: str) -> float:
    """The number that a word or digits say."""
    folded = word.casefold()
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
    minute = 30 if found["half_past"] or found["thirty"] else int(found["m"] or found["m2"] or 0)
    half = (found["half"] or found["half2"] or found["half3"] or found["half4"] or "").casefold()[:1]
    if half in ("a", "p"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    return time(hour, minute) if hour < 24 and minute < 60 else None
