"""JSON Schemas: validation of values in words, and the subset that workflow authors may write for answers and options.

A schema cannot refer outside itself (no ``$ref``), and its regular expressions are RE2, which match in linear time. No
keyword takes more time than the sizes of schema and value together explain
(docs/decisions/0225-time-of-hostile-input.md), and all of them together a CPU second or little more
(docs/decisions/0230-regular-expressions-of-clients.md).
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import wraps
from itertools import islice
from typing import Any

import rfc8785
from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import SchemaError, ValidationError
from referencing import Registry

from memory.host import regexes
from memory.host.errors import MOST_PROBLEMS
from memory.host.json_types import JSONMapping, JSONObject

REFERENCES = {"$ref", "$dynamicRef", "$recursiveRef"}
# To know what other keywords have evaluated, the validator evaluates these again, at each level of nesting: each level
# doubles the time.
UNEVALUATED = {"unevaluatedItems", "unevaluatedProperties"}
NOT_OFFERED = {"patternProperties"} | UNEVALUATED | REFERENCES
# Of a schema, which a run may bring: to check one takes 0.2 ms for each object.
MOST_OBJECTS = 1_000
LONGEST_WORDS = 500  # characters of the place and of the requirement that a problem names; names have no bound
NOTHING_OUTSIDE: Registry[object] = Registry()


PATIENCE_S = 1.0  # CPU seconds for one value
TOO_MUCH_WORK = "takes too long to be checked against its schema"
Keyword = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]
_deadline: ContextVar[float] = ContextVar("deadline", default=float("inf"))


class _TooMuchWork(Exception):
    """What a client's schema asks of a value takes longer than it may."""


def _pattern(validator: object, pattern: str, value: object, schema: object) -> Iterator[ValidationError]:
    if isinstance(value, str) and not regexes.is_found(pattern, value):
        yield ValidationError("has a form that is not allowed")


def _unique_items(validator: object, wanted: object, value: object, schema: object) -> Iterator[ValidationError]:
    """The library compares every two items when they cannot be sorted, such as objects."""
    if wanted and isinstance(value, list) and len({_same_form(each) for each in value}) < len(value):
        yield ValidationError("names something twice")


def _same_form(value: object) -> bytes:
    """The same for equal JSON values, whatever the order of their members and the form of their numbers."""
    try:
        return rfc8785.dumps(value)  # type: ignore[arg-type]
    except rfc8785.CanonicalizationError:  # an integer of more than 53 bits
        return json.dumps(value, sort_keys=True).encode()


def _in_time(keyword: Keyword) -> Keyword:
    @wraps(keyword)
    def checked(*given: Any) -> Iterator[ValidationError]:
        if time.thread_time() > _deadline.get():
            raise _TooMuchWork
        for problem in islice(keyword(*given) or (), MOST_PROBLEMS):
            problem.message, problem.args = "", ()  # it quotes the value, for each of a thousand alternatives
            yield problem

    return checked


_OfHost = validators.extend(Draft202012Validator, {"uniqueItems": _unique_items})
_Validator = validators.extend(
    _OfHost, {name: _in_time(keyword) for name, keyword in {**_OfHost.VALIDATORS, "pattern": _pattern}.items()}
)


def validator_of(schema: JSONObject, *, formats: bool = False) -> Draft202012Validator:
    """The validator of a schema that this host brings, whose references and patterns are its own."""
    made: Draft202012Validator = _OfHost(
        schema, format_checker=Draft202012Validator.FORMAT_CHECKER if formats else None
    )
    return made


def problem_of(schema: object) -> str:
    """Why the schema is invalid or not in the allowed subset; empty when it is fine."""
    if sum(1 for _ in islice(_objects(schema), MOST_OBJECTS + 1)) > MOST_OBJECTS:
        return f"is a JSON Schema with more than {MOST_OBJECTS:,} objects in it"
    try:
        # Without its formats: they are read as Python writes regular expressions, however long they are.
        Draft202012Validator.check_schema(schema, format_checker=None)
    except SchemaError:
        return "is not a JSON Schema"
    if any(NOT_OFFERED & set(each) for each in _objects(schema)):
        return f"is a JSON Schema with one of {', '.join(sorted(NOT_OFFERED))}"
    allowance = regexes.Allowance()
    patterns = (each["pattern"] for each in _objects(schema) if isinstance(each.get("pattern"), str))
    return next((f"has a pattern that {problem}" for each in patterns if (problem := allowance.problem_of(each))), "")


