"""Who may read which log of OpenIntent: an intent's, and an agent's own stream (RFC-0015 2.1, 5, 9.1; R27, R65, R91).

The permission of the credential is needed, and a part in what the log is of: neither is enough.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from memory import tiers, work
from memory.host import ids
from memory.host.errors import Forbidden, NotFound
from memory.models import Agent, Assignment, Coordinator, Intent, Task
from memory.tiers import Caller

# A coordinator that has finished reads what became of its work; one that was stopped or given up does not.
FINISHED = ("completing", "completed")


@dataclass(frozen=True, slots=True)
class Log:
    """A stream that ``reader`` may read; an agent that nobody has seen yet has none.

    Of memory it is told names and archived values in the tasks ``tasks``, as they stand on the log, None being all, and
    of its own everywhere.
    """

    tenant_id: UUID
    stream_id: UUID | None
    intent_id: str = ""
    agent_id: str = ""
    reader: str = ""
    tasks: frozenset[str] | None = None

    def shows(self, task_id: str | None, agent_id: str) -> bool:
        """Whether the reader is told more of this memory than that something happened to it."""
        return self.tasks is None or task_id in self.tasks or agent_id == self.reader


def of_intent(caller: Caller, text: str, *, now: datetime) -> Log:
    """The log of the intent; refused when there is none, and for whoever takes no part in it."""
    caller.scope.check(tiers.READ)
    if work.intent(caller.tenant_id, text) is None:
        raise NotFound("There is no intent by that id.")
    log = readable_intent(caller, text, now=now)
    if log is None:
        raise Forbidden("This agent takes no part in that intent.", rule="intent-log")
    return log


def readable_intent(caller: Caller, text: str, *, now: datetime) -> Log | None:
    """The log of the intent, for an operator and whoever takes part: its creator, its coordinators, who has or had a
    task of it, who holds a grant. A task, or a grant on one, opens the memory of that task alone, and to have joined
    opens none: any agent may join."""
    caller.scope.check(tiers.READ)
    intent = work.intent(caller.tenant_id, text)
    if intent is None:
        return None
    log = Log(caller.tenant_id, intent.id, intent_id=ids.wire("intent", intent.id), reader=caller.agent_id)
    grants = work.in_force(caller.tenant_id, now=now).filter(intent_id=intent.id, agent_id=caller.agent_id)
    if caller.operates or _oversees(caller, intent, now) or grants.filter(task_id=None).exists():
        return log
    own = {*grants.values_list("task_id", flat=True), *_held(caller, intent).values_list("task_id", flat=True)}
    tasks = frozenset(ids.wire("task", each) for each in own if each)
    return replace(log, tasks=tasks) if tasks or caller.agent_id in intent.agents else None


def of_agent(caller: Caller, agent_id: str, *, now: datetime) -> Log:
    """The agent's own stream; refused for whoever may not read it, whether it is there or not."""
    log = readable_agent(caller, agent_id, now=now)
    if log is None:
        raise Forbidden("This agent may not read the events of that agent.", rule="agent-stream")
    return log


def readable_agent(caller: Caller, agent_id: str, *, now: datetime) -> Log | None:
    """The agent's own stream, for itself, an operator, and who coordinates a task under way that it took up."""
    caller.scope.check(tiers.READ)
    overseen = work.overseen_by(caller.tenant_id, caller.agent_id, now=now).filter(agent_id=agent_id)
    if not (caller.operates or agent_id == caller.agent_id or overseen.exists()):
        return None
    found = Agent.objects.of(caller.tenant_id).filter(agent_id=agent_id).values_list("run_id", flat=True).first()
    return Log(caller.tenant_id, found, agent_id=agent_id, reader=caller.agent_id)


def opened_of_agent(caller: Caller, agent_id: str, *, now: datetime) -> Log:
    """The same, to wait at: an agent that waits for its own events has a stream from here on."""
    log = of_agent(caller, agent_id, now=now)
    if log.stream_id is None and agent_id == caller.agent_id:
        return replace(log, stream_id=work.agent(caller.tenant_id, agent_id, now=now).run_id)
    if log.stream_id is None:
        raise NotFound("There is no agent by that id.")
    return log


def _oversees(caller: Caller, intent: Intent, now: datetime) -> bool:
    """Whether the agent made the intent, or coordinates it, or did so to the end, for the time that it was given."""
    tenant_id, agent_id = caller.tenant_id, caller.agent_id
    finished = Coordinator.objects.of(tenant_id).filter(work.in_time(now), status__in=FINISHED)
    return agent_id == intent.created_by or any(
        rows.filter(intent_id=intent.id, agent_id=agent_id).exists()
        for rows in (work.at_work(tenant_id, now=now), finished)
    )


def _held(caller: Caller, intent: Intent) -> "QuerySet[Assignment]":
    """The agent's tasks of the intent, now or before. One that it lost because it had failed is none of them (C15)."""
    tasks = Task.objects.of(caller.tenant_id).filter(intent_id=intent.id)
    rows: QuerySet[Assignment] = Assignment.objects.of(caller.tenant_id).filter(task_id__in=tasks.values("id"))
    return rows.filter(agent_id=caller.agent_id, dead=False)
