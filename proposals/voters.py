"""Who may vote about a proposal now, by name, and why the others may not. Reads only.

The vote itself asks ``rules``; this is the same answer for everybody at once, in words.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.host import access, ids
from memory.host.models import Operator, RoleGrant
from proposals import rules
from proposals.models import Revision

SHOWN = 100
LEARNT_FROM = "words that it was learnt from"


@dataclass(frozen=True, slots=True)
class Elector:
    """A person of the tenant with the roles held now; ``why_not`` is empty for one who may vote."""

    principal: str
    name: str
    roles: list[str]
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Electorate:
    """The operators of the tenant, by their addresses; ``beyond`` are not listed, ``keys`` of service accounts
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
    """The tenant's operators as voters at a gate for ``roles``; ``voted`` is who has voted there, and how.

    ``contributors`` are those with a part in the proposal, also when they wrote none of its revisions.
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
    """Each person with those of ``principals`` that may be that person's word."""
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
    """How many service accounts whose keys are good now and bound to no agent may vote; a person's key is no other
    voice than the person's."""
    wanted = [found for each in entitled if (found := ids.parse("key", each))]
    rows = access.good_keys(tenant_id, now=now).filter(id__in=wanted, owner=None) if wanted else []
    free = {ids.wire("key", key.id) for key in rows if not key.agents}
    return len(free - access.same_people(tenant_id, barred, free))


def authored(revisions: Sequence[Revision], principals: Collection[str]) -> str:
    """Which revisions one of these principals wrote: ``revision 3``, ``revisions 1, 2 and 4``, or nothing."""
    in_order = sorted(revisions, key=lambda each: each.number)
    numbers = [str(each.number) for each in in_order if each.revised_by in principals]
    if len(numbers) < 2:
        return f"revision {numbers[0]}" if numbers else ""
    return f"revisions {', '.join(numbers[:-1])} and {numbers[-1]}"
