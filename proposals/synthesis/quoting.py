"""Whether somebody who says a finding in other words tells more than the finding does: a number, an address, a name, a
quotation. Titles and rationales hold nobody's text, whoever words them.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

WORD = re.compile(r"@?[^\W_](?:[\w.@/\u2044-]*\w)?|@")
OPENS, CLOSES = '"`\u201c\u201e\u00ab\u2039\u300c\u2018', '"`\u201c\u201d\u00bb\u203a\u300d\u2019'
QUOTED = re.compile(rf"[{OPENS}](.+?)(?:[{CLOSES}]|$)|(?<!\w)'(\S.*?)(?:'(?!\w)|$)", re.DOTALL)
ENDS = re.compile(r"[^.!?]*[.!?].*\s", re.DOTALL)
WITHOUT_CASE = "Lo"  # letters of a script that has no capitals, so that any of its words could be a name


@dataclass(frozen=True, slots=True)
class Word:
    """A word, where it stands, and whether a sentence begins with it."""

    text: str
    at: int
    begins: bool


def tells_more(said: str, own: str) -> bool:
    """Whether ``said`` has a number, an ``@``, a quoted or a capitalised word that ``own`` has not.

    A capital that only begins a sentence tells nothing.
    """
    known = {word.text.casefold() for word in _words(_plain(own))}
    text = _plain(said)
    quoted = [span for match in QUOTED.finditer(text) for span in (match.span(1), match.span(2))]
    return any(
        _is_telling(word) or any(first <= word.at < end for first, end in quoted)
        for word in _words(text)
        if word.text.casefold() not in known
    )


def _plain(text: str) -> str:
    """The text in one width, without signs that are not seen."""
    wide = unicodedata.normalize("NFKC", text)
    return "".join(letter for letter in wide if unicodedata.category(letter) != "Cf")


def _words(text: str) -> Iterator[Word]:
    end = 0
    for match in WORD.finditer(text):
        gap = text[end : match.start()]
        yield Word(match[0], match.start(), end == 0 or "\n" in gap or ENDS.match(gap) is not None)
        end = match.end()


def _is_telling(word: Word) -> bool:
    text = word.text
    if "@" in text or any(letter.isnumeric() or unicodedata.category(letter) == WITHOUT_CASE for letter in text):
        return True
    return any(letter.isupper() or letter.istitle() for letter in (text[1:] if word.begins else text))
