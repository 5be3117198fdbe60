"""What is chosen under a budget so far, what that cost, and what one more sentence would cost and be worth. Pure.

A sentence costs its line and, once, the reading of an entry that says it. It is worth less the more of its terms have
been said already.
"""

from collections import Counter
from dataclasses import dataclass

from memory import token_budget
from memory.distillers import rendering
from memory.distillers.ranking import Ranked
from memory.distillers.sources import Kept, Section

MAX_TEXT_BYTES = 65_536
SAID_AGAIN = 0.5
NOVEL = 0.35
THRIFT = 0.4
TITLE_BYTES = 64


@dataclass(frozen=True, slots=True)
class Choice:
    """A saying in the words of one of its sources, by their numbers; ``tokens`` and ``size`` are those of its line."""

    number: int
    source: int
    text: str
    tokens: int
    size: int


class Selection:
    """What is chosen under one budget so far, the best first, and which sources had to be read for it."""

    def __init__(self, ranked: Ranked, budget: int) -> None:
        self.ranked, self.budget = ranked, budget
        self.chosen: list[Choice] = []
        self.covered: set[int] = set()
        self.extra: list[int] = []
        self.entire = False
        self.left, self.room = budget, MAX_TEXT_BYTES - TITLE_BYTES
        self._said: Counter[int] = Counter()
        self._line: dict[str, int] = {}
        self._speaker: dict[int, int] = {}

    def choice(self, number: int) -> Choice:
        """The saying in the words of the source that is cheapest to read: protected ones first, then the newest."""
        if number not in self._speaker:
            sources, speakers = self.ranked.sources, self.ranked.sayings[number].speakers
            self._speaker[number] = min(speakers, key=lambda at: (not sources[at].protected, self.reading(at), -at))
        source = self._speaker[number]
        text = self.ranked.sayings[number].text_of(source)
        if text not in self._line:
            self._line[text] = token_budget.count(rendering.item(text))
        return Choice(number, source, text, self._line[text], len(rendering.item(text).encode()))

    def let_speak(self, number: int, source: int) -> None:
        """The saying is taken from this source, which has been read anyway."""
        if self._speaker.get(number) not in self.covered:
            self._speaker[number] = source

    def reading(self, source: int) -> int:
        """What it costs to read a source: nothing the second time."""
        return 0 if source in self.covered else self.ranked.sources[source].tokens

    def worth(self, number: int, tokens: int, size: int) -> float:
        """What saying this now is worth for ``tokens`` of the budget and ``size`` bytes of the text."""
        gains, saying = self.ranked.gains, self.ranked.sayings[number]
        whole = sum(gains[term] for term in saying.terms)
        new = sum(gains[term] * SAID_AGAIN ** self._said[term] for term in saying.terms) / whole if whole else 1.0
        cost = tokens / self.budget + size / MAX_TEXT_BYTES
        worth: float = saying.weight * (1 - NOVEL + NOVEL * new) / cost**THRIFT
        return round(worth, 6)

    def fits(self, choice: Choice) -> bool:
        return choice.tokens + self.reading(choice.source) <= self.left and choice.size <= self.room

    def take(self, choice: Choice) -> None:
        self.left -= choice.tokens + self.reading(choice.source)
        self.room -= choice.size
        self.covered.add(choice.source)
        self.chosen.append(choice)
        self._said.update(self.ranked.sayings[choice.number].terms)

    def undo(self) -> None:
        """What was read on with is not read; when nothing was, the last choice is not made."""
        if self.extra:
            self.covered.discard(self.extra.pop())
            return
        last = self.chosen.pop()
        if not self.entire and all(each.source != last.source for each in self.chosen):
            self.covered.discard(last.source)

    def cover(self, source: int) -> None:
        self.left -= self.reading(source)
        self.covered.add(source)

    def alone(self, choice: Choice, *, covered: int) -> int:
        """The tokens of an archive of this one sentence."""
        section = Section("", (Kept(choice.text, ()),))
        text = rendering.text_of((section,), covered=covered, corpus=len(self.ranked.sources))
        return token_budget.count(text)
