"""The lines of a summary, and how they are put together. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

GAIN, LOSS, CHANGE, NOTE = "gain", "loss", "change", "note"
TONES = (GAIN, LOSS, CHANGE, NOTE)
MOST_LINES = 60
LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Line:
    """One change. ``tone`` is ``gain``, ``loss``, ``change`` or ``note``."""

    tone: str
    words: str


@dataclass(frozen=True, slots=True)
class Summary:
    """What changes, and the next instants at which the new one would tick, when it ticks at all."""

    lines: tuple[Line, ...]
    ticks: tuple[datetime, ...] = ()


def gain(words: str) -> Line:
    return Line(GAIN, words)


def loss(words: str) -> Line:
    return Line(LOSS, words)


def change(words: str) -> Line:
    return Line(CHANGE, words)


def note(words: str) -> Line:
    return Line(NOTE, words)


def named(name: object) -> str:
    """A name out of an artifact, short enough for a line."""
    text = " ".join(str(name).split())
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def listed(names: Iterable[object]) -> str:
    return ", ".join(named(name) for name in names)


def ordered(lines: Iterable[Line]) -> tuple[Line, ...]:
    """The lines by tone, gains first; what is beyond the bound is counted."""
    found = sorted(lines, key=lambda line: TONES.index(line.tone))
    rest = len(found) - MOST_LINES
    return (*found[:MOST_LINES], note(f"And {rest} more changes.")) if rest > 0 else tuple(found)


def sets(what: str, old: Iterable[str], new: Iterable[str]) -> list[Line]:
    """What ``new`` has and ``old`` has not, and the other way round, a line each way; its tone says which."""
    before, after = list(old), list(new)
    gained = [each for each in after if each not in before]
    lost = [each for each in before if each not in after]
    lines = [gain(f"{what}: {listed(gained)}")] if gained else []
    return lines + ([loss(f"{what}: {listed(lost)}")] if lost else [])


def value(what: str, old: object, new: object) -> list[Line]:
    """``what`` is another one; nothing when it is the same, and only worth knowing when there was none before."""
    if old == new:
        return []
    if old in (None, ""):
        return [note(f"{what}: {named(new)}")]
    return [change(f"{what}: {named(old)} → {named(new) if new not in (None, '') else 'none'}")]


def words_in(what: str, old: str, new: str) -> list[Line]:
    """How many words a longer text has gained and lost."""
    if old == new:
        return []
    before, after = old.split(), new.split()
    if not before:
        return [note(f"{what}: {len(after):,} words")]
    gained, lost = _counted(after, before), _counted(before, after)
    return [change(f"{what}: +{gained:,} \N{MINUS SIGN}{lost:,} words")]


def _counted(these: list[str], others: list[str]) -> int:
    rest = dict[str, int]()
    for word in others:
        rest[word] = rest.get(word, 0) + 1
    found = 0
    for word in these:
        left = rest.get(word, 0)
        rest[word] = left - 1
        found += left <= 0
    return found


def by(items: Iterable[Mapping[str, Any]], key: str) -> dict[str, Mapping[str, Any]]:
    """The items by one of their members."""
    return {str(each[key]): each for each in items}
