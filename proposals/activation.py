"""The activation run: its gate and install nodes, and the run API's answer to the gate.

The gate node asks once and completes with the decision, which may have been made before a worker reached the node. The
install node then installs what was granted, and otherwise fails the run with ``approval_rejected``, so that every vote
stays on the log.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memory.host import interrupts, runs
from memory.host.interrupts import InterruptAlreadyResolved, InterruptNotFound, InvalidResumeValue
from memory.host.json_types import JSONObject
from memory.host.models import Run
from memory.host.node_types import Done, NodeContext, NodeFailure, Outcome, node_type
from memory.host.tenancy import TenantScope
from proposals import gate, lifecycle, rules
from proposals.models import Decision, Gate, GateState

ANSWER_KEYS = {"decision", "reason", "override"}
FAILURES: dict[str, tuple[str, str]] = {
    GateState.REJECTED: ("approval_rejected", "The approval was rejected; nothing was installed."),
    GateState.CHANGES_REQUESTED: ("changes_requested", "Changes were requested; nothing was installed."),
    GateState.EXPIRED: ("approval_timeout", "The approval request expired; nothing was installed."),
}


def _belongs_to_the_host(_: Mapping[str, object]) -> list[tuple[str, str]]:
    return [("typeId", "belongs to the host's own runs")]


@node_type(gate.GATE_TYPE, check=_belongs_to_the_host)
def approval_gate(ctx: NodeContext) -> Outcome:
    """Waits until the gate of this run is decided; a run without a gate fails.

    A gate past its deadline is rejected, never granted (RFC 0051).
    """
    found = _gate_of(ctx.run)
    if found.state == GateState.OPEN and rules.has_expired(found, ctx.now):
        lifecycle.expire(found, now=ctx.now)
    if found.state == GateState.OPEN and ctx.resume_value is None:
        return _open_question(ctx, found)
    if found.state == GateState.OPEN:
        raise NodeFailure("gate_bypassed", "The run was resumed without a decision at its gate.")
    if ctx.resume_value is None:
        _ask_answered(ctx, found)
    return Done(outputs={"decision": found.state})


def _open_question(ctx: NodeContext, found: Gate) -> Outcome:
    """Ask the gate's question, after appending the votes that were cast before it."""
    facts = gate.facts(found)
    if facts:
        runs.note(ctx.run, *facts, now=ctx.now)
    return gate.question(found, now=ctx.now)


def _ask_answered(ctx: NodeContext, found: Gate) -> None:
    """Append the question together with its answer, for a gate that was decided before a worker reached the node."""
    asked, answer, facts = gate.question(found, now=ctx.now), {"decision": found.state}, gate.facts(found)
    how: dict[str, Any] = {}
    if found.state == GateState.EXPIRED:
        answer = {"decision": Decision.REJECTED, "reason": "timeout"}
        how = {"outcome": interrupts.TIMED_OUT, "result": "rejected", "cause": "timeout"}
    interrupts.ask_answered(ctx.run, ctx.node_id, asked, answer, *facts, **how, now=ctx.now)


@node_type(gate.INSTALL_TYPE, check=_belongs_to_the_host)
def install_artifact(ctx: NodeContext) -> Outcome:
    """Installs exactly what the gate of this run granted, or fails and installs nothing."""
    found = _gate_of(ctx.run)
    if found.state in FAILURES:
        raise NodeFailure(*FAILURES[found.state])
    installed = lifecycle.install_granted(ctx.run, ctx.now)
    return Done(outputs={"installedArtifactRef": installed.ref, "sha256": installed.sha256})


def _gate_of(run: Run) -> Gate:
    found = gate.gate_of_run(run)
    if found is None:
        raise NodeFailure("gate_unknown", "No gate was opened for this run.")
    return found


def resolve_interrupt(scope: TenantScope, run: Run, node_id: str, resume_value: object, now: datetime) -> None:
    """Cast the vote of ``POST /v1/runs/{runId}/interrupts/{nodeId}``, on the digest that the run has pinned."""
    found = gate.gate_of_run(run)
    if found is None or found.node_id != node_id:
        raise InterruptNotFound
    overriding = isinstance(resume_value, dict) and resume_value.get("override") is True
    rules.authorize(scope, "override" if overriding else "decide", found.proposal_id, now=now)
    if found.state != GateState.OPEN or rules.has_expired(found, now):
        state = GateState.EXPIRED if found.state == GateState.OPEN else found.state
        raise InterruptAlreadyResolved(nodeId=node_id, gateState=state)
    decision, reason = _answer(resume_value)
    seen: dict[str, Any] = {"revision": found.revision, "sha256": found.sha256, "reason": reason, "now": now}
    if overriding:
        lifecycle.override(scope, found.proposal_id, **seen)
    else:
        lifecycle.decide(scope, found.proposal_id, decision=decision, **seen)


def _answer(value: Any) -> tuple[str, str]:
    problem = ""
    if not isinstance(value, dict) or set(value) - ANSWER_KEYS:
        problem = "must be an object with a decision and, if you like, a reason"
    elif value.get("decision") not in Decision.values:
        problem = f"needs a decision, one of {', '.join(Decision.values)}"
    elif not isinstance(value.get("reason", ""), str):
        problem = "has a reason that is not a text"
    elif value["decision"] == Decision.CHANGES_REQUESTED and not value.get("reason", "").strip():
        problem = "asks for changes with a reason that says which"
    else:
        problem = _override_problem(value)
    if problem:
        raise InvalidResumeValue(errors=[{"field": "resumeValue", "message": problem}])
    return value["decision"], value.get("reason", "")


def _override_problem(value: JSONObject) -> str:
    if not isinstance(value.get("override", False), bool):
        return "has an override that is neither true nor false"
    if value.get("override") and (value["decision"] != Decision.GRANTED or not value.get("reason", "").strip()):
        return "overrides with a grant and a reason, or not at all"
    return ""
