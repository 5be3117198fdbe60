"""The sweep: expired entries leave the database. Housekeeping only; no read ever waits for it (design.md 3.4)."""

from collections import defaultdict
from datetime import datetime
from uuid import UUID

from memory import ledger


def sweep(*, now: datetime) -> int:
    """Every entry that has expired by ``now`` is gone, in chunks; returns how many there were."""
    removed = 0
    while rows := ledger.expired_rows(now=now):
        by_tenant: dict[UUID, list[UUID]] = defaultdict(list)
        for tenant_id, row in rows:
            by_tenant[tenant_id].append(row)
        removed += sum(
            ledger.remove(tenant_id, tuple(found), reason="expired", now=now) for tenant_id, found in by_tenant.items()
        )
    return removed
