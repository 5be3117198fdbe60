"""The node types that ask: people to approve or to explain, the world outside for an event (openwop-host 3.8, 3.9).

The question is asked once a run. What the run knows may be in it and is read from the interrupt; the event on the log
has the words of the workflow's definition alone. A gate that was not accepted lets the edges decide when one behind it
has a condition, or the gate says ``onReject: continue``. Otherwise it has failed, and nothing that comes behind an
approval runs without one.
"""

import json
from typing import Any

from memory.host import node_types, registry
from memory.host.events import (
    ApprovalAsk,
    Ask,
    ClarificationAsk,
    CorrelationDigest,
    CustomAsk,
    ExternalEventAsk,
    Question,
)
from memory.host.node_types import Done, NodeContext, NodeFailure, Outcome, Wait, node_type
from memory.masking import FROM_INPUTS
from openwop_console.runtime.asking import gate_configs, tokens
from openwop_console.runtime.asking.gate_configs import APPROVAL_GATE, CLARIFICATION_GATE, INTERRUPT

TYPES = (APPROVAL_GATE, CLARIFICATION_GATE, INTERRUPT)
ACCEPTED = {"accept", "edit-accept"}
FAILURES = {
    "reject": ("approval_rejected", "The approval was rejected."),
    "refine": ("approval_refined", "The approval asked for changes, and no edge of the workflow leads to them."),
    "timeout": ("interrupt_timeout", "Nobody answered in time."),
}


@node_type(APPROVAL_GATE)
def approval_gate(ctx: NodeContext) -> Outcome:
    return _gate(ctx, APPROVAL_GATE)


@node_type(CLARIFICATION_GATE)
def clarification_gate(ctx: NodeContext) -> Outcome:
    return _gate(ctx, CLARIFICATION_GATE)


@node_type(INTERRUPT)
def interrupt(ctx: NodeContext) -> Outcome:
    return _gate(ctx, INTERRUPT)


for _type in TYPES:
    node_types.checks_config(_type, gate_configs.problems_of_node)
    node_types.tells_config(_type)


def _gate(ctx: NodeContext, type_id: str) -> Outcome:
    """Asks; and when it is called again, the answer stands."""
    kind = gate_configs.kind_of(type_id, ctx.config)
    if ctx.resume_value is not None:
        return _answered(ctx, kind)
    brought = {name: ctx.inputs[name] for name in FROM_INPUTS if ctx.inputs.get(name) is not None}
    config = {**ctx.config, **brought}
    if wrong := gate_configs.problems_of(type_id, config):
        field, problem = wrong[0]
        raise NodeFailure("gate_invalid", f"The node cannot ask: {field} {problem}.", final=True)
    return Wait(
        kind,
        ctx.node_id,
        _told(ctx, kind, config),
        asked=gate_configs.data_of(kind, config, node_id=ctx.node_id),
        policy=gate_configs.policy_of(kind, config, counts_voters=_counts_voters(ctx, type_id)),
        timeout=gate_configs.timeout_of(config),
    )


def _counts_voters(ctx: NodeContext, type_id: str) -> bool:
    """Whether a resolution may say for whom it speaks: at the host's own conformance fixtures, and nowhere else."""
    workflow = ctx.run.workflow_id
    return type_id == APPROVAL_GATE and workflow.startswith("conformance-") and workflow in registry.builtin_ids()


def _told(ctx: NodeContext, kind: str, config: dict[str, Any]) -> Ask:
    """The question as the log may hold it: in the words of the definition."""
    written = gate_configs.data_of(kind, {**ctx.config}, node_id=ctx.node_id)
    if kind == "clarification":
        return ClarificationAsk(tuple(Question(each["id"], each["question"]) for each in written["questions"]))
    if kind == "external-event":
        digest = tokens.fingerprint(ctx.run.tenant_id, config["correlation"])
        return ExternalEventAsk(ctx.config["eventType"], CorrelationDigest(digest))
    if kind == "custom":
        return CustomAsk(ctx.config["customKind"])
    return ApprovalAsk(
        artifact_id=written["artifactId"],
        artifact_type=written["artifactType"],
        title=written["title"],
        actions=tuple(written["actions"]),
        required_approvals=written["requiredApprovals"],
        rejection_policy=written["rejectionPolicy"],
    )


def _answered(ctx: NodeContext, kind: str) -> Outcome:
    answer = dict(ctx.resume_value)
    action = answer.get("action", "accept")
    if action not in ACCEPTED and not _goes_on(ctx):
        raise NodeFailure(*FAILURES[action if kind == "approval" else "timeout"], final=True)
    if kind == "approval" and "artifactData" in ctx.inputs:
        answer["artifactData"] = answer.get("editedArtifactData", ctx.inputs["artifactData"])
    name = ctx.config.get("resultVariable")
    return Done(outputs=answer, variables={name: answer} if name else {})


def _goes_on(ctx: NodeContext) -> bool:
    """Whether the workflow says what follows when the gate was not accepted."""
    edges = json.loads(ctx.run.definition.text)["edges"]
    behind = [edge for edge in edges if edge["sourceNodeId"] == ctx.node_id]
    return ctx.config.get("onReject") == "continue" or any("condition" in edge for edge in behind)
