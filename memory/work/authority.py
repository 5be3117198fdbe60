"""Who may change work (C19): a permission of the credential, and a part in the work. Every door asks here.

A credential without ``memory:write`` changes nothing: ``viewer`` and ``auditor`` never do.
"""

from datetime import datetime

from memory.host.errors import Forbidden
from memory.host.tenancy import TenantScope
from memory.models import Intent
from memory.work.parts import at_work, live_tasks_of

READ, WRITE = "memory:read", "memory:write"
RULE = "work"
IN_HAND = frozenset({"claimed", "running"})


def operates(scope: TenantScope) -> bool:
    """An operator's or an owner's credential that is not bound to agents acts for any of them (C19)."""
    return scope.can("agents:manage") and stands_for_any(scope)


def stands_for_any(scope: TenantScope) -> bool:
    """Whether the credential is bound to no agent, so that it may act as any of the tenant."""
    return scope.principal.agent_ids is None


def acts_for(scope: TenantScope, agent_id: str) -> bool:
    """Whether the credential may act as the agent."""
    bound = scope.principal.agent_ids
    return bound is None or agent_id in bound


def coordinates_intent(intent: Intent, agent_id: str, *, now: datetime) -> bool:
    """Whether the agent is a coordinator of the intent, and at work."""
    return at_work(intent.tenant_id, now=now).filter(intent_id=intent.id, agent_id=agent_id).exists()


def directs(scope: TenantScope, intent: Intent, actor: str, *, now: datetime) -> bool:
    """Whether the agent decides about the intent: it made it, coordinates it, or an operator stands behind it."""
    return operates(scope) or intent.created_by == actor or coordinates_intent(intent, actor, now=now)


def require_part(scope: TenantScope, intent: Intent, actor: str, *, now: datetime) -> None:
    """Refuses who neither directs the intent nor works on it. To have joined it is not enough: anybody may."""
    scope.check(WRITE)
    own = live_tasks_of(intent.tenant_id, actor).filter(intent_id=intent.id)
    if not directs(scope, intent, actor, now=now) and not own.exists():
        raise Forbidden("This agent has no part in that intent.", rule=RULE)


def require_voice(scope: TenantScope, intent: Intent, actor: str, *, now: datetime) -> None:
    """Refuses who has neither a part in the intent nor joined it."""
    if actor not in intent.agents:
        require_part(scope, intent, actor, now=now)


def require_direction(scope: TenantScope, intent: Intent, actor: str, *, now: datetime) -> None:
    """Refuses who does not decide about the intent."""
    scope.check(WRITE)
    if not directs(scope, intent, actor, now=now):
        raise Forbidden("This agent does not direct that intent.", rule=RULE)


def require_appointment(scope: TenantScope, intent: Intent, actor: str, *, now: datetime) -> None:
    """Refuses who may not say who coordinates the intent or has a task of it: those read what agents remember.

    A key that is bound to no agent may act as any, so also as the one that may.
    """
    scope.check(WRITE)
    if not stands_for_any(scope):
        require_direction(scope, intent, actor, now=now)


def require_own_name(scope: TenantScope, given: str, actor: str, *, field: str) -> None:
    """Refuses an act in another agent's name (R2)."""
    if given != actor and not operates(scope):
        raise Forbidden(f"{field} is another agent than the one that calls.", rule="agent-binding")
