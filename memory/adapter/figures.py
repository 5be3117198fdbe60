"""How much an agent remembers (RFC-0015, Agent Memory Summary): by tier, in which tasks, and beside its addresses."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, Max, Min, Q, Sum

from memory.adapter.places import in_time
from memory.addresses import Tier
from memory.models.address import EntryAddress
from memory.models.entry import PLAIN, MemoryEntry


class Figures(NamedTuple):
    """Of the live entries of one tier: how many, how many of them pinned, their bytes, when the first and the last was
    made."""

    entries: int = 0
    pinned: int = 0
    size: int = 0
    oldest: datetime | None = None
    newest: datetime | None = None


def figures_of(tenant_id: UUID, agent_id: str, *, now: datetime) -> dict[str, Figures]:
    """The figures of each tier in which the agent owns entries."""
    live = in_time(now, "entry__expires_at")
    rows = EntryAddress.objects.of(tenant_id).filter(~Q(tier=Tier.SEMANTIC), live, agent_id=agent_id, hidden=False)
    counted = rows.values("tier").annotate(
        entries=Count("id"),
        pins=Count("id", filter=Q(pinned=True)),
        bytes=Sum("size"),
        oldest=Min("created_at"),
        newest=Max("created_at"),
    )
    found = counted.values_list("tier", "entries", "pins", "bytes", "oldest", "newest")
    return {tier: Figures(*figures) for tier, *figures in found}


def tasks_remembered(tenant_id: UUID, agent_id: str, *, now: datetime) -> list[str]:
    """The tasks in which the agent has working memory, in the order of their ids."""
    live = in_time(now, "entry__expires_at")
    rows = EntryAddress.objects.of(tenant_id).filter(live, agent_id=agent_id, tier=Tier.WORKING, hidden=False)
    return sorted(rows.exclude(task_id="").values_list("task_id", flat=True).distinct())


def plain_count(tenant_id: UUID, agent_id: str, *, now: datetime) -> int:
    """How many live entries the agent wrote without an address."""
    live = in_time(now)
    return int(MemoryEntry.objects.of(tenant_id).filter(PLAIN, live, agent_id=agent_id).count())
