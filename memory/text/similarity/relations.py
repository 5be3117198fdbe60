"""One way of saying what one thing is to another: what it measures, who runs it, who is married to whom.

Each rule takes the tokens of a statement that has the rule's word and returns them as they are when the statement does
not have its form. The forms chosen are those with a noun: "the pool's length is 25 m", "Ana is the head of sales".
"""

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

from collections.abc import Callable, Sequence

from memory.text.similarity import values, words
from memory.text.similarity.tokens import (
    AND,
    BREAKING,
    CAPITAL,
    NEGATION,
    OWNS,
    PREPOSITION,
    PRONOUN,
    SAID,
    VALUE,
    WORD,
    Token,
    Tokens,
    value_token,
)

Rule = Callable[[list[Token]], list[Token]]
_spelled = Tokens()
IS = frozenset("is are".split())
LONGEST_NAME = 6
DEFINITE = frozenset("the our my your his her their its this".split())
MEASURED_BY = {
    "long": "length", "high": "height", "tall": "height", "wide": "width", "deep": "depth", "thick": "thickness",
    "old": "age", "heavy": "weight", "weighs": "weight", "weigh": "weight", "aged": "age",
}  # fmt: skip
YEARS = frozenset("year years".split())
ROLES = {
    "manages": "manager",
    "leads": "leader",
    "heads": "head",
    "chairs": "chair",
    "directs": "director",
    "coordinates": "coordinator",
    "edits": "editor",
    "maintains": "maintainer",
    "coaches": "coach",
    "conducts": "conductor",
    "supervises": "supervisor",
    "trains": "trainer",
    "organizes": "organizer",
    "moderates": "moderator",
    "represents": "representative",
    "sponsors": "sponsor",
    "captains": "captain",
    "curates": "curator",
    "babysits": "babysitter",
    "tutors": "tutor",
    "mentors": "mentor",
}
# They have one person, or several, and no thing.
IN_CARE = frozenset("babysits tutors mentors coaches trains supervises".split())  # fmt: skip
DEPARTMENTS = frozenset(
    "marketing sales finance accounting engineering purchasing procurement logistics hr payroll production".split()
)
MUTUAL = frozenset("married engaged related identical adjacent friends siblings next".split())
JOINING = frozenset("to with".split())
GOES = {"goes": "s", "travels": "s", "commutes": "s", "gets": "s", "comes": "s"} | {
    "go": "", "travel": "", "commute": "", "get": "", "come": "",
}  # fmt: skip
RIDES = {"car": "drive", "bike": "cycle", "bicycle": "cycle", "foot": "walk", "plane": "fly", "air": "fly"}
THIRD = {"drive": "drives", "cycle": "cycles", "walk": "walks", "fly": "flies"}
IMPERSONAL = frozenset("we they".split())
FINITE = values.COPULAS | words.MODALS | frozenset("was were has have had do does did".split())
MOVED_TO = {
    "gezogen": ("nach", "ist", "wohnt"), "umgezogen": ("nach", "ist", "wohnt"),
    "przeprowadził": ("do", "", "mieszka"), "przeprowadziła": ("do", "", "mieszka"),
    "mudó": ("a", "", "vive"), "mudado": ("a", "ha", "vive"),
    "trasladó": ("a", "", "vive"), "trasladado": ("a", "ha", "vive"), "déménagé": ("à", "a", "habite"),
}  # fmt: skip
REFLEXIVE = frozenset("się se s'est".split())
FIVES = frozenset("5 10 20 25".split())
WORDED_MINUTES = {("half", "past"): 30, ("quarter", "past"): 15, ("quarter", "to"): -15}


def token_of(word: str) -> Token:
    """The token of a word."""
    return _spelled[word][0]


def tokens_of(word: str) -> tuple[Token, ...]:
    """The tokens of a word, which are two where it is of two: "left-handed"."""
    return _spelled[word]


def _words(text: str) -> list[Token]:
    return [token_of(word) for word in text.split()]


def _place(tokens: Sequence[Token], raw: str) -> int:
    return next(at for at, token in enumerate(tokens) if token.raw == raw)


def is_name(tokens: Sequence[Token]) -> bool:
    """Whether all of it is a name with a capital."""
    named = [token for token in tokens if token.kind & SAID]
    return 0 < len(named) == len(tokens) <= LONGEST_NAME and all(token.kind & CAPITAL for token in named)


