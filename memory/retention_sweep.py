"""Removal of entries whose time is over, and the figures of the retention page.

Removed are expired entries, those that a pass retired and whose restore window is over, and those of a host without
durable memory. For expired entries this is housekeeping: reads never show them. The figures say how
memory grows per agent and per node, week by week, and what will be removed.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from uuid import UUID

from django.db.models import Count, Min, Q

from memory import adapter, ledger, memory_policy
from memory.adapter.statistics import RetentionFigures, WeekOf
from memory.host import sql
from memory.host.models import Tenant
from memory.host.tenancy import TenantScope
from memory.memory_policy import Policy
from memory.models import Archive, ArchiveState

# Writers wait while a file is rebuilt: 0.4 s for 100 MB and 13 s for a gigabyte, as measured on two busy cores. A large
# one is rebuilt more rarely than every minute, and a larger one by hand alone (VACUUM).
SMALL = 32 * 1024 * 1024
MOST_REBUILT = 256 * 1024 * 1024
BYTES_A_SECOND = 2 * 1024 * 1024
# PostgreSQL writes a table of this size, with its indexes, anew in about 100 ms; writers of it wait for as long.
REWRITTEN = 8 * 1024 * 1024
NIGHT = range(2, 5)  # UTC
OVERLAP = timedelta(minutes=1)
LATEST = timedelta(hours=36)


def sweep(*, now: datetime) -> int:
    """Delete every entry that has expired by ``now``, in chunks; returns how many."""
    return _remove_all(partial(ledger.erase.expired_rows, now=now), "expired", now)


def scrub(*, now: datetime) -> bool:
    """SQLite: what was removed or replaced is in no byte of the database's files any more (R96, C22); whether the file
    was rebuilt for it. PostgreSQL: after something was forgotten or confidential every table is vacuumed and analysed,
    and small ones are rewritten; the rest is for its own vacuum.

    What was forgotten or is confidential goes within the minute out of a file of up to 120 MB, and the later the larger
    a larger one is. What was simply deleted or changed goes as soon out of a small file, and at night out of others.
    """
    if sql.is_postgres():
        return _vacuum(now)
    size, last = sql.file_bytes(), datetime.fromtimestamp(sql.rebuilt_at(), UTC)
    due = _may_be_rebuilt(size, now - last) and _is_in_time(size, last, now)
    if due:
        sql.rebuild(int(now.timestamp()))
    sql.empty_log()
    return due


def _vacuum(now: datetime) -> bool:
    """Vacuum the tables of PostgreSQL after a forget; whether any was. A locked table waits for the next time.

    A vacuum keeps what an older transaction can still see, also one that rewrites the table: so what counts as done
    waits until none from before the forget is open.
    """
    last = ledger.erase.last_erased()
    if last is None:
        return False
    settled = last + OVERLAP
    done = []
    if now < settled or not sql.has_transaction_before(settled):
        due = sql.tables_vacuumed_before(settled)
        done = [sql.vacuum(table, rewrite=size <= REWRITTEN) for table, size in due]
    # The samples of columns as they were before those vacuums.
    replaced = sql.samples_replaced_at()
    if replaced and not sql.has_transaction_before(replaced):
        done.append(sql.rewrite_samples(Tenant._meta.db_table))
    return any(done)


def _may_be_rebuilt(size: int, rested: timedelta) -> bool:
    """Whether writers can wait for it again, and the disk has room: for the new file, and for it in the log as well."""
    enough = rested >= timedelta(seconds=size / BYTES_A_SECOND)
    return enough and size <= MOST_REBUILT and sql.free_bytes() >= 2 * size


def _is_in_time(size: int, last: datetime, now: datetime) -> bool:
    """Whether something has to go out of the file at this hour."""
    if ledger.erase.removed_since(last - OVERLAP, at_once=True):
        return True
    nightly = now.astimezone(UTC).hour in NIGHT and now - last >= timedelta(hours=12)
    quiet = size <= SMALL or nightly or now - last >= LATEST
    return quiet and ledger.erase.removed_since(last - OVERLAP)


def end_ephemeral(instance: str, *, now: datetime) -> int:
    """Remove what ``instance`` wrote without durable memory, in chunks; nothing else is touched.

    Called before that host answers requests again, so that no entry of an earlier start is ever seen.
    """
    return _remove_all(partial(ledger.erase.ephemeral_rows, instance), "ephemeral", now)


def sweep_merged(*, now: datetime) -> int:
    """Delete, in chunks, what passes retired longer ago than the tenant's restore window; return the number."""
    return sum(_sweep_merged_of(tenant_id, now) for tenant_id in Tenant.objects.values_list("id", flat=True))


