"""The due loop: starts everything that is scheduled, for the host and for every tenant, from inside the worker.

Any number of workers may run it: each tick is claimed by one conditional UPDATE or under the lock of its row, in the
transaction that starts the work. A queue row only wakes a worker, so a pass that a dead worker held, or that was lost
with the queue, is found here and queued again. Runs are not queued at all (``queue``).
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

from memory import ledger, memory_policy
from memory import tasks as memory_tasks
from memory.host import audit_chain, heartbeats, request_ids, scheduling, webhooks
from memory.host.scheduling import Timer
from memory.passes import pass_schedules
from openwop_console.process import recovery
from openwop_console.runtime import run_operations, schedules, tasks

logger = logging.getLogger(__name__)

EVERY = 0.25
AFTER_A_FAILURE = 5.0
PATIENCE = timedelta(seconds=30)
LOOK_EVERY = timedelta(seconds=1)
SET_BACK = timedelta(minutes=1)  # less is the work of a clock that is kept on time

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
    Timer("sessions", "memory.tasks.sweep_sessions", 60),
    Timer("tokens", "openwop_console.oauth.tasks.sweep", 60),
    # Checks a tenant once a day (UTC), as soon as its runs have left new traces since the last check.
    Timer("synthesis", "proposals.tasks.order_syntheses", 60),
    Timer("nights", "memory.tasks.order_nights", 1),
    Timer("checkpoints", "memory.tasks.checkpoint_audit", audit_chain.EVERY_SECONDS // 60),
)


@dataclass(frozen=True, slots=True)
class Round:
    """One pass over the commitments of all tenants, a part of them per second.

    ``began`` is its start and ``since`` how far back it looks; ``after`` is the cursor, None when it is over.
    ``thorough`` is when the last whole pass began.
    """

    looked: datetime | None = None
    began: datetime | None = None
    since: datetime | None = None
    after: UUID | None = None
    whole: bool = False
    thorough: datetime | None = None

    def next(self, now: datetime) -> "Round":
        """Return this round while it is unfinished, else a new one that looks back to the start of this one."""
        if self.after is not None:
            return replace(self, looked=now)
        whole = self.thorough is None or now - self.thorough >= PATIENCE
        since = self.began or now - PATIENCE
        return Round(looked=now, began=now, since=since, whole=whole, thorough=now if whole else self.thorough)


class Scheduler:
    """State that one loop keeps between ticks, so that it does not queue the same work again while workers are busy.

    ``last`` is the last tick of an earlier scheduler, which looked at the commitments then. Without it, the first tick
    brings forward what a clock that was ahead put off.
    """

    def __init__(self, last: datetime | None = None) -> None:
        self._looked_for_passes: datetime | None = None
        self._round = Round(looked=last)
        self._last = last

    def tick(self, now: datetime) -> int:
        """Start or queue everything that is due; return the number."""
        self._correct(now)
        ticks = scheduling.fire_timers(TIMERS, queue=tasks.enqueue_timer, now=now)
        ticks += schedules.fire_due(now) + tasks.enqueue_heartbeats(now) + memory_tasks.fire_pass_schedules(now)
        return ticks + self._wake_passes(now) + self._look_at_commitments(now)

    def _correct(self, now: datetime) -> None:
        """At the start, and when the clock was set back: bring forward what was put off while it was ahead.

        Only then, so that two consoles whose clocks differ do not correct each other all the time.
        """
        was, self._last = self._last, now
        if was is not None and now >= was:
            return
        self._looked_for_passes, self._round = None, Round()
        if was is not None and was - now < SET_BACK:
            return
        corrected = scheduling.correct_timers(TIMERS, now=now)
        for correct in (
            scheduling.correct_schedules,
            pass_schedules.correct_ahead,
            memory_policy.correct_nights,
            ledger.vectors.correct_vectors,
            heartbeats.correct_ahead,
            webhooks.correct_ahead,
            recovery.correct_leases,
            run_operations.correct_ahead,
        ):
            corrected += correct(now=now)
        if corrected:
            logger.warning(
                "%s timers, schedules and waits were set for later than they should be; the clock was ahead", corrected
            )

    def _wake_passes(self, now: datetime) -> int:
        """Queue unattended passes every 30 seconds; a new pass is queued when it is ordered."""
        if self._looked_for_passes and now - self._looked_for_passes < PATIENCE:
            return 0
        self._looked_for_passes = now
        return memory_tasks.enqueue_unattended()

    def _look_at_commitments(self, now: datetime) -> int:
        """Check what commitments wait for once a second, and everything about them every 30 seconds; with very many
        tenants, a part of them at a time."""
        if self._round.looked is not None and now - self._round.looked < LOOK_EVERY:
            return 0
        this = self._round.next(now)
        assert this.since is not None
        queued, after = tasks.enqueue_commitments(now, since=this.since, after=this.after, whole=this.whole)
        self._round = replace(this, after=after)
        return queued


@contextlib.contextmanager
def running() -> Iterator[threading.Event]:
    """Run the loop in a thread of its own inside the block, until the event is set."""
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
    """Return whether the tick succeeded. A failure is logged and retried, and the worker goes on."""
    try:
        close_old_connections()
        with request_ids.under_way("task"):
            scheduler.tick(timezone.now())
    except Exception:
        logger.exception("A tick of the clock failed; the next one comes in %s seconds", AFTER_A_FAILURE)
        return False
    return True
