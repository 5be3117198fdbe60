"""Comments on proposals, and their only writer. A comment never changes the proposal."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory.host.errors import Conflict, Invalid
from memory.host.tenancy import TenantScope
from memory.text.matching import FORGOTTEN
from proposals import diffs, drafts, gate, revisions, rules
from proposals.models import Comment, Proposal, Revision

WRITER = "proposals.comments"
MOST = 2_000


@dataclass(frozen=True, slots=True)
class Spot:
    """A line of a revision, counted from 1 in the form of ``diffs.readable``."""

    revision: int
    line: int


def add(scope: TenantScope, proposal_id: UUID | None, text: str, *, spot: Spot | None = None, now: datetime) -> Comment:
    """Redact and store a comment; audited without its text. Only a forget changes it later.

    Without a ``spot`` it is about the current revision as a whole.
    """
    rules.authorize(scope, "comment", proposal_id, now=now)
    with transaction.atomic():
        proposal = gate.lock_with_run(scope.tenant_id, proposal_id, now=now).proposal
        _require_room(proposal)
        if spot:
            _require_line(proposal, spot)
        revision = spot.revision if spot else proposal.revision
        stored = drafts.comment(scope.tenant_id, text)
        if not stored:
            raise Invalid("The comment is empty.", errors=[{"field": "text", "message": "is required"}])
        made: Comment = Comment(
            tenant_id=scope.tenant_id,
            proposal_id=proposal.id,
            revision=revision,
            line=spot.line if spot else None,
            author=scope.principal.id,
            text=stored,
            at=now,
        ).insert(by=WRITER)
        where = {"revision": revision, **({"line": spot.line} if spot else {})}
        revisions.audit_step(proposal, "comment", by=scope.principal.id, now=now, **where)
    return made


def _require_line(proposal: Proposal, spot: Spot) -> None:
    rows = Revision.objects.of(proposal.tenant_id).filter(proposal_id=proposal.id, number=spot.revision)
    text = rows.values_list("text", flat=True).first()
    if text is None or not 1 <= spot.line <= len(diffs.readable(text)):
        raise Invalid("There is no such line.", errors=[{"field": "line", "message": "is not a line of that revision"}])


def _require_room(proposal: Proposal) -> None:
    if Comment.objects.of(proposal.tenant_id).filter(proposal_id=proposal.id).count() >= MOST:
        raise Conflict(f"The proposal has {MOST:,} comments; it takes no more.", most=MOST)


def comments_of(proposal: Proposal) -> list[Comment]:
    """The comments on the proposal, oldest first."""
    return list(Comment.objects.of(proposal.tenant_id).filter(proposal_id=proposal.id).order_by("id"))


def blank(proposal: Proposal) -> None:
    """Blank the texts of all comments; authors and times stay."""
    rows = Comment.objects.written_by(WRITER).filter(tenant_id=proposal.tenant_id, proposal_id=proposal.id)
    rows.update(text=FORGOTTEN)
