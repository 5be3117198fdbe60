"""What an inbox may be asked for, and which proposals that are. For this package alone, but for the filter itself."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import CharField, Exists, F, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Cast, Replace

from memory.host import access
from memory.host.tenancy import TenantScope
from proposals import rules
from proposals.inbox.standing import latest_gate, standing
from proposals.models import UNDER_REVIEW, Gate, GateState, Proposal, Vote

ALL, NEEDS_ME, MINE = "all", "needs-me", "mine"
SHOWS = (NEEDS_ME, MINE, ALL)
OLDER = "older"
AGES: dict[str, timedelta] = {"24h": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30)}
DUPLICATES = {"yes": False, "no": True}
# In place of the synthesizer: nobody's model, but a person, a key or an agent wrote it.
NOBODY = "-"
NOTHING = Q(id__in=())
PART_OF_AN_ID = re.compile(r"[0-9a-f]{4,32}")


@dataclass(frozen=True, slots=True)
class InboxFilter:
    """What to show; empty means everything. Any of several values of one facet will do; facets hold together.

    An unknown word matches nothing.
    """

    show: str = ALL
    gates: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    age: str = ""
    synthesizers: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    purposes: tuple[str, ...] = ()
    text: str = ""


def matching(scope: TenantScope, wanted: InboxFilter, *, now: datetime, besides: str = "") -> QuerySet[Proposal]:
    """The proposals that ``wanted`` describes; ``besides`` is a facet that is left out of account."""
    asked = [condition for facet, condition in _conditions(wanted, now).items() if facet != besides]
    rows = _shown(scope, wanted.show, now).alias(standing=standing(scope.tenant_id, now=now), wire=_wire())
    return rows.filter(*(condition for condition in asked if condition))


def ids_matching(scope: TenantScope, wanted: InboxFilter, *, limit: int, now: datetime) -> list[UUID]:
    """The ids of the newest ``limit`` proposals that match, the newest first."""
    scope.check("proposals:read")
    return list(matching(scope, wanted, now=now).order_by("-id").values_list("id", flat=True)[:limit])


def _wire() -> Replace:
    """The id as its 32 digits, on every engine."""
    return Replace(Cast("id", CharField()), Value("-"), Value(""))


def _conditions(wanted: InboxFilter, now: datetime) -> dict[str, Q]:
    """What each facet asks of a row; an empty one asks nothing."""
    return {
        "gate": _any_of("standing", wanted.gates),
        "state": _any_of("state", wanted.states),
        "kind": _any_of("kind", wanted.kinds),
        "age": of_age(wanted.age, now) if wanted.age else Q(),
        "synthesizer": _any_of("synthesizer_model", _models(wanted.synthesizers)),
        "duplicate": _duplicates(wanted.duplicates),
        "purpose": _any_of("purpose", wanted.purposes),
        "text": _text(wanted.text),
    }


def _any_of(field: str, values: tuple[str, ...]) -> Q:
    return Q(**{f"{field}__in": values}) if values else Q()


def _duplicates(words: tuple[str, ...]) -> Q:
    absent = {DUPLICATES[word] for word in words if word in DUPLICATES}
    if not words or len(absent) == len(DUPLICATES):
        return Q()
    return Q(duplicate_of__isnull=absent.pop()) if absent else NOTHING


def of_age(age: str, now: datetime) -> Q:
    """What was proposed within that time; ``older`` is what none of these times reaches."""
    if age == OLDER:
        return Q(created_at__lte=now - max(AGES.values()))
    return Q(created_at__gt=now - AGES[age]) if age in AGES else NOTHING


def _models(synthesizers: tuple[str, ...]) -> tuple[str, ...]:
    return tuple({model for each in synthesizers for model in ({each, ""} if each == NOBODY else {each})})


def _text(text: str) -> Q:
    """Every word of ``text`` in the title, whatever its case; or the id, or a part of it.

    Not every database folds the case of letters beyond ASCII, so the usual spellings are asked for.
    """
    asked = Q()
    for word in text.split():
        spelled = sorted({word, word.lower(), word.upper(), word.capitalize()} if not word.isascii() else {word})
        asked &= Q(title__iregex="|".join(map(re.escape, spelled)))
    digits = text.lower().removeprefix("prop_").replace("-", "")
    return asked | Q(wire__contains=digits) if PART_OF_AN_ID.fullmatch(digits) else asked


def _shown(scope: TenantScope, show: str, now: datetime) -> QuerySet[Proposal]:
    rows: QuerySet[Proposal] = Proposal.objects.of(scope.tenant_id)
    if show == NEEDS_ME:
        return _awaiting(scope, rows, now)
    if show == MINE:
        return rows.alias(wrote=Cast("contributors", TextField())).filter(_names("wrote", scope.principal.person))
    return rows if show == ALL else rows.none()


def _awaiting(scope: TenantScope, rows: QuerySet[Proposal], now: datetime) -> QuerySet[Proposal]:
    """Those with an open gate at which ``rules`` lets this principal vote, and it has not."""
    if not scope.can(rules.scope_for("decide")) or scope.principal.agent_ids is not None:
        return rows.none()
    voted = Vote.objects.of(scope.tenant_id).filter(gate_id=OuterRef("id"), person=scope.principal.person)
    gates = Gate.objects.of(scope.tenant_id).filter(proposal_id=OuterRef("id"), state=GateState.OPEN, closed_at=None)
    gates = gates.filter(Q(expires_at=None) | Q(expires_at__gt=now), ~Exists(voted))
    for_me = Q(roles="[]")
    for role in access.roles_of(scope.tenant_id, scope.principal.id):
        for_me |= _names("roles", role)
    gates = gates.alias(roles=Cast("eligible_roles", TextField())).filter(for_me)
    return rows.alias(wrote=Cast("contributors", TextField())).filter(
        Exists(gates), ~_names("wrote", scope.principal.person), state__in=UNDER_REVIEW
    )


def awaiting_vote(scope: TenantScope, *, now: datetime) -> QuerySet[Proposal]:
    """The proposals that wait for this principal's vote."""
    scope.check("proposals:read")
    return _awaiting(scope, Proposal.objects.of(scope.tenant_id), now)


