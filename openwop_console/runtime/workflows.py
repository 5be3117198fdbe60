"""Workflow definitions: validation, installation, and the schedules of their triggers.

A definition that this host cannot execute (an unknown node type, a cycle, an unreadable expression) is refused at
installation with the path of the field, so that a run never meets one.
"""

import json
from dataclasses import replace
from datetime import datetime
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction
from jsonschema import Draft202012Validator

from memory import redaction
from memory.host import json_schemas, node_types, regexes, registry, scheduling
from memory.host.errors import Invalid
from memory.host.json_types import JSONObject
from memory.host.models import ArtifactKind, Installation, MissedFirePolicy, Schedule, Tenant
from memory.host.registry import Artifact
from memory.host.scheduling import NAME, NOT_A_POLICY, OF_WORKFLOW, ScheduleOrder
from openwop_console.runtime import expressions

FOLDER = Path(__file__).parent
AGENT = "core.agent"  # the type of a node that is itself an agent
MARK = "chain"  # the metadata key under which a pack's workflow keeps its chain
ErrorList = list[dict[str, str]]
SETTINGS = ("cron", "timezone", "missedFirePolicy", "inputs")


@cache
def _validator() -> Draft202012Validator:
    schema = json.loads((FOLDER / "schemas" / "workflow.schema.json").read_text())
    return json_schemas.validator_of(schema, formats=True)


def check(definition: object) -> None:
    """Raise Invalid, with every field path, for a definition that this host could not execute."""
    errors = problems_of(definition)
    if errors:
        raise Invalid("The workflow definition is not valid.", errors=errors)


def problems_of(definition: Any) -> ErrorList:
    """Problems, by field path, that prevent this host from executing the definition."""
    return json_schemas.described(json_schemas.errors_in(_validator(), definition)) or _graph_problems(definition)


def missing_in(definition: JSONObject, inputs: JSONObject) -> list[str]:
    """The names of required inputs that are missing from ``inputs`` and have no default."""
    declared = [each for each in definition["variables"] if each.get("required") and "defaultValue" not in each]
    return [each["name"] for each in declared if each["name"] not in inputs]


def _graph_problems(definition: JSONObject) -> ErrorList:
    nodes = [node["id"] for node in definition["nodes"]]
    errors = [
        {"field": f"$.nodes[{at}].typeId", "message": "is not a node type of this host"}
        for at, node in enumerate(definition["nodes"])
        if node_types.function_of(node["typeId"]) is None
    ]
    if len(set(nodes)) != len(nodes):
        errors.append({"field": "$.nodes", "message": "two nodes have one id"})
    for at, edge in enumerate(definition["edges"]):
        if {edge["sourceNodeId"], edge["targetNodeId"]} - set(nodes):
            errors.append({"field": f"$.edges[{at}]", "message": "names a node that does not exist"})
    return errors or [
        *_config_problems(definition),
        *_expression_problems(definition),
        *(_cycle_problems(definition) or _connection_problems(definition)),
        *_option_problems(definition),
    ]


def _config_problems(definition: JSONObject) -> ErrorList:
    return [
        {"field": f"$.nodes[{at}].{field}", "message": problem}
        for at, node in enumerate(definition["nodes"])
        for field, problem in node_types.problems_of(node)
    ]


def _option_problems(definition: JSONObject) -> ErrorList:
    problem = json_schemas.problem_of(definition.get("configurableSchema", {}))
    return [{"field": "$.configurableSchema", "message": problem}] if problem else []


def _expression_problems(definition: JSONObject) -> ErrorList:
    allowance = regexes.Allowance()
    edges = {
        f"$.edges[{at}].condition": expressions.problem_of(edge["condition"], allowance)
        for at, edge in enumerate(definition["edges"])
        if "condition" in edge
    }
    ports = {
        f"$.nodes[{at}].inputs.{name}": expressions.problem_of_expression(port["expression"])
        for at, node in enumerate(definition["nodes"])
        for name, port in node["inputs"].items()
        if port["type"] == "expression"
    }
    return [{"field": field, "message": problem} for field, problem in {**edges, **ports}.items() if problem]


