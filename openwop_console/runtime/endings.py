"""The end of a run that a worker executes: its status and last event, and what ends with it. Engine and replay end runs
here; system runs that ask nobody end by ``runs`` itself.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction

from memory import event_notes
from memory.host import interrupts, runs
from memory.host.event_log import Recorded
from memory.host.events import Event, Failure
from memory.host.models import Run

IN_ONE = transaction.atomic(savepoint=False)  # a caller's transaction is undone as a whole


@IN_ONE
def complete(run: Run, *, now: datetime) -> None:
    runs.complete(run, now=now)
    interrupts.end_with(run, now=now)


@IN_ONE
def fail(run: Run, failure: Failure, *events: Event, node_id: str | None = None, now: datetime) -> None:
    runs.fail(run, failure, *events, node_id=node_id, now=now)
    interrupts.end_with(run, now=now)


@IN_ONE
def cancel(run: Run, *events: Event, now: datetime) -> None:
    """The reason that was given for it is kept beside ``run.cancelled``."""
    event_notes.attach_reason(run, runs.cancel(run, *events, now=now))
    interrupts.end_with(run, now=now)


@IN_ONE
def retell(run: Run, source: Run, told: Sequence[Recorded], *, lasts: timedelta | None = None, now: datetime) -> None:
    """The events of ``source`` stand on the log of its fork, which ends with the last of them if ``source`` did."""
    runs.retell(run, source, told, lasts=lasts, now=now)
    if run.status in runs.ENDS:
        interrupts.end_with(run, now=now)
