"""What bounds the memory of a task and of an agent: policies and guardrails put together (RFC-0015 6.5, 6.6; R72-R81).

Of several bounds the smallest wins. Guardrails are those of the coordinators at work; one that demands archival
overrules a policy that does without.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from uuid import UUID

from django.conf import settings
from django.db.models import F, Q, QuerySet

from memory.host import sql
from memory.host.json_types import JSONObject
from memory.models import Agent, Intent, Task
from memory.openintent.work.rows import at_work, live_tasks_of, taken_up, taken_up_by


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for the working memory of a task; a bound that is None is none."""

    archive_on_completion: bool = True
    inherit_from_parent: bool = False
    max_entries: int | None = None
    max_total_size_kb: int | None = None


@dataclass(frozen=True, slots=True)
class Rails:
    """Guardrails of several coordinators as one. ``allowed`` is None where every namespace is."""

    max_working_memory_per_task: int | None = None
    max_episodic_memory_per_agent: int | None = None
    allowed: frozenset[str] | None = None
    denied: frozenset[str] = frozenset()
    memory_archive_required: bool = False


# That a task inherits, said of tasks in the database: its own policy, or its intent's where that says nothing.
INHERITS = Q(memory_policy__inherit_from_parent=True) | Q(
    memory_policy__inherit_from_parent__isnull=True, intent__policy__inherit_from_parent=True
)


def heirs_of(tenant_id: UUID, agent_id: str) -> "QuerySet[Task]":
    """The agent's tasks under way that inherit what is remembered in the task above them, in the same intent (R74)."""
    return live_tasks_of(tenant_id, agent_id).filter(INHERITS, parent_task__intent_id=F("intent_id"))


def would_inherit(intent: Intent, policy: JSONObject | None) -> bool:
    """The same of a task that is to be made under another one of the intent."""
    return bool({**intent.policy, **(policy or {})}.get("inherit_from_parent", False))


def inherits(task: Task) -> bool:
    """The same of one task: whether the memory of the task above it, if any, is lent to it."""
    return task.parent_task_id is not None and bool(_given(task).get("inherit_from_parent", False))


def policy_of(task: Task, *, now: datetime) -> Policy:
    """The task's policy over its intent's over the defaults, within the guardrails of the intent's coordinators."""
    given, rails = _given(task), rails_of(task, now=now)
    return Policy(
        archive_on_completion=given.get("archive_on_completion", True) or rails.memory_archive_required,
        inherit_from_parent=given.get("inherit_from_parent", False),
        max_entries=smallest(given.get("max_entries"), rails.max_working_memory_per_task),
        max_total_size_kb=given.get("max_total_size_kb"),
    )


def rails_of(task: Task, *, now: datetime) -> Rails:
    """The guardrails that hold in the task."""
    rows = at_work(task.tenant_id, now=now).filter(intent_id=task.intent_id)
    return _together(rows.values_list("guardrails", flat=True))


def rails_over(tenant_id: UUID, agent_id: str, *, now: datetime | None) -> Rails:
    """The guardrails that hold for the agent: those of every intent in which it took up a task that is under way."""
    found = _rails_over(now is not None, settings.OPENWOP_TASK_CONSENT).fetch(tenant_id, agent_id, now)
    return _together(sql.as_document(guardrails) for (guardrails,) in found)


@cache
def _rails_over(timed: bool, consent: bool) -> sql.Written:
    """For a tenant, an agent and the time, where there is one; ``taken_up`` asks for ``consent`` as the host does."""
    tenant_id, agent_id, now = UUID(int=0), "an agent", datetime.min.replace(tzinfo=UTC) if timed else None
    intents = taken_up_by(tenant_id, agent_id).values("intent_id")
    rows = at_work(tenant_id, now=now).filter(intent_id__in=intents)
    return sql.Written(rows.values_list("guardrails"), tenant_id, agent_id, now)


def rails_over_each(tenant_id: UUID, agents: Collection[str], *, now: datetime | None) -> dict[str, Rails]:
    """The same for each of these agents, in two queries however many they are; none is over who is left out."""
    agreed = taken_up(tenant_id).filter(agent_id__in=agents, task__ended_at=None)
    held = set(agreed.values_list("agent_id", "task__intent_id"))
    over: dict[UUID, list[JSONObject | None]] = {}
    rows = at_work(tenant_id, now=now).filter(intent_id__in={intent_id for _, intent_id in held}) if held else ()
    for row in rows:
        over.setdefault(row.intent_id, []).append(row.guardrails)
    found: dict[str, list[JSONObject | None]] = {}
    for agent_id, intent_id in held:
        found.setdefault(agent_id, []).extend(over.get(intent_id, ()))
    return {agent_id: _together(given) for agent_id, given in found.items()}


def capacity_of(agent: Agent, *, now: datetime) -> int:
    """How many episodic entries the agent may keep: the smallest of the host's bound, its own, and those over it."""
    over = _policies_over(settings.OPENWOP_TASK_CONSENT).fetch(agent.tenant_id, agent.agent_id)
    of_files = [sql.as_document(policy).get("capacity_per_agent") for (policy,) in over]
    rails = rails_over(agent.tenant_id, agent.agent_id, now=now)
    bounds = (agent.capacity, rails.max_episodic_memory_per_agent, *of_files)
    found = smallest(settings.OPENWOP_EPISODIC_CAPACITY, *bounds)
    return settings.OPENWOP_EPISODIC_CAPACITY if found is None else found


@cache
def _policies_over(consent: bool) -> sql.Written:
    """For a tenant and an agent: the policies of the intents in which it took up a task that is under way."""
    tenant_id, agent_id = UUID(int=0), "an agent"
    intents = taken_up_by(tenant_id, agent_id).values("intent_id")
    over = Intent.objects.of(tenant_id).filter(~Q(policy={}), id__in=intents)
    return sql.Written(over.values_list("policy"), tenant_id, agent_id)


def _given(task: Task) -> JSONObject:
    """What the task's policy says over what its intent's does, key by key (R87)."""
    intent: Intent = Intent.objects.of(task.tenant_id).only("policy").get(id=task.intent_id)
    return {**intent.policy, **(task.memory_policy or {})}


def smallest(*bounds: int | None) -> int | None:
    """The one that wins; None when there is none."""
    return min((each for each in bounds if each is not None), default=None)


def _together(guardrails: Iterable[JSONObject | None]) -> Rails:
    given = [each for each in guardrails if each is not None]
    allowed = [frozenset(names) for each in given if (names := each.get("allowed_semantic_namespaces")) is not None]
    return Rails(
        max_working_memory_per_task=smallest(*(each.get("max_working_memory_per_task") for each in given)),
        max_episodic_memory_per_agent=smallest(*(each.get("max_episodic_memory_per_agent") for each in given)),
        allowed=frozenset.intersection(*allowed) if allowed else None,
        denied=frozenset(name for each in given for name in each.get("denied_semantic_namespaces") or ()),
        memory_archive_required=any(each.get("memory_archive_required", True) for each in given),
    )
