"""Undoing a pass: the entries that it took away are read again. What it wrote of them stays."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from memory import adapter, entry_drafts, ledger, passes, policies, redaction
from memory.adapter import RetiredCounts
from memory.host import audit, ids, sql
from memory.host.errors import Conflict, Invalid
from memory.host.tenancy import TenantScope
from memory.models import Pass
from memory.passes import orders

MOST = 5000  # entries one request restores, in transactions of CHUNK each; the next request goes on
NOTHING = RetiredCounts()


@dataclass(frozen=True, slots=True)
class Restored:
    """How many entries one request restored, and what has become of all that the pass took away."""

    entries: int
    taken: RetiredCounts


def retired_counts(scope: TenantScope, pass_ids: Collection[UUID], *, now: datetime) -> dict[UUID, RetiredCounts]:
    """What has become of what each of these passes took away; none of one that took nothing."""
    scope.check("memory:read")
    return adapter.retired_by_passes(scope, pass_ids, since=_restorable_since(scope, now), now=now) if pass_ids else {}


def restore_pass(scope: TenantScope, pass_id: UUID | None, *, reason: str, now: datetime) -> Restored:
    """What the pass took away is read again, up to ``MOST`` entries, and protected; asking again goes on.

    What is gone for good, was retired since, or has lost its key to another entry stays as it is. Each transaction is
    one change of the ledger and one audit record, with the reason.
    """
    scope.check("memory:retire")
    work = orders.find(scope, pass_id)
    if work.state not in passes.OVER:
        raise Conflict("The pass is not over yet.", state=work.state)
    said = redaction.for_tenant(scope.tenant_id).redact(entry_drafts.checked_reason(reason)).text
    if not said:
        raise Invalid("The reason is required.", errors=[{"field": "reason", "message": "is required"}])
    since, restored, after = _restorable_since(scope, now), 0, None
    while restored < MOST:
        limit = min(sql.CHUNK, MOST - restored)
        found = adapter.next_restorable(scope, work.id, since=since, after=after, limit=limit)
        if not found:
            break
        restored += _restore(scope, work, {entry: at for _, entry, at in found}, said, now)
        after = found[-1][0]
    return Restored(restored, retired_counts(scope, [work.id], now=now).get(work.id, NOTHING))


@transaction.atomic
def _restore(scope: TenantScope, work: Pass, taken: dict[UUID, datetime], reason: str, now: datetime) -> int:
    back = ledger.restore_entries(scope, taken, now=now)
    if back:
        audit.append(
            scope.tenant_id,
            actor=scope.principal.id,
            action="pass.restored",
            target=ids.wire("pass", work.id),
            details={"restored": len(back)},
            reason=reason,
            now=now,
        )
    return len(back)


def _restorable_since(scope: TenantScope, now: datetime) -> datetime:
    return now - timedelta(days=policies.policy_of(scope.tenant_id).restore_days)
