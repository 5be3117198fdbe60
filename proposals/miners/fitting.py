"""Whether a value can be kept as an artifact: texts, numbers and a size that every reader of JSON takes."""

from typing import Any

import rfc8785

from memory.matching import texts_in

MOST_BYTES = 128 * 1024
MOST_LEVELS = 32


def fits(artifact: dict[str, Any]) -> bool:
    """Whether it is small enough, and holds nothing that is refused when a proposal is made."""
    if not is_shallow(artifact, MOST_LEVELS) or any("\x00" in text for text in texts_in(artifact)):
        return False
    try:
        return len(rfc8785.dumps(artifact)) <= MOST_BYTES
    except (rfc8785.CanonicalizationError, UnicodeError):
        return False


def is_shallow(value: Any, levels: int) -> bool:
    """Whether nothing in ``value`` lies deeper than ``levels`` objects and lists."""
    inside: list[Any] = [value]
    for _ in range(levels + 1):
        inside = [each for outer in inside for each in _members(outer)]
        if not inside:
            return True
    return False


def _members(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple) else []
