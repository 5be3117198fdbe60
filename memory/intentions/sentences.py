"""A text as sentences, each with its place; what is quoted is blanked out. Pure."""

import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST_TEXT = 20_000
LONGEST = 400

BREAK = re.compile(r"[.!?]+(?=[\s\"')\]]|$)|;|\n+")
ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[a-z]|[ap]\.m|e\.g|i\.e|mr|mrs|ms|dr|st|no|vs|inc|ltd|co|approx"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tues?|wed|thu(?:rs)?|fri|sat|sun)$",
    re.IGNORECASE,
)
QUOTED = re.compile(
    r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|«[^»\n]{0,400}»|`[^`\n]{0,400}`"
    r"|(?<![\w'])'(?=\w)(?:[^'\n]|(?<=\w)'(?=\w)){0,400}'(?!\w)"
)
QUOTED_LINE = re.compile(r"^[ \t]*>[^\n]*", re.MULTILINE)
SINGLE_WORDS = re.compile(r"\S+")
TITLE = 3  # so many words in quotation marks may be a name


class Sentence(NamedTuple):
    """From character ``starts`` to ``ends`` of the text; ``text`` has the same length."""

    starts: int
    ends: int
    text: str

    @property
    def asks(self) -> bool:
        return self.text.rstrip("\"') ]").endswith("?")


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of the first 20,000 characters, in order; one of more than 400 characters is not looked at."""
    plain = _unquoted(text[:LONGEST_TEXT].replace("\u2019", "'").replace("\u00a0", " "))
    begins = 0
    for ends in [*_breaks(plain), len(plain)]:
        piece = plain[begins:ends]
        starts = begins + len(piece) - len(piece.lstrip())
        stops = begins + len(piece.rstrip())
        if 0 < stops - starts <= LONGEST:
            yield Sentence(starts, stops, plain[starts:stops])
        begins = ends


def _breaks(text: str) -> Iterator[int]:
    for found in BREAK.finditer(text):
        before = text[max(0, found.start() - 10) : found.start()]
        if found[0] != "." or not ABBREVIATION.search(before):
            yield found.end()


def _unquoted(text: str) -> str:
    """Quotations are blanks; a name of up to three words in quotation marks loses only the marks."""
    lines = QUOTED_LINE.sub(lambda found: " " * len(found[0]), text)
    return QUOTED.sub(_blank, lines)


def _blank(found: re.Match[str]) -> str:
    inside = found[0][1:-1]
    is_title = len(SINGLE_WORDS.findall(inside)) <= TITLE and inside[:1].isupper()
    return f" {inside} " if is_title else " " * len(found[0])
