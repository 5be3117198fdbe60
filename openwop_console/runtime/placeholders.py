"""``{{name}}`` in texts of a workflow, replaced by inputs of the node (RFC 0027). Pure."""

import re
from collections.abc import Mapping
from typing import Any

from memory.host.node_types import NodeFailure

PLACEHOLDER = re.compile(r"\{\{\s*([a-zA-Z_][a-zA-Z0-9_]{0,63})\s*\}\}")


def fill(template: str, values: Mapping[str, object]) -> str:
    """``template`` with each ``{{name}}`` replaced; a name without a value fails the node."""

    def value_of(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise NodeFailure("prompt_variable_unresolved", f"The placeholder {match[1]!r} has no value.")
        return str(values[match[1]])

    return PLACEHOLDER.sub(value_of, template)


def fill_json(template: object, values: Mapping[str, object]) -> Any:
    """The same in every string of a JSON value; one that is a placeholder and nothing else becomes the value itself."""
    if isinstance(template, dict):
        return {name: fill_json(each, values) for name, each in template.items()}
    if isinstance(template, list):
        return [fill_json(each, values) for each in template]
    if not isinstance(template, str):
        return template
    alone = PLACEHOLDER.fullmatch(template)
    return values[alone[1]] if alone and alone[1] in values else fill(template, values)
