"""Nodes in a row, as runs have executed them: where they stand, and in which form they are the same elsewhere.

Behind its first node a row has only nodes that nothing but the row leads to, so a definition of n nodes has fewer than
7 n rows. Runs of one definition that completed the same nodes are looked at once.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from proposals.miners.fitting import is_shallow
from proposals.miners.sightings import canonical
from proposals.miners.traces import NodeTrace, RunTrace

SHORTEST, LONGEST = 2, 8
MOST_LEVELS = 10  # of a config that is compared member by member
# Node types that stop for somebody, and those that belong to the host's own runs.
STOPS = re.compile(
    r"(?:^|[.-])(?:gate|interrupt|install-artifact)$|Gate$|Interrupt$|^host[.-]|^core\.openwop\.governance\."
)
# The ports that can be said elsewhere; an expression names variables and nodes that only its workflow has.
PORTS = {"static": "value", "variable": "variableName", "connection": "nodeId"}
OPEN_REF = "{{params.memoryRef}}"

Port = Mapping[str, Any]
Key = tuple[str, ...]


@dataclass(slots=True)
class Stand:
    """A definition as runs went through it: the nodes they completed, and those runs."""

    nodes: dict[str, NodeTrace]
    edges: tuple[tuple[str, str], ...]
    conditional: frozenset[tuple[str, str]]
    workflow_id: str
    runs: list[RunTrace] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Row:
    """Nodes in a row at one stand; ``forms`` are the same, node by node, for rows that are equal but for their values.

    ``kinds`` leave out where the ports lead, so that they are the same in a longer row.
    """

    stand: Stand
    nodes: tuple[NodeTrace, ...]
    kinds: Key
    forms: Key


def stands_of(runs: Iterable[RunTrace]) -> list[Stand]:
    """The stands of all runs, in an order of their own."""
    found: dict[str, Stand] = {}
    for run in runs:
        nodes = {node.node_id: node for node in run.nodes if node.state == "completed" and _may_stand(node)}
        told = [[node.node_id, node.type_id, node.agent_id, config_of(node), node.inputs] for node in nodes.values()]
        edges = tuple(sorted(set(run.edges)))
        conditional = frozenset(run.conditional)
        key = canonical([run.workflow_id, sorted(told, key=lambda each: str(each[0])), edges, sorted(conditional)])
        stand = found.setdefault(key, Stand(nodes, edges, conditional, run.workflow_id))
        stand.runs.append(run)
    return [stand for _, stand in sorted(found.items())]


def _may_stand(node: NodeTrace) -> bool:
    """Whether it may be in a row at all: it asks nobody, and its ports can be said elsewhere."""
    if STOPS.search(node.type_id) or not is_shallow([config_of(node), dict(node.inputs)], MOST_LEVELS):
        return False
    return all(_can_be_said(port) for port in node.inputs.values())


def _can_be_said(port: Any) -> bool:
    return isinstance(port, dict) and PORTS.get(str(port.get("type"))) in port


def config_of(node: NodeTrace) -> dict[str, Any]:
    """The config, with the memory that the node has of its agent: the agent does not come along with a row.

    Where nobody knows which, whoever uses the row says so.
    """
    remembers = any(":memory." in tool for tool in node.tools)
    return {**({"memoryRef": node.memory_ref or OPEN_REF} if remembers else {}), **node.config}


def rows_of(stand: Stand) -> Iterator[Row]:
    """Every row of the stand, of two nodes to eight."""
    before = _only_ways(stand)
    kinds = {node_id: canonical([node.type_id, form_of(config_of(node))]) for node_id, node in stand.nodes.items()}
    for last in sorted(stand.nodes):
        ids = [last]
        while len(ids) < LONGEST and (first := before.get(ids[0])) is not None and first not in ids:
            ids.insert(0, first)
            nodes = tuple(stand.nodes[node_id] for node_id in ids)
            if len({node.agent_id for node in nodes} - {""}) > 1:
                break
            forms = tuple(canonical([kinds[each.node_id], ports_form(each, ids)]) for each in nodes)
            yield Row(stand, nodes, tuple(kinds[node_id] for node_id in ids), forms)


def _only_ways(stand: Stand) -> dict[str, str]:
    """The node before each, where one edge alone leads to it, and always does."""
    sources: dict[str, set[str]] = defaultdict(set)
    for source, target in stand.edges:
        sources[target].add(source)
    return {
        target: source
        for target, (source, *others) in ((target, sorted(each)) for target, each in sources.items())
        if not others and {source, target} <= stand.nodes.keys() and (source, target) not in stand.conditional
    }


def form_of(value: Any) -> Any:
    """What is left of a JSON value without its values: members, lengths and types."""
    if isinstance(value, dict):
        return {name: form_of(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [form_of(each) for each in value]
    return type_of(value)


def type_of(value: Any) -> str:
    """The name that JSON Schema has for the type of a value that has no members."""
    names = {bool: "boolean", int: "number", float: "number", str: "string", type(None): "null"}
    return names.get(type(value), "string")


def ports_form(node: NodeTrace, ids: list[str]) -> Any:
    """Where each port leads, seen from inside the row."""
    return {name: _port_form(port, ids, ids.index(node.node_id)) for name, port in node.inputs.items()}


def _port_form(port: Port, ids: list[str], at: int) -> Any:
    if port["type"] == "static":
        return ["static", form_of(port["value"])]
    return ["inside", *inside] if (inside := leads_inside(port, ids[:at])) else ["outside"]


def leads_inside(port: Port, ids: list[str]) -> tuple[int, str] | None:
    """The place in the row that a port is connected with, and the output; None for one that leads out of it."""
    if port["type"] != "connection" or port["nodeId"] not in ids:
        return None
    return ids.index(port["nodeId"]), str(port.get("outputKey", ""))
