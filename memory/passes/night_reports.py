"""A night as a page tells of it: what its passes did, which commitments fired, and what left memory. Reads only.

A night lasts from the time of day at which the tenant's passes come to the next one, so every pass is in one.
"""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import BigIntegerField, Count, Q, QuerySet, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from memory import adapter, passes, policies
from memory.host import cron
from memory.host.errors import Invalid
from memory.host.paging import Page, read_page
from memory.host.tenancy import TenantScope
from memory.models import Firing, Pass, PassState
from memory.passes import restoration
from memory.passes.orders import KINDS
from memory.passes.pass_reports import Summary, summary

DAY = timedelta(days=1)
FIRST, LAST = date(1970, 1, 2), date(8999, 12, 31)
TROUBLED = (PassState.REFUSED, PassState.FAILED, PassState.CANCELLED)
DISTILLED = Q(kind="distill", state=PassState.DONE, outcome__has_key="archiveId")
# The passes behind each figure.
PASSES = {
    "passes": Q(),
    "merged": Q(outcome__merged__gt=0),
    "superseded": Q(outcome__superseded__gt=0),
    "compacted": Q(kind="compact", state=PassState.DONE),
    "archives": DISTILLED,
    "failed": Q(state__in=TROUBLED),
    "unfinished": Q(state__in=passes.OPEN),
}
REMOVALS = {"expired": ("expired",), "purged": ("merged", "superseded", "compacted")}
SHOWS = (*PASSES, "fired", *REMOVALS)


@dataclass(frozen=True, slots=True)
class Night:
    """From ``begins`` to before ``ends``; ``day`` is the date on which it begins in ``timezone``."""

    day: date
    begins: datetime
    ends: datetime
    timezone: str
    is_last: bool

    @property
    def earlier(self) -> date:
        return self.day - DAY

    @property
    def later(self) -> date | None:
        return None if self.is_last else self.day + DAY


@dataclass(frozen=True, slots=True)
class Figures:
    """What one night did. ``merged``, ``superseded`` and ``compacted`` count entries that passes removed, ``distilled``
    those that went into ``archives``; ``expired`` and ``purged`` entries are gone for good."""

    passes: int
    merged: int
    superseded: int
    compacted: int
    archives: int
    distilled: int
    failed: int
    unfinished: int
    fired: int
    expired: int
    purged: int


def night_of(scope: TenantScope, day: date | None, *, now: datetime) -> Night:
    """The night that begins on that day, or the last one; a day that has not come is refused."""
    policy = policies.policy_of(scope.tenant_id)
    at, zone = time.fromisoformat(policy.night_at), ZoneInfo(policy.timezone)
    local = now.astimezone(zone)
    last = local.date() if local.time() >= at else local.date() - DAY
    chosen = day or last
    if not FIRST <= chosen <= min(last, LAST):
        raise Invalid(errors=[{"field": "night", "message": f"must be a day from {FIRST} to {last}"}])
    begins, ends = (cron.instant_of(datetime.combine(each, at), policy.timezone) for each in (chosen, chosen + DAY))
    return Night(chosen, begins, ends, policy.timezone, chosen == last)


def figures(scope: TenantScope, night: Night) -> Figures:
    """The figures of the night, by what happened in it, however large the ledger is."""
    rows = _passes_of(scope, night)
    counted = rows.aggregate(
        **{name: Count("id", filter=of) for name, of in PASSES.items()},
        merged_entries=_sum("merged"),
        superseded_entries=_sum("superseded"),
        compacted_entries=_sum("sourceCount", PASSES["compacted"]),
        distilled=_sum("sourceCount", DISTILLED),
    )
    reasons = {name: Count("id", filter=Q(reason__in=of)) for name, of in REMOVALS.items()}
    gone = adapter.removed(scope, night.begins, night.ends).aggregate(**reasons)
    return Figures(
        passes=counted["passes"],
        **{name: counted[f"{name}_entries"] or 0 for name in ("merged", "superseded", "compacted")},
        archives=counted["archives"],
        distilled=counted["distilled"] or 0,
        failed=counted["failed"],
        unfinished=counted["unfinished"],
        fired=_firings_of(scope, night).count(),
        **gone,
    )


def _sum(name: str, of: Q | None = None) -> Sum:
    return Sum(Cast(KT(f"outcome__{name}"), BigIntegerField()), filter=of)


def _passes_of(scope: TenantScope, night: Night) -> QuerySet[Pass]:
    """The passes ordered in the night; a dry run did nothing."""
    scope.check("memory:read")
    within = {"created_at__gte": night.begins, "created_at__lt": night.ends}
    rows: QuerySet[Pass] = Pass.objects.of(scope.tenant_id).filter(**within, kind__in=sorted(KINDS), dry_run=False)
    return rows


def page_of_passes(
    scope: TenantScope, night: Night, show: str, *, after: UUID | None, size: int, now: datetime
) -> Page[Summary]:
    """The passes behind a figure, the newest first, each with what has become of what it took away."""
    page = read_page(_passes_of(scope, night).filter(PASSES[show]).select_related("run"), after, size)
    taken = restoration.taken_by(scope, [row.id for row in page.rows], now=now)
    return page.of([summary(row, taken.get(row.id, restoration.NOTHING)) for row in page.rows])


def _firings_of(scope: TenantScope, night: Night) -> QuerySet[Firing]:
    scope.check("memory:read")
    rows: QuerySet[Firing] = Firing.objects.of(scope.tenant_id)
    rows = rows.filter(fired_at__gte=night.begins, fired_at__lt=night.ends)
    bound = scope.principal.agent_ids
    return rows if bound is None else rows.filter(commitment__agent_id__in=bound)


def page_of_firings(scope: TenantScope, night: Night, *, after: UUID | None, size: int) -> Page[Firing]:
    """The commitments that fired, the latest first."""
    return read_page(_firings_of(scope, night), after, size)


def page_of_removed(scope: TenantScope, night: Night, show: str, *, after: UUID | None, size: int) -> Page[Any]:
    """The tombstones behind a figure: an id, why it is gone, and when it went."""
    rows = adapter.removed(scope, night.begins, night.ends).filter(reason__in=REMOVALS[show])
    return read_page(rows, after, size)
