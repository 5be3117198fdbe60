"""What a statement claims that a newer one may replace: a value, a state, a preference, or where something is now.

A claim's key holds everything else that the statement says: who, of what, which order. Two claims with one key and
different values are about the same thing. What happened (paid, sent, visited), what is denied or asked, and what holds
under a condition (over $100) claims nothing: a newer event replaces no older one.
"""

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from itertools import takewhile

from memory.text.similarity import values
from memory.text.similarity.relations import IMPERSONAL
from memory.text.similarity.statements import Leaf, Spoken
from memory.text.similarity.tokens import (
    AND,
    ASKS,
    BITS,
    BREAK,
    CAPITAL,
    COMMON,
    END,
    FILLER,
    HAPPENS,
    MASKED,
    NEGATION,
    OWNS,
    PREFERS,
    PREPOSITION,
    PRONOUN,
    SAID,
    SHOUTED,
    STATUS,
    TURN,
    UNKNOWN,
    VALUE,
    WORD,
    Token,
    code_of,
    salt_of,
    word_token,
)
from memory.text.similarity.words import PARTICIPLES

REJECTING = frozenset("over than instead to versus vs rather".split())
JOINING = values.COPULAS | {"if", "when", "and", "or"}
TURNING = values.TURNS | values.DROPPED | {"has", "have"}
CONDITIONS = frozenset(
    "if when whenever once while unless until who which that whose must may can could should".split()
)
ARTICLES = frozenset({"a", "an", "the"})
MANNER = frozenset({"as", "by", "via", "in"})
# What is somewhere now, and was elsewhere before.
MOVABLE = frozenset(
    """
    parcel package shipment consignment container pallet crate box luggage suitcase truck lorry van car bus train ship
    vessel plane trailer bike bicycle ladder laptop tablet projector key keys van forklift drone courier
    """.split()
)
HOUSES = frozenset("office headquarters warehouse address location store shop".split())
# The phrases for a state by their first word and their second, "" where there is one alone; the longest first.
STARTING: dict[str, dict[str, list[list[str]]]] = {}
MOVING = values.ATTRIBUTES | values.MOVES | values.LIVES
MOST_IN_A_SLOT = 5
COMPARING = frozenset("over under above below than least most exceeding beyond between".split())
WHY = {"money": "amount", "percent": "percentage", "time": "date", "phone": "value", "email": "value"}
DATING = values.DATED | values.CHANGES | values.COPULAS
SAYING = values.STATES | values.CHANGES
PRESENT = frozenset("is are has have must may will can should".split()) | frozenset(
    word for word in values.STATES if word.endswith("s")
)
NAME = CAPITAL | PREPOSITION
SCHEDULED = frozenset(
    """
    runs starts begins goes meets rehearses trains airs opens closes ships happens plays practises practices gathers
    reopens
    """.split()
)
SENT = frozenset(
    """
    reported sent escalated forwarded routed uploaded pushed published exported addressed mailed submitted logged
    delivered copied synced
    """.split()
)
UNTIL = frozenset("until till bis hasta".split())
PASSIVE = frozenset({"is", "are", "be", "been", "being"})
PRICES = frozenset("cost costs price prices priced fee fees".split())
VERSIONS = frozenset("version release".split())
REACHED_AT = frozenset("address email e-mail phone telephone number mobile cell fax contact extension hotline".split())
SORTS = frozenset("money percent number date time version phone email".split())
SALT = {name: code_of(f"claim {name}") for name in (*SORTS, "slot", "preference", "status")}
SLOT = code_of("claimed here")
MOST_RUNS, MOST_IN_A_STATE = 6, 2
# Of each a thing is in one at a time.
FIELDS = frozenset("column lane status state stage phase priority severity owner assignee".split())
MOST_IN_A_NAME, MOST_ASSIGNED = 4, 6
FEWEST_NAMED = 2
ALIKE, PARTS_ALIKE = 0.75, 0.5
# "2026/0318" and "2026/0381", "A12" and "A21": a name of letters or strokes and digits.
CODE = re.compile(r"(?=.*[^\W\d]|.*/)(?=.*\d)[\w/.-]{3,}")
SHORT_STEM = 4  # letters
# The parts of "/var/log/app" and "node:22-alpine", a word among them, and the number of a version.
PARTED, WORDED, VERSION = re.compile(r"[/.:_-]+"), re.compile(r"[^\W\d_]{3,}"), re.compile(r"v?\d{1,3}")
DIGITS = "0123456789"
WHEN = frozenset("last this yesterday today recently lately".split())
CHANGED = values.CHANGES | values.MOVES | values.PROGRESS | values.NOW
CHANGING = values.CHANGES | values.MOVES
TAKEN = values.PROGRESS | values.ENDED
BY_ITSELF = frozenset("shipped arrived expired failed succeeded departed landed collapsed reopened resumed".split())
REACHING = values.TURNS | values.REACHES | values.DROPPED
DROPPED = values.DROPPED | PRICES
DROPPED_OF_TIMES = DROPPED | values.EXPECTED
NO_PLAIN_FACT = CONDITIONS | values.REPORTING
NO_ASSIGNMENT = NO_PLAIN_FACT | values.IS
IN_ADDITION = frozenset("also additionally auch aussi también też".split())  # beside what holds on
CALLED = frozenset("called named renamed".split())
CLAIMING = MASKED | PREFERS | TURN | STATUS | VALUE | CAPITAL
NAMED = "is named"
DEFINITE = frozenset(
    "the our my your his her their its der die das unser unsere mein el la los nuestro le notre il lo de het".split()
)
# Where every noun has a capital, or none has an article.
OTHER_ARTICLES = frozenset("der die das unser unsere mein".split())
INDEFINITE = frozenset("a an some any every each this that these those one another ein eine un una une".split())
# Of what is so there may be several.
SHARED = frozenset(
    """
    official example sample failing supported accepted available allowed approved spoken certified recognised
    recognized common typical
    possible valid working permitted offered usual known popular amtliche offizielle oficial officielle urzędowym
    """.split()
)
# Of these a person may have more than one.
SEVERAL = frozenset(
    """
    cause effect symptom risk feature task member author suburb river book exam example part branch page partner
    sponsor speaker use advantage disadvantage
    friend brother sister son daughter cousin colleague uncle aunt nephew niece neighbour neighbor client customer
    classmate roommate flatmate teammate child kid pet dog cat hobby book student patient employee tenant
    grandson granddaughter grandmother grandfather grandparent sibling fan rival competitor enemy guest member wish idea
    reason goal problem strength weakness interest skill allergy ingredient project city country
    """.split()
)
# Subjects that name nobody: another statement may be about somebody else.
ANY_OF_THEM = frozenset("a an ein eine un una une".split())
UNNAMED = frozenset("some someone somebody another several many few most one jemand alguien quelqu'un ktoś".split())
BEEN = frozenset("was were has have been be is are got gets".split())


