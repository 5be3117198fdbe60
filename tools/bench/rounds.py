"""How things are compared: call by call in turn, a median a round, and the median of the rounds."""

import gc
from collections.abc import Callable, Mapping
from math import log
from statistics import linear_regression, median
from time import perf_counter_ns

Call = Callable[[], object]
WARM_UP = 20


def sweep() -> None:
    """What was left before is collected, and what stays is set aside, as the console's processes do; the collector
    stays on. One collection that went through all that is imported took 60 ms."""
    gc.collect()
    gc.freeze()


def one_round(sides: list[Call], calls: int) -> list[float]:
    """The median seconds of a call of each side; the sides take turns, so what disturbs one disturbs all."""
    times: list[list[int]] = [[] for _ in sides]
    sweep()
    for _ in range(calls):
        for side, taken in zip(sides, times, strict=True):
            began = perf_counter_ns()
            side()
            taken.append(perf_counter_ns() - began)
    return [median(taken) / 1e9 for taken in times]


def rounds_of(sides: list[Call], *, rounds: int, calls: int) -> list[list[float]]:
    """The medians of every round, after every side was warmed up."""
    one_round(sides, min(WARM_UP, calls))
    return [one_round(sides, calls) for _ in range(rounds)]


def ratio(ours: Call, theirs: Call, *, rounds: int, calls: int) -> float:
    """How many times as long ours takes as theirs: the median of the rounds."""
    return median(mine / other for mine, other in rounds_of([ours, theirs], rounds=rounds, calls=calls))


def ratio_apart(slow: Call, quick: Call, *, rounds: int, calls: int, quick_calls: int) -> float:
    """How many times as long ``slow`` takes as ``quick``, one after the other in each round.

    For sides so unequal that a call of the slow one leaves nothing in the processor's caches for the quick one.
    """
    taken = [one_round([slow], calls)[0] / one_round([quick], quick_calls)[0] for _ in range(rounds)]
    return median(taken)


def growth(at_size: Mapping[int, Call], *, rounds: int, calls: int) -> float:
    """The exponent k of time = c * size**k: the median of the rounds."""
    sizes = [log(size) for size in at_size]
    taken = rounds_of(list(at_size.values()), rounds=rounds, calls=calls)
    return median(linear_regression(sizes, [log(each) for each in times]).slope for times in taken)
