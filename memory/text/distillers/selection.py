"""What is chosen under a budget so far, what that cost, and what one more sentence would cost and be worth. Pure.

A sentence costs its line and, once, the reading of an entry that says it. It is worth less the more of its terms have
been said already.
"""

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory.text import token_budget
from memory.text.distillers import archive_text
from memory.text.distillers.ranking import Ranked, Step, may_head, ranked, split
from memory.text.distillers.sources import BudgetTooSmall, Distilled, Kept, NothingToKeep, Section, Source

MAX_TEXT_BYTES = 65_536
SAID_AGAIN = 0.5
NOVEL = 0.35
THRIFT = 0.4
TITLE_BYTES = 64
POOL = 16
MISSES = 2000
ENTIRE = 1.25
ROOM_FOR_TOPICS = 64
BYTES_FOR_TOPICS = 512
Waiting = tuple[bool, float, int]
MAX_TOPIC = 40


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
            self._line[text] = token_budget.count(archive_text.item(text))
        return Choice(number, source, text, self._line[text], len(archive_text.item(text).encode()))

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
        text = archive_text.text_of((section,), covered=covered, corpus=len(self.ranked.sources))
        return token_budget.count(text)


def select(ranked: Ranked, budget: int) -> Selection:
    """The selection under ``budget``: at least one sentence. Raises ``BudgetTooSmall`` when there is room for none."""
    selection = Selection(ranked, budget)
    protected = _best_of_protected(ranked)
    first = _first(selection, protected)
    count = len(ranked.sources)
    selection.left -= token_budget.count(archive_text.title(count, count)) + min(budget // 16, ROOM_FOR_TOPICS)
    selection.room -= BYTES_FOR_TOPICS
    total = sum(source.tokens for source in ranked.sources)
    if max(total * ENTIRE, total + selection.alone(first, covered=count)) <= budget:
        selection.entire = True
        for source in range(count):
            selection.cover(source)
    selection.take(first)
    _fill(selection, frozenset(protected))
    _read_on(selection)
    return selection


def _first(selection: Selection, protected: list[int]) -> Choice:
    """The best that may stand alone and fits: of the protected entries; where none is, of the weightiest sayings."""
    sayings = selection.ranked.sayings
    found = protected or sorted(range(len(sayings)), key=lambda number: (-sayings[number].weight, number))
    roomy = (choice for choice in map(selection.choice, found) if choice.size <= selection.room)
    pool = [choice for choice, _ in zip(roomy, found if protected else range(POOL), strict=False)]
    if not pool:
        raise NothingToKeep("no sentence is short enough for an archive")
    sources = selection.ranked.sources
    costs = [sources[each.source].tokens + selection.alone(each, covered=1) for each in pool]
    fitting = [choice for choice, cost in zip(pool, costs, strict=True) if cost <= selection.budget]
    if not fitting:
        raise BudgetTooSmall(min(costs))
    return fitting[0]


def _best_of_protected(ranked: Ranked) -> list[int]:
    """The weightiest saying of each protected source, the weightiest first."""
    best: dict[int, int] = {}
    if not any(source.protected for source in ranked.sources):
        return []
    order = sorted(range(len(ranked.sayings)), key=lambda number: (-ranked.sayings[number].weight, number))
    for number in order:
        for source in ranked.sayings[number].speakers:
            if ranked.sources[source].protected:
                best.setdefault(source, number)
    return list(dict.fromkeys(best.values()))


def _fill(selection: Selection, protected: frozenset[int]) -> None:
    """What is worth most for its cost is taken, until nothing more fits."""
    heap = _queue(selection, protected)
    sayings_of = _by_source(selection.ranked)
    done, misses = {each.number for each in selection.chosen}, 0
    while heap and misses < MISSES:
        last, price, number = heapq.heappop(heap)
        if number in done:
            continue
        choice = selection.choice(number)
        waiting = _waiting(selection, choice, protected)
        if waiting > (last, price, number) and heap and waiting > heap[0]:
            heapq.heappush(heap, waiting)
        elif not selection.fits(choice):
            misses += 1
        else:
            misses = 0
            done.add(number)
            fresh = choice.source not in selection.covered
            selection.take(choice)
            for other in sayings_of[choice.source] if fresh else ():
                if other not in done:
                    selection.let_speak(other, choice.source)
                    heapq.heappush(heap, _waiting(selection, selection.choice(other), protected))


def _queue(selection: Selection, protected: frozenset[int]) -> list[Waiting]:
    """Every saying by about what it is worth for its cost: tokens are guessed until its turn comes, never too many."""
    heap: list[Waiting] = []
    for number, saying in enumerate(selection.ranked.sayings):
        reading = min(selection.reading(source) for source in saying.speakers)
        shortest = min(map(len, saying.texts))
        worth = selection.worth(number, reading + shortest // 6 + 2, shortest)
        heap.append((number not in protected, -worth, number))
    heapq.heapify(heap)
    return heap


def _waiting(selection: Selection, choice: Choice, protected: frozenset[int]) -> Waiting:
    tokens = choice.tokens + selection.reading(choice.source)
    return choice.number not in protected, -selection.worth(choice.number, tokens, choice.size), choice.number


def _by_source(ranked: Ranked) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in ranked.sources]
    for number, saying in enumerate(ranked.sayings):
        for source in saying.speakers:
            found[source].append(number)
    return found


def _read_on(selection: Selection) -> None:
    """With what is left, more entries are read: those that say again what was chosen, then the newest."""
    if selection.entire:
        return
    sayings = selection.ranked.sayings
    again = [source for each in selection.chosen for source in sayings[each.number].speakers]
    for source in dict.fromkeys([*reversed(again), *range(len(selection.ranked.sources) - 1, -1, -1)]):
        if selection.left <= 0:
            break
        if source not in selection.covered and selection.reading(source) <= selection.left:
            selection.cover(source)
            selection.extra.append(source)


def distil(sources: Sequence[Source], budget: int, *, step: Step | None = None) -> Distilled:
    """What is worth keeping of ``sources``, in whatever order given, within ``budget`` tokens of input and output.

    Raises ``BudgetTooSmall`` when nothing meaningful fits, and ``NothingToKeep`` when there is nothing, or nothing
    short enough. ``step`` is told now and then how many of how many sources have been read.
    """
    found = ranked(sorted(sources, key=lambda source: (source.said_at, source.id)), step)
    selection = select(found, budget)
    while True:
        made = _composed(selection)
        if _fits(made, budget):
            return made
        selection.undo()


def fit_answer(plan: Distilled, answer: str, budget: int) -> Distilled:
    """What an endpoint said of the sources of ``plan``: as many of its sentences, whole, as the budget has room for.

    They come from all the sources together. Raises ``NothingToKeep`` when none fits.
    """
    title = archive_text.title(len(plan.covered), plan.corpus_count)
    left = budget - plan.input_tokens - token_budget.count(title)
    room = MAX_TEXT_BYTES - len(title)
    kept: list[Kept] = []
    for sentence in dict.fromkeys(split(answer)):
        line = archive_text.item(sentence)
        tokens, size = token_budget.count(line), len(line.encode())
        if tokens <= left and size <= room:
            left, room = left - tokens, room - size
            kept.append(Kept(sentence, ()))
    while kept:
        made = _retold(plan, kept)
        if _fits(made, budget):
            return made
        kept.pop()
    raise NothingToKeep("the endpoint answered with no sentence that fits")


def _fits(made: Distilled, budget: int) -> bool:
    return made.tokens_used <= budget and len(made.text.encode()) <= MAX_TEXT_BYTES


def _retold(plan: Distilled, kept: list[Kept]) -> Distilled:
    sections = (Section("", tuple(kept)),)
    text = archive_text.text_of(sections, covered=len(plan.covered), corpus=plan.corpus_count)
    return replace(plan, sections=sections, text=text, output_tokens=token_budget.count(text))


def _composed(selection: Selection) -> Distilled:
    """With as many topics as there is room for: all, or none."""
    plain = _with_topics(selection, [""] * len(selection.chosen))
    topics = archive_text.topics_of([_about(selection, choice) for choice in selection.chosen])
    headed = _with_topics(selection, topics)
    return headed if _fits(headed, selection.budget) else plain


def _with_topics(selection: Selection, topics: list[str]) -> Distilled:
    sources = selection.ranked.sources
    kept = [_kept(selection, choice) for choice in selection.chosen]
    sections = archive_text.sections_of(kept, topics)
    text = archive_text.text_of(sections, covered=len(selection.covered), corpus=len(sources))
    return Distilled(
        sections,
        tuple(sources[number].id for number in sorted(selection.covered)),
        len(sources),
        sum(sources[number].tokens for number in selection.covered),
        token_budget.count(text),
        text,
    )


def _kept(selection: Selection, choice: Choice) -> Kept:
    sources, saying = selection.ranked.sources, selection.ranked.sayings[choice.number]
    verbatim = [number for number in saying.texts[choice.text] if number in selection.covered]
    others = sorted(selection.covered.intersection(saying.speakers).difference(verbatim))
    return Kept(choice.text, tuple(sources[n].id for n in verbatim), tuple(sources[n].id for n in others))


def _about(selection: Selection, choice: Choice) -> list[tuple[str, float]]:
    """What a topic may be made of: the telling words of the sentence, and the tags of where it stands."""
    found = selection.ranked
    terms = ((found.names[term], found.gains[term] ** 2) for term in found.sayings[choice.number].terms)
    words = {term: gain for term, gain in terms if may_head(term)}
    tags = {tag: found.tag_gains[tag] ** 2 for tag in found.sources[choice.source].tags if _may_head(tag)}
    return list((words | tags).items())


def _may_head(tag: str) -> bool:
    return 0 < len(tag.strip()) == len(tag) <= MAX_TOPIC and tag.isprintable()
