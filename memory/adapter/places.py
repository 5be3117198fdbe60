"""Whether an entry is there: an expired or retired one is not. One of RFC-0015 is found by its id, with its address."""

from datetime import datetime
from uuid import UUID

from django.db.models import Q

from memory.adapter.rows import row_of
from memory.models.address import EntryAddress


def in_time(now: datetime, ends: str = "expires_at") -> Q:
    """What has not come to its end, which stands in the column ``ends``; to the millisecond, whatever was swept."""
    return Q(**{ends: None}) | Q(**{f"{ends}__gt": now})


def readable(tenant_id: UUID, entry_id: UUID, *, now: datetime) -> EntryAddress | None:
    """The entry of that id and its address, in one query; None when there is none that anybody could read."""
    found = row_of(tenant_id, entry_id)
    return found if found is not None and is_there(found, now) else None


def is_there(row: EntryAddress, now: datetime) -> bool:
    """Whether the entry is neither retired nor past its end."""
    entry = row.entry
    return entry.retired_at is None and (entry.expires_at is None or entry.expires_at > now)
