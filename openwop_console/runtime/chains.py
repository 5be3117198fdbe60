"""Workflow chains of installed packs (RFC 0013): conversion to workflows, parameters, installation and run plans."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.host import json_schemas, node_types, registry
from memory.host.errors import ChainParameterInvalid
from memory.host.json_types import JSONMapping, JSONObject
from memory.host.models import ArtifactKind, Installation, Run
from memory.host.registry import Artifact, Installer, Problems
from openwop_console.runtime import workflows
from openwop_console.runtime.expressions import MOST_FILLED
from openwop_console.runtime.workflows import MARK, ErrorList

Chain = JSONMapping
TELLS = ("chainId", "version", "parameters", "outputs", "capabilities")
PLAIN_ID = re.compile(r"[a-z][a-z0-9_-]*")
LONGEST_ID = 128
LONGEST_NAME = 128  # of a member, in the paths of all texts in it
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
PARAMETER = re.compile(r"\{\{\s*params\.([a-zA-Z_][a-zA-Z0-9_-]{0,127})\s*\}\}")
BEGINNING = re.compile(r"\{\{\s*params\b")
OPENING = "{{"
LONGEST = 262_144
TOO_MUCH = f"come to more than {MOST_FILLED:,} characters in the workflow"
MOST_INPUTS = 5_000  # of all nodes of a pack: to check one takes 0.1 ms
Values = JSONMapping
Definition = JSONMapping
OF_THE_HOST = "host-"
SAMPLES: JSONObject = {"string": "sample", "number": 1, "boolean": True, "array": [], "object": {}}
IN_THE_CHAIN = {"nodes": "dag.nodes", "edges": "dag.edges"}
PLACE = re.compile(r"\$\.(nodes|edges)(.*)", re.DOTALL)
Found = Iterator[tuple[str, str]]


# Conversion of a chain to a workflow: deterministic, the same chain always gives the same text.
#
# A chain's parameters become the workflow's variables. Its node ids are kept, because the workflow contains nothing
# else. Runs resolve the chainId; the definition's own id is derived from it to satisfy the workflow id syntax. An edge
# between ports becomes an edge and an input of its target. Placeholders of parameters are kept: a run fills them in.


def text_of(chain: Chain) -> str:
    """The chain's workflow definition as the canonical JSON text that is installed."""
    return json.dumps(workflow_of(chain), ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def workflow_of(chain: Chain) -> JSONObject:
    """Convert a schema-valid chain to a workflow; nodes, edges and variables keep the chain's order."""
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
    """A workflow id for the chain: the chainId if it is valid, else a sanitised form made unique by a digest."""
    if PLAIN_ID.fullmatch(chain_id):
        return chain_id
    digest = hashlib.sha256(chain_id.encode()).hexdigest()[:8]
    plain = re.sub(r"[^a-z0-9_-]", "-", chain_id.lower())
    return f"{plain[: LONGEST_ID - 9]}-{digest}"


def _end(named: str, ids: Collection[str]) -> tuple[str, str]:
    """Split one end of an edge into its node and port; the port is empty when none is named."""
    node, dot, port = named.rpartition(".")
    return (node, port) if dot and named not in ids and node in ids else (named, "")


def _bound(node_id: str, ends: list[tuple[tuple[str, str], tuple[str, str], object]]) -> Iterator[tuple[str, Any]]:
    """The node's inputs that come from edges; a port named at one end only has the same name at both."""
    for (source, output), (target, port), _ in ends:
        if target == node_id and (output or port):
            yield port or output, {"type": "connection", "nodeId": source, "outputKey": output or port}


def _node(at: int, node: JSONMapping, bound: JSONObject) -> JSONObject:
    inputs = {name: _port(value) for name, value in node.get("inputs", {}).items()}
    return {
        "id": node["id"],
        "typeId": node["typeId"],
        "name": node.get("name") or node["id"],
        "position": {"x": at * APART, "y": 0, **node.get("position", {})},
        "config": node.get("config", {}),
        "inputs": {**bound, **inputs},
    }


def _port(value: object) -> Any:
    """Convert a chain's input to a workflow port; a value that is not a port becomes a static one."""
    if isinstance(value, dict) and isinstance(value.get("type"), str) and value["type"] in PORTS:
        return value
    return {"type": "static", "value": value}


def _edge(at: int, source: tuple[str, str], target: tuple[str, str], edge: Mapping[str, object]) -> JSONObject:
    condition = {"type": "expression", "expression": edge.get("condition")}
    return {
        "id": f"edge-{at}",
        "sourceNodeId": source[0],
        "targetNodeId": target[0],
        **({"condition": condition} if "condition" in edge else {}),
    }


def _variables(parameters: JSONMapping) -> Iterator[JSONObject]:
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


def _type_of(said: object) -> str:
    """The closest variable type; values are validated against the parameter's own schema."""
    names = said if isinstance(said, list) else [said]
    return next((TYPES[name] for name in names if name in TYPES), "object")


# ``{{params.name}}`` in a chain: finding the placeholders, and filling in the values of one run.
#
# Placeholders occur in the texts of a node's config and inputs. A text that consists of one placeholder becomes the
# value itself, with its type; within a longer text the value is written out. A value must not contain a placeholder of
# its own: only the workflow, which was reviewed, may.


def texts_in(definition: Definition) -> Iterator[tuple[str, str, str]]:
    """Yield (path, type id, text) for every text that may contain a placeholder; the type id is empty for inputs."""
    for at, node in enumerate(definition["nodes"]):
        for path, text in _texts(node["config"], f"$.nodes[{at}].config"):
            yield path, node["typeId"], text
        for name, port in node["inputs"].items():
            path = f"$.nodes[{at}].inputs.{name[:LONGEST_NAME]}"
            for _, text in _texts(port, ""):
                yield path, "", text


def _texts(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from _texts(member, f"{path}.{name[:LONGEST_NAME]}")
    elif isinstance(value, list):
        for at, member in enumerate(value):
            yield from _texts(member, f"{path}[{at}]")


def names_in(text: str) -> list[str]:
    """The parameter names of the text's placeholders, repeats included."""
    return PARAMETER.findall(text)


def is_malformed(text: str) -> bool:
    """Whether the text has something that begins like a parameter placeholder but is not one."""
    return len(BEGINNING.findall(text)) != len(names_in(text))


def _is_too_much(definition: Definition, values: Values) -> bool:
    """Whether the values come to too much at all placeholders: a value can be long, and be named thousands of times."""
    lengths = {name: len(_written(value)) for name, value in values.items()}
    return sum(lengths.get(name, 0) for _, _, text in texts_in(definition) for name in names_in(text)) > MOST_FILLED


def problem_of(text: str, values: Values) -> str:
    """Why the text cannot take these values; empty when it can. The length is checked before the text is built."""
    names = names_in(text)
    if sum(len(_written(values.get(name))) for name in names) > LONGEST:
        return f"comes to more than {LONGEST} characters in the workflow"
    written = PARAMETER.sub(lambda match: _written(values.get(match[1])), text)
    if written.count(OPENING) != PARAMETER.sub("-", text).count(OPENING):
        return "holds a placeholder"
    return ""


def guilty_in(text: str, values: Values) -> list[str]:
    """The parameters that cause the text's problem: those whose value opens a placeholder, else all of them."""
    names = names_in(text)
    return [name for name in names if OPENING in _written(values.get(name))] or names


def filled(definition: JSONObject, values: Values) -> JSONObject:
    """Return the definition with its placeholders replaced by the values."""
    nodes = [
        {**node, "config": _filled(node["config"], values), "inputs": _filled(node["inputs"], values)}
        for node in definition["nodes"]
    ]
    return {**definition, "nodes": nodes}


def _filled(value: object, values: Values) -> object:
    if isinstance(value, dict):
        return {name: _filled(member, values) for name, member in value.items()}
    if isinstance(value, list):
        return [_filled(member, values) for member in value]
    if not isinstance(value, str):
        return value
    whole = PARAMETER.fullmatch(value)
    return values.get(whole[1]) if whole else PARAMETER.sub(lambda match: _written(values.get(match[1])), value)


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# Chain packs as an artifact kind (RFC 0013): each chain is a workflow that runs resolve by its chainId.
#
# A pack that this host could not execute is refused before installation, with the path inside the artifact. A node
# whose config appears on the log must not have placeholders in it; run values belong in its inputs.


def _name_and_version(document: JSONMapping) -> tuple[str, str]:
    return document["name"], document["version"]


def _parts(document: JSONMapping) -> list[Artifact]:
    return [
        Artifact(ArtifactKind.WORKFLOW, chain["chainId"], document["version"], text_of(chain))
        for chain in document["chains"]
    ]


def _problems(tenant_id: UUID, document: JSONMapping) -> Problems:
    """Return (path, problem) pairs that prevent installing a schema-valid pack in this tenant."""
    named = Counter(chain["chainId"] for chain in document["chains"])
    inputs = sum(len(node.get("inputs", ())) for chain in document["chains"] for node in chain["dag"]["nodes"])
    if inputs > MOST_INPUTS:
        return [("$.chains", f"have more than {MOST_INPUTS:,} inputs of nodes together")]
    found: Problems = []
    for at, chain in enumerate(document["chains"]):
        if named[chain["chainId"]] > 1:
            found.append((f"$.chains[{at}].chainId", "names two chains of the pack"))
        found += [(f"$.chains[{at}]{path}", message) for path, message in _of_chain(tenant_id, chain)]
    return found


def _of_chain(tenant_id: UUID, chain: JSONMapping) -> Found:
    taken = _why_id_is_taken(tenant_id, chain["chainId"])
    if taken:
        yield ".chainId", taken
    if len(chain["dag"]["nodes"]) > 1 and not chain["dag"].get("edges"):
        yield ".dag.edges", "are missing; more than one node needs them"
    parameters = list(_of_parameters(chain["parameters"]))
    yield from parameters
    if not parameters:
        definition = workflow_of(chain)
        samples = _samples_for(definition)
        if _is_too_much(definition, samples):
            yield ".parameters", f"have defaults that {TOO_MUCH}"
            return
        for problem in workflows.problems_of(filled(definition, samples)):
            yield _place(problem["field"]), problem["message"]
        for path, message in _of_placeholders(definition):
            yield _place(path), message


def _samples_for(definition: JSONObject) -> JSONObject:
    """Values with which a run might fill the workflow in: of a parameter its default, or else a value of its type."""
    names = {name for _, _, text in texts_in(definition) for name in names_in(text)}  # declared or not
    typed = {each["name"]: each.get("defaultValue", SAMPLES[each["type"]]) for each in definition["variables"]}
    return {**dict.fromkeys(names, SAMPLES["string"]), **typed}


def _why_id_is_taken(tenant_id: UUID, chain_id: str) -> str:
    """Why a chain cannot have that id; empty when it can. An id that a pack has installed is not refused here."""
    if chain_id in registry.builtin_ids() or chain_id.startswith(OF_THE_HOST):
        return "belongs to a workflow of the host"
    there = registry.current(tenant_id, ArtifactKind.WORKFLOW, chain_id)
    return "is the id of a workflow that is installed" if there and not there.part_of_id else ""


def _of_parameters(parameters: JSONMapping) -> Found:
    problem = json_schemas.problem_of(parameters)
    if problem:
        yield ".parameters", problem
    elif parameters.get("type", "object") != "object":
        yield ".parameters.type", "must be object: a run has its inputs by name"
    else:
        for name, schema in parameters.get("properties", {}).items():
            yield from _of_default(f".parameters.properties.{name}", schema)


def _of_default(path: str, schema: object) -> Found:
    if isinstance(schema, dict) and "default" in schema:
        wrong = json_schemas.problems(schema, schema["default"], field=f"{path}.default")
        yield from ((problem["field"], problem["message"]) for problem in wrong)


def _of_placeholders(definition: JSONMapping) -> Found:
    declared = {each["name"]: each["required"] or "defaultValue" in each for each in definition["variables"]}
    for path, type_id, text in texts_in(definition):
        names = names_in(text)
        if is_malformed(text) or not declared.keys() >= set(names):
            yield path, "has a placeholder that names no parameter"
        elif not all(declared[name] for name in names):
            yield path, "has a placeholder of a parameter that is neither required nor has a default"
        elif names and node_types.logs_config(type_id):
            yield path, "would be written to the log, which may hold no data of a run; pass it to the node as an input"


def _place(field: str) -> str:
    """Map a field path of the workflow to the path in its chain."""
    found = PLACE.fullmatch(field)
    if found:
        return f".{IN_THE_CHAIN[found[1]]}{found[2]}"
    return ".parameters" if field.startswith("$.variables") else ""


INSTALLER = Installer(ArtifactKind.CHAIN_PACK, _name_and_version, problems=_problems, parts=_parts)


# Resolution of a workflow for a run, and validation of its inputs: the only place where a chain becomes a run.
#
# A run of a chain pins its definition with the placeholders, which are filled in at every step: parameter values are
# stored only with the run's inputs, where a forget can erase them.


@dataclass(frozen=True, slots=True)
class Plan:
    """The definition that a run would pin, as ``text`` and parsed; ``installed`` is None for a built-in workflow."""

    text: str
    definition: JSONObject
    installed: Installation | None

    @property
    def part(self) -> Installation | None:
        """The installation, if a pack installed it; else None."""
        return self.installed if self.installed and self.installed.part_of_id else None

    def require_enabled(self) -> None:
        """Refuse a disabled workflow."""
        if self.installed:
            registry.require_enabled(self.installed)


def find(tenant_id: UUID, workflow_id: str) -> Plan | None:
    """The plan of a run of ``workflow_id`` now; None when the tenant has no such workflow."""
    if workflow_id in registry.builtin_ids():
        text = registry.workflow_text(tenant_id, workflow_id)
        return Plan(text, json.loads(text), None) if text else None
    own = registry.current(tenant_id, ArtifactKind.WORKFLOW, workflow_id)
    return Plan(own.text, json.loads(own.text), own) if own else None


def check_inputs(definition: JSONObject, inputs: JSONObject) -> None:
    """Refuse, with fields, inputs that the chain's parameters do not allow; does nothing for other workflows."""
    errors = input_problems(definition, inputs) if MARK in definition["metadata"] else []
    if errors:
        raise ChainParameterInvalid(errors=errors)


def input_problems(definition: JSONObject, inputs: JSONObject) -> ErrorList:
    """Problems, by field, that prevent starting a run with these inputs."""
    missing = workflows.missing_in(definition, inputs)
    errors = [{"field": f"inputs.{name}", "message": "is required by the workflow"} for name in missing]
    chain = definition["metadata"].get(MARK)
    if errors or chain is None:
        return errors
    values = _values_of(definition, inputs)
    return (
        json_schemas.problems(chain["parameters"], values, field="inputs")
        or _smuggled(definition, values)
        or _senseless(definition, values)
    )


def _smuggled(definition: JSONObject, values: JSONObject) -> ErrorList:
    """Errors for inputs that would inject a placeholder or make a text of the workflow, or all of them, too long."""
    if _is_too_much(definition, values):
        return [{"field": "inputs", "message": TOO_MUCH}]
    problems = {
        name: problem
        for _, _, text in texts_in(definition)
        if (problem := problem_of(text, values))
        for name in guilty_in(text, values)
    }
    return [{"field": f"inputs.{name}", "message": problem} for name, problem in problems.items()]


def _senseless(definition: JSONObject, values: JSONObject) -> ErrorList:
    """Errors for the places at which this host cannot execute the workflow with the values filled in."""
    return [
        {"field": "inputs", "message": f"do not fit the workflow: {problem['field'][2:]} {problem['message']}"}
        for problem in workflows.problems_of(filled(definition, values))
    ]


def _values_of(definition: JSONObject, inputs: JSONObject) -> JSONObject:
    defaults = {each["name"]: each["defaultValue"] for each in definition["variables"] if "defaultValue" in each}
    return {**defaults, **inputs}


def definition_for(run: Run) -> JSONObject:
    """The definition that the run executes: the pinned one, for a chain with the run's inputs filled in."""
    definition: JSONObject = json.loads(run.definition.text)
    if MARK in definition["metadata"]:
        return filled(definition, _values_of(definition, run.inputs))
    return definition


def note_use_again(source: Run, fork: Run, *, now: datetime) -> None:
    """Record for a fork the workflow installations that its source used."""
    for use in registry.used_by(source):
        if use.installation.kind == ArtifactKind.WORKFLOW:
            registry.note_use(fork, use.installation, now=now)