def _sweep_merged_of(tenant_id: UUID, now: datetime) -> int:
    removed = 0
    before = now - timedelta(days=memory_policy.policy_of(tenant_id).restore_days)
    while rows := ledger.erase.merged_away_rows(tenant_id, before=before):
        for kind in sorted({kind for _, kind in rows}):
            of_kind = tuple(row for row, its in rows if its == kind)
            removed += ledger.erase.remove_entries(tenant_id, of_kind, reason=kind, now=now)
    return removed


def _remove_all(find: Callable[[], list[tuple[UUID, UUID]]], reason: str, now: datetime) -> int:
    removed = 0
    while rows := find():
        by_tenant: dict[UUID, list[UUID]] = defaultdict(list)
        for tenant_id, row in rows:
            by_tenant[tenant_id].append(row)
        lapsed = reason == "expired"
        removed += sum(
            ledger.erase.remove_entries(tenant_id, tuple(found), reason=reason, lapsed=lapsed, now=now)
            for tenant_id, found in by_tenant.items()
        )
    return removed


WEEKS = 8
DAYS = ("archive_days", "restore_days", "stale_days")


@dataclass(frozen=True, slots=True)
class Growth:
    """What an agent or a node added, week by week, oldest first, of what is still kept. An empty writer means none."""

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


def growth_by(scope: TenantScope, kind: str, *, now: datetime) -> list[Growth]:
    """Per ``agent`` or ``node``, those that added most first, over the last eight weeks, this one included."""
    since = now.date() - timedelta(days=now.weekday() + 7 * (WEEKS - 1))
    starts = [since + timedelta(days=7 * week) for week in range(WEEKS)]
    found: dict[str, dict[int, WeekOf]] = defaultdict(dict)
    for row in adapter.statistics.weekly_growth(scope, kind, since=since):
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

    keeping: RetentionFigures
    policy: Policy
    archives: ArchivesKept
    timeless: list[tuple[str, int]]

    @property
    def next_removal_at(self) -> datetime | None:
        """When the restore window of what was taken away first is over."""
        since = self.keeping.taken_since
        return since + timedelta(days=self.policy.restore_days) if since else None


def outlook(scope: TenantScope, *, now: datetime) -> Outlook:
    """What will leave memory, at ``now``; agents with most entries that never expire first."""
    timeless = adapter.statistics.count_timeless(scope)
    return Outlook(
        adapter.statistics.retention_figures(scope, now=now),
        memory_policy.policy_of(scope.tenant_id),
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


def find_shortening(scope: TenantScope, wanted: Policy, *, now: datetime) -> Shortening | None:
    """Return what ``wanted`` would remove; None when it shortens nothing of the current policy."""
    before = memory_policy.policy_of(scope.tenant_id)
    shorter = [name for name in DAYS if getattr(wanted, name) < getattr(before, name)]
    if not shorter:
        return None
    removed = adapter.statistics.count_retired_before(scope, now - timedelta(days=wanted.restore_days))
    return Shortening(
        shorter, adapter.statistics.retention_figures(scope, now=now).waiting, removed, _archives(scope).total
    )


def _archives(scope: TenantScope) -> ArchivesKept:
    rows = Archive.objects.of(scope.tenant_id).exclude(state=ArchiveState.WITHDRAWN)
    found = rows.aggregate(n=Count("id"), good=Count("id", filter=Q(keep_until=None)), goes=Min("keep_until"))
    return ArchivesKept(found["n"], found["good"], found["goes"])
