"""What is put on record about a proposal: an audit record a step, with ids and digests and no word of it."""

from datetime import datetime
from typing import Any

from memory.host import audit, ids
from proposals.models import Gate, Proposal


def step(proposal: Proposal, action: str, *, by: str, now: datetime, **details: Any) -> None:
    """The step is audited; in the caller's transaction and last in it, since the chain is everybody's lock."""
    target = ids.wire("prop", proposal.id)
    audit.append(proposal.tenant_id, actor=by, action=f"proposal.{action}", target=target, details=details, now=now)


def about_gate(gate: Gate) -> dict[str, Any]:
    """A gate in the words of the audit."""
    return {
        "approvalId": ids.wire("gate", gate.id),
        "runId": ids.wire("run", gate.run_id),
        "nodeId": gate.node_id,
        "revision": gate.revision,
        "sha256": gate.sha256,
        "quorum": gate.quorum,
    }
