"""Counts and sizes of what is stored: by day, agent, tier and retention."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Count, Max, Min, Q, QuerySet, Sum

from memory.adapter.console import COUNTED
from memory.adapter.records import PRESENT, UNEXPIRED
from memory.addresses import Tier
from memory.host import ids, sql
from memory.host.tenancy import TenantScope
from memory.models.address import EntryAddress
from memory.models.entry import PLAIN, MemoryEntry, Strength

DAY, WEEK = timedelta(days=1), timedelta(days=7)
DUPLICATES = ("merged", "superseded")


# How much an agent remembers (RFC-0015, Agent Memory Summary): by tier, in which tasks, and beside its addresses.


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
    rows = EntryAddress.objects.of(tenant_id).live(now).filter(~Q(tier=Tier.SEMANTIC), agent_id=agent_id)
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
    rows = EntryAddress.objects.of(tenant_id).live(now).filter(agent_id=agent_id, tier=Tier.WORKING)
    return sorted(rows.exclude(task_id="").values_list("task_id", flat=True).distinct())


def plain_count(tenant_id: UUID, agent_id: str, *, now: datetime) -> int:
    """How many live entries the agent wrote without an address."""
    return int(MemoryEntry.objects.of(tenant_id).unexpired(now).filter(PLAIN, agent_id=agent_id).count())


# How long memory is kept and how fast it grows, as an operator watches it: counts and sizes, no content.


@dataclass(frozen=True, slots=True)
class Keeping:
    """What leaves a ledger by itself, and when.

    ``lapsed`` entries have expired and wait for the sweep; no read finds them. ``taken_away`` counts, by kind, what
    passes hid and nobody restored; it is removed for good when its restore window is over.
    """

    in_a_day: int
    in_a_week: int
    lapsed: int
    lapsed_since: datetime | None
    taken_away: dict[str, int]
    taken_since: datetime | None

    @property
    def waiting(self) -> int:
        return sum(self.taken_away.values())


def keeping_of(scope: TenantScope, *, now: datetime) -> Keeping:
    """By the indexes of what expires and of what passes took away, whatever the size of the ledger."""
    scope.check("memory:read")
    rows = MemoryEntry.objects.of(scope.tenant_id)
    soon = rows.filter(expires_at__gt=now, expires_at__lte=now + WEEK)
    coming = soon.aggregate(day=Count("id", filter=Q(expires_at__lte=now + DAY)), week=Count("id"))
    lapsed = rows.expired(now).aggregate(n=Count("id"), first=Min("expires_at"))
    taken = rows.exclude(retired_kind="").filter(retired_at__isnull=False).values("retired_kind")
    kinds = list(taken.annotate(n=Count("id"), first=Min("retired_at")).order_by("retired_kind"))
    return Keeping(
        coming["day"],
        coming["week"],
        lapsed["n"],
        lapsed["first"],
        {each["retired_kind"]: each["n"] for each in kinds},
        min((each["first"] for each in kinds), default=None),
    )


def taken_away_before(scope: TenantScope, before: datetime) -> int:
    """How many entries passes took away before then, and nobody has restored."""
    scope.check("memory:read")
    rows: QuerySet[MemoryEntry] = MemoryEntry.objects.of(scope.tenant_id).filter(retired_at__lt=before)
    return rows.exclude(retired_kind="").count()


def timeless_of(scope: TenantScope, agent_ids: Sequence[str], *, now: datetime) -> dict[str, int]:
    """How many entries of each of these agents can be read and never expire, counted up to ``COUNTED`` and one more."""
    scope.check("memory:read")
    if not agent_ids:
        return {}
    mine = f"e.tenant_id = %s AND e.agent_id = a.agent AND e.expires_at IS NULL AND {UNEXPIRED} AND {PRESENT}"
    statement = (
        f"WITH a(agent) AS (VALUES {', '.join(['(%s)'] * len(agent_ids))}) SELECT a.agent, "  # noqa: S608
        f"(SELECT COUNT(*) FROM (SELECT 1 FROM memory_memoryentry e WHERE {mine} LIMIT %s) AS counted) FROM a"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [*agent_ids, sql.key(scope.tenant_id), sql.instant(now), COUNTED + 1])
        return {agent: count for agent, count in cursor.fetchall() if count}


class WeekOf(NamedTuple):
    """What one writer added in one week, of what is still kept: entries, how many of them a pass took away as
    duplicates since, their tokens and their bytes."""

    writer: str
    week: int
    entries: int
    duplicates: int
    tokens: int
    bytes: int


WRITERS = {"agent": "agent_id", "node": "node_id"}


def growth_of(scope: TenantScope, by: str, *, since: datetime) -> list[WeekOf]:
    """By agent or by node, week by week from ``since`` on, which is week 0. Ids rise with time, so by the key."""
    scope.check("memory:read")
    postgres = sql.is_postgres()
    week = (
        "floor(extract(epoch FROM created_at - %s::timestamptz) / 604800)::int"
        if postgres
        else "CAST((julianday(created_at) - julianday(%s)) / 7 AS INTEGER)"
    )
    size = "octet_length(content)" if postgres else "length(CAST(content AS BLOB))"
    statement = (
        f"SELECT {WRITERS[by]} AS writer, {week} AS week, COUNT(*), "  # noqa: S608
        f"SUM(CASE WHEN retired_kind IN (%s, %s) THEN 1 ELSE 0 END), SUM(tokens), SUM({size}) "
        "FROM memory_memoryentry WHERE tenant_id = %s AND id >= %s GROUP BY writer, week ORDER BY writer, week"
    )
    start = [sql.instant(since), *DUPLICATES, sql.key(scope.tenant_id), sql.key(ids.first_of(since))]
    with connection.cursor() as cursor:
        cursor.execute(statement, start)
        return [WeekOf(writer, int(number), *map(int, rest)) for writer, number, *rest in cursor.fetchall()]


def strengths_of(scope: TenantScope, entry_ids: Sequence[UUID]) -> dict[UUID, tuple[int, datetime]]:
    """Of how many sources each of them speaks that a pass found corroborated, and when the last was written."""
    scope.check("memory:read")
    rows = Strength.objects.of(scope.tenant_id).filter(id__in=list(entry_ids))
    return {row.id: (row.sources, row.last_said_at) for row in rows}


def was_written_to(
    scope: TenantScope, memory_ref: str, *, since: datetime, until: datetime, but_by: UUID | None = None
) -> bool:
    """Whether somebody but that run wrote an entry of the ref in that time, as far as it is still there.

    By the index of refs: ids rise with time.
    """
    scope.check("memory:read")
    rows = MemoryEntry.objects.of(scope.tenant_id).filter(memory_ref=memory_ref, id__lt=ids.first_of(until))
    rows = rows.filter(id__gte=ids.first_of(since))
    return (rows.exclude(run_id=but_by) if but_by else rows).exists()
