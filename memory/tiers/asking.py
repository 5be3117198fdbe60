"""One entry, asked about: may it be read, changed, made (RFC-0015 6.4)? A door refuses with what is said here."""

from datetime import datetime
from typing import TYPE_CHECKING

from django.db.models import Q

from memory import namespaces, work
from memory.adapter import conditions
from memory.addresses import Address, Tier
from memory.host.errors import Forbidden, GuardrailViolation, Invalid, NotFound
from memory.models import Task
from memory.tiers.callers import READ, WRITE, Caller
from memory.tiers.reading import visible
from memory.tiers.writing import dead_assignments, has_part, writable

if TYPE_CHECKING:
    from memory.models.address import EntryAddress

RULE = "memory-tier"


def may_read(caller: Caller, row: "EntryAddress", now: datetime) -> bool:
    """Whether the entry is among what the caller may read."""
    if not caller.scope.can(READ) or row.tenant_id != caller.tenant_id:
        return False
    own = _owns(caller, row) and not caller.looks_on
    return caller.operates or own or conditions.meets(row, visible(caller, now=now))


def may_write(caller: Caller, row: "EntryAddress", now: datetime) -> bool:
    """Whether the entry is among what the caller may change or delete."""
    if not caller.scope.can(WRITE) or row.tenant_id != caller.tenant_id:
        return False
    return caller.operates or conditions.meets(row, writable(caller, now=now))


def require_read(caller: Caller, row: "EntryAddress", *, now: datetime) -> None:
    """Refuses a stranger by id (C7), a missing permission, and what a guardrail forbids."""
    caller.scope.check(READ)
    if not may_read(caller, row, now):
        _require_there(row)
        _require_fence(caller, row.tier, row.namespace, now)
        raise Forbidden("This agent may not read that memory entry.", rule=RULE)


def require_write(caller: Caller, row: "EntryAddress", *, now: datetime) -> None:
    """Refuses whoever may not change or delete the entry, readers included."""
    caller.scope.check(WRITE)
    if not may_write(caller, row, now):
        _require_there(row)
        _require_fence(caller, row.tier, row.namespace, now)
        raise Forbidden("This agent may not change that memory entry.", rule=RULE)


def require_create(caller: Caller, address: Address, *, now: datetime) -> None:
    """Refuses an entry in somebody else's name, in work that is not the caller's, or in a namespace closed to it.

    A namespace that does not exist yet is made before this is asked (``namespaces.hold``, C14).
    """
    caller.scope.check(WRITE)
    if address.agent_id != caller.agent_id and not caller.operates:
        raise Forbidden("An agent makes entries in its own name.", rule="agent-binding")
    _require_place(caller, address, now)
    if address.tier == Tier.SEMANTIC:
        _require_namespace(caller, address.namespace, now)


def _require_namespace(caller: Caller, namespace: str, now: datetime) -> None:
    """``namespace`` is the name as it is kept."""
    if namespaces.access(caller, [namespace], now=now)[namespace] not in namespaces.at_least("write"):
        _require_fence(caller, Tier.SEMANTIC, namespace, now)
        raise Forbidden("This agent may not write in that namespace.", rule="namespace-permission")


def _require_place(caller: Caller, address: Address, now: datetime) -> None:
    """Refuses a task of ours with the intent of another, and who has nothing to do with the task of somebody: its room
    is not everybody's (RFC-0015 6.5).

    A key that is bound to no agent may act as any, so also as the one that has the task.
    """
    task = work.task(caller.tenant_id, address.task_id) if address.task_id else None
    intent = work.intent(caller.tenant_id, address.intent_id) if address.intent_id else None
    if task and intent and task.intent_id != intent.id:
        problem = {"field": "scope.intent_id", "message": "is not the intent of that task"}
        raise Invalid("The entry cannot be in both.", errors=[problem])
    if task and not caller.operates:
        _require_task(caller, task, address.tier, now)


def _require_task(caller: Caller, task: Task, tier: Tier, now: datetime) -> None:
    if task.assigned_agent == caller.agent_id:
        return
    if tier == Tier.WORKING and dead_assignments(caller).filter(task_id=task.id).exists():
        raise Forbidden("The task was taken from this agent when it failed.", rule="reassigned")
    if task.assigned_agent and not work.stands_for_any(caller.scope) and not has_part(caller, task, now):
        raise Forbidden("This agent has no part in that task.", rule=RULE)


def _require_fence(caller: Caller, tier: str, namespace: str, now: datetime) -> None:
    if tier == Tier.SEMANTIC and not namespaces.fence_of(caller, now=now).lets_in(namespace):
        raise GuardrailViolation("A guardrail of the coordinator closes that namespace.", rule="guardrail")


def _require_there(row: "EntryAddress") -> None:
    """An entry that has gone since it was found is not there, and nobody is a stranger to it."""
    if not conditions.meets(row, Q()):
        raise NotFound("There is no memory entry by that id.")


def _owns(caller: Caller, row: "EntryAddress") -> bool:
    return row.tier != Tier.SEMANTIC and row.agent_id == caller.agent_id
