"""How a proposal is asked to be applied, decided about, and applied."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory.host import effects, ids, runs
from memory.host.errors import Conflict, Invalid
from memory.host.events import ProposalActivated
from memory.host.models import Installation, Run
from memory.host.tenancy import TenantScope
from proposals import artifacts, denials, drafts, gate, installation, locking, policies, records, revisions, rules
from proposals.lifecycle.rows import checked, leave_review
from proposals.models import UNDER_REVIEW, Decision, Gate, GateState, Proposal, Revision


@dataclass(frozen=True, slots=True)
class Activation:
    """What became of an apply: the gate that was opened or is open, or the ref that is installed."""

    proposal: Proposal
    gate: Gate | None = None
    installed_ref: str = ""


def ask_to_apply(
    scope: TenantScope, proposal_id: UUID | None, *, expected: int | None = None, now: datetime
) -> Activation:
    """A gate over the current revision's digest is under way, and asking again gives the same one, until it expires.

    What could not be installed is refused here already. A host without gates (``direct-rbac``) installs at once.
    """
    denials.authorize(scope, "apply", proposal_id, now=now)
    with transaction.atomic():
        held = checked(scope, "apply", proposal_id, now)
        proposal = held.proposal
        if held.gate and held.gate.state == GateState.OPEN and rules.has_expired(held.gate, now):
            expire(held.gate, now=now)
        elif proposal.installed_ref or held.gate:
            return Activation(proposal, held.gate, proposal.installed_ref or "")
        revision = revisions.current(proposal)
        revisions.require_current(revision, expected)
        installation.require_news(proposal, installation.require_installable(proposal, revision.text))
        artifacts.require_timely(proposal.kind, revision.text, now=now)
        if rules.activates_directly():
            return _apply_directly(proposal, revision, scope.principal.id, now)
        policy = policies.of_kind(proposal.tenant_id, proposal.kind)
        opened = gate.open_gate(proposal, revision, policy, opened_by=scope.principal.id, now=now)
        records.step(proposal, "gate.open", by=scope.principal.id, now=now, **records.about_gate(opened))
    return Activation(proposal, opened)


def _apply_directly(proposal: Proposal, revision: Revision, by: str, now: datetime) -> Activation:
    pins = {"proposalId": ids.wire("prop", proposal.id), "sha256": revision.sha256}
    run = installation.begin_directly(proposal.tenant_id, by=by, pins=pins, now=now)
    installed = _install(proposal, revision, run, sha256=revision.sha256, approval_id=None, by=by, now=now)
    installation.end_directly(run, now=now)
    return Activation(proposal, None, installed.ref)


def install_granted(run: Run, now: datetime) -> Installation:
    """What the gate of ``run`` granted is installed and the proposal applied. The engine holds the lock of the run."""
    effects.refuse_in_replay(run)
    granted = gate.of_run(run)
    if granted is None or granted.state != GateState.GRANTED or granted.closed_at is not None:
        raise Conflict("The gate of this run was not granted; nothing was installed.")
    proposal = locking.lock_proposal(run.tenant_id, granted.proposal_id)
    if proposal.state not in UNDER_REVIEW:
        raise Conflict(f"Proposal is {proposal.state}; nothing was installed.", state=proposal.state, action="apply")
    revision = revisions.numbered(proposal, granted.revision)
    installed = _install(
        proposal, revision, run, sha256=granted.sha256, approval_id=granted.id, by=granted.opened_by, now=now
    )
    gate.close(granted, GateState.GRANTED, now=now)
    return installed


def _install(
    proposal: Proposal,
    revision: Revision,
    run: Run,
    *,
    sha256: str,
    approval_id: UUID | None,
    by: str,
    now: datetime,
) -> Installation:
    installed = installation.install(proposal, revision, sha256=sha256, by=by, now=now)
    proposal.approval_id, proposal.installed_ref = approval_id, installed.ref
    leave_review(proposal, "apply", by=by, now=now)
    approval = ids.wire("gate", approval_id) if approval_id else None
    runs.note(run, ProposalActivated(proposal.id, proposal.kind, approval, installed.ref), now=now)
    details = {"installedArtifactRef": installed.ref, "sha256": installed.sha256, "runId": ids.wire("run", run.id)}
    records.step(proposal, "install", by=by, now=now, approvalId=approval, **details)
    return installed


def decide(
    scope: TenantScope,
    proposal_id: UUID | None,
    *,
    revision: int,
    sha256: str,
    decision: str,
    reason: str = "",
    now: datetime,
) -> Gate:
    """The vote is on record, for exactly the revision and digest that its principal saw; a grant lets the run go on, a
    rejection or a request for changes (which says which) ends the gate and leaves the proposal under review."""
    denials.authorize(scope, "decide", proposal_id, now=now)
    with transaction.atomic():
        held = checked(scope, "decide", proposal_id, now)
        under_way, run = held.activation()
        gate.require_about(under_way, revision, sha256)
        if decision not in Decision.values:
            message = f"must be one of {', '.join(Decision.values)}"
            raise Invalid("There is no such decision.", errors=[{"field": "decision", "message": message}])
        stored = drafts.reason(scope.tenant_id, reason)
        if decision == Decision.CHANGES_REQUESTED and not stored:
            errors = [{"field": "reason", "message": "says what is to be changed"}]
            raise Invalid("Asking for changes needs a reason.", errors=errors)
        gate.vote(under_way, run, principal=scope.principal, decision=decision, reason=stored, now=now)
        details = {**records.about_gate(under_way), "decision": decision, "gateState": under_way.state}
        records.step(held.proposal, "vote", by=scope.principal.id, now=now, **details)
    return under_way


def expire(under_way: Gate, *, now: datetime) -> None:
    """The gate's time is over: nothing is installed by it. The lock of its run is held."""
    gate.close(under_way, GateState.EXPIRED, now=now)
    records.step(under_way.proposal, "gate.expire", by="host", now=now, **records.about_gate(under_way))


def withdraw(scope: TenantScope, proposal_id: UUID | None, *, reason: str = "", now: datetime) -> Proposal:
    """The gate under way is cancelled with its run, for the reason; the proposal is under review as before."""
    denials.authorize(scope, "withdraw", proposal_id, now=now)
    with transaction.atomic():
        held = checked(scope, "withdraw", proposal_id, now)
        under_way, run = held.activation()
        gate.cancel(under_way, run, reason=drafts.reason(scope.tenant_id, reason), now=now)
        records.step(held.proposal, "gate.withdraw", by=scope.principal.id, now=now, **records.about_gate(under_way))
    return held.proposal
