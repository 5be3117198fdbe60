"""Mines chains of nodes that several workflows repeat, and proposes a pack for each of the longest.

Nodes are equal when they have one type and their configs and ports have the same members; values that differ become
parameters. Two definitions of one workflow are not a repetition: the second is a revision of the first.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

from memory.host.json_types import JSONObject
from proposals.learning.miners.evidence import (
    canonical,
    counted_noun,
    digest,
    evidence_of_runs,
    is_shallow,
    named_in_part,
    newest,
    pattern,
    period,
    quote_names,
    shown_name,
    zone_of,
)
from proposals.learning.miners.traces import Finding, NodeTrace, RunTrace, Traces

SHORTEST, LONGEST = 2, 8
MOST_LEVELS = 10  # of a config that is compared member by member
# Node types that wait for a person, and those of the host's own runs.
STOPS = re.compile(
    r"(?:^|[.-])(?:gate|interrupt|install-artifact)$|Gate$|Interrupt$|^host[.-]|^core\.openwop\.governance\."
)
# The port types that can be moved to another workflow; an expression names variables and nodes of its own workflow.
PORTS = {"static": "value", "variable": "variableName", "connection": "nodeId"}
OPEN_REF = "{{params.memoryRef}}"
Port = Mapping[str, object]
Key = tuple[str, ...]
# A value that looks like a placeholder becomes a parameter, because it would be substituted.
PLACEHOLDER = re.compile(r"\{\{\s*params\b")
LONGEST_NAME = 40
ANY_TYPE = ("string", "number", "boolean", "array", "object")  # the type of an outside input is unknown
KIND = "workflow-chain-pack"
LEAST_RUNS = 3  # completed runs that executed the chain
LEAST_WORKFLOWS = 2  # workflows that have it
NEAR = 2  # a chain that shares 1/NEAR of its nodes, in a row, with one that is proposed is not proposed too
ENGINES = {"openwop": ">=1.0.0 <2.0.0"}
VERSION = "1.0.0"
PACK = "private.learned."
LONGEST_SLUG, LONGEST_LABEL = 80, 200
MOST_PARAMETERS = 50  # a chain with more is too generic to propose


# Rows: chains of executed nodes, with a form that makes equal ones comparable across workflows.
#
# Every node of a row after the first has the previous one as its only predecessor, so a definition of n nodes has fewer
# than 7 n rows. Runs of one definition that completed the same nodes are grouped and analysed once.


@dataclass(slots=True)
class Stand:
    """The nodes of a definition that some runs completed, and those runs."""

    nodes: dict[str, NodeTrace]
    edges: tuple[tuple[str, str], ...]
    conditional: frozenset[tuple[str, str]]
    workflow_id: str
    runs: list[RunTrace] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Row:
    """Consecutive nodes of one stand; rows that differ only in values have equal ``forms``, node by node.

    ``kinds`` omit the port connections, so that a node has the same kind in a longer row.
    """

    stand: Stand
    nodes: tuple[NodeTrace, ...]
    kinds: Key
    forms: Key


def stands_of(runs: Iterable[RunTrace]) -> list[Stand]:
    """Group the runs by definition and completed nodes, in an order that does not depend on that of the runs."""
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
    """Whether a node may be part of a row: it waits for no person, and its config and ports can be moved."""
    if STOPS.search(node.type_id) or not is_shallow([config_of(node), dict(node.inputs)], MOST_LEVELS):
        return False
    return all(_is_expressible(port) for port in node.inputs.values())


def _is_expressible(port: object) -> bool:
    return isinstance(port, dict) and PORTS.get(str(port.get("type"))) in port


def config_of(node: NodeTrace) -> JSONObject:
    """The config with the agent's memory ref added for a node that uses memory, because a row does not bring its agent.

    An unknown ref becomes a parameter of the chain.
    """
    remembers = any(":memory." in tool for tool in node.tools)
    return {**({"memoryRef": node.memory_ref or OPEN_REF} if remembers else {}), **node.config}


def rows_of(stand: Stand) -> Iterator[Row]:
    """Every row of the stand, of two to ``LONGEST`` nodes; the nodes of a row act as at most one agent."""
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
    """By node: its predecessor, for nodes with exactly one incoming edge, which is unconditional."""
    sources: dict[str, set[str]] = defaultdict(set)
    for source, target in stand.edges:
        sources[target].add(source)
    return {
        target: source
        for target, (source, *others) in ((target, sorted(each)) for target, each in sources.items())
        if not others and {source, target} <= stand.nodes.keys() and (source, target) not in stand.conditional
    }


def form_of(value: object) -> object:
    """The shape of a JSON value: members, lengths and types."""
    if isinstance(value, dict):
        return {name: form_of(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [form_of(each) for each in value]
    return type_of(value)


def type_of(value: object) -> str:
    """The JSON Schema type of a scalar."""
    names = {bool: "boolean", int: "number", float: "number", str: "string", type(None): "null"}
    return names.get(type(value), "string")


def ports_form(node: NodeTrace, ids: list[str]) -> object:
    """The form of each port, relative to the row: static with its shape, connected inside, or from outside."""
    return {name: _port_form(port, ids, ids.index(node.node_id)) for name, port in node.inputs.items()}


def _port_form(port: Port, ids: list[str], at: int) -> Any:
    if port["type"] == "static":
        return ["static", form_of(port["value"])]
    return ["inside", *inside] if (inside := leads_inside(port, ids[:at])) else ["outside"]


def leads_inside(port: Port, ids: list[str]) -> tuple[int, str] | None:
    """The index of the row's node that a port is connected to, and the output key; None when it is not in the row."""
    if port["type"] != "connection" or port["nodeId"] not in ids:
        return None
    return ids.index(port["nodeId"]), str(port.get("outputKey", ""))


