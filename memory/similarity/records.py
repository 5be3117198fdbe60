"""JSON as what it holds: the same whatever the order of its keys, and a newer value of one of them."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from memory.similarity import values
from memory.similarity.tokens import BITS, code_of

MOST_LEAVES = 40
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")


@dataclass(frozen=True, slots=True)
class Leaf:
    """One scalar; ``rest`` is the number of all else that the record holds and of where the scalar stands."""

    rest: int
    value: str
    changes: bool


def record(text: str) -> tuple[int, tuple[Leaf, ...]] | None:
    """The number of what the text holds, 64 bits, and its scalars; None when it is no JSON of modest size."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    leaves = list(_leaves(found, ()))
    if len(leaves) > MOST_LEAVES:
        return None
    codes = [code_of(f"leaf {path} {shown}") for path, shown in leaves]
    whole = sum(codes) & BITS
    happened = any(_words(path) & values.HAPPENING for path, _ in leaves)
    told = tuple(
        Leaf(
            (whole - code + code_of(f"at {path}")) & BITS,
            shown,
            not happened and len(leaves) > 1 and bool(_words(path[-1:]) & values.CHANGING),
        )
        for (path, shown), code in zip(leaves, codes, strict=True)
    )
    return whole, told


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from _leaves(value[key], (*path, key))
    elif isinstance(value, list) and value:
        for at, each in enumerate(value):
            yield from _leaves(each, (*path, str(at)))
    else:
        yield path, json.dumps(value)


def _words(path: tuple[str, ...]) -> set[str]:
    return {word.casefold() for key in path[-1:] for word in WORDS.findall(key)}
