"""Denials on record: what a principal tried and may not, audited although the request is refused (openwop-host 2.2)."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory.host import audit, ids, runs
from memory.host.errors import Forbidden
from memory.host.events import AuthorizationDecided
from memory.host.models import RunStatus
from memory.host.tenancy import TenantScope
from proposals import gate, rules
from proposals.models import Proposal

UNTOLD = runs.ENDS | {RunStatus.PENDING}


def authorize(scope: TenantScope, action: str, proposal_id: UUID | None = None, *, now: datetime) -> None:
    """Refuse what this principal may never do, with the refusal on record.

    The record is a transaction of its own, so it stays when the request is refused; a caller that has one open already
    takes the record with it when it rolls back.
    """
    proposal = _proposal(scope.tenant_id, proposal_id)
    denied = rules.denial(scope, action, proposal)
    if denied:
        _record(scope, action, proposal, denied, now)
        raise denied


def _proposal(tenant_id: UUID, proposal_id: UUID | None) -> Proposal | None:
    found: Proposal | None = Proposal.objects.of(tenant_id).filter(id=proposal_id).first() if proposal_id else None
    return found


@transaction.atomic
def _record(scope: TenantScope, action: str, proposal: Proposal | None, denied: Forbidden, now: datetime) -> None:
    resource = ids.wire("prop", proposal.id) if proposal else ""
    reason = str(denied.details.get("rule", "missing-scope"))
    if proposal:
        decided = AuthorizationDecided(
            scope.principal.id, rules.scope_for(action), resource, allowed=False, reason=reason
        )
        _tell_the_run(proposal, decided, now)
    details = {"action": f"proposal.{action}", "reason": reason}
    audit.append(
        scope.tenant_id,
        actor=scope.principal.id,
        action="authorization.denied",
        target=resource,
        details=details,
        now=now,
    )


def _tell_the_run(proposal: Proposal, decided: AuthorizationDecided, now: datetime) -> None:
    """The activation under way has the denial on its log; one that has not begun or has ended takes no event."""
    under_way = gate.under_way(proposal.tenant_id, proposal.id)
    run = runs.locked(proposal.tenant_id, under_way.run_id) if under_way else None
    if run and run.status not in UNTOLD:
        runs.note(run, decided, now=now)
