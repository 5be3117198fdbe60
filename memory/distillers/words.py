"""What a sentence is about, and how it says it: its terms, and the wording by which people mark what matters. Pure."""

import re
from functools import lru_cache
from typing import NamedTuple


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


WORD = re.compile(r"\[redacted:[^\]]*\]|https?://\S+|[$€£¥]?[^\W_]+(?:[-.@'\u2019:/,_][^\W_]+)*%?")
UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
NAMES = re.compile(r"(?<=[^.!?:\s] )[A-Z][\w-]+")
STOP = _set(
    """a about above after again all also am an and any are as at be because been before being below between both but by
    can could did do does doing done down during each even few for from further get gets getting go goes going gone got
    had has have having he her here hers him his how i if in into is it its itself just kind like lot made make may me
    might more most much my now of off on once one or other our out over own please quite really said same say says see
    she should so some still such than that the their them then there these they thing things this those through to too
    under until up us very was we well were what when where which while who whom why will with would you your yours
    today yesterday tomorrow note
    reminder reminded discussed mentioned told confirm record fyi update per regarding remember
    der die das ein eine und ist sind im zu von mit für auf el la los las un una y es en de que le les des et est du
    """
)
NEGATIONS = _set(
    "no not never none nobody nothing nor neither without cannot can't don't doesn't didn't won't isn't aren't wasn't "
    "weren't shouldn't mustn't nicht kein keine nie nunca jamais sin ohne"
)
# How people say that something is to be kept; then how they speak of what often is; then of nothing in particular.
STRONG = _set(
    """must mustn't shall always never only required require requires mandatory forbidden prohibited critical crucial
    important essential vital decided decision decides agreed agreement approved confirmed committed deadline due expire
    expires expired policy rule remember warning beware prefers prefer preferred preference allergic cannot replaced
    switched changed migrated moved limit limited owner owns responsible effective signed final settled instead longer
    muss immer niemals nie entschieden wichtig debe siempre nunca importante doit toujours jamais"""
)
WEAK = _set(
    """need needs want wants hates should contact budget price cost costs pay pays renew renews renewal renewed cancel
    cancels cancelled canceled starts ends lives works uses because cause fixed resolved blocked failed incident until
    every per minimum maximum most least default version account contract assigned reports birthday located called
    don't"""
)
CHATTER = _set(
    """thanks thank hi hello hey morning afternoon evening cheers lol haha okay ok sure cool nice great awesome worries
    soon checking weather weekend lunch maybe perhaps guess anyway btw usual danke hallo gracias hola merci bonjour
    chat"""
)
WAYS = STRONG | WEAK | CHATTER | NEGATIONS
CLASSES = ((STRONG, 0), (WEAK, 1), (CHATTER, 2))


def may_head(term: str) -> bool:
    """Whether a term may stand over sentences as what they are about: a word that is not only a way of speaking."""
    return len(term) > 2 and term.isalpha() and not ({term, f"{term}s"} & WAYS)


class Known(NamedTuple):
    """A word: the terms it stands for, the place where it is counted (-1: nowhere), and whether it guards a meaning."""

    terms: tuple[str, ...]
    place: int
    guards: bool
    number: bool


class Wording(NamedTuple):
    """Terms in their order (folded, small words left out); ``guard`` is what makes two alike sentences differ."""

    terms: tuple[str, ...]
    guard: tuple[str, ...]
    numbers: int
    names: int
    strong: int
    weak: int
    chatter: int


def wording(sentence: str) -> Wording:
    terms: list[str] = []
    guard: list[str] = []
    counts = [0, 0, 0, 0]
    numbers = 0
    for word in WORD.findall(sentence.casefold()):
        known = _known(word)
        terms += known.terms
        counts[known.place] += 1
        if known.guards:
            guard.append(word)
            numbers += known.number
    return Wording(tuple(terms), tuple(guard), numbers, len(NAMES.findall(sentence)), *counts[:3])


@lru_cache(maxsize=131_072)
def _known(word: str) -> Known:
    number = any(map(str.isdigit, word))
    place = next((place for words, place in CLASSES if word in words), 3)
    terms = () if word in STOP else _terms(word)
    return Known(terms, place, number or word in NEGATIONS, number)


def _terms(word: str) -> tuple[str, ...]:
    """A word as its terms: without the ending of a plural or genitive; pairs of characters where words have no gaps."""
    if not word.isascii() and UNSPACED.search(word):
        return tuple(word[at : at + 2] for at in range(len(word) - 1)) or (word,)
    if word.endswith(("'s", "\u2019s")):
        word = word[:-2]
    if len(word) > 3 and word[-1] == "s" and word[-2] not in "su" and word.isalpha():
        word = word[:-1]
    return (word,)
