"""The sentences that a budget has room for: input and output both counted, nothing said twice (RFC 0062 B.2). Pure.

What is protected goes first, then what is worth most for its cost; what is left of the budget reads on.
"""

import heapq

from memory import token_budget
from memory.distillers import rendering
from memory.distillers.ranking import Ranked
from memory.distillers.selection import Choice, Selection
from memory.distillers.sources import BudgetTooSmall, NothingToKeep

POOL = 16
MISSES = 2000
ENTIRE = 1.25
ROOM_FOR_TOPICS = 64
BYTES_FOR_TOPICS = 512

Waiting = tuple[bool, float, int]


def select(ranked: Ranked, budget: int) -> Selection:
    """The selection under ``budget``: at least one sentence. Raises ``BudgetTooSmall`` when there is room for none."""
    selection = Selection(ranked, budget)
    protected = _best_of_protected(ranked)
    first = _first(selection, protected)
    count = len(ranked.sources)
    selection.left -= token_budget.count(rendering.title(count, count)) + min(budget // 16, ROOM_FOR_TOPICS)
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