# The fragment of a row for use in any workflow: differing values and outside inputs become parameters.


@dataclass(slots=True)
class Parameters:
    """The parameters of a chain. Places with the same values in every row share one parameter."""

    schemas: dict[str, JSONObject] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    _named: dict[str, str] = field(default_factory=dict)

    def name_of(self, values: Sequence[object], wanted: str, schema: JSONObject, *, required: bool = True) -> str:
        """The name of the parameter for ``values``, one value per row; adds the parameter when it is new."""
        key = canonical([schema["type"], list(values)])
        if key not in self._named:
            self._named[key] = self._free(wanted)
            self.schemas[self._named[key]] = schema
        if required:
            self.required.add(self._named[key])
        return self._named[key]

    def _free(self, wanted: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9_]+", "_", wanted)[:LONGEST_NAME].strip("_")
        name = first = plain if plain[:1].isalpha() else f"value_{plain}".rstrip("_")
        number = 2
        while name in self.schemas:
            name, number = f"{first}_{number}", number + 1
        return name

    def schema(self) -> JSONObject:
        return {
            "type": "object",
            "properties": self.schemas,
            "required": sorted(self.required),
            "additionalProperties": False,
        }


def last_part(type_id: str) -> str:
    """The last part of a node type's name, as a slug for an id."""
    plain = re.sub(r"[^a-z0-9]+", "-", type_id.rpartition(".")[2].lower())[:24].strip("-")
    return plain if plain[:1].isalpha() else "node"


def chain_of(rows: Sequence[Row]) -> tuple[Parameters, JSONObject]:
    """The parameters and the fragment that generalise ``rows``, which have equal forms."""
    parameters, ids = Parameters(), _ids(rows[0])
    nodes = []
    for at, node in enumerate(rows[0].nodes):
        about = f"of the node {ids[at]} ({node.type_id})"
        configs = [config_of(row.nodes[at]) for row in rows]
        config = _merged(parameters, configs, "value", f"Config {about}")
        inputs = {name: _port(parameters, rows, at, name, ids, about) for name in sorted(node.inputs)}
        nodes.append({"id": ids[at], "typeId": node.type_id, "config": config, "inputs": inputs})
    edges = [{"from": one, "to": other} for one, other in pairwise(ids)]
    return parameters, {"nodes": nodes, "edges": edges}


