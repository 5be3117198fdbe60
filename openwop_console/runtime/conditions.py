"""Edge conditions and expressions of a workflow: pure, and without any effect (workflow-definition, EdgeCondition).

Expressions are JMESPath, which looks at values and nothing else; regular expressions are RE2's, which cannot run away.
"""

import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jmespath
import re2
from jmespath.exceptions import JMESPathError
from jmespath.visitor import TreeInterpreter

Values = Mapping[str, Any]
HEAVIEST = 50_000


class BadExpression(ValueError):
    """The expression cannot be read."""


def problem_of(condition: Mapping[str, Any]) -> str:
    """What is wrong with a condition as it is written, or nothing."""
    kind = condition.get("type")
    if kind == "expression":
        return "" if _readable(condition.get("expression", "")) else "is not a JMESPath expression"
    if kind is None or not condition.get("left"):
        return "needs a type, and the path of what it looks at"
    if kind == "regex":
        return "" if _readable_pattern(condition.get("right")) else "is not a regular expression of RE2"
    return ""


def problem_of_expression(expression: str) -> str:
    return "" if _readable(expression) else "is not a JMESPath expression"


def _readable(expression: Any) -> bool:
    try:
        _compiled(expression)
    except BadExpression:
        return False
    return True


def _readable_pattern(pattern: Any) -> bool:
    try:
        re2.compile(pattern)
    except (re2.error, TypeError):
        return False
    return True


@lru_cache(maxsize=512)
def _compiled(expression: str) -> Any:
    try:
        return jmespath.compile(expression)
    except (JMESPathError, TypeError, AttributeError) as problem:
        raise BadExpression(str(type(problem).__name__)) from None


def evaluate(expression: str, values: Values) -> Any:
    """What the expression finds in ``values``; None when it finds nothing or asks something of the wrong type."""
    try:
        return _compiled(expression).search(values)
    except JMESPathError:
        return None


def holds(condition: Mapping[str, Any], values: Values) -> bool:
    """Whether the condition is true of ``values``: the outputs of the edge's source, then the run's variables."""
    kind = condition["type"]
    if kind == "expression":
        return _is_truth(evaluate(condition["expression"], values))
    left, right = _at(condition["left"], values), condition.get("right")
    if kind == "equals":
        return _same(left, right)
    if kind == "notEquals":
        return not _same(left, right)
    if kind == "contains":
        return _contains(left, right)
    return isinstance(left, str) and re2.search(right, left) is not None


def _is_truth(value: Any) -> bool:
    """JMESPath's own notion: everything but false, null and what is empty."""
    return value is not None and value is not False and value not in ("", [], {})


def _same(left: Any, right: Any) -> bool:
    return (
        type(left) is type(right) and left == right
        if isinstance(left, bool) or isinstance(right, bool)
        else bool(left == right)
    )


def _contains(left: Any, right: Any) -> bool:
    if isinstance(left, str):
        return isinstance(right, str) and right in left
    return isinstance(left, list | dict) and any(_same(item, right) for item in left)


def _at(path: str, values: Values) -> Any:
    """What stands at a dotted path; None when nothing does."""
    found: Any = values
    for part in path.split("."):
        if isinstance(found, list) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        elif isinstance(found, Mapping):
            found = found.get(part)
        else:
            return None
    return found


class TooLong(TimeoutError):
    """The evaluation has not ended in its time."""


class TooLarge(ValueError):
    """The evaluation came to more than an answer may hold."""


class _Bounded(TreeInterpreter):  # type: ignore[misc]
    """Gives up at ``deadline``, a reading of the monotonic clock, and at any value that has grown too large."""

    def __init__(self, deadline: float) -> None:
        super().__init__()
        self._deadline = deadline

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        if time.monotonic() > self._deadline:
            raise TooLong
        found = super().visit(node, *args, **kwargs)
        _weigh(found)
        return found


def _weigh(value: Any) -> None:
    """Refuse what is too large once it is written out, however small it is while its parts are shared."""
    left, waiting = HEAVIEST, [value]
    while waiting:
        item = waiting.pop()
        left -= len(item) if isinstance(item, str | list | dict) else 1
        if left < 0:
            raise TooLarge
        if isinstance(item, list):
            waiting += item
        elif isinstance(item, dict):
            waiting += [*item, *item.values()]


def evaluate_until(expression: str, values: Values, deadline: float) -> Any:
    """What ``evaluate`` finds, within time and memory: raises ``TooLong`` soon after ``deadline``, or ``TooLarge``."""
    try:
        return _Bounded(deadline).visit(_compiled(expression).parsed, values)
    except JMESPathError:
        return None
