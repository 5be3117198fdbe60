"""Whether two statements with the same words and values say the same: who is whose, what is denied, what is first."""

from collections.abc import Iterable

from memory.similarity.ordering import same_order
from memory.similarity.statements import Spoken
from memory.similarity.tokens import DIRECTION, NEGATION, PAST, PRONOUN, Token
from memory.similarity.words import IDENTITY_TAGS

BINDING = (NEGATION, DIRECTION)


def agree(a: Spoken, b: Spoken) -> bool:
    """Whether they do."""
    if a.strict or b.strict:
        return a.strict == b.strict
    if (a.kinds ^ b.kinds) & PAST or not (a.persons <= b.persons or b.persons <= a.persons):
        return False
    if not same_order(a.tokens, b.tokens, pronouns=a.persons == b.persons):
        return False
    return all(a.bound(kind) == b.bound(kind) or a.bound(kind, True) == b.bound(kind, True) for kind in BINDING)


def still_about(newer: tuple[Token, ...], older: tuple[Token, ...]) -> bool:
    """Whether two statements without their values are about the same."""
    if newer == older:
        return True
    speaking = [frozenset(token.code for token in each if token.kind & PRONOUN) for each in (newer, older)]
    return speaking[0] == speaking[1] and same_order(newer, older, pronouns=True)


def owners(tags: Iterable[str]) -> dict[str, frozenset[str]]:
    """What the tags say of whose the statement is: ``customer:acme``, ``order=1001``."""
    found: dict[str, set[str]] = {}
    for tag in tags:
        name, _, value = tag.replace("=", ":", 1).partition(":")
        if value and name.casefold() in IDENTITY_TAGS:
            found.setdefault(name.casefold(), set()).add(value.casefold())
    return {name: frozenset(values) for name, values in found.items()}


def same_owner(one: dict[str, frozenset[str]], other: dict[str, frozenset[str]]) -> bool:
    """Whether nothing that both say of the owner differs."""
    return all(other.get(name, value) == value for name, value in one.items())


def is_owned_alike(one: dict[str, frozenset[str]], other: dict[str, frozenset[str]]) -> bool:
    """Whether all that the one says of its owner the other says too, so that it can stand for both."""
    return all(other.get(name) == value for name, value in one.items())
