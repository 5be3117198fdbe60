"""What the supervisor calls four times a second, and once at its start: runs and passes that nobody attends to, and the
ticks of schedules and heartbeats.

Waking may be doubled, because a claim decides who works; it is only kept from filling the queue while workers are busy.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from memory import commitments, passes
from memory import tasks as memory_tasks
from memory.host import runs
from openwop_console.runtime import tasks
from openwop_console.runtime.timed import schedules

PATIENCE = timedelta(seconds=30)
LOOK_EVERY = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Round:
    """A look at the commitments of all tenants, a part a second: when it ``began``, what it looks back to, how far it
    got (``after`` is None when it is over), and the last time that one was thorough."""

    looked: datetime | None = None
    began: datetime | None = None
    since: datetime | None = None
    after: UUID | None = None
    whole: bool = False
    thorough: datetime | None = None

    def next(self, now: datetime) -> "Round":
        """This round while it goes on, and then another, which looks back to when this one began."""
        if self.after is not None:
            return replace(self, looked=now)
        whole = self.thorough is None or now - self.thorough >= PATIENCE
        since = self.began or now - PATIENCE
        return Round(looked=now, began=now, since=since, whole=whole, thorough=now if whole else self.thorough)


_queued: dict[UUID, datetime] = {}
_looked_for_passes: list[datetime] = []
_rounds = [Round()]


def recover(instance: str, now: datetime) -> int:
    """Runs and passes that an earlier, dead console of this data folder held are ready at once; commitments too."""
    released = runs.release_held_by(instance, now=now) + passes.release_held_by(instance, now=now)
    return released + commitments.release_held_by(instance, now=now)


def tick(now: datetime) -> int:
    """Due runs are queued, each again only after 30 seconds without a worker, and what is due by time has been started;
    returns how many."""
    for run_id in [run_id for run_id, at in _queued.items() if now - at > PATIENCE]:
        del _queued[run_id]
    due = [(tenant_id, run_id) for tenant_id, run_id, ready_at in runs.due(now=now) if _is_new(run_id, ready_at)]
    for tenant_id, run_id in due:
        tasks.enqueue(tenant_id, run_id)
        _queued[run_id] = now
    timed = schedules.fire_due(now) + tasks.enqueue_heartbeats(now) + memory_tasks.fire_pass_schedules(now)
    return len(due) + timed + _tick_passes(now) + _tick_commitments(now)


def _is_new(run_id: UUID, ready_at: datetime) -> bool:
    """Whether the run became ready after it was queued last."""
    return run_id not in _queued or ready_at > _queued[run_id]


def _tick_passes(now: datetime) -> int:
    """Passes that nobody attends to are looked for every half minute: a fresh one was queued when it was asked for."""
    if _looked_for_passes and now - _looked_for_passes[-1] < PATIENCE:
        return 0
    _looked_for_passes[:] = [now]
    return memory_tasks.enqueue_unattended()


def _tick_commitments(now: datetime) -> int:
    """What commitments wait for is looked at once a second, and all about them every half minute; a part of the
    tenants at a time when there are very many."""
    last = _rounds[-1]
    if last.looked is not None and now - last.looked < LOOK_EVERY:
        return 0
    this = last.next(now)
    assert this.since is not None
    queued, after = tasks.enqueue_keeping(now, since=this.since, after=this.after, whole=this.whole)
    _rounds[:] = [replace(this, after=after)]
    return queued
