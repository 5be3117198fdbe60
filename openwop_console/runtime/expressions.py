"""Evaluates edge conditions and expressions of workflows, without side effects (workflow-definition, EdgeCondition).

Expressions are JMESPath, which only reads values; regular expressions are RE2, which match in linear time.
"""

import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions, signature
from jmespath.parser import Parser
from jmespath.visitor import TreeInterpreter

from memory.host import regexes
from memory.host.json_types import JSONMapping
from memory.host.node_types import NodeFailure
from memory.text.storable import UNSTORABLE

PLACEHOLDER = re.compile(r"\{\{\s*([a-zA-Z_][a-zA-Z0-9_]{0,63})\s*\}\}")
Values = JSONMapping
MOST_FILLED = 4_194_304  # characters that the values of all placeholders of a node, or of a chain, come to
HEAVIEST = 50_000
HEAVIEST_IN_A_RUN = 2_000_000
LONGEST_KEPT = 200  # characters of an expression that is kept compiled: one of 2,000 may take 660 KB
PATIENCE_S = 1.0
# Exceptions that the libraries raise for an expression or pattern applied to values of the wrong type.
SENSELESS = (JMESPathError, ArithmeticError, AttributeError, RecursionError, TypeError, ValueError)
# Expression nodes that build new values; all others return references to existing ones.
BUILDS = frozenset(
    {
        "filter_projection",
        "flatten",
        "function_expression",
        "multi_select_dict",
        "multi_select_list",
        "projection",
        "value_projection",
    }
)


# Expression nodes whose first child is evaluated on the same value as they are.
LOOKS_INTO = frozenset(
    {"subexpression", "index_expression", "flatten", "projection", "value_projection", "filter_projection"}
)


class BadExpression(ValueError):
    """The expression cannot be parsed."""


class Senseless(Exception):
    """The expression was applied to values of types that it does not take."""


class TooHeavy(Exception):
    """The evaluation was aborted, so its result is unknown."""


class TooLong(TooHeavy):
    """The evaluation exceeded its deadline."""


class TooLarge(TooHeavy):
    """The evaluation built more than its size limit."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of evaluations: a deadline on ``clock``, and the total size of the values that each may build.

    ``heaviest`` counts characters, members and scalars of the values written out, intermediate ones included.
    """

    deadline: float
    clock: Callable[[], float] = time.monotonic
    heaviest: int = HEAVIEST


def bounds_in_a_run() -> Bounds:
    """Limits for a node's inputs or a run's edge conditions: one CPU second, two million characters each."""
    return Bounds(time.thread_time() + PATIENCE_S, time.thread_time, HEAVIEST_IN_A_RUN)


def problem_of(condition: Mapping[str, object], allowance: regexes.Allowance) -> str:
    """Why a condition is malformed, or its regular expression more than a workflow may have; empty when it is not."""
    kind = condition.get("type")
    if kind == "expression":
        return "" if _readable(condition.get("expression", "")) else "is not a JMESPath expression"
    if kind is None or not condition.get("left"):
        return "needs a type, and the path of what it looks at"
    if kind == "regex":
        return allowance.problem_of(condition.get("right"))
    return ""


def problem_of_expression(expression: str) -> str:
    return "" if _readable(expression) else "is not a JMESPath expression"


def _readable(expression: object) -> bool:
    try:
        _compiled(expression)
    except BadExpression:
        return False
    return True


def _compiled(expression: object) -> Any:
    if not isinstance(expression, str):
        raise BadExpression("not a text")
    return _parsed(expression) if len(expression) > LONGEST_KEPT else _kept(expression)


def _parsed(expression: str) -> Any:
    try:
        return jmespath.compile(expression)
    except SENSELESS as problem:
        raise BadExpression(str(type(problem).__name__)) from None
    finally:
        Parser.purge()  # the library would keep the last 512, however long


_kept = lru_cache(maxsize=512)(_parsed)


