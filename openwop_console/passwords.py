"""How passwords are kept: Argon2, computed outside of the slots.

A password takes most of a second and 100 MB, and signing in needs no credential. So a process computes one at a time,
without a slot: other requests go on, whoever tries passwords, and however many of them.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from django.contrib.auth.hashers import Argon2PasswordHasher
from django.db import connection

from memory.host.errors import Busy
from openwop_console import slots

# Requests that may wait for their turn in a process; each holds one of ``serving``'s threads.
WAITING = 40

_computing = threading.Lock()
_room = threading.BoundedSemaphore(WAITING)


class PasswordHasher(Argon2PasswordHasher):
    """Django's hasher, one password at a time; what it keeps is the same."""

    def encode(self, password: str, salt: str) -> str:
        with _turn():
            return str(super().encode(password, salt))

    def verify(self, password: str, encoded: str) -> bool:
        with _turn():
            return bool(super().verify(password, encoded))


@contextmanager
def _turn() -> Iterator[None]:
    if not _room.acquire(blocking=False):
        raise Busy("Too many people are signing in at this moment; try again in a few seconds.", retryAfterMs=5000)
    try:
        # A transaction keeps its connection, and the slot with it.
        with nullcontext() if connection.in_atomic_block else slots.aside(), _computing:
            yield
    finally:
        _room.release()
