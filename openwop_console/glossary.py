"""The words of docs/glossary.md: for the page that shows them, and for links to one of them from other pages."""

import re
from dataclasses import dataclass
from functools import cache

from django.conf import settings

HEADING = re.compile(r"## (.+)")
LINE = re.compile(r"\| (\*\*.+?) \| (.+) \|")
WORD = re.compile(r"\*\*`?([^`*]+)`?\*\*")
CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Term:
    """A word, or several explained at once, with the meaning as plain text."""

    words: tuple[str, ...]
    meaning: str

    @property
    def pieces(self) -> list[tuple[str, bool]]:
        """The meaning in pieces: each a text, and whether it is code."""
        return [(text, place % 2 == 1) for place, text in enumerate(CODE.split(self.meaning)) if text]


@dataclass(frozen=True, slots=True)
class Group:
    """The terms under one heading."""

    heading: str
    terms: tuple[Term, ...]


@cache
def groups() -> tuple[Group, ...]:
    """Return the glossary in the order of its file, which is read once in a process."""
    found: list[tuple[str, list[Term]]] = []
    for line in (settings.BASE_DIR / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines():
        if heading := HEADING.fullmatch(line):
            found.append((heading[1], []))
        elif term := LINE.fullmatch(line):
            found[-1][1].append(Term(tuple(WORD.findall(term[1])), re.sub(r"\*(\w[^*]*)\*", r"\1", term[2])))
    return tuple(Group(heading, tuple(terms)) for heading, terms in found)


@cache
def meanings() -> dict[str, str]:
    """Return the meaning of each word, without marks of code."""
    terms = (term for group in groups() for term in group.terms)
    return {word: CODE.sub(r"\1", term.meaning) for term in terms for word in term.words}