def _ids(row: Row) -> list[str]:
    ids: list[str] = []
    for node in row.nodes:
        base = name = last_part(node.type_id)
        number = 2
        while name in ids:
            name, number = f"{base}-{number}", number + 1
        ids.append(name)
    return ids


def _merged(parameters: Parameters, values: Sequence[Any], wanted: str, about: str) -> Any:
    """The value that all rows share; a placeholder where they differ."""
    first = values[0]
    if isinstance(first, dict):
        return {name: _member(parameters, values, name, about) for name in sorted(first)}
    if isinstance(first, list | tuple):
        parts = zip(*values, strict=True)
        return [_merged(parameters, part, f"{wanted}_{at}", about) for at, part in enumerate(parts, 1)]
    said = {canonical(value) for value in values}
    if len(said) == 1 and not (isinstance(first, str) and PLACEHOLDER.search(first)):
        return first
    name = parameters.name_of(values, wanted, {"type": type_of(first), "description": f"{about}: {wanted}"})
    return f"{{{{params.{name}}}}}"


def _member(parameters: Parameters, values: Sequence[JSONObject], name: str, about: str) -> Any:
    return _merged(parameters, [value[name] for value in values], name, about)


def _port(parameters: Parameters, rows: Sequence[Row], at: int, name: str, ids: list[str], about: str) -> JSONObject:
    """The port of that name: static, connected inside the chain, or filled from a parameter, which a run has as a
    variable."""
    ports = [row.nodes[at].inputs[name] for row in rows]
    if ports[0]["type"] == "static":
        return {
            "type": "static",
            "value": _merged(parameters, [port["value"] for port in ports], name, f"Input {about}"),
        }
    may_be_empty = all(port.get("optional") is True for port in ports)
    optional = {"optional": True} if may_be_empty else {}
    inside = leads_inside(ports[0], [node.node_id for node in rows[0].nodes[:at]])
    if inside:
        return {"type": "connection", "nodeId": ids[inside[0]], "outputKey": inside[1], **optional}
    schema = {"type": list(ANY_TYPE), "description": f"Input {about}: {name}"}
    given = parameters.name_of([_source(port) for port in ports], name, schema, required=not may_be_empty)
    return {"type": "variable", "variableName": given, **optional}


def _source(port: Any) -> list[str]:
    """The source of a port's value outside the chain."""
    return [port["type"], str(port.get("nodeId", "")), str(port.get("variableName") or port.get("outputKey", ""))]


Rows = list[Row]


def find(traces: Traces, *, now: datetime) -> list[Finding]:
    """One finding per repeated chain that is not installed yet and is not part of a longer one."""
    there = _Installed(traces.chains)
    new = (rows for rows in _maximal(_repeated(traces.runs)) if not there.covers(rows))
    return [finding for rows in new if (finding := _finding(rows, traces))]


def _repeated(runs: Iterable[RunTrace]) -> list[Rows]:
    """Groups of rows with equal forms, seen in enough workflows and runs."""
    learnt = [run for run in runs if run.status == "completed" and not run.builtin]
    groups: dict[Key, Rows] = defaultdict(list)
    for stand in stands_of(learnt):
        for row in rows_of(stand):
            groups[row.forms].append(row)
    return [rows for rows in groups.values() if _is_often(rows)]


def _is_often(rows: Rows) -> bool:
    return len({row.stand.workflow_id for row in rows}) >= LEAST_WORKFLOWS and len(_runs(rows)) >= LEAST_RUNS


def _runs(rows: Rows) -> dict[str, RunTrace]:
    return {run.run_id: run for row in rows for run in row.stand.runs}


