"""Reads one proposal: revisions, gates, votes, the effect of its installation, and who may vote now.

The number of queries does not depend on the length of the history. ``rules`` checks a vote; the electorate here applies
the same rule to all people of the tenant at once, with the reason in words.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.host import access, api_keys, audit_access, ids, registry
from memory.host.errors import NotFound
from memory.host.models import AuditRecord, Installation, Operator, RoleGrant
from memory.host.tenancy import TenantScope
from proposals import artifacts, comments, impact, policies, revisions, rules
from proposals.impact import Effect
from proposals.models import (
    UNDER_REVIEW,
    Comment,
    Decision,
    Gate,
    GateState,
    Proposal,
    Purpose,
    Revision,
    State,
    Vote,
)
from proposals.policies import Policy

RECORDS_SHOWN = 100
WITHDRAWN = "proposal.gate.withdraw"
SHOWN = 100
LEARNT_FROM = "words that it was learnt from"


@dataclass(frozen=True, slots=True)
class Elector:
    """A person of the tenant with current roles; ``why_not`` is empty for one who may vote."""

    principal: str
    name: str
    roles: list[str]
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Electorate:
    """The operators of the tenant, by email; ``beyond`` counts those not listed, ``keys`` the service accounts that
    may vote too."""

    eligible: list[Elector]
    others: list[Elector]
    beyond: int
    keys: int


def voters_of_tenant(
    tenant_id: UUID,
    revisions: Sequence[Revision],
    *,
    contributors: Collection[str] = (),
    roles: Collection[str],
    voted: Mapping[str, str],
    now: datetime,
) -> Electorate:
    """The tenant's operators as voters at a gate for ``roles``; ``voted`` maps principals to their decisions there.

    ``contributors`` have a part in the proposal, even if they wrote none of its revisions.
    """
    held: dict[str, list[str]] = {}
    for principal, role in RoleGrant.objects.of(tenant_id).order_by("role").values_list("principal", "role"):
        held.setdefault(principal, []).append(role)
    people = Operator.objects.active_in(tenant_id).order_by("email")
    found = list(people.values_list("id", "email")[: SHOWN + 1])
    beyond = people.count() - SHOWN if len(found) > SHOWN else 0
    writers = {each.revised_by for each in revisions} | set(contributors)
    barred = _by_person(tenant_id, writers | set(voted))
    wrote = {who: authored(revisions, mine) or LEARNT_FROM for who in barred if (mine := barred[who] & writers)}
    cast = {who: voted[each] for who in barred for each in barred[who] & set(voted)}
    electors = [_elector(ids.wire("usr", person), email, held, wrote, roles, cast) for person, email in found[:SHOWN]]
    entitled = {who for who, mine in held.items() if _may(mine, roles)}
    eligible = [each for each in electors if not each.why_not]
    others = [each for each in electors if each.why_not]
    return Electorate(eligible, others, beyond, _keys(tenant_id, entitled, set(barred), now))


def _by_person(tenant_id: UUID, principals: Collection[str]) -> dict[str, set[str]]:
    """By person: those of ``principals`` that may act for that person."""
    found: dict[str, set[str]] = {}
    for principal, people in access.people_behind(tenant_id, principals).items():
        for person in people:
            found.setdefault(person, set()).add(principal)
    return found


def _elector(
    principal: str,
    name: str,
    held: Mapping[str, list[str]],
    wrote: Mapping[str, str],
    roles: Collection[str],
    voted: Mapping[str, str],
) -> Elector:
    mine = held.get(principal, [])
    why = ""
    if principal in wrote:
        why = f"authored {wrote[principal]}"
    elif principal in voted:
        why = f"has voted: {voted[principal]}"
    elif not _may(mine, roles):
        why = f"has the {'role' if len(mine) == 1 else 'roles'} {', '.join(mine)}" if mine else "has no role"
    return Elector(principal, name, mine, why)


def _may(mine: Collection[str], roles: Collection[str]) -> bool:
    needed = rules.scope_for("decide")
    return bool(set(mine) & set(roles)) and any(needed in access.ROLES.get(role, ()) for role in mine)


def _keys(tenant_id: UUID, entitled: Collection[str], barred: Collection[str], now: datetime) -> int:
    """Count the service accounts that may vote: with a valid key, bound to no agent. A person's own key is excluded,
    because it votes as that person."""
    wanted = [found for each in entitled if (found := ids.parse("key", each))]
    rows = api_keys.good_keys(tenant_id, now=now).filter(id__in=wanted, owner=None) if wanted else []
    free = {ids.wire("key", key.id) for key in rows if not key.agents}
    return len(free - access.same_people(tenant_id, barred, free))


def authored(revisions: Sequence[Revision], principals: Collection[str]) -> str:
    """The revisions that these principals wrote, as ``revision 3`` or ``revisions 1, 2 and 4``; "" for none."""
    in_order = sorted(revisions, key=lambda each: each.number)
    numbers = [str(each.number) for each in in_order if each.revised_by in principals]
    if len(numbers) < 2:
        return f"revision {numbers[0]}" if numbers else ""
    return f"revisions {', '.join(numbers[:-1])} and {numbers[-1]}"


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
    """A gate with its votes, in the order they were cast; ``withdrawn_by`` is a principal or ""."""

    gate: Gate
    votes: list[Vote]
    withdrawn_by: str = ""

    @property
    def grants(self) -> int:
        return sum(1 for vote in self.votes if vote.decision == Decision.GRANTED)

    @property
    def is_void(self) -> bool:
        """Whether a later revision voided the gate and its votes."""
        return self.gate.state == GateState.VOID

    @property
    def overrides(self) -> list[Vote]:
        return [vote for vote in self.votes if vote.overrides]


@dataclass(frozen=True, slots=True)
class Detail:
    """One proposal with everything a page shows; revisions and ballots newest first, comments oldest first.

    ``policy`` is the current one of its kind; a gate keeps the one it was opened under.
    """

    proposal: Proposal
    revisions: list[Revision]
    ballots: list[Ballot]
    effect: Effect
    comments: list[Comment]
    policy: Policy

    @property
    def current(self) -> Revision:
        return self.revisions[0]

    @property
    def gate(self) -> Gate | None:
        """The gate of the current activation, or None."""
        return next((ballot.gate for ballot in self.ballots if ballot.gate.closed_at is None), None)

    @property
    def last(self) -> Ballot | None:
        """The latest gate with its votes, open or closed."""
        return self.ballots[0] if self.ballots else None

    @property
    def installs_next(self) -> bool:
        """Whether one more approval grants the open gate and installs the artifact."""
        return bool(self.gate and self.last and self.last.grants + 1 >= self.gate.quorum)

    @property
    def approval(self) -> Gate | None:
        """The gate whose grant led to the installation, or None."""
        return next((each.gate for each in self.ballots if each.gate.id == self.proposal.approval_id), None)

    @property
    def overridden(self) -> list[Ballot]:
        """The gates with an override vote, in any state."""
        return [each for each in self.ballots if each.overrides]

    @property
    def failed(self) -> Gate | None:
        """The latest gate, if it was granted and its installation failed."""
        gate = self.last.gate if self.last and self.under_review else None
        return gate if gate and gate.state == GateState.GRANTED and gate.closed_at else None

    @property
    def under_review(self) -> bool:
        return self.proposal.state in UNDER_REVIEW

    @property
    def installs(self) -> str:
        """The ref that an installation would get, ``name@version``; "" when the artifact has no name."""
        kind, text = self.proposal.kind, self.current.text
        name = artifacts.name_in(kind, text)
        return f"{name}@{artifacts.version_in(kind, text)}" if name else ""

    def vote_of(self, person: str) -> Vote | None:
        """The vote of this person at the gate under way, by login or by key."""
        votes = self.last.votes if self.last and self.gate else []
        return next((vote for vote in votes if vote.person == person), None)

    def revision(self, number: int) -> Revision | None:
        return next((each for each in self.revisions if each.number == number), None)


def detail(scope: TenantScope, proposal_id: UUID | None) -> Detail:
    """The proposal of this tenant with its revisions, gates, votes and effect; or ``NotFound``."""
    found = find(scope, proposal_id)
    made = revisions.list_all(found)
    policy = policies.policy_of_kind(found.tenant_id, found.kind)
    return Detail(found, made, ballots_of(found), impact.impact_of(found, made), comments.comments_of(found), policy)


def ballots_of(proposal: Proposal) -> list[Ballot]:
    """The gates of the proposal with their votes, newest first."""
    gates = list(
        Gate.objects.of(proposal.tenant_id).select_related("run").filter(proposal_id=proposal.id).order_by("-id")
    )
    if not gates:
        return []
    votes = Vote.objects.of(proposal.tenant_id).filter(gate_id__in=[gate.id for gate in gates]).order_by("id")
    cast: dict[UUID, list[Vote]] = {}
    for vote in votes:
        cast.setdefault(vote.gate_id, []).append(vote)
    withdrawn = _withdrawn(proposal) if any(gate.state == GateState.CANCELLED for gate in gates) else {}
    return [Ballot(gate, cast.get(gate.id, []), withdrawn.get(ids.wire("gate", gate.id), "")) for gate in gates]


def _withdrawn(proposal: Proposal) -> dict[str, str]:
    """By gate wire id: the principal who withdrew it, if the audit record still exists."""
    rows = AuditRecord.objects.of(proposal.tenant_id).filter(target=ids.wire("prop", proposal.id), action=WITHDRAWN)
    return {details["approvalId"]: actor for actor, details in rows.values_list("actor", "details")}


def who_may_vote(scope: TenantScope, shown: Detail, *, now: datetime) -> Electorate:
    """Who may vote, and who may not and why, at the gate under way or at one opened now."""
    scope.check("proposals:read")
    gate, open_one = shown.gate, shown.last if shown.gate else None
    voted = {vote.principal: vote.decision for vote in open_one.votes} if open_one else {}
    roles = gate.eligible_roles if gate and gate.eligible_roles else shown.policy.eligible_roles
    barred = shown.proposal.contributors
    return voters_of_tenant(scope.tenant_id, shown.revisions, contributors=barred, roles=roles, voted=voted, now=now)


def versions(shown: Detail) -> list[Installation]:
    """Every version ever installed under the name of this proposal's installation, latest first."""
    there = shown.effect.installation
    return registry.versions(there.tenant_id, there.kind, there.name) if there else []


