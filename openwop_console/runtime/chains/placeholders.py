"""``{{params.name}}`` in a chain: where it stands, and the chain with the values of one run in its place. Pure.

Placeholders stand in texts of a node's config and in what its inputs say. A text that is one placeholder and nothing
else becomes the value as it is; within a longer text a value is written out. A value never brings a placeholder of its
own: those are the words of the workflow, which was reviewed.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

PARAMETER = re.compile(r"\{\{\s*params\.([a-zA-Z_][a-zA-Z0-9_-]{0,127})\s*\}\}")
BEGINNING = re.compile(r"\{\{\s*params\b")
OPENING = "{{"
LONGEST = 262_144

Values = Mapping[str, Any]
Definition = Mapping[str, Any]


def texts_in(definition: Definition) -> Iterator[tuple[str, str, str]]:
    """Every text in which a placeholder may stand: where it is, the type of its node when the text is of its config,
    and the text."""
    for at, node in enumerate(definition["nodes"]):
        for path, text in _texts(node["config"], f"$.nodes[{at}].config"):
            yield path, node["typeId"], text
        for name, port in node["inputs"].items():
            for _, text in _texts(port, ""):
                yield f"$.nodes[{at}].inputs.{name}", "", text


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        yield from _texts(member, f"{path}.{name}" if isinstance(value, dict) else f"{path}[{name}]")


def names_in(text: str) -> list[str]:
    """The parameters that the text has placeholders of."""
    return PARAMETER.findall(text)


def is_malformed(text: str) -> bool:
    """Whether something in the text begins like a placeholder of a parameter and is none."""
    return len(BEGINNING.findall(text)) != len(names_in(text))


def problem_of(text: str, values: Values) -> str:
    """Why the text cannot take these values, or nothing. Looked at before it is written out."""
    names = names_in(text)
    if sum(len(_written(values.get(name))) for name in names) > LONGEST:
        return f"comes to more than {LONGEST} characters in the workflow"
    written = PARAMETER.sub(lambda match: _written(values.get(match[1])), text)
    if written.count(OPENING) != PARAMETER.sub("-", text).count(OPENING):
        return "holds a placeholder"
    return ""


def guilty_in(text: str, values: Values) -> list[str]:
    """Which of the text's parameters to blame for its problem: those that open a placeholder themselves, else all."""
    names = names_in(text)
    return [name for name in names if OPENING in _written(values.get(name))] or names


def filled(definition: dict[str, Any], values: Values) -> dict[str, Any]:
    """The definition with the values in place of the placeholders."""
    nodes = [
        {**node, "config": _filled(node["config"], values), "inputs": _filled(node["inputs"], values)}
        for node in definition["nodes"]
    ]
    return {**definition, "nodes": nodes}


def _filled(value: Any, values: Values) -> Any:
    if isinstance(value, dict):
        return {name: _filled(member, values) for name, member in value.items()}
    if isinstance(value, list):
        return [_filled(member, values) for member in value]
    if not isinstance(value, str):
        return value
    whole = PARAMETER.fullmatch(value)
    return values.get(whole[1]) if whole else PARAMETER.sub(lambda match: _written(values.get(match[1])), value)


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
