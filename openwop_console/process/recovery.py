"""What a console that starts frees of what a dead one held. It stands apart from the scheduler, whose imports its
supervisor does without."""

from datetime import datetime

from memory import commitments, passes
from memory.host import runs, webhooks


def recover(instance: str | None, now: datetime) -> int:
    """What an earlier, dead console of this data folder held is free at once; returns how much. None is any console: on
    a restored copy none of those that held its rows."""
    leases = (runs.LEASE, passes.LEASE, commitments.LEASE, webhooks.LEASE)
    return sum(lease.release_held_by(instance, now=now) for lease in leases)
