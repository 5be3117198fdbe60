"""The nightly passes of a tenant, and the night report.

Refs with something new are consolidated, and those that have grown are distilled, each by an ordinary pass of the host.
The night is claimed on the tenant's policy row, so that it is ordered once; after an outage one night stands in for
all that were missed. A night lasts from its time of day to the next one's, so every pass belongs to one. The report
only reads.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import chain, groupby
from typing import TYPE_CHECKING
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import transaction
from django.db.models import BigIntegerField, Count, Q, QuerySet, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from memory import adapter, consolidation_state, memory_policy, passes, redaction
from memory.adapter.passes import RefFigures
from memory.host import cron, scheduling
from memory.host.errors import Invalid
from memory.host.events import Failure
from memory.host.paging import Page, read_all, read_page
from memory.host.tenancy import TenantScope
from memory.models import Firing, Pass, PassState, Trigger
from memory.passes import PassOrder, archives, consolidation, distillation, orders
from memory.passes.orders import KINDS, RequestedPass
from memory.passes.pass_reports import Summary, summary
from memory.wire import instant

if TYPE_CHECKING:
    from memory.models.entry import Tombstone

FULL = "night_full"
MOST = 100  # passes of one kind a night; those that have waited longest come first
NEVER = datetime(1970, 1, 1, tzinfo=UTC)

Queue = Callable[[Pass], None]


def order_nights(*, queue: Queue, now: datetime) -> int:
    """Order the passes of every tenant whose night has come; a failing tenant does not stop the others. Returns how
    many have any. ``queue`` is called in the transaction that makes a pass."""

    def order_one(tenant_id: UUID) -> bool:
        return bool(order_night(tenant_id, queue=queue, now=now))

    def skip(tenant_id: UUID) -> None:
        memory_policy.claim_night(tenant_id, now=now)

    if settings.OPENWOP_MEMORY_INSTANCE:
        return 0  # what is gone at the next start is not put together
    due = memory_policy.nights_due(now=now)
    return scheduling.fire_each("Night", due, order_one, give_up=skip)


def order_night(tenant_id: UUID, *, queue: Queue, now: datetime) -> list[Pass]:
    """Order the passes of the night that is due; none when another process has claimed it.

    Each is ordered in its own transaction, so that no writer waits for a night. What a worker that dies has not ordered
    comes first in the next night.
    """
    wanted = plan_night(tenant_id, now=now)
    tick_at = memory_policy.claim_night(tenant_id, now=now)
    if tick_at is None:
        return []
    window, made = f"night/{instant(tick_at)}", []
    for kind, of_kind in groupby(wanted, key=lambda each: each.kind):
        tonight = list(of_kind)
        made += [_order(tenant_id, each, window, queue, now) for each in tonight[:MOST]]
        if (left := len(tonight) - MOST) > 0:
            _skip(tenant_id, kind, left, window, now)
    return [row for row in made if row.state == PassState.WAITING]


def _skip(tenant_id: UUID, kind: str, left: int, window: str, now: datetime) -> None:
    """Record, as a refused pass without a ref, that refs wait for the next night."""
    failure = Failure(FULL, f"A night orders up to {MOST} passes of a kind: {left:,} more wait for the next one.")
    order = PassOrder(kind, window, "host", trigger=Trigger.SCHEDULED)
    passes.decline(tenant_id, order, failure, refused=True, now=now)


@transaction.atomic
def _order(tenant_id: UUID, wanted: RequestedPass, window: str, queue: Queue, now: datetime) -> Pass:
    row = orders.order_for(tenant_id, "host", wanted, window=window, now=now)
    if row.state == PassState.WAITING:
        queue(row)
    return row


def plan_night(tenant_id: UUID, *, now: datetime) -> list[RequestedPass]:
    """Refs to consolidate, then refs to distil, the longest waiting first; a ref that contains a secret is left out."""
    clean, above = redaction.for_tenant(tenant_id).redact_json, memory_policy.policy_of(tenant_id).distill_above
    refs = [
        each for each in adapter.passes.ref_figures(tenant_id, now=now) if clean(each.memory_ref) == each.memory_ref
    ]
    return [
        RequestedPass(kind, memory_ref, trigger=Trigger.SCHEDULED)
        for kind, found in (
            (consolidation.KIND, _to_consolidate(tenant_id, refs)),
            (distillation.KIND, _to_distill(tenant_id, refs, above, now) if above else []),
        )
        for memory_ref in found
    ]


def _to_consolidate(tenant_id: UUID, refs: list[RefFigures]) -> list[str]:
    """Refs with an entry that no consolidation has seen, and at least one other."""
    known = consolidation_state.progress_of(tenant_id)
    due = [(known.get(each.memory_ref, (0, NEVER)), each) for each in refs if each.entries > 1]
    return _longest_waiting((at, each.memory_ref) for (position, at), each in due if each.position > position)


def _to_distill(tenant_id: UUID, refs: list[RefFigures], above: int, now: datetime) -> list[str]:
    """Those to which more than ``above`` tokens were written since their last archive."""
    made, due = archives.current_archives(tenant_id), []
    for ref in (each.memory_ref for each in refs if each.tokens > above):
        last = made.get(ref)
        if last is None:
            due.append((NEVER, ref))
        elif adapter.passes.tokens_written_after(tenant_id, ref, last.entry_id, now=now) > above:
            due.append((last.created_at, ref))
    return _longest_waiting(due)


def _longest_waiting(refs: Iterable[tuple[datetime, str]]) -> list[str]:
    return [memory_ref for _, memory_ref in sorted(refs)]


DAY = timedelta(days=1)
FIRST, LAST = date(1970, 1, 2), date(8999, 12, 31)
TROUBLED = (PassState.REFUSED, PassState.FAILED, PassState.CANCELLED)
DISTILLED = Q(kind=distillation.KIND, state=PassState.DONE, outcome__has_key="archiveId")
# The passes that each figure counts.
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
    """The 24 hours from ``begins`` to before ``ends``; ``day`` is the date on which they begin in ``timezone``, and
    ``began_today`` whether that is today's there."""

    day: date
    begins: datetime
    ends: datetime
    timezone: str
    is_last: bool
    began_today: bool

    @property
    def earlier(self) -> date:
        return self.day - DAY

    @property
    def later(self) -> date | None:
        return None if self.is_last else self.day + DAY


