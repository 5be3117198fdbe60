"""Who may change work (C19): a permission of the credential, and a part in the work. Every door asks here.

A credential without ``memory:write`` changes nothing: ``viewer`` and ``auditor`` never do.
"""

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from memory import addresses, redaction
from memory.host.errors import Forbidden, Invalid
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope
from memory.models import Intent
from memory.openintent.work.rows import active_coordinators, live_tasks

READ, WRITE = "memory:read", "memory:write"
RULE = "work"
IN_HAND = frozenset({"claimed", "running"})
MAX_TEXT = 65_536
MAX_NAME = 500
MAX_OBJECT = 65_536
MAX_WORDS = 200
MAX_BOUND = 1_000_000_000
LIMITS = ("max_entries", "max_total_size_kb")
FLAGS = ("archive_on_completion", "inherit_from_parent")


def is_operator(scope: TenantScope) -> bool:
    """An operator's or an owner's credential that is not bound to agents acts for any of them (C19)."""
    return scope.can("agents:manage") and may_act_as_any(scope)


def may_act_as_any(scope: TenantScope) -> bool:
    """Whether the credential is bound to no agent, so that it may act as any of the tenant."""
    return scope.principal.agent_ids is None


def acts_for(scope: TenantScope, agent_id: str) -> bool:
    """Whether the credential may act as the agent."""
    bound = scope.principal.agent_ids
    return bound is None or agent_id in bound


def coordinates_intent(intent: Intent, agent_id: str, *, now: datetime) -> bool:
    """Whether the agent is a coordinator of the intent, and at work."""
    return active_coordinators(intent.tenant_id, now=now).filter(intent_id=intent.id, agent_id=agent_id).exists()


def directs(scope: TenantScope, intent: Intent, actor: str, *, now: datetime) -> bool:
    """Whether the agent decides about the intent: it created it, coordinates it, or the caller is an operator."""
    return is_operator(scope) or intent.created_by == actor or coordinates_intent(intent, actor, now=now)


def require_part(scope: TenantScope, intent: Intent, actor: str, *, now: datetime) -> None:
    """Refuses agents that neither direct the intent nor work on it; any agent may join, so that is not enough."""
    scope.check(WRITE)
    own = live_tasks(intent.tenant_id, actor).filter(intent_id=intent.id)
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
    if not may_act_as_any(scope):
        require_direction(scope, intent, actor, now=now)


def require_own_name(scope: TenantScope, given: str, actor: str, *, field: str) -> None:
    """Refuses an act in another agent's name (R2)."""
    if given != actor and not is_operator(scope):
        raise Forbidden(f"{field} is another agent than the one that calls.", rule="agent-binding")


# Checks of everything stored about work, at every door: no secret, no text without a bound, no unknown word.


def refuse(field: str, message: str) -> Invalid:
    """The refusal that says what is wrong with one field."""
    return Invalid("The request is not valid.", errors=[{"field": field, "message": message}])


def name(scope: TenantScope, field: str, text: str, *, most: int = MAX_NAME, empty: bool = False) -> str:
    """The text as it is stored: redacted, and still short enough."""
    found = redaction.for_tenant(scope.tenant_id).redact(text).text
    if not found.strip() and not empty:
        raise refuse(field, "must not be empty")
    if len(found) > most:
        raise refuse(field, f"must be at most {most} characters, marks of secrets included")
    return found


def agent_name(tenant_id: UUID, field: str, text: str) -> str:
    """An agent's id, which goes on the log: neither free text nor a secret of the vault, which is not repeated."""
    if not addresses.is_agent_id(text):
        raise refuse(field, addresses.AGENT_ID)
    if redaction.for_tenant(tenant_id).redact(text).count:
        raise refuse(field, addresses.NEVER_AN_ID)
    return text


def document(scope: TenantScope, field: str, value: object, *, most: int = MAX_OBJECT) -> Any:
    """The JSON value as it is stored: redacted, keys too, and not larger than a value of memory."""
    found = redaction.for_tenant(scope.tenant_id).redact_json(value)
    size = len(json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode())
    if size > most:
        raise refuse(field, f"must be at most {most} bytes of JSON, and has {size}")
    return found


def record(scope: TenantScope, given: JSONObject) -> JSONObject:
    """The fields that are kept and not interpreted, each checked under its own name."""
    return {field: document(scope, field, value) for field, value in given.items()}


def one_of(field: str, word: str, words: Collection[str]) -> str:
    if word not in words:
        raise refuse(field, f"must be one of {', '.join(words)}")
    return word


def memory_policy(given: JSONObject | None) -> JSONObject | None:
    """A task's memory policy as given (RFC-0015 6.5, R72); refused with unknown fields."""
    for field, value in (given or {}).items():
        path = f"memory_policy.{field}"
        if field in FLAGS:
            _flag(path, value)
        elif field in LIMITS:
            _bound(path, value)
        else:
            raise refuse(path[:100], "is not a field of a memory policy")
    return given


def guardrails(scope: TenantScope, given: JSONObject | None) -> JSONObject | None:
    """Guardrails as they were given (RFC-0013, RFC-0015 6.6); those of memory have to make sense."""
    if given is None:
        return None
    for field in ("max_working_memory_per_task", "max_episodic_memory_per_agent"):
        _bound(f"guardrails.{field}", given.get(field))
    for field in ("allowed_semantic_namespaces", "denied_semantic_namespaces"):
        _words(f"guardrails.{field}", given.get(field))
    _flag("guardrails.memory_archive_required", given.get("memory_archive_required", True))
    one_of("guardrails.on_exceed", str(given.get("on_exceed", "fail")), ON_EXCEED)
    kept: JSONObject = document(scope, "guardrails", given)
    return kept


ON_EXCEED = ("pause", "escalate", "pause_and_escalate", "fail")


def _flag(field: str, value: object) -> None:
    if not isinstance(value, bool):
        raise refuse(field, "must be true or false")


def _bound(field: str, value: Any) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not (whole and 0 <= value <= MAX_BOUND):
        raise refuse(field, f"must be null or a whole number from 0 to {MAX_BOUND}")


def _words(field: str, value: object) -> None:
    texts = isinstance(value, list) and len(value) <= MAX_WORDS and all(isinstance(each, str) for each in value)
    if value is not None and not texts:
        raise refuse(field, f"must be null or a list of at most {MAX_WORDS} strings")
