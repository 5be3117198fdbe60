"""Entries whose time is over leave the database: the expired ones, and those of a host without durable memory.

Housekeeping for the first (no read ever waits for it, design.md 3.4); for the second it is the only way they go.
"""

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime
from functools import partial
from uuid import UUID

from memory import ledger


def sweep(*, now: datetime) -> int:
    """Every entry that has expired by ``now`` is gone, in chunks; returns how many there were."""
    return _remove_all(partial(ledger.expired_rows, now=now), "expired", now)


def end_ephemeral(instance: str, *, now: datetime) -> int:
    """What ``instance`` wrote while it had no durable memory is gone, in chunks; nothing else is touched.

    Called before that host answers requests again, so nobody sees an entry that an earlier start remembered.
    """
    return _remove_all(partial(ledger.ephemeral_rows, instance), "ephemeral", now)


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
