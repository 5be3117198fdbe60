"""Where the marks of the console's inline drawings stand. Pure: the templates draw, ``console.css`` colours."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

BAR, BAR_STEP, BAR_TOP = 6, 8, 28
LANES_BEGIN, EVENT_STEP, LANES_END = 84, 26, 20


@dataclass(frozen=True)
class Bar:
    """One bar of a sparkline, in the units of its drawing."""

    x: int
    y: float
    height: float
    label: object
    value: float


@dataclass(frozen=True)
class Bars:
    """A sparkline: its width in drawing units, its bars, and the value of the highest."""

    width: int
    bars: Sequence[Bar]
    top: float = 0


def bars(points: Iterable[tuple[object, float]]) -> Bars:
    """The ``(label, value)`` points as bars of a drawing 28 high; a zero keeps a visible foot."""
    listed = list(points)
    top = max((value for _, value in listed), default=0) or 1
    heights = [max(round((BAR_TOP - 2) * value / top, 2), 1.0) for _, value in listed]
    drawn = [
        Bar(place * BAR_STEP, round(BAR_TOP - heights[place], 2), heights[place], label, value)
        for place, (label, value) in enumerate(listed)
    ]
    return Bars(max(len(drawn) * BAR_STEP - (BAR_STEP - BAR), BAR), drawn, top)


@dataclass(frozen=True)
class Place:
    """One event on the strip of a run, and how far to the right it stands."""

    x: int
    event: Any


@dataclass(frozen=True)
class Strip:
    """The strip of a run: its width in drawing units, and where each event stands."""

    width: int
    places: Sequence[Place]


def strip(events: Iterable[object]) -> Strip:
    """The events in their order, evenly spaced to the right of the names of the lanes."""
    placed = [Place(LANES_BEGIN + place * EVENT_STEP, event) for place, event in enumerate(events)]
    return Strip(LANES_BEGIN + max(len(placed) - 1, 0) * EVENT_STEP + LANES_END, placed)
