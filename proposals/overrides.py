"""The override of a gate: who may, says why, and it stays marked for good (openwop-host 2.2, 2.4).

It is what stands above the separation of duties, and above nothing else: it counts as one grant, of the digest that the
gate has pinned, and the installation compares that digest as ever.
"""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory.host import audit, ids
from memory.host.errors import Invalid
from memory.host.tenancy import TenantScope
from proposals import denials, drafts, gate, locking, rules
from proposals.models import Decision, Gate, GateState, Vote

ACTION = "approval.override"


def override(
    scope: TenantScope, proposal_id: UUID | None, *, revision: int, sha256: str, reason: str, now: datetime
) -> Gate:
    """The gate has a grant by override, for exactly the revision and digest that the principal saw.

    The reason, without the tenant's secrets, is on record in the audit log and with the vote; no event holds it.
    """
    denials.authorize(scope, "override", proposal_id, now=now)
    with transaction.atomic():
        held = locking.lock(scope.tenant_id, proposal_id, now=now)
        rules.check("override", scope, held.proposal, held.gate, now=now)
        under_way, run = held.activation()
        gate.require_about(under_way, revision, sha256)
        stored = drafts.reason(scope.tenant_id, reason)
        if not stored:
            raise Invalid("An override needs a reason.", errors=[{"field": "reason", "message": "is required"}])
        gate.vote(
            under_way,
            run,
            principal=scope.principal,
            decision=Decision.GRANTED,
            reason=stored,
            overrides=True,
            now=now,
        )
        _audited(scope, under_way, stored, now)
    return under_way


def lately(scope: TenantScope, *, since: datetime) -> list[Vote]:
    """The overrides cast since then, the oldest first, each with its gate and proposal."""
    scope.check("proposals:read")
    rows = Vote.objects.of(scope.tenant_id).filter(overrides=True, at__gte=since)
    return list(rows.select_related("gate__proposal").order_by("id"))


def _audited(scope: TenantScope, under_way: Gate, reason: str, now: datetime) -> None:
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
        action=ACTION,
        target=target,
        details=details,
        reason=reason,
        now=now,
    )
