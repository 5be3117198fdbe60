"""Namespaces as one caller finds them, each with its access, which the database works out (RFC-0015 2.3; R41)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import CharField, F, Q, QuerySet, Value
from django.db.models.functions import Coalesce
from django.db.models.lookups import In

from memory import work
from memory.adapter import conditions
from memory.host.errors import Forbidden, GuardrailViolation, NotFound
from memory.models import Namespace
from memory.namespaces.guardrails import Fence, fence_of

if TYPE_CHECKING:
    from memory.tiers import Caller


@dataclass(frozen=True, slots=True)
class Held:
    """A namespace, the caller's access to it, and how many live entries it holds."""

    row: Namespace
    access: str
    entry_count: int


@dataclass(frozen=True, slots=True)
class HeldPage:
    """Some of them, and how many there are."""

    found: list[Held]
    total: int


def at_least(least: str) -> tuple[str, ...]:
    """The kinds of access that include this one: none < read < write < admin."""
    return Namespace.ACCESS[Namespace.ACCESS.index(least) :]


def access(caller: "Caller", names: Sequence[str], *, now: datetime) -> dict[str, str]:
    """What the caller may do in each of these: its rule, or else the default; none where a guardrail keeps it out.

    An operator administers all (C19), and a namespace that does not exist is nobody's yet: none.
    """
    found = _rows(caller, now).filter(name__in=names).values_list("name", "access")
    return {**dict.fromkeys(names, "none"), **dict(found)}


def names_with(caller: "Caller", least: str, *, now: datetime | None) -> "QuerySet[Any, Any]":
    """The names of the namespaces in which the caller has at least this access, for a subquery."""
    return _rows(caller, now).filter(access__in=at_least(least)).values("name")


def readable_by(tenant_id: UUID, agents: Collection[str]) -> "QuerySet[Namespace]":
    """The namespaces that one of these agents may read: a condition for each, and as many queries however many."""
    rails, any_of = work.rails_over_each(tenant_id, agents, now=None), Q(pk__in=())
    for agent_id in sorted(agents):
        ruled = Coalesce(conditions.AccessOf("allow", agent_id), F("default"), output_field=CharField())
        over = rails.get(agent_id)
        fence = Fence(over.allowed, over.denied) if over else Fence()
        any_of |= Q(In(ruled, at_least("read"))) & fence.condition()
    rows: QuerySet[Namespace] = Namespace.objects.of(tenant_id).filter(any_of)
    return rows


def held(caller: "Caller", *, limit: int, offset: int = 0, now: datetime) -> HeldPage:
    """A page of the namespaces that the caller may read, by name (R102)."""
    caller.scope.check("memory:read")
    rows = _rows(caller, now).filter(access__in=at_least("read")).order_by("name")
    page = list(rows[offset : offset + limit])
    counts = conditions.shared_counts(caller.tenant_id, [row.name for row in page], now=now)
    return HeldPage([Held(row, row.access, counts.get(row.name, 0)) for row in page], rows.count())


def one(caller: "Caller", name: str, *, now: datetime) -> Held:
    """The namespace: 404 when there is none, 403 for whoever may not read it (R103)."""
    caller.scope.check("memory:read")
    if not Namespace.objects.of(caller.tenant_id).filter(name=name).exists():
        raise NotFound("There is no namespace by that name.")
    if not fence_of(caller, now=now).lets_in(name):
        raise GuardrailViolation("A guardrail of the coordinator closes that namespace.", rule="guardrail")
    found = seen(caller, name, now=now)
    if found.access not in at_least("read"):
        raise Forbidden("This agent may not read that namespace.", rule="namespace-permission")
    return found


def _rows(caller: "Caller", now: datetime | None) -> "QuerySet[Any, Any]":
    """The namespaces inside the caller's guardrails, each with the caller's ``access``."""
    ruled = Coalesce(conditions.AccessOf("allow", caller.agent_id), F("default"), output_field=CharField())
    mine = Value("admin") if caller.operates else ruled
    inside = fence_of(caller, now=now).condition()
    rows: QuerySet[Any, Any] = Namespace.objects.of(caller.tenant_id).filter(inside).annotate(access=mine)
    return rows


def seen(caller: "Caller", name: str, *, now: datetime) -> Held:
    """The namespace as it is for the caller, who may have no access to it any more."""
    row = Namespace.objects.of(caller.tenant_id).filter(name=name)
    counts = conditions.shared_counts(caller.tenant_id, row.values("name"), now=now)
    return Held(row.get(), access(caller, [name], now=now)[name], counts.get(name, 0))
