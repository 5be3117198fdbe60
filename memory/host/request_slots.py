"""Limits how many requests of a web process compute at a time, and assigns their database connections.

Threads that compute compete for the interpreter lock; threads that sleep cost nothing. So a process has many threads
and ``OPENWOP_WEB_THREADS`` slots: a thread holds one while it computes, and releases it, with its connection, while it
waits for anything else. Bodies are read before a slot is taken and answers are sent after it is released
(``process/server.py``). SQLite's connections are passed from slot to slot, because one per thread would be hundreds;
PostgreSQL's come from a pool.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper


class Slots:
    """A number of slots, granted in the order of the requests for them."""

    def __init__(self, number: int) -> None:
        self._free = number
        self._guard = threading.Lock()
        self._queue: deque[threading.Lock] = deque()

    @property
    def is_wanted(self) -> bool:
        """Whether a thread waits for a slot."""
        return bool(self._queue)

    def take(self) -> None:
        """Block until a slot is acquired."""
        with self._guard:
            if self._free:
                self._free -= 1
                return
            mine = threading.Lock()
            mine.acquire()
            self._queue.append(mine)
        mine.acquire()

    def give(self) -> None:
        """Pass the slot to the thread that has waited longest, or free it."""
        with self._guard:
            if self._queue:
                self._queue.popleft().release()
            else:
                self._free += 1


LEAST_S = 0.2  # the least time a request waits for the store, however long it has waited before
_slots = Slots(settings.OPENWOP_WEB_THREADS)
_thread = threading.local()
# When a request was last refused because the database could not be written, or not even read.
_failed_at = {"write": 0.0, "read": 0.0}
# Open SQLite connections that no thread uses.
_kept: list[BaseDatabaseWrapper] = []


def use_here() -> None:
    """Make this thread compute in slots, as one that serves requests; in other threads this module has no effect."""
    _thread.holds = False


@contextmanager
def hold_slot() -> Iterator[None]:
    """Hold a slot inside the block; after it the thread has neither a slot nor a connection."""
    if getattr(_thread, "holds", None) is not False:
        yield
        return
    _thread.waited_s = 0.0
    _take()
    try:
        yield
    finally:
        _give()


@contextmanager
def waiting(most: float) -> Iterator[float]:
    """Count the block as waiting for the store and yield its limit in seconds.

    The limit is ``most``, less what earlier transactions of the request have waited.
    """
    if not getattr(_thread, "holds", False):
        yield most
        return
    began = time.monotonic()
    try:
        yield max(LEAST_S, most - _thread.waited_s)
    finally:
        _thread.waited_s += time.monotonic() - began


@contextmanager
def aside() -> Iterator[None]:
    """Release slot and connection inside the block; take a slot again after it. In a transaction both are kept."""
    if not getattr(_thread, "holds", False) or connections[DEFAULT_DB_ALIAS].in_atomic_block:
        yield
        return
    _give()
    try:
        yield
    finally:
        _take()


def breathe() -> None:
    """Let a waiting request go first; called between the parts of long work, outside of transactions."""
    if _slots.is_wanted:
        with aside():
            pass


def database_failed(*, for_reads: bool) -> None:
    """Record that a request is refused for an unusable database; ``for_reads`` when it cannot be reached at all."""
    _failed_at["write"] = time.monotonic()
    if for_reads:
        _failed_at["read"] = time.monotonic()


def waited_in_vain(*, writes: bool) -> bool:
    """Whether the database was found unusable while this thread waited for its slot, so waiting for it is futile."""
    asked_at: float | None = getattr(_thread, "asked_at", None)
    return asked_at is not None and asked_at < _failed_at["write" if writes else "read"]


def _take() -> None:
    _thread.asked_at = time.monotonic()
    _slots.take()
    _thread.holds = True
    with suppress(IndexError):  # when there is none, the first query opens one
        connections[DEFAULT_DB_ALIAS] = _kept.pop()


def _give() -> None:
    own = connections[DEFAULT_DB_ALIAS]
    try:
        with suppress(Error):  # from a connection that the server has closed
            if not _keep_connection(own):
                own.close()
    finally:
        _thread.holds = False
        _slots.give()


def _keep_connection(own: BaseDatabaseWrapper) -> bool:
    """Keep an open connection for the next thread with a slot; False when it is to be closed, which returns a pooled
    one to its pool."""
    if own.settings_dict["CONN_MAX_AGE"] == 0:
        return False
    own.close_if_unusable_or_obsolete()
    if own.connection is None or own.in_atomic_block or len(_kept) >= settings.OPENWOP_WEB_THREADS:
        return False
    if not own.allow_thread_sharing:
        own.inc_thread_sharing()
    _kept.append(own)
    del connections[DEFAULT_DB_ALIAS]
    return True