def evaluate(expression: str, values: Values, bounds: Bounds) -> Any:
    """Evaluate the expression on ``values`` to a JSON value; None when nothing matches or types do not fit.

    Raises ``TooLong`` soon after the deadline, or ``TooLarge``.
    """
    try:
        return _evaluate(expression, values, bounds)
    except SENSELESS:
        return None


def _evaluate(expression: str, values: Values, bounds: Bounds) -> Any:
    if bounds.clock() > bounds.deadline:  # to compile a long one takes 4 ms
        raise TooLong
    return _plain(_Bounded(bounds).visit(_compiled(expression).parsed, values))


@lru_cache(maxsize=512)
def nodes_read(expression: str) -> frozenset[str] | None:
    """The ids of the nodes whose outputs the expression can read, as ``nodes.<id>``; None when it can read any."""
    try:
        found, waiting = set[str](), [_compiled(expression).parsed]
    except BadExpression:
        return frozenset()
    while waiting:
        part = waiting.pop()
        kind, children = part["type"], part["children"]
        if kind == "subexpression" and _is_nodes(children[0]) and (named := _first(children[1]))["type"] == "field":
            found.add(named["value"])
            children = children[1:]
        elif kind == "current" or _is_nodes(part) or (kind in LOOKS_INTO and children[0]["type"] == "identity"):
            return None
        waiting += (child for child in children if isinstance(child, dict))  # those of a slice are numbers
    return frozenset(found)


def _is_nodes(part: Values) -> bool:
    return (part["type"], part.get("value")) == ("field", "nodes")


def _first(part: Values) -> Values:
    """The part of the expression that is evaluated first."""
    while part["type"] in LOOKS_INTO:
        part = part["children"][0]
    return part


def _plain(value: object) -> Any:
    """Replace values that JSON cannot express (NaN, infinities and functions) with None."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float) else None


def is_storable(value: object) -> bool:
    """Whether every database can store the value: no NUL, lone surrogate, NaN or infinity, and no excessive nesting."""
    try:
        return _is_storable(value)
    except RecursionError:
        return False


def _is_storable(value: object) -> bool:
    if isinstance(value, str):
        return not UNSTORABLE.search(value)
    if isinstance(value, list):
        return all(_is_storable(item) for item in value)
    if isinstance(value, dict):
        return all(_is_storable(key) and _is_storable(item) for key, item in value.items())
    return not isinstance(value, float) or math.isfinite(value)


def is_true(condition: JSONMapping, values: Values, bounds: Bounds) -> bool:
    """Whether the condition holds for ``values``: the outputs of the edge's source over the run's variables.

    False when the types do not fit; raises ``TooHeavy`` when the evaluation exceeds its limits.
    """
    if condition["type"] == "expression":
        return _is_truth(evaluate(condition["expression"], values, bounds))
    try:
        return _compares(condition, values, bounds)
    except SENSELESS:
        return False


def _compares(condition: JSONMapping, values: Values, bounds: Bounds) -> bool:
    kind = condition["type"]
    left, right = _at(condition["left"], values), condition.get("right")
    if kind == "equals":
        return _same(left, right)
    if kind == "notEquals":
        return not _same(left, right)
    if kind == "contains":
        return _contains(left, right)
    return isinstance(left, str) and isinstance(right, str) and _is_found(right, left, bounds)


def _is_found(pattern: str, text: str, bounds: Bounds) -> bool:
    if bounds.clock() > bounds.deadline:
        raise TooLong
    try:
        return regexes.is_found(pattern, text)
    except regexes.BadRegex:
        return False
    except regexes.TextTooLong:
        raise TooLarge from None


def _is_truth(value: object) -> bool:
    """Truth in the sense of JMESPath: everything but false, null and empty values."""
    return value is not None and value is not False and value not in ("", [], {})


def _same(left: object, right: object) -> bool:
    return (
        type(left) is type(right) and left == right
        if isinstance(left, bool) or isinstance(right, bool)
        else bool(left == right)
    )


def _contains(left: object, right: object) -> bool:
    if isinstance(left, str):
        return isinstance(right, str) and right in left
    return isinstance(left, list | dict) and any(_same(item, right) for item in left)


def _at(path: str, values: Values) -> Any:
    """The value at a dotted path; None when there is none."""
    found: object = values
    for part in path.split("."):
        if isinstance(found, list) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        elif isinstance(found, Mapping):
            found = found.get(part)
        else:
            return None
    return found


class _Functions(Functions):  # type: ignore[misc]
    """JMESPath's functions, with a size check on ``join`` before it builds its result."""

    def __init__(self, heaviest: int) -> None:
        self._heaviest = heaviest

    @signature({"types": ["string"]}, {"types": ["array-string"]})  # type: ignore[untyped-decorator]
    def _func_join(self, separator: str, texts: list[str]) -> str:
        if len(separator) * len(texts) > self._heaviest:
            raise TooLarge
        return separator.join(texts)