for _phrase in sorted((phrase.split() for phrase in values.STATUSES), key=len, reverse=True):
    STARTING.setdefault(_phrase[0], {}).setdefault(_phrase[1] if len(_phrase) > 1 else "", []).append(_phrase)
STARTING["being"] = {}  # with any participle


@dataclass(slots=True)
class Slot:
    """The value is in ``tokens[start:end]``; ``sort`` is what two values must have in common."""

    kind: str
    why: str
    tokens: list[Token]
    start: int
    end: int
    explicit: bool
    sort: str
    state: str = ""  # one name for all that say the same

    @property
    def values(self) -> tuple[str, ...]:
        if self.state:
            return (self.state,)
        return tuple(token.word.casefold().removeprefix("as written ") for token in said_tokens(self))


def preferred(said: Spoken, raws: set[str]) -> Slot | None:
    """One of a known line, said to be preferred: "prefers phone over email" claims the phone."""
    tokens, kinds = said.tokens, values.KINDS_OF_PREFERENCE
    verb = next((at for at, token in enumerate(tokens) if token.kind & PREFERS), len(tokens))
    behind = [at for at in range(verb + 1, len(tokens)) if tokens[at].raw in kinds]
    front = [at for at in range(min(verb, 3)) if tokens[at].raw in kinds and at and tokens[0].kind & PREPOSITION]
    if verb == len(tokens) or not (behind or front):
        return None
    bound = [at for at in behind if tokens[at - 1].raw in MANNER or tokens[at - 2].raw == "as"]
    at = (front or bound or behind)[0]
    kind = kinds[tokens[at].raw]
    tail, dropped = _without_rejected(tokens[at + 1 :])
    whole = [*tokens[: at + 1], *tail]
    others = [token for place, token in enumerate(whole) if place != at and kinds.get(token.raw) == kind]
    end = at + 2 if not dropped and at + 1 < len(whole) and whole[at + 1].raw in values.PREFERENCE_NOUNS else at + 1
    if any(token in whole[verb:] for token in others):
        return None
    explicit = tokens[verb].raw not in values.TASTES or dropped or bool(raws & values.DROPPED)
    return Slot("preference", "preference", whole, at, end, explicit=explicit, sort=kind)


def _without_rejected(tokens: list[Token]) -> tuple[list[Token], bool]:
    """Without "over email", "rather than email", "instead of email" at the beginning."""
    for at, token in enumerate(tokens[:4]):
        if token.raw in values.KINDS_OF_PREFERENCE:
            rejected = any(each.raw in REJECTING for each in tokens[:at])
            return (tokens[at + 1 :], True) if rejected else (tokens, False)
    return tokens, False


def status(said: Spoken, raws: set[str]) -> Slot | None:
    """One word or phrase for a state, said of the one thing that the statement is about: "is (now) closed"."""
    tokens = said.tokens
    starts = [at for at, token in enumerate(tokens) if token.raw in STARTING]
    apart = found = [(at, size) for at in starts if (size := _status_at(tokens, at))]
    if len(found) > 1:
        apart = [(at, size) for at, size in found if not any(a < at < a + s for a, s in found)]
    stated = [(at, size) for at, size in apart if _is_stated(tokens, at, size) or _is_done(tokens, at)]
    if len(stated) != 1 or raws & values.REPORTING or tokens[0].raw == "there":  # some are running, others stopped
        return None
    [(at, size)] = stated
    if any(token.raw in CONDITIONS for token in tokens[:at]):
        return None
    start = at
    while start and tokens[start - 1].raw in ARTICLES:
        start -= 1
    phrase = " ".join(token.raw for token in tokens[at : at + size])
    sort, state = values.STATUSES.get(phrase, "status"), values.SAME_STATE.get(phrase, "")
    if _has_come_to(tokens, at):
        size = len(tokens) - at
    whole = [*tokens[:start], *tokens[at:]]
    return Slot("status", "value", whole, start, start + size, explicit=True, sort=sort, state=state)


def step(said: Spoken, raws: set[str]) -> Slot | None:
    """What is being done, or has been: "is being painted", "has been painted"."""
    tokens = without_when(said.tokens)
    at = next((at for at in range(2, len(tokens)) if tokens[at - 1].raw in STEPPING), 0)
    participle = at and (tokens[at].raw.endswith("ed") or tokens[at].raw in PARTICIPLES)
    if not participle or not NO_PLAIN_FACT.isdisjoint(raws) or any(token.kind & (BREAK | AND) for token in tokens[:-1]):
        return None
    start = at - 1
    while start and tokens[start - 1].raw in AUXILIARY:
        start -= 1
    going = tokens[at - 1].raw == "being"
    if not start or (not going and any(token.kind & VALUE for token in tokens[at:])):
        return None
    state, sort = "going on" if going else "done", f"step {tokens[at].concept}"
    whole = [*tokens[:start], *tokens[at:]]
    return Slot("status", "value", whole, start, start + 1, explicit=not going, sort=sort, state=state)


# In front of a participle.
STEPPING, AUXILIARY = frozenset("being been was were".split()), frozenset("is are has have still".split())


def _status_at(tokens: list[Token], at: int) -> int:
    phrases = STARTING[tokens[at].raw]
    second = tokens[at + 1].raw if at + 1 < len(tokens) else ""
    for phrase in phrases.get(second, ()):
        if [token.raw for token in tokens[at : at + len(phrase)]] == phrase:
            return len(phrase)
    if tokens[at].raw == "being" and (second.endswith("ed") or second in PARTICIPLES):
        return 2
    return int("" in phrases)


