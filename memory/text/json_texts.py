"""The texts inside a JSON document: what an OpenIntent entry says stands in the strings of its value."""

import json
from collections.abc import Iterator

from memory.text import patterns

TEXT = patterns.late(r'"((?:[^"\\]|\\.)*)"(\s*:)?')
UNSPACED = patterns.late("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0e7f]{5}")
FEW_WORDS = 2  # of a name or a state; what has more is a text


def is_object(text: str) -> bool:
    """Whether it looks like a JSON object with a member. It may be broken: a secret in it was redacted."""
    return text.startswith('{"') and text.endswith("}")


def in_place(text: str) -> str:
    """The texts of a JSON object at the offsets that they have in it, the rest blank; anything else as it is."""
    if not is_object(text):
        return text
    inside = TEXT.sub(lambda found: " " * len(found[0]) if found[2] else f"\n{found[1]}\n", text)
    return inside.replace("\\n", " \n")


def paragraphs(text: str) -> list[str] | None:
    """What a JSON object or list says, in its order: its texts, and its short members that are beside one, in one line.

    None when it says nothing but short members, or is no such document.
    """
    texts: list[str] = []
    members: list[str] = []
    is_named = False
    for key, value in _leaves_of(text) or ():
        if isinstance(value, str) and (len(value.split()) > FEW_WORDS or UNSPACED.search(value)):
            texts.append(value)
        elif value and isinstance(value, str | int | float) and not isinstance(value, bool):
            members.append(f"{key}: {value}" if key else str(value))
            is_named |= isinstance(value, str)
    if not texts:
        return None
    return [", ".join(members), *texts] if is_named else texts


def is_document(text: str) -> bool:
    """Whether it is a JSON object or list, or looks like such an object."""
    return is_object(text) or _leaves_of(text) is not None


def keys(text: str) -> set[str]:
    """The keys of a JSON object or list, folded; none of anything else."""
    return {part for path, _ in _leaves_of(text) or () for part in path.casefold().split(".") if part}


def _leaves_of(text: str) -> list[tuple[str, object]] | None:
    """The scalars of a JSON object or list with their keys, a dot between them; None of anything else."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return list(_leaves(json.loads(text), ""))
    except (ValueError, RecursionError):
        return None


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each, path)
    else:
        yield path, value
