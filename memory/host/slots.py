"""How many requests of a web process compute at a time, and which connection to the database each of them has.

Threads that compute compete for the interpreter lock, threads that sleep cost nothing. So a process has many threads
and ``OPENWOP_WEB_THREADS`` slots: a thread holds one while it computes, and gives it up, with its connection, while it
waits for anything else. Bodies are read before a slot is taken and answers are sent after it is free (``serving``).
SQLite's connections go from slot to slot, because one for each thread would be hundreds; PostgreSQL's come from a pool.
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
    """A number of slots, given in the order in which they are asked for."""

    def __init__(self, number: int) -> None:
        self._free = number
        self._guard = threading.Lock()
        self._queue: deque[threading.Lock] = deque()

    @property
    def wanted(self) -> bool:
        """Whether a thread waits for a slot."""
        return bool(self._queue)

    def take(self) -> None:
        """Return with a slot."""
        with self._guard:
            if self._free:
                self._free -= 1
                return
            mine = threading.Lock()
            mine.acquire()
            self._queue.append(mine)
        mine.acquire()

    def give(self) -> None:
        """The slot is that of the thread that has waited longest, or free."""
        with self._guard:
            if self._queue:
                self._queue.popleft().release()
            else:
                self._free += 1


LEAST_S = 0.2  # that a request waits for the store, whatever it has waited before
_slots = Slots(settings.OPENWOP_WEB_THREADS)
_thread = threading.local()
# When a request was last refused because the database could not be written, and not even be asked.
_failed_at = {"write": 0.0, "read": 0.0}
# Open connections of SQLite that no thread uses now.
_kept: list[BaseDatabaseWrapper] = []


def use_here() -> None:
    """This thread serves requests: it computes in a slot. In every other thread all of this does nothing."""
    _thread.holds = False


@contextmanager
def held() -> Iterator[None]:
    """The thread holds a slot inside the block; after it neither a slot nor a connection."""
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
    """The thread waits for the store inside the block, for no longer than the seconds that it is given: ``most``, or
    what the transactions of a request before this one have left of that."""
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
    """The thread holds neither slot nor connection inside the block; after it a slot again."""
    if not getattr(_thread, "holds", False):
        yield
        return
    _give()
    try:
        yield
    finally:
        _take()


def breathe() -> None:
    """Let a request that waits for a slot go first; called between the parts of long work, outside of transactions."""
    if _slots.wanted and not connections[DEFAULT_DB_ALIAS].in_atomic_block:
        with aside():
            pass


def database_failed(*, for_reads: bool) -> None:
    """A request is being refused because the database cannot be used; with ``for_reads`` nobody can reach it."""
    _failed_at["write"] = time.monotonic()
    if for_reads:
        _failed_at["read"] = time.monotonic()


def waited_in_vain(*, writes: bool) -> bool:
    """Whether the database was found unusable while this thread waited for its slot: it would wait for that too."""
    asked_at: float | None = getattr(_thread, "asked_at", None)
    return asked_at is not None and asked_at < _failed_at["write" if writes else "read"]


def _take() -> None:
    _thread.asked_at = time.monotonic()
    _slots.take()
    _thread.holds = True
    if not connections.all(initialized_only=True):
        with suppress(IndexError):  # without one the first use opens one
            connections[DEFAULT_DB_ALIAS] = _kept.pop()


def _give() -> None:
    try:
        with suppress(Error):  # of a connection that the server has ended
            _keep_connection()
            connections.close_all()
    finally:
        _thread.holds = False
        _slots.give()


def _keep_connection() -> None:
    """Keep an open connection for the next thread that holds a slot; one of a pool goes back to it instead."""
    own = connections[DEFAULT_DB_ALIAS]
    if own.settings_dict["CONN_MAX_AGE"] == 0:
        return
    own.close_if_unusable_or_obsolete()
    if own.connection is None or own.in_atomic_block or len(_kept) >= settings.OPENWOP_WEB_THREADS:
        return
    if not own.allow_thread_sharing:
        own.inc_thread_sharing()
    _kept.append(own)
    del connections[DEFAULT_DB_ALIAS]
