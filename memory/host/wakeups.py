"""Wakes processes that wait for a change in the database: the worker for tasks, the notifier for events.

A waiter also polls now and then, so a missed wake loses nothing: a wake only shortens the wait. On PostgreSQL it is a
NOTIFY, which every host receives when the transaction commits. On SQLite, where all processes run on one machine, each
waiter has a named pipe in the data folder, into which a byte is written after the commit.
"""

import errno
import os
import select
import time
from contextlib import suppress
from enum import StrEnum
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction

from memory.host import sql

FOLDER = "wake"
_numbers = count()


class Topic(StrEnum):
    """The topics that can be waited for."""

    TASKS = "tasks"
    EVENTS = "events"


def wake(topic: Topic) -> None:
    """Wake all waiters of ``topic`` when this transaction commits."""
    if sql.is_postgres():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, '')", [_channel(topic)])
    else:
        transaction.on_commit(partial(_write_to_pipes, topic))


def _write_to_pipes(topic: Topic) -> None:
    for pipe in _folder().glob(f"{topic}.*"):
        try:
            writing = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as refused:
            if refused.errno == errno.ENXIO:  # the waiter of this pipe was killed
                pipe.unlink(missing_ok=True)
            continue
        with suppress(BlockingIOError, BrokenPipeError):  # full, so its reader is awake; or its reader was just killed
            os.write(writing, b".")
        os.close(writing)


class Waiter:
    """A waiter for a topic, for one thread of a process that has not forked since its first wait."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._listening: Any = None
        self._pipe: int | None = None
        self._path: Path | None = None

    def wait(self, seconds: float) -> bool:
        """Wait up to ``seconds``; return whether it was woken, or may have been before it listened."""
        return self._wait_for_notice(seconds) if sql.is_postgres() else self._wait_at_pipe(seconds)

    def close(self) -> None:
        """Stop waiting and release the pipe or the channel."""
        if self._pipe is not None and self._path is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._pipe)
            self._pipe = None
        if self._listening is not None and connection.connection is self._listening:
            with suppress(DatabaseError, InterfaceError), connection.wrap_database_errors:
                self._listening.execute(f"UNLISTEN {_channel(self._topic)}")  # the connection will be reused
                for _ in self._listening.notifies(timeout=0):
                    pass
        self._listening = None

    def _wait_for_notice(self, seconds: float) -> bool:
        try:
            connection.ensure_connection()
            with connection.wrap_database_errors:
                if connection.connection is not self._listening:
                    connection.connection.execute(f"LISTEN {_channel(self._topic)}")
                    self._listening = connection.connection
                    return True
                return bool(list(self._listening.notifies(timeout=seconds, stop_after=1)))
        except (DatabaseError, InterfaceError):  # the next query reports the failure
            self._listening = None
            time.sleep(seconds)
            return False

    def _wait_at_pipe(self, seconds: float) -> bool:
        if self._pipe is None:
            self._make_pipe()
            return True
        waiting = select.poll()
        waiting.register(self._pipe, select.POLLIN)
        woken = bool(waiting.poll(seconds * 1000))
        with suppress(BlockingIOError):
            while woken and os.read(self._pipe, 4096):
                pass
        return woken

    def _make_pipe(self) -> None:
        """Create the pipe under a hidden name and rename it once it is open: wakers remove a pipe without a reader."""
        folder = _folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = f"{self._topic}.{os.getpid()}.{next(_numbers)}"
        aside, self._path = folder / f".{name}", folder / name
        aside.unlink(missing_ok=True)
        os.mkfifo(aside, 0o600)
        self._pipe = os.open(
            aside, os.O_RDWR | os.O_NONBLOCK
        )  # opened for writing too, so that it never reports end of file
        aside.rename(self._path)


def _channel(topic: Topic) -> str:
    return f"openwop_{topic}"


def _folder() -> Path:
    folder: Path = settings.OPENWOP_DATA_DIR
    return folder / FOLDER
