"""Everything about one proposal: its revisions, its gates and votes, and what its installation did. Reads only.

The number of queries is the same however long the history is.
"""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from memory.host import registry
from memory.host.errors import NotFound
from memory.host.models import Installation, Resolution, Run
from memory.host.tenancy import TenantScope
from proposals import artifacts, revisions
from proposals.models import UNDER_REVIEW, Decision, Gate, Proposal, Revision, Vote

USES_SHOWN = 20


def find(scope: TenantScope, proposal_id: UUID | None) -> Proposal:
    """The proposal of this tenant, or ``NotFound``."""
    scope.check("proposals:read")
    found: Proposal | None = (
        Proposal.objects.of(scope.tenant_id).filter(id=proposal_id).first() if proposal_id else None
    )
    if found is None:
        raise NotFound("There is no proposal by that id.")
    return found


@dataclass(frozen=True, slots=True)
class Ballot:
    """A gate with its votes, in the order they were cast."""

    gate: Gate
    votes: list[Vote]

    @property
    def grants(self) -> int:
        return sum(1 for vote in self.votes if vote.decision == Decision.GRANTED)


@dataclass(frozen=True, slots=True)
class Effect:
    """The proof on the page: which runs have resolved the installed artifact, and which another version of its name.

    ``installed_now`` is what a run would resolve by that name today; ``runs_since_created`` counts the tenant's own
    runs since the proposal was made, system runs left out.
    """

    installation: Installation | None
    installed_now: Installation | None
    uses: list[Resolution]
    uses_total: int
    other_uses: list[Resolution]
    other_uses_total: int
    runs_since_created: int


@dataclass(frozen=True, slots=True)
class Detail:
    """Everything a page says about one proposal; revisions and ballots newest first."""

    proposal: Proposal
    revisions: list[Revision]
    ballots: list[Ballot]
    effect: Effect

    @property
    def current(self) -> Revision:
        return self.revisions[0]

    @property
    def gate(self) -> Gate | None:
        """The gate under way, or None."""
        return next((ballot.gate for ballot in self.ballots if ballot.gate.closed_at is None), None)

    @property
    def under_review(self) -> bool:
        return self.proposal.state in UNDER_REVIEW

    def revision(self, number: int) -> Revision | None:
        return next((each for each in self.revisions if each.number == number), None)


def detail(scope: TenantScope, proposal_id: UUID | None) -> Detail:
    """The proposal of this tenant with its revisions, gates, votes and effect; or ``NotFound``."""
    found = find(scope, proposal_id)
    made = revisions.all_of(found)
    return Detail(found, made, _ballots(found), _effect(found, made[0]))


def _ballots(proposal: Proposal) -> list[Ballot]:
    gates = list(
        Gate.objects.of(proposal.tenant_id).select_related("run").filter(proposal_id=proposal.id).order_by("-id")
    )
    votes = Vote.objects.of(proposal.tenant_id).filter(gate_id__in=[gate.id for gate in gates]).order_by("id")
    cast: dict[UUID, list[Vote]] = {}
    for vote in votes:
        cast.setdefault(vote.gate_id, []).append(vote)
    return [Ballot(gate, cast.get(gate.id, [])) for gate in gates]


def _effect(proposal: Proposal, current: Revision) -> Effect:
    tenant_id = proposal.tenant_id
    ref = proposal.installed_ref
    installation = registry.by_ref(tenant_id, ref) if ref else None
    name = artifacts.name_in(proposal.kind, current.text)
    uses = registry.uses_of(tenant_id, installation.id, limit=USES_SHOWN) if installation else []
    others = _uses_of_other_versions(proposal, name, installation)
    return Effect(
        installation=installation,
        installed_now=registry.current(tenant_id, proposal.kind, name) if name else None,
        uses=uses,
        uses_total=registry.count_uses(tenant_id, installation.id) if installation else 0,
        other_uses=list(others.select_related("run", "installation").order_by("-id")[:USES_SHOWN]),
        other_uses_total=others.count(),
        runs_since_created=Run.objects.of(tenant_id).filter(id__gt=proposal.id, system=False).count(),
    )


def _uses_of_other_versions(proposal: Proposal, name: str, installation: Installation | None) -> QuerySet[Resolution]:
    rows: QuerySet[Resolution] = Resolution.objects.of(proposal.tenant_id).filter(
        installation__kind=proposal.kind, installation__name=name
    )
    return rows.exclude(installation_id=installation.id) if installation else rows
