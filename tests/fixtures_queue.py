"""Running queued tasks inside the test, in its own transaction."""

import queue
from collections.abc import Callable
from datetime import timedelta
from multiprocessing import Value
from typing import Any

import pytest
from django.utils import timezone
from django_q.brokers import get_broker
from django_q.conf import Conf
from django_q.models import OrmQ
from django_q.monitor import monitor
from django_q.signing import SignedPackage
from django_q.worker import worker

from memory.host import runs
from openwop_console.process.queue import DueRuns, task_of

Drain = Callable[..., int]


@pytest.fixture
def drain(monkeypatch: pytest.MonkeyPatch) -> Drain:
    """``drain()`` runs what is queued, and what that queues, until nothing is due; it says how many tasks ran.

    A task that fails fails the test, unless ``drain(may_fail=True)``.
    """
    # django-q2 closes connections between tasks; here that would be the test's own.
    monkeypatch.setattr("django_q.worker.close_old_django_connections", lambda: None)
    monkeypatch.setattr("django_q.monitor.close_old_django_connections", lambda: None)

    def drain(*, may_fail: bool = False) -> int:
        count, handed = 0, DueRuns()
        while tasks := _take_what_is_due(handed):
            count += len(tasks)
            finished = _run(tasks)
            failures = [task["result"] for task in finished if not task["success"]]
            assert may_fail or not failures, failures[0]
        return count

    return drain


def _take_what_is_due(handed: DueRuns) -> list[dict[str, Any]]:
    """The due tasks, locked as django-q2's own broker locks them, and the due runs."""
    now = timezone.now()
    due = list(OrmQ.objects.filter(key=Conf.CLUSTER_NAME, lock__lte=now).order_by("id"))
    OrmQ.objects.filter(pk__in=[row.pk for row in due]).update(lock=now + timedelta(seconds=Conf.RETRY))
    tasks = [SignedPackage.loads(row.payload) | {"ack_id": row.pk} for row in due]
    tasks += [task_of(run) for run in handed.take(runs.due(now=now), now=now)]
    return [task | {"cluster": Conf.CLUSTER_NAME} for task in tasks]


def _run(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tasks with their results, run by django-q2's worker and put away by its monitor."""
    waiting, results = queue.Queue[Any](), queue.Queue[Any]()
    for task in [*tasks, "STOP"]:
        waiting.put(task)
    worker(waiting, results, Value("f", -1), Conf.TIMEOUT)
    finished = [results.get() for _ in tasks]
    for task in [*finished, "STOP"]:
        results.put(task)
    monitor(results, get_broker())
    return finished
