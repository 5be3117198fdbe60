"""What the steps of a run say of its nodes, for a page that shows the run."""

import copy
import json
import time
from collections.abc import Sequence

from memory import redaction
from memory.host.event_log import Recorded
from memory.host.events import NodeCompleted, NodeStarted
from memory.host.json_types import JSONObject
from memory.host.models import ArtifactKind, Resolution, Run
from memory.run_timeline import NodeReport
from openwop_console.runtime import execution, expressions, steps, workflows
from openwop_console.runtime.execution import NodeFailed, Position
from openwop_console.runtime.expressions import Bounds
from openwop_console.runtime.models import Step

PATIENCE_S = 0.05  # of computing, for the expressions of all nodes of a page


def reports_of_run(run: Run, events: Sequence[Recorded], uses: Sequence[Resolution]) -> dict[str, NodeReport]:
    """One report a node that has begun, in one query however many there are."""
    done = steps.steps_of_run(run.tenant_id, run.id)
    if not done:
        return {}
    definition, mask = json.loads(run.definition.text), redaction.mask_of_run(run)
    nodes = {node["id"]: node for node in definition["nodes"]}
    inputs = _inputs_of_nodes(run, definition, done, events)
    templates = {
        use.installation.name: use.installation for use in uses if use.installation.kind == ArtifactKind.PROMPT_TEMPLATE
    }
    reports = {}
    for node_id, step in done.items():
        node = nodes.get(node_id)
        template = templates.get(str(node["config"].get("template", ""))) if node else None
        reports[node_id] = NodeReport(
            agent_id=(workflows.agent_of(node) if node else {}).get("agentId", run.agent_id),
            inputs=mask.value(inputs.get(node_id)),
            template_name=template.name if template else "",
            template_ref=template.ref if template else "",
            template=json.loads(template.text)["text"] if template else "",
            outputs=mask.value(step.outputs),
        )
    return reports


def _inputs_of_nodes(
    run: Run, definition: JSONObject, done: dict[str, Step], events: Sequence[Recorded]
) -> dict[str, JSONObject | None]:
    """What the ports of each node held when it began: the variables are those that the nodes before it had set."""
    then, before = copy.copy(run), dict[str, Step]()
    defaults = {each["name"]: each["defaultValue"] for each in definition["variables"] if "defaultValue" in each}
    then.variables = {**defaults, **run.inputs}
    bounds = Bounds(time.thread_time() + PATIENCE_S, time.thread_time)
    found: dict[str, JSONObject | None] = {}
    for event in events:
        if event.node_id not in done:
            continue
        if event.type == NodeStarted.type:
            found[event.node_id] = _inputs(Position(then, definition, event.node_id, dict(before)), bounds)
        elif event.type == NodeCompleted.type:
            before[event.node_id] = done[event.node_id]
            then.variables = {**then.variables, **done[event.node_id].variables}
    return found


def _inputs(position: Position, bounds: Bounds) -> JSONObject | None:
    """None when they cannot be told: one is missing, or an expression takes longer than a page may."""
    try:
        return execution.inputs_of(position, bounds)
    except (NodeFailed, expressions.TooHeavy, StopIteration):
        return None
