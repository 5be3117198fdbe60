"""The lifecycle of a proposal: the only module that creates, revises, applies, rejects and archives proposals.

Every step checks ``rules`` under the lock of the proposal and commits with its audit record. A principal without the
right is refused before the lock is taken, and the denial is recorded.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from memory import artifact_stops
from memory.host import access, audit, ids, registry, runs
from memory.host.errors import Conflict, Invalid, NotFound
from memory.host.events import ProposalActivated, ProposalCreated
from memory.host.json_types import JSONObject
from memory.host.models import Installation, Run
from memory.host.runs import RunOrder
from memory.host.tenancy import TenantScope
from memory.reasons import stored_reason
from memory.text.matching import FORGOTTEN
from proposals import artifacts, comments, drafts, duplicates, gate, impact, installation, policies, revisions, rules
from proposals.drafts import Change, ProposalDraft
from proposals.gate import LockedProposal, lock_proposal, lock_with_run
from proposals.models import UNDER_REVIEW, Decision, Gate, GateState, Kind, Proposal, Purpose, Revision, State, Vote

WRITER = "proposals.lifecycle"
INTAKE = "host-proposal-intake"
INTAKE_NODE, INTAKE_TYPE = "submit", "vendor.console.submit-proposal"
MOST_AT_ONCE = 200
OVERRIDE = "approval.override"


def lock_and_check(scope: TenantScope, action: str, proposal_id: UUID | None, now: datetime) -> LockedProposal:
    """Lock the proposal and check that ``rules`` allow ``action``."""
    held = lock_with_run(scope.tenant_id, proposal_id, now=now)
    rules.check(action, scope, held.proposal, held.gate, now=now)
    return held


def leave_review(proposal: Proposal, action: str, *, by: str, now: datetime) -> None:
    """Move the locked proposal to the state that ``action`` leads to, with the time and the principal."""
    proposal.state = rules.NEXT_STATES[action][proposal.state]
    proposal.closed_by, proposal.closed_at, proposal.updated_at = by, now, now
    proposal.save(by=WRITER)


@dataclass(frozen=True, slots=True)
class Activation:
    """The result of an apply: the open gate, or the ref that is installed."""

    proposal: Proposal
    gate: Gate | None = None
    installed_ref: str = ""


def ask_to_apply(
    scope: TenantScope, proposal_id: UUID | None, *, expected: int | None = None, now: datetime
) -> Activation:
    """Open a gate over the current revision's digest, or return the open one; an expired gate is replaced.

    An artifact that could not be installed is refused now. A host without gates (``direct-rbac``) installs at once.
    """
    rules.authorize(scope, "apply", proposal_id, now=now)
    with transaction.atomic():
        held = lock_and_check(scope, "apply", proposal_id, now)
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
        policy = policies.policy_of_kind(proposal.tenant_id, proposal.kind)
        opened = gate.open_gate(proposal, revision, policy, opened_by=scope.principal.id, now=now)
        revisions.audit_step(proposal, "gate.open", by=scope.principal.id, now=now, **revisions.gate_details(opened))
    return Activation(proposal, opened)


def _apply_directly(proposal: Proposal, revision: Revision, by: str, now: datetime) -> Activation:
    pins = {"proposalId": ids.wire("prop", proposal.id), "sha256": revision.sha256}
    run = installation.begin_directly(proposal.tenant_id, by=by, pins=pins, now=now)
    installed = _install(proposal, revision, run, sha256=revision.sha256, granted=None, by=by, now=now)
    installation.end_directly(run, now=now)
    return Activation(proposal, None, installed.ref)


def install_granted(run: Run, now: datetime) -> Installation:
    """Install what the gate of ``run`` granted and mark the proposal applied. The engine holds the lock of the run.

    The installation is the act of the principal whose vote decided the gate; the audit record names also the one who
    requested the approval, whose permission to do so was checked then.
    """
    run.refuse_effects()
    granted = gate.gate_of_run(run)
    if granted is None or granted.state != GateState.GRANTED or granted.closed_at is not None:
        raise Conflict("The gate of this run was not granted; nothing was installed.")
    proposal = lock_proposal(run.tenant_id, granted.proposal_id)
    if proposal.state not in UNDER_REVIEW:
        raise Conflict(f"Proposal is {proposal.state}; nothing was installed.", state=proposal.state, action="apply")
    revision = revisions.get_by_number(proposal, granted.revision)
    installed = _install(
        proposal,
        revision,
        run,
        sha256=granted.sha256,
        granted=granted,
        by=gate.deciding_grant(granted).principal,
        now=now,
    )
    gate.close(granted, GateState.GRANTED, now=now)
    return installed


def _install(
    proposal: Proposal,
    revision: Revision,
    run: Run,
    *,
    sha256: str,
    granted: Gate | None,
    by: str,
    now: datetime,
) -> Installation:
    installed = installation.install(proposal, revision, sha256=sha256, by=by, now=now)
    proposal.approval_id, proposal.installed_ref = granted.id if granted else None, installed.ref
    leave_review(proposal, "apply", by=by, now=now)
    approval = ids.wire("gate", proposal.approval_id)
    runs.note(run, ProposalActivated(proposal.id, proposal.kind, approval, installed.ref), now=now)
    details = {"installedArtifactRef": installed.ref, "sha256": installed.sha256, "runId": ids.wire("run", run.id)}
    if granted:
        details["requestedBy"] = granted.opened_by
    revisions.audit_step(proposal, "install", by=by, now=now, approvalId=approval, **details)
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
    """Record a vote on exactly the revision and digest that the principal saw.

    The grant that meets the quorum lets the run continue; a rejection or a request for changes ends the gate and leaves
    the proposal under review. A request for changes needs a reason.
    """
    rules.authorize(scope, "decide", proposal_id, now=now)
    with transaction.atomic():
        held = lock_and_check(scope, "decide", proposal_id, now)
        under_way, run = held.activation()
        gate.require_about(under_way, revision, sha256)
        if decision not in Decision.values:
            message = f"must be one of {', '.join(Decision.values)}"
            raise Invalid("There is no such decision.", errors=[{"field": "decision", "message": message}])
        stored = stored_reason(scope.tenant_id, reason)
        if decision == Decision.CHANGES_REQUESTED and not stored:
            errors = [{"field": "reason", "message": "says what is to be changed"}]
            raise Invalid("Asking for changes needs a reason.", errors=errors)
        gate.vote(under_way, run, principal=scope.principal, decision=decision, reason=stored, now=now)
        details = {**revisions.gate_details(under_way), "decision": decision, "gateState": under_way.state}
        revisions.audit_step(held.proposal, "vote", by=scope.principal.id, now=now, **details)
    return under_way


def expire(under_way: Gate, *, now: datetime) -> None:
    """Close a gate whose deadline has passed; nothing is installed. The caller holds the lock of its run."""
    gate.close(under_way, GateState.EXPIRED, now=now)
    revisions.audit_step(under_way.proposal, "gate.expire", by="host", now=now, **revisions.gate_details(under_way))


def withdraw(scope: TenantScope, proposal_id: UUID | None, *, reason: str = "", now: datetime) -> Proposal:
    """Cancel the gate under way and its run; the proposal stays under review."""
    rules.authorize(scope, "withdraw", proposal_id, now=now)
    with transaction.atomic():
        held = lock_and_check(scope, "withdraw", proposal_id, now)
        under_way, run = held.activation()
        gate.cancel(under_way, run, reason=stored_reason(scope.tenant_id, reason), now=now)
        revisions.audit_step(
            held.proposal, "gate.withdraw", by=scope.principal.id, now=now, **revisions.gate_details(under_way)
        )
    return held.proposal


def create(scope: TenantScope, draft: ProposalDraft, *, run: Run | None = None, now: datetime) -> Proposal:
    """Create a proposal with its first revision and append ``proposal.created`` to ``run`` or to a system run.

    ``run`` is the running run whose node submits the proposal. Installs nothing: runs resolve what they did before.
    """
    rules.authorize(scope, "create", now=now)
    scope.check_agent(draft.agent_id)
    with transaction.atomic():
        drafts.require_origin(scope.tenant_id, draft)
        sealed = drafts.seal(scope.tenant_id, draft.kind, draft.artifact)
        artifacts.require_timely(draft.kind, sealed.text, now=now)
        texts = drafts.texts(scope.tenant_id, title=draft.title, rationale=draft.rationale)
        author = scope.principal.id
        proposal = Proposal(
            tenant_id=scope.tenant_id,
            kind=draft.kind,
            purpose=draft.purpose,
            pattern=draft.pattern,
            evidence=list(draft.evidence),
            duplicate_of=duplicates.find(scope.tenant_id, draft.kind, sealed.text) if _is_new(draft) else None,
            source_run_ids=list(draft.source_run_ids),
            synthesizer_model=draft.synthesizer_model,
            author=author,
            agent_id=draft.agent_id,
            title=texts.title,
            rationale=texts.rationale,
            last_reviser=author,
            contributors=access.with_persons(scope.tenant_id, {author, *draft.contributors}),
            created_at=now,
            updated_at=now,
        ).insert(by=WRITER)
        revisions.add(proposal, sealed, texts, against=_text_in_production(proposal, sealed.text), by=author, now=now)
        with _intake(scope, run, now) as log:
            sources = tuple(proposal.source_run_ids)
            runs.note(log, ProposalCreated(proposal.id, proposal.kind, sources, proposal.duplicate_of), now=now)
        details = {"kind": proposal.kind, "purpose": proposal.purpose, "sha256": sealed.sha256}
        revisions.audit_step(proposal, "create", by=author, now=now, **details)
        _require_room(scope.tenant_id)
    return proposal


def _require_room(tenant_id: UUID) -> None:
    """Refuse a proposal beyond the limit. The audit append serialises the tenant's writers, so the count is exact."""
    if Proposal.objects.of(tenant_id).filter(state__in=UNDER_REVIEW).count() > drafts.MAX_UNDER_REVIEW:
        most = drafts.MAX_UNDER_REVIEW
        raise Conflict(f"{most:,} proposals are under review; decide about some of them first.", most=most)