def _is_done(tokens: list[Token], at: int) -> bool:
    """Whether it is a step that was taken: "was shipped", "has been closed"."""
    before = next((token.raw for token in reversed(tokens[:at]) if not token.kind & FILLER), "")
    if before in ("has", "have"):
        return tokens[at].raw in TAKEN
    if tokens[at].raw in BY_ITSELF and at and tokens[at - 1].kind & WORD and not tokens[at - 1].kind & PREPOSITION:
        return at + 1 == len(tokens) or tokens[at + 1].raw in WHEN or _has_come_to(tokens, at)
    return before in values.BECOME or (before in ("was", "were", "got") and tokens[at].raw in values.PROGRESS)


def _has_come_to(tokens: list[Token], at: int) -> bool:
    """Whether it is a thing that arrived at one place, which is not that of another arrival: "arrived at reception"."""
    where = tokens[at + 1 :]
    short = 1 < len(where) <= MOST_IN_A_NAME and where[0].raw in ("at", "in")
    whole = short and not any(token.kind & (BREAK | VALUE | AND) for token in where[:-1])
    return tokens[at].raw == "arrived" and whole and tokens[0].raw in DEFINITE and not tokens[at - 1].kind & CAPITAL


def _is_stated(tokens: list[Token], at: int, size: int) -> bool:
    """Whether it is said of something: after "is", "=" or "priority", or as "a gold customer", "high priority"."""
    back = at - 1
    while back >= 0 and (tokens[back].raw in ARTICLES or tokens[back].kind & FILLER or not tokens[back].raw):
        back -= 1
    before = tokens[back].raw if back >= 0 else ""
    if before in values.COPULAS or before in ("=", "has", "have", "gets") or before in values.STATUS_NOUNS:
        follows = tokens[at + size] if at + size < len(tokens) else None
        return before in values.COPULAS or before == "=" or not follows or follows.raw in values.STATUS_NOUNS
    return False


def turned(said: Spoken, raws: set[str]) -> Slot | None:
    """ "The owner of X is now Y", "X moved to Y", "X lives in Y"."""
    tokens = said.tokens
    if raws.isdisjoint(MOVING) and raws.isdisjoint(values.IS):
        return None
    turn = next((at for at, token in enumerate(tokens) if token.raw in values.TURNS), len(tokens))
    end = next((at for at in range(turn, len(tokens)) if tokens[at].raw not in TURNING), len(tokens))
    place = end < len(tokens) and tokens[end].kind & PREPOSITION and tokens[end].raw in values.PLACES
    start = end + 1 if place else end
    stop = _end_of_place(tokens, start) if place else len(tokens)
    before, after = tokens[:turn], [token for token in tokens[start:stop] if token.kind & SAID]
    owned = not values.ATTRIBUTES.isdisjoint([token.raw for token in before])
    moved, lives = bool(raws & values.MOVES), bool(raws & values.LIVES)
    if not any(token.kind & SAID for token in before) or not 0 < len(after) <= MOST_IN_A_SLOT or "from" in raws:
        return None
    named_place = place and any(token.kind & (VALUE | CAPITAL) for token in after) and _is_definite(before)
    if (not owned and not (place and (moved or lives)) and not named_place) or any(
        token.raw in JOINING for token in after
    ):
        return None
    housed = bool(place and after[0].kind & VALUE and {token.raw for token in before} & HOUSES)
    names = said.names
    named = [token for token in after if housed or token.code in names or token.kind & VALUE]
    plain = sorted(token.code for token in after if token not in named)
    whole = [*tokens[:turn], *tokens[start:]]
    return Slot(
        "slot",
        "place" if place else "value",
        whole,
        turn,
        turn + stop - start,
        explicit=moved
        or housed
        or (place and not owned and before[-1].raw in MOVABLE)
        or bool(raws & values.NOW)
        or (bool(named) and lives)
        or (owned and "address" in raws),
        sort=f"{'place' if place else 'is'} {'named' if named else 'plain'} {plain if named else ''}",
    )


def defined(said: Spoken, raws: set[str]) -> Slot | None:
    """ "The owner of X is Y", "X was switched to Y", "Y is the owner of X": a name for what there is one of."""
    tokens = said.tokens
    verb = _first_is(tokens, raws)
    if not verb:
        return _switched(tokens, raws)
    if not NO_PLAIN_FACT.isdisjoint(raws):
        return None
    before, after = tokens[:verb], tokens[verb + 1 :]
    called = bool(after) and after[0].raw in CALLED
    if called or (after and after[0].raw in values.NOW):
        after = after[1:]
    after, more = _parted(after)
    if called and len(after) == 1 and after[0].kind & COMMON and _is_definite(before):
        return _defined(before, after, NAMED)  # "the default branch is called main"
    if not after or any(token.raw in values.IS for token in after):
        return None
    if _is_definite(before) and _sort_of(after):
        slot = _defined(before, after)
        slot.tokens += more
        slot.explicit = SHARED.isdisjoint([token.raw for token in before]) or not values.NOW.isdisjoint(raws)
        return slot
    if not more and after[0].raw in DEFINITE and _is_definite(after) and _is_named(before) and _is_office(after):
        return _defined(after, before)
    return None


def led(said: Spoken, raws: set[str]) -> Slot | None:
    """ "Ana conducts the choir": who does what one alone does."""
    tokens = said.tokens
    verb = 0 if raws.isdisjoint(LED) else next(at for at, token in enumerate(tokens) if token.raw in LED)
    what = tokens[verb + 1 :]
    known = what and (what[0].raw in DEFINITE or tokens[verb].raw == "leitet") and len(what) <= MOST_IN_A_NAME
    if not verb or not known or not NO_PLAIN_FACT.isdisjoint(raws) or not _is_named(tokens[:verb]):
        return None
    if any(token.kind & (BREAK | AND | VALUE) for token in what[:-1]) or what[-1].raw.endswith("s"):
        return None
    return _defined([tokens[verb], *what], tokens[:verb], NAMED)


LED = frozenset("conducts chairs directs captains leitet".split())