def is_noun(tokens: Sequence[Token]) -> bool:
    """Whether it may be one thing with what belongs to its name: neither a clause nor a list."""
    if not 0 < len(tokens) <= LONGEST_NAME or not any(token.kind & WORD for token in tokens):
        return False
    stops = BREAKING | NEGATION | AND
    finite = any(token.kind & stops or token.raw in FINITE | values.CONDITIONAL for token in tokens[:-1])
    return not finite and not tokens[-1].kind & NEGATION


def with_clause_end(tokens: list[Token], by: Token) -> list[Token]:
    """With the end of a clause where ``by`` has one, and none before it."""
    inner = [token.without_kind(BREAKING) for token in tokens]
    return [*inner[:-1], inner[-1].with_kind(by.kind & BREAKING)]


def _owning(owner: Sequence[Token], owned: str) -> list[Token]:
    """ "The pool's length"."""
    return [*owner[:-1], owner[-1].with_kind(OWNS), token_of(owned)]


def _measuring(tokens: list[Token]) -> list[Token]:
    """ "The pool is 25 m long", "has a length of 25 m", "weighs 4 kg": "the pool's length is 25 m"."""
    at = next(place for place, token in enumerate(tokens) if token.raw in MEASURED_BY)
    attribute = MEASURED_BY[tokens[at].raw]
    verb = (
        at if tokens[at].raw.startswith("weigh") else next((place for place in range(at) if tokens[place].raw in IS), 0)
    )
    end = len(tokens) if tokens[at].raw in ("weighs", "weigh", "aged") else at
    if at + 1 < len(tokens) and end == at:
        return tokens
    value = tokens[(at if tokens[at].raw == "aged" else verb) + 1 : end]
    if not verb or not value or not value[0].kind & VALUE or len(value) > 3 or not is_noun(tokens[:verb]):
        return tokens
    if attribute == "length" and len(value) == 2 and value[1].raw in LASTING:
        return [*tokens[:verb], token_of("lasts"), *with_clause_end(value, tokens[-1])]
    return [*_owning(tokens[:verb], attribute), token_of("is"), *_of_age(value, attribute, tokens[-1])]


def _of_age(value: list[Token], attribute: str, last: Token) -> list[Token]:
    """The unit of an age, years, may be left out."""
    if attribute == "age" and len(value) == 2 and value[1].raw in YEARS:
        value = value[:1]
    return with_clause_end(value, last)


def _bearing(tokens: list[Token]) -> list[Token]:
    """ "The loan carries a rate of 6 %" is "the loan's rate is 6 %"."""
    at = next(place for place, token in enumerate(tokens) if token.raw in BEARING)
    of = next((place for place in range(at, len(tokens)) if tokens[place].raw == "of"), 0)
    noun, value = tokens[at + 2 : of], tokens[of + 1 :]
    whole = noun and value and value[0].kind & VALUE and tokens[at + 1].raw in ("a", "an", "the")
    if not whole or not is_noun(tokens[:at]) or len(noun) > 3:
        return tokens
    return [*tokens[: at - 1], tokens[at - 1].with_kind(OWNS), *noun, token_of("is"), *value]


BEARING = frozenset("carries bears features boasts earns offers".split())


def _in_office(tokens: list[Token]) -> list[Token]:
    """ "Ana manages the shop" is "Ana is the manager of the shop"."""
    at = next(place for place, token in enumerate(tokens) if token.raw in ROLES)
    what = tokens[at + 1 :]
    now = at > 1 and tokens[at - 1].raw in values.NOW
    who = tokens[: at - now]
    if not is_name(who) or not is_noun(what) or any(token.kind & VALUE for token in what):
        return tokens
    if tokens[at].raw in IN_CARE and (is_name(what) or what[0].raw in DEFINITE):  # others may do so as well
        return [*tokens[:at], *_words(f"is a {ROLES[tokens[at].raw]} of"), *what]
    known = what[0].raw in DEFINITE or what[0].kind & OWNS or (len(what) == 1 and what[0].raw in DEPARTMENTS)
    if not known or (what[-1].raw.endswith("s") and what[-1].raw not in DEPARTMENTS):
        return tokens
    return [*who, *_words("is now the" if now else "is the"), token_of(ROLES[tokens[at].raw]), token_of("of"), *what]


