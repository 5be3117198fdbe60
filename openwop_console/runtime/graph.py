"""Decides, without side effects, which nodes begin, which are skipped, and whether the run can still succeed.

A node begins when every trigger rule among its incoming edges is met. An edge succeeds when its source is done and its
condition holds; it is skipped when the condition does not hold or the source was skipped, and fails with its source.
A node is doomed when it needs a success that is no longer possible; a run fails as soon as a final node is doomed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from memory.host.json_types import JSONObject
from openwop_console.runtime import expressions, workflows
from openwop_console.runtime.models import Step, StepState

Verdict = Literal["pending", "run", "skip", "doomed"]
Judge = Callable[[Mapping[str, object], Step], bool]


class Edge(StrEnum):
    PENDING = "pending"
    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Outlook:
    """The nodes to begin and to skip, in order, and those that can never succeed; ``lost`` when the run cannot."""

    begin: list[str]
    skip: list[str]
    doomed: set[str]
    lost: bool


def outlook(definition: JSONObject, steps: Mapping[str, Step], variables: Mapping[str, object]) -> Outlook:
    """The next decisions for a run with these steps. Raises ``TooHeavy`` when its conditions cost too much."""
    bounds = expressions.bounds_in_a_run()

    def holds(condition: Mapping[str, object], step: Step) -> bool:
        return expressions.is_true(condition, values_of(step, variables), bounds)

    nodes = {node["id"]: node for node in definition["nodes"]}
    incoming, sources = _edges_by_target(definition), _sources(definition)
    begin, skip, doomed = [], [], set[str]()
    for node_id in workflows.order_of(definition):
        if node_id in steps:
            if steps[node_id].state == StepState.FAILED:
                doomed.add(node_id)
            continue
        verdict = _verdict(incoming.get(node_id, []), nodes, steps, doomed, holds)
        if verdict == "doomed":
            doomed.add(node_id)
        elif verdict == "skip" or (verdict == "run" and nodes[node_id].get("disabled")):
            skip.append(node_id)
        elif verdict == "run":
            begin.append(node_id)
    return Outlook(begin, skip, doomed, lost=bool(doomed - sources))


def judged_sources(definition: JSONObject, steps: Mapping[str, Step]) -> set[str]:
    """The nodes whose outputs the conditions of edges to nodes that have not begun are judged by."""
    return {
        edge["sourceNodeId"]
        for edge in definition["edges"]
        if edge.get("condition") and edge["targetNodeId"] not in steps
    }


def _edges_by_target(definition: JSONObject) -> dict[str, list[JSONObject]]:
    found: dict[str, list[JSONObject]] = {}
    for edge in definition["edges"]:
        found.setdefault(edge["targetNodeId"], []).append(edge)
    return found


def _sources(definition: JSONObject) -> set[str]:
    return {edge["sourceNodeId"] for edge in definition["edges"]}


def _verdict(
    edges: list[JSONObject],
    nodes: Mapping[str, JSONObject],
    steps: Mapping[str, Step],
    doomed: set[str],
    holds: Judge,
) -> Verdict:
    """Judge a node's edges by trigger rule: a doomed rule decides, then a skipped one, then a pending one; else run."""
    by_rule: dict[str, list[Edge]] = {}
    for edge in edges:
        state = _state_of(edge, nodes, steps, doomed, holds)
        by_rule.setdefault(edge.get("triggerRule", "all_success"), []).append(state)
    verdicts = [RULES[rule](states) for rule, states in by_rule.items()]
    for decisive in ("doomed", "skip", "pending"):
        if decisive in verdicts:
            return decisive
    return "run"


def _state_of(
    edge: JSONObject,
    nodes: Mapping[str, JSONObject],
    steps: Mapping[str, Step],
    doomed: set[str],
    holds: Judge,
) -> Edge:
    source = edge["sourceNodeId"]
    if source in doomed:
        return Edge.FAILED
    step = steps.get(source)
    if step is None or step.state not in (StepState.DONE, StepState.SKIPPED):
        return Edge.PENDING
    if step.state == StepState.SKIPPED and not nodes[source].get("disabled"):
        return Edge.SKIPPED
    condition = edge.get("condition")
    if condition and not holds(condition, step):
        return Edge.SKIPPED
    return Edge.SUCCESS


def values_of(step: Step, variables: Mapping[str, object]) -> JSONObject:
    """The values visible to a condition on an edge that leaves ``step``."""
    outputs = step.outputs
    return {**variables, **outputs, "output": outputs, "outputs": outputs, "variables": dict(variables)}


def _all_success(states: list[Edge]) -> Verdict:
    if Edge.FAILED in states:
        return "doomed"
    if Edge.SKIPPED in states:
        return "skip"
    return "pending" if Edge.PENDING in states else "run"


def _any_success(states: list[Edge]) -> Verdict:
    if Edge.SUCCESS in states:
        return "run"
    if Edge.PENDING in states:
        return "pending"
    return "doomed" if Edge.FAILED in states else "skip"


def _all_complete(states: list[Edge]) -> Verdict:
    return "pending" if Edge.PENDING in states else "run"


def _none_failed(states: list[Edge]) -> Verdict:
    if Edge.FAILED in states:
        return "doomed"
    return "pending" if Edge.PENDING in states else "run"


def _any_failed(states: list[Edge]) -> Verdict:
    if Edge.FAILED in states:
        return "run"
    return "pending" if Edge.PENDING in states else "skip"


RULES = {
    "all_success": _all_success,
    "any_success": _any_success,
    "all_complete": _all_complete,
    "none_failed": _none_failed,
    "any_failed": _any_failed,
}
