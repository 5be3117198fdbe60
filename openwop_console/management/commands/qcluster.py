"""``manage.py qcluster``: django-q2's cluster of workers; beside it the due loop, and the sender of webhooks."""

import gc
import multiprocessing
import signal
from collections.abc import Callable
from threading import Event
from typing import Any

from django.db import connections
from django.utils import timezone
from django_q import cluster
from django_q.management.commands import qcluster
from django_q.signals import pre_execute

from memory.host import ids, registrations, request_ids, scheduling
from memory.host.json_types import JSONObject
from openwop_console.management.base import DatabaseCommand
from openwop_console.process import scheduler, webhook_sender
from openwop_console.process.sentinel import Sentinel


class Command(DatabaseCommand, qcluster.Command):  # type: ignore[misc]  # django-q2 has no types
    """The workers take tasks off the queue; one loop queues them as they become due, another sends webhooks."""

    help = "Run the workers, start what is due by time, and send webhooks, in the foreground."

    def handle(self, *args: object, run_once: bool = False, **options: object) -> None:
        registrations.complete()  # once, for all the processes that are forked
        gc.freeze()  # as in ``asgi``
        scheduling.sync_timers(scheduler.TIMERS, now=timezone.now())
        connections.close_all()  # a forked process must not share them
        pre_execute.connect(_begin_task)
        cluster.Sentinel = Sentinel  # where django-q2's cluster looks for it
        super().handle(*args, run_once=run_once, **options)
        if run_once:
            return
        # The thread begins when the cluster's processes are forked: they would inherit its locks without it.
        with scheduler.running() as ticking, webhook_sender.running(timezone.now) as sending:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, _after((ticking, sending), signal.getsignal(number)))
            for process in multiprocessing.active_children():
                process.join()


def _begin_task(sender: object, func: object, task: JSONObject, **_: object) -> None:
    """The audit records of a task have its id, those of a run's steps the id of the run."""
    name = str(task["name"])
    request_ids.begin(name if ids.parse("run", name) else f"task_{task['id']}")


def _after(loops: tuple[Event, ...], stop_cluster: Any) -> Callable[[int, object], None]:
    """A handler that ends the loops before the cluster: what becomes due from then on is for the next start."""

    def handle(number: int, frame: Any) -> None:
        for stopping in loops:
            stopping.set()
        stop_cluster(number, frame)

    return handle
