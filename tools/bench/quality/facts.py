"""Facts: texts with slots, each with the ways in which it may be said without another word in it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, NamedTuple

from tools.bench.quality import slots

SLOT = re.compile(r"\{([a-z]+)(\d?)\}")


class Piece(NamedTuple):
    """A part of a text; ``fixed`` is an identity or a value, which no restatement touches."""

    text: str
    fixed: bool


Pieces = list[Piece]


@dataclass(frozen=True, slots=True)
class Template:
    """A kind of fact. ``say`` are its word orders; ``value`` is the slot that may change, ``kind`` how.

    An ``event`` may happen again with another value, which takes nothing back. ``plain`` texts are not English prose:
    only some restatements apply. ``dependent`` slots follow from the others, so two facts never differ in these alone.
    With ``cue`` only the texts of ``update`` say that the value has changed.
    """

    id: str
    topic: str
    say: tuple[str, ...]
    paraphrase: tuple[str, ...]
    update: tuple[str, ...] = ()
    value: str = ""
    kind: str = ""
    event: bool = False
    again: tuple[str, ...] = ()
    plain: str = ""
    cue: bool = False
    dependent: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        return bool(self.value) and not self.event

    @property
    def slots(self) -> list[str]:
        return slots_of(self.say[0])

    @property
    def identities(self) -> list[str]:
        """The slots that say what the fact is about."""
        return [each for each in self.slots if kind_of(each) in slots.IDENTITIES and each != self.value]


def slots_of(text: str) -> list[str]:
    return list(dict.fromkeys(name + number for name, number in SLOT.findall(text)))


def kind_of(slot: str) -> str:
    """``company2`` is a second company."""
    return slot.rstrip("0123456789")


@cache
def templates() -> tuple[Template, ...]:
    return tuple(_template(document) for document in slots.data("facts"))


def _template(document: dict[str, object]) -> Template:
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in document.items()
    }
    return Template(**{**given, "kind": given.get("kind") or given.get("value", "")})


def filled(text: str, rng: Random) -> dict[str, str]:
    """A value for each slot of the text; slots of one kind differ."""
    names = slots_of(text)
    kinds = dict.fromkeys(map(kind_of, names))
    drawn = {kind: slots.values(kind, sum(kind_of(name) == kind for name in names), rng) for kind in kinds}
    return {name: drawn[kind_of(name)].pop() for name in names}


def pieces(text: str, given: Mapping[str, str]) -> Pieces:
    """The text with its slots filled, in parts."""
    found, at = [], 0
    for slot in SLOT.finditer(text):
        found += [Piece(text[at : slot.start()], False), Piece(given[slot.group(1) + slot.group(2)], True)]
        at = slot.end()
    return [piece for piece in (*found, Piece(text[at:], False)) if piece.text]


def rendered(parts: Pieces) -> str:
    return "".join(piece.text for piece in parts)


class Registry:
    """Which identities were given to which kind of fact: no two facts of a corpus are the same by chance."""

    def __init__(self) -> None:
        self._taken: set[tuple[str, ...]] = set()

    def claim(self, kind: str, *about: str) -> bool:
        """Take the names; False when they were taken."""
        key = (kind, *about)
        if key in self._taken:
            return False
        self._taken.add(key)
        return True
