"""What is done at once with entries that somebody has chosen: retired, restored or protected. All of them, or none."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import transaction

from memory import adapter, ledger
from memory.host import ids, pages
from memory.host.errors import NotFound, Unprocessable
from memory.host.tenancy import TenantScope

if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry

MOST = pages.PAGE
DONE = {"retire": "retired", "restore": "restored", "protect": "protected"}


def select_entries(scope: TenantScope, action: str, texts: Iterable[str], *, now: datetime) -> "list[MemoryEntry]":
    """The entries with these wire ids, each once; refused when one is not there, or when there are none or too many."""
    scope.check("memory:retire")
    if action not in DONE:
        message = f"must be one of {', '.join(DONE)}"
        raise Unprocessable("That is not done with several entries at once.", errors=[_error("action", message)])
    chosen = list(dict.fromkeys(ids.parse("mem", text) for text in texts))
    if not 1 <= len(chosen) <= MOST:
        message = f"Select 1 to {MOST} entries."
        raise Unprocessable(message, errors=[_error("id", f"must be 1 to {MOST}")])
    found = adapter.by_ids(scope, [each for each in chosen if each], now=now)
    if len(found) < len(chosen):
        raise NotFound("Not all of these entries are there.")
    return [found[each] for each in chosen if each]


def _error(field: str, message: str) -> dict[str, str]:
    return {"field": field, "message": message}


@transaction.atomic
def apply(scope: TenantScope, action: str, entry_ids: Iterable[UUID], *, reason: str, now: datetime) -> int:
    """Every entry is retired, restored or protected, each with its audit record; how many. Those that are so already
    stay as they are. Entries are locked in the order of their ids."""
    scope.check("memory:retire")
    act: Callable[[UUID], object] = {
        "retire": lambda each: ledger.retire_entry(scope, each, reason=reason, now=now),
        "restore": lambda each: ledger.restore_entry(scope, each, reason=reason, now=now),
        "protect": lambda each: ledger.protect(scope, each, protected=True, now=now),
    }[action]
    ordered = sorted(entry_ids)
    for each in ordered:
        act(each)
    return len(ordered)
