"""A proposal's life: created, revised, asked to apply, decided about, applied, rejected, archived. Only here.

Every step asks ``rules`` under the lock of the proposal, and commits with its audit record. What a principal may never
do is refused before that, with the denial on record.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory.host import effects, ids, runs
from memory.host.errors import Conflict, Invalid, NotFound
from memory.host.events import ProposalActivated, ProposalCreated
from memory.host.models import Installation, Run
from memory.host.run_orders import RunOrder
from memory.host.tenancy import TenantScope
from memory.matching import FORGOTTEN
from proposals import denials, drafts, gate, installation, locking, records, revisions, rules
from proposals.drafts import Change, ProposalDraft
from proposals.locking import Held
from proposals.models import UNDER_REVIEW, Decision, Gate, GateState, Proposal, Revision

WRITER = "proposals.lifecycle"
INTAKE = "host-proposal-intake"
INTAKE_NODE, INTAKE_TYPE = "submit", "vendor.console.submit-proposal"


@dataclass(frozen=True, slots=True)
class Activation:
    """What became of an apply: the gate that was opened or is open, or the ref that is installed."""

    proposal: Proposal
    gate: Gate | None = None
    installed_ref: str = ""


def create(scope: TenantScope, draft: ProposalDraft, *, run: Run | None = None, now: datetime) -> Proposal:
    """A draft with its first revision; ``proposal.created`` stands on ``run``, or on a small run of its own.

    ``run`` is the running run whose node submits the proposal. Nothing any run resolves has changed.
    """
    denials.authorize(scope, "create", now=now)
    scope.check_agent(draft.agent_id)
    with transaction.atomic():
        drafts.require_origin(scope.tenant_id, draft)
        sealed = drafts.seal(scope.tenant_id, draft.kind, draft.artifact)
        texts = drafts.texts(scope.tenant_id, title=draft.title, rationale=draft.rationale)
        author = scope.principal.id
        proposal = Proposal(
            tenant_id=scope.tenant_id,
            kind=draft.kind,
            source_run_ids=list(draft.source_run_ids),
            synthesizer_model=draft.synthesizer_model,
            author=author,
            agent_id=draft.agent_id,
            title=texts.title,
            rationale=texts.rationale,
            last_reviser=author,
            contributors=[author],
            created_at=now,
            updated_at=now,
        ).insert(by=WRITER)
        revisions.add(proposal, sealed, texts, by=author, now=now)
        with _intake(scope, run, now) as log:
            created = ProposalCreated(proposal.id, proposal.kind, tuple(proposal.source_run_ids))
            runs.note(log, created, now=now)
        records.step(proposal, "create", by=author, now=now, kind=proposal.kind, sha256=sealed.sha256)
    return proposal


@contextmanager
def _intake(scope: TenantScope, run: Run | None, now: datetime) -> Iterator[Run]:
    """The run that tells of a new proposal: the given one, or a system run that completes behind the fact."""
    if run is not None:
        if run.tenant_id != scope.tenant_id:
            raise NotFound("There is no run by that id.")
        yield run
        return
    definition = gate.definition_of((INTAKE_NODE, INTAKE_TYPE), workflow=INTAKE, name="take in a proposal")
    order = RunOrder(INTAKE, definition, scope.principal.id, system=True)
    own = runs.open_run(scope.tenant_id, order, now=now, ready=False)
    runs.start(own, snapshot_position=0, now=now)
    yield own
    runs.complete(own, now=now)


def revise(
    scope: TenantScope, proposal_id: UUID | None, change: Change, *, expected: int | None = None, now: datetime
) -> Proposal:
    """The next revision stands and the one before it is kept. ``expected`` is the revision its author has read.

    Refused while a gate is under way: what is installed is what the reviewers saw.
    """
    denials.authorize(scope, "revise", proposal_id, now=now)
    with transaction.atomic():
        proposal = _checked(scope, "revise", proposal_id, now).proposal
        before = revisions.current(proposal)
        _require_current(before, expected)
        if change.is_empty:
            raise Invalid("The revision changes nothing.", errors=[{"field": "artifact", "message": "is not given"}])
        artifact = before.text if change.artifact is None else change.artifact
        sealed = drafts.seal(proposal.tenant_id, proposal.kind, artifact)
        title = proposal.title if change.title is None else change.title
        rationale = proposal.rationale if change.rationale is None else change.rationale
        texts = drafts.texts(proposal.tenant_id, title=title, rationale=rationale, note=change.note)
        proposal.state = rules.NEXT_STATES["revise"][proposal.state]
        proposal.revision += 1
        proposal.title, proposal.rationale = texts.title, texts.rationale
        proposal.last_reviser, proposal.updated_at = scope.principal.id, now
        proposal.contributors = sorted({*proposal.contributors, scope.principal.id})
        proposal.save(by=WRITER)
        made = revisions.add(proposal, sealed, texts, by=scope.principal.id, now=now)
        digests = {"sha256Before": before.sha256, "sha256": made.sha256, "revision": made.number}
        records.step(proposal, "revise", by=scope.principal.id, now=now, **digests)
    return proposal


def _require_current(revision: Revision, expected: int | None, sha256: str | None = None) -> None:
    if expected not in (None, revision.number) or sha256 not in (None, revision.sha256):
        raise Conflict(
            f"Revision {revision.number} is the current one; look at it first.",
            revision=revision.number,
            sha256=revision.sha256,
        )


def ask_to_apply(
    scope: TenantScope, proposal_id: UUID | None, *, expected: int | None = None, now: datetime
) -> Activation:
    """A gate over the current revision's digest is under way, and asking again gives the same one.

    What could not be installed is refused here already. A host without gates (``direct-rbac``) installs at once.
    """
    denials.authorize(scope, "apply", proposal_id, now=now)
    with transaction.atomic():
        held = _checked(scope, "apply", proposal_id, now)
        proposal = held.proposal
        if proposal.installed_ref or held.gate:
            return Activation(proposal, held.gate, proposal.installed_ref or "")
        revision = revisions.current(proposal)
        _require_current(revision, expected)
        installation.require_installable(proposal.tenant_id, proposal.kind, revision.text)
        if rules.activates_directly():
            return _apply_directly(proposal, revision, scope.principal.id, now)
        opened = gate.open_gate(proposal, revision, opened_by=scope.principal.id, now=now)
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
    _leave_review(proposal, "apply", by=by, now=now)
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
    """The vote is on record, for exactly the revision and digest that its principal saw; a grant lets the run go on."""
    denials.authorize(scope, "decide", proposal_id, now=now)
    with transaction.atomic():
        held = _checked(scope, "decide", proposal_id, now)
        under_way, run = held.activation()
        if (under_way.revision, under_way.sha256) != (revision, sha256):
            raise Conflict(
                f"The gate is about revision {under_way.revision}, which is not what you decided about.",
                revision=under_way.revision,
                sha256=under_way.sha256,
            )
        if decision not in Decision.values:
            message = f"must be one of {', '.join(Decision.values)}"
            raise Invalid("There is no such decision.", errors=[{"field": "decision", "message": message}])
        stored = drafts.reason(scope.tenant_id, reason)
        gate.vote(under_way, run, principal=scope.principal.id, decision=decision, reason=stored, now=now)
        details = {**records.about_gate(under_way), "decision": decision, "gateState": under_way.state}
        records.step(held.proposal, "vote", by=scope.principal.id, now=now, **details)
    return under_way


def withdraw(scope: TenantScope, proposal_id: UUID | None, *, now: datetime) -> Proposal:
    """The gate under way is cancelled with its run; the proposal is under review as before."""
    denials.authorize(scope, "withdraw", proposal_id, now=now)
    with transaction.atomic():
        held = _checked(scope, "withdraw", proposal_id, now)
        under_way, run = held.activation()
        gate.cancel(under_way, run, now=now)
        records.step(held.proposal, "gate.withdraw", by=scope.principal.id, now=now, **records.about_gate(under_way))
    return held.proposal


def reject(scope: TenantScope, proposal_id: UUID | None, *, reason: str = "", now: datetime) -> Proposal:
    """The proposal is rejected, and a gate under way cancelled; rejecting again changes nothing."""
    return _end_review(scope, "reject", proposal_id, reason, now)


def archive(scope: TenantScope, proposal_id: UUID | None, *, reason: str = "", now: datetime) -> Proposal:
    """The proposal is archived, and a gate under way cancelled; archiving again changes nothing."""
    return _end_review(scope, "archive", proposal_id, reason, now)


def _end_review(scope: TenantScope, action: str, proposal_id: UUID | None, reason: str, now: datetime) -> Proposal:
    denials.authorize(scope, action, proposal_id, now=now)
    with transaction.atomic():
        held = _checked(scope, action, proposal_id, now)
        proposal = held.proposal
        if rules.NEXT_STATES[action][proposal.state] == proposal.state:
            return proposal
        if held.gate:
            gate.cancel(*held.activation(), now=now)
        proposal.closing_reason = drafts.reason(scope.tenant_id, reason) or proposal.closing_reason
        _leave_review(proposal, action, by=scope.principal.id, now=now)
        digest = revisions.current(proposal).sha256
        records.step(proposal, action, by=scope.principal.id, now=now, sha256=digest)
    return proposal


@transaction.atomic
def forget(tenant_id: UUID, proposal_id: UUID, *, now: datetime) -> bool:
    """Nothing of what was said in this proposal is left, and it is archived; False for one that is applied by now."""
    held = locking.lock(tenant_id, proposal_id, now=now)
    proposal = held.proposal
    if proposal.state not in rules.NEXT_STATES["archive"]:
        return False
    if held.gate:
        gate.cancel(*held.activation(), now=now)
    revisions.blank(proposal, now=now)
    gate.forget_reasons(tenant_id, proposal_id)
    proposal.title, proposal.rationale, proposal.closing_reason = FORGOTTEN, FORGOTTEN, ""
    _leave_review(proposal, "archive", by="host", now=now)
    records.step(proposal, "forget", by="host", now=now)
    return True


def _checked(scope: TenantScope, action: str, proposal_id: UUID | None, now: datetime) -> Held:
    """The proposal, locked, after ``rules`` allowed ``action``."""
    held = locking.lock(scope.tenant_id, proposal_id, now=now)
    rules.check(action, scope, held.proposal, held.gate)
    return held


def _leave_review(proposal: Proposal, action: str, *, by: str, now: datetime) -> None:
    proposal.state = rules.NEXT_STATES[action][proposal.state]
    proposal.closed_by, proposal.closed_at, proposal.updated_at = by, now, now
    proposal.save(by=WRITER)