def node_of(definition: JSONObject, node_id: str) -> JSONObject:
    """The node with that id, which must exist."""
    found: JSONObject = next(node for node in definition["nodes"] if node["id"] == node_id)
    return found


def _cycle_problems(definition: JSONObject) -> ErrorList:
    try:
        order_of(definition)
    except CycleError:
        return [{"field": "$.edges", "message": "form a cycle"}]
    return []


def _connection_problems(definition: JSONObject) -> ErrorList:
    """Inputs that are outputs of a node that is not there, or that no path of edges leads from."""
    nodes, before = {node["id"] for node in definition["nodes"]}, _ancestors(definition)
    errors = []
    for at, node in enumerate(definition["nodes"]):
        for name, port in node["inputs"].items():
            field = f"$.nodes[{at}].inputs.{name}"
            if port["type"] != "connection":
                continue
            if port["nodeId"] not in nodes:
                errors.append({"field": field, "message": "names a node that does not exist"})
            elif port["nodeId"] not in before[node["id"]] and not port.get("optional"):
                errors.append({"field": field, "message": "names a node that does not come before"})
    return errors


def _ancestors(definition: JSONObject) -> dict[str, set[str]]:
    """Of each node those that edges lead from to it, directly or over others. The definition has no circle."""
    sources: dict[str, set[str]] = {node["id"]: set() for node in definition["nodes"]}
    for edge in definition["edges"]:
        sources[edge["targetNodeId"]].add(edge["sourceNodeId"])
    found: dict[str, set[str]] = {}
    for node_id in order_of(definition):
        found[node_id] = sources[node_id].union(*(found[each] for each in sources[node_id]))
    return found


def order_of(definition: JSONObject) -> list[str]:
    """Node ids in topological order, ties in the order of the definition. Raises CycleError."""
    sorter: TopologicalSorter[str] = TopologicalSorter({node["id"]: set() for node in definition["nodes"]})
    for edge in definition["edges"]:
        sorter.add(edge["targetNodeId"], edge["sourceNodeId"])
    sorter.prepare()
    place = {node["id"]: at for at, node in enumerate(definition["nodes"])}
    ordered: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=place.__getitem__)
        ordered += ready
        sorter.done(*ready)
    return ordered


def install(tenant: Tenant, text: str, *, installed_by: str, now: datetime) -> Installation:
    """Install the workflow in ``text`` with its triggers, in one transaction; runs of its id execute it from now on."""
    definition = json.loads(text)
    check(definition)
    if errors := _ownership_problems(tenant, definition):
        raise Invalid("The workflow definition is not valid.", errors=errors)
    artifact = Artifact(ArtifactKind.WORKFLOW, definition["id"], definition["version"], text)
    with transaction.atomic():
        installed = registry.install(tenant.id, artifact, source="host", installed_by=installed_by, now=now)
        if installed.superseded_at is None:
            sync_triggers(tenant, definition, installed_by=installed_by, now=now)
    return installed


def _ownership_problems(tenant: Tenant, definition: JSONObject) -> ErrorList:
    """Errors for a workflow whose id belongs to the host or a pack, or whose metadata has the key for chains."""
    if definition["id"] in registry.builtin_ids():
        return [{"field": "$.id", "message": "belongs to a workflow of the host"}]
    if registry.proposed(tenant.id, ArtifactKind.WORKFLOW, definition["id"]):
        return [{"field": "$.id", "message": "belongs to a workflow that a pack has brought"}]
    if MARK in definition["metadata"]:
        return [{"field": f"$.metadata.{MARK}", "message": "is for workflows that a pack brings"}]
    return []


# The schedules of a workflow's triggers.


