"""A filter over the fields of values (``filter`` of a list, which is this host's addition), as LangGraph's stores have
it. Pure.

A field has to be what is said of it: a value, or an object of operators. An object without operators is matched by the
fields that it names, a list as a whole, and null by a field that is not there.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

from memory import addresses
from memory.host.json_types import JSONObject

MAX_LENGTH, MAX_DEPTH, MAX_FIELDS = 4096, 8, 64
EXACT = 2**53  # whole numbers below it are written in one way
COMPARED: dict[str, Callable[[float, float], bool]] = {
    "$gt": lambda one, other: one > other,
    "$gte": lambda one, other: one >= other,
    "$lt": lambda one, other: one < other,
    "$lte": lambda one, other: one <= other,
}
OPERATORS = ("$eq", "$ne", *COMPARED)


def parse(text: str) -> JSONObject | str:
    """The filter, or what is wrong with it."""
    if len(text) > MAX_LENGTH:
        return f"is longer than {MAX_LENGTH} characters"
    try:
        found = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return "must be a JSON object"
    if not isinstance(found, dict) or not found:
        return "must be a JSON object that names a field"
    if any(name.startswith("$") for name in found):
        return "must name a field before an operator"
    conditions = list(_conditions(found, 1))
    if len(conditions) > MAX_FIELDS:
        return f"names more than {MAX_FIELDS} fields"
    return next((problem for problem in conditions if problem), found)


def _refused(word: str) -> None:
    raise ValueError(word)


def _conditions(wanted: JSONObject, depth: int) -> Iterator[str]:
    """For each condition what is wrong with it, which is mostly nothing."""
    if depth > MAX_DEPTH:
        yield f"is nested deeper than {MAX_DEPTH} objects"
        return
    operators = [name for name in wanted if name.startswith("$")]
    for name, value in wanted.items():
        if operators and name not in OPERATORS:
            yield f"has {', '.join(OPERATORS)} as operators, and nothing beside them"
        elif name in COMPARED and not _is_number(value):
            yield f"compares by {name} with a number"
        elif isinstance(value, dict) and not operators:
            yield from _conditions(value, depth + 1)
        else:
            yield ""


def matches(value: object, wanted: object) -> bool:
    """Whether the value is what is wanted of it."""
    if isinstance(wanted, dict):
        if any(name.startswith("$") for name in wanted):
            return all(_holds(value, name, operand) for name, operand in wanted.items())
        return isinstance(value, dict) and all(matches(value.get(name), each) for name, each in wanted.items())
    if isinstance(wanted, list):
        if not isinstance(value, list) or len(value) != len(wanted):
            return False
        return all(matches(one, other) for one, other in zip(value, wanted, strict=True))
    return _same(value, wanted)


def _holds(value: object, operator: str, operand: Any) -> bool:
    if operator == "$eq":
        return _same(value, operand)
    if operator == "$ne":
        return not _same(value, operand)
    return _is_number(value) and COMPARED[operator](value, operand)


def _same(one: object, other: object) -> bool:
    """Whether two values of JSON are one: a boolean is no number."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def anchors(wanted: JSONObject) -> tuple[str, ...]:
    """What stands in the canonical form of every value that matches: a database can look for it first."""
    return tuple(dict.fromkeys(_anchors(wanted)))


def _anchors(wanted: JSONObject) -> Iterator[str]:
    for name, value in wanted.items():
        if isinstance(value, dict) and not any(each.startswith("$") for each in value):
            yield from _anchors(value)
            continue
        exact = value.get("$eq") if isinstance(value, dict) else value
        if isinstance(exact, str | bool) or (isinstance(exact, int) and abs(exact) < EXACT):
            yield addresses.canonical({name: exact})[1:-1]
