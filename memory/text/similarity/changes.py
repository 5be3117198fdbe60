"""What a statement says against another one: that it does not hold, or that a former value no longer does.

Either is found by the words of the other statement: each statement has a bag of its words, and one that denies or
changes something has the bags of what it is against. Reported speech, questions, suppositions and promises are against
nothing.
"""

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

from memory.text.similarity import values
from memory.text.similarity.gist import clauses_of, in_order, meant, without_time
from memory.text.similarity.ordering import parts_of
from memory.text.similarity.phrasing import rephrased
from memory.text.similarity.statements import Spoken
from memory.text.similarity.tokens import (
    ASKS,
    BITS,
    BREAKING,
    CAPITAL,
    COMMON,
    DIRECTION,
    END,
    HAPPENS,
    NEGATION,
    PAST,
    PREPOSITION,
    PRONOUN,
    REPLACES,
    SAID,
    VALUE,
    WORD,
    Token,
    code_of,
    word_token,
)
from memory.text.similarity.words import MODALS, PARTICIPLES, TIMES, is_undone, third_person

DENIALS = frozenset({"not", "no", "never"})
DO = frozenset(("do", "does"))
# With a negation these say when it began to hold, or nothing.
BESIDE = frozenset("longer anymore yet any ever either".split())
SALT, BEGUN, VERBLESS = code_of("bag"), code_of("bag of a beginning"), code_of("bag without its verb")
MOST_PARTS = 3
# "No longer" in English, German, Spanish, French and Polish, in whatever order and distance.
OVER = tuple(
    frozenset(pair.split("/"))
    for pair in "no/longer not/longer not/anymore not/more nicht/mehr kein/mehr keine/mehr keinen/mehr keiner/mehr "
    "ya/no n'/plus ne/plus już/nie".split()
)
FORBIDDEN = frozenset(("is", "forbidden"))  # "calling before 9 is forbidden" denies "call before 9"
OVER_WORDS = frozenset(word for pair in OVER for word in pair if word != "not")
NO_FACT = values.REPORTING | values.CONDITIONAL
WENT = frozenset(("went", "came"))
LONGEST = 24
FEW = 4
# Verbs and nouns that an older statement may have where the newer one speaks of the change, or another one.
LIGHT = frozenset(
    word_token(word).concept
    for word in """
    live base work use run happen cost sit meet start open close store keep member belong part subscribe drive drink
    send serve train play study teach manage handle employ customer client rent stay provider supplier supply vendor
    tool go get contact provide see visit attend take sell hold offer
    come goes rehearse air gather appear manager maintainer coordinator supervisor leader head responsible lead
    maintain coordinate supervise
    """.split()
)
SORTS_OF_VALUE = ("plan", "tier", "day", "date", "time", "level", "version", "price", "address", "city", "office")
INSTEAD = {"instead": "of", "rather": "than"}
MOST_IN_A_VALUE, LONGEST_ROLE = 3, 5


@dataclass(frozen=True, slots=True)
class Against:
    """``keys`` are bags; ``denied`` when the statement says that one of these does not hold, or holds after all."""

    keys: tuple[int, ...]
    denied: bool
    rest: tuple[Token, ...]
    is_part: bool = False
    none_of: int = 0  # the concept behind "no"


def bag_of(said: Spoken) -> int:
    """The same for statements of the same words, whatever their order and number; 0 for one that takes no part."""
    if said.strict or said.kinds & ASKS or len(said.tokens) > LONGEST:
        return 0
    return _sum(said.tokens) if _says_enough(said.tokens) or _is_bare(said.tokens) else 0


def _is_bare(tokens: Sequence[Token]) -> bool:
    """Whether it is no more than who or what does it: "the heating works"."""
    said = [token.concept for token in tokens if token.kind & SAID]
    return len(tokens) <= FEW and len(said) > 1 and said[-1] in LIGHT


def _says_enough(tokens: Sequence[Token]) -> bool:
    """Whether it has more than one word, or value, that may identify it."""
    return len({token.concept for token in tokens if token.kind & (SAID | PRONOUN)} - LIGHT) > 1


def _sum(tokens: Sequence[Token]) -> int:
    light = [at for at, token in enumerate(tokens) if token.concept in LIGHT]
    out = {at + 1 for at in light if tokens[at + 1 : at + 2] and tokens[at + 1].raw == "out"}  # "goes out on Mondays"
    kept = [each.concept for at, each in enumerate(tokens) if each.kind & SAID and at not in out and at not in light]
    return sum(kept, SALT) & BITS


