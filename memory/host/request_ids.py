"""The request, task or command under way: what the audit records that it appends have in common.

It is ambient, unlike principal and time: it decides nothing, and each append is many calls below what it is about. An
id is ``req_``, ``task_`` or ``cmd_`` with 32 hex digits, or that of the run which a task advances.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from memory.host import ids

_under_way: ContextVar[str] = ContextVar("request_id", default="")


def current() -> str:
    """Return the id of what is under way; "" outside of any."""
    return _under_way.get()


@contextmanager
def under_way(kind: str) -> Iterator[None]:
    """Give what runs within a new id of that kind."""
    token = _under_way.set(ids.wire(kind, ids.new_id()))
    try:
        yield
    finally:
        _under_way.reset(token)


def begin(request_id: str) -> None:
    """Set the id of all that this process or thread does until the next call."""
    _under_way.set(request_id)
