"""Addressed entries: at an address, of an ended task, and the room that an agent has left."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, Q, Sum

from memory.adapter.rows import row_of
from memory.addresses import PREFIX, TASK_LIFETIME, Tier
from memory.host import sql
from memory.host.expiry import has_expired
from memory.host.tenancy import MemoryScope
from memory.models.address import AddressQuerySet, EntryAddress

WITH_TEXTS = 100  # entries in memory at a time: each may have a text of many kilobytes
# An end that was told wins over a lifetime (R12).
BOUND = Q(tier=Tier.WORKING) | Q(ttl=TASK_LIFETIME, entry__expires_at=None)


# What ends with a task: its working memory, and of the other tiers what lives as long as it (RFC-0015 1.1, 2.1).


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
        stays = tier == Tier.WORKING and not hidden and not has_expired(ends, now)
        (live if stays else over).setdefault(agent_id, []).append(row)
    return [Left(name, tuple(live.get(name, ())), tuple(over.get(name, ()))) for name in sorted({*live, *over})]


def addresses_of_rows(tenant_id: UUID, rows: Sequence[UUID]) -> Iterator[EntryAddress]:
    """The addresses with their entries, in the order of ``rows``."""
    for part in sql.in_chunks(rows, WITH_TEXTS):
        found = EntryAddress.objects.of(tenant_id).filter(id__in=part).select_related("entry").in_bulk_by_id(part)
        yield from (found[row] for row in part if row in found)


def keyed_in(scope: MemoryScope) -> frozenset[UUID]:
    """The entries of the ref that stand at a key; only refs of OpenIntent have any."""
    if not scope.memory_ref.startswith(PREFIX):
        return frozenset()
    rows = EntryAddress.objects.of(scope.tenant_id).filter(hidden=False, entry__memory_ref=scope.memory_ref)
    return frozenset(rows.values_list("id", flat=True))


# Whether an entry is there: an expired or retired one is not. One of RFC-0015 is found by its id, with its address.


def readable(tenant_id: UUID, entry_id: UUID, *, now: datetime) -> EntryAddress | None:
    """The entry of that id and its address, in one query; None when there is none that anybody could read."""
    found = row_of(tenant_id, entry_id)
    return found if found is not None and is_there(found, now) else None


def is_there(row: EntryAddress, now: datetime) -> bool:
    """Whether the entry is neither retired nor past its end."""
    return row.entry.retired_at is None and not has_expired(row.entry.expires_at, now)


# How much room addressed entries take, and which of them would go first (RFC-0015 2.2, 6.5, 9.4).


class Taken(NamedTuple):
    """So many live entries, and the bytes of their values."""

    entries: int
    size: int


def taken_in_task(tenant_id: UUID, task_id: str, *, now: datetime) -> Taken:
    """What the working memory of all agents takes in that task."""
    rows = EntryAddress.objects.of(tenant_id).filter(task_id=task_id, tier=Tier.WORKING).exclude(task_id="")
    found = rows.live(now).aggregate(entries=Count("id"), size=Sum("size"))
    return Taken(found["entries"], found["size"] or 0)


def episodic_count(tenant_id: UUID, agent_id: str, *, at_least: int, now: datetime) -> int:
    """How many live episodic entries the agent has; nothing more exact than that they are fewer than ``at_least``."""
    rows = _episodic(tenant_id, agent_id)
    most = int(rows.count())
    return most if most < at_least else int(rows.live(now).count())


def pinned_count(tenant_id: UUID, agent_id: str, *, now: datetime) -> int:
    """How many of them are never evicted."""
    return int(_episodic(tenant_id, agent_id).filter(pinned=True).live(now).count())


def first_to_go(tenant_id: UUID, agent_id: str, *, limit: int, but: Collection[UUID] = (), now: datetime) -> list[UUID]:
    """The next to be evicted: of the lowest priority, and of those the least recently accessed (C12)."""
    rows = _episodic(tenant_id, agent_id).filter(pinned=False).live(now).exclude(id__in=but)
    return list(rows.order_by("priority", "accessed_at", "id").values_list("id", flat=True)[:limit])


def _episodic(tenant_id: UUID, agent_id: str) -> AddressQuerySet:
    return EntryAddress.objects.of(tenant_id).filter(agent_id=agent_id, tier=Tier.EPISODIC)
