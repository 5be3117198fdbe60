"""Token budgets: the one offline tokenizer, and what fits a budget (RFC 0113).

An archive's budget, which also counts what is read, is kept by ``distillers.selection``.
"""

from collections.abc import Iterable
from functools import cache
from math import log
from typing import Any

from rs_bpe.bpe import openai

TOKENIZER = "o200k_base"
VOCABULARY = 200_000  # tokens


@cache
def _tokenizer() -> Any:
    return openai.o200k_base()


def count(text: str) -> int:
    """How many tokens ``text`` has."""
    return int(_tokenizer().count(text))


def rarity(word: str) -> float:
    """How rare a word is in general, from 0 to 1: the vocabulary has the words of any language, the commonest first."""
    return min(_rarity(f" {word}"), _rarity(f" {word.capitalize()}"))


def _rarity(spaced: str) -> float:
    first, *more = _tokenizer().encode(spaced)
    return 1.0 if more else log(first + 1) / log(VOCABULARY)


def take_fitting(found: Iterable[Any], budget: int, most: int) -> list[Any]:
    """Return the first ``most`` of ``found`` that fit the budget together; ``row[1]`` is the size of each in tokens.

    One that does not fit is left out whole, and a smaller one after it may still fit. Without a budget all fit.
    """
    kept: list[object] = []
    left = budget
    for row in found:
        if len(kept) == most:
            break
        if not budget or row[1] <= left:
            kept.append(row)
            left -= row[1]
    return kept
