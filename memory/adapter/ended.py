"""What ends with a task: its working memory, and of the other tiers what lives as long as it (RFC-0015 1.1, 2.1)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from memory.addresses import TASK_LIFETIME, Tier
from memory.models.address import EntryAddress

PART = 100
# An end that was told wins over a lifetime (R12).
BOUND = Q(tier=Tier.WORKING) | Q(ttl=TASK_LIFETIME, entry__expires_at=None)


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of one agent in a task: ``live`` is working memory that can be read, ``over`` has lapsed, was
    retired, or is of another tier and bound to the task alone."""

    agent_id: str
    live: tuple[UUID, ...]
    over: tuple[UUID, ...]


def bound_to(tenant_id: UUID, task_id: str) -> list[UUID]:
    """All entries that end with the task."""
    return list(EntryAddress.objects.of(tenant_id).filter(BOUND, task_id=task_id).values_list("id", flat=True))


def is_used_by_others(tenant_id: UUID, task_id: str, *, but: str) -> bool:
    """Whether an entry of another agent than ``but`` ends with the task."""
    rows = EntryAddress.objects.of(tenant_id).filter(BOUND, task_id=task_id)
    return bool(rows.exclude(agent_id=but).exists())


def left_in(tenant_id: UUID, task_id: str, *, now: datetime) -> list[Left]:
    """The same by agent, in the order in which they were made; without their texts."""
    rows = EntryAddress.objects.of(tenant_id).filter(BOUND, task_id=task_id).order_by("agent_id", "id")
    live: dict[str, list[UUID]] = {}
    over: dict[str, list[UUID]] = {}
    for agent_id, row, tier, hidden, ends in rows.values_list("agent_id", "id", "tier", "hidden", "entry__expires_at"):
        stays = tier == Tier.WORKING and not hidden and (ends is None or ends > now)
        (live if stays else over).setdefault(agent_id, []).append(row)
    return [Left(name, tuple(live.get(name, ())), tuple(over.get(name, ()))) for name in sorted({*live, *over})]


def those(tenant_id: UUID, rows: Sequence[UUID]) -> Iterator[EntryAddress]:
    """The addresses with their entries, in the order of ``rows``, read in parts."""
    for first in range(0, len(rows), PART):
        part = rows[first : first + PART]
        found = EntryAddress.objects.of(tenant_id).filter(id__in=part).select_related("entry").in_bulk_by_id(list(part))
        yield from (found[row] for row in part if row in found)
