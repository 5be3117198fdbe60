"""What of an entry can be stored: how large its value is, and that its end lies ahead (R12, R18)."""

from datetime import datetime
from typing import Any

from memory import addresses
from memory.addresses import MAX_VALUE_BYTES
from memory.host.errors import Invalid, TooLarge


def require_size(value: dict[str, Any]) -> int:
    """The bytes that limits count; refused when they are more than an entry has room for, however they are kept."""
    size = addresses.size_of(value)
    if max(size, len(addresses.canonical(value).encode())) > MAX_VALUE_BYTES:
        raise TooLarge(
            f"A value has at most {MAX_VALUE_BYTES} bytes.",
            limit=MAX_VALUE_BYTES,
            size=size,
            hint="Store bulk data as an attachment, and its attachment_id in the value.",
        )
    return size


def require_future(expires_at: datetime | None, *, now: datetime) -> None:
    """Refuse an entry that would be gone as soon as it is there."""
    if expires_at is not None and expires_at <= now:
        problem = {"field": "expires_at", "message": "lies in the past"}
        raise Invalid("The memory entry cannot be stored.", errors=[problem])