def _is_new(draft: ProposalDraft) -> bool:
    """Whether to look for a duplicate: a rollback repeats an artifact on purpose."""
    return draft.purpose == Purpose.INSTALL


def _text_in_production(proposal: Proposal, text: str) -> str:
    """What runs resolve today where the new proposal's artifact ``text`` would be installed; "" for nothing."""
    there = impact.places_of(proposal.tenant_id, [(proposal, text)])[proposal.id].in_production
    return there.text if there else ""


@contextmanager
def _intake(scope: TenantScope, run: Run | None, now: datetime) -> Iterator[Run]:
    """The run that logs a new proposal: the given one, or a system run that completes when the block ends."""
    if run is not None:
        if run.tenant_id != scope.tenant_id:
            raise NotFound("There is no run by that id.")
        yield run
        return
    definition = runs.host_definition(INTAKE, "Host: take in a proposal", (INTAKE_NODE, INTAKE_TYPE))
    order = RunOrder(INTAKE, definition, scope.principal.id, system=True)
    own = runs.open_running(scope.tenant_id, order, now=now)
    yield own
    runs.complete(own, now=now)


def revise(
    scope: TenantScope,
    proposal_id: UUID | None,
    change: Change,
    *,
    expected: int | None = None,
    voids_gate: bool = False,
    now: datetime,
) -> Proposal:
    """Add the next revision; earlier ones are kept. ``expected`` is the revision that its author has read.

    Refused while a gate is under way, because the installed artifact must be the one that the reviewers saw; with
    ``voids_gate`` the gate and its votes become void instead. The artifact of a rollback cannot be changed.
    """
    rules.authorize(scope, "revise", proposal_id, now=now)
    with transaction.atomic():
        held = lock_with_run(scope.tenant_id, proposal_id, now=now)
        proposal, voided = held.proposal, held.gate if voids_gate else None
        rules.check("revise", scope, proposal, None if voided else held.gate, now=now)
        before = revisions.current(proposal)
        revisions.require_current(before, expected)
        if change.is_empty:
            raise Invalid("The revision changes nothing.", errors=[{"field": "artifact", "message": "is not given"}])
        _require_changeable(proposal, change)
        if voided:
            gate.cancel(*held.activation(), state=GateState.VOID, now=now)
        made = _revised(proposal, before, change, by=scope.principal.id, now=now)
        digests = {"sha256Before": before.sha256, "sha256": made.sha256, "revision": made.number}
        voids = {"voidedApprovalId": ids.wire("gate", voided.id)} if voided else {}
        revisions.audit_step(proposal, "revise", by=scope.principal.id, now=now, **digests, **voids)
    return proposal