def _reporting(tokens: list[Token]) -> list[Token]:
    """ "Ana reports to Ben" is "Ana's manager is Ben"."""
    at = _place(tokens, "reports")
    to = at and tokens[at + 1 : at + 2] and tokens[at + 1].raw == "to"
    if not to or not is_name(tokens[:at]) or not is_name(tokens[at + 2 :]):
        return tokens
    return [*_owning(tokens[:at], "manager"), token_of("is"), *tokens[at + 2 :]]


def _taking_over(tokens: list[Token]) -> list[Token]:
    """ "Ana took over as treasurer from Ben" is "Ana is now the treasurer"."""
    at = _place(tokens, "over")
    if at < 2 or tokens[at - 1].raw not in ("took", "takes") or not is_name(tokens[: at - 1]):
        return tokens
    if tokens[at + 1 : at + 2] and tokens[at + 1].raw == "as":
        rest = tokens[at + 2 :]
        end = next((place for place, token in enumerate(rest) if token.raw == "from"), len(rest))
        if 0 < end <= LONGEST_NAME:
            role = rest[1:end] if rest[0].raw in words.ARTICLES else rest[:end]
            return [*tokens[: at - 1], *_words("is now the"), *with_clause_end(role, tokens[-1])]
    return tokens


def _replacing(tokens: list[Token]) -> list[Token]:
    """ "Ben replaced Ana as treasurer", and so "Ana was replaced by Ben as treasurer", is "Ben is the treasurer"."""
    at = next(place for place, token in enumerate(tokens) if token.raw in ("replaced", "succeeded"))
    role = next((place for place in range(at, len(tokens)) if tokens[place].raw == "as"), 0)
    what = tokens[role + 1 :]
    what = what[1:] if what and what[0].raw in words.ARTICLES else what
    who = tokens[: at - 1] if at and tokens[at - 1].raw in ("has", "have") else tokens[:at]
    named = role and is_name(who) and is_name(tokens[at + 1 : role])
    return [*who, *_words("is now the"), *what] if named and what else tokens


def _handed_over(tokens: list[Token]) -> list[Token]:
    """ "Ana handed (over) the role of X to Ben", "the role of X went from Ana to Ben": "Ben is now the X"."""
    at = next(place for place, token in enumerate(tokens) if token.raw in HANDING)
    to = next((place for place in range(len(tokens) - 2, at, -1) if tokens[place].raw == "to"), 0)
    whom = tokens[to + 1 :]
    if not to or not is_name(whom):
        return tokens
    if tokens[at].raw in ("went", "passed") and tokens[at + 1 : at + 2] and tokens[at + 1].raw == "from":
        what = tokens[:at]
    else:
        what = [token for token in tokens[at + 1 : to] if token.raw not in ("over", "on", "as")]
        if not is_name([token for token in tokens[:at] if token.raw not in ("has", "have")]):
            return tokens
    what = what[1:] if what and (what[0].raw in words.ARTICLES or what[0].kind & PRONOUN) else what
    of = [token.raw for token in what[:2]]
    if len(of) == 2 and of[0] in OFFICES and of[1] == "of":
        if of[0] == "ownership":
            return [*with_clause_end(whom, token_of("a")), *_words("now owns"), *what[2:]]
        what = what[2:]
    elif "as" not in [token.raw for token in tokens[at + 1 : to]]:
        return tokens  # a thing, not a role: who gave it counts
    if not what or not is_noun(what):
        return tokens
    return [*with_clause_end(whom, token_of("a")), *_words("is now the"), *what]


HANDING = frozenset("handed passed went transferred".split())
OFFICES = frozenset("role job position post office ownership responsibility duties task".split())


def _mutual(tokens: list[Token]) -> list[Token]:
    """ "Ana and Ben are married", "Ben is married to Ana": one order of the two."""
    at = next(place for place, token in enumerate(tokens) if token.raw in MUTUAL)
    if any(token.kind & NEGATION for token in tokens) or at < 2 or tokens[at - 1].raw not in IS:
        return tokens
    before, behind = tokens[: at - 1], tokens[at + 1 :]
    if behind and behind[0].raw in JOINING:
        one, other = before, behind[1:]
        if [token.raw for token in other] == ["each", "other"]:
            behind = []
    if not behind:
        middle = next((place for place, token in enumerate(before) if token.raw == "and"), 0)
        one, other = before[:middle], before[middle + 1 :]
    elif behind[0].raw not in JOINING:
        return tokens
    if not is_noun(one) or not is_noun(other) or any(token.kind & PRONOUN for token in (*one, *other)):
        return tokens
    first, second = sorted((one, other), key=lambda each: [token.word for token in each if token.kind & SAID])
    whole = [*first, token_of("is"), tokens[at], token_of("to"), *second]
    return with_clause_end(whole, tokens[-1])