@dataclass(frozen=True, slots=True)
class NightFigures:
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
    policy = memory_policy.policy_of(scope.tenant_id)
    at, zone = time.fromisoformat(policy.night_at), ZoneInfo(policy.timezone)
    local = now.astimezone(zone)
    last = local.date() if local.time() >= at else local.date() - DAY
    chosen = day or last
    if not FIRST <= chosen <= min(last, LAST):
        raise Invalid(errors=[{"field": "night", "message": f"must be a day from {FIRST} to {last}"}])
    begins, ends = (cron.instant_of(datetime.combine(each, at), policy.timezone) for each in (chosen, chosen + DAY))
    return Night(chosen, begins, ends, policy.timezone, chosen == last, chosen == local.date())


def figures(scope: TenantScope, night: Night) -> NightFigures:
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
    gone = adapter.console.removed_between(scope, night.begins, night.ends).aggregate(**reasons)
    return NightFigures(
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
    """The passes of a figure, newest first, each with the current counts of what it retired."""
    page = read_page(_passes_of(scope, night).filter(PASSES[show]).select_related("run"), after, size)
    taken = orders.retired_counts(scope, [row.id for row in page.rows], now=now)
    return page.with_rows([summary(row, taken.get(row.id, orders.NOTHING)) for row in page.rows])


def _firings_of(scope: TenantScope, night: Night) -> QuerySet[Firing]:
    scope.check("memory:read")
    rows: QuerySet[Firing] = Firing.objects.of(scope.tenant_id)
    rows = rows.filter(fired_at__gte=night.begins, fired_at__lt=night.ends)
    bound = scope.principal.agent_ids
    return rows if bound is None else rows.filter(commitment__agent_id__in=bound)


def page_of_firings(scope: TenantScope, night: Night, *, after: UUID | None, size: int) -> Page[Firing]:
    """The commitments that fired, the latest first."""
    return read_page(_firings_of(scope, night), after, size)


def page_of_removed(scope: TenantScope, night: Night, show: str, *, after: UUID | None, size: int) -> Page[object]:
    """The tombstones of a figure: the id, why it is gone, and since when."""
    return read_page(_removed_of(scope, night, show), after, size)


def _removed_of(scope: TenantScope, night: Night, show: str) -> "QuerySet[Tombstone]":
    return adapter.console.removed_between(scope, night.begins, night.ends).filter(reason__in=REMOVALS[show])


def export(scope: TenantScope, night: Night, show: str) -> "Iterator[Pass | Firing | Tombstone]":
    """Yield the rows behind a figure, newest first, for a file."""
    if show == "fired":
        yield from chain.from_iterable(read_all(_firings_of(scope, night)))
    elif show in REMOVALS:
        yield from chain.from_iterable(read_all(_removed_of(scope, night, show)))
    else:
        yield from chain.from_iterable(read_all(_passes_of(scope, night).filter(PASSES[show])))
