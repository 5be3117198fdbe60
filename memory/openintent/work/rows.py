"""Rows of agents, intents and tasks, found and made. An intent and an agent have a run whose stream is their log."""

from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from memory.host import ids, runs, sql
from memory.host.expiry import unexpired
from memory.host.json_types import JSONObject
from memory.host.models import Run
from memory.host.runs import RunOrder
from memory.models import Agent, Assignment, Coordinator, Grant, Intent, Task

WRITER = "memory.openintent.work"
AGENT_LOG, INTENT_LOG = "openintent-agent", "openintent-intent"
# The client's words for an agent that cannot go on (its AgentStatus), and for why a task is taken from one (C15).
GONE = frozenset({"unhealthy", "dead", "deregistered"})
FAILED = frozenset({"failed", "dead", "offline", "unhealthy", "crashed", "timeout", "lease_expired"})
VOCABULARY = """
    intent_created state_patched status_changed agent_assigned agent_unassigned constraint_added constraint_removed
    dependency_added dependency_removed lease_acquired lease_released arbitration_requested decision_recorded
    attachment_added portfolio_created added_to_portfolio removed_from_portfolio failure_recorded comment
    tool_call_started tool_call_completed tool_call_failed llm_request_started llm_request_completed
    llm_request_failed stream_started stream_chunk stream_completed stream_cancelled access_granted access_revoked
    access_expired access_requested access_request_approved access_request_denied task.created task.ready
    task.claimed task.started task.progress task.completed task.failed task.retrying task.blocked task.unblocked
    task.delegated task.escalated task.cancelled task.skipped plan.created plan.activated plan.paused plan.resumed
    plan.completed plan.failed plan.checkpoint_reached plan.checkpoint_approved plan.checkpoint_rejected
    coordinator.decision coordinator.heartbeat coordinator.paused coordinator.resumed coordinator.replaced
    coordinator.unresponsive coordinator.failed_over coordinator.handoff coordinator.plan_overridden
    coordinator.guardrails_updated coordinator.stalled coordinator.escalation_resolved governance.policy_set
    governance.policy_removed governance.approval_granted governance.approval_denied governance.violation
    tool.invoked tool.denied grant.created grant.delegated grant.revoked grant.expired grant.suspended grant.resumed
    credential.created credential.rotated credential.expired credential.revoked agent.lifecycle agent.registered
    agent.status_changed agent.dead trigger.fired trigger.skipped trigger.cascade_limit trigger.namespace_blocked
    agent.identity.registered agent.identity.rotated agent.identity.revoked agent.identity.challenge_issued
    agent.identity.verified log.checkpoint.created log.checkpoint.anchored channel.created channel.closed
    channel.message governance.approval_enforced federation.dispatched federation.received federation.callback
    federation.budget_warning federation.completed federation.failed intent.suspended intent.resumed
    intent.suspension_expired engagement.decision intent.suspension_renotified intent.suspension_escalated
    portfolio.member_suspended portfolio.member_resumed
"""
KINDS = frozenset(VOCABULARY.split())
# Events of the host's own: from an agent they would be a claim in its name. An assignment is appended by the
# published client, too, when it delegates.
FACTS = """
    intent_created state_patched status_changed agent_unassigned lease_acquired lease_released access_granted
    access_revoked access_expired task.created task.progress task.delegated coordinator.paused coordinator.resumed
    coordinator.unresponsive coordinator.failed_over coordinator.handoff coordinator.heartbeat
    coordinator.guardrails_updated agent.registered agent.status_changed agent.dead
"""
OF_STATUS = {
    "pending": "task.unblocked",
    "ready": "task.ready",
    "claimed": "task.claimed",
    "running": "task.started",
    "blocked": "task.blocked",
    "completed": "task.completed",
    "failed": "task.failed",
    "cancelled": "task.cancelled",
    "skipped": "task.skipped",
}
TOLD_BY_HOST = frozenset(FACTS.split()) | frozenset(OF_STATUS.values())
Json = JSONObject


