"""Compaction of memory."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from memory.host.errors import CapabilityNotProvided
from memory.models import Pass

KIND = "compact"


def checked(options: dict[str, Any]) -> dict[str, Any]:
    return options


def carry_out(work: Pass, *, clock: Callable[[], datetime]) -> None:
    raise CapabilityNotProvided
