"""One spelling for what texts write in several ways, before they are split: numbers, units, times and codes."""
# ruff: noqa: RUF001 -- the signs are meant

import re
from collections.abc import Callable
from typing import NamedTuple

from memory.text import patterns
from memory.text.similarity import values

NAMED = "|".join(filter(str.isalpha, sorted(values.NAMED_BY_NUMBER - {"number", "no", "nr"})))
MINUS = patterns.late(rf"(?<!\d )\bminus (\d+(?:\.\d+)?|(?:{'|'.join(values.NUMBER_WORDS)})\b)(?![\w-])", re.IGNORECASE)
DAYS_IN_GERMAN = {
    "Mo": "Montag", "Di": "Dienstag", "Mi": "Mittwoch", "Do": "Donnerstag", "Fr": "Freitag", "Sa": "Samstag",
    "So": "Sonntag",
}  # fmt: skip
FRACTIONS = {"½": ".5", "¼": ".25", "¾": ".75"}
SPEEDS = {"km/h": "kmh", "mbit/s": "mbps", "gbit/s": "gbps", "kbit/s": "kbps", "m/s": "mps"}
PER = {
    "ha": "hectare", "h": "hour", "hour": "hour", "s": "second", "sec": "second", "min": "minute", "d": "day",
    "day": "day", "week": "week", "month": "month", "year": "year", "yr": "year", "kg": "kg", "l": "l",
    "person": "person",
}  # fmt: skip
BOUNDS = {">=": "at least", "≥": "at least", "<=": "up to", "≤": "up to", ">": "over", "<": "under"}
ONE_IN = {"two": 50, "four": 25, "five": 20, "ten": 10}
ROMAN = {name: str(at) for at, name in enumerate(["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X"], 1)}


class Rule(NamedTuple):
    """Of the texts that have one of the ``signs``, each place that the pattern fits is replaced."""

    signs: tuple[str, ...]
    pattern: re.Pattern[str]
    instead: str | Callable[[re.Match[str]], str]


def _digits(found: re.Match[str]) -> str:
    return "".join(filter(str.isdigit, found[0]))


