"""Identifiers: UUIDv7 in the database, ``run_<32 hex digits>`` on the wire.

Ids are made here and nowhere else: they rise with time, and no sequence of one database is in them, so tenants can be
distributed over several.
"""

import secrets
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import overload
from uuid import UUID

from uuid_utils.compat import uuid7

WIRE_LENGTH = 32
# How far an id's time may be from the time of the change.
NEAR = timedelta(minutes=1)

_clock: Callable[[], datetime] | None = None


def go_by(other: Callable[[], datetime] | None) -> None:
    """Have new ids the time of another clock than this host's; None is this host's."""
    global _clock  # noqa: PLW0603
    _clock = other


def new_id() -> UUID:
    """Return a new id, larger than every id made earlier in this process.

    On a host whose clock is wrong it has the database's time, as everything else there.
    """
    clock = _clock  # another thread may set it meanwhile
    return new_id_at(clock()) if clock else uuid7()


def new_id_at(moment: datetime) -> UUID:
    """Return a new id for ``moment``. Within ``NEAR`` of the clock that new ids go by it has that clock's time.

    For equal moments further away, a later call returns a larger id.
    """
    clock = _clock  # another thread may set it meanwhile
    made, at = uuid7(), _milliseconds(moment)
    here = _milliseconds(clock()) if clock else made.int >> 80
    if abs(here - at) < NEAR // timedelta(milliseconds=1):
        if clock is None:
            return made
        at = here
    tail = time.time_ns() << 13 | secrets.randbits(13)
    return UUID(int=at << 80 | 7 << 76 | (tail >> 62) << 64 | 2 << 62 | tail & (1 << 62) - 1)


def first_of(moment: datetime, *, off: timedelta = timedelta()) -> UUID:
    """Return the lower bound of ids made at ``moment``, or ``off`` from it, or later; any moment will do."""
    return UUID(int=max(_milliseconds(moment) + off // timedelta(milliseconds=1), 0) << 80)


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


@overload
def wire(prefix: str, value: UUID) -> str: ...


@overload
def wire(prefix: str, value: UUID | None) -> str | None: ...


def wire(prefix: str, value: UUID | None) -> str | None:
    """Return the wire form of ``value``; None for None."""
    return f"{prefix}_{value.hex}" if value else None


def parse(prefix: str, text: str) -> UUID | None:
    """Parse a wire id; None when it is not one of this kind. Never raises."""
    head, _, digits = text.partition("_")
    if head != prefix or len(digits) != WIRE_LENGTH or not set(digits) <= set("0123456789abcdef"):
        return None
    return UUID(hex=digits)


def is_wire(value: object) -> bool:
    """Whether ``value`` has the form of an id of this host, of any kind; it need not exist."""
    if not isinstance(value, str):
        return False
    prefix = value.partition("_")[0]
    return prefix.isascii() and prefix.isalpha() and len(prefix) <= 8 and parse(prefix, value) is not None


def redacted(secret_id: str) -> str:
    """Return the mark that replaces a secret wherever it would be stored (SR-1)."""
    return f"[REDACTED:{secret_id}]"
