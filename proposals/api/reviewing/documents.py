"""The wire forms of a review: what the closed Proposal cannot hold, and what each action would be answered with."""

from typing import Any

from memory.host import ids
from memory.host.errors import Refusal
from memory.host.models import Installation
from memory.wire import instant
from proposals import artifacts
from proposals.api.serializers import ballot_document
from proposals.installation import InstalledPage
from proposals.models import Comment, Gate, Proposal
from proposals.policies import Policy
from proposals.review import Detail

Refusals = dict[str, Refusal | None]


def review_document(told: Detail, refusals: Refusals) -> dict[str, Any]:
    """One proposal as its reviewers know it, for the principal that asks: ``refusals`` are its own."""
    proposal, current = told.proposal, told.current
    gate = told.gate
    return {
        "proposalId": ids.wire("prop", proposal.id),
        "kind": proposal.kind,
        "state": proposal.state,
        "purpose": proposal.purpose,
        "revision": current.number,
        "sha256": current.sha256,
        "canonicalSha256": current.canonical_sha256,
        "artifactName": artifacts.name_in(proposal.kind, current.text),
        "artifactVersion": artifacts.version_in(proposal.kind, current.text),
        "author": proposal.author,
        "lastReviser": proposal.last_reviser,
        "agentId": proposal.agent_id or None,
        "pendingApprovalId": ids.wire("gate", gate.id) if gate else None,
        "gate": _gate_document(told) if gate else None,
        "policy": _policy_document(told.policy),
        "duplicateOf": proposal.duplicate_of,
        "evidence": proposal.evidence,
        "comments": len(told.comments),
        **_how_it_ended(proposal),
        "actions": {action: _action_document(refusal) for action, refusal in refusals.items()},
    }


def _how_it_ended(proposal: Proposal) -> dict[str, Any]:
    return {
        "installedArtifactRef": proposal.installed_ref,
        "uninstalledRef": proposal.uninstalled_ref or None,
        "closedBy": proposal.closed_by or None,
        "closedAt": instant(proposal.closed_at) if proposal.closed_at else None,
        "closingReason": proposal.closing_reason,
    }


def _gate_document(told: Detail) -> dict[str, Any]:
    ballot = next(each for each in told.ballots if each.gate == told.gate)
    return {**ballot_document(ballot), "policy": _policy_of_gate(ballot.gate)}


def _policy_of_gate(gate: Gate) -> dict[str, Any]:
    """The policy that the gate was opened under."""
    return {
        "number": gate.policy_number,
        "quorum": gate.quorum,
        "eligibleRoles": gate.eligible_roles,
        "overrideRoles": gate.override_roles,
        "overrideBypassesQuorum": gate.override_bypasses_quorum,
        "expiresAt": instant(gate.expires_at) if gate.expires_at else None,
    }


def _policy_document(policy: Policy) -> dict[str, Any]:
    """The policy of the kind as it is now: that of the next gate."""
    return {
        "number": policy.number,
        "quorum": policy.quorum,
        "eligibleRoles": list(policy.eligible_roles),
        "overrideRoles": list(policy.override_roles),
        "overrideBypassesQuorum": policy.override_bypasses_quorum,
        "expiresSec": policy.expires_s,
        "uninstallOnArchive": policy.uninstall_on_archive,
    }


def _action_document(refusal: Refusal | None) -> dict[str, Any]:
    if refusal is None:
        return {"allowed": True, "refusal": None}
    told = {name: refusal.details[name] for name in ("requiredScope", "rule") if name in refusal.details}
    return {"allowed": False, "refusal": {"code": refusal.code, "message": refusal.message, **told}}


def comment_document(comment: Comment) -> dict[str, Any]:
    return {
        "commentId": ids.wire("cmnt", comment.id),
        "revision": comment.revision,
        "author": comment.author,
        "text": comment.text,
        "at": instant(comment.at),
    }


def comments_document(told: Detail) -> dict[str, Any]:
    """What was said, the oldest first."""
    return {
        "proposalId": ids.wire("prop", told.proposal.id),
        "total": len(told.comments),
        "comments": [comment_document(each) for each in told.comments],
    }


def ended_document(action: str, ended: list[Proposal]) -> dict[str, Any]:
    states = [{"proposalId": ids.wire("prop", each.id), "state": each.state} for each in ended]
    return {"action": action, "proposals": states}


def installed_document(page: InstalledPage) -> dict[str, Any]:
    return {
        "artifacts": [version_document(each) for each in page.rows],
        "total": page.total,
        "next": ids.wire("inst", page.after) if page.after else None,
    }


def version_document(installed: Installation) -> dict[str, Any]:
    """An installed version without its text, which stands under its ref."""
    return {
        "id": ids.wire("inst", installed.id),
        "ref": installed.ref,
        "kind": installed.kind,
        "name": installed.name,
        "version": installed.version,
        "sha256": installed.sha256,
        "source": installed.source,
        "partOf": installed.part_of.ref if installed.part_of_id else None,
        "current": installed.superseded_at is None,
        **_stop_document(installed),
        "installedBy": installed.installed_by,
        "installedAt": instant(installed.installed_at),
        "supersededAt": instant(installed.superseded_at) if installed.superseded_at else None,
    }


def _stop_document(installed: Installation) -> dict[str, Any]:
    """Whether it is disabled, by itself or with its pack; who disabled it and why stand with what was disabled."""
    stopped = installed if installed.disabled_at else installed.part_of if installed.is_disabled else None
    return {
        "disabled": stopped is not None,
        "disabledAt": instant(stopped.disabled_at) if stopped and stopped.disabled_at else None,
        "disabledBy": stopped.disabled_by if stopped else None,
        "disabledReason": stopped.disabled_reason if stopped else None,
    }