RULES = (
    Rule(("+",), patterns.late(r"\+\d[\d ()/\-]{5,}\d"), lambda found: f"+{_digits(found)}"),
    # "(030) 123 456" and "030/123456".
    Rule(
        (" 0", "(0"),
        patterns.late(r"(?<![\d.,:/-])\(?0\d{1,4}\)?[ /-](?:\d[ -]?){4,9}\d(?![\d:/-]|[.,]\d)"),
        _digits,
    ),
    # "Items 1,2 and 3": no decimals.
    Rule(
        (",",),
        patterns.late(r"(?<![\d.,$€£])\d{1,2}(?:,\d{1,2})+(?= (?:and|or|und|oder|y|o|et|ou|i|lub|&) \d{1,2}\b)"),
        lambda found: found[0].replace(",", ", "),
    ),
    Rule(
        ("2nd ",),
        patterns.late(rf"\b(the|our|his|her|its) 2nd(?= (?!of\b|(?:{'|'.join(values.MONTHS)})\b)[a-z])", re.IGNORECASE),
        r"\1 second",
    ),
    # German and Polish: "im 2. Stock".
    Rule((". ",), patterns.late(r"\b(\d{1,2})\. (?=Stock|Etage|Klasse|Quartal|piętrze|piętro|klasie|klasa)"), r"\1 "),
    Rule(
        ("-", "–"),
        patterns.late(r"\b(Mo|Di|Mi|Do|Fr|Sa|So)\.?\s?[-–]\s?(Mo|Di|Mi|Do|Fr|Sa|So)\b"),
        lambda found: f"{DAYS_IN_GERMAN[found[1]]} bis {DAYS_IN_GERMAN[found[2]]}",
    ),
    Rule(
        ("o.",),
        patterns.late(r"(?<!is )(?<!was )(?<!said )(?<!answered )\b[Nn]o\.(?=\s+(?:for|of)\b|:|\s*\d)"),
        "number",
    ),
    # "6.45 p.m.": its dots end no sentence, but for the last one.
    Rule(
        (".m", ".M"),
        patterns.late(r"(?<=[\d\s])([ap])\.m\b(?:\.(?=[,;:!?)]|\s+(?-i:[^A-Z\s])))?", re.IGNORECASE),
        r"\1m",
    ),
    Rule(
        ("at ",),
        patterns.late(
            r"(?<!priced )(?<!valued )(?<!sells )(?<!set )\b(at )(\d{1,2})\.([0-5]\d)"
            r"(?=\s?(?:am|pm)\b|\s*(?:[.,;!]|$)| on\b)"
        ),
        r"\1\2:\3",
    ),
    Rule(("½", "¼", "¾"), patterns.late(r"(\d)([½¼¾])"), lambda found: found[1] + FRACTIONS[found[2]]),
    Rule(("°",), patterns.late(r"(?<=\d)\s?°(?=[\s.,;!?]|$)"), " degrees"),
    Rule((" per ",), patterns.late(r"(?<=\d )(?:km|kilomet(?:er|re)s) per hour\b"), "kmh"),
    Rule(("/h", "/s"), patterns.late(r"(?<=\d )(?:km/h|[MGk]bit/s|m/s)\b"), lambda found: SPEEDS[found[0].casefold()]),
    # "20 kg/ha", "3 times/day", "100 MB/s".
    Rule(
        ("/",),
        patterns.late(rf"(?<=\d)(\s?[A-Za-z]+)/({'|'.join(PER)})\b(?![/\w-])"),
        lambda found: f"{found[1]} per {PER[found[2]]}",
    ),
    Rule(("x ",), patterns.late(r"\b(\d)x (?=a |per |every |daily\b|weekly\b)"), r"\1 times "),
    # ">= 12" and "< 8", but for what points, as "->" does.
    Rule(
        (">", "<", "≥", "≤"),
        patterns.late(r"(?<=\s)(>=|<=|[<>≥≤])\s?(?=\d)"),
        lambda found: f"{BOUNDS[found[1]]} ",
    ),
    Rule(
        ("o'clock", "o’clock"),
        patterns.late(r"\b(\d{1,2}|[a-z]+) o['’]clock\b", re.IGNORECASE),
        lambda found: f"{values.NUMBER_WORDS.get(found[1].casefold(), found[1])}:00",
    ),
    Rule(("'d like", "’d like"), patterns.late(r"['’]d like\b"), " would like"),
    Rule(("'ve got", "’ve got"), patterns.late(r"['’]ve got(?= (?:a|an|the|no|two|three|\d))"), " have"),
    Rule(("'s got", "’s got"), patterns.late(r"['’]s got(?= (?:a|an|the|no|two|three|\d))"), " has"),
    # "St. Mary's", and no street before a name.
    Rule(("St. ", "St "), patterns.late(r"(^|\b(?:[a-z]+|\d+|The|At|In|Our) )St\.? (?=[A-Z][a-z])"), r"\1Saint "),
    Rule(("half a million",), patterns.late(r"\bhalf a million\b"), "500,000"),
    Rule(
        ("ne in ",),
        patterns.late(r"\b[Oo]ne in (two|four|five|ten) (?=[a-z]+s\b)"),
        lambda found: f"{ONE_IN[found[1]]}% of the ",
    ),
    Rule(("www.",), patterns.late(r"(?<![\w/])www\.(?=\w+\.)"), ""),
    # "Seat 14 C", "flight BA 117", "room B-204", and the account "DE89 3704 0044 0532 0130 00".
    Rule(("seat ", "Seat "), patterns.late(r"\b(seat(?: is)? \d{1,2}) ([A-K])\b", re.IGNORECASE), r"\1\2"),
    Rule(
        ("flight ", "Flight ", "train ", "Train ", "bus ", "Bus "),
        patterns.late(r"\b((?:flight|train|bus)(?: is)? (?-i:[A-Z]{2})) (\d{1,4})\b", re.IGNORECASE),
        r"\1\2",
    ),
    Rule(("-",), patterns.late(r"(?<![\w-])([A-Z])-(\d{1,4})(?![\w-])"), r"\1\2"),
    Rule(
        ("IBAN",),
        patterns.late(r"\b[A-Z]{2}\d{2}(?: \d{4}){3,7}(?: \d{1,4})?\b"),
        lambda found: found[0].replace(" ", ""),
    ),
    # "World War II", "chapter IV".
    Rule(
        (" I", " V", " X"),
        patterns.late(r"\b((?i:chapter|part|war|volume|phase|act|book|section|tier) )(I{1,3}|IV|VI{0,3}|IX|X)\b"),
        lambda found: found[1] + ROMAN[found[2]],
    ),
)  # fmt: skip
# A rule of two signs is tried for each: to ask for one sign at a time is five times as quick, and no rule fits twice.
BY_SIGN = tuple((sign, rule.pattern, rule.instead) for rule in RULES for sign in rule.signs)
# "The U.S. office", "a Ph.D. student".
ACRONYM = patterns.late(r"\b(?:(?:[A-Z]\.){2,4}|Ph\.D\.)(?=\s+[a-z]|,|$)")
MAY_BE_NUMBERED = patterns.late(r" (?:no\.? ?|number |nr\.? ?|#)\d", re.IGNORECASE)
# "Order no. 12", "order #12" and "order number 12" are "order 12".
NUMBERED = patterns.late(rf"\b({NAMED}) (?:no\.? ?|number |nr\.? ?|#)(?=\d)", re.IGNORECASE)
# "Gate B 22" is "gate B22". Few texts have such a letter, and to look for one is quick.
LETTERED = patterns.late(r" [B-HJ-Z] \d")
GATE = patterns.late(
    rf"\b((?:{NAMED})(?: is)? (?-i:[B-HJ-Z])) (\d{{1,4}})\b(?![.,:]\d| [a-z])",
    re.IGNORECASE,
)


def spelled(text: str) -> str:
    """The text in the one spelling."""
    for sign, pattern, instead in BY_SIGN:
        if sign in text:
            text = pattern.sub(instead, text)
    if text.count(".") > 1:
        text = ACRONYM.sub(lambda found: found[0].replace(".", ""), text)
    text = with_signs(text)
    if LETTERED.search(text):
        text = GATE.sub(r"\1\2", text)
    return NUMBERED.sub(r"\1 ", text) if MAY_BE_NUMBERED.search(text) else text


def with_signs(text: str) -> str:
    """With -18 for "minus eighteen" and "minus 18"."""
    if "inus " not in text:
        return text
    return MINUS.sub(lambda found: f"-{values.NUMBER_WORDS.get(found[1].casefold(), found[1])}", text)
