"""The row of a proposal, locked and allowed to change; and how it leaves the review. For this package alone."""

from datetime import datetime
from uuid import UUID

from memory.host.tenancy import TenantScope
from proposals import locking, rules
from proposals.locking import Held
from proposals.models import Proposal

WRITER = "proposals.lifecycle"


def checked(scope: TenantScope, action: str, proposal_id: UUID | None, now: datetime) -> Held:
    """The proposal, locked, after ``rules`` allowed ``action``."""
    held = locking.lock(scope.tenant_id, proposal_id, now=now)
    rules.check(action, scope, held.proposal, held.gate, now=now)
    return held


def leave_review(proposal: Proposal, action: str, *, by: str, now: datetime) -> None:
    """The locked proposal is in the state that ``action`` leads to, and says who led it there."""
    proposal.state = rules.NEXT_STATES[action][proposal.state]
    proposal.closed_by, proposal.closed_at, proposal.updated_at = by, now, now
    proposal.save(by=WRITER)
