"""Words: how a text is cut for full text, one way for the index and for the query, on every engine alike. Pure.

All of it works on texts in search form (``matching.search_form``). A word is a run of letters, digits and marks. A
script that is written without spaces is cut into pairs of neighbours, the last character alone, so that a text is found
inside a longer one. Because the cut words stand in every index, a change of this rule needs a migration that builds the
indexes anew.
"""

import re
import unicodedata
from dataclasses import dataclass

from memory.text.matching import search_form

LONGEST = 64
MAX_WORDS = 8
PARTS = 4
MOST_ASKED = 64
QUOTED = re.compile(r'"([^"]+)"')
# Thai to Lao, Myanmar, Khmer, Tai, kana and Han, and the signs that stand for words.
UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u2600-\u27bf\u3040-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uf900-\ufaff\U0001f000-\U0001faff\U00020000-\U0003ffff]+"
)


class _Letters(dict[int, str]):
    """What each character becomes: itself, or a space between words; found out at its first occurrence."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kept = char.isalnum() or unicodedata.category(char)[0] == "M" or UNSPACED.match(char)
        found = self[code] = char if kept else " "
        return found


_LETTERS = _Letters()
_ASCII = bytes(ord(_LETTERS[code]) if code < 128 else code for code in range(256))


def words_of(folded: str) -> list[str]:
    """The different words of a text in search form, each at most ``LONGEST`` characters, in the order they occur."""
    return list(dict.fromkeys(every_word_of(folded)))


def every_word_of(folded: str) -> list[str]:
    """The words of a text in search form as often as they occur."""
    # Most texts are ASCII, and bytes are translated ten times as quickly.
    spaced = folded.encode().translate(_ASCII).decode() if folded.isascii() else folded.translate(_LETTERS)
    if spaced.isascii():
        return [word[:LONGEST] for word in spaced.split()]
    return [part for word in spaced.split() for part in _cut(word)]


def _cut(word: str) -> list[str]:
    """The words of a run without spaces: what stands between, and the pairs of each unspaced stretch."""
    parts, at = [], 0
    for stretch in UNSPACED.finditer(word):
        parts += [word[at : stretch.start()]] if stretch.start() > at else []
        found = stretch[0]
        parts += [found[first : first + 2] for first in range(len(found))]
        at = stretch.end()
    return [part[:LONGEST] for part in (*parts, word[at:]) if part]


@dataclass(frozen=True, slots=True)
class Sought:
    """What a query asks for: each of ``words`` begins a word of the text, and each of ``literals`` stands in it.

    A search by relevance asks for any of ``asked``, the words as they are; each of ``phrases`` stands in the text. It
    asks for the vectors near ``meaning`` as well, the numbers of a vector (float32, of length 1) where there is one.
    """

    words: tuple[str, ...]
    literals: tuple[str, ...]
    phrases: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    meaning: bytes = b""

    def is_in(self, folded: str) -> bool:
        """Whether a text in search form begins words with all of ``words``."""
        there = f" {' '.join(words_of(folded))}"
        return all(f" {word}" in there for word in self.words)


def sought(text: str) -> Sought:
    """The first ``MAX_WORDS`` words of a query as it was typed; without any letter or digit it finds nothing.

    A word with signs inside (a mail address, an amount), one of an unspaced script, and what is in quotes must stand in
    the text as typed. By relevance only quotes are taken so, and up to ``MOST_ASKED`` words count.
    """
    folded = search_form(text)
    phrases = tuple(dict.fromkeys(each.strip() for each in QUOTED.findall(folded) if words_of(each)))
    words: list[str] = []
    literals: list[str] = list(phrases)
    for chunk in QUOTED.sub(r" \1 ", folded).split()[:MAX_WORDS]:
        spaced = chunk.translate(_LETTERS)
        bare = chunk[len(spaced) - len(spaced.lstrip()) : len(spaced.rstrip())]
        found = words_of(bare)
        if found != [bare]:
            literals += [bare] if bare else []
        words += found[:PARTS]
    asked = tuple(words_of(folded)[:MOST_ASKED])
    return Sought(tuple(dict.fromkeys(words)), tuple(dict.fromkeys(literals)), phrases, asked)