def parts_of_bag(said: Spoken) -> list[int]:
    """The bags of its beginnings, each up to a phrase that may be left out: "Ana smokes" of "Ana smokes a pack"."""
    if said.strict or said.kinds & (ASKS | NEGATION) or len(said.tokens) > LONGEST:
        return []
    found: list[int] = []
    total, count = BEGUN, 0
    for token in said.tokens:
        loose = (
            token.kind & (PREPOSITION | DIRECTION)
            or token.raw in ("a", "an")
            or token.raw in TIMES
            or token.kind & VALUE
        )
        if loose and count > 1 and total not in found[-1:]:
            found.append(total & BITS)
        if token.kind & SAID and token.concept not in LIGHT:
            total, count = total + token.concept, count + bool(token.concept)
    verb = _verb(said.tokens)
    rest = [*said.tokens[:verb], *said.tokens[verb + 1 :]]
    return found[:MOST_PARTS] + ([(_sum(rest) + VERBLESS - SALT) & BITS] if verb and _says_enough(rest) else [])


def _verb(tokens: list[Token]) -> int:
    """The place of a verb in the present behind its subject, in front of a preposition: "grow" in "beans grow in"."""
    for at, (before, token, follows) in enumerate(zip(tokens, tokens[1:], tokens[2:], strict=False), 1):
        if token.kind & (PREPOSITION | PAST | HAPPENS | BREAKING) or before.kind & PREPOSITION:
            return 0
        ends = [each.raw.endswith("s") and not each.raw.endswith("ss") for each in (before, token)]
        plain = token.kind & (WORD | CAPITAL | VALUE) == WORD and before.kind & (WORD | PRONOUN)
        if plain and ends[0] != ends[1] and follows.kind & (PREPOSITION | VALUE):
            return at
    return 0


def against(said: Spoken) -> list[Against]:
    """What the statement is against, or one of its clauses is."""
    clauses = clauses_of(said)
    if len(clauses) > 1:
        return [replace(each, is_part=True) for clause in clauses for each in against(clause)]
    if said.strict or said.kinds & ASKS or len(said.tokens) > LONGEST:
        return []
    raws = {token.raw for token in said.tokens}
    if raws & values.REPORTING:
        return []
    found = []
    rest = _over(said.tokens, raws)
    if rest:
        rest = rephrased(rest, reduce(or_, [token.kind for token in rest]))
        found.append(Against((_sum(rest), (_sum(rest) + BEGUN - SALT) & BITS), True, tuple(rest)))
    elif said.kinds & NEGATION and not said.kinds & PAST and not raws & values.CONDITIONAL:
        found += _denied(said.tokens)
    elif raws >= FORBIDDEN and not said.kinds & (NEGATION | PAST) and not raws & values.CONDITIONAL:
        rest = [token for token in said.tokens if token.raw not in FORBIDDEN]
        found += [Against((_sum(rest),), True, tuple(rest))] if any(token.kind & WORD for token in rest) else []
    elif said.kinds & REPLACES and not said.kinds & PAST and not raws & values.CONDITIONAL:
        found += _undone(said.tokens)
    if said.kinds & (REPLACES | NEGATION) or "from" in raws:
        for rest in _former(without_time(said.tokens)):
            keys = _keys(rest)
            begun = {(key + BEGUN - SALT) & BITS for key in keys} if (ENDING | REPLACED) & raws else set()
            begun |= {(key + VERBLESS - SALT) & BITS for key in keys} if "from" in raws else set()
            found.append(Against(tuple(sorted(keys | begun)), False, tuple(rest)))
    return found


def _over(tokens: list[Token], raws: set[str]) -> list[Token]:
    """The statement that is said to be so no longer; empty for none."""
    if OVER_WORDS.isdisjoint(raws):
        return []
    said = raws | {"not"} if "not" in map(_spelled, tokens) else raws
    pair = next((pair for pair in OVER if pair <= said), None)
    if not pair or raws & (values.CONDITIONAL - {"once"}):
        return []
    instead = next((at for at, token in enumerate(tokens) if token.raw in ("but", "sondern", "sino")), len(tokens))
    rest = [token for token in tokens[:instead] if not (_spelled(token) in pair or token.raw in BESIDE)]
    return rest if any(token.kind & WORD for token in rest) else []


