"""Which part an agent has in work at a time, each said once, for every place that asks: what it directs, does, may see.

Who coordinates a task oversees and bounds the agent that has it (RFC-0015 2.2, 6.6); where the host asks for consent,
only of tasks that the agent took up.
"""

from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet

from memory.models import Assignment, Coordinator, Grant, Task


def in_time(now: datetime) -> Q:
    """True of what has no end, or one that is still to come."""
    return Q(expires_at=None) | Q(expires_at__gt=now)


def at_work(tenant_id: UUID, *, now: datetime | None) -> "QuerySet[Coordinator]":
    """The coordinators at work: none that paused or ended, and none whose time is over, found lapsed or not.

    Who knows no time is given those not found lapsed yet.
    """
    rows: QuerySet[Coordinator] = Coordinator.objects.of(tenant_id).filter(status="active")
    return rows.filter(in_time(now)) if now else rows


def live_tasks_of(tenant_id: UUID, agent_id: str) -> "QuerySet[Task]":
    """The tasks under way that are this agent's."""
    rows: QuerySet[Task] = Task.objects.of(tenant_id).filter(assigned_agent=agent_id, ended_at=None)
    return rows.exclude(assigned_agent="")


def taken_up(tenant_id: UUID) -> "QuerySet[Assignment]":
    """The assignments that hold, and that their agents agreed to where the host asks for that."""
    rows: QuerySet[Assignment] = Assignment.objects.of(tenant_id).filter(until=None)
    return rows.filter(taken_up=True) if settings.OPENWOP_TASK_CONSENT else rows


def taken_up_by(tenant_id: UUID, agent_id: str) -> "QuerySet[Task]":
    """Of the tasks under way that are this agent's, those that it agreed to: who directs them bounds the agent."""
    own = taken_up(tenant_id).filter(agent_id=agent_id)
    return live_tasks_of(tenant_id, agent_id).filter(id__in=own.values("task_id"))


def coordinated_by(tenant_id: UUID, agent_id: str, *, now: datetime) -> "QuerySet[Task]":
    """The tasks under way of the intents that the agent coordinates: for their lifetime, and its own (R25)."""
    mine = at_work(tenant_id, now=now).filter(agent_id=agent_id)
    rows: QuerySet[Task] = Task.objects.of(tenant_id).filter(ended_at=None, intent_id__in=mine.values("intent_id"))
    return rows


def overseen_by(tenant_id: UUID, agent_id: str, *, now: datetime) -> "QuerySet[Assignment]":
    """The assignments of the agents that are at work for this one, and agreed to be (R35)."""
    return taken_up(tenant_id).filter(task_id__in=coordinated_by(tenant_id, agent_id, now=now).values("id"))


def in_force(tenant_id: UUID, *, now: datetime) -> "QuerySet[Grant]":
    """The grants that have not expired."""
    rows: QuerySet[Grant] = Grant.objects.of(tenant_id).filter(in_time(now))
    return rows