def sync_triggers(tenant: Tenant, definition: JSONObject, *, installed_by: str, now: datetime) -> None:
    """Create, change and remove the workflow's schedules to match its triggers, in the transaction that installs it.

    Refused, with the path of the field, when a trigger cannot be honoured; the workflow is then not installed.
    """
    there = scheduling.schedules_of_workflow(tenant.id, definition["id"])
    clean = redaction.for_tenant(tenant.id).redact_json
    for at, trigger in enumerate(definition["triggers"]):
        if trigger["type"] == "schedule":
            path = f"$.triggers[{at}]"
            order = _order_of_trigger(definition, trigger, installed_by, path)
            order = replace(order, inputs=clean(order.inputs))
            _sync_trigger(tenant.id, there.pop(order.name, None), order, f"{path}.config.", now)
    for schedule in there.values():
        scheduling.remove(schedule)


def _sync_trigger(tenant_id: UUID, schedule: Schedule | None, order: ScheduleOrder, path: str, now: datetime) -> None:
    if schedule is None:
        scheduling.create_schedule(tenant_id, order, now=now, path=path)
    elif scheduling.order_of(schedule) != order:
        scheduling.change(schedule, order, now=now, path=path)


def _order_of_trigger(definition: JSONObject, trigger: JSONObject, installed_by: str, path: str) -> ScheduleOrder:
    """The schedule order of a trigger; raises Invalid with field paths."""
    config = trigger.get("config", {})
    inputs = config.get("inputs", {})
    problems = _problems_of_trigger(trigger, config)
    if not problems:
        missing = missing_in(definition, inputs)
        problems = [(f".config.inputs.{name}", "is required by the workflow") for name in missing]
    if problems:
        errors = [{"field": f"{path}{field}", "message": message} for field, message in problems]
        raise Invalid("The workflow definition is not valid.", errors=errors)
    return ScheduleOrder(
        name=f"{OF_WORKFLOW}{definition['id']}/{trigger['id']}",
        workflow_id=definition["id"],
        principal=installed_by,
        cron=" ".join(config["cron"].split()),
        timezone=config.get("timezone", "UTC"),
        missed=config.get("missedFirePolicy", MissedFirePolicy.FIRE_ONCE),
        inputs=inputs,
        enabled=trigger.get("enabled", True),
    )


def _problems_of_trigger(trigger: JSONObject, config: JSONObject) -> list[tuple[str, str]]:
    """(field, problem) pairs of a trigger; the cron expression itself is checked when the schedule is stored."""
    policy = config.get("missedFirePolicy", MissedFirePolicy.FIRE_ONCE)
    checks = [
        (".id", NAME.fullmatch(trigger["id"]), "must be letters, digits, '.', '_' and '-'"),
        (".config.cron", isinstance(config.get("cron"), str) and bool(config["cron"].strip()), "is required"),
        (".config.timezone", isinstance(config.get("timezone", ""), str), "must be a string"),
        (".config.inputs", isinstance(config.get("inputs", {}), dict), "must be an object"),
        (".config.missedFirePolicy", policy in MissedFirePolicy.values, NOT_A_POLICY),
        (".config", config.keys() <= set(SETTINGS), f"has more than {', '.join(SETTINGS)}"),
    ]
    return [(field, message) for field, holds, message in checks if not holds]


def agent_of(node: JSONObject) -> JSONObject:
    """The agent that the node names, empty when it names none; an agent node acts as the agent of its config."""
    named: JSONObject = node.get("agent", {})
    return {**named, "agentId": node["config"]["agentId"]} if node["typeId"] == AGENT else named


def agents_of(definition: JSONObject) -> set[str]:
    """The ids of the agents that the workflow's nodes act as."""
    return {agent["agentId"] for node in definition["nodes"] if (agent := agent_of(node))}


def register_builtins() -> None:
    """Register every workflow in the folder ``workflows``; they resolve in every tenant."""
    for path in sorted((FOLDER / "workflows").glob("*.json")):
        text = path.read_text()
        check(json.loads(text))
        registry.register_builtin(text)
