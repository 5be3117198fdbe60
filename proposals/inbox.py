"""The inbox: lists of proposals with their filters and counts. Reads only; one proposal by itself is in ``review``.

The number of queries is the same however long a list is, and every list says how many there are in all.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from memory.host.tenancy import TenantScope
from proposals import rules
from proposals.models import Decision, Gate, GateState, Proposal, Revision, Vote

ALL, NEEDS_ME, MINE = "all", "needs-me", "mine"
SHOWS = (NEEDS_ME, MINE, ALL)
PAGE = 50


@dataclass(frozen=True, slots=True)
class InboxFilter:
    """What to show; empty means everything. An unknown word matches nothing."""

    show: str = ALL
    state: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the inbox: the proposal, and its gate under way with the grants it has."""

    proposal: Proposal
    gate: Gate | None
    grants: int


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


def page(
    scope: TenantScope, wanted: InboxFilter, *, after: UUID | None = None, seen: int = 0, size: int = PAGE
) -> InboxPage:
    """The ``size`` newest proposals behind ``after``; ``seen`` is how many came before it."""
    scope.check("proposals:read")
    matching = _matching(scope, wanted)
    rows = matching if after is None else matching.filter(id__lt=after)
    found = list(rows.order_by("-id")[: size + 1])
    more = found[size - 1].id if len(found) > size else None
    return InboxPage(_with_gates(scope.tenant_id, found[:size]), matching.count(), seen + 1, more)


def _matching(scope: TenantScope, wanted: InboxFilter) -> QuerySet[Proposal]:
    rows: QuerySet[Proposal] = Proposal.objects.of(scope.tenant_id)
    me = scope.principal.id
    if wanted.show == NEEDS_ME:
        rows = _awaiting(scope, rows)
    elif wanted.show == MINE:
        rows = rows.filter(Q(author=me) | Q(last_reviser=me))
    elif wanted.show != ALL:
        return rows.none()
    exact = {"state": wanted.state, "kind": wanted.kind}
    return rows.filter(**{field: value for field, value in exact.items() if value})


def _awaiting(scope: TenantScope, rows: QuerySet[Proposal]) -> QuerySet[Proposal]:
    """Those with an open gate at which this principal may vote and has not."""
    if not scope.can(rules.scope_for("decide")) or scope.principal.agent_ids is not None:
        return rows.none()
    me = scope.principal.id
    mine = Vote.objects.of(scope.tenant_id).filter(gate_id=OuterRef("id"), principal=me)
    gates = Gate.objects.of(scope.tenant_id).filter(proposal_id=OuterRef("id"), state=GateState.OPEN)
    written = Revision.objects.of(scope.tenant_id).filter(proposal_id=OuterRef("id"), revised_by=me)
    return rows.filter(Exists(gates.filter(~Exists(mine))), ~Exists(written))


def _with_gates(tenant_id: UUID, found: list[Proposal]) -> list[Row]:
    wanted = [proposal.id for proposal in found]
    gates = Gate.objects.of(tenant_id).select_related("run").filter(proposal_id__in=wanted, closed_at=None)
    by_proposal: dict[UUID, Gate] = {gate.proposal_id: gate for gate in gates}
    votes = Vote.objects.of(tenant_id).filter(
        gate_id__in=[gate.id for gate in by_proposal.values()], decision=Decision.GRANTED
    )
    grants = dict(votes.values_list("gate_id").annotate(number=Count("id")))
    return [_row(each, by_proposal.get(each.id), grants) for each in found]


def _row(proposal: Proposal, gate: Gate | None, grants: dict[Any, int]) -> Row:
    return Row(proposal, gate, grants.get(gate.id, 0) if gate else 0)


@dataclass(frozen=True, slots=True)
class Counts:
    """How many proposals there are behind each choice of the inbox, in all."""

    shows: dict[str, int]
    states: dict[str, int]
    kinds: dict[str, int]


def counts(scope: TenantScope, wanted: InboxFilter) -> Counts:
    """The number behind each choice: scopes over everything, states and kinds within the chosen scope."""
    scope.check("proposals:read")
    shown = _matching(scope, InboxFilter(wanted.show))
    by = {field: dict(shown.order_by().values_list(field).annotate(number=Count("id"))) for field in ("state", "kind")}
    shows = {show: _matching(scope, InboxFilter(show)).count() for show in SHOWS}
    return Counts(shows, by["state"], by["kind"])


def awaiting_me(scope: TenantScope, *, limit: int = 10) -> InboxPage:
    """What waits for this principal's vote, the oldest first: for "Needs you"."""
    scope.check("proposals:read")
    matching = _matching(scope, InboxFilter(NEEDS_ME))
    found = list(matching.order_by("id")[:limit])
    return InboxPage(_with_gates(scope.tenant_id, found), matching.count(), 1, None)


def listing(scope: TenantScope, wanted: InboxFilter) -> list[Revision]:
    """The standing revision of every proposal that matches, the newest proposal first, each with its ``proposal``."""
    scope.check("proposals:read")
    matching = _matching(scope, wanted).values("id")
    rows = Revision.objects.of(scope.tenant_id).select_related("proposal__tenant")
    return list(rows.filter(proposal_id__in=matching, number=F("proposal__revision")).order_by("-proposal_id"))