def _impersonal(tokens: list[Token]) -> list[Token]:
    """ "We hash passwords with X" is "passwords are hashed with X", with the pronoun kept for whose it is."""
    if tokens[0].raw not in IMPERSONAL or len(tokens) < 3 or any(token.kind & NEGATION for token in tokens):
        return tokens
    if tokens[1].raw == "have" and tokens[2].raw.endswith("ed"):  # "we have stored it" is "we stored it" too
        tokens = [tokens[0], *tokens[2:]]
    verb = tokens[1]
    past = verb.raw.endswith("ed") and words.base_of(verb.raw) in TRANSITIVE
    participle = verb.raw if past else _participle(verb.raw)
    if not participle or verb.raw in FINITE or verb.kind & (VALUE | PREPOSITION | PRONOUN):
        return tokens
    end = next(
        (at for at in range(2, len(tokens)) if tokens[at].kind & PREPOSITION or tokens[at].raw in ADVERBIAL),
        len(tokens),
    )
    what = tokens[2:end]
    plural = bool(what) and what[-1].raw.endswith("s") and not what[-1].raw.endswith("ss")
    if end == len(tokens) or not is_noun(what) or any(token.kind & VALUE for token in what):
        return tokens
    if not plural and what[0].raw not in DEFINITE and not is_name(what):
        return tokens
    be = ("were" if plural else "was") if past else ("are" if plural else "is")
    rest = tokens[end:]
    if rest[0].raw == "using":
        rest = [token_of("with"), *rest[1:]]
    ours = any(token.kind & PRONOUN for token in what)
    return [*([] if ours else tokens[:1]), *what, token_of(be), token_of(participle), *rest]


ADVERBIAL = frozenset("using within every daily weekly monthly yearly annually nightly until before after".split())
TRANSITIVE = frozenset(
    """
    ship send store hash encrypt keep back process review test deploy build pack clean check sell rent buy order
    make print publish archive delete answer handle accept charge bill pay update collect measure record track log
    monitor scan sign produce serve teach hold run use write read paint repair deliver invoice translate cook bake
    brew roast recycle import export sync validate verify approve release tag version cache compress format lint
    restart reboot rotate inspect wash water feed lock open close empty refill expect plan schedule offer provide
    recommend support develop design install plant harvest grow employ train maintain renovate supply document
    control supervise organize organise restock sterilize calibrate polish upload download render host manage
    assemble label sort audit restore index
    """.split()
)


def _participle(verb: str) -> str:
    if verb not in TRANSITIVE:
        return ""
    for participle, past in words.PARTICIPLES.items():
        if words.BASES.get(past) == verb:
            return participle
    if verb in ("run", "read"):
        return verb
    if verb.endswith("e"):
        return verb + "d"
    if verb[-1] == "y" and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return verb + verb[-1] + "ed" if verb in ("ship", "scan", "log", "tag") else verb + "ed"


def _ordered(tokens: list[Token]) -> list[Token]:
    """ "The key must be left here" is "leave the key here", an order, and "keys can be lost" is "can lose keys"."""
    at = next(place for place, token in enumerate(tokens) if token.raw in PASSIVE_AFTER)
    be = at + 1 + (tokens[at + 1 : at + 2] != [] and bool(tokens[at + 1].kind & NEGATION))
    if be + 1 >= len(tokens) or tokens[be].raw != "be" or not is_noun(tokens[:at]) or _has(tokens, "by"):
        return tokens
    participle = tokens[be + 1].raw
    past = words.PARTICIPLES.get(participle, participle)
    base = words.BASES.get(past) or IRREGULAR_BASES.get(past) or words.base_of(participle)
    if not base or any(token.kind & PRONOUN for token in tokens[:at]):
        return tokens
    modal = tokens[at:be] if tokens[at].raw in ("can", "may") else tokens[at + 1 : be]
    return with_clause_end([*modal, token_of(base), *tokens[:at], *tokens[be + 2 :]], tokens[-1])


PASSIVE_AFTER = frozenset("must should can may".split())
IRREGULAR_BASES = {"left": "leave", "cut": "cut", "put": "put", "set": "set", "read": "read", "shut": "shut"}


