"""Packs of workflow chains as a kind of artifact (RFC 0013): each chain is a workflow that runs resolve by its chainId.

What this host could not execute is refused before a pack is installed, with the path inside the artifact. A node whose
config is told on the log takes nothing of a run into it; its inputs are the place for that.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from memory.host import node_types, registry
from memory.host.installing import Document, Installer, Problems
from memory.host.models import ArtifactKind
from memory.host.registry import Artifact
from openwop_console.runtime import definitions, json_schemas
from openwop_console.runtime.chains import deriving, placeholders

OF_THE_HOST = "host-"
SAMPLE = "sample"
IN_THE_CHAIN = {"nodes": "dag.nodes", "edges": "dag.edges"}
PLACE = re.compile(r"\$\.(nodes|edges)(.*)", re.DOTALL)

Found = Iterator[tuple[str, str]]


def _named(document: Document) -> tuple[str, str]:
    return document["name"], document["version"]


def _parts(document: Document) -> list[Artifact]:
    return [
        Artifact(ArtifactKind.WORKFLOW, chain["chainId"], document["version"], deriving.text_of(chain))
        for chain in document["chains"]
    ]


def _problems(tenant_id: UUID, document: Document) -> Problems:
    """What this host could not install in this tenant of a pack that is valid by its schema."""
    named = Counter(chain["chainId"] for chain in document["chains"])
    found: Problems = []
    for at, chain in enumerate(document["chains"]):
        if named[chain["chainId"]] > 1:
            found.append((f"$.chains[{at}].chainId", "stands for two chains of the pack"))
        found += [(f"$.chains[{at}]{path}", message) for path, message in _of_chain(tenant_id, chain)]
    return found


def _of_chain(tenant_id: UUID, chain: Mapping[str, Any]) -> Found:
    taken = _taken(tenant_id, chain["chainId"])
    if taken:
        yield ".chainId", taken
    if len(chain["dag"]["nodes"]) > 1 and not chain["dag"].get("edges"):
        yield ".dag.edges", "are missing; more than one node needs them"
    parameters = list(_of_parameters(chain["parameters"]))
    yield from parameters
    if not parameters:
        definition = deriving.definition_of(chain)
        for problem in definitions.problems_of(_sample_of(definition)):
            yield _place(problem["field"]), problem["message"]
        for path, message in [*_of_connections(definition), *_of_placeholders(definition)]:
            yield _place(path), message


def _sample_of(definition: dict[str, Any]) -> dict[str, Any]:
    """The workflow with a word in place of every placeholder, as a run might fill it in."""
    names = {name for _, _, text in placeholders.texts_in(definition) for name in placeholders.names_in(text)}
    return placeholders.filled(definition, dict.fromkeys(names, SAMPLE))


def _taken(tenant_id: UUID, chain_id: str) -> str:
    """Why no chain can have that id, or nothing. One that another pack has brought is that pack's."""
    if chain_id in registry.builtin_ids() or chain_id.startswith(OF_THE_HOST):
        return "belongs to a workflow of the host"
    there = registry.current(tenant_id, ArtifactKind.WORKFLOW, chain_id)
    return "is the id of a workflow that is installed" if there and not there.part_of_id else ""


def _of_parameters(parameters: Mapping[str, Any]) -> Found:
    problem = json_schemas.problem_of(parameters)
    if problem:
        yield ".parameters", problem
    elif parameters.get("type", "object") != "object":
        yield ".parameters.type", "must be object: a run has its inputs by name"
    else:
        for name, schema in parameters.get("properties", {}).items():
            yield from _of_default(f".parameters.properties.{name}", schema)


def _of_default(path: str, schema: Any) -> Found:
    if isinstance(schema, dict) and "default" in schema:
        wrong = json_schemas.problems(schema, schema["default"], field=f"{path}.default")
        yield from ((problem["field"], problem["message"]) for problem in wrong)


def _of_connections(definition: Mapping[str, Any]) -> Found:
    """An input that waits for a node that is not there."""
    ids = {node["id"] for node in definition["nodes"]}
    for at, node in enumerate(definition["nodes"]):
        for name, port in node["inputs"].items():
            if port["type"] == "connection" and port.get("nodeId") not in ids:
                yield f"$.nodes[{at}].inputs.{name}", "names a node that is not there"


def _of_placeholders(definition: Mapping[str, Any]) -> Found:
    declared = {each["name"]: each["required"] or "defaultValue" in each for each in definition["variables"]}
    for path, type_id, text in placeholders.texts_in(definition):
        names = placeholders.names_in(text)
        if placeholders.is_malformed(text) or not declared.keys() >= set(names):
            yield path, "has a placeholder that names no parameter"
        elif not all(declared[name] for name in names):
            yield path, "has a placeholder of a parameter that is neither required nor has a default"
        elif names and node_types.is_told(type_id):
            yield path, "is told on the log, where nothing of a run may stand; give it to the node as an input"


def _place(field: str) -> str:
    """Where in the chain that is which is wrong in its workflow."""
    found = PLACE.fullmatch(field)
    if found:
        return f".{IN_THE_CHAIN[found[1]]}{found[2]}"
    return ".parameters" if field.startswith("$.variables") else ""


INSTALLER = Installer(ArtifactKind.CHAIN_PACK, _named, problems=_problems, parts=_parts)
