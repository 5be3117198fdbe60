"""Hash passwords with Argon2, outside of the slots, and secrets that this host generated with SHA-256.

A password takes some tenths of a second and 100 MB, and signing in needs no credential. So a process computes one at a
time, without a slot, on one core, at a lower priority than everything else: other requests go on, however many
passwords are tried.
"""

import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from django.contrib.auth.hashers import Argon2PasswordHasher, BasePasswordHasher
from django.utils.crypto import constant_time_compare

from memory.host import request_slots
from memory.host.errors import Busy

# Requests that may wait for their turn in a process; each holds one of the web server's threads.
WAITING = 40
GIVES_WAY = 10  # nice

_computing = threading.Lock()
_room = threading.BoundedSemaphore(WAITING)


class PasswordHasher(Argon2PasswordHasher):
    """Django's Argon2 hasher, one password at a time and on one core: with eight lanes a password would take all cores.

    A hash made with eight lanes is renewed when its person signs in.
    """

    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        encode = super().encode
        with _turn():
            return str(_behind_others(lambda: encode(password, salt)))

    def verify(self, password: str, encoded: str) -> bool:
        verify = super().verify
        with _turn():
            return bool(_behind_others(lambda: verify(password, encoded)))


class RandomSecretHasher(BasePasswordHasher):
    """Hash secrets of 48 random bytes, which no search finds however fast it is, with SHA-256.

    Registering an OAuth client, and presenting a wrong secret for it, need no credential and must cost nothing.
    """

    algorithm = "random_sha256"

    def salt(self) -> str:
        return ""

    def encode(self, password: str, salt: str) -> str:
        return f"{self.algorithm}$${hashlib.sha256(password.encode(errors='replace')).hexdigest()}"

    def verify(self, password: str, encoded: str) -> bool:
        return constant_time_compare(self.encode(password, ""), encoded)


def _behind_others(compute: Callable[[], object]) -> object:
    """Compute in a thread of lower priority; only Linux has priorities per thread."""
    give_way = (lambda: os.nice(GIVES_WAY)) if sys.platform == "linux" else None
    with ThreadPoolExecutor(1, initializer=give_way) as aside:
        return aside.submit(compute).result()


@contextmanager
def _turn() -> Iterator[None]:
    if not _room.acquire(blocking=False):
        raise Busy("Too many people are signing in at this moment; try again in a few seconds.", retryAfterMs=5000)
    try:
        with request_slots.aside(), _computing:
            yield
    finally:
        _room.release()