def _switched(tokens: list[Token], raws: set[str]) -> Slot | None:
    """ "The level was lowered to INFO"."""
    if CHANGING.isdisjoint(raws):
        return None
    at = next((at for at, token in enumerate(tokens) if token.raw in CHANGING), 0)
    to = next((place for place in range(at + 1, len(tokens)) if tokens[place].raw == "to"), at)
    if not at or "from" in raws or raws & values.REPORTING or (to == at and tokens[at].raw not in CALLED):
        return None
    before, after = [token for token in tokens[:at] if token.raw not in BEEN], tokens[to + 1 :]
    what = tokens[at + 1 : to]
    if what:
        if not (what[0].kind & PRONOUN or what[0].raw in ARTICLES or what[0].raw in DEFINITE):
            return None
        before = what if len(before) == 1 and before[0].raw in IMPERSONAL else before + what[1:]
    return _defined(before, after) if _is_definite(before) and _sort_of(after) else None


def _defined(before: list[Token], after: list[Token], sort: str = "") -> Slot:
    before = [token for at, token in enumerate(before) if token.raw not in NEWER or is_new_in_a_name(before, at)]
    end = len(before) + len(after)
    return Slot("slot", "value", [*before, *after], len(before), end, explicit=True, sort=sort or _sort_of(after))


def _sort_of(tokens: list[Token]) -> str:
    """What two values must have in common: both are names, or both of one line; empty for anything else."""
    said = [token for token in tokens if not token.kind & FILLER and token.raw]
    if len(said) == 1 and said[0].raw in values.KINDS_OF_PREFERENCE:
        return f"is {values.KINDS_OF_PREFERENCE[said[0].raw]}"
    name = tokens[1:] if tokens[0].raw == "the" else tokens
    if _is_named(name):
        return NAMED
    kind = tokens[-1]
    if len(name) < len(tokens) and kind.kind & COMMON and _is_named(name[:-1]):
        return f"is the {kind.word}"  # "the Moss Street depot" and "the Kiln Road depot"
    return ""


def assigned(said: Spoken, raws: set[str]) -> Slot | None:
    """ "LEVEL=info" and "Retries: 3": a name, and its value, which is all that there is."""
    tokens = said.tokens
    front = tokens[: MOST_ASSIGNED + 1]
    at = next((at for at, token in enumerate(front) if token.raw == "=" or token.kind & END), -1)
    if at < 0 or (tokens[at].raw == "=" and at > MOST_IN_A_NAME):
        return None
    start = at + 1
    name = tokens[:at] if tokens[at].raw == "=" else tokens[:start]
    value = tokens[start:]
    if value and value[0].raw in FIELDS and tokens[at].raw != "=" and _is_of_a_thing(name):
        start, value = start + 1, value[1:]  # "card 51: column Doing"
        if 0 < len(value) <= MOST_IN_A_STATE and all(token.kind & WORD for token in value):
            return Slot("slot", "value", tokens, start, len(tokens), explicit=True, sort="assigned field")
        return None
    named = 0 < len(name) <= MOST_ASSIGNED and all(token.kind & (WORD | VALUE | PREPOSITION) for token in name)
    if not named or len(value) != 1 or not NO_ASSIGNMENT.isdisjoint(raws) or "http" in name[0].raw:
        return None
    if tokens[at].raw != "=" and (not value[0].mask or name[0].raw in values.PROGRESS):  # "fixed in version: 3.2"
        return None
    return Slot("slot", "value", tokens, start, len(tokens), explicit=True, sort=f"assigned {value[0].mask}")


def _is_of_a_thing(name: list[Token]) -> bool:
    """Whether a thing of its own is named there: by a number, a name or an article."""
    known = name[0].raw in DEFINITE or any(token.kind & CAPITAL for token in name[1:])
    return known or any(token.kind & VALUE for token in name)


# No subject: "nie podano" ("was not given") says nothing of what it is about.
FOREIGN_NEGATIONS = frozenset(["nicht", "nie", "no", "non", "ne", "pas"])


def final(said: Spoken, raws: set[str]) -> Slot | None:
    """ "Petra now works for Bosch": the name, the value or one of a line that a statement ends with."""
    tokens = [token for token in said.tokens if token.raw not in values.NOW] if raws & values.NOW else said.tokens
    start = len(tokens)
    while start > 1 and _may_end(tokens[start - 1]):
        start -= 1
        if tokens[start - 1].kind & BREAK:
            break
    after = tokens[start:]
    copula = _first_is(tokens, raws)
    if copula and copula + 2 < len(tokens) and _is_a_kind(tokens[copula + 1 :]):
        start = copula + 2
        return Slot("slot", "value", tokens, start, len(tokens), explicit=bool(raws & values.NOW), sort="is a")
    if not NO_PLAIN_FACT.isdisjoint(raws):
        return None
    if tail := _way(tokens, raws):
        return tail
    if not after:
        return None
    sort = "value" if all(token.kind & VALUE for token in after) else _sort_of(after)
    if not sort or not any(token.kind & WORD and token.raw not in FOREIGN_NEGATIONS for token in tokens[:start]):
        return None
    explicit = bool(raws & values.NOW) and "from" not in raws
    explicit = explicit or (sort == NAMED and _is_office_in_front(tokens, start))
    explicit = explicit or _is_on_a_schedule(tokens, start) or _has_one_address(tokens, start)
    return Slot("slot", "value", tokens, start, len(tokens), explicit=explicit, sort=f"ends {sort}")


def _way(tokens: list[Token], raws: set[str]) -> Slot | None:
    """How often, or by what: "runs hourly", "goes by train", "is heated with gas"."""
    last = len(tokens) - 1
    if last > 1 and tokens[last].raw in values.PERIODS.values() and not tokens[last - 1].kind & (VALUE | BREAK):
        explicit = bool(raws & values.NOW)
        return Slot("slot", "value", tokens, last, last + 1, explicit=explicit, sort="how often")
    lead = next((at for at in range(last, 1, -1) if tokens[at].kind & PREPOSITION), 0)
    if not 0 < last - lead <= MOST_IN_A_WAY or any(token.kind & (BREAK | AND) for token in tokens[:-1]):
        return None
    before, way = tokens[lead - 1].raw, tokens[lead].raw
    made = tokens[lead - 2].raw in values.COPULAS and (before.endswith("ed") or before in PARTICIPLES)
    by = (way == "with" and made) or (way == "by" and before in GOING)
    if not by or any(token.kind & VALUE for token in tokens[lead:]):
        return None
    return Slot("slot", "value", tokens, lead + 1, last + 1, explicit=bool(raws & values.NOW), sort=f"way {way}")


