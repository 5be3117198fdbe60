"""Whose a task was, and until when (RFC-0015 8): what an agent may read and write of it follows from these rows."""

from datetime import datetime

from memory.models import Agent, Assignment, Task
from memory.work.rows import WRITER

# The client's words for an agent that cannot go on (its AgentStatus), and for why a task is taken from one (C15).
GONE = frozenset({"unhealthy", "dead", "deregistered"})
FAILED = frozenset({"failed", "dead", "offline", "unhealthy", "crashed", "timeout", "lease_expired"})


def hand_over(task: Task, agent_id: str, *, failed: bool, agreed: bool, now: datetime) -> None:
    """The task is the agent's, or nobody's when it is empty; whoever had it before has had it until now.

    It lost the task as a dead agent when its record says so, or ``failed`` does (C15). Who has it now took it up when
    it ``agreed``: it asked for the task itself, or a credential gave it that may act as that agent.
    """
    close(task, dead=failed or _is_gone(task), now=now)
    task.assigned_agent = agent_id
    if agent_id:
        row = Assignment(tenant_id=task.tenant_id, task_id=task.id, agent_id=agent_id, since=now, taken_up=agreed)
        row.insert(by=WRITER)


def take_up(task: Task) -> None:
    """Who has the task agreed to it, by working on it."""
    rows = Assignment.objects.written_by(WRITER).filter(tenant_id=task.tenant_id, task_id=task.id, until=None)
    rows.filter(taken_up=False).update(taken_up=True)


def close(task: Task, *, dead: bool, now: datetime) -> None:
    """Nobody has the task any more."""
    rows = Assignment.objects.written_by(WRITER).filter(tenant_id=task.tenant_id, task_id=task.id, until=None)
    rows.update(until=now, dead=dead)


def was_anybody_s(task: Task) -> bool:
    """Whether any agent ever had the task."""
    return bool(Assignment.objects.of(task.tenant_id).filter(task_id=task.id).exists())


def _is_gone(task: Task) -> bool:
    rows = Agent.objects.of(task.tenant_id).filter(agent_id=task.assigned_agent, status__in=GONE)
    return bool(rows.exists())
