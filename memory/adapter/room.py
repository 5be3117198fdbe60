"""How much room addressed entries take, and which of them would go first (RFC-0015 2.2, 6.5, 9.4)."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count, Sum

from memory.adapter.places import in_time
from memory.addresses import Tier
from memory.models.address import EntryAddress


class Taken(NamedTuple):
    """So many live entries, and the bytes of their values."""

    entries: int
    size: int


def taken_in_task(tenant_id: UUID, task_id: str, *, now: datetime) -> Taken:
    """What the working memory of all agents takes in that task."""
    rows = EntryAddress.objects.of(tenant_id).filter(task_id=task_id, tier=Tier.WORKING).exclude(task_id="")
    found = _live(rows, now).aggregate(entries=Count("id"), size=Sum("size"))
    return Taken(found["entries"], found["size"] or 0)


def episodic_count(tenant_id: UUID, agent_id: str, *, at_least: int, now: datetime) -> int:
    """How many live episodic entries the agent has; nothing more exact than that they are fewer than ``at_least``."""
    rows = _episodic(tenant_id, agent_id)
    most = int(rows.count())
    return most if most < at_least else int(_live(rows, now).count())


def pinned_count(tenant_id: UUID, agent_id: str, *, now: datetime) -> int:
    """How many of them are never evicted."""
    return int(_live(_episodic(tenant_id, agent_id).filter(pinned=True), now).count())


def first_to_go(tenant_id: UUID, agent_id: str, *, limit: int, but: Collection[UUID] = (), now: datetime) -> list[UUID]:
    """The next to be evicted: of the lowest priority, and of those the least recently accessed (C12)."""
    rows = _live(_episodic(tenant_id, agent_id).filter(pinned=False), now).exclude(id__in=but)
    return list(rows.order_by("priority", "accessed_at", "id").values_list("id", flat=True)[:limit])


def _episodic(tenant_id: UUID, agent_id: str) -> Any:
    return EntryAddress.objects.of(tenant_id).filter(agent_id=agent_id, tier=Tier.EPISODIC)


def _live(rows: Any, now: datetime) -> Any:
    return rows.filter(in_time(now, "entry__expires_at"), hidden=False)
