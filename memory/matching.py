"""How text is searched and how a subject is recognised in it. Pure.

*Exact* is a whole name: ``ana@x.org`` in "write to ana@x.org." but not in "joana@x.org" or "ana@x.org.uk"; those are
*suspected*, and a person decides about them.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

FORGOTTEN = "[FORGOTTEN]"


def search_form(text: str) -> str:
    """The form in which text is searched and subjects are matched: compatibility-normalised and casefolded."""
    return unicodedata.normalize("NFKC", text).casefold()


@lru_cache(maxsize=64)
def _whole(terms: tuple[str, ...]) -> re.Pattern[str]:
    names = "|".join(re.escape(term) for term in sorted(terms, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?<!\w[.@+\-])(?:{names})(?!\w)(?![.@\-]\w)")


def is_exact(terms: tuple[str, ...], folded: str) -> bool:
    """Whether ``folded`` (a ``search_form``) holds one of the names as a whole."""
    return _whole(terms).search(folded) is not None


def is_mentioned(terms: tuple[str, ...], folded: str) -> bool:
    """Whether ``folded`` holds one of the names at all, inside another word too."""
    return any(term in folded for term in terms)


def texts_in(value: Any) -> Iterable[str]:
    """Every string inside a JSON value, the keys of objects too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from texts_in(item)


def mentioned_in(
    terms: tuple[str, ...], value: Any, rule: Callable[[tuple[str, ...], str], bool] = is_mentioned
) -> bool:
    """Whether any string inside a JSON value names the subject, by ``rule``."""
    return any(rule(terms, search_form(text)) for text in texts_in(value))


def without_subject(terms: tuple[str, ...], value: Any) -> Any:
    """A JSON value in which every string that names the subject is replaced as a whole, keys too."""
    if isinstance(value, str):
        return FORGOTTEN if is_mentioned(terms, search_form(value)) else value
    if isinstance(value, list):
        return [without_subject(terms, item) for item in value]
    if isinstance(value, dict):
        return {without_subject(terms, key): without_subject(terms, item) for key, item in value.items()}
    return value