def _spelled(token: Token) -> str:
    return "not" if token.kind & NEGATION and token.word == "not" else token.raw


def _denied(tokens: list[Token]) -> list[Against]:
    """The statement without its one negation."""
    places = [at for at, token in enumerate(tokens) if token.kind & NEGATION]
    if len(places) != 1 or tokens[places[0]].word not in DENIALS or _is_a_heading(tokens):
        return []
    none_of = next((token.concept for token in tokens[places[0] + 1 :] if token.kind & SAID), 0)
    none_of = none_of if tokens[places[0]].word == "no" else 0
    rest = tuple(token for token in tokens if not token.kind & NEGATION and token.raw not in BESIDE)
    if not any(token.kind & WORD for token in rest):
        return []
    held = _held(tokens, places[0])
    worded = rephrased(held, reduce(or_, [token.kind for token in held]))
    forms = [rest] if worded is held else [rest, worded]
    return [Against((_sum(each),), True, tuple(each), none_of=none_of) for each in forms]


def _undone(tokens: list[Token]) -> list[Against]:
    """ "Is unmaintained" denies that it is maintained."""
    at = next((at for at in range(1, len(tokens)) if is_undone(tokens[at].raw)), 0)
    if not at or tokens[at - 1].raw not in values.COPULAS or sum(bool(token.kind & REPLACES) for token in tokens) > 1:
        return []
    done = word_token(tokens[at].raw[2:]).with_kind(tokens[at].kind & BREAKING)
    rest = (*tokens[:at], done, *tokens[at + 1 :])
    return [Against((_sum(rest),), True, rest)]


def _is_a_heading(tokens: list[Token]) -> bool:
    """Whether it names things that somebody does something to, as "things I don't want to see" does."""
    first, second = (*tokens, tokens[-1])[:2]
    several = first.raw.endswith("s") or first.raw in OF_SEVERAL
    return several and bool(first.kind & COMMON and second.kind & PRONOUN and not first.kind & BREAKING)


OF_SEVERAL = frozenset("people men women children everything everyone something someone what".split())


def _held(tokens: list[Token], place: int) -> list[Token]:
    """What is denied as it would be said: "Ana takes care of it" for "Ana does not take care of it"."""
    before, after = tokens[:place], tokens[place + 1 :]
    named = bool(before and before[-1].kind & CAPITAL)  # "Ana not lead the team" is read in "is not led by Ana"
    if after and before and (named or before[-1].raw in DO):
        if after[0].kind & WORD and (named or before[-1].raw == "does"):
            after = [word_token(third_person(after[0].raw)).with_kind(after[0].kind & BREAKING), *after[1:]]
        before = before if named else before[:-1]
    return [*before, *after] or tokens


