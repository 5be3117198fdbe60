"""The process that starts the task processes and replaces those that die: django-q2's, and safe from a kill."""

import os
import signal
from typing import Any

from django_q import cluster


class Sentinel(cluster.Sentinel):  # type: ignore[misc]  # django-q2 has no types
    """A process that waits at a queue holds its lock, and one that is killed (by the system, short of memory) never
    gives it back: those that wait behind it, and its replacement, would do nothing any more. All of them start anew
    then, on fresh queues; what they had in hand goes on when its lease ends.

    Whoever signals every process of the workers at once (``pkill``, a service manager) does not end this one, which
    lets them finish: the process above it has been signalled too, and would wait for ever for one that has died.
    """

    def start(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))
        super().start()

    def reincarnate(self, process: Any) -> None:
        own = (*self.pool, self.monitor, self.pusher)
        if process not in own:  # it was replaced with all others
            return
        is_worker = process in self.pool
        was_killed = (process.exitcode or 0) < 0
        if not was_killed or (is_worker and process.timer.value >= 0):  # at work, it waited at no queue
            super().reincarnate(process)
            return
        cluster.logger.critical("A process of the workers was killed (status %s): all are restarted", process.exitcode)
        for each in own:
            each.kill()
            each.join()
        self.task_queue, self.result_queue = cluster.Queue(maxsize=cluster.Conf.QUEUE_LIMIT), cluster.Queue()
        self.spawn_cluster()
        self.reincarnations += 1
