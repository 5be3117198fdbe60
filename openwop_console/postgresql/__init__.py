"""PostgreSQL connections of a web process: abandon a server that is frozen, and wait for one that is busy.

A frozen server (stopped, or swapped out) keeps its sockets open, so no TCP timeout ends a wait for it, and a limit on
every statement would end a busy server's long ones too. So a connection that has received nothing for a while probes
the server with a new connection, and is abandoned only when that gets no answer.
"""

import select
import socket
import threading
import time
from collections.abc import Generator
from contextlib import closing
from typing import Any

import psycopg
from psycopg import OperationalError

SILENT_S = 0.5  # after which the server is probed
ASKING_S = 0.5
KNOWN_S = 0.5  # how long a probe's result holds for every connection of this process
SSL_REQUEST = bytes.fromhex("0000000804d2162f")  # any client may begin with it; the answer is one byte
NOTHING_READY = 0
CHECK = ""  # the query by which the pool finds out whether a connection still works, before each request
FRESH_S = 1.0  # how long after an answer a connection passes that check without asking

_asking = threading.Lock()
_asked_at, _answered = 0.0, True


class Connection(psycopg.Connection[Any]):
    """A connection whose waits end when the server answers no new connection."""

    _answered_at = 0.0

    def execute(self, query: Any, *values: Any, **named: Any) -> psycopg.Cursor[Any]:
        """Run a query; the pool's check of a connection that was just used asks only the socket, which a server that
        closes the connection makes readable."""
        if query == CHECK and time.monotonic() - self._answered_at < FRESH_S and not self._is_readable():
            return self.cursor()
        return super().execute(query, *values, **named)

    def _is_readable(self) -> bool:
        asked = select.poll()
        asked.register(self.pgconn.socket, select.POLLIN)
        return bool(asked.poll(0))

    def wait(self, gen: Any, *values: Any, **named: Any) -> Any:
        found = super().wait(self._watched(gen), *values, **named)
        self._answered_at = time.monotonic()
        return found

    def _watched(self, gen: Generator[object, object, object]) -> Generator[Any, Any, Any]:
        began = time.monotonic()
        try:
            state = next(gen)
            while True:
                ready = yield state
                silent = ready == NOTHING_READY and time.monotonic() - began > SILENT_S
                if silent and not answers(self.info.host, self.info.port):
                    self.pgconn.finish()
                    raise OperationalError("The server has stopped answering.")
                state = gen.send(ready)
        except StopIteration as end:
            return end.value


def answers(host: str, port: int) -> bool:
    """Return whether the server answers a new connection; one thread probes at a time."""
    global _asked_at, _answered  # noqa: PLW0603
    with _asking:
        if time.monotonic() - _asked_at > KNOWN_S:
            _answered = _answers(host, port)
            _asked_at = time.monotonic()
        return _answered


def _answers(host: str, port: int) -> bool:
    is_path = host.startswith("/")
    address: object = f"{host}/.s.PGSQL.{port}" if is_path else (host, port)
    try:
        with closing(_connected(address, socket.AF_UNIX if is_path else 0)) as asked:
            asked.sendall(SSL_REQUEST)
            return bool(asked.recv(1))
    except OSError:
        return False


def _connected(address: Any, family: int) -> socket.socket:
    if not family:
        return socket.create_connection(address, ASKING_S)
    asking = socket.socket(family)
    asking.settimeout(ASKING_S)
    asking.connect(address)
    return asking
