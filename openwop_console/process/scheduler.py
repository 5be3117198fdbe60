"""The one due loop: it starts whatever time starts, for the host and for every tenant, from inside the worker.

Any number of workers may run it: each tick is claimed by one conditional UPDATE or under the lock of its row, in the
transaction that starts something for it. A queue row only wakes a worker, so what a dead worker held, and what was lost
with the queue, is found here and queued again.
"""

import contextlib
import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import close_old_connections, connection
from django.utils import timezone

from memory import tasks as memory_tasks
from memory.host import audit_chain, runs, scheduling
from memory.host.scheduling import Timer
from openwop_console.runtime import tasks
from openwop_console.runtime.timed import schedules

logger = logging.getLogger(__name__)

EVERY = 0.25
AFTER_A_FAILURE = 5.0
PATIENCE = timedelta(seconds=30)
LOOK_EVERY = timedelta(seconds=1)

TIMERS = (
    Timer("sweep", "memory.tasks.sweep", 1),
    Timer("scrub", "memory.tasks.scrub", 1),
    Timer("coordinators", "memory.tasks.lapse_coordinators", 1),
    Timer("external-runs", "memory.tasks.end_silent_runs", 1),
    Timer("merged", "memory.tasks.sweep_merged", 60),
    Timer("archives", "memory.tasks.collect_archives", 60),
    Timer("previews", "memory.tasks.lapse_previews", 15),
    Timer("words", "memory.tasks.index_words", 1),
    Timer("vectors", "memory.tasks.embed_entries", 1),
    Timer("answers", "memory.tasks.sweep_answers", 60),
    Timer("deliveries", "memory.tasks.sweep_deliveries", 60),
    Timer("tokens", "openwop_console.oauth.tasks.sweep", 60),
    # A tenant is looked at once a day (UTC), as soon as its runs have left something since the last look.
    Timer("synthesis", "proposals.tasks.order_syntheses", 60),
    Timer("nights", "memory.tasks.order_nights", 1),
    Timer("checkpoints", "memory.tasks.checkpoint_audit", audit_chain.EVERY_SECONDS // 60),
)


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


class Scheduler:
    """What one loop remembers from look to look, so that busy workers do not find their queue full of the same."""

    def __init__(self) -> None:
        self._queued: dict[UUID, datetime] = {}
        self._looked_for_passes: datetime | None = None
        self._round = Round()

    def tick(self, now: datetime) -> int:
        """What is due has been started or queued; returns how much."""
        ticks = scheduling.fire_timers(TIMERS, queue=tasks.enqueue_timer, now=now)
        ticks += schedules.fire_due(now) + tasks.enqueue_heartbeats(now) + memory_tasks.fire_pass_schedules(now)
        return self._wake_runs(now) + ticks + self._wake_passes(now) + self._look_at_commitments(now)

    def _wake_runs(self, now: datetime) -> int:
        """Due runs are queued, each again only after 30 seconds without a worker."""
        self._queued = {run_id: at for run_id, at in self._queued.items() if now - at <= PATIENCE}
        due = [row for row in runs.due(now=now) if row[1] not in self._queued or row[2] > self._queued[row[1]]]
        for tenant_id, run_id, _ in due:
            tasks.enqueue(tenant_id, run_id)
            self._queued[run_id] = now
        return len(due)

    def _wake_passes(self, now: datetime) -> int:
        """Passes that nobody attends to are looked for every half minute: a fresh one was queued when it was asked
        for."""
        if self._looked_for_passes and now - self._looked_for_passes < PATIENCE:
            return 0
        self._looked_for_passes = now
        return memory_tasks.enqueue_unattended()

    def _look_at_commitments(self, now: datetime) -> int:
        """What commitments wait for is looked at once a second, and all about them every half minute; a part of the
        tenants at a time when there are very many."""
        if self._round.looked is not None and now - self._round.looked < LOOK_EVERY:
            return 0
        this = self._round.next(now)
        assert this.since is not None
        queued, after = tasks.enqueue_keeping(now, since=this.since, after=this.after, whole=this.whole)
        self._round = replace(this, after=after)
        return queued


@contextlib.contextmanager
def running() -> Iterator[threading.Event]:
    """Inside the block the loop goes on, in a thread of its own, until the event is set."""
    stopping = threading.Event()
    loop = threading.Thread(target=_tick_until, args=(stopping,), name="scheduler", daemon=True)
    loop.start()
    try:
        yield stopping
    finally:
        stopping.set()
        loop.join(timeout=2)


def _tick_until(stopping: threading.Event) -> None:
    scheduler, wait = Scheduler(), 0.0
    try:
        while not stopping.wait(wait):
            wait = EVERY if _tick_once(scheduler) else AFTER_A_FAILURE
    finally:
        connection.close()


def _tick_once(scheduler: Scheduler) -> bool:
    """Whether the tick went well. One that did not is logged, and tried again: the worker goes on."""
    try:
        close_old_connections()
        scheduler.tick(timezone.now())
    except Exception:
        logger.exception("A tick of the clock failed; the next one comes in %s seconds", AFTER_A_FAILURE)
        return False
    return True
