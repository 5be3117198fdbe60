"""What another version of a prompt template changes (RFC 0027): its variables first, then its words."""

import re
from typing import Any

from proposals.summaries.lines import Line, by, change, listed, named, note, sets, value, words_in

PLACEHOLDER = re.compile(r"\{\{\s*([a-zA-Z_][a-zA-Z0-9_]{0,63})\s*\}\}")

Document = dict[str, Any]


def compare(old: Document, new: Document) -> list[Line]:
    before, after = by(old.get("variables", ()), "name"), by(new.get("variables", ()), "name")
    return [
        *value("Version", old.get("version"), new.get("version")),
        *value("Kind of prompt", old.get("kind"), new.get("kind")),
        *sets("Variables", before, after),
        *(line for name in after if name in before for line in _variable(before[name], after[name])),
        *_undeclared(new, set(after)),
        *words_in("Text", str(old.get("text", "")), str(new.get("text", ""))),
        *sets("Tags", old.get("tags", ()), new.get("tags", ())),
    ]


def _variable(old: Any, new: Any) -> list[Line]:
    name = named(new["name"])
    lines = value(f"Type of {name}", old.get("type"), new.get("type"))
    required = bool(new.get("required"))
    if bool(old.get("required")) != required:
        lines.append(change(f"Variable {name} is {'required now' if required else 'not required any more'}"))
    return lines


def _undeclared(new: Document, declared: set[str]) -> list[Line]:
    """A placeholder that nothing declares fails the node that has no value for it."""
    used = dict.fromkeys(PLACEHOLDER.findall(str(new.get("text", ""))))
    unknown = [name for name in used if name not in declared]
    unused = [name for name in declared if name not in used]
    lines = [note(f"Used in the text and declared by no variable: {listed(unknown)}")] if unknown else []
    return lines + ([note(f"Declared and not used in the text: {listed(sorted(unused))}")] if unused else [])
