"""What a caller may read, as one condition on addresses (RFC-0015 2, 6.5, 8.1, 9.1; R24 to R27, R35, R40, R74, R88).

Every part is worked out from the caller's side, in the database: the tasks it coordinates, was given or inherits from.
"""

from datetime import datetime

from django.db.models import F, Q, QuerySet, TextField
from django.db.models.functions import Concat
from django.db.models.lookups import In

from memory import namespaces, work
from memory.adapter.conditions import wire
from memory.addresses import SEALED
from memory.models import Assignment, Grant, Task
from memory.tiers.callers import READ, Caller

WORKING, EPISODIC, SEMANTIC = Q(tier="working"), Q(tier="episodic"), Q(tier="semantic")


def visible(caller: Caller, *, tier: str = "", own: bool = False, now: datetime) -> Q:
    """True of the addresses that the caller may read, among those of its tenant; says nothing of expiry.

    Who asks for one ``tier`` alone, or for what is of the caller as an agent, is given the parts that are about it.
    Refuses when the credential lacks ``memory:read``: the tier's rule alone is not enough (R71). Who only looks on is
    shown what the agent sees that it names, and nothing that is sealed (C19).
    """
    caller.scope.check(READ)
    if caller.operates:
        return Q()
    found = _found(caller, tier, own, now)
    return found & ~Q(sensitivity__in=SEALED) if caller.looks_on else found


def _found(caller: Caller, tier: str, own: bool, now: datetime) -> Q:
    if tier == "semantic":
        return shared(caller, "read", now)
    owned = ~SEMANTIC & Q(agent_id=caller.agent_id)
    if own:
        return owned if tier else owned | shared(caller, "read", now)
    return owned | (WORKING & _lent(caller, now)) | (EPISODIC & _overseen(caller, now)) | shared(caller, "read", now)


def shared(caller: Caller, least: str, now: datetime) -> Q:
    """Semantic memory of the namespaces in which the caller has at least this access (RFC-0015 2.3, R40)."""
    return SEMANTIC & Q(namespace__in=namespaces.names_with(caller, least, now=now))


def granted(caller: Caller, permissions: tuple[str, ...], now: datetime) -> Q:
    """Working memory of a task or an intent on which the caller holds a grant that has not expired (RFC-0011, R26)."""
    of_intent = _grants(caller, permissions, now).filter(task_id=None)
    whole = Q(task_id="", intent_id__in=of_intent.values_list(wire("intent", "intent_id")))
    return of_tasks(tasks_granted(caller, permissions, now)) | whole


def tasks_granted(caller: Caller, permissions: tuple[str, ...], now: datetime) -> "QuerySet[Task]":
    """The tasks that such a grant is on, or on whose intent it is."""
    grants = _grants(caller, permissions, now)
    on_task, on_intent = grants.exclude(task_id=None).values("task_id"), grants.filter(task_id=None).values("intent_id")
    tasks: QuerySet[Task] = Task.objects.of(caller.tenant_id).filter(Q(id__in=on_task) | Q(intent_id__in=on_intent))
    return tasks


def _grants(caller: Caller, permissions: tuple[str, ...], now: datetime) -> "QuerySet[Grant]":
    rows = work.in_force(caller.tenant_id, now=now)
    return rows.filter(agent_id=caller.agent_id, permission__in=permissions)


def of_tasks(tasks: "QuerySet[Task]") -> Q:
    """True of what was remembered in one of these tasks."""
    return Q(task_id__in=tasks.values_list(wire("task", "id")))


def _lent(caller: Caller, now: datetime) -> Q:
    """Working memory of others that the caller may read: the four exceptions of 2.1, 6.5 and 8.1 (C9)."""
    heirs = work.heirs_of(caller.tenant_id, caller.agent_id)
    parents = Task.objects.of(caller.tenant_id).filter(id__in=heirs.values("parent_task_id"))
    return (
        of_tasks(work.coordinated_by(caller.tenant_id, caller.agent_id, now=now))
        | granted(caller, ("read", "write"), now)
        | of_tasks(parents)
        | _taken_over(caller)
    )


def _taken_over(caller: Caller) -> Q:
    """What the agents before it remembered in a task that is the caller's now, and in no other (RFC-0015 8.1, R88)."""
    own = work.live_tasks_of(caller.tenant_id, caller.agent_id)
    before = Assignment.objects.of(caller.tenant_id).filter(task_id__in=own.values("id")).exclude(until=None)
    pairs = Concat(wire("task", "task_id"), F("agent_id"), output_field=TextField())
    return Q(In(Concat("task_id", "agent_id", output_field=TextField()), before.values_list(pairs)))


def _overseen(caller: Caller, now: datetime) -> Q:
    """Episodic memory of agents that are at work for the caller, and agreed to be: no grant ever opens it (RFC-0015
    2.2, R35)."""
    return Q(agent_id__in=work.overseen_by(caller.tenant_id, caller.agent_id, now=now).values("agent_id"))
