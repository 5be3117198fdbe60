"""Refuses principals without the right to an action on a proposal and records the denial (openwop-host 2.2)."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from uuid import UUID

from memory.host import denials, ids, sql
from memory.host.tenancy import TenantScope
from proposals import gate, rules
from proposals.models import Gate, Proposal


def authorize(scope: TenantScope, action: str, proposal_id: UUID | None = None, *, now: datetime) -> None:
    """Refuse an action that this principal may not take, and record the denial, also on the run under way.

    The record has its own transaction, so it survives the refusal; inside a caller's open transaction it is lost when
    that one rolls back.
    """
    proposal, under_way = _find(scope.tenant_id, proposal_id)
    denied = rules.denial(scope, action, proposal, under_way)
    if denied is None:
        return
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


def authorizing(
    scope: TenantScope, action: str, proposal_id: UUID | None = None, *, now: datetime
) -> Callable[[], None]:
    """``authorize`` as a callable, for a form that is validated only after the check."""
    return lambda: authorize(scope, action, proposal_id, now=now)


def authorize_one_of(
    scope: TenantScope, actions: Sequence[str], proposal_id: UUID | None = None, *, now: datetime
) -> None:
    """Refuse a principal who may take none of ``actions``; the denial of the first one is recorded."""
    there = _find(scope.tenant_id, proposal_id)
    if all(rules.denial(scope, action, *there) for action in actions):
        authorize(scope, actions[0], proposal_id, now=now)


def _find(tenant_id: UUID, proposal_id: UUID | None) -> tuple[Proposal | None, Gate | None]:
    """The proposal and its gate under way, each or None."""
    found = _proposal().fetch(sql.key(tenant_id), sql.key(proposal_id)) if proposal_id else []
    return (found[0], gate.under_way(tenant_id, found[0].id)) if found else (None, None)


@cache
def _proposal() -> sql.Prepared[Proposal]:
    anyone = UUID(int=0)
    return sql.Prepared(Proposal.objects.of(anyone).filter(id=anyone))
