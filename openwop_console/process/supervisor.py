"""Run web and worker as children of one foreground process: start, watch and end them together.

Each child leads its own process group, so that Ctrl-C reaches the supervisor alone, which then lets running work
finish. Both hold the lock of the data folder, which is free only when the last of them has ended.
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

from openwop_console.process.bind_address import Address, answers

PR_SET_PDEATHSIG = 1
POLL = 0.1
# Connections that a web process holds open: most of them wait, which costs a descriptor and little memory.
CONNECTIONS = 4096
# Milliseconds within which a request's head must arrive. The limit also applies between the requests of a connection,
# where a proxy in front (nginx: 60 seconds) must be the first to close.
HEAD_PATIENCE = 60_000
# The pools from which glibc gives threads memory: eight for each core otherwise. Each keeps the most that its threads
# had at once, and a web process has two hundred threads, of which few compute.
ARENAS, MOST_ARENAS = "MALLOC_ARENA_MAX", "2"
# Seconds that a running request and a running task may still take at shutdown. A task's own timeout ends it earlier.
WEB_PATIENCE = 10
WORKER_PATIENCE = settings.TASK_TIMEOUT + 10


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when ``parent`` dies (Linux only; elsewhere a no-op).

    ``parent`` is the process id from before the fork: the kernel does not report a parent that died before this call,
    so this process then kills itself.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def tie_descendants() -> None:
    """Make this process, and each that it forks from now on, die with its parent."""
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
    """A process that leads its own group, and the seconds it may take to end."""

    name: str
    process: subprocess.Popen[bytes]
    patience: float

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None


class StopRequest:
    """SIGINT, SIGTERM or SIGHUP since ``listen``: the first asks for an orderly end, a later one for an immediate one.

    A repeat within a second counts as the same signal: make forwards a signal that the whole group has received
    already.
    """

    def __init__(self) -> None:
        self.made = False
        self.made_again = False
        self._first = 0.0

    def listen(self) -> None:
        """Note the signals from now on, without interrupting anything."""
        for number in stop_signals():
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if not self.made:
            self._first = time.monotonic()
        self.made_again = self.made and time.monotonic() > self._first + 1
        self.made = True


def stop_signals() -> list[signal.Signals]:
    """Return the signals that end a console; without SIGHUP under nohup."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([] if ignored else [signal.SIGHUP])]


def start_web(address: Address, lock: IO[str], environment: Mapping[str, str], *, processes: int = 0) -> Child:
    """Start granian on ``address``, with ``processes`` workers, or as many as the settings say when 0."""
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
        "log-level": "error",  # at lower levels granian logs each client that disconnects
    }
    spelled = [f"--{name}={value}" for name, value in options.items()]
    command = ["-m", "granian", *spelled, "--no-ws", "--respawn-failed-workers", "openwop_console.asgi:application"]
    environment = {ARENAS: os.environ.get(ARENAS, MOST_ARENAS), **environment}
    return _start("web", command, lock, environment, patience=WEB_PATIENCE)


def start_worker(lock: IO[str], environment: Mapping[str, str]) -> Child:
    """Start django-q2's worker."""
    return _start("worker", ["manage.py", "qcluster"], lock, environment, patience=WORKER_PATIENCE)


def start_model(port: int, lock: IO[str], environment: Mapping[str, str]) -> Child:
    """Start the demo's model on ``port``."""
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
    """Tie the child to its parent, and raise its limit of open files to twice ``CONNECTIONS``; runs before exec."""
    die_with_parent(supervisor)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * CONNECTIONS if hard == resource.RLIM_INFINITY else min(hard, 2 * CONNECTIONS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def wait_until_ready(address: Address, children: Sequence[Child], request: StopRequest, *, seconds: float) -> bool:
    """Return True once ``address`` answers; False after ``seconds``, when a child ends, or on a stop request."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not request.made and not any(child.has_ended for child in children):
        if answers(address):
            return True
        time.sleep(POLL)
    return False


def watch(children: Sequence[Child], request: StopRequest) -> Child | None:
    """Return the child that ended by itself; None on a stop request."""
    while not request.made:
        for child in children:
            if child.has_ended:
                return child
        time.sleep(POLL)
    return None


def stop(children: Sequence[Child], request: StopRequest) -> None:
    """Terminate the children and wait for their running work, unless stop is requested again; then kill what is
    left."""
    began = time.monotonic()
    for child in children:
        if not child.has_ended:
            child.process.terminate()
    for child in children:
        while not child.has_ended and not request.made_again and time.monotonic() < began + child.patience:
            time.sleep(POLL)
    for child in children:
        _kill_group(child)


def _kill_group(child: Child) -> None:
    """Kill the whole process group: when its leader died, granian or django-q2 leaves children running."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.process.pid, signal.SIGKILL)
    child.process.wait()
