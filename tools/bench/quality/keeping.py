"""The judge of a distillation: which key facts are still said, beside what simpler ways of choosing would have kept."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import log
from random import Random

from tools.bench.quality.judging import Share
from tools.bench.quality.keyfacts import CaseFile, Note

RANDOM_TIMES = 5
WORDS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Kept:
    """The share of all key facts, and of each kind of them."""

    all: Share
    by_kind: dict[str, Share]


def plain(text: str) -> str:
    """The words alone, in one case."""
    return f" {' '.join(WORDS.findall(text.casefold()))} "


def kept(case: CaseFile, sentences: Iterable[str]) -> Kept:
    """A key fact is kept when one of the sentences says it in words in which it was said."""
    said = "|".join(map(plain, sentences))
    found = Kept(Share(), defaultdict(Share))
    for fact in case.facts:
        is_kept = any(plain(sentence) in said for sentence in fact.sentences)
        found.all.count(is_kept)
        found.by_kind[fact.kind].count(is_kept)
    return found


def taken(notes: Sequence[Note], budget: int) -> list[str]:
    """Whole entries in this order as long as they fit, each read once and written once (RFC 0062 B.2)."""
    texts, used = [], 0
    for note in notes:
        if used + 2 * note.tokens > budget:
            break
        texts.append(note.text)
        used += 2 * note.tokens
    return texts


def greedy(texts: Sequence[str], tokens: Sequence[int], room: int) -> list[str]:
    """Whole entries, each time the one that adds most for its tokens: the sum of the idf of its words that none of the
    others has, as long as they fit."""
    words = [set(WORDS.findall(text.casefold())) for text in texts]
    seen = Counter(word for each in words for word in each)
    idf = {word: log(len(texts) / count) for word, count in seen.items()}
    said: set[str] = set()
    taken: list[str] = []

    def gain(at: int) -> float:
        return sum(idf[word] for word in words[at] - said) / max(tokens[at], 1)

    heap = [(-gain(at), at) for at in range(len(texts))]
    heapify(heap)
    while heap:
        _, at = heappop(heap)
        now = -gain(at)
        if heap and now > heap[0][0]:
            heappush(heap, (now, at))
        elif tokens[at] <= room:
            taken.append(texts[at])
            room -= tokens[at]
            said |= words[at]
    return taken


def baselines(case: CaseFile, budget: int) -> dict[str, float]:
    """The share of key facts that the first, the newest, any, and those with the most new words would have kept."""
    ways: dict[str, Callable[[], float]] = {
        "lead": lambda: kept(case, taken(case.notes, budget)).all.value,
        "newest": lambda: kept(case, taken(case.notes[::-1], budget)).all.value,
        "random": lambda: _at_random(case, budget),
        "greedy idf": lambda: kept(case, greedy(*_of(case), budget // 2)).all.value,
    }
    return {name: way() for name, way in ways.items()}


def _of(case: CaseFile) -> tuple[list[str], list[int]]:
    return [note.text for note in case.notes], [note.tokens for note in case.notes]


def _at_random(case: CaseFile, budget: int) -> float:
    shares = []
    for seed in range(RANDOM_TIMES):
        notes = Random(seed).sample(case.notes, len(case.notes))  # noqa: S311
        shares.append(kept(case, taken(notes, budget)).all.value)
    return sum(shares) / len(shares)