def _former(tokens: list[Token]) -> Iterator[list[Token]]:
    """The statement as it was: "changed from A to B" with A, "B instead of A" and "B, not A" with A for B,
    "X was revoked" with X."""
    raws = [token.raw for token in tokens]
    changed = next((at for at, raw in enumerate(raws) if raw in MOVED or (at and _is_moved(raws, at))), 0)
    if changed and "from" in raws[changed:]:
        start = raws.index("from", changed) + 1
        end = next(
            (at for at in range(start, len(raws)) if raws[at] in TO or tokens[at - 1].kind & BREAKING), len(raws)
        )
        if 0 < end - start <= MOST_IN_A_VALUE and any(raw in TO for raw in raws[changed:]):
            what = [token for token in tokens[changed + 1 : start - 1] if token.raw != "over"]
            former = [*tokens[:changed], *what, *tokens[start:end]]
            yield [*former, *tokens[_after_new(raws, end) :]]
            if len(raws) == end + 3 and not tokens[-1].kind & (VALUE | CAPITAL):  # "from monthly to yearly billing"
                yield [*former, tokens[-1]]
    revoked = next((at for at in range(2, len(raws)) if raws[at] in REVOKED and raws[at - 1] in BEEN), 0)
    if revoked:
        yield tokens[:revoked]
    away = next((at for at in range(2, len(raws) - 1) if raws[at] in SENT_AWAY and raws[at + 1] in ("by", "from")), 0)
    been = next((at for at in range(1, away) if raws[at] in BEEN), 0)
    if been and away - been <= 2:
        yield [*tokens[:been], *tokens[away + 2 :]]
    replaced = next((at for at in range(2, len(raws) - 1) if raws[at] in REPLACED and raws[at - 1] in BEEN), 0)
    if replaced and raws[replaced + 1] in ("by", "with"):
        start = next((at for at in range(replaced) if tokens[at].raw in BEEN | {"has", "have"}), replaced)
        tail = tokens[_after_new(raws, replaced) :]
        if any(token.kind & SAID for token in tail):
            yield [*tokens[:start], *tail]
    for at, raw in enumerate(raws[:-1]):
        if raw in ENDING and at and tokens[at + 1].kind & WORD and raws[at + 1].endswith("ing"):
            yield from ([*tokens[:at], verb, *tokens[at + 2 :]] for verb in _verbs(raws[at + 1]))
            if len(tokens) == at + 4 and tokens[at + 2].kind & PREPOSITION and tokens[-1].kind & (VALUE | CAPITAL):
                # "quit smoking at Easter"
                yield from ([*tokens[:at], verb] for verb in _verbs(raws[at + 1]))
        elif raw in LEAVING and at and raws[at + 1] == "as" and len(raws) <= at + 2 + LONGEST_ROLE:
            yield [*tokens[:at], *tokens[at + 2 :]]
        elif raw in LEAVING and at and raws[at + 1 : at + 3] == ["support", "for"]:
            yield [*tokens[:at], tokens[at + 1], *tokens[at + 3 :]]
        elif raw in LEAVING and at:
            start = at + 2 if raws[at + 1] == "from" else at + 1
            end = next(
                (place for place in range(start, len(raws)) if raws[place] in ("with", "by", "and", "for")), len(raws)
            )
            if 0 < end - start <= MOST_IN_A_VALUE:
                yield [*tokens[:at], *tokens[start:end]]
                tail = tokens[_after_new(raws, at) :]
                if raw in REPLACED and any(token.kind & SAID for token in tail):
                    yield [*tokens[start:end], *tail]
    yield from _handed(tokens, raws)
    for at in range(1, len(tokens)):
        size = 1 if tokens[at].word == "not" else 0
        size = 2 if raws[at] in INSTEAD and raws[at + 1 : at + 2] == [INSTEAD[raws[at]]] else size
        if not size:
            continue
        after, tail = _phrase(tokens[at + size :])
        if size == 1 and not tokens[at - 1].kind & BREAKING:
            continue
        before = [place for place in range(at) if tokens[place].kind & SAID][-len(after) :]
        if after and len(after) == len(before) <= 2 and at > len(after):
            kept = [token for place, token in enumerate(tokens[:at]) if place not in before]
            kept = [token for token in kept if token.raw not in MODALS]
            if kept and kept[-1].kind & END and not all(tokens[place].kind & (VALUE | CAPITAL) for place in before):
                continue  # "manager: Ben, not Ana", but not "error: expecting A instead of B"
            yield [token for token in kept if token.raw not in values.DROPPED] + after + tail


def _is_moved(raws: list[str], at: int) -> bool:
    """Whether a thing is elsewhere since: "was transplanted", of which no copy is left, as of what was translated."""
    done = raws[at].endswith("ed") or raws[at] in PARTICIPLES
    return done and raws[at - 1] in BEEN and raws[at] not in LEAVING_A_COPY


LEAVING_A_COPY = frozenset(
    """
    translated converted copied exported imported forwarded delivered invited quoted cited called phoned mailed emailed
    measured raised timed asked needed used required tested promised offered sent taken read known seen told brought
    taught bought flown
    """.split()
)


def _handed(tokens: list[Token], raws: list[str]) -> Iterator[list[Token]]:
    """Who had what "Ana handed X over to Ben", and what "Ben took over X from Ana": with Ana in front of X."""
    over = next((at for at, raw in enumerate(raws) if raw in ("over", "on")), 0)
    if not over or not WHILE.isdisjoint(raws):
        return
    verb = next((at for at in range(1, len(raws)) if raws[at] in HANDED), 0)
    to = next((at for at in range(verb, len(raws)) if raws[at] == "to"), 0)
    if 0 < verb < over < to:
        yield [*_without_has(tokens[:verb]), *(each for at, each in enumerate(tokens) if verb < at < to and at != over)]
    start = next((at for at in range(over, len(raws) - 1) if raws[at] == "from"), 0)
    if raws[over - 1] in ("took", "taken") and over + 1 < start:
        end = next((at for at in range(start + 1, len(raws)) if not tokens[at].kind & CAPITAL), len(raws))
        yield [*tokens[start + 1 : end], *tokens[over + 1 : start]]


