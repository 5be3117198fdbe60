"""What a principal may see and do of commitments: read them, put them off, cancel them.

The intention itself is in memory and is read there at that moment, redacted; it is absent when its entry is gone. A key
that is bound to agents sees what came from their entries, and nothing else.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import transaction
from django.db.models import Count, QuerySet

from memory import adapter, drafts, harness, policies
from memory.commitments import rows
from memory.host import audit, cron, ids
from memory.host.errors import Invalid, NotFound
from memory.host.paging import Page, read_all, read_page
from memory.host.tenancy import TenantScope
from memory.models import Commitment, CommitmentState, Firing
from memory.redaction import Redactor
from memory.text import intentions
from memory.text.intentions import FARTHEST

if TYPE_CHECKING:
    from memory.models.entry import MemoryEntry

SHOWN_FIRINGS = 50


@dataclass(frozen=True, slots=True)
class Shown:
    """A commitment, the words of memory it stands in, and how often it may fire.

    ``intention`` is None when the entry is gone.
    """

    row: Commitment
    intention: str | None

    @property
    def clause(self) -> str:
        """What it waits for, in the words of memory; "" when that is a time, or the entry is gone."""
        if self.intention is None or not self.row.predicate:
            return ""
        found = intentions.found_in(self.intention, zone=self.row.timezone, written_at=self.row.created_at)
        return found[0].clause if found else ""

    @property
    def allowed(self) -> int | None:
        """How often it may ever fire: a single time once; None for a condition, which fires once each time it comes
        true, and for a time that comes again."""
        return None if self.row.repeats or self.row.predicate else 1

    @property
    def occasions(self) -> int | None:
        """How often it may have fired by now; None for a time that comes again."""
        return int(self.row.predicate.get("turn", 0)) if self.row.predicate else self.allowed

    @property
    def twice(self) -> bool:
        """Whether it has fired more often than that, which must never be."""
        return self.occasions is not None and self.row.fired_count > max(self.occasions, 0)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which commitments: those in a state, from a ref; "" is any."""

    state: str = ""
    memory_ref: str = ""


def page(
    scope: TenantScope, wanted: Wanted, *, after: UUID | None = None, size: int = 50, now: datetime
) -> Page[Shown]:
    """The commitments behind ``after``, newest first."""
    found = read_page(_matching(scope, wanted), after, size)
    return found.of(_shown(scope, found.rows, now))


def export_commitments(scope: TenantScope, wanted: Wanted, *, now: datetime) -> Iterator[Shown]:
    """All of them, newest first; read in chunks, for a file."""
    for chunk in read_all(_matching(scope, wanted)):
        yield from _shown(scope, chunk, now)


def count_by_state(scope: TenantScope) -> dict[str, int]:
    """How many there are in each state, 0 too."""
    counted = _matching(scope, Wanted()).order_by().values_list("state").annotate(found=Count("id"))
    return dict.fromkeys(CommitmentState.values, 0) | dict(counted)


def find(scope: TenantScope, commitment_id: UUID | None, *, now: datetime) -> Shown:
    """One commitment; unknown, foreign and malformed ids are one ``NotFound``."""
    return _shown(scope, [_mine(scope, commitment_id)], now)[0]


def firings_of(scope: TenantScope, commitment_id: UUID, *, limit: int = SHOWN_FIRINGS) -> list[Firing]:
    """Its last firings, the latest first."""
    scope.check("memory:read")
    rows_of = Firing.objects.of(scope.tenant_id).filter(commitment_id=commitment_id)
    return list(rows_of.order_by("-id")[:limit])


@transaction.atomic
def snooze(scope: TenantScope, commitment_id: UUID | None, *, until: datetime, now: datetime) -> Commitment:
    """It does not fire before ``until``, at most 90 days ahead. A time that comes again goes on behind it. Audited."""
    scope.check("memory:retire")
    row = rows.locked(scope.tenant_id, _mine(scope, commitment_id).id)
    if not now < until <= now + FARTHEST:
        message = "must lie in the future, and at most 90 days ahead"
        raise Invalid("The commitment was not put off.", errors=[{"field": "until", "message": message}])
    patience = timedelta(days=policies.policy_of(scope.tenant_id).stale_days)
    stale_at = row.stale_at and max(row.stale_at, until + patience)
    put_off = {"snoozed_until": until, "due_at": _due_behind(row, until), "stale_at": stale_at}
    rows.move(row, CommitmentState.SNOOZED, now=now, **put_off)
    _audit(scope, "snoozed", row, now)
    return row


def _due_behind(row: Commitment, until: datetime) -> datetime | None:
    if row.repeats:
        return cron.next_after(row.repeats, row.timezone, until - timedelta(microseconds=1))
    return row.due_at and max(row.due_at, until)


@transaction.atomic
def cancel(scope: TenantScope, commitment_id: UUID | None, *, reason: str, now: datetime) -> Commitment:
    """It never fires again; the reason stays with it, without the tenant's secrets. Audited."""
    scope.check("memory:retire")
    row = rows.locked(scope.tenant_id, _mine(scope, commitment_id).id)
    said = harness.for_tenant(scope.tenant_id).redact(drafts.checked_reason(reason)).text[: drafts.MAX_REASON]
    rows.move(row, CommitmentState.CANCELLED, now=now, reason=said, due_at=None, snoozed_until=None)
    _audit(scope, "cancelled", row, now)
    return row


def _audit(scope: TenantScope, what: str, row: Commitment, now: datetime) -> None:
    target = ids.wire("cmt", row.id)
    audit.append(scope.tenant_id, actor=scope.principal.id, action=f"commitment.{what}", target=target, now=now)


def _matching(scope: TenantScope, wanted: Wanted) -> QuerySet[Commitment]:
    scope.check("memory:read")
    found: QuerySet[Commitment] = Commitment.objects.of(scope.tenant_id).order_by("-id")
    bound = scope.principal.agent_ids
    found = found if bound is None else found.filter(agent_id__in=bound)
    found = found.filter(state=wanted.state) if wanted.state else found
    return found.filter(memory_ref=wanted.memory_ref) if wanted.memory_ref else found


def _mine(scope: TenantScope, commitment_id: UUID | None) -> Commitment:
    row = _matching(scope, Wanted()).filter(id=commitment_id).first() if commitment_id else None
    if row is None:
        raise NotFound("There is no commitment by that id.")
    return row


def _shown(scope: TenantScope, found: Sequence[Commitment], now: datetime) -> list[Shown]:
    entries = adapter.by_ids(scope, [row.entry_id for row in found], now=now)
    redactor = harness.for_tenant(scope.tenant_id)
    return [Shown(row, _said(row, entries.get(row.entry_id), redactor)) for row in found]


def _said(row: Commitment, entry: "MemoryEntry | None", redactor: Redactor) -> str | None:
    return redactor.redact(entry.content[row.starts : row.ends]).text if entry else None