def _require_changeable(proposal: Proposal, change: Change) -> None:
    if change.artifact is not None and not rules.may_change_artifact(proposal):
        message = "A rollback installs exactly what was installed before; propose a new version instead."
        raise Conflict(message, state=proposal.state, action="revise")


def _revised(proposal: Proposal, before: Revision, change: Change, *, by: str, now: datetime) -> Revision:
    """Add the next revision to the locked proposal, with new texts redacted and the duplicate looked up again."""
    artifact = before.text if change.artifact is None else change.artifact
    sealed = drafts.seal(proposal.tenant_id, proposal.kind, artifact)
    artifacts.require_timely(proposal.kind, sealed.text, now=now)
    title = proposal.title if change.title is None else change.title
    rationale = proposal.rationale if change.rationale is None else change.rationale
    texts = drafts.texts(proposal.tenant_id, title=title, rationale=rationale, note=change.note)
    if change.artifact is not None:
        proposal.duplicate_of = duplicates.find(proposal.tenant_id, proposal.kind, sealed.text, besides=proposal.id)
    proposal.state = rules.NEXT_STATES["revise"][proposal.state]
    proposal.revision += 1
    proposal.title, proposal.rationale = texts.title, texts.rationale
    proposal.last_reviser, proposal.updated_at = by, now
    proposal.contributors = access.with_persons(proposal.tenant_id, {*proposal.contributors, by})
    proposal.save(by=WRITER)
    return revisions.add(proposal, sealed, texts, against=before.text, by=by, now=now)


