"""What the supervisor calls four times a second, and once at its start: runs and passes that nobody attends to, and the
ticks of schedules and heartbeats.

Waking may be doubled, because a claim decides who works; it is only kept from filling the queue while workers are busy.
"""

from datetime import datetime, timedelta
from uuid import UUID

from memory import tasks as memory_tasks
from memory.host import runs
from openwop_console.runtime import tasks
from openwop_console.runtime.timed import firing

PATIENCE = timedelta(seconds=30)

_queued: dict[UUID, datetime] = {}
_looked_for_passes: list[datetime] = []


def recover(instance: str, now: datetime) -> int:
    """Runs that an earlier, dead console of this data folder held are ready at once."""
    return runs.release_held_by(instance, now=now)


def tick(now: datetime) -> int:
    """Due runs are queued, each again only after 30 seconds without a worker, and what is due by time has been started;
    returns how many."""
    for run_id in [run_id for run_id, at in _queued.items() if now - at > PATIENCE]:
        del _queued[run_id]
    due = [(tenant_id, run_id) for tenant_id, run_id, ready_at in runs.due(now=now) if _is_new(run_id, ready_at)]
    for tenant_id, run_id in due:
        tasks.enqueue(tenant_id, run_id)
        _queued[run_id] = now
    return len(due) + firing.fire_due(now) + tasks.enqueue_heartbeats(now) + _tick_passes(now)


def _is_new(run_id: UUID, ready_at: datetime) -> bool:
    """Whether the run became ready after it was queued last."""
    return run_id not in _queued or ready_at > _queued[run_id]


def _tick_passes(now: datetime) -> int:
    """Passes that nobody attends to are looked for every half minute: a fresh one was queued when it was asked for."""
    if _looked_for_passes and now - _looked_for_passes[-1] < PATIENCE:
        return 0
    _looked_for_passes[:] = [now]
    return memory_tasks.enqueue_unattended()
