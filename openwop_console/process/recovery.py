"""Release the leases of a dead console at start. Kept apart from the scheduler, so that the supervisor avoids its
imports."""

from datetime import datetime

from memory import commitments, passes
from memory.host import runs, webhooks


def recover(instance: str | None, now: datetime) -> int:
    """Release the leases of an earlier, dead console of this data folder; return how many.

    ``None`` means every console: on a restored copy, no holder of a lease is running.
    """
    leases = (runs.LEASE, passes.LEASE, commitments.LEASE, webhooks.LEASE)
    return sum(lease.release_held_by(instance, now=now) for lease in leases)
