"""What a statement says against another one: that it does not hold, or that a former value no longer does.

Either is found by the words of the other statement: each statement has a bag of its words, and one that denies or
changes something has the bags of what it is against. Reported speech, questions, suppositions and promises are against
nothing.
"""

# ruff: noqa: SIM905 -- a list of words is read as words, without quotes

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memory.text.similarity import values
from memory.text.similarity.ordering import same_order
from memory.text.similarity.statements import Spoken
from memory.text.similarity.tokens import (
    ASKS,
    BITS,
    BREAKING,
    CAPITAL,
    NEGATION,
    PAST,
    PREPOSITION,
    PRONOUN,
    REPLACES,
    SAID,
    WORD,
    Token,
    code_of,
    word_token,
)
from memory.text.similarity.words import MODALS

DENIALS = frozenset({"not", "no", "never"})
# With a negation these say when it began to hold, or nothing.
BESIDE = frozenset("longer anymore yet any ever either".split())
SALT = code_of("bag")
LONGEST = 24
# The verb or the noun that the older statement may have had where the newer one speaks of the change.
STATIVE = ("", *"live reside base locate work use run happen occur cost sit meet start begin open close".split())
SORTS_OF_VALUE = ("plan", "tier", "day", "date", "time", "level", "version", "price", "address", "city", "office")
INSTEAD = (("instead", "of"), ("rather", "than"))
MOST_IN_A_VALUE = 3


@dataclass(frozen=True, slots=True)
class Against:
    """``keys`` are bags; ``denied`` when the statement says that one of these does not hold, or holds after all."""

    keys: tuple[int, ...]
    denied: bool
    rest: tuple[Token, ...]


def bag_of(said: Spoken) -> int:
    """The same for statements of the same words, whatever their order and number; 0 for one that takes no part."""
    if said.strict or said.kinds & ASKS or len(said.tokens) > LONGEST:
        return 0
    return _sum(said.tokens)


def _sum(tokens: Sequence[Token]) -> int:
    return sum([token.base for token in tokens if token.kind & SAID], SALT) & BITS


def against(said: Spoken) -> list[Against]:
    """What the statement is against."""
    if said.strict or said.kinds & ASKS or len(said.tokens) > LONGEST:
        return []
    raws = {token.raw for token in said.tokens}
    if raws & values.REPORTING:
        return []
    found = []
    if said.kinds & NEGATION and not said.kinds & PAST and not raws & values.CONDITIONAL:
        found += _denied(said.tokens)
    if said.kinds & (REPLACES | NEGATION):
        found += [Against(tuple(sorted(_keys(rest))), False, tuple(rest)) for rest in _former(said.tokens)]
    return found


def _denied(tokens: list[Token]) -> list[Against]:
    """The statement without its one negation."""
    places = [at for at, token in enumerate(tokens) if token.kind & NEGATION]
    if len(places) != 1 or tokens[places[0]].word not in DENIALS:
        return []
    rest = tuple(token for token in tokens if not token.kind & NEGATION and token.raw not in BESIDE)
    return [Against((_sum(rest),), True, rest)] if any(token.kind & WORD for token in rest) else []


def _former(tokens: list[Token]) -> Iterator[list[Token]]:
    """The statement as it was: "changed from A to B" with A, "B instead of A" and "B, not A" with A for B."""
    raws = [token.raw for token in tokens]
    changed = next((at for at, raw in enumerate(raws) if raw in MOVED), 0)
    if changed and "from" in raws[changed:]:
        start = raws.index("from", changed) + 1
        end = next(
            (at for at in range(start, len(raws)) if raws[at] in TO or tokens[at - 1].kind & BREAKING), len(raws)
        )
        if 0 < end - start <= MOST_IN_A_VALUE and any(raw in TO for raw in raws[changed:]):
            yield [*tokens[:changed], *tokens[start:end]]
    for at, raw in enumerate(raws[:-1]):
        if raw in ENDING and at and tokens[at + 1].kind & WORD and raws[at + 1].endswith("ing"):
            yield from ([*tokens[:at], verb, *tokens[at + 2 :]] for verb in _verbs(raws[at + 1]))
        elif raw in LEAVING and at:
            end = next(
                (place for place in range(at + 1, len(raws)) if raws[place] in ("with", "by", "and", "for")), len(raws)
            )
            if 0 < end - at - 1 <= MOST_IN_A_VALUE:
                yield [*tokens[:at], *tokens[at + 1 : end]]
    for at in range(1, len(tokens)):
        size = 2 if tuple(raws[at : at + 2]) in INSTEAD else 1 if tokens[at].word == "not" else 0
        after, tail = _phrase(tokens[at + size :])
        if size == 1 and not tokens[at - 1].kind & BREAKING:
            continue
        before = [place for place in range(at) if tokens[place].kind & SAID][-len(after) :]
        if size and after and len(after) == len(before) <= 2 and at > len(after):
            kept = [token for place, token in enumerate(tokens[:at]) if place not in before]
            kept = [token for token in kept if token.raw not in MODALS]
            yield [token for token in kept if token.raw not in values.DROPPED] + after + tail


def opposite(what: Against, other: Spoken) -> bool:
    """Whether the other says the very thing that is denied, in an order that says the same."""
    if other.kinds & (NEGATION | PAST) or {token.raw for token in other.tokens} & (
        values.REPORTING | values.CONDITIONAL
    ):
        return False
    one, two = ([replace(token, code=token.base or token.code) for token in each] for each in (what.rest, other.tokens))
    persons = (
        {token.code for token in one if token.kind & PRONOUN},
        {token.code for token in two if token.kind & PRONOUN},
    )
    return persons[0] == persons[1] and same_order(one, two, pronouns=True)


def _phrase(tokens: list[Token]) -> tuple[list[Token], list[Token]]:
    """What is said up to the next preposition, and the rest."""
    end = next((at for at, token in enumerate(tokens) if at and token.kind & PREPOSITION), len(tokens))
    return [token for token in tokens[:end] if token.kind & SAID], tokens[end:]


MOVED = values.CHANGES | values.MOVES | {"switched", "upgraded", "downgraded"}
ENDING = frozenset("stopped quit ceased".split())
LEAVING = frozenset("left quit replaced dropped abandoned".split())


def _verbs(going: str) -> Iterator[Token]:
    """What a form in -ing may be of."""
    stem = going[:-3]
    for verb in {stem, f"{stem}e", stem[:-1] if stem[-1:] == stem[-2:-1] else stem}:
        yield word_token(verb)


TO = frozenset({"to", "into"})
_CODES = {word: code_of(f"base {word}") for word in (*STATIVE, *SORTS_OF_VALUE) if word}


def _keys(rest: list[Token]) -> set[int]:
    """The bags of it, with whichever verb or noun may have stood there, and without a noun that may be missing."""
    whole = _sum(rest)
    nouns = {_CODES[token.word] for token in rest if token.word in SORTS_OF_VALUE}
    sums = {whole, *((whole - code) & BITS for code in nouns)}
    return (
        {(each + code) & BITS for each in sums for code in (0, *_CODES.values())}
        if any(token.kind & (WORD | CAPITAL) for token in rest)
        else set()
    )