def reject(
    scope: TenantScope, proposal_id: UUID | None, *, reason: str = "", expected: int | None = None, now: datetime
) -> Proposal:
    """Reject the proposal and cancel a gate under way; rejecting again changes nothing.

    ``expected`` is the revision that the principal has read.
    """
    return _end_review(scope, "reject", proposal_id, reason, now, expected=expected)


def archive(scope: TenantScope, proposal_id: UUID | None, *, reason: str = "", now: datetime) -> Proposal:
    """Archive the proposal and cancel a gate under way; archiving again changes nothing.

    An applied proposal is uninstalled too where the policy of its kind allows it, and refused otherwise.
    """
    return _end_review(scope, "archive", proposal_id, reason, now)


def end_many(
    scope: TenantScope, action: str, proposal_ids: Collection[UUID], *, reason: str, now: datetime
) -> list[Proposal]:
    """Reject or archive all of these proposals or none; the refusal lists every obstructing id with its reason."""
    if action not in ("reject", "archive"):
        errors = [{"field": "action", "message": "must be reject or archive"}]
        raise Invalid("Only rejecting and archiving is done in bulk.", errors=errors)
    if not proposal_ids or len(proposal_ids) > MOST_AT_ONCE:
        errors = [{"field": "ids", "message": f"must be 1 to {MOST_AT_ONCE}"}]
        raise Invalid("Name the proposals.", errors=errors)
    rules.authorize(scope, action, now=now)
    stored_reason(scope.tenant_id, reason, required=True)
    with transaction.atomic():
        held = {each: _held_or_none(scope, each, now) for each in sorted(set(proposal_ids))}
        standing = {each: _obstacle_to(action, scope, found, now) for each, found in held.items()}
        problems = [{"id": ids.wire("prop", each), "message": why} for each, why in standing.items() if why]
        if problems:
            raise Conflict("Nothing was changed: not possible for all of these.", action=action, problems=problems)
        return [_leave(scope, action, found, reason, now) for found in held.values() if found]


def _held_or_none(scope: TenantScope, proposal_id: UUID, now: datetime) -> LockedProposal | None:
    there = Proposal.objects.of(scope.tenant_id).filter(id=proposal_id).exists()
    return lock_with_run(scope.tenant_id, proposal_id, now=now) if there else None


def _obstacle_to(action: str, scope: TenantScope, held: LockedProposal | None, now: datetime) -> str:
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
    policy = policies.policy_of_kind(scope.tenant_id, seen.kind) if seen else None
    wanted = rules.action_of_archiving(seen, policy) if seen and policy and action == "archive" else action
    rules.authorize(scope, wanted, proposal_id, now=now)
    with transaction.atomic():
        held = lock_with_run(scope.tenant_id, proposal_id, now=now)
        rules.check(wanted, scope, held.proposal, held.gate, policy=policy, now=now)
        revisions.require_current(revisions.current(held.proposal), expected)
        return _leave(scope, wanted, held, reason, now)


def _leave(scope: TenantScope, action: str, held: LockedProposal, reason: str, now: datetime) -> Proposal:
    """End the review of the locked proposal by an allowed ``action``; a repeated one changes nothing."""
    proposal = held.proposal
    if rules.NEXT_STATES[action][proposal.state] == proposal.state:
        return proposal
    if held.gate:
        gate.cancel(*held.activation(), reason=stored_reason(scope.tenant_id, reason), now=now)
    details: JSONObject = {"sha256": revisions.current(proposal).sha256}
    if action == "uninstall":
        details |= _uninstalled(proposal, now)
    proposal.closing_reason = stored_reason(scope.tenant_id, reason) or proposal.closing_reason
    leave_review(proposal, action, by=scope.principal.id, now=now)
    revisions.audit_step(proposal, action, by=scope.principal.id, now=now, **details)
    return proposal


