"""Tokens: one offline tokenizer, by its name (performance.md, section 4)."""

from functools import cache
from typing import Any

from rs_bpe.bpe import openai

TOKENIZER = "o200k_base"


@cache
def _tokenizer() -> Any:
    return openai.o200k_base()


def count(text: str) -> int:
    """How many tokens ``text`` has."""
    return int(_tokenizer().count(text))
