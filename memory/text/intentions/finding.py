"""Intentions in a text: a cue and a condition in one sentence (RFC 0068 C). Pure."""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from memory.host import cron
from memory.text.intentions import doubt, foreign, times
from memory.text.intentions.cues import CALLED_OFF, CUE, REQUESTING, cues_in, may_cue, own_times
from memory.text.intentions.statements import DENIAL, LONGEST_TEXT, MOST_WORDS, PAID, Sentence, sentences, words_of

# What is farther away waits as dormant; what is later than that is no plan.
FARTHEST, LAST = timedelta(days=90), timedelta(days=3660)
MOST = 20
LEAST_WORDS = 2

MARKER = re.compile(
    r"\b(?:(?:as soon as|the moment|whenever|when|upon|the next time|in case(?! of)|(?<!day )after|if(?! only))\b"
    r"|once\b(?!\s+(?:a|an|per|every|each|more|again|in|upon|we've)\b))",
    re.IGNORECASE,
)
# What is to be done unless something happens by then is in doubt: nobody can say beforehand whether it will be.
EXCEPT = re.compile(r"\b(?:unless|except (?:if|when))\b", re.IGNORECASE)
POLITE = re.compile(
    r"if\s+(?:at all )?(?:possible|necessary|needed|required|you can|you could|that works|convenient)\b", re.IGNORECASE
)
# "After the release on Friday": what has no verb is a time, if it names one.
AFTER = re.compile(
    r"(?:after|upon|once)\s+(?:the|our|my|your|their)\s+(?!.*\b(?:is|are|was|has|have|\w+s|\w+ed)\b)", re.IGNORECASE
)
# "We could do great things if we join forces": two doubts at once are no plan.
IF_ONLY = re.compile(r"\bif\b", re.IGNORECASE)
IF = re.compile(r"if\b", re.IGNORECASE)
# "Nudge her next week if nothing happens": to be done then, unless somebody sees to it.
NOTHING = re.compile(r"\b(?:nothing|no (?:answer|reply|response|news|word)|nobody|no one|still)\b", re.IGNORECASE)
INDIRECT = re.compile(
    r"\b(?:ask|check|confirm|find out|see|know|decide|discuss|clarify|verify)(?:\s+\w+){0,3}\s+$", re.IGNORECASE
)
LET_KNOW = re.compile(r"\blet\s+\w+(?:\s+\w+)?\s+know\s+$", re.IGNORECASE)
CLAUSE_END = re.compile(
    r"\s*(?:,|\s[-\u2013\u2014]\s|\s\(|\bthen\b|\bso that\b|\bso\b|\bbecause\b|\bin order\b|\bplease\b)", re.IGNORECASE
)
GENERAL = re.compile(
    r"^\s*(?:(?:a|an|any|some|no|every|each)\s|(?:anyone|someone|somebody|anybody|they|you|people|customers|users|it"
    r"|asked|needed|necessary|possible|required)\b)",
    re.IGNORECASE,
)
ALWAYS = re.compile(r"whenever\b", re.IGNORECASE)
MAY_BE_WHEN = re.compile(
    r"\b(?:when|whenever|upon|unless|except|bi-?weekly|fortnightly|next time|once|twice|noon|midnight|weekdays?"
    r"|weekends?|until|\d\s?[ap]m|after|if"
    r"|moment|soon as|in|within|from now|hence|later|at|on|by|before|every|each|today|tonight"
    r"|tomorrow|next|daily|weekly|quarterly|yearly|annually|monthly|hourly|this|end of|eod|cob|\d{4}-\d\d-\d\d"
    r"|(?:mon|tues|wednes|thurs|fri|satur"
    r"|sun)days?|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*)\b|@",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Intention:
    """From character ``starts`` to ``ends`` of the text: due ``at``, and again by ``cron``, each ``every``-th
    time; or, with ``words``, when a
    later statement says that ``clause`` holds (with ``negated``: that it does not). ``doubtful``: whether it is meant
    is for a person to say."""

    starts: int
    ends: int
    at: datetime | None = None
    cron: str = ""
    every: int = 1
    words: tuple[str, ...] = ()
    negated: bool = False
    clause: str = ""
    doubtful: bool = False


def may_hold_one(text: str) -> bool:
    """Whether it is worth while to look closer: a cue or a doubt, and a word of condition, are in ``text``."""
    in_english = (may_cue(text) or doubt.may_be_in(text)) and MAY_BE_WHEN.search(text, 0, LONGEST_TEXT) is not None
    return in_english or foreign.may_hold_one(doubt.SURE.sub("", text[:LONGEST_TEXT]))


def found_in(text: str, *, zone: str, written_at: datetime, doubtful: bool = False) -> list[Intention]:
    """The intentions of ``text``, at most 20, as they were meant at ``written_at`` in ``zone``; with ``doubtful`` those
    that may be meant, too.

    None lies before that, and none more than ten years behind it.
    """
    if not may_hold_one(text):
        return []
    found = (_meant(each, zone, written_at) or _doubted(each, zone, written_at) for each in sentences(text))
    return [each for each in found if each and (doubtful or not each.doubtful)][:MOST]


def _meant(sentence: Sentence, zone: str, written_at: datetime) -> Intention | None:
    """What the sentence says as it stands; in doubt when it says so itself."""
    if sentence.asks and not REQUESTING.search(sentence.text):
        return None
    found = _of(sentence, zone, written_at) or _foreign(sentence, zone, written_at)
    return replace(found, doubtful=True) if found and doubt.is_hedged(sentence.text) else found


def _doubted(sentence: Sentence, zone: str, written_at: datetime) -> Intention | None:
    """What the sentence would say if nobody doubted it."""
    said = _unconditional(sentence.text) if EXCEPT.search(sentence.text) else doubt.without_doubt(sentence.text)
    firm = Sentence(sentence.starts, sentence.ends, said)
    found = _of(firm, zone, written_at) or _foreign(firm, zone, written_at)
    if found is None or (found.words and IF_ONLY.search(sentence.text)):
        return None
    return replace(found, doubtful=True)


def called_off(text: str) -> list[tuple[str, ...]]:
    """What ``text`` says need not be done any more: for each such sentence the stems that say what."""
    found = ((each, CALLED_OFF.search(each.text)) for each in sentences(text) if not each.asks)
    return [words for each, off in found if off and (words := words_of(each.text[off.end() :]))]


def _unconditional(text: str) -> str:
    """The order without what would spare it, of which it keeps the time: "unless Ana confirms by Friday, cancel it"."""
    found = EXCEPT.search(text)
    if found is None or text.rstrip().endswith("?"):
        return ""
    end = CLAUSE_END.search(text, found.end())
    stops = end.start() if end else len(text.rstrip(" .!"))
    clause, main = text[found.start() : stops], _without(text, (found.start(), stops)).strip(" ,.")
    timed = [] if times.spans(main) else [clause[first:last] for first, last in times.spans(clause)]
    return " ".join([main, *timed])


def _foreign(sentence: Sentence, zone: str, written_at: datetime) -> Intention | None:
    meant = foreign.meant_by(sentence.text, written_at.astimezone(ZoneInfo(zone)).replace(tzinfo=None))
    if meant is None:
        return None
    if meant.at:
        return _timed(sentence, times.When(cron.instant_of(meant.at, zone)), written_at)
    words = words_of(meant.clause)
    if not LEAST_WORDS <= len(words) <= MOST_WORDS:
        return None
    return Intention(sentence.starts, sentence.ends, words=words, clause=meant.clause)


def _of(sentence: Sentence, zone: str, written_at: datetime) -> Intention | None:
    if EXCEPT.search(sentence.text):
        return None
    clause = _clause_of(sentence.text)
    main = _without(sentence.text, clause)
    found = (_said(sentence, clause, own_times(main, cue), zone=zone, written_at=written_at) for cue in cues_in(main))
    return next((each for each in found if each is not None), None)


def _said(
    sentence: Sentence, clause: tuple[int, int] | None, own: str, *, zone: str, written_at: datetime
) -> Intention | None:
    """What a cue with its ``own`` times and the conditional clause of its sentence come to."""
    inner = sentence.text[slice(*clause)] if clause else ""
    waits = bool(inner) and not POLITE.match(inner) and not _is_time(inner)
    if waits and _goes_first(clause, own) and (found := _predicate(sentence, inner)):
        return found
    if waits and IF.match(inner) and DENIAL.search(inner) and times.spans(inner) and not times.spans(own):
        # "If she has not paid by Monday": whether she has is for a person to say then.
        timed = _timed(sentence, times.when(inner, zone=zone, base=written_at), written_at)
        return replace(timed, doubtful=True) if timed else None
    if waits and IF.match(inner) and not (times.spans(own) and NOTHING.search(inner)):
        return None
    waits = waits and not (AFTER.match(inner) and times.spans(inner) and not times.spans(own))
    said = own if waits or times.spans(own) else inner
    return _timed(sentence, times.when(said, zone=zone, base=written_at), written_at)


def _is_time(inner: str) -> bool:
    """Whether a clause is nothing but a time: "after Monday", "after 3 days"."""
    return not words_of(MARKER.sub("", _blanked(inner, times.spans(inner)), count=1))


def _goes_first(clause: tuple[int, int] | None, own: str) -> bool:
    """Whether the clause decides: nothing else says when, or that is counted from when it holds."""
    return not times.spans(own) or (clause is not None and not own[: clause[0]].strip(" -*"))


def _timed(sentence: Sentence, timed: times.When | None, written_at: datetime) -> Intention | None:
    if timed is None or not written_at < timed.at <= written_at + LAST:
        return None
    return Intention(sentence.starts, sentence.ends, timed.at, timed.cron, timed.every)


def _predicate(sentence: Sentence, inner: str) -> Intention | None:
    said, timed = MARKER.sub("", inner, count=1), times.spans(inner)
    negated = DENIAL.search(said) is not None
    if (GENERAL.search(said) and not ALWAYS.match(inner)) or (negated and timed):
        return None
    words = words_of(DENIAL.sub(" ", MARKER.sub("", _blanked(inner, timed), count=1)))
    if not LEAST_WORDS <= len(words) <= MOST_WORDS and words != (PAID,):
        return None
    return Intention(sentence.starts, sentence.ends, words=words, negated=negated, clause=" ".join(said.split()))


def _clause_of(text: str) -> tuple[int, int] | None:
    """Where the conditional clause of a sentence stands, its first word included."""
    for found in MARKER.finditer(text):
        before = text[: found.start()]
        if INDIRECT.search(before) and not LET_KNOW.search(before):
            continue
        end = CLAUSE_END.search(text, found.end())
        stops = end.start() if end else len(text.rstrip(" .!)"))
        return found.start(), _before_order(text, found.end(), stops) if not before.strip(" -*") else stops
    return None


def _before_order(text: str, begins: int, stops: int) -> int:
    """Without a comma ("when the invoice clears tell finance") the clause ends where the order begins."""
    for found in CUE.finditer(text, begins, stops):
        if len(words_of(text[begins : found.start()])) >= LEAST_WORDS:
            return found.start()
    return stops


def _without(text: str, clause: tuple[int, int] | None) -> str:
    """The main clause; a comma stands where the other was."""
    if clause is None:
        return text
    first, last = clause
    return f"{text[:first]}, {text[last:]}"


def _blanked(text: str, taken: list[tuple[int, int]]) -> str:
    for first, last in taken:
        text = text[:first] + " " * (last - first) + text[last:]
    return text
