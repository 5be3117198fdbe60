"""An archive as text and as bytes: canonical JSON, the same for the same work (RFC 0062 B.4)."""

import hashlib
import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import rfc8785

from memory.host.json_types import JSONObject
from memory.text import token_budget
from memory.text.distillers.ranking import Distilled, Kept, Section, Source, terms_of
from memory.text.distillers.sentences import FENCES, is_block

SMALLEST = 3
MOST_TOPICS = 12
TITLE, TOPIC = "# ", "## "
TITLE_WORDS, UNTITLED = 3, "Notes"
NAME = 2.5  # how much more a name tells in a title
NAME_WORDS = 3
STEM = 5  # letters
WORDS = re.compile(r"[^\W_][\w-]*")
NEAR = r"[^\W\d_a-z][\w'\u2019-]+"
MIDDLE = re.compile(r"(?<=[^.!?:\s] )[^\W_][\w-]*")
ENDED = (".", "!", "?", "…", "。", "\uff01", "\uff1f")
VERSION = 2
OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
SAFE_INTEGER = 2**53 - 1


def coverage(covered: int, corpus: int) -> str:
    """How an archive says what it speaks of."""
    return f"{covered:,} of {corpus:,} {'entry' if corpus == 1 else 'entries'}"


def text_of(title: str, sections: Sequence[Section]) -> str:
    """The title, and the sentences under their topics; those of one entry that follow each other are one line.

    The day from which a sentence counts its times stands before it, once in a line.
    """
    lines = [heading(title)]
    for section in sections:
        lines += [heading(section.topic, TOPIC)] if section.topic else []
        before: Kept | None = None
        is_dated = False
        for sentence in section.sentences:
            if before and before.sources[:1] == sentence.sources[:1] != () and _goes_on(before.text, sentence.text):
                lines[-1] = lines[-1].removesuffix("\n") + " "
            else:
                is_dated = False
            day = f"[{sentence.said_on}] " if sentence.shows_day and not is_dated else ""
            lines.append(line(day + sentence.text))
            before, is_dated = sentence, is_dated or bool(day)
    return "".join(lines).removesuffix("\n")


def _goes_on(before: str, after: str) -> bool:
    """Whether a sentence may stand behind another in one line. What begins small would read as its rest."""
    return before.endswith(ENDED) and not after[:1].islower() and not is_block(after)


def heading(words: str, mark: str = TITLE) -> str:
    return f"{mark}{words}\n"


def line(sentence: str) -> str:
    return f"{sentence}\n"


def body_of(text: str) -> str:
    """The sentences of an archive's text without what it says of itself: what a later archive takes from it."""
    lines, is_code = [], False
    for each in text.split("\n"):
        is_code ^= each.lstrip().startswith(FENCES)
        if is_code or not each.startswith((TITLE, TOPIC)):
            lines.append(each)
    return "\n".join(lines)


def title_of(
    weights: Mapping[str, float], texts: Sequence[str], nouns: frozenset[str], names_a_thing: Callable[[str], bool]
) -> str:
    """The terms of most weight, as these sentences spell them; a name or a thing of several words is given in full."""
    pool = heapq.nsmallest(4 * TITLE_WORDS, weights, key=lambda term: (-weights[term], term))
    spelt = _spellings(pool, texts)
    pool.sort(key=lambda term: (-weights[term] * (NAME if spelt[term] != spelt[term].casefold() else 1.0), term))
    chosen: list[str] = []
    for word in map(spelt.__getitem__, pool):
        if len(chosen) < TITLE_WORDS and not any(_is_same(word, name) for name in chosen):
            is_name = word != word.casefold()
            full = (
                _in_full(word, texts, names_a_thing) if is_name else _with_neighbour(word, texts, names_a_thing, nouns)
            )
            chosen.append(full)
    words = ", ".join(chosen)
    return words[:1].upper() + words[1:] if words else UNTITLED