def _without_has(tokens: list[Token]) -> list[Token]:
    return [token for token in tokens if token.raw not in ("has", "have")]


HANDED = frozenset("handed passed turned transferred".split())
# For a time alone.
WHILE = frozenset("while during until till temporarily for".split())


def _after_new(raws: list[str], to: int) -> int:
    """Where what follows the new value begins: "for notes" of "to Notion for notes"."""
    return next((at for at in range(to + 1, len(raws)) if raws[at] in ("for", "in", "at", "on", "as")), len(raws))


def opposite(what: Against, other: Spoken) -> bool:
    """Whether the other says the very thing that is denied, in an order that says the same, or that and more."""
    if other.kinds & (NEGATION | PAST) or not NO_FACT.isdisjoint([token.raw for token in other.tokens]):
        return False
    persons = [{token.code for token in each if token.kind & PRONOUN} for each in (what.rest, other.tokens)]
    if persons[0] != persons[1]:
        return False
    one, two = (meant(each) for each in (what.rest, other.tokens))
    if _is_done_there(what.rest, other.tokens) or (what.none_of and _lead(one, what) != _lead(two, what)):
        return False
    shown = [[token.code for token in each if token.kind & SAID and token.code] for each in (one, two)]
    return shown[0] == shown[1][: len(shown[0])] or in_order(one, two)


def _is_done_there(rest: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether what is not done is, in the other, told to be done: "not implemented", "implement"."""
    at = next((at + 1 for at, token in enumerate(other[:-1]) if token.kind & END), 0)
    told = other[at]
    return not told.raw.endswith("ed") and any(
        token.concept == told.concept and token.raw != told.raw and token.raw.endswith("ed") for token in rest
    )


def _lead(tokens: Sequence[Token], what: Against) -> str:
    """The preposition in front of what there is none of: "no CRC" is not against "in CRC"."""
    return next((part.lead for part in parts_of(tokens, SAID) if part.code == what.none_of), "")


def is_an_event(said: Spoken) -> bool:
    """Whether somebody went somewhere, or did something, which stays so when they have left again."""
    pairs = zip(said.tokens, said.tokens[1:], strict=False)
    return any(token.raw in WENT for token in said.tokens) or any(
        token.kind & HAPPENS and before.kind & (WORD | PRONOUN) and not before.kind & PREPOSITION
        for before, token in pairs
    )


def _phrase(tokens: list[Token]) -> tuple[list[Token], list[Token]]:
    """What is said up to the next preposition, and the rest."""
    end = next((at for at, token in enumerate(tokens) if at and token.kind & PREPOSITION), len(tokens))
    return [token for token in tokens[:end] if token.kind & SAID], tokens[end:]


MOVED = values.CHANGES | values.MOVES | {"switched", "upgraded", "downgraded", "handed", "passed"}
ENDING = frozenset("stopped quit ceased finished".split())
LEAVING = frozenset(
    """
    left quit replaced dropped abandoned resigned discontinued scrapped abolished axed ditched unsubscribed unfollowed
    uninstalled withdrew swapped exchanged traded
    """.split()
)
BEEN = frozenset("was were been".split())
REPLACED = frozenset("replaced succeeded superseded swapped exchanged traded".split())
REVOKED = frozenset(
    "revoked withdrawn terminated dissolved removed lifted discontinued scrapped abolished axed".split()
)
# Who is no longer with whom: "was laid off by Lindt".
SENT_AWAY = frozenset("fired dismissed sacked expelled removed discharged off".split())


def _verbs(going: str) -> Iterator[Token]:
    """What a form in -ing may be of."""
    stem = going[:-3]
    for verb in sorted({stem, f"{stem}e", stem[:-1] if stem[-1:] == stem[-2:-1] else stem}):
        yield word_token(verb)


TO = frozenset({"to", "into"})
_SORTS = {word: word_token(word).concept for word in SORTS_OF_VALUE}


def _keys(rest: list[Token]) -> set[int]:
    """The bags of it, with and without a noun that may be missing."""
    if not any(token.kind & (WORD | CAPITAL) for token in rest) or not _says_enough(rest):
        return set()
    whole = _sum(rest)
    given = {(whole - _SORTS[token.word]) & BITS for token in rest if token.word in _SORTS}
    return {whole, *(given or {(whole + sort) & BITS for sort in _SORTS.values()})}
