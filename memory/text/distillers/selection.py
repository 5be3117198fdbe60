"""What is chosen under a budget so far, what that cost, and what one more sentence would cost and be worth.

A sentence costs its line and, once, the reading of an entry that says it. It is worth what its terms tell, less the
more of them have been said already. The budget bounds what is read and written together, the target what is written.
"""

import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache

from memory.text import json_texts, search_words, token_budget
from memory.text.distillers import archive_text
from memory.text.distillers.ranking import (
    GENERAL,
    SPEAKER,
    WORD,
    BudgetTooSmall,
    Distilled,
    Kept,
    NothingToKeep,
    Ranked,
    Section,
    Source,
    Step,
    may_head,
    names_a_thing,
    nouns_of,
    ranked,
    wording,
)
from memory.text.distillers.sentences import is_block, split

MAX_TEXT_BYTES = 65_536
SAID_AGAIN = 0.6
THRIFT = 0.85
SOMETHING = 0.05  # what a sentence of small words is worth, so that it is not nothing
TITLE_BYTES = 160
ROOM_FOR_TITLE = 16
POOL = 16
MISSES = 2000
ENTIRE = 1.25
ROOM_FOR_TOPICS = 64
BYTES_FOR_TOPICS = 512
DAY_TOKENS = 8  # of a day before a sentence
Waiting = tuple[bool, float, int]
MAX_TOPIC = 40
# Of a title: how much the number of a word in all sources counts, what is left of the weight of one that is no noun, or
# says little, and from which share of the sentences on a name before a colon is that of a speaker.
SAMPLE, LIKELY = 100, 150  # sentences whose language is looked at, and words that may come into a title
RECURRING, OTHER_WORD, VAGUE, SPEAKS, RARE = 1.5, 0.3, 0.2, 0.2, 4


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

    def __init__(self, ranked: Ranked, budget: int, target: int) -> None:
        self.ranked, self.budget, self.target = ranked, budget, target
        self.chosen: list[Choice] = []
        self.covered: set[int] = set()
        self.extra: list[int] = []
        self.entire = False
        self.left, self.unsaid, self.room = budget, target, MAX_TEXT_BYTES - TITLE_BYTES
        self._said: Counter[int] = Counter()
        self._news = list(ranked.gains)  # what each term is still worth
        self._line: dict[str, int] = {}
        self._speaker: dict[int, int] = {}
        self._choice: dict[int, Choice] = {}

    def choice(self, number: int) -> Choice:
        """The saying in the words of the source that is cheapest to read: protected ones first, then the newest."""
        known = self._choice.get(number)
        if known:
            return known
        if number not in self._speaker:
            sources, speakers = self.ranked.sources, self.ranked.sayings[number].speakers
            self._speaker[number] = min(speakers, key=lambda at: (not sources[at].protected, self.reading(at), -at))
        source = self._speaker[number]
        text = self.ranked.sayings[number].text_of(source)
        if text not in self._line:
            self._line[text] = token_budget.count(archive_text.line(text))
        found = Choice(number, source, text, self._line[text], len(archive_text.line(text).encode()))
        self._choice[number] = found
        return found

    def let_speak(self, number: int, source: int) -> None:
        """The saying is taken from this source, which has been read anyway."""
        if self._speaker.get(number) not in self.covered:
            self._speaker[number] = source
            self._choice.pop(number, None)

    def reading(self, source: int) -> int:
        """What it costs to read a source: nothing the second time."""
        return 0 if source in self.covered else self.ranked.sources[source].tokens

    def worth(self, number: int, reading: int, writing: int, size: int) -> float:
        """What saying this now is worth for what it costs: tokens to read and to write, and bytes of the text."""
        news, saying = self._news, self.ranked.sayings[number]
        new = sum([news[term] for term in saying.terms])
        cost = (reading + writing) / self.budget + writing / self.target + size / MAX_TEXT_BYTES
        worth: float = saying.weight * (new + SOMETHING) / cost**THRIFT
        return round(worth, 6)

    def fits(self, choices: Sequence[Choice]) -> bool:
        reading = sum(self.reading(source) for source in {each.source for each in choices})
        writing = sum(each.tokens for each in choices)
        room = sum(each.size for each in choices)
        return reading + writing <= self.left and writing <= self.unsaid and room <= self.room

    def take(self, choice: Choice) -> None:
        self.left -= choice.tokens + self.reading(choice.source)
        self.unsaid -= choice.tokens
        self.room -= choice.size
        self.covered.add(choice.source)
        self.chosen.append(choice)
        for term in self.ranked.sayings[choice.number].terms:
            self._said[term] += 1
            self._news[term] = self.ranked.gains[term] * SAID_AGAIN ** self._said[term]

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

    def alone(self, choice: Choice) -> int:
        """The tokens of an archive of this one sentence."""
        section = Section("", (Kept(choice.text, ()),))
        title = _title(self, [choice], Fitness.over(self.ranked, [choice]))
        return token_budget.count(archive_text.text_of(title, (section,)))


