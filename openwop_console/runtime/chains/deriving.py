"""The workflow that a chain comes to: the same chain is the same text, always. Pure.

A chain's parameters are the workflow's variables. Its node ids stay, because nothing else is in that workflow. What
runs resolve is the chainId; the definition's own id is written as an id of a workflow has to be. An edge between ports
is an edge, and an input of its target as well. Placeholders of parameters stay as they are: a run fills them in.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from openwop_console.runtime.definitions import MARK

Chain = Mapping[str, Any]

TELLS = ("chainId", "version", "parameters", "outputs", "capabilities")
PLAIN_ID = re.compile(r"[a-z][a-z0-9_-]*")
LONGEST_ID = 128
APART = 200
PORTS = frozenset({"static", "variable", "connection", "expression"})
TYPES = {
    "string": "string",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "array": "array",
    "object": "object",
}


def text_of(chain: Chain) -> str:
    """The definition of the chain's workflow, as the text that is installed."""
    return json.dumps(definition_of(chain), ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def definition_of(chain: Chain) -> dict[str, Any]:
    """The workflow of a chain that is valid by its schema; its nodes, edges and variables are in the chain's order."""
    dag = chain["dag"]
    ids = {node["id"] for node in dag["nodes"]}
    ends = [(_end(edge["from"], ids), _end(edge["to"], ids), edge) for edge in dag.get("edges", [])]
    return {
        "id": _id_of(chain["chainId"]),
        "name": chain["label"],
        "description": chain["description"],
        "version": chain["version"],
        "nodes": [_node(at, node, dict(_bound(node["id"], ends))) for at, node in enumerate(dag["nodes"])],
        "edges": [_edge(at, *end) for at, end in enumerate(ends, 1)],
        "triggers": [{"id": "manual", "type": "manual"}],
        "variables": list(_variables(chain["parameters"])),
        "metadata": {MARK: {name: chain[name] for name in TELLS if name in chain}},
        "settings": {},
    }


def _id_of(chain_id: str) -> str:
    """An id of a workflow for the chain: its own if that is one, else one that no other chainId has."""
    if PLAIN_ID.fullmatch(chain_id):
        return chain_id
    digest = hashlib.sha256(chain_id.encode()).hexdigest()[:8]
    plain = re.sub(r"[^a-z0-9_-]", "-", chain_id.lower())
    return f"{plain[: LONGEST_ID - 9]}-{digest}"


def _end(named: str, ids: Collection[str]) -> tuple[str, str]:
    """The node that one end of an edge names, and the port when it names one."""
    node, dot, port = named.rpartition(".")
    return (node, port) if dot and named not in ids and node in ids else (named, "")


def _bound(node_id: str, ends: list[tuple[tuple[str, str], tuple[str, str], Any]]) -> Iterator[tuple[str, Any]]:
    """The inputs of the node that edges bring; a port that is named at one end alone has that name at both."""
    for (source, output), (target, port), _ in ends:
        if target == node_id and (output or port):
            yield port or output, {"type": "connection", "nodeId": source, "outputKey": output or port}


def _node(at: int, node: Mapping[str, Any], bound: dict[str, Any]) -> dict[str, Any]:
    inputs = {name: _port(value) for name, value in node.get("inputs", {}).items()}
    return {
        "id": node["id"],
        "typeId": node["typeId"],
        "name": node.get("name") or node["id"],
        "position": {"x": at * APART, "y": 0, **node.get("position", {})},
        "config": node.get("config", {}),
        "inputs": {**bound, **inputs},
    }


def _port(value: Any) -> Any:
    """How a workflow says what a chain says of an input: a port as it is, and any other value as itself."""
    if isinstance(value, dict) and isinstance(value.get("type"), str) and value["type"] in PORTS:
        return value
    return {"type": "static", "value": value}


def _edge(at: int, source: tuple[str, str], target: tuple[str, str], edge: Mapping[str, Any]) -> dict[str, Any]:
    condition = {"type": "expression", "expression": edge.get("condition")}
    return {
        "id": f"edge-{at}",
        "sourceNodeId": source[0],
        "targetNodeId": target[0],
        **({"condition": condition} if "condition" in edge else {}),
    }


def _variables(parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    required = parameters.get("required", [])
    for name, schema in parameters.get("properties", {}).items():
        said = schema if isinstance(schema, dict) else {}
        yield {
            "name": name,
            "type": _type_of(said.get("type")),
            "required": name in required,
            **({"description": said["description"]} if isinstance(said.get("description"), str) else {}),
            **({"defaultValue": said["default"]} if "default" in said else {}),
        }


def _type_of(said: Any) -> str:
    """The nearest that a variable has; the parameter's own schema is what its value must satisfy."""
    names = said if isinstance(said, list) else [said]
    return next((TYPES[name] for name in names if name in TYPES), "object")
