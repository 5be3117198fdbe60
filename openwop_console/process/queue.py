"""What the workers do: the tasks in django-q2's queue, and the runs that are due.

A run is not queued: its own row says that it is ready, and the worker that claims it has it. So creating a run writes
no task, and no task is fetched, locked and removed for it.
"""

import logging
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from uuid import uuid4

from django.db import Error, transaction
from django.utils import timezone
from django_q.brokers.orm import ORM
from django_q.conf import Conf
from django_q.models import OrmQ
from django_q.signing import SignedPackage

from memory.host import ids, runs, sql, wakeups
from memory.host.json_types import JSONObject
from memory.host.runs import Due
from memory.host.wakeups import Topic, Waiter

# Seconds between polls when no wake-up arrives: for a task queued on another machine over SQLite, and a run that is due
# by time or whose worker died.
EVERY = 0.2
# How long a run that was handed to a process may stay unclaimed before it is handed to one again.
PATIENCE = timedelta(seconds=30)
ADVANCE = "openwop_console.runtime.tasks.advance"

log = logging.getLogger(__name__)


class Queue(ORM):  # type: ignore[misc]  # django-q2 has no types
    """Rows of ``OrmQ``, and runs. The setting ``poll`` is 0, because ``dequeue`` waits itself."""

    def __init__(self, *given: object, **named: object) -> None:
        super().__init__(*given, **named)
        self._waiter, self._process = Waiter(Topic.TASKS), 0
        self._runs = DueRuns()

    def enqueue(self, task: object) -> object:
        row = super().enqueue(task)
        wakeups.wake(Topic.TASKS)
        return row

    def dequeue(self) -> object:
        """Return the due tasks and runs; none after a wait, or while the database is unavailable.

        An error raised here would end the polling process, and no task would begin for ten seconds.
        """
        now = timezone.now()
        try:
            self.get_connection()  # closes one that the server has closed
            due = runs.due(now=now)
            tasks = [*self._claimed(now), *map(_run_task, self._runs.take(due, now=now))]
        except Error as problem:
            log.warning("No task was fetched: %s", problem)
            tasks = []
        if not tasks:
            self._wait()
        return tasks

    def _claimed(self, now: datetime) -> list[tuple[object, str]]:
        """Claim the due tasks in a transaction: a single statement would not wait in line for SQLite's write lock."""
        if not _has_task().fetch(self.list_key, now):
            return []
        with transaction.atomic():
            return super().dequeue() or []

    def _wait(self) -> None:
        if self._process != os.getpid():  # django-q2 makes the broker before it forks the process that asks it
            self._waiter, self._process = Waiter(Topic.TASKS), os.getpid()
        self._waiter.wait(EVERY)


@cache
def _has_task() -> sql.CompiledQuery:
    """The query for a queue and the time; it is sent several times a second."""
    key, now = "queue", datetime.min.replace(tzinfo=UTC)
    return sql.CompiledQuery(OrmQ.objects.filter(key=key, lock__lt=now).order_by().values_list("id")[:1], key, now)


@dataclass(slots=True)
class DueRuns:
    """Remembers which due runs were handed to a process, which claims each when it comes to it.

    At most ``at_once`` are handed out at a time: at the end of the console they are still carried out.
    """

    at_once: int = Conf.WORKERS
    handed: dict[Due, datetime] = field(default_factory=dict)

    def take(self, due: list[Due], *, now: datetime) -> list[Due]:
        """Return those that were not handed out since they became due, or too long ago."""
        self.handed = {run: at for run in due if (at := self.handed.get(run)) and abs(now - at) <= PATIENCE}
        fresh = [run for run in due if run not in self.handed][: self.at_once]
        self.handed |= dict.fromkeys(fresh, now)
        return fresh


def task_of(run: Due) -> JSONObject:
    """The task that advances the run, in django-q2's form. Nothing is to be removed when it is done."""
    name, args = ids.wire("run", run.run_id), (run.tenant_id.hex, run.run_id.hex)
    return {"id": uuid4().hex, "name": name, "func": ADVANCE, "args": args, "kwargs": {}, "started": timezone.now()}


def _run_task(run: Due) -> tuple[None, str]:
    return None, SignedPackage.dumps(task_of(run))
