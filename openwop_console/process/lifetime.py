"""Processes that end with their parent.

The console's children and their children carry ``OPENWOP_PROCESS``. On Linux each of them is killed by the kernel when
its parent dies, so that a console killed outright leaves nothing behind that writes, or holds its port. Elsewhere the
lock of the data folder makes the next console wait until they are gone.
"""

import ctypes
import multiprocessing
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """The kernel kills this process when ``parent`` dies (Linux; elsewhere nothing changes).

    ``parent`` is the process id as it was before the fork: the kernel says nothing of a parent that had died before
    it was asked, and then this process ends itself.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def tie_descendants() -> None:
    """This process, and each that it forks from now on, dies with its parent."""
    started_by = multiprocessing.parent_process()  # none in a child of the supervisor, which was tied when it began
    if started_by and started_by.pid:
        die_with_parent(started_by.pid)
    forking = os.getpid()

    def note_parent() -> None:
        nonlocal forking
        forking = os.getpid()

    os.register_at_fork(before=note_parent, after_in_child=lambda: die_with_parent(forking))
