"""What an artifact does, whatever it is called: its structure, as a digest, and its words, as a sketch. Pure.

Two artifacts with one structure do the same; two with nearly the same words say nearly the same.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import rfc8785

from memory.host.json_types import JSONObject

# Members that name, number or describe an artifact, or one of its members, and change nothing of what it does. They do
# so at the top of the artifact and of each of its members; further inside, a ``name`` or ``tags`` is a setting.
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
# Members whose texts are prose; every other text is a setting, and has to be the same.
PROSE = frozenset({"text", "systemPrompt"})
WORD = re.compile(r"\w+")
SHINGLE = 3


def structure_of(text: str) -> str:
    """The digest of what the artifact in ``text`` does; equal for two that differ in their labels alone."""
    document = _read(text)
    return _digest(_bare(_unlabelled(document), prose=True)) if document else ""


def skeleton_of(text: str) -> str:
    """The same without prose: equal for two that are wired alike, whatever their prompts say."""
    document = _read(text)
    return _digest(_bare(_unlabelled(document), prose=False)) if document else ""


def words_of(text: str) -> frozenset[tuple[str, ...]]:
    """The prose of the artifact as sets of three words that follow each other; empty when it has none."""
    document = _read(text)
    found: set[tuple[str, ...]] = set()
    for prose in _prose(document) if document else ():
        words = [word.casefold() for word in WORD.findall(prose)]
        found |= {tuple(words[at : at + SHINGLE]) for at in range(max(1, len(words) - SHINGLE + 1)) if words}
    return frozenset(found)


def likeness(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    """How much of all that two say both say: 0 to 1; nothing is like nothing."""
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


def _without_labels(member: object) -> Any:
    if not isinstance(member, dict):
        return member
    return {name: value for name, value in member.items() if name not in LABELS}


def _bare(value: object, *, prose: bool) -> Any:
    """``value``, without its prose unless that counts; what is absent and what is empty are one."""
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