def drafts(scope: TenantScope) -> QuerySet[Proposal]:
    """Proposals under review whose approval has not been requested, when this principal may."""
    settled = Q(last=None) | ~Q(last=GateState.CHANGES_REQUESTED) | Q(revision__gt=F("last_revision"))
    return _without_gate(scope).filter(settled) if _may(scope, "apply") else _nothing(scope)


def changes_requested(scope: TenantScope) -> QuerySet[Proposal]:
    """Proposals whose standing revision a voter wants changed, when this principal may revise them."""
    asked = Q(last=GateState.CHANGES_REQUESTED, revision=F("last_revision"))
    return _without_gate(scope).filter(asked) if _may(scope, "revise") else _nothing(scope)


def _may(scope: TenantScope, action: str) -> bool:
    return scope.can("proposals:read") and scope.can(rules.scope_for(action)) and scope.principal.agent_ids is None


def _nothing(scope: TenantScope) -> QuerySet[Proposal]:
    rows: QuerySet[Proposal] = Proposal.objects.of(scope.tenant_id)
    return rows.none()


def _without_gate(scope: TenantScope) -> QuerySet[Proposal]:
    """Proposals under review with no approval under way, each with how its last gate ended and at which revision."""
    rows: QuerySet[Proposal] = Proposal.objects.of(scope.tenant_id).filter(state__in=UNDER_REVIEW)
    gates = latest_gate(scope.tenant_id)
    under_way = Gate.objects.of(scope.tenant_id).filter(proposal_id=OuterRef("id"), closed_at=None)
    return rows.filter(~Exists(under_way)).alias(
        last=Subquery(gates.values("state")[:1]), last_revision=Subquery(gates.values("revision")[:1])
    )


def _names(column: str, name: str) -> Q:
    """Whether a list of names, as its JSON text, holds ``name``: no name has a quotation mark in it."""
    return Q(**{f"{column}__contains": f'"{name}"'})