def _due(tokens: list[Token]) -> list[Token]:
    """ "The essay is due on 4 May" is "the deadline for the essay is 4 May"."""
    at = _place(tokens, "due")
    when = tokens[at + 1 :]
    when = when[1:] if when and when[0].raw in ("on", "by") else when
    dated = when and when[0].kind & VALUE and len(when) <= 3 and not any(token.kind & PREPOSITION for token in when)
    if at < 2 or tokens[at - 1].raw not in IS or not dated or not is_noun(tokens[: at - 1]):
        return tokens
    return [*_words("the deadline for"), *tokens[: at - 1], token_of("is"), *when]


def _lasting(tokens: list[Token]) -> list[Token]:
    """ "The course takes 3 weeks", "runs for 3 weeks": "lasts 3 weeks"."""
    at = next(place for place, token in enumerate(tokens) if token.raw in ("takes", "runs"))
    span = tokens[at + 1 :]
    if span and span[0].raw == "for":
        span = span[1:]
    elif tokens[at].raw == "runs":
        return tokens
    timed = 1 < len(span) <= 5 and span[-1].raw in LASTING
    timed = timed and all(token.kind & VALUE or token.raw in BETWEEN for token in span[:-1])
    return [*tokens[:at], token_of("lasts"), *span] if at and timed and is_noun(tokens[:at]) else tokens


BETWEEN = frozenset("from between to and".split())
LASTING = frozenset(
    f"{span}{end}" for span in ("second", "minute", "hour", "day", "week", "month", "year") for end in ("", "s")
)


def _has(tokens: Sequence[Token], raw: str) -> bool:
    return any(token.raw == raw for token in tokens)


def _included(tokens: list[Token]) -> list[Token]:
    """ "A cable is included in the box" is "the box includes a cable"."""
    at = _place(tokens, "included")
    within = at > 1 and tokens[at - 1].raw in IS and tokens[at + 1 : at + 2] and tokens[at + 1].raw in ("in", "with")
    what, where = tokens[: at - 1], tokens[at + 2 :]
    if not within or not is_noun(what) or not is_noun(where) or any(token.kind & NEGATION for token in tokens):
        return tokens
    return with_clause_end([*where, token_of("includes"), *what], tokens[-1])


def _on_the_clock(tokens: list[Token]) -> list[Token]:
    """ "Half past seven" is 7:30."""
    for at in range(len(tokens) - 2):
        minutes = WORDED_MINUTES.get((tokens[at].raw, tokens[at + 1].raw))
        if minutes is None and at and tokens[at - 1].raw == "at" and tokens[at].word in FIVES:
            minutes = {"to": -int(tokens[at].word), "past": int(tokens[at].word)}.get(tokens[at + 1].raw)
        hour = tokens[at + 2]
        if minutes is not None and hour.kind & VALUE and hour.word.isdecimal() and 0 < int(hour.word) <= 12:
            total = int(hour.word) * 60 + minutes
            time = value_token(f"{total // 60}:{total % 60:02}", f"{total // 60}:{total % 60:02}", "time")
            start = at - (at > 0 and tokens[at - 1].raw == "a")
            return [*tokens[:start], time.with_kind(hour.kind & BREAKING), *tokens[at + 3 :]]
    return tokens


def _riding(tokens: list[Token]) -> list[Token]:
    """ "Goes to work by car" is "drives to work"."""
    at = len(tokens) - 2
    if at < 2 or tokens[-1].raw not in RIDES or tokens[at].raw not in ("by", "on"):
        return tokens
    verb = next((place for place, token in enumerate(tokens[:at]) if token.raw in GOES), 0)
    if not verb or (tokens[at].raw == "on") != (tokens[-1].raw == "foot"):
        return tokens
    rides = RIDES[tokens[-1].raw]
    form = THIRD[rides] if GOES[tokens[verb].raw] else rides
    where = tokens[verb + 1 : at]
    if not where and tokens[verb].raw.startswith("commute"):
        where = _words("to work")
    return with_clause_end([*tokens[:verb], token_of(form), *where], tokens[-1]) if where else tokens


