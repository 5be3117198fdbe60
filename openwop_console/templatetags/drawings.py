"""The geometry of the console's inline drawings. Pure: the templates draw, and ``console.css`` colours."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

BAR, BAR_STEP, BAR_TOP = 6, 8, 28
LANES_BEGIN, LANES_END, STRIP_WIDTH = 84, 20, 960
STEPS = (26, 96)  # the least and the most between two events
LETTER = 6.5  # about the width of a letter of a name


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
    """A sparkline: its width in drawing units, its bars, and the highest value."""

    width: int
    bars: Sequence[Bar]
    top: float = 0


def bars(points: Iterable[tuple[object, float]], top: float = 0) -> Bars:
    """Lay out the ``(label, value)`` points as bars of a drawing 28 high; a zero keeps a visible foot.

    ``top`` is the value as high as the drawing, which several drawings share so that they can be compared; by default
    the highest of the points.
    """
    listed = list(points)
    top = top or max((value for _, value in listed), default=0) or 1
    heights = [max(round((BAR_TOP - 2) * value / top, 2), 1.0) for _, value in listed]
    drawn = [
        Bar(place * BAR_STEP, round(BAR_TOP - heights[place], 2), heights[place], label, value)
        for place, (label, value) in enumerate(listed)
    ]
    return Bars(max(len(drawn) * BAR_STEP - (BAR_STEP - BAR), BAR), drawn, top)


@dataclass(frozen=True)
class Place:
    """One event on the strip of a run, its horizontal position, and the name of its node where that begins."""

    x: int
    event: Any
    name: str = ""


@dataclass(frozen=True)
class Strip:
    """The strip of a run: its width in drawing units, and the position of each event."""

    width: int
    places: Sequence[Place]


def strip(events: Iterable[Any]) -> Strip:
    """Place the events in order, evenly spaced, to the right of the lanes' names: over the width of a page if they can.
    The first event of each stretch of a node carries as much of its name as there is room for."""
    listed = list(events)
    least, most = STEPS
    step = max(least, min(most, (STRIP_WIDTH - LANES_BEGIN - LANES_END) // max(len(listed) - 1, 1)))
    names: dict[int, str] = {}
    for node, stretch in groupby(enumerate(listed), key=lambda placed: placed[1].node):
        places = [place for place, _ in stretch]
        room = int((len(places) * step - LETTER) / LETTER)
        names[places[0]] = node if len(node) <= room else f"{node[: room - 1]}…"
    placed = [Place(LANES_BEGIN + place * step, event, names.get(place, "")) for place, event in enumerate(listed)]
    return Strip(LANES_BEGIN + max(len(placed) - 1, 0) * step + LANES_END, placed)


NODE_X, NODE_Y, NODE_STEP, SIDE_STEP = 190, 44, 52, 240


@dataclass(frozen=True)
class Node:
    """One box of a lineage: its position, and the path of the arrow that joins it to the middle box."""

    mark: Any
    x: int
    y: float
    path: str


@dataclass(frozen=True)
class Lineage:
    """A lineage: the sources at the left, the results at the right, the subject in the middle."""

    width: int
    height: int
    middle_x: int
    middle_y: float
    nodes: Sequence[Node]


def lineage(made_from: Sequence[object], became: Sequence[object]) -> Lineage:
    """Lay out both sides as centred columns; an empty side takes no room."""
    rows = max(len(made_from), len(became), 1)
    height = rows * NODE_STEP - (NODE_STEP - NODE_Y)
    middle_x = SIDE_STEP if made_from else 0
    middle_y = (height - NODE_Y) / 2
    nodes = []
    for side, x in ((made_from, 0), (became, middle_x + SIDE_STEP)):
        top = (height - (len(side) * NODE_STEP - (NODE_STEP - NODE_Y))) / 2
        for row, mark in enumerate(side):
            y = top + row * NODE_STEP
            ends = (x + NODE_X, y, middle_x, middle_y) if side is made_from else (middle_x + NODE_X, middle_y, x, y)
            nodes.append(Node(mark, x, y, _curve(*ends)))
    return Lineage(middle_x + NODE_X + (SIDE_STEP if became else 0), height, middle_x, middle_y, nodes)


def _curve(x: int, y: float, to_x: int, to_y: float) -> str:
    y, to_y = y + NODE_Y / 2, to_y + NODE_Y / 2
    return f"M{x} {y}C{x + 25} {y} {to_x - 25} {to_y} {to_x - 2} {to_y}"
