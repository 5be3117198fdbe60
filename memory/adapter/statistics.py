"""Counts and sizes of what is stored: by day, agent, tier and retention."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from operator import add
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Count, Max, Min, Q, QuerySet, Sum

from memory.adapter.console import COUNTED
from memory.addresses import Tier
from memory.host import ids, sql
from memory.host.tenancy import TenantScope
from memory.models.address import EntryAddress
from memory.models.entry import PLAIN, LedgerDay, MemoryEntry, RetiredKind, Strength

# The ids of workflows that runs have: each the next one in the index, so as many steps as there are ids.
NAMES = 2_000
WORKFLOWS = """
WITH RECURSIVE named(workflow_id) AS (
    SELECT MIN(workflow_id) FROM host_run WHERE tenant_id = %s
    UNION ALL
    SELECT (SELECT MIN(workflow_id) FROM host_run WHERE tenant_id = %s AND workflow_id > named.workflow_id)
    FROM named WHERE named.workflow_id IS NOT NULL
)
SELECT workflow_id FROM named WHERE workflow_id IS NOT NULL LIMIT %s
"""

DAY, WEEK = timedelta(days=1), timedelta(days=7)


# How much an agent remembers (RFC-0015, Agent Memory Summary): by tier, by task, and without an address.


class TierFigures(NamedTuple):
    """Live entries of one tier: how many, how many pinned, their bytes, and when the first and the last was made."""

    entries: int = 0
    pinned: int = 0
    size: int = 0
    oldest: datetime | None = None
    newest: datetime | None = None


def tier_figures(tenant_id: UUID, agent_id: str, *, now: datetime) -> dict[str, TierFigures]:
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
    return {tier: TierFigures(*figures) for tier, *figures in found}


def tasks_with_memory(tenant_id: UUID, agent_id: str, *, now: datetime) -> list[str]:
    """The tasks in which the agent has working memory, ordered by id."""
    rows = EntryAddress.objects.of(tenant_id).live(now).filter(agent_id=agent_id, tier=Tier.WORKING)
    return sorted(rows.exclude(task_id="").values_list("task_id", flat=True).distinct())


def count_plain(tenant_id: UUID, agent_id: str, *, now: datetime) -> int:
    """How many live entries the agent wrote without an address."""
    return int(MemoryEntry.objects.of(tenant_id).unexpired(now).filter(PLAIN, agent_id=agent_id).count())


# How long memory is kept and how fast it grows, as an operator watches it: counts and sizes, no content.


@dataclass(frozen=True, slots=True)
class RetentionFigures:
    """What leaves a ledger by itself, and when.

    ``lapsed`` entries have expired and wait for the sweep; no read finds them. These, and entries that expire soon, are
    counted up to ``COUNTED`` and one more. ``taken_away`` counts, by kind, what passes retired and was not restored; it
    is removed for good when its restore window ends.
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


def retention_figures(scope: TenantScope, *, now: datetime) -> RetentionFigures:
    """From the maintained counts; expiring entries are counted in their index, up to ``COUNTED`` and one more."""
    scope.check("memory:read")
    rows = MemoryEntry.objects.of(scope.tenant_id)
    soon = rows.filter(expires_at__gt=now)
    taken = rows.exclude(retired_kind="").filter(retired_at__isnull=False)
    counted = LedgerDay.objects.of(scope.tenant_id).aggregate(**{kind: Sum(kind) for kind in RetiredKind.values})
    return RetentionFigures(
        _up_to_counted(soon.expired(now + DAY)),
        _up_to_counted(soon.expired(now + WEEK)),
        _up_to_counted(rows.expired(now)),
        rows.expired(now).aggregate(first=Min("expires_at"))["first"],
        {kind: count for kind, count in sorted(counted.items()) if count},
        taken.aggregate(first=Min("retired_at"))["first"],
    )


def _up_to_counted(rows: QuerySet[MemoryEntry]) -> int:
    return int(rows.values("expires_at")[: COUNTED + 1].count())


def count_retired_before(scope: TenantScope, before: datetime) -> int:
    """How many entries passes retired before then that were not restored."""
    scope.check("memory:read")
    rows: QuerySet[MemoryEntry] = MemoryEntry.objects.of(scope.tenant_id).filter(retired_at__lt=before)
    return rows.exclude(retired_kind="").count()


def count_timeless(scope: TenantScope) -> dict[str, int]:
    """How many readable entries of each agent never expire, for agents that have any."""
    scope.check("memory:read")
    rows = LedgerDay.objects.of(scope.tenant_id).values("agent_id").annotate(n=Sum("timeless"))
    return {agent: int(n) for agent, n in rows.filter(n__gt=0).values_list("agent_id", "n")}


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
GROWN = ("entries", "merged", "superseded", "tokens", "bytes")


def weekly_growth(scope: TenantScope, by: str, *, since: date) -> list[WeekOf]:
    """By agent or by node, week by week from the day ``since`` on, which begins week 0."""
    scope.check("memory:read")
    rows = LedgerDay.objects.of(scope.tenant_id).filter(day__gte=since)
    sums = rows.values(WRITERS[by], "day").annotate(*(Sum(name) for name in GROWN))
    weeks: dict[tuple[str, int], list[int]] = {}
    for writer, day, *numbers in sums.values_list(WRITERS[by], "day", *(f"{name}__sum" for name in GROWN)):
        week = weeks.setdefault((writer, (day - since).days // 7), [0] * len(GROWN))
        week[:] = map(add, week, map(int, numbers))
    return [
        WeekOf(writer, week, entries, merged + superseded, tokens, size)
        for (writer, week), (entries, merged, superseded, tokens, size) in sorted(weeks.items())
    ]


def writes_by_day(scope: TenantScope, *, since: date) -> list[tuple[date, str, int]]:
    """How many entries written since that day (UTC) are kept, by day and agent."""
    scope.check("memory:read")
    rows = LedgerDay.objects.of(scope.tenant_id).filter(day__gte=since).values("day", "agent_id")
    counted = rows.annotate(n=Sum("entries")).order_by("day", "agent_id")
    return [(day, agent, int(n)) for day, agent, n in counted.values_list("day", "agent_id", "n")]


def source_strengths(scope: TenantScope, entry_ids: Sequence[UUID]) -> dict[UUID, tuple[int, datetime]]:
    """For each corroborated entry: how many sources support it, and when the last was written."""
    scope.check("memory:read")
    rows = Strength.objects.of(scope.tenant_id).filter(id__in=list(entry_ids))
    return {row.id: (row.sources, row.last_said_at) for row in rows}


def was_written_by_others(
    scope: TenantScope, memory_ref: str, *, since: datetime, until: datetime, but_by: UUID | None = None
) -> bool:
    """Whether any other run wrote an existing entry of the ref in that time. Uses the index of refs: ids rise with
    time."""
    scope.check("memory:read")
    rows = MemoryEntry.objects.of(scope.tenant_id).filter(memory_ref=memory_ref, id__lt=ids.first_of(until))
    rows = rows.filter(id__gte=ids.first_of(since))
    return (rows.exclude(run_id=but_by) if but_by else rows).exists()


def workflow_ids(tenant_id: UUID) -> list[str]:
    """The ids of workflows that the tenant's runs use, sorted, at most NAMES."""
    tenant = sql.key(tenant_id)
    with connection.cursor() as cursor:
        cursor.execute(WORKFLOWS, [tenant, tenant, NAMES])
        return [name for (name,) in cursor.fetchall()]
