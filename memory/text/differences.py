"""The difference of two texts, line by line and word by word, for a page.

Inputs are bounded, and what was left out is said.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

CONTEXT = 3
MAX_LINES = 2_000
WORDS_IN_A_LINE = 600
WORD_WORK = 400_000
WORD = re.compile(r"\s+|\w+|[^\w\s]")

SAME, ADDED, REMOVED, CHANGED = "same", "added", "removed", "changed"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line; ``changed`` when the other side does not have it."""

    text: str
    changed: bool = False


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A line of one side or of both; the side that has no such line is None."""

    kind: str
    old_number: int | None
    new_number: int | None
    old: list[Piece] | None
    new: list[Piece] | None


@dataclass(frozen=True, slots=True)
class Hunk:
    """Rows that stand together, and how many equal lines were left out before them."""

    skipped: int
    rows: list[DiffRow]


@dataclass(frozen=True, slots=True)
class Diff:
    """What differs; ``not_compared`` counts the lines beyond the bound, which were not compared."""

    hunks: list[Hunk]
    added: int
    removed: int
    skipped_after: int
    not_compared: int = 0

    @property
    def is_empty(self) -> bool:
        return not self.hunks and not self.not_compared


def diff_lines(before: list[str], after: list[str]) -> Diff:
    """What became of the lines ``before``; when there were none, every line is an added one."""
    rows = list(_rows(before[:MAX_LINES], after[:MAX_LINES]))
    beyond = max(0, len(before) - MAX_LINES) + max(0, len(after) - MAX_LINES)
    hunks, skipped_after = _folded(rows)
    added = sum(1 for row in rows if row.kind in (ADDED, CHANGED))
    removed = sum(1 for row in rows if row.kind in (REMOVED, CHANGED))
    return Diff(hunks, added, removed, skipped_after, beyond)


def words_apart(one: str, other: str) -> tuple[list[Piece], list[Piece]]:
    """Both texts whole, with each word marked that does not occur in the other."""
    texts = [WORD.findall(text) for text in (one, other)]
    there = [{word.casefold() for word in text} for text in texts]
    left, right = (
        [Piece(word, word.isalnum() and word.casefold() not in others) for word in text]
        for text, others in zip(texts, reversed(there), strict=True)
    )
    return left, right


def size(before: list[str], after: list[str]) -> tuple[int, int]:
    """How many lines ``diff_lines`` would tell as added and as removed, without looking into them."""
    opcodes = SequenceMatcher(None, before[:MAX_LINES], after[:MAX_LINES]).get_opcodes()
    moved = [(end - at, old_end - old_at) for tag, old_at, old_end, at, end in opcodes if tag != "equal"]
    return sum(added for added, _ in moved), sum(removed for _, removed in moved)


def _rows(before: list[str], after: list[str]) -> Iterator[DiffRow]:
    work = _Work(WORD_WORK)
    for tag, old_at, old_end, new_at, new_end in SequenceMatcher(None, before, after).get_opcodes():
        olds = list(enumerate(before[old_at:old_end], start=old_at + 1))
        news = list(enumerate(after[new_at:new_end], start=new_at + 1))
        if tag == "equal":
            yield from (_same(old, new) for old, new in zip(olds, news, strict=True))
            continue
        paired = min(len(olds), len(news))
        yield from (_changed(old, new, work) for old, new in zip(olds, news, strict=False))
        yield from (DiffRow(REMOVED, number, None, [Piece(line)], None) for number, line in olds[paired:])
        yield from (DiffRow(ADDED, None, number, None, [Piece(line)]) for number, line in news[paired:])


def _same(old: tuple[int, str], new: tuple[int, str]) -> DiffRow:
    return DiffRow(SAME, old[0], new[0], [Piece(old[1])], [Piece(new[1])])


class _Work:
    """How much comparing of words one difference may still do; beyond it whole lines are marked."""

    def __init__(self, left: int) -> None:
        self.left = left

    def allows(self, old: list[str], new: list[str]) -> bool:
        cost = len(old) * len(new)
        fits = max(len(old), len(new)) <= WORDS_IN_A_LINE and cost <= self.left
        self.left -= cost if fits else 0
        return fits


def _changed(old: tuple[int, str], new: tuple[int, str], work: _Work) -> DiffRow:
    before, after = WORD.findall(old[1]), WORD.findall(new[1])
    if not work.allows(before, after):
        return DiffRow(CHANGED, old[0], new[0], [Piece(old[1], changed=True)], [Piece(new[1], changed=True)])
    opcodes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    left = _joined(("".join(before[at:end]), tag != "equal") for tag, at, end, _, _ in opcodes)
    right = _joined(("".join(after[at:end]), tag != "equal") for tag, _, _, at, end in opcodes)
    return DiffRow(CHANGED, old[0], new[0], left, right)


def _joined(parts: Iterable[tuple[str, bool]]) -> list[Piece]:
    return [Piece(text, changed) for text, changed in parts if text]


def _folded(rows: list[DiffRow]) -> tuple[list[Hunk], int]:
    """The rows in hunks with a little context; equal lines far from every change are counted instead."""
    shown = sorted({near for at, row in enumerate(rows) if row.kind != SAME for near in _around(at, len(rows))})
    hunks: list[Hunk] = []
    last = -1
    for at in shown:
        if at == last + 1 and hunks:
            hunks[-1].rows.append(rows[at])
        else:
            hunks.append(Hunk(at - last - 1, [rows[at]]))
        last = at
    return hunks, len(rows) - last - 1


def _around(at: int, length: int) -> range:
    return range(max(0, at - CONTEXT), min(length, at + CONTEXT + 1))