def agent(tenant_id: UUID, agent_id: str, *, by: str, now: datetime) -> Agent:
    """The agent's row, made at its first sight, with a stream of its own that the principal ``by`` opened. Not
    locked."""
    rows = Agent.objects.of(tenant_id).filter(agent_id=agent_id)
    found: Agent | None = rows.first()
    if found:
        return found
    try:
        with transaction.atomic():
            run = _log(tenant_id, AGENT_LOG, "An agent of OpenIntent", agent_id, by, now)
            made = Agent(tenant_id=tenant_id, agent_id=agent_id, run_id=run.id, created_at=now, updated_at=now)
            return made.insert(by=WRITER)
    except IntegrityError:  # another request created it first
        row: Agent = rows.get()
        return row


def locked_agent(tenant_id: UUID, agent_id: str, *, by: str, now: datetime) -> Agent:
    """The same, locked until the transaction ends: under this lock an agent's entries are counted."""
    if known := _agent_locked().fetch(sql.key(tenant_id), agent_id):
        return known[0]
    made = agent(tenant_id, agent_id, by=by, now=now)
    row: Agent = Agent.objects.of(tenant_id).select_for_update().get(id=made.id)
    return row


@cache
def _agent_locked() -> sql.PositionalQuery[Agent]:
    return sql.PositionalQuery(Agent.objects.of(UUID(int=0)).filter(agent_id="").select_for_update())


def task(tenant_id: UUID, text: str, *, lock: bool = False) -> Task | None:
    """The host's task of that id, or None; never an error."""
    task_id = ids.parse("task", text)
    if task_id is None:
        return None
    rows = Task.objects.of(tenant_id).select_for_update() if lock else Task.objects.of(tenant_id)
    found: Task | None = rows.filter(id=task_id).first()
    return found


def intent(tenant_id: UUID, text: str) -> Intent | None:
    """The host's intent of that id, or None; never an error."""
    intent_id = ids.parse("intent", text)
    found = _intents().fetch(sql.key(tenant_id), sql.key(intent_id)) if intent_id else []
    return next(iter(found), None)


@cache
def _intents() -> sql.PositionalQuery[Intent]:
    return sql.PositionalQuery(Intent.objects.of(UUID(int=0)).filter(id=UUID(int=1)))


def open_log(tenant_id: UUID, agent_id: str, *, by: str, now: datetime) -> Run:
    """A run whose stream is the log of a new intent."""
    return _log(tenant_id, INTENT_LOG, "An intent of OpenIntent", agent_id, by, now)


def _log(tenant_id: UUID, workflow_id: str, name: str, agent_id: str, by: str, now: datetime) -> Run:
    """A system run that executes nothing: its stream is the log, and the ledger names it as the run that wrote."""
    definition = runs.host_definition(workflow_id, name, version="1.0", trigger="")
    order = RunOrder(workflow_id, definition, by, agent_id=agent_id, system=True)
    return runs.open_running(tenant_id, order, now=now)


# Whose a task was, and until when (RFC-0015 8): what an agent may read and write of it follows from these rows.
def hand_over(task: Task, agent_id: str, *, failed: bool, agreed: bool, now: datetime) -> None:
    """Assign the task to the agent, or to none when empty; the previous assignment ends now.

    It ended as lost by a dead agent when that agent's record says so, or with ``failed`` (C15). The new agent has taken
    the task up when it ``agreed``: it claimed the task itself, or was assigned by a credential that may act as it.
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
    """End the current assignment."""
    rows = Assignment.objects.written_by(WRITER).filter(tenant_id=task.tenant_id, task_id=task.id, until=None)
    rows.update(until=now, dead=dead)


def was_ever_assigned(task: Task) -> bool:
    """Whether any agent ever had the task."""
    return bool(Assignment.objects.of(task.tenant_id).filter(task_id=task.id).exists())


def _is_gone(task: Task) -> bool:
    rows = Agent.objects.of(task.tenant_id).filter(agent_id=task.assigned_agent, status__in=GONE)
    return bool(rows.exists())


# Which part an agent has in work at a time, each said once, for every place that asks: what it directs, does, may see.
#
# Who coordinates a task oversees and bounds the agent that has it (RFC-0015 2.2, 6.6); where the host asks for consent,
# only of tasks that the agent took up.
def active_coordinators(tenant_id: UUID, *, now: datetime | None) -> "QuerySet[Coordinator]":
    """The coordinators at work: none that paused or ended, and none whose time is over, found lapsed or not.

    Who knows no time is given those not found lapsed yet.
    """
    rows: QuerySet[Coordinator] = Coordinator.objects.of(tenant_id).filter(status="active")
    return rows.filter(unexpired(now)) if now else rows


def live_tasks(tenant_id: UUID, agent_id: str) -> "QuerySet[Task]":
    """The tasks under way that are this agent's."""
    rows: QuerySet[Task] = Task.objects.of(tenant_id).filter(assigned_agent=agent_id, ended_at=None)
    return rows.exclude(assigned_agent="")


