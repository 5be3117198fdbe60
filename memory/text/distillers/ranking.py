"""Every sentence of a corpus weighed, in about linear time: no two sentences are compared with each other. Pure.

What counts: how it is worded, what numbers and names it has, how near it is to what the corpus is about, of how many
sources it speaks (word for word, or through the same pairs of telling terms), how recent they are, and whether somebody
protected one of them. Weights are made of ranks and counts of the corpus alone, so the same sources weigh the same.
"""

import math
import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from memory.host.json_types import JSONObject
from memory.text.distillers.sources import NothingToKeep, Source

# A run of stops is looked at once, from its beginning: no text takes more than a moment.
ENDS = re.compile(r"(?<![.!?…])[.!?…]++[\"'\u201d\u2019»)\]]*+(?=\s)|[。\uff01\uff1f｡]+[」』\u201d\u2019\uff09]*|\n\s*")
MARK = re.compile(r"\[REDACTED:[^\]]*\]")
BULLET = re.compile(r"(?:[-*+•‣\u2013]|\(?\d{1,3}[.)]|\(?[a-z]\))\s+(?:\[[ xX]\]\s+)?")
LETTER = re.compile(r"[^\W_]")
LAST_WORD = re.compile(r"\S+\Z")
WRAPPED = 40
STEP = 1000
TELLING = 4
Step = Callable[[int, int], None]


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


# Never the end of a sentence; the second only before a capital; the third never before a digit.
TITLES = _set(
    "mr mrs ms mx dr prof st sr rev gen sen rep hon e.g i.e cf vs viz approx ca bzw z.b d.h u.a nr tel fig figs sec "
    "ch vol pp ed eds al messrs mme mlle"
)


BEFORE_DIGITS = _set("no nos art jan feb mar apr jun jul aug sep sept oct nov dec p")


def split(text: str) -> list[str]:
    """The sentences of ``text`` in their order; those without a letter or digit are left out."""
    found = ENDS.search(text)
    if found is None:
        return _clean([text])
    marks = [mark.span() for mark in MARK.finditer(text)] if "[REDACTED:" in text else []
    shouts = text == text.lower()  # a writer without capitals begins sentences without them
    pieces, start = [], 0
    while found is not None:
        at, end = found.span()
        inside = any(first < at < last for first, last in marks)
        if not inside and _ends(text, start, at, end, shouts=shouts):
            pieces.append(text[start:end])
            start = end
        found = ENDS.search(text, end)
    return _clean([*pieces, text[start:]])


def _clean(pieces: list[str]) -> list[str]:
    clean = []
    for piece in pieces:
        kept = piece.strip()
        bullet = BULLET.match(kept)
        kept = kept[bullet.end() :] if bullet else kept
        if LETTER.search(kept):
            clean.append(kept)
    return clean


def _ends(text: str, start: int, at: int, end: int, *, shouts: bool) -> bool:
    following = text[end : end + 32].lstrip().lstrip("\"'\u201c\u2018«([")[:1]
    if "\n" in text[at:end]:
        return _line_ends(text, start, at, end, following)
    if text[at] in "。\uff01\uff1f｡":
        return True
    if following.islower() and not shouts:
        return False
    return text[at] != "." or not _abbreviates(text[max(start, at - 24) : at], following)


def _abbreviates(before: str, following: str) -> bool:
    """Whether the full stop behind ``before`` belongs to its last word."""
    last = LAST_WORD.search(before)
    word = last.group().lstrip("(\"'\u201c[").casefold() if last else ""
    if word in TITLES:
        return True
    if word in BEFORE_DIGITS and following.isdigit():
        return True
    if len(word) == 1 and word.isalpha():
        return True
    return word.isdigit() and not before[: -len(word)].strip()


def _line_ends(text: str, start: int, at: int, end: int, following: str) -> bool:
    """A long line that breaks off before a small letter goes on in the next one."""
    if text.count("\n", at, end) > 1 or not following.islower() or BULLET.match(text, end):
        return True
    line = text.rfind("\n", start, at) + 1
    return at - max(line, start) < WRAPPED or text[line:at].rstrip()[-1:] in tuple(".!?:;…")


@dataclass(slots=True)
class Saying:
    """One thing that is said, by all the sources that say it: ``texts`` are its variants, with their sources;
    ``speakers`` are the sources of all of them, in their order.
    """

    texts: dict[str, list[int]]
    words: Wording
    speakers: Sequence[int] = ()
    terms: tuple[int, ...] = ()
    weight: float = 0.0

    def text_of(self, source: int) -> str:
        """How this source says it."""
        return next(text for text, numbers in self.texts.items() if _holds(numbers, source))


@dataclass(slots=True)
class Ranked:
    """The sayings of a corpus with their weights; ``gains`` says how telling each term is, ``names`` what it is."""

    sources: Sequence[Source]
    sayings: list[Saying]
    gains: list[float]
    names: list[str]
    tag_gains: dict[str, float]


