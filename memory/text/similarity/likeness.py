"""How alike two statements are that the rules leave apart: for a person to decide, never to act on.

A restatement has most words of the other, in another order or around another verb. Two statements in which only the
thing, the name or the number in one place differs are about different things: the rules have weighed those. Statements
that share few words are alike where their vectors are near.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from memory.text.matching import search_form
from memory.text.search_words import every_word_of, language_of, stems_of, without_stop_words

LEAST_ALIKE = 0.25  # of the words that either has, so many have both
LEAST_SHARED = 2
LEAST_NEAR = 0.65
MOST_WORDS = 400
RUN = re.compile(r"\w+")


class _Word(NamedTuple):
    """A word as written, its stem, and whether it is written as a name."""

    text: str
    stem: str
    named: bool


class _Parsed(NamedTuple):
    """All words of a statement in order, and the places of those that say something."""

    words: list[_Word]
    places: list[int]

    @property
    def stems(self) -> list[str]:
        return [self.words[place].stem for place in self.places]

    def before(self, number: int) -> str:
        """The small word in front of the word with this number among those that say something."""
        place = self.places[number] - 1
        return self.words[place].text if place >= 0 and place not in self.places else ""


def likeness(one: str, other: str, *, nearness: float = 0.0) -> float:
    """The share of their words that both have, or their ``nearness`` in meaning where they share fewer than it takes; 0
    when they are not alike enough to be shown to a person."""
    texts = [_words(one), _words(other)]
    if max(map(len, texts)) > MOST_WORDS:
        return 0.0
    language = language_of([word for text in texts for word, _ in text])
    a, b = (_parse(text, language) for text in texts)
    both, either = set(a.stems) & set(b.stems), set(a.stems) | set(b.stems)
    if len(both) < LEAST_ALIKE * len(either):
        return nearness if nearness >= LEAST_NEAR else 0.0
    return 0.0 if len(both) < LEAST_SHARED or _differ_in_a_place(a, b) else len(both) / len(either)


def _words(text: str) -> list[tuple[str, bool]]:
    return [(word, run[0].isupper()) for run in RUN.findall(text) for word in every_word_of(search_form(run))]


def _parse(text: Sequence[tuple[str, bool]], language: int) -> _Parsed:
    words = [_Word(word, next(iter(stems_of(word, language)), word), named) for word, named in text]
    telling = set(without_stop_words([word.text for word in words], language))
    return _Parsed(words, [place for place, word in enumerate(words) if word.text in telling])


def _differ_in_a_place(a: _Parsed, b: _Parsed) -> bool:
    """Whether they are the same except for the words in one place, or their order."""
    one, other = ([word.text for word in said.words] for said in (a, b))
    if sorted(one) == sorted(other):  # "Anna pays Ben"; a phrase may move from the front to the end
        return not any(one[at:] + one[:at] == other for at in range(len(one)))
    if _has_number(set(a.stems) - set(b.stems)) and _has_number(set(b.stems) - set(a.stems)):
        return True
    steps = SequenceMatcher(None, a.stems, b.stems, autojunk=False).get_opcodes()
    in_order = sum(end - at for step, at, end, _, _ in steps if step == "equal")
    if len(set(a.stems) & set(b.stems)) > in_order:
        return False
    replaced = [step[1:] for step in steps if step[0] == "replace"]
    return any(_is_another_thing(a, b, *each) for each in replaced)


def _has_number(stems: set[str]) -> bool:
    return any(char.isdigit() for stem in stems for char in stem)


def _is_another_thing(a: _Parsed, b: _Parsed, at: int, end: int, other_at: int, other_end: int) -> bool:
    """Whether the words in that place are things in both: the first word, the last, a name, or after an article."""
    if (at, other_at) == (0, 0) or (end, other_end) == (len(a.places), len(b.places)):
        return True
    first, second = a.words[a.places[at]], b.words[b.places[other_at]]
    small = a.before(at)
    return (first.named and second.named) or (small != "" and small == b.before(other_at))
