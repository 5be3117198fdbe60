"""Texts that the rules were not written for, with what is to be made of them.

Those of ``data/unseen.json`` were written before any rule had been run on them; some that failed have been read since.
Those of ``data/held.json`` are not to be looked at when a rule is written, nor the unread half of ``data/second.json``,
which another hand has written. A folder of one's own may hold more:
``*pairs.json``, ``*commitments.json``, ``*firing.json``, ``*questions.json`` and ``locomo*.json.gz``, in the form of
LoCoMo-10.
"""

import gzip
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from memory.text.distillers import sentences
from tools.bench.quality import slots

SAME, NEWER, DIFFERENT, CONTRARY = "same", "newer", "different", "contrary"
LABELS = {"merge": SAME, "supersede": NEWER, "keep": DIFFERENT}
NO_ANSWER = 5  # LoCoMo's category of questions that the talk does not answer
WORDS = re.compile(r"\w+")
SEPARATOR = re.compile(r"[;,\s]+")


class Pair(NamedTuple):
    """Two statements. ``CONTRARY`` ones may never be merged, and the newer one may replace the older."""

    label: str
    older: str
    newer: str


class Order(NamedTuple):
    """A sentence, and whether it is a commitment."""

    text: str
    commits: bool


class Condition(NamedTuple):
    """A commitment with a condition, what is said later, and whether the condition is met by it."""

    text: str
    later: str
    fires: bool


class Question(NamedTuple):
    """``places`` are the turns that have to do with the answer."""

    text: str
    answer: str
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Talk:
    turns: tuple[str, ...]
    questions: tuple[Question, ...]

    def answering(self) -> Iterator[str]:
        """For each question and each of its turns the sentence that has most words of the answer, and then of the
        question."""
        for question in self.questions:
            for place in question.places:
                yield max(
                    sentences.split(self.turns[place]) or [self.turns[place]],
                    key=lambda said: (_shared(said, question.answer), _shared(said, question.text)),
                )


@dataclass(frozen=True, slots=True)
class Texts:
    """``name`` says where they come from. ``notes`` are statements with questions about them, ``facts`` short ones
    that a talk was summed up in, ``asks`` three phrasings of a correction and another correction."""

    name: str
    pairs: tuple[Pair, ...] = ()
    orders: tuple[Order, ...] = ()
    conditions: tuple[Condition, ...] = ()
    talks: tuple[Talk, ...] = ()
    notes: tuple[Talk, ...] = ()
    facts: tuple[Talk, ...] = ()
    asks: tuple[tuple[str, ...], ...] = ()


def _shared(one: str, other: str) -> int:
    return len(set(WORDS.findall(one.casefold())) & set(WORDS.findall(other.casefold())))


def shipped() -> Texts:
    found = slots.data("unseen")
    return Texts(
        "own texts",
        tuple(Pair(label, *pair) for label in (SAME, NEWER, DIFFERENT, CONTRARY) for pair in found[label]),
        _orders(found),
        tuple(Condition(*each) for each in found["firings"]),
        (
            Talk(
                tuple(found["talk"]),
                tuple(Question(text, answer, tuple(places)) for text, answer, places in found["questions"]),
            ),
        ),
    )


def _orders(found: dict[str, Any]) -> tuple[Order, ...]:
    return tuple(
        Order(text, name == "commitments") for name in ("commitments", "no_commitments") for text in found[name]
    )


def second(half: str) -> Texts:
    """By another hand than the rules', written before the rules were changed for it: of the ``read`` half what failed
    was looked at; of the ``unread`` half only the rates, and the kinds of its misses after the last change.
    Pairs say their language as well."""
    return _by_another_hand("second", f"by another hand, {half}", half)


def third(half: str) -> Texts:
    """Written like the second, later; of the ``unread`` half rates and counts of misses alone were printed."""
    return _by_another_hand("third", f"by a third hand, {half}", half)


def fourth(half: str) -> Texts:
    """Pairs alone, by two hands who did not know the rules; of the ``unread`` half rates alone were printed."""
    return _by_another_hand("fourth", f"by a fourth hand, {half}", half)


def fifth(half: str) -> Texts:
    """Conditions alone, by writers who did not know the rules; of the ``unread`` half only counts were printed."""
    return _by_another_hand("fifth", f"by a fifth hand, {half}", half)


def sixth(half: str) -> Texts:
    """Pairs and conditions by writers who did not know the rules; of the ``unread`` half only counts were printed."""
    return _by_another_hand("sixth", f"by a sixth hand, {half}", half)


