"""JSON laid out over several lines for somebody who edits it: white space is changed, and not one token. Pure."""

import re
from collections.abc import Iterator

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
INDENT = "  "


def laid_out(text: str) -> str:
    """``text`` with a member a line when it stands on one line; a text with lines of its own is left as it is."""
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
