"""A row of nodes as it can be put into any workflow: what differed, and what came from outside, becomes parameters."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from proposals.miners.sequences import Row, config_of, leads_inside, type_of
from proposals.miners.sightings import canonical

# A value that would be taken for a placeholder has to be given by whoever uses the chain.
PLACEHOLDER = re.compile(r"\{\{\s*params\b")
LONGEST_NAME = 40
ANY_TYPE = ("string", "number", "boolean", "array", "object")  # of what comes from outside nothing is known

Document = dict[str, Any]


@dataclass(slots=True)
class Parameters:
    """The parameters of a chain. Places at which every row had the same have one together."""

    schemas: dict[str, Document] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    _named: dict[str, str] = field(default_factory=dict)

    def name_of(self, values: Sequence[Any], wanted: str, schema: Document, *, required: bool = True) -> str:
        """The parameter that stands for ``values``, of which each row had one."""
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

    def schema(self) -> Document:
        return {
            "type": "object",
            "properties": self.schemas,
            "required": sorted(self.required),
            "additionalProperties": False,
        }


def last_part(type_id: str) -> str:
    """The last part of a node type's name, as it may stand in an id."""
    plain = re.sub(r"[^a-z0-9]+", "-", type_id.rpartition(".")[2].lower())[:24].strip("-")
    return plain if plain[:1].isalpha() else "node"


def chain_of(rows: Sequence[Row]) -> tuple[Parameters, Document]:
    """The parameters and the fragment that stand for all of ``rows``, which are equal but for their values."""
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
    """The value that all have; where they differ, a placeholder."""
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


def _member(parameters: Parameters, values: Sequence[Document], name: str, about: str) -> Any:
    return _merged(parameters, [value[name] for value in values], name, about)


def _port(parameters: Parameters, rows: Sequence[Row], at: int, name: str, ids: list[str], about: str) -> Document:
    """The port of that name: wired inside the chain, as it was, or filled from a parameter, which a run has as a
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
    """Where outside of the chain the port got its value."""
    return [port["type"], str(port.get("nodeId", "")), str(port.get("variableName") or port.get("outputKey", ""))]
