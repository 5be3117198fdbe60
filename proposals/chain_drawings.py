"""Lays out the chains of a pack as drawings: node boxes and arrows between them, in pixels. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory.host.json_types import JSONMapping, JSONObject

STEP_X, STEP_Y, BOX_X, BOX_Y = 210, 64, 170, 44
MOST_NODES, MOST_CHAINS = 40, 6


@dataclass(frozen=True, slots=True)
class Box:
    """One node; ``is_new`` when the chain that it is compared with has no such node."""

    name: str
    type_id: str
    x: int
    y: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class Arrow:
    """An edge from the right side of one node to the left side of another."""

    source: str
    target: str
    path: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """One chain; with more than ``MOST_NODES`` nodes it is listed, not drawn."""

    chain_id: str
    width: int
    height: int
    boxes: Sequence[Box]
    arrows: Sequence[Arrow]

    @property
    def is_drawn(self) -> bool:
        return len(self.boxes) <= MOST_NODES


def drawings_of(old: str, new: str) -> list[Drawing]:
    """The first ``MOST_CHAINS`` chains of the pack ``new``, compared with ``old``; empty for an invalid pack."""
    try:
        before = {each["chainId"]: each for each in json.loads(old or "{}").get("chains", ())}
        chains = json.loads(new).get("chains", ())[:MOST_CHAINS]
        return [_drawing(each, before.get(each["chainId"])) for each in chains]
    except (LookupError, TypeError, ValueError, AttributeError):
        return []


def _drawing(chain: JSONObject, before: JSONMapping | None) -> Drawing:
    nodes = {str(node["id"]): str(node["typeId"]) for node in chain["dag"]["nodes"]}
    known = {str(node["id"]) for node in before["dag"]["nodes"]} if before else set(nodes)
    edges = [(_node(edge["from"], nodes), _node(edge["to"], nodes)) for edge in chain["dag"].get("edges", ())]
    edges = [each for each in dict.fromkeys(edges) if each[0] in nodes and each[1] in nodes]
    depths = _depths(nodes, edges)
    rows: dict[int, int] = {}
    boxes = {}
    for name, type_id in nodes.items():
        row = rows[depths[name]] = rows.get(depths[name], -1) + 1
        boxes[name] = Box(name, type_id, depths[name] * STEP_X, row * STEP_Y, name not in known)
    arrows = [Arrow(source, target, _path(boxes[source], boxes[target])) for source, target in edges]
    width = max(depths.values(), default=0) * STEP_X + BOX_X
    return Drawing(
        str(chain["chainId"]), width, max(rows.values(), default=0) * STEP_Y + BOX_Y, [*boxes.values()], arrows
    )


def _node(end: str, nodes: Mapping[str, str]) -> str:
    """The node id in an edge's end, which is ``node`` or ``node.port``."""
    return end if end in nodes else end.rpartition(".")[0]


def _depths(nodes: Mapping[str, str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """By node: the length of the longest path to it; the passes are bounded, so that a cycle ends too."""
    depths = dict.fromkeys(nodes, 0)
    for _ in range(min(len(nodes), MOST_NODES)):
        deeper = {target: depths[source] + 1 for source, target in edges if depths[target] <= depths[source]}
        if not deeper:
            break
        depths |= deeper
    return depths


def _path(source: Box, target: Box) -> str:
    x, y, to_x, to_y = source.x + BOX_X, source.y + BOX_Y // 2, target.x, target.y + BOX_Y // 2
    return f"M{x} {y}C{x + 20} {y} {to_x - 20} {to_y} {to_x - 2} {to_y}"
