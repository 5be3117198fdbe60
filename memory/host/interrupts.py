"""The registration point of interrupt resolvers: who decides about a run that waits at a node of some type.

The run surface stands above and may not know who brings a node type (the approval gate is ``proposals``'); it asks here
for the resolver of the node's type, and a type without one cannot be answered. Who may answer a plain interrupt, which
is one that no floor above has rules of its own for, is said here too, so that every door and every page says the same.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q

from memory.host import suspensions
from memory.host.errors import Forbidden
from memory.host.models import Interrupt, InterruptVote, Run
from memory.host.tenancy import TenantScope

SCOPE = "approvals:respond"

# ``resolve(scope, run, node_id, resume_value, now)``: it refuses, or the answer stands when it returns.
Resolver = Callable[[TenantScope, Run, str, Any, datetime], None]

_resolvers: dict[str, Resolver] = {}


def register(type_id: str, function: Resolver) -> None:
    """Interrupts at nodes of ``type_id`` are answered through ``function`` from now on."""
    _resolvers[type_id] = function


def resolver_of(type_id: str) -> Resolver | None:
    """Who answers at nodes of this type, or None: then nobody can."""
    return _resolvers.get(type_id)


def is_plain(interrupt: Interrupt) -> bool:
    """Whether nothing but this module and the interrupt's own policy says who may answer."""
    return bool(interrupt.policy.get("plain"))


def awaiting(scope: TenantScope, *, now: datetime) -> Any:
    """The plain interrupts that this principal may answer and has not, the oldest first, each with its run."""
    rows = suspensions.waiting(scope.tenant_id).filter(Q(timeout_at=None) | Q(timeout_at__gt=now))
    if not scope.can(SCOPE):
        return rows.none()
    principal = scope.principal
    voted = InterruptVote.objects.of(scope.tenant_id).filter(interrupt_id=OuterRef("id"), voter=principal.person)
    rows = rows.filter(~Exists(voted))
    if principal.agent_ids is not None:
        return rows.exclude(kind="approval")
    named = Q(policy__approversList__isnull=True)
    for each in {principal.id, principal.person}:
        named |= Q(policy__approversList__icontains=f'"{each}"')
    return rows.filter(~Q(kind="approval") | named)


def denial(scope: TenantScope, interrupt: Interrupt) -> Forbidden | None:
    """Why this principal may not answer a plain interrupt, or None when it may."""
    if not scope.can(SCOPE):
        return Forbidden(f"This needs the permission {SCOPE}.", requiredScope=SCOPE)
    if interrupt.kind != "approval":
        return None
    if scope.principal.agent_ids is not None:
        return Forbidden("A key that is bound to agents never decides an approval.", rule="agents-never-decide")
    approvers = interrupt.policy.get("approversList", [])
    principal = scope.principal
    if approvers and principal.id not in approvers and not principal.people <= set(approvers):
        return Forbidden("This approval names who decides, and you are not among them.", rule="approvers-list")
    return None
