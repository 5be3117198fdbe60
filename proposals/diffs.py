"""The diff of two artifacts, by line and by word, for the page. Pure, but for the sizes that it remembers.

It compares a readable form: members sorted, one per line, and strings split at their line breaks; so two texts with
equal JSON values do not differ.
"""

import hashlib
import json
import re
from collections.abc import Iterator

from memory.text import differences
from memory.text.differences import ADDED, CHANGED, MAX_LINES, REMOVED, SAME, Diff, Piece

__all__ = [
    "ADDED",
    "CHANGED",
    "MAX_LINES",
    "REMOVED",
    "SAME",
    "Diff",
    "Piece",
    "between",
    "readable",
    "remembered_size",
    "size_of_change",
]

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
INDENT = "  "
SIZES_KEPT = 10_000
LINE_BREAK_IN_A_STRING = re.compile(r"(?<!\\)((?:\\\\)*)\\n")

_sizes: dict[tuple[bytes, bytes], tuple[int, int]] = {}


def between(old: str, new: str) -> Diff:
    """The diff from the artifact text ``old`` to ``new``; with an empty ``old`` every line is added."""
    return differences.diff_lines(readable(old), readable(new))


def size_of_change(old: str, new: str) -> tuple[int, int]:
    """The numbers of lines added and removed in ``between``; a changed line counts in both."""
    return differences.size(readable(old), readable(new))


def remembered_size(old: str, new: str) -> tuple[int, int]:
    """``size_of_change``, remembered by the digests of both texts: a list shows the same changes again and again."""
    key = (_digest(old), _digest(new))
    found = _sizes.get(key)
    if found is None:
        found = size_of_change(old, new)
        if len(_sizes) >= SIZES_KEPT:
            _sizes.clear()
        _sizes[key] = found
    return found


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def readable(text: str) -> list[str]:
    """The lines of an artifact in the form that is shown and compared."""
    if not text:
        return []
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return text.splitlines()
    lines = json.dumps(document, indent=2, ensure_ascii=False, sort_keys=True).split("\n")
    return [part for line in lines for part in _broken(line)]


def _broken(line: str) -> list[str]:
    """Split a line after each escaped line break in its string."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return LINE_BREAK_IN_A_STRING.sub(rf"\1\\n\n{indent}", line).split("\n")


def laid_out(text: str) -> str:
    """Format a one-line JSON text with one member per line; a text with several lines is returned unchanged."""
    return text if "\n" in text.strip() else "".join(_pieces(TOKEN.findall(text)))


def _pieces(tokens: list[str]) -> Iterator[str]:
    depth = 0
    for before, piece, after in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        if piece in "{[":
            empty = after in ("}", "]")
            depth += not empty
            yield piece if empty else piece + _line(depth)
        elif piece in "}]":
            opened = before in ("{", "[")
            depth -= not opened
            yield piece if opened else _line(depth) + piece
        else:
            yield {",": f",{_line(depth)}", ":": ": "}.get(piece, piece)


def _line(depth: int) -> str:
    return "\n" + INDENT * depth
