"""The lines of an inbox: the page by page, those of everything that matches, and those somebody has chosen."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet, Subquery

from memory.host.tenancy import TenantScope
from proposals.inbox.filters import InboxFilter, matching
from proposals.inbox.standing import NONE, latest_gate, standing
from proposals.models import UNDER_REVIEW, Decision, Gate, Proposal, Revision, Vote

PAGE = 50
CHUNK = 500
UNREAD = ("rationale", "evidence")


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the inbox: the proposal, the size of its change, and its latest gate with where that stands.

    ``grants`` and ``overridden`` tell of the votes at that gate.
    """

    proposal: Proposal
    gate: Gate | None = None
    standing: str = NONE
    grants: int = 0
    overridden: bool = False
    added: int = 0
    removed: int = 0
    sha256: str = ""

    @property
    def under_way(self) -> Gate | None:
        """The gate of the activation that is under way, or None."""
        return self.gate if self.gate and self.gate.closed_at is None else None

    @property
    def under_review(self) -> bool:
        return self.proposal.state in UNDER_REVIEW


@dataclass(frozen=True, slots=True)
class InboxPage:
    """One page; ``total`` counts all that match, ``after`` is the id to continue behind."""

    rows: list[Row]
    total: int
    first: int
    after: UUID | None

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1


@dataclass(frozen=True, slots=True)
class Listing:
    """Some standing revisions, each with its ``proposal``; ``total`` counts all that match, ``after`` is the id of the
    proposal to continue behind."""

    revisions: list[Revision]
    total: int
    after: UUID | None


def page(
    scope: TenantScope,
    wanted: InboxFilter,
    *,
    after: UUID | None = None,
    seen: int = 0,
    size: int = PAGE,
    now: datetime,
) -> InboxPage:
    """The ``size`` newest proposals behind ``after``; ``seen`` is how many came before it."""
    scope.check("proposals:read")
    found = matching(scope, wanted, now=now)
    rows, more = _behind(scope, found, after, size, now)
    return InboxPage(rows, found.count(), seen + 1, more)


def every(scope: TenantScope, wanted: InboxFilter, *, now: datetime) -> Iterator[Row]:
    """Every proposal that matches, the newest first; the permission is checked before the first is read."""
    scope.check("proposals:read")
    return _to_the_end(scope, matching(scope, wanted, now=now), now)


def chosen(scope: TenantScope, proposal_ids: Collection[UUID], *, now: datetime) -> list[Row]:
    """Those of this tenant that have one of these ids, the newest first."""
    scope.check("proposals:read")
    found = Proposal.objects.of(scope.tenant_id).filter(id__in=proposal_ids)
    return _lines(scope.tenant_id, found.order_by("-id"), len(proposal_ids), now)


def listing(scope: TenantScope, wanted: InboxFilter, *, now: datetime) -> list[Revision]:
    """The standing revision of every proposal that matches, the newest proposal first, each with its ``proposal``."""
    scope.check("proposals:read")
    return list(_standing_of(scope, matching(scope, wanted, now=now)))


def listed(scope: TenantScope, wanted: InboxFilter, *, after: UUID | None = None, limit: int, now: datetime) -> Listing:
    """The same, ``limit`` of them at most: those of the newest proposals behind ``after``."""
    scope.check("proposals:read")
    found = matching(scope, wanted, now=now)
    rows = list(_standing_of(scope, found.filter(id__lt=after) if after else found)[: limit + 1])
    more = rows[limit - 1].proposal_id if len(rows) > limit else None
    return Listing(rows[:limit], found.count(), more)


def _standing_of(scope: TenantScope, found: QuerySet[Proposal]) -> QuerySet[Revision]:
    rows: QuerySet[Revision] = Revision.objects.of(scope.tenant_id).select_related("proposal__tenant")
    return rows.filter(proposal_id__in=found.values("id"), number=F("proposal__revision")).order_by("-proposal_id")


def _to_the_end(scope: TenantScope, found: QuerySet[Proposal], now: datetime) -> Iterator[Row]:
    after: UUID | None = None
    while True:
        rows, after = _behind(scope, found, after, CHUNK, now)
        yield from rows
        if after is None:
            return


def _behind(
    scope: TenantScope, found: QuerySet[Proposal], after: UUID | None, size: int, now: datetime
) -> tuple[list[Row], UUID | None]:
    """The next ``size`` lines, and the id behind which there are more."""
    rows = found if after is None else found.filter(id__lt=after)
    lines = _lines(scope.tenant_id, rows.order_by("-id"), size + 1, now)
    return lines[:size], lines[size - 1].proposal.id if len(lines) > size else None


def _lines(tenant_id: UUID, found: QuerySet[Proposal], limit: int, now: datetime) -> list[Row]:
    """The first ``limit`` of them as lines, in four queries."""
    gate_id = Subquery(latest_gate(tenant_id).values("id")[:1])
    rows: list[Any] = list(found.annotate(stands=standing(tenant_id, now=now), gate_id=gate_id).defer(*UNREAD)[:limit])
    gates = Gate.objects.of(tenant_id).in_bulk_by_id([row.gate_id for row in rows if row.gate_id])
    votes = _votes(tenant_id, list(gates))
    sizes = _sizes(tenant_id, [row.id for row in rows])
    return [_line(row, gates.get(row.gate_id), votes.get(row.gate_id, (0, False)), sizes[row.id]) for row in rows]


def _line(row: Any, gate: Gate | None, votes: tuple[int, bool], size: tuple[int, int, str]) -> Row:
    (grants, overridden), (added, removed, sha256) = votes, size
    return Row(row, gate, row.stands, grants, overridden, added, removed, sha256)


def _votes(tenant_id: UUID, gates: list[UUID]) -> dict[UUID, tuple[int, bool]]:
    """How many grants each gate has, and whether one of them is an override."""
    cast: dict[UUID, tuple[int, bool]] = {}
    granted = Vote.objects.of(tenant_id).filter(gate_id__in=gates, decision=Decision.GRANTED)
    for gate_id, overrides in granted.values_list("gate_id", "overrides"):
        grants, overridden = cast.get(gate_id, (0, False))
        cast[gate_id] = (grants + 1, overridden or overrides)
    return cast


def _sizes(tenant_id: UUID, proposals: list[UUID]) -> dict[UUID, tuple[int, int, str]]:
    """The lines that the standing revision of each adds and removes, and its digest."""
    standing_now = Revision.objects.of(tenant_id).filter(proposal_id__in=proposals, number=F("proposal__revision"))
    told = standing_now.values_list("proposal_id", "lines_added", "lines_removed", "sha256")
    return {proposal_id: (added, removed, sha256) for proposal_id, added, removed, sha256 in told}
