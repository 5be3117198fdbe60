"""Regular expressions that clients write, as RE2 reads them: in time and memory that are bounded.

The library logs what it cannot compile, and keeps the last 128 expressions of a process at up to 10 MB each. Here none
is logged, and few are kept.
"""

from functools import lru_cache
from typing import Any

import re2

MOST = 64  # of one document, and kept
LONGEST = 10_000  # characters
# Instructions of the programs of one document together; `^[\pL\pN _-]{1,200}$` has 269,201, an address 18. To compile
# so many takes 0.2 s.
MOST_INSTRUCTIONS = 300_000
MOST_STEPS = 200_000_000  # characters of a text times instructions, when nothing better works: a second
MEMORY = 4 * 1024 * 1024  # bytes, of one


class BadRegex(Exception):
    """It is not a regular expression of RE2, or too large a one."""


class TextTooLong(Exception):
    """To search that text for that expression may take more than a second."""


class Allowance:
    """What the expressions of one document may take together."""

    def __init__(self) -> None:
        self._seen = set[str]()
        self._instructions = 0

    def problem_of(self, pattern: object) -> str:
        """Why ``pattern`` is refused, after those before it; empty when it is not."""
        if not isinstance(pattern, str):
            return "is not a regular expression of RE2"
        if pattern in self._seen:
            return ""
        if len(self._seen) == MOST:
            return f"is one more than {MOST} different regular expressions"
        self._seen.add(pattern)
        try:
            self._instructions += compiled(pattern).programsize
        except BadRegex:
            return "is not a regular expression of RE2, or too large a one"
        if self._instructions > MOST_INSTRUCTIONS:
            return "is too large a regular expression with those before it"
        return ""


def is_found(pattern: str, text: str) -> bool:
    """Whether ``text`` has a match of ``pattern``, anywhere; raises ``BadRegex`` and ``TextTooLong``."""
    known = compiled(pattern)
    if len(text) * known.programsize > MOST_STEPS:
        raise TextTooLong
    return known.search(text) is not None


@lru_cache(maxsize=MOST)
def compiled(pattern: str) -> Any:
    """The compiled ``pattern``; raises ``BadRegex``."""
    if len(pattern) > LONGEST:
        raise BadRegex
    try:
        return compile_once(pattern, memory=MEMORY)
    except (re2.error, UnicodeError):
        raise BadRegex from None


def compile_once(pattern: str, *, memory: int) -> Any:
    """``pattern`` compiled within so many bytes, for a caller that keeps it itself; raises ``re2.error``."""
    options = re2.Options()
    options.max_mem = memory
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    finally:
        re2.purge()
