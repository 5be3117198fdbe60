"""How a proposal comes to be, and is revised."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory.host import access, ids, registry, runs
from memory.host.errors import Conflict, Invalid, NotFound
from memory.host.events import ProposalCreated
from memory.host.models import Run
from memory.host.run_orders import RunOrder
from memory.host.tenancy import TenantScope
from proposals import artifacts, denials, drafts, duplicates, gate, locking, records, revisions, rules
from proposals.drafts import Change, ProposalDraft
from proposals.lifecycle.rows import WRITER
from proposals.models import UNDER_REVIEW, GateState, Proposal, Purpose, Revision

INTAKE = "host-proposal-intake"
INTAKE_NODE, INTAKE_TYPE = "submit", "vendor.console.submit-proposal"


def create(scope: TenantScope, draft: ProposalDraft, *, run: Run | None = None, now: datetime) -> Proposal:
    """A draft with its first revision; ``proposal.created`` stands on ``run``, or on a small run of its own.

    ``run`` is the running run whose node submits the proposal. Nothing any run resolves has changed.
    """
    denials.authorize(scope, "create", now=now)
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
        revisions.add(proposal, sealed, texts, against=_installed_text(proposal, sealed.text), by=author, now=now)
        with _intake(scope, run, now) as log:
            sources = tuple(proposal.source_run_ids)
            runs.note(log, ProposalCreated(proposal.id, proposal.kind, sources, proposal.duplicate_of), now=now)
        told = {"kind": proposal.kind, "purpose": proposal.purpose, "sha256": sealed.sha256}
        records.step(proposal, "create", by=author, now=now, **told)
        _require_room(scope.tenant_id)
    return proposal


def _require_room(tenant_id: UUID) -> None:
    """Refuse the proposal that is one too many. The audit has let nobody else of the tenant pass, so none is missed."""
    if Proposal.objects.of(tenant_id).filter(state__in=UNDER_REVIEW).count() > drafts.MAX_UNDER_REVIEW:
        most = drafts.MAX_UNDER_REVIEW
        raise Conflict(f"{most:,} proposals are under review; decide about some of them first.", most=most)


def _is_new(draft: ProposalDraft) -> bool:
    """Whether the draft could restate something by accident; a rollback restates on purpose."""
    return draft.purpose == Purpose.INSTALL


def _installed_text(proposal: Proposal, text: str) -> str:
    """What is installed now under the name that ``text`` would have; empty when nothing is."""
    name = artifacts.name_in(proposal.kind, text)
    there = registry.current(proposal.tenant_id, proposal.kind, name) if name else None
    return there.text if there else ""


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
    scope: TenantScope,
    proposal_id: UUID | None,
    change: Change,
    *,
    expected: int | None = None,
    voids_gate: bool = False,
    now: datetime,
) -> Proposal:
    """The next revision stands and the one before it is kept. ``expected`` is the revision its author has read.

    Refused while a gate is under way, because what is installed is what the reviewers saw; with ``voids_gate`` that
    gate is void, and so are the votes at it. A rollback keeps its artifact.
    """
    denials.authorize(scope, "revise", proposal_id, now=now)
    with transaction.atomic():
        held = locking.lock(scope.tenant_id, proposal_id, now=now)
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
        records.step(proposal, "revise", by=scope.principal.id, now=now, **digests, **voids)
    return proposal


def _require_changeable(proposal: Proposal, change: Change) -> None:
    if change.artifact is not None and not rules.may_change_artifact(proposal):
        message = "A rollback installs exactly what was installed before; propose a new version instead."
        raise Conflict(message, state=proposal.state, action="revise")


def _revised(proposal: Proposal, before: Revision, change: Change, *, by: str, now: datetime) -> Revision:
    """The locked proposal has its next revision."""
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