def _objects(value: object) -> Iterator[JSONObject]:
    if isinstance(value, dict):
        yield value
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for child in children:
        yield from _objects(child)


def errors_in(validator: Draft202012Validator, value: object) -> Iterator[ValidationError]:
    """The first MOST_PROBLEMS violations: a body may have hundreds of thousands, each of which takes 0.2 ms."""
    return islice(validator.iter_errors(value), MOST_PROBLEMS)


def problems(schema: JSONObject, value: object, *, field: str) -> list[dict[str, str]]:
    """The field paths at which ``value`` violates ``schema``; messages never quote the value. A value that cannot be
    checked in ``PATIENCE_S`` violates it."""
    until = _deadline.set(time.thread_time() + PATIENCE_S)
    try:
        found = described(errors_in(_Validator(schema, registry=NOTHING_OUTSIDE), value))
    except (_TooMuchWork, regexes.TextTooLong, regexes.BadRegex):
        return [{"field": field, "message": TOO_MUCH_WORK}]
    finally:
        _deadline.reset(until)
    return [{"field": _cut(field + each["field"][1:]), "message": each["message"]} for each in found]


def config_problems(schema: JSONObject, node: JSONMapping) -> list[tuple[str, str]]:
    """(field, problem) pairs for the config of a node, as the ``check`` of its type returns them."""
    return [(each["field"], each["message"]) for each in problems(schema, dict(node["config"]), field="config")]


def described(found: Iterable[ValidationError]) -> list[dict[str, str]]:
    """The first MOST_PROBLEMS validation errors, sorted by path, without duplicates; a missing member is reported at
    its own path."""
    messages: dict[tuple[str, str], None] = {}
    for problem in found:
        messages |= dict.fromkeys(_described(problem))
        if len(messages) >= MOST_PROBLEMS:
            break
    return [{"field": path, "message": message} for path, message in sorted(islice(messages, MOST_PROBLEMS))]


def _described(problem: ValidationError) -> list[tuple[str, str]]:
    if problem.validator == "required":
        return [(place, "is required") for place in missing_at(problem)]
    known = problem.schema.get("properties") if isinstance(problem.schema, dict) else None
    if problem.validator == "additionalProperties" and known:
        return [(place_of(problem), _cut(f"has a member other than {_listed(known)}"))]
    return [(place_of(problem), requirement(problem))]


def place_of(problem: ValidationError) -> str:
    """The path of what violates the schema, or as much of it as is told."""
    return _cut(problem.json_path)


def missing_at(problem: ValidationError) -> list[str]:
    """The paths of the first MOST_PROBLEMS members that a ``required`` misses."""
    place = place_of(problem)
    missing = (name for name in problem.validator_value if name not in problem.instance)
    return [_cut(f"{place}.{name}") for name in islice(missing, MOST_PROBLEMS)]


def _cut(words: str) -> str:
    return words if len(words) <= LONGEST_WORDS else f"{words[: LONGEST_WORDS - 1]}…"


def requirement(problem: ValidationError) -> str:
    """The schema's requirement in words, without the value."""
    keyword, wanted = str(problem.validator), problem.validator_value
    if keyword == "enum":
        return _cut(f"must be one of {_listed(wanted)}")
    if keyword == "const":
        return _cut(f"must be {wanted!r}") if isinstance(wanted, str) else "has another value than it must"
    if keyword in ("minItems", "minLength") and wanted == 1:
        return "is empty"
    return _cut(REQUIREMENTS.get(keyword, f"does not satisfy {keyword}").format(wanted))


REQUIREMENTS = {
    "required": "is required",
    "additionalProperties": "has a member that is not known here",
    "type": "must be of type {}",
    "pattern": "has a form that is not allowed",
    "oneOf": "must match exactly one of the allowed forms",
    "anyOf": "must match one of the allowed forms",
    "not": "is not offered by this host",
    "uniqueItems": "names something twice",
    "minItems": "has fewer than {} items",
    "minimum": "is less than {}",
    "maximum": "is more than {}",
    "maxProperties": "has more than {} members",
    "maxLength": "is longer than {} characters",
    "minLength": "is shorter than {} characters",
    "maxItems": "has more than {} items",
    "format": "is not a {}",
}


def _listed(names: Iterable[object]) -> str:
    return ", ".join(map(str, islice(names, LONGEST_WORDS)))