def ranked(sources: Sequence[Source], step: Step | None = None) -> Ranked:
    """``sources`` are in the order of their time. ``step`` is told now and then how many of them have been read.

    Raises ``NothingToKeep`` when none of them has a sentence.
    """
    sayings = _gathered(sources, step)
    if not sayings:
        raise NothingToKeep("no source says anything")
    names, spoken = _numbered(sayings)
    gains = np.log1p(len(sources) / np.maximum(spoken, 1))
    columns = {
        "central": _central(sayings, gains),
        "backed": _backed(sources, sayings, gains.tolist(), spoken.tolist()),
        "recent": np.array([each.speakers[-1] for each in sayings]) / max(len(sources) - 1, 1),
        "worded": np.array([_worded(each.words) for each in sayings]),
    }
    weights = _weights(columns)
    for saying, weight in zip(sayings, weights.tolist(), strict=True):
        saying.weight = round(weight, 6)
    tags = Counter(tag for source in sources for tag in source.tags)
    tag_gains = {tag: math.log1p(len(sources) / count) for tag, count in tags.items()}
    return Ranked(sources, sayings, gains.tolist(), names, tag_gains)


def _gathered(sources: Sequence[Source], step: Step | None) -> list[Saying]:
    found: dict[Any, Saying] = {}
    same: dict[str, Saying] = {}
    for number, source in enumerate(sources):
        if step and number % STEP == 0:
            step(number, len(sources))
        for text in split(source.text):
            saying = same.get(text)
            if saying is None:
                words = wording(text)
                key = (tuple(sorted(set(words.terms))), words.guard) if words.terms else text.casefold()
                saying = same[text] = found.setdefault(key, Saying({}, words))
            numbers = saying.texts.setdefault(text, [])
            if not numbers or numbers[-1] != number:
                numbers.append(number)
    for saying in found.values():
        said = list(saying.texts.values())
        saying.speakers = said[0] if len(said) == 1 else sorted({number for numbers in said for number in numbers})
    return list(found.values())


def _numbered(sayings: list[Saying]) -> tuple[list[str], Any]:
    """Each saying has its terms as numbers; the terms, and in how many sayings each of them occurs."""
    vocabulary: dict[str, int] = {}
    flat = array("q")
    for saying in sayings:
        distinct = dict.fromkeys(saying.words.terms)
        saying.terms = tuple(vocabulary.setdefault(term, len(vocabulary)) for term in distinct)
        flat.extend(saying.terms)
    return list(vocabulary), np.bincount(np.frombuffer(flat, dtype=np.int64), minlength=len(vocabulary))


def _central(sayings: list[Saying], gains: Any) -> Any:
    """How much of what the corpus is about each saying is about: the cosine with the vector of the corpus, 0 to 1."""
    sizes = np.array([len(each.terms) for each in sayings])
    terms = np.fromiter((term for each in sayings for term in each.terms), dtype=np.int64, count=int(sizes.sum()))
    rows = np.repeat(np.arange(len(sayings)), sizes)
    values = gains[terms]
    lengths = np.sqrt(np.bincount(rows, values * values, minlength=len(sayings)))
    values = values / np.maximum(lengths[rows], 1e-9)
    centre = np.bincount(terms, values, minlength=len(gains))
    found = np.bincount(rows, values * centre[terms], minlength=len(sayings))
    return found / max(float(found.max(initial=0.0)), 1e-9)


def _backed(sources: Sequence[Source], sayings: list[Saying], gains: list[float], spoken: list[int]) -> Any:
    """Of how many sources a saying speaks, and how many more say something near it: as bits, from 0 to 4."""
    common = max(8, len(sources) // 50)
    pairs = [list(_telling_pairs(each, gains, spoken, common)) for each in sayings]
    shared = Counter(pair for found in pairs for pair in found)
    near = [max((min(shared[pair], 8) - 1 for pair in found), default=0) for found in pairs]
    own = [sum(sources[number].corroboration for number in each.speakers) for each in sayings]
    return np.minimum(np.log2(np.array(own) + 0.5 * np.array(near)), 4.0)


def _telling_pairs(saying: Saying, gains: list[float], spoken: list[int], common: int) -> Iterator[tuple[int, int]]:
    terms = [term for term in saying.terms if 1 < spoken[term] <= common]
    terms.sort(key=lambda term: (-gains[term], term))
    return combinations(sorted(terms[:TELLING]), 2)


def _worded(words: Wording) -> float:
    marked = min(words.strong, 2) + 0.4 * min(words.weak, 2)
    facts = 0.5 * min(words.numbers, 2) + 0.3 * min(words.names, 3)
    small = 0.8 * min(words.chatter, 2) if not words.strong else 0.2 * min(words.chatter, 2)
    short = 0.8 if len(words.terms) < 3 else 0.0
    return marked + facts - small - short


def _weights(columns: JSONObject) -> Any:
    weight = (
        1.0 + 0.8 * columns["worded"] + 0.6 * columns["central"] + 0.5 * columns["backed"] + 0.5 * columns["recent"]
    )
    return np.maximum(weight, 0.05)


def _holds(numbers: list[int], wanted: int) -> bool:
    """Whether a rising list has the number."""
    at = bisect_left(numbers, wanted)
    return at < len(numbers) and numbers[at] == wanted
