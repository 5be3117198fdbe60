"""Which page of a list is asked for: ``limit`` and ``offset`` as everywhere in this face (R59, C20)."""

from typing import Any

from memory.agent_memory.queries import DEFAULT_LIMIT, FARTHEST, MAX_LIMIT

Problems = list[dict[str, str]]


def page_of(query: Any, problems: Problems, *, default: int = DEFAULT_LIMIT) -> tuple[int, int]:
    """``limit`` and ``offset``; a page that is too large is the largest there is, and one that is none a problem."""
    limit = _number(query, "limit", default, 1, MAX_LIMIT, problems)
    return limit, _number(query, "offset", 0, 0, FARTHEST, problems)


def _number(query: Any, name: str, default: int, least: int, most: int, problems: Problems) -> int:
    text = query.get(name)
    if text is None:
        return default
    digits = text if text.isascii() and text.isdigit() else ""
    if not digits or (len(digits) < 20 and int(digits) < least):
        problems.append({"field": name, "message": f"must be a whole number of at least {least}"})
        return default
    return most if len(digits) >= 20 else min(int(digits), most)
