"""Processes that end with their parent.

The console's children and their children carry ``OPENWOP_PROCESS``. On Linux each of them is killed by the kernel when
its parent dies, so that a console killed outright leaves nothing behind that writes, or holds its port. Elsewhere the
lock of the data folder makes the next console wait until they are gone.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """The kernel kills this process when its parent dies (Linux; elsewhere nothing changes)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def tie_descendants() -> None:
    """This process, and each that it forks from now on, dies with its parent."""
    die_with_parent()
    os.register_at_fork(after_in_child=die_with_parent)