MOST_IN_A_WAY = 3
GOING = frozenset("goes go travels travel commutes commute comes come".split())


def _is_on_a_schedule(tokens: list[Token], start: int) -> bool:
    """Whether one known thing happens again and again at that time: "the backup runs at 2:00"."""
    verb = next((at for at in range(1, start) if tokens[at].raw in SCHEDULED), 0)
    timed = all(token.mask in ("date", "time") for token in tokens[start:]) and tokens[start - 1].raw in ("at", "on")
    return bool(verb) and timed and not tokens[0].kind & PRONOUN and _is_definite(tokens[:verb])


def _has_one_address(tokens: list[Token], start: int) -> bool:
    """Whether all of a sort goes to one who is named: "errors are reported to Sentry"; or a thing is with somebody."""
    last = tokens[start - 1].raw
    if last == "with":
        return start > 2 and tokens[start - 2].raw in values.IS and tokens[start - 3].raw in MOVABLE
    before = [token.raw for token in tokens[: start - 1]]
    passive = len(before) > 1 and before[-1] in SENT and before[-2] in PASSIVE
    sent = passive or before[-1:] in (["go"], ["goes"]) or before[:1] == ["send"]
    return last == "to" and sent and not any(token.kind & CAPITAL for token in tokens[:start])


def _first_is(tokens: list[Token], raws: set[str]) -> int:
    """The place of the first "is"; 0 where there is none, or nothing before it."""
    if values.IS.isdisjoint(raws):
        return 0
    return next((at for at, token in enumerate(tokens) if token.raw in values.IS), 0)


def _is_office_in_front(tokens: list[Token], start: int) -> bool:
    """ "Kierownikiem magazynu jest" and "die Leitung der Kita hat" with a name: an office of which there is one."""
    before = tokens[start - 1].raw
    if before == "jest" and start > 1 and tokens[0].raw.endswith(("em", "ą")):
        return not any(token.kind & CAPITAL for token in tokens[1:start])
    led = start > 2 and tokens[0].raw in DEFINITE | {"den"} and before in HOLDING and tokens[1].raw.endswith(LEADING)
    return led and all(token.kind & CAPITAL for token in tokens[start:])


HOLDING = frozenset("hat übernimmt tiene lleva ejerce".split())
LEADING = (
    *("leitung", "führung", "aufsicht", "vorsitz", "verantwortung", "betreuung", "regie", "verwaltung", "moderation"),
    *("dirección", "presidencia", "coordinación", "gestión", "jefatura", "supervisión"),
)


def _may_end(token: Token) -> bool:
    return bool(token.kind & (VALUE | CAPITAL | UNKNOWN)) or token.raw in values.KINDS_OF_PREFERENCE


def _is_a_kind(tokens: list[Token]) -> bool:
    """Whether it is "a teacher": an article and at most three words that are no names."""
    said = tokens[1:]
    plain = all(token.kind & WORD and not token.kind & (PREPOSITION | CAPITAL | NEGATION) for token in said)
    return tokens[0].raw in ("a", "an") and 0 < len(said) <= MOST_IN_A_NAME and plain


def _parted(tokens: list[Token]) -> tuple[list[Token], list[Token]]:
    """What stands up to a full stop or a comma, and what follows it."""
    end = next((at + 1 for at, token in enumerate(tokens) if token.kind & BREAK), len(tokens))
    return tokens[:end], tokens[end:]


def _is_definite(tokens: list[Token]) -> bool:
    """Whether there is one of what it names: with an article, a possessive, or an office, and with a common noun."""
    head = next((at for at, token in enumerate(tokens) if at and token.kind & PREPOSITION), len(tokens))
    nouns = [token for token in tokens[:head] if token.kind & WORD]
    if len(tokens) > 2 and tokens[1].raw in OFFICES and tokens[0].raw in DEFINITE and _leads(tokens[2]):
        return True  # "la directora de ventas"
    if not nouns or tokens[0].raw in INDEFINITE or any(token.kind & BREAK for token in tokens[:-1]):
        return False
    last = nouns[-1]
    if (
        last.kind & (CAPITAL | SHOUTED) == CAPITAL
        and last.raw not in values.ATTRIBUTES
        and tokens[0].raw not in OTHER_ARTICLES
        and last is not tokens[0]
    ):
        return False
    owner = next((at for at, token in enumerate(tokens[:MOST_IN_A_NAME]) if token.kind & OWNS), -1)
    owned = owner >= 0 and last.raw not in SEVERAL and all(token.kind & CAPITAL for token in tokens[:owner])
    known = tokens[0].raw in DEFINITE or tokens[0].kind & PRONOUN or last.raw in values.ATTRIBUTES or owned
    return bool(known) and not (last.raw.endswith("s") and not last.raw.endswith(("ss", "us", "is")))


def _leads(token: Token) -> bool:
    return bool(token.kind & PREPOSITION) or token.raw in OF_ABROAD


OF_ABROAD = frozenset("de del der des von vom du".split())
OFFICES = values.OFFICES_OF_WOMEN.keys() | set(values.OFFICES_OF_WOMEN.values())


def _is_office(tokens: list[Token]) -> bool:
    head = next((at for at, token in enumerate(tokens) if at and token.kind & PREPOSITION), len(tokens))
    return any(token.raw in values.ATTRIBUTES for token in tokens[1:head])


def _is_named(tokens: list[Token]) -> bool:
    """Whether all of it is a name or a code; a nationality is none."""
    tokens = [token for token in tokens if token.raw and not token.kind & FILLER]
    said = [token for token in tokens if token.kind & SAID]
    if not 0 < len(said) <= MOST_IN_A_NAME or len(said) < len(tokens):
        return False
    if any(token.raw in values.DEMONYMS or token.kind & NEGATION for token in said):
        return False
    words = [token for token in said if token.kind & WORD]
    codes = [token for token in said if token.kind & VALUE and not token.mask]
    return bool(words or codes) and all(token.kind & (CAPITAL | UNKNOWN) or "." in token.raw for token in words)


