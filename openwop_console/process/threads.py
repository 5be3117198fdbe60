"""The threads of a web process that compute its requests: the one that became idle last takes the next.

A ``ThreadPoolExecutor`` wakes the thread that has waited longest, which with two hundred of them is one whose memory
the processor's caches hold no more, and makes two futures for each request.
"""

import threading
import time
import weakref
from asyncio import AbstractEventLoop, Future, get_running_loop
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import util
from typing import Any, NamedTuple

LOOK_AGAIN_S = 0.02


class _Job(NamedTuple):
    loop: AbstractEventLoop
    done: "Future[Any]"
    compute: Callable[..., object]
    given: tuple[object, ...]


class _Post:
    """Where an idle thread waits for its next job; it ends when the bell rings without one."""

    __slots__ = ("bell", "job")

    def __init__(self) -> None:
        self.bell = threading.Lock()
        self.bell.acquire()
        self.job: _Job | None = None


class _Board:
    """The idle threads and the jobs without one. Threads hold it, and not the ``Threads`` that end with their owner."""

    def __init__(self, number: int) -> None:
        self._guard = threading.Lock()
        self._idle: list[_Post] = []
        self._waiting: deque[_Job] = deque()
        self._busy = number
        self._is_closed = False

    def give(self, job: _Job) -> None:
        """Hand the job to the thread that became idle last; without one it waits behind those that came before."""
        with self._guard:
            if not self._idle:
                self._waiting.append(job)
                return
            post = self._idle.pop()
            self._busy += 1
        post.job = job
        post.bell.release()

    def take(self, post: _Post) -> _Job | None:
        """Block until there is a job for the thread at ``post``; None when it has to end."""
        with self._guard:
            if self._waiting:
                return self._waiting.popleft()
            self._busy -= 1
            if self._is_closed:
                return None
            self._idle.append(post)
        post.bell.acquire()
        job, post.job = post.job, None
        return job

    def wait_until_idle(self) -> None:
        while self._busy or self._waiting:
            time.sleep(LOOK_AGAIN_S)

    def close(self) -> None:
        """End the idle threads, and each of the others after its job."""
        with self._guard:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for post in idle:
            post.bell.release()


class Threads:
    """A fixed number of threads. All run from the beginning, since the event loop would wait for each to start.

    ``begin`` runs in each of them first.
    """

    def __init__(self, number: int, begin: Callable[[], None]) -> None:
        self._board = board = _Board(number)
        for _ in range(number):
            threading.Thread(target=_serve, args=(board, begin), name="request", daemon=True).start()
        board.wait_until_idle()
        weakref.finalize(self, board.close)
        # What is being computed is completed before the process ends. ``atexit`` does nothing in granian's processes,
        # which are forked.
        util.Finalize(None, board.wait_until_idle, exitpriority=0)

    async def compute(self, compute: Callable[..., object], *given: object) -> Any:
        """Return what ``compute(*given)`` returns in one of the threads."""
        loop = get_running_loop()
        done = loop.create_future()
        self._board.give(_Job(loop, done, compute, given))
        return await done


def _serve(board: _Board, begin: Callable[[], None]) -> None:
    begin()
    post = _Post()
    while job := board.take(post):
        _carry_out(job)
        del job  # an idle thread holds neither a request nor its answer


def _carry_out(job: _Job) -> None:
    loop, done, compute, given = job
    if done.cancelled():
        return
    try:
        result, problem = compute(*given), None
    except BaseException as raised:  # noqa: BLE001  # it is raised where the result is awaited
        result, problem = None, raised
    with suppress(RuntimeError):  # the loop has ended, and with it what awaited this
        loop.call_soon_threadsafe(_settle, done, result, problem)


def _settle(done: "Future[Any]", result: object, problem: BaseException | None) -> None:
    if done.cancelled():
        return
    if problem is None:
        done.set_result(result)
    elif isinstance(problem, StopIteration):  # no future takes one, and its request would never be answered
        ended = RuntimeError("StopIteration")
        ended.__cause__ = problem
        done.set_exception(ended)
    else:
        done.set_exception(problem)
