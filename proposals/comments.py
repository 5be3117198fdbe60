"""The discussion of a proposal. The only writer of comments; they change nothing but what people know."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory.host.errors import Conflict, Invalid
from memory.host.tenancy import TenantScope
from memory.text.matching import FORGOTTEN
from proposals import denials, drafts, locking, revisions
from proposals.models import Comment, Proposal

WRITER = "proposals.comments"
MOST = 2_000


def add(scope: TenantScope, proposal_id: UUID | None, text: str, *, now: datetime) -> Comment:
    """The words, without the tenant's secrets, stand under the proposal for good; audited without a word of them."""
    denials.authorize(scope, "comment", proposal_id, now=now)
    with transaction.atomic():
        proposal = locking.lock(scope.tenant_id, proposal_id, now=now).proposal
        _require_room(proposal)
        stored = drafts.comment(scope.tenant_id, text)
        if not stored:
            raise Invalid("A comment says something.", errors=[{"field": "text", "message": "is required"}])
        made: Comment = Comment(
            tenant_id=scope.tenant_id,
            proposal_id=proposal.id,
            revision=proposal.revision,
            author=scope.principal.id,
            text=stored,
            at=now,
        ).insert(by=WRITER)
        revisions.step(proposal, "comment", by=scope.principal.id, now=now, revision=proposal.revision)
    return made


def _require_room(proposal: Proposal) -> None:
    if Comment.objects.of(proposal.tenant_id).filter(proposal_id=proposal.id).count() >= MOST:
        raise Conflict(f"The proposal has {MOST:,} comments; it takes no more.", most=MOST)


def comments_of(proposal: Proposal) -> list[Comment]:
    """What was said, the oldest first."""
    return list(Comment.objects.of(proposal.tenant_id).filter(proposal_id=proposal.id).order_by("id"))


def blank(proposal: Proposal) -> None:
    """No word of the discussion is left; who spoke when stays."""
    rows = Comment.objects.written_by(WRITER).filter(tenant_id=proposal.tenant_id, proposal_id=proposal.id)
    rows.update(text=FORGOTTEN)
