"""Release the leases of a dead console at start. Kept apart from the scheduler, so that the supervisor avoids its
imports."""

from datetime import datetime

from django.db.models import Q

from memory import commitments, passes
from memory.host import heartbeats, idempotency_keys, runs, webhooks
from memory.host.models import Tenant

LEASES = (runs.LEASE, passes.LEASE, commitments.LEASE, webhooks.LEASE)


def recover(instance: str | None, now: datetime) -> int:
    """Release the leases of an earlier, dead console of this data folder; return how many.

    ``None`` means every console: on a restored copy, no holder of a lease is running.
    """
    return sum(lease.release_held_by(instance, now=now) for lease in LEASES)


def correct_leases(now: datetime) -> int:
    """Shorten the leases that were claimed while a clock was ahead; return how many."""
    corrected = sum(lease.correct_ahead(now=now) for lease in (*LEASES, heartbeats.LEASE))
    begun = Q(tenant_id__in=Tenant.objects.values("id"), created_at__gt=now)  # by index: there are very many
    return corrected + idempotency_keys.LEASE.correct_ahead(now=now, where=begun)
