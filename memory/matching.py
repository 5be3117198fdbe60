"""How text is searched and how a subject is recognised in it. Pure.

*Exact* is a whole name: ``ana@x.org`` in "write to ana@x.org." but not in "joana@x.org" or "ana@x.org.uk"; those are
*suspected*, and a person decides about them.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any
from uuid import UUID

from memory.host.erasure import Remains

FORGOTTEN = "[FORGOTTEN]"
Rule = Callable[[tuple[str, ...], str], bool]


def search_form(text: str) -> str:
    """The form in which text is searched and subjects are matched: compatibility-normalised, casefolded, and with one
    space wherever there is white space, so that a name is found across a line break."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


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


def whole_text(row: dict[str, Any]) -> str:
    """All of a row's columns as one text, for a look that knows nothing of which column holds what."""
    return json.dumps(row, ensure_ascii=False, default=str)


def mentioned_in(terms: tuple[str, ...], value: Any, rule: Rule = is_mentioned) -> bool:
    """Whether any string inside a JSON value names the subject, by ``rule``."""
    return any(rule(terms, search_form(text)) for text in texts_in(value))


def without_subject(terms: tuple[str, ...], value: Any, rule: Rule) -> Any:
    """A JSON value in which every string that names the subject, by ``rule``, is replaced as a whole, keys too."""
    if isinstance(value, str):
        return FORGOTTEN if rule(terms, search_form(value)) else value
    if isinstance(value, list):
        return [without_subject(terms, item, rule) for item in value]
    if isinstance(value, dict):
        return {without_subject(terms, key, rule): without_subject(terms, item, rule) for key, item in value.items()}
    return value


def rule_for(*, ticked: bool) -> Rule:
    """What goes of a row: whole names; of one that a person ticked, every mention."""
    return is_mentioned if ticked else is_exact


def judged(
    terms: tuple[str, ...], found: Iterable[tuple[UUID, str]], chosen: frozenset[UUID], spared: frozenset[UUID]
) -> Remains:
    """What is left among ``found`` rows and their texts in search form: whole names and ticked rows had to go."""
    left = undecided = 0
    for row, folded in found:
        if is_mentioned(terms, folded):
            had_to_go = row in chosen or is_exact(terms, folded)
            left += had_to_go
            undecided += not had_to_go and row not in spared
    return Remains(left, undecided)
