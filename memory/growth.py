"""Signals of growth and what will leave by itself: per agent and per node, week by week. Reads only."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db.models import Count, Min, Q

from memory import adapter, policies
from memory.adapter import Keeping, WeekOf
from memory.host.tenancy import TenantScope
from memory.models import Archive, ArchiveState
from memory.policies import Policy

WEEKS = 8
DAYS = ("archive_days", "restore_days", "stale_days")


@dataclass(frozen=True, slots=True)
class Growth:
    """What an agent or a node added, week by week, oldest first, of what is still kept; "" is nobody's."""

    writer: str
    weeks: list[WeekOf]
    starts: list[date]

    @property
    def points(self) -> list[tuple[date, int]]:
        """Entries, for the drawing."""
        return [(start, each.entries) for start, each in zip(self.starts, self.weeks, strict=True)]

    @property
    def entries(self) -> int:
        return sum(each.entries for each in self.weeks)

    @property
    def duplicates(self) -> int:
        return sum(each.duplicates for each in self.weeks)

    @property
    def tokens(self) -> int:
        return sum(each.tokens for each in self.weeks)

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.weeks)

    @property
    def share(self) -> float:
        """How much of it a pass took away as a duplicate since, from 0 to 1."""
        return self.duplicates / self.entries if self.entries else 0.0


def by(scope: TenantScope, kind: str, *, now: datetime) -> list[Growth]:
    """Per ``agent`` or ``node``, those that added most first, over the last eight weeks, this one included."""
    since = now.date() - timedelta(days=now.weekday() + 7 * (WEEKS - 1))
    starts = [since + timedelta(days=7 * week) for week in range(WEEKS)]
    found: dict[str, dict[int, WeekOf]] = defaultdict(dict)
    for row in adapter.growth_of(scope, kind, since=since):
        found[row.writer][row.week] = row
    rows = [
        Growth(writer, [weeks.get(week, WeekOf(writer, week, 0, 0, 0, 0)) for week in range(WEEKS)], starts)
        for writer, weeks in found.items()
    ]
    return sorted(rows, key=lambda row: (-row.entries, row.writer))


@dataclass(frozen=True, slots=True)
class ArchivesKept:
    """How many archives have their bytes, how many of these are kept for good, and when the next one goes."""

    total: int
    for_good: int
    next_goes_at: datetime | None


@dataclass(frozen=True, slots=True)
class Outlook:
    """What leaves memory by itself, under which policy, and who adds what never leaves."""

    keeping: Keeping
    policy: Policy
    archives: ArchivesKept
    timeless: list[tuple[str, int]]

    @property
    def next_removal_at(self) -> datetime | None:
        """When the restore window of what was taken away first is over."""
        since = self.keeping.taken_since
        return since + timedelta(days=self.policy.restore_days) if since else None


def outlook(scope: TenantScope, *, now: datetime) -> Outlook:
    """As it stands at ``now``; the agents with most entries that never expire first."""
    timeless = adapter.timeless_of(scope)
    return Outlook(
        adapter.keeping_of(scope, now=now),
        policies.policy_of(scope.tenant_id),
        _archives(scope),
        sorted(timeless.items(), key=lambda each: (-each[1], each[0])),
    )


@dataclass(frozen=True, slots=True)
class Shortening:
    """What a policy that keeps something for a shorter time touches: ``removed`` of the ``waiting`` entries go at the
    next sweep; archives and commitments that are there keep the time that they were given."""

    shorter: list[str]
    waiting: int
    removed: int
    archives: int


def shortening(scope: TenantScope, wanted: Policy, *, now: datetime) -> Shortening | None:
    """What ``wanted`` would touch; None when it keeps nothing for a shorter time than the policy as it stands."""
    before = policies.policy_of(scope.tenant_id)
    shorter = [name for name in DAYS if getattr(wanted, name) < getattr(before, name)]
    if not shorter:
        return None
    removed = adapter.taken_away_before(scope, now - timedelta(days=wanted.restore_days))
    return Shortening(shorter, adapter.keeping_of(scope, now=now).waiting, removed, _archives(scope).total)


def _archives(scope: TenantScope) -> ArchivesKept:
    rows = Archive.objects.of(scope.tenant_id).exclude(state=ArchiveState.WITHDRAWN)
    found = rows.aggregate(n=Count("id"), good=Count("id", filter=Q(keep_until=None)), goes=Min("keep_until"))
    return ArchivesKept(found["n"], found["good"], found["goes"])
