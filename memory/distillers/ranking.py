"""Every sentence of a corpus weighed, in about linear time: no two sentences are compared with each other. Pure.

What counts: how it is worded, what numbers and names it has, how near it is to what the corpus is about, of how many
sources it speaks (word for word, or through the same pairs of telling terms), how recent they are, and whether somebody
protected one of them. Weights are made of ranks and counts of the corpus alone, so the same sources weigh the same.
"""

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from memory.distillers.sentences import split
from memory.distillers.sources import NothingToKeep, Source
from memory.distillers.words import Wording, wording

STEP = 1000
TELLING = 4
Step = Callable[[int, int], None]


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


def _weights(columns: dict[str, Any]) -> Any:
    weight = (
        1.0 + 0.8 * columns["worded"] + 0.6 * columns["central"] + 0.5 * columns["backed"] + 0.5 * columns["recent"]
    )
    return np.maximum(weight, 0.05)


def _holds(numbers: list[int], wanted: int) -> bool:
    """Whether a rising list has the number."""
    at = bisect_left(numbers, wanted)
    return at < len(numbers) and numbers[at] == wanted
