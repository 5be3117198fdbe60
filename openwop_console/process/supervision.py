"""Web and worker as children of one foreground process: started together, watched, and ended together.

Each child leads its own process group, so that Ctrl-C reaches the supervisor alone, which then lets running work
finish. Both hold the lock of the data folder: it is free when the last of them is gone, not before.
"""

import contextlib
import ctypes
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import IO

from django.conf import settings

from openwop_console.process.listening import Address, answers

PR_SET_PDEATHSIG = 1
POLL = 0.1
# Connections that a web process holds open: most of them wait, which costs a descriptor and little memory.
CONNECTIONS = 4096
# Milliseconds in which the head of a request must have come. They also run between the requests of one connection,
# where a proxy in front (nginx: 60 seconds) must be the first to close.
HEAD_PATIENCE = 60_000
# Seconds that a request, and a task, in hand at the end may still take. A task is cut off by its own timeout before.
WEB_PATIENCE = 10
WORKER_PATIENCE = settings.TASK_TIMEOUT + 10


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


@dataclass(frozen=True)
class Child:
    """A process that leads its own group, and how long it may take to end."""

    name: str
    process: subprocess.Popen[bytes]
    patience: float

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None


class StopRequest:
    """Ctrl-C, SIGTERM or SIGHUP since ``listen``: the first ends the console, a later one ends it at once.

    A second within the same second is the same one: make hands on a signal that the whole group had already.
    """

    def __init__(self) -> None:
        self.made = False
        self.made_again = False
        self._first = 0.0

    def listen(self) -> None:
        """The signals are noted from now on, and interrupt nothing."""
        for number in stop_signals():
            signal.signal(number, self._came)

    def _came(self, number: int, frame: FrameType | None) -> None:
        if not self.made:
            self._first = time.monotonic()
        self.made_again = self.made and time.monotonic() > self._first + 1
        self.made = True


def stop_signals() -> list[signal.Signals]:
    """The signals that end a console; not SIGHUP under nohup."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([] if ignored else [signal.SIGHUP])]


def start_web(address: Address, lock: IO[str], environment: Mapping[str, str], *, processes: int = 0) -> Child:
    """Granian serves the console on ``address``, in as many ``processes`` or as the settings say."""
    options = {
        "interface": "asginl",
        "http": "1",
        "host": address.host,
        "port": address.port,
        "loop": "asyncio",
        "workers": processes or settings.OPENWOP_WEB_PROCESSES,
        "backlog": 2048,
        "backpressure": CONNECTIONS,
        "http1-header-read-timeout": HEAD_PATIENCE,
        "workers-kill-timeout": WEB_PATIENCE - 2,
        "log-level": "error",  # granian warns of each client that goes away
    }
    spelled = [f"--{name}={value}" for name, value in options.items()]
    command = ["-m", "granian", *spelled, "--no-ws", "--respawn-failed-workers", "openwop_console.asgi:application"]
    return _start("web", command, lock, environment, patience=WEB_PATIENCE)


def start_worker(lock: IO[str], environment: Mapping[str, str]) -> Child:
    """django-q2 takes tasks off the queue."""
    return _start("worker", ["manage.py", "qcluster"], lock, environment, patience=WORKER_PATIENCE)


def start_model(port: int, lock: IO[str], environment: Mapping[str, str]) -> Child:
    """The demo's model answers on ``port``."""
    return _start("model", ["-m", "openwop_console.demo.model", str(port)], lock, environment, patience=1)


def _start(
    name: str, command: Sequence[str], lock: IO[str], environment: Mapping[str, str], *, patience: float
) -> Child:
    process = subprocess.Popen(  # noqa: S603  # our own interpreter, our own arguments
        [sys.executable, *command],
        cwd=settings.BASE_DIR,
        env={**os.environ, **environment, "OPENWOP_PROCESS": name},
        stdin=subprocess.DEVNULL,
        pass_fds=[lock.fileno()],
        preexec_fn=partial(_begin, os.getpid()),  # noqa: PLW1509  # no thread runs yet
        start_new_session=True,
    )
    return Child(name=name, process=process, patience=patience)


def _begin(supervisor: int) -> None:
    """What a child does first: it ends with its parent, and may have as many descriptors open as it serves clients."""
    die_with_parent(supervisor)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * CONNECTIONS if hard == resource.RLIM_INFINITY else min(hard, 2 * CONNECTIONS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def wait_until_ready(address: Address, children: Sequence[Child], request: StopRequest, *, seconds: float) -> bool:
    """Whether ``address`` answered, before the time was over, a child ended, or the end was asked for."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not request.made and not any(child.ended for child in children):
        if answers(address):
            return True
        time.sleep(POLL)
    return False


def watch(children: Sequence[Child], request: StopRequest) -> Child | None:
    """The child that ended by itself; None when the end was asked for."""
    while not request.made:
        for child in children:
            if child.ended:
                return child
        time.sleep(POLL)
    return None


def stop(children: Sequence[Child], request: StopRequest) -> None:
    """No process of any child is left. What they had in hand is done, unless the end was asked for again."""
    began = time.monotonic()
    for child in children:
        if not child.ended:
            child.process.terminate()
    for child in children:
        while not child.ended and not request.made_again and time.monotonic() < began + child.patience:
            time.sleep(POLL)
    for child in children:
        _kill_group(child)


def _kill_group(child: Child) -> None:
    """The whole group is gone: a granian or a django-q2 whose leader died leaves its children behind."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.process.pid, signal.SIGKILL)
    child.process.wait()
