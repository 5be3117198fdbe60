"""Identifiers: UUIDv7 in the database, ``run_<32 hex digits>`` on the wire.

Ids are made here and nowhere else, so they rise with time and carry no sequence of the database (design.md 3.11).
"""

import secrets
import time
from datetime import datetime, timedelta
from uuid import UUID

from uuid_utils.compat import uuid7

WIRE_LENGTH = 32
# How far from the time at which something was made its id may be.
NEAR = timedelta(minutes=1)


def new_id() -> UUID:
    """A fresh id, larger than every id made earlier in this process."""
    return uuid7()


def new_id_at(moment: datetime) -> UUID:
    """A fresh id of what was made at ``moment``: ``new_id``, unless the clock of the caller is another one.

    Of two with the same such moment the later one made is the larger.
    """
    made, at = uuid7(), int(moment.timestamp() * 1000)
    if abs((made.int >> 80) - at) < NEAR // timedelta(milliseconds=1):
        return made
    tail = time.time_ns() << 13 | secrets.randbits(13)
    return UUID(int=at << 80 | 7 << 76 | (tail >> 62) << 64 | 2 << 62 | tail & (1 << 62) - 1)


def first_of(moment: datetime) -> UUID:
    """No id made at ``moment`` or later is smaller than this one."""
    return UUID(int=int(moment.timestamp() * 1000) << 80)


def wire(prefix: str, value: UUID) -> str:
    """The form of ``value`` that leaves the host."""
    return f"{prefix}_{value.hex}"


def parse(prefix: str, text: str) -> UUID | None:
    """The id behind ``text``, or None when it is not an id of this kind; never an error."""
    head, _, digits = text.partition("_")
    if head != prefix or len(digits) != WIRE_LENGTH or not set(digits) <= set("0123456789abcdef"):
        return None
    return UUID(hex=digits)


def is_wire(value: object) -> bool:
    """Whether ``value`` has the form of an id of this host, of whatever kind; it need not be one of anything."""
    if not isinstance(value, str):
        return False
    prefix = value.partition("_")[0]
    return prefix.isascii() and prefix.isalpha() and len(prefix) <= 8 and parse(prefix, value) is not None


def redacted(secret_id: str) -> str:
    """What stands in the place of a secret wherever it would be kept (SR-1)."""
    return f"[REDACTED:{secret_id}]"
