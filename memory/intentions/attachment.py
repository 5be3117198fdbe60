"""Which words of time belong to the verb of an order, and which to a noun or to another clause. Pure.

"Check the invoice on Tuesday" says when; "check the invoice from next Tuesday" and "tell me whether it came on
Tuesday" do not.
"""

import re

from memory.intentions import recurring, times
from memory.intentions.clocks import CLOCK
from memory.intentions.cues import CUE, Cue, only_time_and_filler

# Behind such a word another clause begins, with a verb of its own.
INNER_CLAUSE = re.compile(
    r"\b(?:whether|if|which|who|whose|whom|what|why|how|where|when|because|since|although|though|while|whereas"
    r"|that(?!\s+(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|day|morning|afternoon|evening)\b)"
    r"|is|are|was|were|has|had|will|would|isn't|aren't|wasn't|weren't|hasn't|won't"
    r"|starts|begins|ends|opens|closes|falls|lasts|leaves|departs|arrives|expires|comes|goes|happens|arrived"
    r"|(?:i|we|he|she|they)(?:'\w+)?"
    r"|(?:you|it)(?:'\w+|\s+(?:\w+ed|are|were|have|sent|said|made|came|left|goes|does|did)))\b",
    re.IGNORECASE,
)
# What is made sure of is itself what is to be done.
ENSURING = re.compile(r"\b(?:make sure|making sure|ensure|be sure|see to it)\b(?:\s+that\b)?", re.IGNORECASE)
NEXT_ORDER = re.compile(r"(?:[,;:\u2013\u2014]|\b(?:and|then|so|but|also|please))\s+$", re.IGNORECASE)

OF_A_NOUN = re.compile(
    r"\b(?:from|(?<!as )of|dated|due|between|(?<!later )than|regarding|covering|versus|vs\.?)\s+$",
    re.IGNORECASE,
)
DETERMINER = re.compile(
    r"\b(?:the|an?|my|our|your|their|his|her|its|all|these|those|any|every|each|\w+'s)\s+$", re.IGNORECASE
)
PARTICIPLE = re.compile(
    r"\b(?:[a-z]{2,}[a-df-z]ed|sent|made|left|paid|held|taken|given|bought|sold|written)"
    r"(?:\s+(?:back|up|out|off|in|over|here|there|together))?\s+$"
)
PASSIVE = re.compile(r"\b(?:is|are|be|been|being|get|gets|getting|have|having|keep|leave)\b(?:\s+[\w'-]+){0,5}\s*$")
EVENTS = (
    r"(?:meeting|call|appointment|review|demo|conference|flight|anniversary|birthday|party|webinar|interview|workshop"
    r"|dinner|lunch|launch|deadline|visit|session|event|training|trip|delivery|outage|incident)s?"
)
EVENT = re.compile(
    r"\b(?:about|for|of|from|regarding|concerning|to|attend|in|at|cancel|confirm|decline|accept|move)\s+"
    rf"(?:the|an?|my|our|your|their|his|her|this|that)\s+(?:[\w'-]+\s+){{0,2}}?{EVENTS}\s+$",
    re.IGNORECASE,
)
EVENT_WITH = re.compile(
    rf"\b(?:the|my|our|your|their|his|her)\s+(?:[\w'-]+\s+){{0,2}}?{EVENTS}\s+(?:with|at|in)\s+(?:[\w'-]+\s+){{1,3}}$",
    re.IGNORECASE,
)
# For these it is the time that matters, not which one of several is meant.
ARRANGED = re.compile(
    r"\b(?:remind\w*|reminder|schedule|re-?schedule|book|arrange|plan|set|create|prepare|reserve|invite|hold|join)\b",
    re.IGNORECASE,
)
PREPOSITION = re.compile(r"\b(?:on|at|in|for)\s+$", re.IGNORECASE)
NEARBY = 100  # characters
FOR = re.compile(r"\bfor\s+$", re.IGNORECASE)
BARE = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\d", re.IGNORECASE)
FUNCTION_WORDS = """
at to and or about with by on in for so then please if when because after before regarding concerning again latest via
as that once unless until whether from next first but sharp every each around between of the a an my our your is are
morning afternoon evening night noon
"""
AFTER_A_TIME = frozenset(FUNCTION_WORDS.split())
FOLLOWING = re.compile(r"\s+([\w'-]+)")