def _maximal(groups: list[Rows]) -> Iterator[Rows]:
    """The longest groups, without parts of others, and without those that share much with one already taken."""
    parts, taken = set[Key](), set[Key]()
    ranked = sorted(groups, key=lambda rows: (-len(rows[0].nodes), -len(_runs(rows)), rows[0].forms))
    for rows in ranked:
        kinds = rows[0].kinds
        is_part = kinds in parts
        parts.update(part for length in range(SHORTEST, len(kinds)) for part in _parts(kinds, length))
        if not is_part and taken.isdisjoint(_parts(kinds, max(SHORTEST, -(-len(kinds) // NEAR)))):
            taken.update(part for length in range(SHORTEST, LONGEST + 1) for part in _parts(kinds, length))
            yield rows


def _parts(key: Sequence[str], length: int) -> list[Key]:
    """Every consecutive part of that length."""
    return [tuple(key[at : at + length]) for at in range(len(key) - length + 1)]


class _Installed:
    """The configs of every part of the installed chains, by the types of its nodes."""

    def __init__(self, documents: Iterable[JSONObject | Any]) -> None:
        self._parts: dict[Key, list[list[object]]] = defaultdict(list)
        for document in documents:
            for chain in document.get("chains", [document]):
                self._add(chain.get("dag", chain).get("nodes", []))

    def _add(self, nodes: list[JSONObject]) -> None:
        for length in range(SHORTEST, LONGEST + 1):
            for at in range(len(nodes) - length + 1):
                part = nodes[at : at + length]
                types = tuple(str(node.get("typeId")) for node in part)
                self._parts[types].append([node.get("config", {}) for node in part])

    def covers(self, rows: Rows) -> bool:
        """Whether an installed chain has a part equal to ``rows``, where a parameter of either equals anything."""
        types = tuple(node.type_id for node in rows[0].nodes)
        if types not in self._parts:
            return False
        _, dag = chain_of(rows)
        configs = [node["config"] for node in dag["nodes"]]
        return any(_is_alike(configs, there) for there in self._parts[types])


def _is_alike(one: object, other: object) -> bool:
    for value in (one, other):
        if isinstance(value, str) and PLACEHOLDER.search(value):
            return True
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_alike(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_alike, one, other))
    return canonical(one) == canonical(other)


def _finding(rows: Rows, traces: Traces) -> Finding | None:
    runs = list(_runs(rows).values())
    types = [node.type_id for node in rows[0].nodes]
    parameters, dag = chain_of(rows)
    if len(parameters.schemas) > MOST_PARAMETERS:
        return None
    named = newest(runs)
    name = _name(types, rows[0].forms)
    return Finding(
        kind=KIND,
        title=f"Make {len(types)} nodes a chain: {', '.join(map(last_part, types))}",
        rationale=_rationale(rows, runs, len(parameters.schemas), traces.timezone),
        artifact=_pack(name, types, parameters, dag),
        pattern=pattern(KIND, name, rows[0].forms, "new"),
        source_run_ids=named,
        evidence=evidence_of_runs(named, "repeats-chain"),
    )


def _name(types: list[str], forms: Key) -> str:
    """A name that is equal for equal forms, and different for different ones."""
    slug = "-".join(map(last_part, types))[:LONGEST_SLUG].strip("-")
    return f"{PACK}{slug}-{digest(list(forms))[:8]}"


def _pack(name: str, types: list[str], parameters: Parameters, dag: JSONObject) -> JSONObject:
    description = f"{len(types)} nodes in a row, as several workflows repeat them: {', '.join(map(last_part, types))}."
    chain = {
        "chainId": name,
        "version": VERSION,
        "label": ", ".join(map(last_part, types)).capitalize()[:LONGEST_LABEL],
        "description": description,
        "parameters": parameters.schema(),
        "dag": dag,
    }
    return {
        "name": name,
        "version": VERSION,
        "kind": "workflow-chain",
        "description": description,
        "engines": dict(ENGINES),
        "chains": [chain],
    }


def _rationale(rows: Rows, runs: list[RunTrace], parameters: int, timezone: str) -> str:
    workflows = {row.stand.workflow_id for row in rows}
    types = ", ".join(shown_name(node.type_id) for node in rows[0].nodes)
    when = period((run.created_at for run in runs), zone_of(timezone))
    left_open = f" What differs, or comes from outside, is left open: {counted_noun(parameters, 'parameter')}."
    return (
        f"The workflows {quote_names(workflows)} have the same {len(rows[0].nodes)} nodes in a row ({types}). "
        f"{counted_noun(len(runs), 'completed run')} went through them {when}."
        f"{left_open if parameters else ''}{named_in_part(len(runs))}"
    )
