"""The text of an archive: how much of the corpus it speaks of, then its sentences under their topics. Pure."""

from collections import Counter
from collections.abc import Sequence

from memory.distillers.sources import Kept, Section

SMALLEST = 3
MOST_TOPICS = 12
TITLE, TOPIC, ITEM = "# ", "## ", "- "


def coverage(covered: int, corpus: int) -> str:
    """How an archive says what it speaks of."""
    return f"{covered:,} of {corpus:,} {'entry' if corpus == 1 else 'entries'}"


def text_of(sections: Sequence[Section], *, covered: int, corpus: int) -> str:
    lines = [title(covered, corpus)]
    for section in sections:
        lines += [heading(section.topic)] if section.topic else []
        lines += [item(sentence.text) for sentence in section.sentences]
    return "".join(lines).removesuffix("\n")


def title(covered: int, corpus: int) -> str:
    return f"{TITLE}{coverage(covered, corpus)}\n"


def heading(topic: str) -> str:
    return f"{TOPIC}{topic}\n"


def item(sentence: str) -> str:
    return f"{ITEM}{sentence}\n"


def body_of(text: str) -> str:
    """The sentences of an archive's text without what it says of itself: what a later archive takes from it."""
    lines = [line for line in text.split("\n") if not line.startswith((TITLE, TOPIC))]
    return "\n".join(lines)


def topics_of(about: Sequence[Sequence[tuple[str, float]]]) -> list[str]:
    """A topic for each sentence, from the terms it has and how telling they are; empty where it has none in common.

    Time and again the term that tells most about the sentences without one yet.
    """
    left = {number for number, terms in enumerate(about) if terms}
    found = [""] * len(about)
    while len(set(found)) <= MOST_TOPICS:
        counts: Counter[str] = Counter(term for number in left for term, _ in about[number])
        gains = {term: gain for number in left for term, gain in about[number]}
        best = min(
            (term for term, count in counts.items() if count >= SMALLEST),
            key=lambda term: (-counts[term] * gains[term], term),
            default="",
        )
        if not best:
            break
        heads = {number for number in left if any(term == best for term, _ in about[number])}
        for number in heads:
            found[number] = best
        left -= heads
    return found


def sections_of(sentences: Sequence[Kept], topics: Sequence[str]) -> tuple[Section, ...]:
    """The sentences under their topics: the fullest first, what has no topic last; in their order within one."""
    grouped: dict[str, list[Kept]] = {}
    for sentence, topic in zip(sentences, topics, strict=True):
        grouped.setdefault(topic, []).append(sentence)
    order = sorted(grouped, key=lambda topic: (not topic, -len(grouped[topic]), topic))
    return tuple(Section(topic, tuple(grouped[topic])) for topic in order)
