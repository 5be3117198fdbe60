"""What makes a sentence an order or a resolution, and what keeps it from being one. Pure."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from memory.intentions import recurring, times
from memory.intentions.sentences import LONGEST_TEXT

ORDERS = (
    r"remind|follow[ -]up|call|phone|ring|check|send|resend|tell|notify|schedule|e-?mail|ping|ask|confirm|submit"
    r"|contact"
    r"|reach out|escalate|inform|alert|let\s+\w+(?:\s+\w+)?\s+know|get back|revisit|chase|renew|verify|ensure|make sure"
    r"|prepare|book|arrange|cancel|pay|review|forward|share|recheck|retry|upload|refund|rotate|publish|invite|update"
    r"|give|write|message|answer|reply|respond|deliver|look (?:at|into)|remember|restart|rerun|nudge|collect|pick up"
)
CUE = re.compile(
    rf"\b(?:please\s+(?!(?:do )?not\b|don't\b|never\b)\w+|(?:{ORDERS})\b"
    r"|(?:don't|do not|never) forget|be sure to|(?:set|create)(?: up)? a reminder|reminder\s*:"
    r"|(?:to-?do|action item|next step)s?\s*[:\-]"
    r"|(?:i|we)(?:'ll| (?:will|shall|must|should|need to|have to|ought to|want to|plan to|promised to|agreed to))\s+\w+"
    r"|(?:i am|i'm|we are|we're) (?:going|supposed) to\s+\w+"
    r"|(?:someone|somebody|one) (?:must|should|has to|needs to)\s+\w+|needs? to\s+\w+"
    r"|(?:asked|asks|wants?|wanted|would like|'d like|requested|wishes|expects) to be"
    r" (?:reminded|called|told|notified|contacted|informed|e-?mailed|updated)"
    r"|(?:asked|asks|wants?|would like|'d like|expects|requested) (?:me|us|you|the team|support|someone"
    r"|somebody) to\s+\w+"
    r"|remind(?:er)?)\b",
    re.IGNORECASE,
)
ORDER = re.compile(rf"(?:{ORDERS})\b", re.IGNORECASE)
BEFORE_ORDER = re.compile(
    r"(?:^\W*|[,;:(\u2013\u2014]|\s-|\b(?:please|then|and|also|so|but|now|just|kindly|must|should|remember to"
    r"|be sure to)|[*\u2022]"
    r"|\[[ x]?\])\s*$",
    re.IGNORECASE,
)
NEGATION = re.compile(
    r"\b(?:do not|don't|dont|never|no need|need not|needn't|not|no longer|won't|shan't|shouldn't|mustn't|cannot|can't"
    r"|stop|avoid|without|instead of|doesn't|didn't|isn't|wasn't|unnecessary|wouldn't)\b",
    re.IGNORECASE,
)
# What is denied before such a word is not what follows it: "no answer, so call again".
ANOTHER = re.compile(r"\b(?:so|but|instead|then)\b(?!\s+(?:that|do not|don't)\b)", re.IGNORECASE)
UNFORGOTTEN = re.compile(r"\b(?:don't|do not|never) forget\b", re.IGNORECASE)
ASKING = re.compile(
    r"^\W*(?:did|does|do|can|could|should|shall|will|would|is|are|have|has|may)\s+(?:i|we|you|he|she|they|it|there)\b",
    re.IGNORECASE,
)
# "Call volumes went up on Monday", "Review meeting is on Friday": the word names a thing here.
THING = re.compile(
    r"^\W*(?:call|check|review|schedule|e-?mail|ping|alert|follow[ -]up|contact|reminder|refund|upload|book|cancel"
    r"|message"
    r"|answer|reply|share|deliver|update|renew|ring|phone|pay)\w*\s+(?!(?:whether|if|that|why|how|who|what|where"
    r"|when)\b)"
    r"(?:[^\s,]+\s+){0,4}?(?:is|are|was|were|has|had|have|went|took|starts?|started|happened|ended|begins?|moved|rose|rises?"
    r"|fell|falls?|drops?|increases?|peaks?"
    r"|confirmed|completed|scheduled|planned|done|cleared|opens?|closes?|arrived|came|failed|succeeded|increased"
    r"|dropped"
    r"|continues?|remains?|stays?|lasts?|runs?|works?)\b",
    re.IGNORECASE,
)


NAMING = re.compile(
    r"(?:call|e-?mail|message|reply|answer|update|ping|alert|review|refund|check|follow[ -]up|invite|share)s?\s+"
    r"(?:from|of|by|hours|cent(?:re|er)s?|notes|logs?|volumes?)\b",
    re.IGNORECASE,
)
# "We will be closed", "please note", "suppose we need to", "she said we should": nobody is to do anything.
IDLE = re.compile(
    r"(?:(?:i|we)(?:'ll| will| shall) (?:be|have|probably|likely|maybe|perhaps|not|never|see|know)"
    r"|(?:i|we) (?:have to|must|should|need to|want to) (?:admit|say|confess|assume|believe|understand|thank)"
    r"|(?:i|we) (?:should|must|ought to) have (?:\w+e[dn]|sent|done|made|left|said|had|gone|got|paid|told|held|known)"
    r"|please (?:find|note|be|see|excuse|accept|bear|feel))\b",
    re.IGNORECASE,
)
MISSED = re.compile(r"\bbut\s+(?:\w+\s+)?(?:forgot|missed|did not|didn't|never|failed)\b", re.IGNORECASE)
REPORTED = re.compile(
    r"\b(?:said|says|saying|told|mentioned|wrote|writes|thinks?|thought|believe[sd]?|claim(?:s|ed)?|wonder(?:s|ed)?"
    r"|explained|suggest(?:s|ed)?|suppose|imagine|assum(?:e|ed|ing)|what if|in case|perhaps|maybe|might|could|would"
    r"|hypothetically|according to|whether|if|why|how|who|which|that)\b[^,;:]*[,:]?\s*$",
    re.IGNORECASE,
)
FILLING = """
please then and also now just kindly at on by in the around about of note starting from first thing sharp again so ok
okay hi hello early late todo to-do reminder task or always
"""
FILLER = frozenset(FILLING.split())
PIECE = re.compile(r"[\w'&-]+")
VERB = re.compile(r"\b(?:is|are|was|were|has|had|have|will|would|does|did|\w{2,}ed)\b", re.IGNORECASE)
MOST_SUBJECT = 4
MOST_CUES = 8  # in one sentence; what follows is not looked at


BEFORE_REMINDER = re.compile(r"^\W*$|\b(?:a|need|want)\s+$", re.IGNORECASE)
# "Ana needs to leave at four on Fridays" is how it is with Ana.
HABIT = re.compile(r"needs? to (?!be\b)", re.IGNORECASE)


class Cue(NamedTuple):
    """Where the words of an order or a resolution stand."""

    starts: int
    ends: int
    is_order: bool


def may_cue(text: str) -> bool:
    """Whether there is any cue in ``text``, whatever stands around it."""
    return CUE.search(text, 0, LONGEST_TEXT) is not None


def cues_in(clause: str) -> Iterator[Cue]:
    """What makes the main clause of a sentence an order or a resolution, in order. An order may stand behind words of
    time ("every Friday at nine send the report")."""
    if ASKING.search(clause) or MISSED.search(clause):
        return
    for found in islice(CUE.finditer(clause), MOST_CUES):
        if _is_cue(clause, found):
            yield Cue(found.start(), found.end(), ORDER.match(found[0]) is not None)


def _is_cue(clause: str, found: re.Match[str]) -> bool:
    before = UNFORGOTTEN.sub(" ", clause[: found.end()])
    ahead = clause[: found.start()]
    if NEGATION.search(ANOTHER.split(before)[-1]) or IDLE.match(clause, found.start()) or REPORTED.search(ahead):
        return False
    if found[0].casefold() == "reminder":
        return bool(BEFORE_REMINDER.search(ahead)) and not THING.search(clause[found.start() :])
    if not ORDER.match(found[0]):
        return not (ahead.strip() and HABIT.match(found[0]) and recurring.is_meant(clause))
    if THING.search(clause[found.start() :]) or NAMING.match(clause, found.start()):
        return False
    return bool(BEFORE_ORDER.search(ahead) or (times.spans(ahead) and only_time_and_filler(ahead, True)))


def only_time_and_filler(ahead: str, is_order: bool) -> bool:
    """Whether what stands before a cue is nothing but words of time, so that these say when; before a resolution its
    subject may stand there too ("next Friday the certificate needs to be renewed")."""
    for first, last in times.spans(ahead):
        ahead = ahead[:first] + " " * (last - first) + ahead[last:]
    others = [each for each in PIECE.findall(ahead) if each.casefold() not in FILLER]
    return not others or (not is_order and len(others) <= MOST_SUBJECT and "," not in ahead and not VERB.search(ahead))