def _end_of_place(tokens: list[Token], start: int) -> int:
    """Where "Elm Avenue, Leeds" ends: before "and", or with the statement."""
    return next(
        (at for at in range(start, len(tokens)) if tokens[at].kind & AND and tokens[at].raw == "and"), len(tokens)
    )


@dataclass(slots=True)
class Claim:
    """``rest`` is the statement with a mark where the value was; only an ``explicit`` claim replaces others."""

    key: int
    why: str
    values: tuple[str, ...]
    rest: tuple[Token, ...]
    explicit: bool
    sort: str = ""
    is_topic: bool = False
    is_part: bool = False


def claims_of(said: Spoken) -> list[Claim]:
    """What the statement claims."""
    if said.leaves:
        return [_leaf(leaf) for leaf in said.leaves if leaf.changes]
    tokens, kinds = said.tokens, said.kinds
    if kinds & ASKS or (kinds & NEGATION and _denies(tokens)):
        return []
    raws = {token.raw for token in tokens}
    if not kinds & CLAIMING and STEPPING.isdisjoint(raws):
        return []
    if not IN_ADDITION.isdisjoint(raws) or ("to" in raws and "be" in raws and _was_to_be(tokens)):
        return []
    if raws & CHANGED:
        said = Spoken(without_when(tokens), kinds)
        tokens = said.tokens
    found: list[Claim] = []
    if kinds & MASKED and not (kinds & HAPPENS and happened(tokens)):
        found += _values(tokens, raws)
    for bit, claims in (
        (PREFERS, preferred),
        (STATUS, status),
        (TURN, turned),
        (TURN, defined),
        (VALUE | CAPITAL, final),
        (VALUE | CAPITAL, assigned),
        (CAPITAL, led),
    ):
        slot = claims(said, raws) if kinds & bit else None
        if slot:
            found.append(_claim(tokens, slot))
    taken = None if STEPPING.isdisjoint(raws) else step(said, raws)
    found += [_claim(tokens, taken)] if taken else []
    return [claim for claim in found if not ("instead" in raws and _is_instead_of_nothing(tokens, claim.rest))]


def _is_instead_of_nothing(tokens: list[Token], rest: tuple[Token, ...]) -> bool:
    """Whether "instead" points to what stands in another text: "use X instead" names nothing that X is used for."""
    at = next(at for at, token in enumerate(tokens) if token.raw == "instead")
    named = any(token.kind & (CAPITAL | PRONOUN) and at for at, token in enumerate(rest))
    nouns = [token for token in rest if token.kind & WORD and not token.kind & (BREAK | PREPOSITION)]
    return [token.raw for token in tokens[at + 1 : at + 2]] != ["of"] and not named and len(nouns) < FEWEST_NAMED


def _was_to_be(tokens: list[Token]) -> bool:
    """ "The rate was to be raised": it says what was planned."""
    raws = [token.raw for token in tokens]
    return any(raws[at] == "to" and raws[at + 1] == "be" and raws[at - 1] in BEEN for at in range(1, len(raws) - 1))


def without_when(tokens: list[Token]) -> list[Token]:
    """Without "yesterday", "last month", "in spring" and the like at the end, which say when something changed."""
    end = len(tokens)
    if end > 2 and tokens[end - 2].raw in ("last", "this") and (_is_a_period(tokens[-1]) or tokens[-1].mask == "date"):
        return tokens[: end - 2]
    in_time = end > MOST_IN_A_NAME and tokens[end - 2].raw in ("in", "on") and tokens[end - 3].kind & (CAPITAL | WORD)
    if in_time and (tokens[-1].raw in SEASONS or tokens[-1].mask == "date") and "to" in [each.raw for each in tokens]:
        return tokens[: end - 2]
    return tokens[: end - 1] if tokens[end - 1].raw in WHEN else tokens


def _is_a_period(token: Token) -> bool:
    return token.raw in values.PERIODS or token.raw in SEASONS or token.raw in PARTS_OF_DAY


SEASONS = frozenset("spring summer autumn winter fall".split())
PARTS_OF_DAY = frozenset("morning afternoon evening".split())


def _denies(tokens: list[Token]) -> bool:
    """Whether it says what is not; "without approval" is a part of what is."""
    return any(token.kind & NEGATION and token.word not in ("without", "except") for token in tokens)


def _leaf(leaf: Leaf) -> Claim:
    return Claim(leaf.rest, "value", (leaf.value,), (), explicit=leaf.replaces, sort="leaf")


def _claim(tokens: list[Token], slot: Slot) -> Claim:
    rest = tuple([_of_office(token) for token in _marked(slot.tokens, slot.start, slot.end, "")])
    key = (_key(rest) + salt_of(slot.sort) + SALT[slot.kind]) & BITS
    return Claim(key, slot.why, slot.values, rest, slot.explicit, slot.sort)


def _of_office(token: Token) -> Token:
    """An office by the word for whoever holds it, a woman or a man."""
    man = values.OFFICES_OF_WOMEN.get(token.raw)
    return word_token(man).with_kind(token.kind & (BREAK | CAPITAL)) if man else token


def is_of_some(tokens: Sequence[Token]) -> bool:
    """Whether its subject names nobody: "a colleague lives in Lyon", "someone called"."""
    first, noun = [*(token.raw for token in tokens[:2]), "", ""][:2]
    return first in UNNAMED or (first in ANY_OF_THEM and noun in SEVERAL)