def _moved_abroad(tokens: list[Token]) -> list[Token]:
    """ "Ist nach Wien gezogen" is "wohnt jetzt in Wien"; so in Polish, Spanish and French."""
    at = next(place for place, token in enumerate(tokens) if token.raw in MOVED_TO)
    to, have, lives = MOVED_TO[tokens[at].raw]
    kept = [token for place, token in enumerate(tokens) if place != at and token.raw not in REFLEXIVE]
    where = next((place for place, token in enumerate(kept) if token.raw == to), 0)
    start = next((place for place, token in enumerate(kept) if have and token.raw == have), where)
    if not 0 < start <= where < len(kept) - 1:
        return tokens
    within = {"wohnt": "in", "mieszka": "w", "vive": "en", "habite": "à"}[lives]
    now = {"wohnt": "jetzt", "mieszka": "teraz", "vive": "ahora", "habite": "maintenant"}[lives]
    return with_clause_end(
        [*kept[:start], token_of(lives), token_of(now), token_of(within), *kept[where + 1 :]], tokens[-1]
    )


def _switched_as(tokens: list[Token]) -> list[Token]:
    """ "Ana switched to X as her editor" is "Ana's editor is now X"; "switched to dark mode" is "now prefers" it."""
    at = _place(tokens, "switched")
    role = next((place for place in range(at, len(tokens)) if tokens[place].raw == "as"), 0)
    value, what = tokens[at + 2 : role], tokens[role + 1 :]
    active = at and tokens[at - 1].raw not in FINITE
    kind = not role and active and tokens[at + 1 : at + 2] and tokens[at + 1].raw == "to"
    if kind and any(token.raw in values.KINDS_OF_PREFERENCE for token in tokens[at + 2 :]) and is_noun(tokens[:at]):
        return [*tokens[:at], *_words("now prefers"), *tokens[at + 2 :]]
    if not role or not 0 < len(value) <= 3 or tokens[at + 1].raw != "to" or not what or not is_noun(tokens[:at]):
        return tokens
    what = what[1:] if what[0].kind & PRONOUN or what[0].raw in words.ARTICLES else what
    if not what or not is_noun(what):
        return tokens
    owner = [*tokens[: at - 1], tokens[at - 1].with_kind(OWNS)]
    plain = [token.without_kind(BREAKING) for token in what]
    return [*owner, *plain, *_words("is now"), *value]


def _active_in_german(tokens: list[Token]) -> list[Token]:
    """ "Die Kasse wird freitags von Ana geprüft" is "Ana prüft freitags die Kasse"; of weak verbs alone."""
    be = next(place for place, token in enumerate(tokens) if token.raw in ("wird", "wurde"))
    by = next((place for place in range(be, len(tokens)) if tokens[place].raw == "von"), 0)
    done, between, doer, step = tokens[:be], tokens[be + 1 : by], tokens[by + 1 : -1], tokens[-1].raw
    if not by or not done or not is_name(doer) or not step.endswith("t") or len(step) < SHORTEST_STEP:
        return tokens
    stem = step.removeprefix("ge")
    verb = token_of(stem if tokens[be].raw == "wird" else f"{stem}e")
    return with_clause_end([*doer, verb, *between, *done], tokens[-1])


SHORTEST_STEP = 5


def _made_by(tokens: list[Token]) -> list[Token]:
    """ "Ana is the author of the book" is "Ana wrote the book"."""
    at = next(place for place, token in enumerate(tokens) if token.raw in MAKERS)
    before = [token.raw for token in tokens[at - 2 : at]]
    made = at > 2 and before[0] in IS and before[1] == "the" and tokens[at + 1 : at + 2] and tokens[at + 1].raw == "of"
    if not made or not is_name(tokens[: at - 2]) or not is_noun(tokens[at + 2 :]):
        return tokens
    return [*tokens[: at - 2], token_of(MAKERS[tokens[at].raw]), *tokens[at + 2 :]]


MAKERS = {
    "author": "wrote", "founder": "founded", "inventor": "invented", "creator": "created", "composer": "composed",
    "designer": "designed", "discoverer": "discovered", "builder": "built", "painter": "painted",
}  # fmt: skip