def taken_up_assignments(tenant_id: UUID) -> "QuerySet[Assignment]":
    """The assignments that hold, and that their agents agreed to where the host asks for that."""
    rows: QuerySet[Assignment] = Assignment.objects.of(tenant_id).filter(until=None)
    return rows.filter(taken_up=True) if settings.OPENWOP_TASK_CONSENT else rows


def taken_up_by(tenant_id: UUID, agent_id: str) -> "QuerySet[Task]":
    """Of the tasks under way that are this agent's, those that it agreed to: who directs them bounds the agent."""
    own = taken_up_assignments(tenant_id).filter(agent_id=agent_id)
    return live_tasks(tenant_id, agent_id).filter(id__in=own.values("task_id"))


def coordinated_by(tenant_id: UUID, agent_id: str, *, now: datetime) -> "QuerySet[Task]":
    """The tasks under way of the intents that the agent coordinates: for their lifetime, and its own (R25)."""
    mine = active_coordinators(tenant_id, now=now).filter(agent_id=agent_id)
    rows: QuerySet[Task] = Task.objects.of(tenant_id).filter(ended_at=None, intent_id__in=mine.values("intent_id"))
    return rows


def overseen_by(tenant_id: UUID, agent_id: str, *, now: datetime) -> "QuerySet[Assignment]":
    """The assignments of the agents that are at work for this one, and agreed to be (R35)."""
    return taken_up_assignments(tenant_id).filter(task_id__in=coordinated_by(tenant_id, agent_id, now=now).values("id"))


def grants_in_force(tenant_id: UUID, *, now: datetime) -> "QuerySet[Grant]":
    """The grants that have not expired."""
    rows: QuerySet[Grant] = Grant.objects.of(tenant_id).filter(unexpired(now))
    return rows


@dataclass(frozen=True, slots=True)
class NewIntent:
    """``policy`` holds what tasks of the intent get for memory where they say nothing themselves (R84, R85)."""

    title: str
    description: str = ""
    constraints: object = field(default_factory=dict)
    state: Json = field(default_factory=dict)
    parent_intent_id: str = ""
    depends_on: tuple[str, ...] = ()
    policy: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewTask:
    """``record`` has the fields of RFC-0012 that this host keeps and does not interpret."""

    intent_id: str
    name: str
    description: str = ""
    status: str = "pending"
    assigned_agent: str = ""
    parent_task_id: str = ""
    memory_policy: Json | None = None
    record: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskChange:
    """The wanted changes; None leaves a field. An empty ``assigned_agent`` takes the task from its agent.

    ``reason`` says why it is reassigned; ``record`` is merged over the task's record.
    """

    status: str | None = None
    assigned_agent: str | None = None
    memory_policy: Json | None = None
    reason: str = ""
    record: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewCoordinator:
    """Guardrails that are None bound nothing; any others demand archival unless they say otherwise (R81)."""

    intent_id: str
    agent_id: str
    guardrails: Json | None = None
    expires_at: datetime | None = None
    record: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CoordinatorChange:
    """What is to be otherwise: None leaves it."""

    status: str | None = None
    guardrails: Json | None = None


@dataclass(frozen=True, slots=True)
class NewAgent:
    """``record`` is what RFC-0016 says of an agent; ``capacity`` and ``pinned_namespaces`` bound what it remembers.

    Of these None leaves what the agent has.
    """

    agent_id: str
    record: Json = field(default_factory=dict)
    capacity: int | None = None
    pinned_namespaces: tuple[str, ...] | None = None
