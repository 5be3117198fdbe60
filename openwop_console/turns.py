"""Requests of one web process take turns, and one that waits steps aside.

Threads that run fight for the interpreter lock, threads that sleep cost nothing: so there are many, and one turn
(performance.md, section 2). Whoever waits holds neither the turn nor a connection to the database, so no number of long
polls and event streams keeps a page waiting. A connection that outlives requests goes on with the turn, from thread to
thread: to open one for each request, or to keep one for each thread, would cost more than the requests.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]

KEPT = 4
BREATH_S = 0.001

_turn = threading.Lock()
_thread = threading.local()
# Open connections for the threads whose turn comes next; touched by the one that has the turn.
_left: list[BaseDatabaseWrapper] = []


def taking_turns(application: Application) -> Application:
    """The same application, for one request of this process at a time."""

    def in_turn(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        with _turn:
            _begin()
            try:
                return application(environ, start_response)
            finally:
                _leave_connection()
                _thread.turn = False

    return in_turn


@contextmanager
def aside() -> Iterator[None]:
    """Inside the block other requests have their turn; the caller's own comes again at its end."""
    if not getattr(_thread, "turn", False):
        yield
        return
    _let_go()
    try:
        yield
    finally:
        _turn.acquire()
        _begin()


def breathe() -> None:
    """Whoever waits for a turn has had one; between the parts of long work. Nothing inside a transaction."""
    if getattr(_thread, "turn", False) and not connections[DEFAULT_DB_ALIAS].in_atomic_block:
        with aside():
            time.sleep(BREATH_S)  # a lock that is let go and taken again at once nobody else gets


@contextmanager
def again() -> Iterator[None]:
    """A turn for a response that is still being sent. At its end the thread has neither the turn nor a connection."""
    if getattr(_thread, "turn", None) is not False:  # not a thread that served a request and is past its turn
        yield
        return
    _turn.acquire()
    _begin()
    try:
        yield
    finally:
        _let_go()


def _begin() -> None:
    """It is this thread's turn, and it has the connection that an earlier one left."""
    _thread.turn = True
    if _left and not connections.all(initialized_only=True):
        connections[DEFAULT_DB_ALIAS] = _left.pop()


def _let_go() -> None:
    """The thread has neither the turn nor a connection."""
    try:
        _leave_connection()
        connections.close_all()
    finally:
        _thread.turn = False
        _turn.release()


def _leave_connection() -> None:
    """The next thread has the connection. One that comes from a pool goes back there when its request is over."""
    own = connections[DEFAULT_DB_ALIAS]
    if own.settings_dict["CONN_MAX_AGE"] == 0:
        return
    own.close_if_unusable_or_obsolete()
    if own.connection is None or own.in_atomic_block or len(_left) >= KEPT:
        return
    if not own.allow_thread_sharing:
        own.inc_thread_sharing()
    _left.append(own)
    del connections[DEFAULT_DB_ALIAS]