def _doing(tokens: list[Token]) -> list[Token]:
    """ "Ana is a physics teacher" is "Ana teaches physics"."""
    at = next((place for place, token in enumerate(tokens) if token.raw in DOERS and place > 3), 0)
    rest = tokens[at + 1 :]
    if rest and (rest[0].raw not in ("at", "in") or tokens[at].kind & BREAKING):
        return tokens
    if not at or tokens[at - 2].raw not in ("a", "an") or tokens[at - 3].raw != "is":
        return tokens
    what = tokens[at - 1]
    if not is_name(tokens[: at - 3]) or not what.kind & WORD or what.raw in NO_OBJECTS or what.kind & CAPITAL:
        return tokens
    manner = words.manner(what.raw)
    if not manner and tokens[at].raw in MANNERLY:
        return tokens
    if not manner and tokens[at].raw in OF_MANY:
        what = token_of(words.third_person(what.raw))
    doing = token_of(DOERS[tokens[at].raw])
    return with_clause_end([*tokens[: at - 3], doing, token_of(manner) if manner else what, *rest], tokens[-1])


DOERS = {
    "teacher": "teaches", "driver": "drives", "player": "plays", "breeder": "breeds", "collector": "collects",
    "grower": "grows", "importer": "imports", "exporter": "exports", "tester": "tests", "runner": "runs",
    "sleeper": "sleeps", "eater": "eats", "writer": "writes", "reader": "reads", "learner": "learns",
    "speaker": "speaks", "singer": "sings", "dancer": "dances", "swimmer": "swims",
    "smoker": "smokes", "drinker": "drinks",
}  # fmt: skip
# Who does it so: "a light sleeper"; and who does it with many: "a truck driver".
MANNERLY = frozenset("sleeper eater writer reader learner speaker singer dancer swimmer smoker drinker".split())
OF_MANY = frozenset("driver runner breeder".split())
NO_OBJECTS = frozenset("bad great new old former full-time part-time school primary private key team racing".split())


def _owned(tokens: list[Token]) -> list[Token]:
    """ "The owner of the van is Ana" and "owner of the van = Ana" is "Ana owns the van"."""
    at = _place(tokens, "owner")
    verb = next((place for place, token in enumerate(tokens) if token.raw in ("is", "=")), 0)
    of = at <= 1 and verb > at + 2 and tokens[at + 1].raw == "of"
    if not of or not is_name(tokens[verb + 1 :]) or not is_noun(tokens[at + 2 : verb]):
        return tokens
    return with_clause_end([*tokens[verb + 1 :], token_of("owns"), *tokens[at + 2 : verb]], tokens[-1])


def _named_last(tokens: list[Token]) -> list[Token]:
    """ "Carmen es la directora" is "la directora es Carmen", and "unser Wirt heisst Ben" is "unser Wirt ist Ben"."""
    at = next(place for place, token in enumerate(tokens) if token.raw in COPULAS_ABROAD)
    copula = token_of("ist") if tokens[at].raw == "heisst" else tokens[at]
    name, what = tokens[:at], tokens[at + 1 :]
    if is_name(what):
        return [*name, copula, *what]
    known = len(what) > 1 and what[0].raw in DEFINITE_ABROAD and not is_name(what[:1])
    if not known or not is_name(name) or not is_noun(what):
        return tokens
    return with_clause_end([*what, copula, *name], tokens[-1])


COPULAS_ABROAD = frozenset("es ist est jest heisst".split())
DEFINITE_ABROAD = frozenset("la el unser unsere mein meine der die das le notre mon ma il mi nuestro nuestra".split())


# By the word without which there is no such form.
RELATIONS: dict[str, Rule] = {
    **dict.fromkeys(MEASURED_BY, _measuring),
    **dict.fromkeys(ROLES, _in_office),
    **dict.fromkeys(MUTUAL, _mutual),
    **dict.fromkeys(MOVED_TO, _moved_abroad),
    **dict.fromkeys(PASSIVE_AFTER, _ordered),
    **dict.fromkeys(("takes", "runs"), _lasting),
    "due": _due,
    **dict.fromkeys(BEARING, _bearing),
    **dict.fromkeys(("wird", "wurde"), _active_in_german),
    **dict.fromkeys(("half", "quarter", "past"), _on_the_clock),
    **dict.fromkeys(RIDES, _riding),
    **dict.fromkeys(IMPERSONAL, _impersonal),
    "reports": _reporting,
    "over": _taking_over,
    **dict.fromkeys(("replaced", "succeeded"), _replacing),
    **dict.fromkeys(HANDING, _handed_over),
    "included": _included,
    "switched": _switched_as,
    **dict.fromkeys(MAKERS, _made_by),
    **dict.fromkeys(DOERS, _doing),
    "owner": _owned,
    **dict.fromkeys(COPULAS_ABROAD, _named_last),
}
