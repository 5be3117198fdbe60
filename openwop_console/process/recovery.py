"""Clean-up when a console starts after one that died.

Its leases are released, and what it wrote without durable memory is removed. The modules that do this are imported only
where there is such a row: to import them takes longer than the rest of a start.
"""

from datetime import datetime
from typing import Any

from django.db.models import Q

from memory.host.leases import Lease
from memory.host.models import Run, Tenant, TenantOwned, WebhookDelivery
from memory.models import CommitmentWatch, Pass, has_ephemeral_entries

# The tables of ``leases``, each with its column for the end of a lease.
HELD: dict[type[TenantOwned], str] = {
    Run: "ready_at",
    Pass: "lease_until",
    CommitmentWatch: "lease_until",
    WebhookDelivery: "lease_until",
}


def leases() -> tuple[Lease[Any], ...]:
    """Return the leases that end with the console."""
    from memory import commitments, passes
    from memory.host import runs, webhooks

    return runs.LEASE, passes.LEASE, commitments.lifecycle.LEASE, webhooks.LEASE


def recover(instance: str | None, now: datetime) -> int:
    """Release the leases of an earlier, dead console of this data folder; return how many.

    ``None`` means every console: on a restored copy, no holder of a lease is running.
    """
    if instance is not None and not _holds_any(instance):
        return 0
    return sum(lease.release_held_by(instance, now=now) for lease in leases())


def _holds_any(instance: str) -> bool:
    return any(
        model.objects.filter(Q(**{f"{until}__isnull": False}), Q(holder__startswith=f"{instance}/")).exists()
        for model, until in HELD.items()
    )


def end_ephemeral(instance: str, now: datetime) -> int:
    """Remove what ``instance`` wrote without durable memory, as ``retention_sweep`` does; return how many entries."""
    if not has_ephemeral_entries(instance):
        return 0
    from memory import retention_sweep

    return retention_sweep.end_ephemeral(instance, now=now)


def correct_leases(*, now: datetime) -> int:
    """Shorten the leases that were claimed while a clock was ahead; return how many."""
    from memory.host import heartbeats, idempotency_keys

    corrected = sum(lease.correct_ahead(now=now) for lease in (*leases(), heartbeats.LEASE))
    begun = Q(tenant_id__in=Tenant.objects.values("id"), created_at__gt=now)  # by index: there are very many
    return corrected + idempotency_keys.LEASE.correct_ahead(now=now, where=begun)
