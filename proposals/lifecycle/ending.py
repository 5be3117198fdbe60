"""How a proposal leaves the review without being applied; and how what was applied, or said, goes again."""

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memory.host import ids
from memory.host.errors import Conflict, Invalid
from memory.host.tenancy import TenantScope
from memory.matching import FORGOTTEN
from proposals import comments, denials, drafts, gate, installation, locking, policies, records, revisions, rules
from proposals.lifecycle.rows import WRITER, leave_review
from proposals.locking import Held
from proposals.models import Proposal, State

MOST_AT_ONCE = 200


def reject(
    scope: TenantScope, proposal_id: UUID | None, *, reason: str = "", expected: int | None = None, now: datetime
) -> Proposal:
    """The proposal is rejected, and a gate under way cancelled; rejecting again changes nothing.

    ``expected`` is the revision that was read.
    """
    return _end_review(scope, "reject", proposal_id, reason, now, expected=expected)


def archive(scope: TenantScope, proposal_id: UUID | None, *, reason: str = "", now: datetime) -> Proposal:
    """The proposal is archived, and a gate under way cancelled; archiving again changes nothing.

    What an applied one installed is uninstalled with it, where the policy of its kind says so; else it is refused.
    """
    return _end_review(scope, "archive", proposal_id, reason, now)


def end_many(
    scope: TenantScope, action: str, proposal_ids: Collection[UUID], *, reason: str, now: datetime
) -> list[Proposal]:
    """All of these are rejected, or archived, or none is: refused with every id that stands in the way, and why."""
    if action not in ("reject", "archive"):
        errors = [{"field": "action", "message": "must be reject or archive"}]
        raise Invalid("Only rejecting and archiving is done in bulk.", errors=errors)
    if not proposal_ids or len(proposal_ids) > MOST_AT_ONCE:
        errors = [{"field": "ids", "message": f"must be 1 to {MOST_AT_ONCE}"}]
        raise Invalid("Name the proposals.", errors=errors)
    denials.authorize(scope, action, now=now)
    if not drafts.reason(scope.tenant_id, reason):
        raise Invalid("Say why.", errors=[{"field": "reason", "message": "is required"}])
    with transaction.atomic():
        held = {each: _held_or_none(scope, each, now) for each in sorted(set(proposal_ids))}
        standing = {each: _obstacle_to(action, scope, found, now) for each, found in held.items()}
        problems = [{"id": ids.wire("prop", each), "message": why} for each, why in standing.items() if why]
        if problems:
            raise Conflict("Nothing was changed: not all of these can be.", action=action, problems=problems)
        return [_leave(scope, action, found, reason, now) for found in held.values() if found]


def _held_or_none(scope: TenantScope, proposal_id: UUID, now: datetime) -> Held | None:
    there = Proposal.objects.of(scope.tenant_id).filter(id=proposal_id).exists()
    return locking.lock(scope.tenant_id, proposal_id, now=now) if there else None


def _obstacle_to(action: str, scope: TenantScope, held: Held | None, now: datetime) -> str:
    if held is None:
        return "There is no proposal by that id."
    if held.proposal.state == State.APPLIED:
        return "Proposal is applied; that is not undone in bulk."
    refusal = rules.refusal_to(action, scope, held.proposal, held.gate, now=now)
    return refusal.message if refusal else ""


def _end_review(
    scope: TenantScope,
    action: str,
    proposal_id: UUID | None,
    reason: str,
    now: datetime,
    *,
    expected: int | None = None,
) -> Proposal:
    seen: Proposal | None = Proposal.objects.of(scope.tenant_id).filter(id=proposal_id).first() if proposal_id else None
    policy = policies.of_kind(scope.tenant_id, seen.kind) if seen else None
    wanted = rules.archiving(seen, policy) if seen and policy and action == "archive" else action
    denials.authorize(scope, wanted, proposal_id, now=now)
    with transaction.atomic():
        held = locking.lock(scope.tenant_id, proposal_id, now=now)
        rules.check(wanted, scope, held.proposal, held.gate, policy=policy, now=now)
        revisions.require_current(revisions.current(held.proposal), expected)
        return _leave(scope, wanted, held, reason, now)


def _leave(scope: TenantScope, action: str, held: Held, reason: str, now: datetime) -> Proposal:
    """The locked proposal is out of review, after ``rules`` allowed ``action``."""
    proposal = held.proposal
    if rules.NEXT_STATES[action][proposal.state] == proposal.state:
        return proposal
    if held.gate:
        gate.cancel(*held.activation(), reason=drafts.reason(scope.tenant_id, reason), now=now)
    told: dict[str, Any] = {"sha256": revisions.current(proposal).sha256}
    if action == "uninstall":
        told |= _uninstalled(proposal, now)
    proposal.closing_reason = drafts.reason(scope.tenant_id, reason) or proposal.closing_reason
    leave_review(proposal, action, by=scope.principal.id, now=now)
    records.step(proposal, action, by=scope.principal.id, now=now, **told)
    return proposal


def _uninstalled(proposal: Proposal, now: datetime) -> dict[str, Any]:
    """What the applied proposal installed is not what runs resolve any more, unless another applied one has installed
    the same; what the audit says of it."""
    ref = proposal.installed_ref or ""
    same = Proposal.objects.of(proposal.tenant_id).filter(state=State.APPLIED, installed_ref=ref)
    other: Proposal | None = same.exclude(id=proposal.id).order_by("id").first()
    taken_out = other is None and installation.uninstall(proposal.tenant_id, ref, now=now)
    proposal.uninstalled_ref, proposal.installed_ref, proposal.approval_id = ref, None, None
    told = {"installedArtifactRef": ref, "wasCurrent": taken_out}
    return told | {"alsoInstalledBy": ids.wire("prop", other.id)} if other else told


@transaction.atomic
def forget(tenant_id: UUID, proposal_id: UUID, *, now: datetime) -> None:
    """Nothing of what was said in this proposal is left, and it is archived; of an applied one, which stays applied,
    the text that it has installed is left."""
    held = locking.lock(tenant_id, proposal_id, now=now)
    proposal = held.proposal
    applied = proposal.state == State.APPLIED
    if held.gate:
        gate.cancel(*held.activation(), now=now)
    revisions.blank(proposal, installed=proposal.revision if applied else None, now=now)
    gate.forget_reasons(tenant_id, proposal_id)
    comments.blank(proposal)
    proposal.evidence, proposal.duplicate_of = [], None
    proposal.synthesizer_model, proposal.agent_id = "", ""
    proposal.uninstalled_ref = FORGOTTEN if proposal.uninstalled_ref else ""
    proposal.title, proposal.rationale, proposal.closing_reason = FORGOTTEN, FORGOTTEN, ""
    if applied:
        proposal.updated_at = now
        proposal.save(by=WRITER)
    else:
        leave_review(proposal, "archive", by="host", now=now)
    records.step(proposal, "forget", by="host", now=now)
