"""Who may never do what to a proposal is refused up front, with the denial on record (openwop-host 2.2)."""

from datetime import datetime
from uuid import UUID

from memory.host import denials, ids
from memory.host.tenancy import TenantScope
from proposals import gate, rules
from proposals.models import Proposal


def authorize(scope: TenantScope, action: str, proposal_id: UUID | None = None, *, now: datetime) -> None:
    """Refuse what this principal may never do; the log of the activation under way tells of it.

    The record is a transaction of its own, so it stays when the request is refused; a caller that has one open already
    takes the record with it when it rolls back.
    """
    proposal = _proposal(scope.tenant_id, proposal_id)
    denied = rules.denial(scope, action, proposal)
    if denied is None:
        return
    under_way = gate.under_way(proposal.tenant_id, proposal.id) if proposal else None
    denials.record(
        scope,
        denied,
        action=rules.scope_for(action),
        attempt=f"proposal.{action}",
        resource=ids.wire("prop", proposal.id) if proposal else "",
        run_id=under_way.run_id if under_way else None,
        now=now,
    )
    raise denied


def _proposal(tenant_id: UUID, proposal_id: UUID | None) -> Proposal | None:
    found: Proposal | None = Proposal.objects.of(tenant_id).filter(id=proposal_id).first() if proposal_id else None
    return found