class _Bounded(TreeInterpreter):  # type: ignore[misc]
    """A JMESPath interpreter that enforces the deadline and the size limit."""

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(jmespath.Options(custom_functions=_Functions(bounds.heaviest)))
        self._bounds = bounds
        self._left = bounds.heaviest

    def visit(self, node: Any, *args: object, **kwargs: Any) -> Any:
        if self._bounds.clock() > self._bounds.deadline:
            raise TooLong
        found = super().visit(node, *args, **kwargs)
        if node["type"] in BUILDS:
            self._left = _less(self._left, found)
        return found


def _less(left: int, value: object) -> int:
    """Subtract the size of ``value`` written out, with shared parts counted every time; raise TooLarge below zero."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        left -= len(item) if isinstance(item, str | list | dict) else 1
        if left < 0:
            raise TooLarge
        if isinstance(item, list):
            waiting += item
        elif isinstance(item, dict):
            waiting += [*item, *item.values()]
    return left


def evaluate_until(expression: str, values: Values, deadline: float) -> object:
    """``evaluate`` with the default size limit and ``deadline`` on the monotonic clock; raises ``Senseless`` where
    types do not fit."""
    try:
        return _evaluate(expression, values, Bounds(deadline))
    except SENSELESS as problem:
        raise Senseless from problem


def fill(template: str, values: Mapping[str, object]) -> str:
    """Replace each ``{{name}}`` in ``template``; raise NodeFailure for a name without a value, and for values that come
    to more than ``MOST_FILLED``."""
    return _Filling(values).fill(template)


def fill_json(template: object, values: Mapping[str, object]) -> Any:
    """``fill`` every string of a JSON value; a string that is only a placeholder becomes the value with its type."""
    return _Filling(values).fill_json(template)


class _Filling:
    """Fills in values and counts their characters: one value can be long, and be named thousands of times."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values
        self._left = MOST_FILLED

    def fill(self, template: str) -> str:
        return PLACEHOLDER.sub(lambda match: self._written(match[1]), template)

    def fill_json(self, template: object) -> Any:
        if isinstance(template, dict):
            return {name: self.fill_json(each) for name, each in template.items()}
        if isinstance(template, list):
            return [self.fill_json(each) for each in template]
        if not isinstance(template, str):
            return template
        alone = PLACEHOLDER.fullmatch(template)
        if alone and alone[1] in self._values:
            self._written(alone[1])
            return self._values[alone[1]]
        return self.fill(template)

    def _written(self, name: str) -> str:
        if name not in self._values:
            raise NodeFailure("prompt_variable_unresolved", f"The placeholder {name!r} has no value.")
        written = str(self._values[name])
        self._left -= len(written)
        if self._left < 0:
            message = f"The values of the placeholders come to more than {MOST_FILLED:,} characters."
            raise NodeFailure("text_too_long", message, final=True)
        return written
