"""The queue of tasks in the database: django-q2's own, whose worker is woken when there is something in it."""

import os
from typing import Any

from django_q.brokers.orm import ORM

from memory.host import waking
from memory.host.waking import Topic, Waiter

# How often the queue is looked at when nobody wakes the worker: a task queued on another machine over SQLite, say.
EVERY = 0.2


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
        """The tasks that are due; none after a wait."""
        tasks = super().dequeue()
        if not tasks:
            self._wait()
        return tasks

    def _wait(self) -> None:
        if self._process != os.getpid():  # django-q2 makes the broker before it forks the process that asks it
            self._waiter, self._process = Waiter(Topic.TASKS), os.getpid()
        self._waiter.wait(EVERY)
