"""What a caller may change or delete, as one condition on addresses (RFC-0015 2, 8.2, 9.1; R24 to R26, R40, R89)."""

from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from memory import work
from memory.adapter.conditions import wire
from memory.models import Assignment, Intent, Task
from memory.tiers.callers import WRITE, Caller
from memory.tiers.reading import SEMANTIC, WORKING, granted, shared, tasks_granted


def writable(caller: Caller, *, now: datetime) -> Q:
    """True of the addresses that the caller may change, among those of its tenant.

    Refuses when the credential lacks ``memory:write``. Whoever reads what is not its own only reads: a coordinator, an
    agent that took a task over, one that inherits. A grant to write opens working memory alone.
    """
    caller.scope.check(WRITE)
    if caller.operates:
        return Q()
    owned = ~SEMANTIC & Q(agent_id=caller.agent_id) & ~(WORKING & _lost(caller))
    return owned | (WORKING & granted(caller, ("write",), now)) | shared(caller, "write", now)


def _lost(caller: Caller) -> Q:
    """Tasks that were taken from the caller because it had failed: one that comes back does not write there (C15)."""
    return Q(task_id__in=dead_assignments(caller).values_list(wire("task", "task_id")))


def dead_assignments(caller: Caller) -> "QuerySet[Assignment]":
    """The caller's assignments that ended dead and were its last ones of their tasks."""
    own: QuerySet[Assignment] = Assignment.objects.of(caller.tenant_id).filter(agent_id=caller.agent_id)
    later = own.filter(task_id=OuterRef("task_id"), since__gt=OuterRef("since"))
    return own.filter(~Exists(later), dead=True)


def has_part(caller: Caller, task: Task, now: datetime) -> bool:
    """Whether the caller had the task before, directs its intent, or holds a grant to write in it."""
    had = Assignment.objects.of(caller.tenant_id).filter(task_id=task.id, agent_id=caller.agent_id)
    intent = Intent.objects.of(caller.tenant_id).get(id=task.intent_id)
    return (
        work.directs(caller.scope, intent, caller.agent_id, now=now)
        or had.exists()
        or tasks_granted(caller, ("write",), now).filter(id=task.id).exists()
    )


def has_voice_in(caller: Caller, intent: Intent, now: datetime) -> bool:
    """Whether what the caller remembers is told on the log of the intent: it directs the intent, joined it, has or had
    a task of it that it did not lose, or may write all over it."""
    if work.stands_for_any(caller.scope) or caller.agent_id in intent.agents:
        return True
    tasks = Task.objects.of(caller.tenant_id).filter(intent_id=intent.id)
    had = Assignment.objects.of(caller.tenant_id).filter(agent_id=caller.agent_id, dead=False)
    granted_all = work.in_force(caller.tenant_id, now=now).filter(intent_id=intent.id, task_id=None)
    return (
        work.directs(caller.scope, intent, caller.agent_id, now=now)
        or had.filter(task_id__in=tasks.values("id")).exists()
        or granted_all.filter(agent_id=caller.agent_id, permission="write").exists()
    )