def _by_another_hand(file: str, name: str, half: str) -> Texts:
    found = slots.data(file)[half]
    return Texts(
        name,
        tuple(Pair(label, *pair[:2]) for label in (SAME, NEWER, DIFFERENT) for pair in found[label]),
        orders=_orders(found),
        conditions=tuple(Condition(*each) for each in found["firings"]),
        asks=tuple(map(tuple, found["corrections"])),
    )


def held() -> Texts:
    """The unread half of pairs and sentences written before the rules they are judged by, and pairs of
    different facts that look alike, in both directions, made from patterns with names, things, places and numbers."""
    found = slots.data("held")
    return Texts(
        "own texts, unread",
        (
            *(Pair(label, *pair) for label in (SAME, NEWER) for pair in found[label]),
            *_apart(found["patterns"], found["slots"]),
        ),
        _orders(found),
    )


def _apart(patterns: list[list[str]], named: dict[str, list[list[str]]]) -> Iterator[Pair]:
    """Each slot has two fillers at a time, ``{place}`` and ``{PLACE}``; another place in the lists for each pattern."""
    for number, (one, other) in enumerate(patterns):
        for draw in range(len(next(iter(named.values())))):
            filled: dict[str, str] = {}
            for at, (name, fillers) in enumerate(sorted(named.items())):
                filled[name], filled[name.upper()] = fillers[(draw + at * (number % 5)) % len(fillers)]
            first, second = one.format(**filled), other.format(**filled)
            yield from (Pair(DIFFERENT, first, second), Pair(DIFFERENT, second, first))


def of_folder(folder: Path) -> Texts:
    """What the folder has of them; what it lacks is not measured."""
    pairs = list(_all_in(folder, "*pairs.json"))
    places = {each["id"]: 2 * number for number, each in enumerate(pairs)}
    said = tuple(text for each in pairs for text in (each["older"], each["newer"]))
    asked = tuple(
        Question(each["question"], "", (places[each["pair"]], places[each["pair"]] + 1))
        for each in _all_in(folder, "*questions.json")
        if each["pair"] in places
    )
    talks = list(_all_in(folder, "locomo*.json.gz"))
    return Texts(
        "texts from outside",
        tuple(Pair(LABELS[each["label"]], each["older"], each["newer"]) for each in pairs),
        tuple(Order(each["text"], each["commitment"]) for each in _all_in(folder, "*commitments.json")),
        tuple(Condition(each["commitment"], each["follow"], each["fires"]) for each in _all_in(folder, "*firing.json")),
        tuple(map(_talk, talks)),
        (Talk(said, asked),) if asked else (),
        tuple(map(_facts, talks)),
        tuple((*each["corrections"], each["other"]) for each in _all_in(folder, "*corrections.json")),
    )


def _all_in(folder: Path, pattern: str) -> Iterator[Any]:
    for file in sorted(folder.glob(pattern)):
        read = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        yield from orjson.loads(read)


def _talk(document: dict[str, Any]) -> Talk:
    turns = list(_turns(document["conversation"]))
    places = {turn["dia_id"]: place for place, turn in enumerate(turns)}
    return Talk(
        tuple(f"{turn['speaker']}: {turn['text']}" for turn in turns),
        tuple(
            Question(each["question"], str(each.get("answer", "")), found)
            for each in document["qa"]
            if each["category"] != NO_ANSWER and (found := tuple(_placed(each["evidence"], places)))
        ),
    )


def _facts(document: dict[str, Any]) -> Talk:
    """What was observed of the speakers, session by session; a question's places are all that come from its turns."""
    found = [
        (text, {each for name in (dia if isinstance(dia, list) else [dia]) for each in SEPARATOR.split(name)})
        for session in document.get("observation", {}).values()
        for observed in session.values()
        for text, dia in observed
    ]
    questions = [
        (each, {name for names in each["evidence"] for name in SEPARATOR.split(names)})
        for each in document["qa"]
        if each["category"] != NO_ANSWER
    ]
    return Talk(
        tuple(text for text, _ in found),
        tuple(
            Question(each["question"], str(each.get("answer", "")), places)
            for each, evidence in questions
            if (places := tuple(at for at, (_, turns) in enumerate(found) if turns & evidence))
        ),
    )


def _turns(conversation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    number = 1
    while f"session_{number}_date_time" in conversation:
        yield from conversation.get(f"session_{number}", ())
        number += 1


def _placed(evidence: Iterable[str], places: dict[str, int]) -> Iterator[int]:
    return (places[name] for each in evidence for name in SEPARATOR.split(each) if name in places)
