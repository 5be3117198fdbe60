"""Entries whose time is over leave the database: the expired ones, those that passes took away and nobody restored, and
those of a host without durable memory.

Housekeeping for the first (no read ever waits for it, design.md 3.4); for the second it is the only way they go.
"""

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from memory import archives, ledger, policies
from memory.host.models import Tenant


def sweep(*, now: datetime) -> int:
    """Every entry that has expired by ``now`` is gone, in chunks; returns how many there were."""
    return _remove_all(partial(ledger.expired_rows, now=now), "expired", now)


def end_ephemeral(instance: str, *, now: datetime) -> int:
    """What ``instance`` wrote while it had no durable memory is gone, in chunks; nothing else is touched.

    Called before that host answers requests again, so nobody sees an entry that an earlier start remembered.
    """
    return _remove_all(partial(ledger.ephemeral_rows, instance), "ephemeral", now)


def collect_archives(*, now: datetime) -> int:
    """Archives whose time is over are withdrawn, and what endpoints made that is as old is gone; how many archives."""
    return archives.gc(now=now)


def sweep_merged(*, now: datetime) -> int:
    """What passes took away longer ago than its tenant keeps it restorable is gone, in chunks; how many there were."""
    return sum(_sweep_merged_of(tenant_id, now) for tenant_id in Tenant.objects.values_list("id", flat=True))


def _sweep_merged_of(tenant_id: UUID, now: datetime) -> int:
    removed = 0
    before = now - timedelta(days=policies.policy_of(tenant_id).restore_days)
    while rows := ledger.merged_away_rows(tenant_id, before=before):
        for kind in sorted({kind for _, kind in rows}):
            of_kind = tuple(row for row, its in rows if its == kind)
            removed += ledger.remove(tenant_id, of_kind, reason=kind, now=now)
    return removed


def _remove_all(find: Callable[[], list[tuple[UUID, UUID]]], reason: str, now: datetime) -> int:
    removed = 0
    while rows := find():
        by_tenant: dict[UUID, list[UUID]] = defaultdict(list)
        for tenant_id, row in rows:
            by_tenant[tenant_id].append(row)
        removed += sum(
            ledger.remove(tenant_id, tuple(found), reason=reason, now=now) for tenant_id, found in by_tenant.items()
        )
    return removed
