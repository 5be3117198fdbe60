"""The queue of tasks in the database: django-q2's own, whose worker is woken when there is something in it."""

import logging
import os
from typing import Any

from django.db import Error, transaction
from django_q.brokers.orm import ORM

from memory.host import waking
from memory.host.waking import Topic, Waiter

# How often the queue is looked at when nobody wakes the worker: a task queued on another machine over SQLite, say.
EVERY = 0.2

log = logging.getLogger(__name__)


class Queue(ORM):  # type: ignore[misc]  # django-q2 has no types
    """Rows of ``OrmQ``. The setting ``poll`` is 0, so that the wait is here and nowhere else."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._waiter, self._process = Waiter(Topic.TASKS), 0

    def enqueue(self, task: Any) -> Any:
        row = super().enqueue(task)
        waking.wake(Topic.TASKS)
        return row

    def dequeue(self) -> Any:
        """The tasks that are due; none after a wait, and none while the database cannot be asked.

        An error that left here would end the process that asks, and no task would begin for ten seconds.
        """
        try:
            tasks = self._claimed()
        except Error as problem:
            log.warning("No task was fetched: %s", problem)
            tasks = None
        if not tasks:
            self._wait()
        return tasks

    def _claimed(self) -> Any:
        """What is due, in a transaction: a statement by itself would stand in no line for SQLite's write lock."""
        if not self.queue_size():
            return None
        with transaction.atomic():
            return super().dequeue()

    def _wait(self) -> None:
        if self._process != os.getpid():  # django-q2 makes the broker before it forks the process that asks it
            self._waiter, self._process = Waiter(Topic.TASKS), os.getpid()
        self._waiter.wait(EVERY)