def own_times(main: str, cue: Cue) -> str:
    """``main`` with every time blanked that does not say when the order of ``cue`` is to be done."""
    inner = _inner_clauses(main, cue)
    ahead = only_time_and_filler(main[: cue.starts], cue.is_order)
    kept = main
    for first, last in _phrases(main):
        elsewhere = last <= cue.starts and not ahead
        if elsewhere or any(begins <= first < stops for begins, stops in inner) or _of_noun(main, first, last, cue):
            kept = kept[:first] + " " * (last - first) + kept[last:]
    return "" if _has_lost_its_day(main, kept, cue, ahead) else kept


def _has_lost_its_day(main: str, kept: str, cue: Cue, ahead: bool) -> bool:
    """Whether an hour is left of which the day stood in another clause: "tomorrow is the launch, call me at 8"."""
    left = times.spans(kept)
    hours = bool(left) and all(CLOCK.fullmatch(kept[first:last]) for first, last in left)
    return hours and not ahead and any(last <= cue.starts for _, last in times.spans(main))


def _phrases(text: str) -> list[tuple[int, int]]:
    """The words of time, those that overlap or name the hour of a day together as one."""
    joined: list[tuple[int, int]] = []
    for first, last in times.spans(text):
        if joined and (first < joined[-1][1] or _goes_on(text, joined[-1][1], first)):
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


def _goes_on(text: str, last: int, first: int) -> bool:
    return not text[last:first].strip() and text[first : first + 3].casefold() in ("at ", "mor", "aft", "eve", "noo")


def _inner_clauses(main: str, cue: Cue) -> list[tuple[int, int]]:
    """Where other clauses stand behind the cue: each ends where the next order begins."""
    begins, found = cue.ends, []
    if ensured := ENSURING.search(main, cue.starts):
        begins = _next_order(main, ensured.end())
    while inner := INNER_CLAUSE.search(main, begins):
        begins = _next_order(main, inner.end())
        found.append((inner.start(), begins))
    return found


def _next_order(main: str, begins: int) -> int:
    places = (found.start() for found in CUE.finditer(main, begins))
    return next((place for place in places if NEXT_ORDER.search(main[:place])), len(main))


def _of_noun(main: str, first: int, last: int, cue: Cue) -> bool:
    """Whether the time says which thing is meant, not when to do something."""
    nearby = max(0, first - NEARBY)
    before, behind = main[nearby:first], main[last:]
    if last > cue.starts and (behind[:2] == "'s" or _names_a_thing(before, main[first:last], behind)):
        return True
    noun = PREPOSITION.sub("", before)
    participle = PARTICIPLE.search(noun)
    if participle and nearby + participle.start() >= cue.ends and not PASSIVE.search(noun[: participle.start()]):
        return True
    if OF_A_NOUN.search(noun) or ARRANGED.search(main, cue.starts, first):
        return OF_A_NOUN.search(noun) is not None
    meant_for = FOR.search(before) or main[first : first + 4].casefold() == "for "
    return bool(meant_for or EVENT.search(noun) or EVENT_WITH.search(noun))


def _names_a_thing(before: str, said: str, behind: str) -> bool:
    """As in "the Monday meeting", "Friday deliveries", "the daily report"; but not "a daily report"."""
    adverb = recurring.ADVERB.fullmatch(said) is not None
    following = FOLLOWING.match(behind)
    noun = following is not None and following[1].casefold() not in AFTER_A_TIME
    determined = DETERMINER.search(before)
    if adverb:
        return noun and determined is not None and determined[0].strip().casefold() not in ("a", "an")
    return noun and BARE.match(said) is not None
