"""Fingerprints of artifacts: the structure as a digest that ignores names, and the prose as a set of shingles. Pure.

Artifacts with equal structure do the same; those with similar shingles have similar prose.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import rfc8785

from memory.host.json_types import JSONObject

# Members that name, number or describe an artifact without any effect on what it does. They are labels only at the top
# of the artifact and of each of its ``MEMBERS``; further inside, a ``name`` or ``tags`` is a setting.
LABELS = frozenset(
    {
        "agentId",
        "author",
        "automationId",
        "chainId",
        "description",
        "homepage",
        "keywords",
        "label",
        "license",
        "meta",
        "name",
        "packName",
        "packVersion",
        "persona",
        "repository",
        "signing",
        "tags",
        "templateId",
        "version",
    }
)
MEMBERS = ("agents", "chains")
# Members whose texts are prose; every other text is a setting, which must be equal.
PROSE = frozenset({"text", "systemPrompt"})
WORD = re.compile(r"\w+")
SHINGLE = 3


def structure_of(text: str) -> str:
    """The digest of the artifact without its labels; "" for a text that is not a JSON object."""
    document = _read(text)
    return _digest(_bare(_unlabelled(document), prose=True)) if document else ""


def skeleton_of(text: str) -> str:
    """``structure_of`` without prose: equal for artifacts that differ only in labels and prompts."""
    document = _read(text)
    return _digest(_bare(_unlabelled(document), prose=False)) if document else ""


def words_of(text: str) -> frozenset[tuple[str, ...]]:
    """The prose of the artifact as a set of shingles of ``SHINGLE`` consecutive words; empty without prose."""
    document = _read(text)
    found: set[tuple[str, ...]] = set()
    for prose in _prose(document) if document else ():
        words = [word.casefold() for word in WORD.findall(prose)]
        found |= {tuple(words[at : at + SHINGLE]) for at in range(max(1, len(words) - SHINGLE + 1)) if words}
    return frozenset(found)


def likeness(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    """The Jaccard similarity of two sets of shingles, 0 to 1; 0 when either is empty."""
    return len(one & other) / len(one | other) if one and other else 0.0


def _read(text: str) -> JSONObject:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _digest(value: Any) -> str:
    return hashlib.sha256(rfc8785.dumps(value)).hexdigest()


def _unlabelled(document: JSONObject) -> JSONObject:
    """The artifact without its own labels and those of its members."""
    own = {name: value for name, value in document.items() if name not in LABELS}
    packed = {
        name: [_without_labels(each) for each in own[name]] for name in MEMBERS if isinstance(own.get(name), list)
    }
    return own | packed


def _without_labels(member: object) -> object:
    if not isinstance(member, dict):
        return member
    return {name: value for name, value in member.items() if name not in LABELS}


def _bare(value: object, *, prose: bool) -> object:
    """``value`` without empty members and, unless ``prose``, without prose; white space is normalised."""
    if isinstance(value, dict):
        bare = {name: _bare(each, prose=prose) for name, each in value.items() if prose or name not in PROSE}
        return {name: each for name, each in bare.items() if each not in (None, {}, [], "")}
    if isinstance(value, list):
        return [_bare(each, prose=prose) for each in value]
    return " ".join(value.split()) if isinstance(value, str) else value


def _prose(value: object, name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _prose(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from _prose(each, name)
    elif isinstance(value, str) and name in PROSE:
        yield value
