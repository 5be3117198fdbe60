"""Requests of one web process take turns, and one that waits steps aside.

Threads that run fight for the interpreter lock, threads that sleep cost nothing: so there are many, and one turn
(performance.md, section 2). A long poll sleeps aside, and no number of them keeps a page waiting.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]

_turn = threading.Lock()
_holding = threading.local()


def taking_turns(application: Application) -> Application:
    """The same application, for one request of this process at a time."""

    def in_turn(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        with _turn:
            _holding.turn = True
            try:
                return application(environ, start_response)
            finally:
                _holding.turn = False

    return in_turn


@contextmanager
def aside() -> Iterator[None]:
    """Inside the block other requests have their turn; the caller's own comes again at its end."""
    if not getattr(_holding, "turn", False):
        yield
        return
    _turn.release()
    try:
        yield
    finally:
        _turn.acquire()