def _is_same(word: str, name: str) -> bool:
    """Whether one is among the words of the other, in whatever form."""
    one, other = word.casefold(), name.casefold()
    return one in other or other in one or (len(one) > STEM and one[:STEM] == other[:STEM])


def _spellings(terms: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
    """Each as most often in the middle of a sentence, or at its beginning, where everything has a capital."""
    amid = _seen(MIDDLE, terms, texts)
    others = [term for term in terms if not amid[term]]
    found = amid | (_seen(WORDS, others, texts) if others else {})
    return {term: max(words, key=lambda word: words[word], default=term) for term, words in found.items()}


def _seen(pattern: re.Pattern[str], terms: Sequence[str], texts: Sequence[str]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {term: Counter() for term in terms}
    for text in texts:
        for word in pattern.findall(text):
            for term in terms_of(word.casefold()):
                if term in found:
                    found[term][word] += 1
    return found


def _in_full(name: str, texts: Sequence[str], names_a_thing: Callable[[str], bool]) -> str:
    """With the words of a name around it. One that begins a sentence may be any word, unless it is there again."""
    pattern = re.compile(rf"(?<!\w)(?:{NEAR} )*{re.escape(name)}(?: {NEAR})*(?!\w)")
    found, at_first = Counter[str](), Counter[str]()
    for text in texts:
        for match in pattern.finditer(text) if name in text else ():
            words = _trimmed(match[0].split(" "), name, names_a_thing)
            (found if match.start() or words == name else at_first)[words] += 1
    found.update({words: count for words, count in at_first.items() if count > 1})
    full = max(found, key=lambda words: (found[words], len(words)), default=name)
    return full if full.count(" ") < NAME_WORDS else name


def _trimmed(words: list[str], name: str, names_a_thing: Callable[[str], bool]) -> str:
    """The name with the words beside it that may be of it: "On Windows" is Windows."""
    at = words.index(name) if name in words else 0
    first, last = at, at + 1
    while first > 0 and words[first - 1][0].isupper() and names_a_thing(words[first - 1].casefold()):
        first -= 1
    while last < len(words) and words[last][0].isupper() and names_a_thing(words[last].casefold()):
        last += 1
    return " ".join(words[first:last])


def _with_neighbour(
    word: str, texts: Sequence[str], names_a_thing: Callable[[str], bool], nouns: frozenset[str]
) -> str:
    """With the word before it, or the noun behind it, that mostly stands beside it: dance studio."""
    pattern = re.compile(rf"(?<![\w-])(?:([^\W\d_]+) )?{re.escape(word)}(?: ([^\W\d_]+))?(?![\w-])")
    beside, times = Counter[str](), 0
    for match in (match for text in texts for match in pattern.finditer(text)):
        times += 1
        if match[1] and names_a_thing(match[1].casefold()):
            beside[f"{match[1]} {word}"] += 1
        if match[2] and names_a_thing(match[2].casefold()) and nouns.intersection(terms_of(match[2].casefold())):
            beside[f"{word} {match[2]}"] += 1
    full, count = max(beside.items(), key=lambda each: (each[1], each[0]), default=(word, 0))
    return full if count >= SMALLEST and 2 * count >= times else word


def topics_of(about: Sequence[Sequence[tuple[str, float]]]) -> list[str]:
    """A topic for each sentence, from the terms it has and how telling they are; empty where it has none in common.

    Time and again the term that tells most about the sentences without one yet.
    """
    holders: dict[str, dict[int, float]] = {}
    for number, terms in enumerate(about):
        for term, gain in terms:
            holders.setdefault(term, {})[number] = gain
    often = {term for term, gains in holders.items() if len(gains) >= SMALLEST}
    found = [""] * len(about)
    while often and len(set(found)) <= MOST_TOPICS:
        told = {term: len(holders[term]) * next(reversed(holders[term].values())) for term in often}
        best = min(often, key=lambda term: (-told[term], term))
        for number in list(holders[best]):
            found[number] = best
            for term, _ in about[number]:
                del holders[term][number]
        often = {term for term in often if len(holders[term]) >= SMALLEST}
    return found


def sections_of(sentences: Sequence[Kept], topics: Sequence[str]) -> tuple[Section, ...]:
    """The sentences under their topics: the fullest first, what has no topic last; in their order within one."""
    grouped: dict[str, list[Kept]] = {}
    for sentence, topic in zip(sentences, topics, strict=True):
        grouped.setdefault(topic, []).append(sentence)
    order = sorted(grouped, key=lambda topic: (not topic, -len(grouped[topic]), topic))
    return tuple(Section(topic, tuple(grouped[topic])) for topic in order)


@dataclass(frozen=True, slots=True)
class Method:
    """Who distils: ``name/version``, and the model when there is one."""

    name: str
    version: str
    model: str = ""

    def __str__(self) -> str:
        return f"{self.name}/{self.version}"


EXTRACTIVE = Method("extractive", "5")


class ArchiveDocument(JSONObject):
    """What ``document`` makes: texts and small whole numbers under plain keys in their order, and nothing else."""


def canonical(value: Any) -> bytes:
    """The value in the one form that RFC 8785 gives it; ``rfc8785``'s own errors for what has none."""
    if isinstance(value, ArchiveDocument):
        return orjson.dumps(value, option=OPTIONS)
    if not _beyond(value):
        return orjson.dumps(value, option=OPTIONS | orjson.OPT_SORT_KEYS)
    return rfc8785.dumps(value)


def _beyond(value: object) -> bool:
    """Whether orjson might write some part of this otherwise than RFC 8785 does."""
    if isinstance(value, dict):
        return any(not key.isascii() and max(key) > "\uffff" for key in value) or any(map(_beyond, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_beyond, value))
    if isinstance(value, int):
        return abs(value) > SAFE_INTEGER
    return not isinstance(value, str | None)


def document(
    distilled: Distilled,
    *,
    memory_ref: str,
    token_budget_given: int,
    target_tokens: int,
    method: Method,
    digests: Mapping[str, str],
) -> ArchiveDocument:
    """The archive of a ref; ``digests`` are the SHA-256 of the contents of its sources, by their ids."""
    model = {"model": method.model} if method.model else {}
    return ArchiveDocument(
        {
            "coverage": {
                "covered": len(distilled.covered),
                "of": distilled.corpus_count,
                "text": coverage(len(distilled.covered), distilled.corpus_count),
                "topics": sum(1 for section in distilled.sections if section.topic),
            },
            "distiller": str(method),
            "memoryRef": memory_ref,
            **model,
            "outputTokens": distilled.output_tokens,
            "sections": [
                {
                    "sentences": [
                        {
                            "restatedBy": list(kept.restated_by),
                            **({"saidOn": kept.said_on.isoformat()} if kept.said_on else {}),
                            "sources": list(kept.sources),
                            "text": kept.text,
                        }
                        for kept in section.sentences
                    ],
                    "topic": section.topic,
                }
                for section in distilled.sections
            ],
            "sources": [{"id": source, "sha256": digests[source]} for source in distilled.covered],
            "targetTokens": target_tokens,
            "text": distilled.text,
            "title": distilled.title,
            "tokenBudget": token_budget_given,
            "tokenizer": token_budget.TOKENIZER,
            "tokensUsed": distilled.tokens_used,
            "version": VERSION,
        }
    )


def digest_of(
    sources: Iterable[Source], *, memory_ref: str, budget: int, target: int, method: Method, about: Sequence[str]
) -> str:
    """The digest of everything that an archive's bytes depend on: the same digest is the same work."""
    found = hashlib.sha256(canonical([VERSION, str(method), method.model, *about, memory_ref, budget, target]))
    for source in sorted(sources, key=lambda each: (each.said_at, each.id)):
        said = [source.id, content_digest(source.text), source.said_at.isoformat(), *source.tags]
        said += [source.written_on.isoformat()] if source.written_on else []
        found.update(canonical([*said, source.protected, source.corroboration, source.tokens]))
    return found.hexdigest()


def content_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