def rollbacks_to(shown: Detail) -> dict[UUID, datetime]:
    """By installation id: when a rollback last made that version current again."""
    refs = {each.ref: each.id for each in versions(shown)}
    rows = Proposal.objects.of(shown.proposal.tenant_id).filter(purpose=Purpose.ROLLBACK, state=State.APPLIED)
    applied = rows.filter(installed_ref__in=refs).order_by("closed_at").values_list("installed_ref", "closed_at")
    return {refs[ref]: closed_at for ref, closed_at in applied if ref and closed_at}


def uses_again(shown: Detail, again: Mapping[UUID, datetime]) -> int | None:
    """The runs that used what is installed since it came into force again (``rollbacks_to``); None if it never did."""
    there = shown.effect.installation
    if there is None or there.id not in again:
        return None
    mine = [there.id, *(part.id for part in shown.effect.parts)]
    return registry.count_uses(there.tenant_id, mine, since=again[there.id])


def records(scope: TenantScope, shown: Detail, *, now: datetime) -> list[AuditRecord]:
    """The newest audit records about the proposal and its gates; reading them is audited too."""
    targets = [ids.wire("prop", shown.proposal.id), *(ids.wire("gate", each.gate.id) for each in shown.ballots)]
    return audit_access.list_records_about(scope, targets, limit=RECORDS_SHOWN, now=now)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The previous and next proposal in the inbox, which lists the newest first."""

    newer: Proposal | None
    older: Proposal | None


def neighbours(scope: TenantScope, proposal: Proposal) -> Neighbours:
    """The proposals just newer and just older than this one, of all in the tenant."""
    scope.check("proposals:read")
    rows = Proposal.objects.of(scope.tenant_id)
    return Neighbours(
        rows.filter(id__gt=proposal.id).order_by("id").first(), rows.filter(id__lt=proposal.id).order_by("-id").first()
    )