def spelled_nearly_alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether the two names may be one, of which one is mistyped, or two that are easily taken for each other."""
    a, b = " ".join(one), " ".join(other)
    parts = _parts_apart(a, b)
    return not any(map(str.isdigit, a + b)) and _ratio(a, b) > ALIKE and _ratio(*parts) > PARTS_ALIKE


def coded_nearly_alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """The same of two codes: "A12" and "A21", "16F" and "19F", "db-replica1" and "db-replica7"."""
    a, b = ("".join(each).removeprefix("as written ") for each in (one, other))
    if a.casefold() == b.casefold():
        return True
    parts = _parts_apart(a, b)
    if all(VERSION.fullmatch(part) for part in parts) and WORDED.search(a):
        return False  # another version
    if any(map(str.isdigit, one)) or not (CODE.fullmatch(a) and CODE.fullmatch(b)):
        return False
    stems = a.rstrip(DIGITS), b.rstrip(DIGITS)
    apart = [pair for pair in zip(a, b, strict=False) if pair[0] != pair[1]]
    swapped = len(apart) == 2 and apart[0] == apart[1][::-1]
    return (len(a) == len(b) and (swapped or len(apart) == 1)) or (stems[0] == stems[1] and len(stems[0]) > SHORT_STEM)


def _ratio(a: str, b: str) -> float:
    return SequenceMatcher(None, a, b, autojunk=False).ratio()


def _parts_apart(a: str, b: str) -> tuple[str, str]:
    """The one part of two paths, addresses or tags in which they differ: "var" and "data"; else the whole of both."""
    parts = [PARTED.split(each) for each in (a, b)]
    apart = [pair for pair in zip(*parts, strict=False) if pair[0] != pair[1]]
    return apart[0] if len(parts[0]) == len(parts[1]) > 1 == len(apart) else (a, b)


def said_tokens(slot: Slot) -> list[Token]:
    return [token for token in slot.tokens[slot.start : slot.end] if token.kind & SAID]


def _marked(tokens: list[Token], start: int, end: int, mask: str) -> tuple[Token, ...]:
    """The statement without words for a change, and with one mark for the value."""
    last = tokens[end - 1]
    by_us = tokens[0].raw in IMPERSONAL and start > 2 and any(token.raw in CHANGED for token in tokens[1:3])
    before = tokens[1 : start - (tokens[start - 1].raw == "to")] if by_us else tokens[:start]
    kept = [*before, _mark(VALUE | (last.kind & BREAK), mask), *tokens[end:]]
    dropped = DROPPED_OF_TIMES if mask in ("date", "time") else DROPPED
    raws = [token.raw for token in kept]
    if dropped.isdisjoint(raws) and NEWER.isdisjoint(raws):
        return tuple(kept)
    plain = tuple(
        [
            token
            for at, token in enumerate(kept)
            if not _is_newer(kept, at) and (token.raw not in dropped or is_adjective(kept, at))
        ]
    )
    if any(token.kind & WORD for token in plain):
        return plain
    return tuple([token for token in kept if token.raw not in dropped - PRICES])


@cache
def _mark(kind: int, mask: str) -> Token:
    """What stands where a value of this sort was."""
    return Token("", "", SLOT, b"", kind, mask)


def is_adjective(tokens: list[Token], at: int) -> bool:
    """Whether a word for a change belongs to a noun: "the reduced fare" is another one than the fare."""
    return at > 0 and tokens[at].raw in values.CHANGES and tokens[at - 1].raw in ADJECTIVAL


ADJECTIVAL = DEFINITE | ARTICLES
NEWER = frozenset({"new", "current"})


def is_new_in_a_name(tokens: Sequence[Token], at: int) -> bool:
    """Whether it is the "New" of "New Jersey"."""
    if not (tokens[at].raw in NEWER and tokens[at].kind & CAPITAL and at + 1 < len(tokens)):
        return False
    follows = tokens[at + 1]
    return bool(follows.kind & CAPITAL and follows.kind & WORD and not tokens[at].kind & BREAK)


def names_a_thing(claim: Claim) -> bool:
    """Whether it is said of something that is named there: "the default", "the value in this file" name nothing."""
    said = [(at, token) for at, token in enumerate(claim.rest) if token.kind & SAID and token.raw]
    if not said or any(token.kind & (VALUE | OWNS | PRONOUN) for token in claim.rest if token.raw):
        return True
    raws = [token.raw for _, token in said if token.concept and token.raw not in NOT_NAMING]
    start = next((at for at, token in enumerate(claim.rest) if token.raw in POINTING), len(claim.rest))
    pointed = {token.raw for token in takewhile(lambda token: token.kind & WORD, claim.rest[start + 1 :])}
    return not (set(raws) - pointed <= NAMELESS and not NAMELESS.isdisjoint(raws))


POINTING = frozenset(("this", "these", "that", "those"))
NAMELESS = frozenset(
    """
    default defaults value values valor valores predeterminado predeterminada defecto omisión valeur valeurs défaut
    standardwert standardwerte vorgabe vorgabewert voreinstellung wert wartość wartości domyślna domyślną domyślne
    """.split()
)
NOT_NAMING = values.COPULAS | values.NOW | values.CHANGES | frozenset("por par by defaults set".split())


def _is_newer(tokens: list[Token], at: int) -> bool:
    """Whether it is the "new" of "her new phone number": what there is one of has got another value."""
    token = tokens[at]
    if token.raw not in NEWER or token.kind & CAPITAL:
        return False
    return any(each.raw in values.ATTRIBUTES or each.raw in RENEWED for each in tokens[at + 1 : at + 3])


# Of each there is one at a time.
RENEWED = frozenset("deadline date rent password pin code quota limit budget target salary wage fare fee rate".split())


def _key(rest: tuple[Token, ...]) -> int:
    return sum([token.code for token in rest if token.kind & SAID]) & BITS


def _values(tokens: list[Token], raws: set[str]) -> list[Claim]:
    """One claim for each value that the statement gives, were it the only one to differ."""
    tokens = former_value_left_out(tokens, raws)
    runs: list[tuple[int, int, str]] = []
    for at in [at for at, token in enumerate(tokens) if token.kind & VALUE]:
        sort = sort_at(tokens, at)
        if sort in ("date", "number", "phone") and runs and runs[-1][1:] == (at, sort):
            runs[-1] = (runs[-1][0], at + 1, sort)
        elif sort:
            runs.append((at, at + 1, sort))
    found = []
    for number, (start, end, sort) in enumerate(runs[:MOST_RUNS]):
        since = runs[number - 1][1] if number else 0
        if _states(tokens, since, start, end, sort):
            rest = _marked(tokens, start, end, sort)
            if any(token.kind & WORD for token in rest):
                said = " ".join(token.word for token in tokens[start:end])
                key = (_key(rest) + SALT[sort]) & BITS
                explicit = _explicit(tokens[start:end], raws, sort) or _is_dated(tokens, start, sort)
                if sort not in ("date", "time") and not raws & values.DROPPED and _is_in_a_condition(tokens, start):
                    explicit = False
                found.append(Claim(key, WHY.get(sort, sort), (said,), rest, explicit))
    return found


def _is_dated(tokens: list[Token], start: int, sort: str) -> bool:
    """ "The review is on 4 May", "the call is at 9:30": one thing, and a day or a time of its own."""
    verb = next((at for at in range(start) if tokens[at].raw in values.IS), 0)
    plain = sort in ("date", "time") and tokens[start].word[0].isdigit() and start - verb <= 2
    return bool(verb) and plain and _is_definite(tokens[:verb])


def _explicit(run: list[Token], raws: set[str], sort: str) -> bool:
    """Whether it may replace an older value. A bare weekday or month is rather part of a name, and "was" is over."""
    changed = bool(raws & values.DROPPED)
    if sort in ("date", "time") and not changed:
        bare = all(token.mask == "date" and not token.word[0].isdigit() for token in run)
        if bare and UNTIL.isdisjoint(raws):
            return "only" in raws
        return bool(raws & values.DATED or raws & UNTIL or "next" in raws)
    return changed or not raws & {"was", "were"}


def _states(tokens: list[Token], since: int, first: int, end: int, sort: str) -> bool:
    """Whether the value is what the statement is about: said of it, not a condition and not a part of its name."""
    if not COMPARING.isdisjoint([token.raw for token in tokens[max(0, first - 2) : first]]):
        return False
    before, behind = [token.raw for token in tokens[since:first]], [token.raw for token in tokens[end:]]
    if sort in ("date", "time"):
        return (
            not DATING.isdisjoint(before)
            or not UNTIL.isdisjoint(before)
            or "next" in before
            or (first < 2 and (not values.DATED.isdisjoint(behind) or "only" in behind))
        )
    if sort in ("phone", "email"):
        all_said = {token.raw for token in tokens}
        return bool(all_said & REACHED_AT) and not REACHING.isdisjoint(all_said)
    if first == 1 and tokens[0].kind & PREPOSITION:
        return not SAYING.isdisjoint(behind)
    return not SAYING.isdisjoint(before) or (first == 0 and end < len(tokens) and tokens[end].raw in values.COPULAS)


def _is_in_a_condition(tokens: list[Token], at: int) -> bool:
    """Whether the value is that of a condition, of which there may be others: "returns true if the size is 10"."""
    start = max((place + 1 for place in range(at) if tokens[place].kind & BREAK), default=0)
    return any(token.raw in values.CONDITIONAL for token in tokens[start:at])


def happened(tokens: list[Token]) -> bool:
    """Whether it tells of something that happened once: "paid", but neither "is paid" nor "agreed ... is"."""
    before = ""
    for at, token in enumerate(tokens):
        if token.kind & HAPPENS and before not in PASSIVE and not _qualifies(tokens, at):
            return True
        before = before if token.kind & FILLER else token.raw
    return False


def _qualifies(tokens: list[Token], at: int) -> bool:
    """Whether a verb follows, in the same clause, that says how things are."""
    for token in tokens[at:]:
        if token.raw in PRESENT:
            return True
        if token.kind & (BREAK | AND):
            return False
    return False


def former_value_left_out(tokens: list[Token], raws: set[str]) -> list[Token]:
    """Of "raised from $49 to $59", the former value is dropped."""
    if "from" not in raws or not raws & values.CHANGES:
        return tokens
    at = next((index for index, token in enumerate(tokens) if token.raw == "from"), len(tokens))
    if at + 1 < len(tokens) and tokens[at + 1].kind & VALUE:
        of_unit = at + 3 < len(tokens) and tokens[at + 3].raw == "to" and tokens[at + 2].raw == tokens[-1].raw
        return tokens[:at] + tokens[at + 2 + of_unit :]
    return tokens


def sort_at(tokens: list[Token], at: int) -> str:
    """The sort of the value there; empty for none, and for a number that is a name."""
    token = tokens[at]
    if not token.kind & VALUE:
        return ""
    before, after = tokens[at - 1] if at else None, tokens[at + 1] if at + 1 < len(tokens) else None
    if _is_one_of_several(tokens, at):
        return ""
    if before and before.raw in VERSIONS and token.raw[0].isdigit() and "." in token.raw:
        return "version"
    if before and before.kind & CAPITAL and token.raw[0].isdigit() and "." in token.raw:
        return "version"
    if token.mask == "date" and YEAR.fullmatch(token.raw) and any(each.raw in KEYS for each in tokens[:at]):
        return "number"  # the code 2093 is no year
    if token.mask != "number":
        return token.mask
    near = [each for each in (before, after) if each]
    if not values.CURRENCIES.isdisjoint([each.raw for each in near]):
        return "money"
    if after and (after.raw in values.PERCENT or after.word == "percent"):
        return "percent"
    if any(each.word in values.MONTHS and each.kind & VALUE for each in near):
        return "date"
    if not before:
        return "number"
    return "" if _names(before) or _counts_off(before, token, last=not after) else "number"


def _counts_off(noun: Token, number: Token, *, last: bool) -> bool:
    """Whether it says which of several is meant: "method two"."""
    ends = last or number.kind & BREAK
    plain = noun.kind & COMMON and not noun.kind & (PREPOSITION | BREAK) and noun.raw not in SAYING
    return bool(ends and plain and number.raw in values.NUMBER_WORDS)


YEAR = re.compile(r"\d{4}")
KEYS = frozenset("code pin password passcode combination".split())


def _is_one_of_several(tokens: list[Token], at: int) -> bool:
    """Whether the value tells which one is meant: "supports Python 3.8", "updated test 1621"."""
    if at < 2:
        return False
    named = tokens[at - 1].kind & WORD and not tokens[at - 1].kind & PREPOSITION
    if named and any(token.raw in SUPPORTING for token in tokens[max(0, at - 4) : at - 1]):
        return True
    return bool(named) and at == 2 and tokens[0].raw in values.CHANGES and tokens[1].raw not in VERSIONS


SUPPORTING = frozenset("support supports supported supporting compatible unterstützt soporta".split())


def _names(before: Token) -> bool:
    return (
        before.raw in values.NAMED_BY_NUMBER or before.word in values.NAMED_BY_NUMBER or before.kind & NAME == CAPITAL
    )