def select(ranked: Ranked, budget: int, target: int) -> Selection:
    """The selection under ``budget``: at least one sentence, and else no more than ``target`` tokens of them.

    Raises ``BudgetTooSmall`` when there is room for none.
    """
    selection = Selection(ranked, budget, target)
    protected = _best_of_protected(ranked)
    heap = _queue(selection, frozenset(protected))
    first = _first(selection, protected or [number for _, _, number in heapq.nsmallest(POOL, heap)])
    count, total = len(ranked.sources), sum(source.tokens for source in ranked.sources)
    headings = ROOM_FOR_TITLE + min(min(budget, target) // 16, ROOM_FOR_TOPICS)
    selection.left, selection.unsaid = selection.left - headings, selection.unsaid - headings
    selection.room -= BYTES_FOR_TOPICS
    if max(total * ENTIRE, total + selection.alone(first)) <= budget:
        selection.entire = True
        for source in range(count):
            selection.cover(source)
    question = _question(selection, first, set())
    for each in [*question, first] if selection.fits([*question, first]) else [first]:
        selection.take(each)
    _fill(selection, frozenset(protected), heap)
    _read_on(selection)
    return selection


def _first(selection: Selection, pool: list[int]) -> Choice:
    """The first of these that may stand alone and fits the target; where none does, the shortest in the budget."""
    roomy = [choice for choice in map(selection.choice, pool) if choice.size <= selection.room]
    if not roomy:
        every = range(len(selection.ranked.sayings))
        roomy = [choice for choice in map(selection.choice, every) if choice.size <= selection.room][:POOL]
    if not roomy:
        raise NothingToKeep("no sentence is short enough for an archive")
    written = {choice: selection.alone(choice) for choice in roomy}
    costs = {choice: selection.ranked.sources[choice.source].tokens + written[choice] for choice in roomy}
    fitting = [choice for choice in roomy if costs[choice] <= selection.budget]
    if not fitting:
        raise BudgetTooSmall(min(costs.values()))
    within = (choice for choice in fitting if written[choice] <= selection.target)
    return next(within, min(fitting, key=lambda choice: written[choice]))


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


def _fill(selection: Selection, protected: frozenset[int], heap: list[Waiting]) -> None:
    """What is worth most for its cost is taken, until nothing more fits; what needs its question, with it."""
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
            continue
        wanted = [choice, *_question(selection, choice, done)]
        if not selection.fits(wanted):
            misses += 1
            continue
        misses = 0
        for each in wanted:
            done.add(each.number)
            fresh = each.source not in selection.covered
            selection.take(each)
            for other in sayings_of[each.source] if fresh else ():
                if other not in done:
                    selection.let_speak(other, each.source)
                    heapq.heappush(heap, _waiting(selection, selection.choice(other), protected))


def _question(selection: Selection, choice: Choice, done: set[int]) -> list[Choice]:
    saying = selection.ranked.sayings[choice.number]
    if not saying.needs_its_question or saying.question is None or saying.question in done:
        return []
    return [selection.choice(saying.question)]


def _queue(selection: Selection, protected: frozenset[int]) -> list[Waiting]:
    """Every saying by about what it is worth for its cost: tokens are guessed until its turn comes, never too many."""
    heap: list[Waiting] = []
    for number, saying in enumerate(selection.ranked.sayings):
        reading = min(selection.reading(source) for source in saying.speakers)
        shortest = min(map(len, saying.texts))
        worth = selection.worth(number, reading, shortest // 6 + 1, shortest)
        heap.append((number not in protected, -worth, number))
    heapq.heapify(heap)
    return heap


def _waiting(selection: Selection, choice: Choice, protected: frozenset[int]) -> Waiting:
    worth = selection.worth(choice.number, selection.reading(choice.source), choice.tokens, choice.size)
    return choice.number not in protected, -worth, choice.number


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


def distil(sources: Sequence[Source], budget: int, *, target: int | None = None, step: Step | None = None) -> Distilled:
    """The best of ``sources``, given in any order, within ``budget`` tokens of input and output.

    The output has at most ``target`` tokens, unless one sentence is longer. Raises ``BudgetTooSmall`` when nothing
    meaningful fits, and ``NothingToKeep`` when there is nothing, or nothing short enough. ``step`` is called now and
    then with how many of how many sources were read.
    """
    found = ranked(sorted(sources, key=lambda source: (source.said_at, source.id)), step)
    selection = select(found, budget, min(target or budget, budget))
    while True:
        made = _composed(selection)
        if _fits(made, budget, selection.target) or (_fits(made, budget, budget) and len(selection.chosen) == 1):
            return made
        selection.undo()


def fit_answer(plan: Distilled, answer: str, budget: int, *, target: int | None = None) -> Distilled:
    """What an endpoint said of the sources of ``plan``: as many of its sentences, whole, as there is room for.

    They come from all the sources together. Raises ``NothingToKeep`` when none fits.
    """
    title = archive_text.heading(plan.title)
    left = min(budget - plan.input_tokens, target or budget) - token_budget.count(title)
    room = MAX_TEXT_BYTES - len(title.encode())
    kept: list[Kept] = []
    for sentence in dict.fromkeys(split(answer)):
        line = archive_text.line(sentence)
        tokens, size = token_budget.count(line), len(line.encode())
        if tokens <= left and size <= room:
            left, room = left - tokens, room - size
            kept.append(Kept(sentence, ()))
    while kept:
        made = _retold(plan, kept)
        if _fits(made, budget, target or budget):
            return made
        kept.pop()
    raise NothingToKeep("the endpoint answered with no sentence that fits")


def _fits(made: Distilled, budget: int, target: int) -> bool:
    within = made.tokens_used <= budget and made.output_tokens <= target
    return within and len(made.text.encode()) <= MAX_TEXT_BYTES


def _retold(plan: Distilled, kept: list[Kept]) -> Distilled:
    sections = (Section("", tuple(kept)),)
    text = archive_text.text_of(plan.title, sections)
    return replace(plan, sections=sections, text=text, output_tokens=token_budget.count(text))


def _composed(selection: Selection) -> Distilled:
    """In the order in which it was said, with the days and topics that there is room for.

    They take only what the sentences leave: as many days as fit, the best sentences first, and topics all or none.
    """
    sources = selection.ranked.sources
    choices = sorted(selection.chosen, key=lambda each: (each.source, _place(sources[each.source].text, each.text)))
    fitness = Fitness.over(selection.ranked, choices)
    about, title = _topic_weights(selection, choices, fitness), _title(selection, choices, fitness)
    topics, none = archive_text.topics_of(about), [""] * len(choices)
    days = _days(selection)
    told = list(days)
    headed = _with_topics(selection, title, choices, topics, days, told)
    if _fits(headed, selection.budget, selection.target):
        return headed
    made = _with_topics(selection, title, choices, none, days, told)
    while told and not _fits(made, selection.budget, selection.target):
        over = max(made.tokens_used - selection.budget, made.output_tokens - selection.target)
        told = told[: -max(over // DAY_TOKENS, 1)]
        made = _with_topics(selection, title, choices, none, days, told)
    return made


def _days(selection: Selection) -> dict[Choice, date]:
    """The chosen sentences that count a time from the day on which they were written, and that day; the best first."""
    sources, sayings = selection.ranked.sources, selection.ranked.sayings
    days = ((choice, sources[choice.source].written_on) for choice in selection.chosen)
    return {choice: day for choice, day in days if day and sayings[choice.number].is_relative}


def _place(text: str, sentence: str) -> int:
    """Where a source says this; in a JSON document it may be written otherwise."""
    return split(text).index(sentence) if text[:1] in ("{", "[") else text.find(sentence)


def _with_topics(
    selection: Selection,
    title: str,
    choices: list[Choice],
    topics: list[str],
    days: Mapping[Choice, date],
    told: Sequence[Choice],
) -> Distilled:
    """``days`` are those from which these sentences count their times; the text tells those of the ``told``."""
    sources, shown = selection.ranked.sources, frozenset(told)
    kept = [_kept(selection, each, days.get(each), shows_day=each in shown) for each in choices]
    sections = archive_text.sections_of(kept, topics)
    text = archive_text.text_of(title, sections)
    return Distilled(
        title,
        sections,
        tuple(sources[number].id for number in sorted(selection.covered)),
        len(sources),
        sum(sources[number].tokens for number in selection.covered),
        token_budget.count(text),
        text,
    )


def _kept(selection: Selection, choice: Choice, said_on: date | None, *, shows_day: bool) -> Kept:
    sources, saying = selection.ranked.sources, selection.ranked.sayings[choice.number]
    verbatim = [number for number in saying.texts[choice.text] if number in selection.covered]
    others = sorted(selection.covered.intersection(saying.speakers).difference(verbatim))
    said_by, restated_by = tuple(sources[n].id for n in verbatim), tuple(sources[n].id for n in others)
    return Kept(choice.text, said_by, restated_by, said_on, shows_day)


@dataclass(frozen=True, slots=True)
class Fitness:
    """Which words may stand over these sentences: things, as far as articles, capitals and lists of words tell, but not
    the keys of members."""

    nouns: frozenset[str]
    languages: int
    keys: frozenset[str]

    @classmethod
    def over(cls, found: Ranked, choices: Sequence[Choice]) -> "Fitness":
        texts = [choice.text for choice in choices]
        sample = (word for text in texts[:SAMPLE] for word in WORD.findall(text.casefold()))
        keys = {key for each in choices for key in json_texts.keys(found.sources[each.source].text)}
        languages = search_words.languages_of(sample)
        return cls(nouns_of(texts), languages, frozenset(term for key in keys for term in wording(key).terms))

    def allows(self, term: str) -> bool:
        return term not in self.keys and names_a_thing(term, self.nouns, self.languages)


def _title(selection: Selection, choices: Sequence[Choice], fitness: Fitness) -> str:
    """What the chosen sentences speak of most, by what all sources do: names and nouns that are rare in general before
    other words, and never who speaks."""
    found, nouns = selection.ranked, fitness.nouns
    speakers = _speakers(found, choices)
    said = [choice for choice in choices if not is_block(choice.text)]
    weights = dict[str, float]()
    kept = Counter(term for choice in said for term in found.sayings[choice.number].terms)
    for term, count in kept.items():
        name = found.names[term]
        if may_head(name):
            weights[name] = found.counts[term] ** RECURRING * found.gains[term] * math.sqrt(count)
            weights[name] *= (OTHER_WORD if nouns and name not in nouns else 1.0) * (VAGUE if name in GENERAL else 1.0)
    likely = heapq.nsmallest(LIKELY, weights, key=lambda name: (-weights[name], name))
    weights = {
        name: weights[name] * token_budget.rarity(name) ** RARE
        for name in likely
        if fitness.allows(name) and not any(who.startswith(name) for who in speakers)
    }
    texts = [SPEAKER.sub("", each.text, count=1) if ":" in each.text else each.text for each in said]
    return archive_text.title_of(weights, texts, nouns, fitness.allows)


def _speakers(found: Ranked, choices: Sequence[Choice]) -> set[str]:
    texts = (found.sources[each.source].text for each in choices)
    speaking = Counter(match[0] for text in texts if ":" in text and (match := SPEAKER.match(text)))
    often = [who for who, count in speaking.items() if count > max(1, SPEAKS * len(choices))]
    return set(wording(" ".join(often).replace(":", "")).terms)


def _topic_weights(selection: Selection, choices: Sequence[Choice], fitness: Fitness) -> list[list[tuple[str, float]]]:
    """What topics may be made of: the nouns of each sentence (without any noun, its words), and the tags of its
    source that not all sources have, each with how telling it is."""
    found, nouns = selection.ranked, fitness.nouns
    allows = cache(fitness.allows)
    about = []
    for choice in choices:
        terms = ((found.names[term], found.gains[term] ** 2) for term in found.sayings[choice.number].terms)
        words = {
            term: gain for term, gain in terms if (not nouns or term in nouns) and term not in GENERAL and allows(term)
        }
        tags = found.sources[choice.source].tags
        telling = {tag: found.tag_gains[tag] ** 2 for tag in tags if tag in found.tag_gains and _may_head(tag)}
        about.append(list((telling if is_block(choice.text) else words | telling).items()))
    return about


def _may_head(tag: str) -> bool:
    return 0 < len(tag.strip()) == len(tag) <= MAX_TOPIC and tag.isprintable()
