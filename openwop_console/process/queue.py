"""The task queue in the database: django-q2's, with a worker that is woken when a task is queued."""

import logging
import os
from typing import Any

from django.db import Error, transaction
from django_q.brokers.orm import ORM

from memory.host import wakeups
from memory.host.wakeups import Topic, Waiter

# Seconds between polls when no wake-up arrives, for example for a task queued on another machine over SQLite.
EVERY = 0.2

log = logging.getLogger(__name__)


class Queue(ORM):  # type: ignore[misc]  # django-q2 has no types
    """Rows of ``OrmQ``. The setting ``poll`` is 0, because ``dequeue`` waits itself."""

    def __init__(self, *given: Any, **named: object) -> None:
        super().__init__(*given, **named)
        self._waiter, self._process = Waiter(Topic.TASKS), 0

    def enqueue(self, task: object) -> object:
        row = super().enqueue(task)
        wakeups.wake(Topic.TASKS)
        return row

    def dequeue(self) -> object:
        """Return the due tasks; none after a wait, or while the database is unavailable.

        An error raised here would end the polling process, and no task would begin for ten seconds.
        """
        try:
            tasks = self._claimed()
        except Error as problem:
            log.warning("No task was fetched: %s", problem)
            tasks = None
        if not tasks:
            self._wait()
        return tasks

    def _claimed(self) -> object:
        """Claim the due tasks in a transaction: a single statement would not wait in line for SQLite's write lock."""
        if not self.queue_size():
            return None
        with transaction.atomic():
            return super().dequeue()

    def _wait(self) -> None:
        if self._process != os.getpid():  # django-q2 makes the broker before it forks the process that asks it
            self._waiter, self._process = Waiter(Topic.TASKS), os.getpid()
        self._waiter.wait(EVERY)