def _uninstalled(proposal: Proposal, now: datetime) -> JSONObject:
    """Uninstall what the applied proposal installed, unless another applied one installed the same ref.

    Returns the details for the audit record.
    """
    ref = proposal.installed_ref or ""
    same = Proposal.objects.of(proposal.tenant_id).filter(state=State.APPLIED, installed_ref=ref)
    other: Proposal | None = same.exclude(id=proposal.id).order_by("id").first()
    taken_out = other is None and installation.uninstall(proposal.tenant_id, ref, now=now)
    proposal.uninstalled_ref, proposal.installed_ref, proposal.approval_id = ref, None, None
    details = {"installedArtifactRef": ref, "wasCurrent": taken_out}
    return details | {"alsoInstalledBy": ids.wire("prop", other.id)} if other else details


@transaction.atomic
def forget(tenant_id: UUID, proposal_id: UUID, *, now: datetime) -> None:
    """Blank every text of the proposal and archive it; an applied one stays applied and keeps its installed text."""
    held = lock_with_run(tenant_id, proposal_id, now=now)
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
    revisions.audit_step(proposal, "forget", by="host", now=now)


# Rollback: an ordinary proposal with its gate, whose artifact is an earlier installed version.


def propose(scope: TenantScope, ref: str, *, rationale: str = "", now: datetime) -> Proposal:
    """Propose to make the earlier version ``ref`` the current one again.

    Refused when it is current already, and for a kind that no proposal installs.
    """
    rules.authorize(scope, "create", now=now)
    found = artifact_stops.find(scope, ref)
    if found.kind not in Kind.values:
        raise NotFound("No proposal could install that.")
    if found.superseded_at is None:
        raise Conflict(f"{ref} is the current version already.", installedArtifactRef=ref)
    current = registry.current(scope.tenant_id, found.kind, found.name)
    away_from = f" from {current.version}" if current else ""
    title = f"Roll {found.name} back{away_from} to {found.version}"[:200]
    draft = ProposalDraft(found.kind, found.text, title=title, rationale=rationale, purpose=Purpose.ROLLBACK)
    return create(scope, draft, now=now)


def roll_back(scope: TenantScope, ref: str, *, now: datetime) -> Activation:
    """``propose``, then request its approval where the principal may; a host without gates installs it at once."""
    rules.authorize(scope, "create", now=now)
    with transaction.atomic():
        made = propose(scope, ref, now=now)
        return ask_to_apply(scope, made.id, now=now) if scope.can(rules.scope_for("apply")) else Activation(made)


def override(
    scope: TenantScope, proposal_id: UUID | None, *, revision: int, sha256: str, reason: str, now: datetime
) -> Gate:
    """Grant the gate by override, for exactly the revision and digest that the principal saw.

    The reason is redacted and stored in the audit log and with the vote; events do not hold it.
    """
    rules.authorize(scope, "override", proposal_id, now=now)
    with transaction.atomic():
        held = lock_with_run(scope.tenant_id, proposal_id, now=now)
        rules.check("override", scope, held.proposal, held.gate, now=now)
        under_way, run = held.activation()
        gate.require_about(under_way, revision, sha256)
        stored = stored_reason(scope.tenant_id, reason, required=True)
        gate.vote(
            under_way,
            run,
            principal=scope.principal,
            decision=Decision.GRANTED,
            reason=stored,
            overrides=True,
            now=now,
        )
        _audit_override(scope, under_way, stored, now)
    return under_way


def recent_overrides(scope: TenantScope, *, since: datetime) -> QuerySet[Vote]:
    """The overrides cast since then, oldest first, with gate and proposal loaded."""
    scope.check("proposals:read")
    rows = Vote.objects.of(scope.tenant_id).filter(overrides=True, at__gte=since)
    return rows.select_related("gate__proposal").order_by("id")


def _audit_override(scope: TenantScope, under_way: Gate, reason: str, now: datetime) -> None:
    granted = gate.grants_at(under_way)
    details = {
        "runId": ids.wire("run", under_way.run_id),
        "nodeId": under_way.node_id,
        "proposalId": ids.wire("prop", under_way.proposal_id),
        "bypassedQuorum": under_way.state == GateState.GRANTED and granted < under_way.quorum,
        "quorum": {"granted": granted, "required": under_way.quorum},
        "artifactSha256": under_way.sha256,
    }
    target = ids.wire("gate", under_way.id)
    audit.append(
        scope.tenant_id,
        actor=scope.principal.id,
        action=OVERRIDE,
        target=target,
        details=details,
        reason=reason,
        now=now,
    )
