"""Queue SQLite's writers for its one write lock, in order.

SQLite itself only polls the lock, up to 100 ms apart: a process that writes one transaction after another gets it again
and again, and a waiting writer is refused in the end. Here a thread that begins a transaction enters a turnstile and
stays in it until the transaction has begun, so that no other thread begins one meanwhile.

A request's waits are added up over all of its transactions: where one is refused and another follows, such as the
record of a refusal, the client still gets its answer in time.
"""

import fcntl
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from typing import Any, TypeVar

from django.db import OperationalError
from django.db.backends.sqlite3 import base

from memory.host import request_slots

TURNSTILE = "-turn"  # suffix of the lock file next to the database
IN_LINE_S = 5.0  # the longest wait: a process that was stopped in the turnstile must not block all others
LOOK_AGAIN = 0.001
WRITE = re.compile(r"\s*(INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE)
Begun = TypeVar("Begun")


class Turnstile:
    """Admit one thread of all processes at a time; threads of one process in the order in which they came.

    The lock on the file belongs to this process and not to its forks.
    """

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._threads = threading.Lock()

    @contextmanager
    def passed(self, until: float) -> Iterator[None]:
        """Hold the turnstile for the block; from ``until`` on, enter without it."""
        if not self._threads.acquire(timeout=max(0.0, until - time.monotonic())):
            yield
            return
        try:
            while not self._is_mine() and time.monotonic() < until:
                time.sleep(LOOK_AGAIN)
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
            self._threads.release()

    def _is_mine(self) -> bool:
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def _is_busy(refused: BaseException) -> bool:
    """Whether another connection has the lock. It is no use to wait for one that this connection's own open read, of an
    older state, keeps it from."""
    code = getattr(refused.__cause__ or refused, "sqlite_errorcode", 0)
    return bool(code & 0xFF == sqlite3.SQLITE_BUSY and code != sqlite3.SQLITE_BUSY_SNAPSHOT)


@cache
def _turnstile(database: str, process: int) -> Turnstile:
    return Turnstile(f"{database}{TURNSTILE}")


class Cursor(base.SQLiteCursorWrapper):
    """Django's cursor, whose write outside of a transaction waits in the turnstile's order as a transaction does."""

    wrapper: "DatabaseWrapper"

    def execute(self, query: str, params: Any = None) -> Any:
        if self.connection.in_transaction or not WRITE.match(query):
            return super().execute(query, params)
        return self.wrapper.in_turn(partial(super().execute, query, params))


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's connection to SQLite, whose writes begin in the turnstile's order."""

    _is_alone = False

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other transactions from beginning until the block ends: they wait in the queue."""
        in_line = time.monotonic() + min(IN_LINE_S, self._patience() / 1000)
        with _turnstile(str(self.settings_dict["NAME"]), os.getpid()).passed(in_line):
            self._is_alone = True
            try:
                yield
            finally:
                self._is_alone = False

    def _in_line(self, until: float) -> AbstractContextManager[None]:
        if self._is_alone:
            return nullcontext()
        return _turnstile(str(self.settings_dict["NAME"]), os.getpid()).passed(min(until, time.monotonic() + IN_LINE_S))

    def create_cursor(self, name: object = None) -> "Cursor":
        cursor: Cursor = self.connection.cursor(factory=Cursor)
        cursor.wrapper = self
        return cursor

    def _start_transaction_under_autocommit(self) -> None:
        self.in_turn(super()._start_transaction_under_autocommit)  # type: ignore[misc]  # the stubs leave it out

    def in_turn(self, write: Callable[[], Begun]) -> Begun:
        """Return ``write()``, which takes the write lock, once the lock is free and this thread's turn has come.

        Raises ``OperationalError`` when that took too long.
        """
        patience = self._patience()
        with request_slots.waiting(patience / 1000) as seconds:
            until = time.monotonic() + seconds
            with self._in_line(until):
                self._set_patience(0)
                try:
                    while True:
                        try:
                            return write()
                        except (OperationalError, sqlite3.OperationalError) as refused:
                            if not _is_busy(refused) or time.monotonic() >= until:
                                raise
                        time.sleep(LOOK_AGAIN)
                finally:
                    self._set_patience(patience)

    def _patience(self) -> int:
        """Return the milliseconds that a statement of this connection waits for a lock."""
        return int(self._pragma("busy_timeout"))

    def _set_patience(self, milliseconds: int) -> None:
        self._pragma(f"busy_timeout = {milliseconds}")

    def _pragma(self, words: str) -> Any:
        return self.connection.execute(f"PRAGMA {words}").fetchone()[0]
