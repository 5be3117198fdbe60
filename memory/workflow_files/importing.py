"""A workflow file carried out: namespaces, agents, and an intent with a task for each step; all of it or nothing.

Importing a file again makes a new intent, which is another run of the workflow. Namespaces and agents are there once:
what the file says of them is set, and what it leaves open stays.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from memory import harness, namespaces, work
from memory.host import access, audit, ids
from memory.host.tenancy import TenantScope
from memory.models import Agent, Intent, Namespace, Task
from memory.work import NewAgent, NewIntent, NewTask
from memory.workflow_files.documents import AgentBlock, Step, Workflow

SCOPE, ACTION = "agents:manage", "workflow-file.imported"


@dataclass(frozen=True, slots=True)
class Brought:
    """What an import makes. ``intent_id`` and the ids of tasks are "" when it was only looked at.

    ``known_namespaces`` and ``known_agents`` were there before; ``earlier`` counts intents of the same name.
    """

    workflow: Workflow
    known_namespaces: frozenset[str]
    known_agents: frozenset[str]
    earlier: int
    intent_id: str = ""
    task_ids: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Standing:
    """An intent as it is now, with its first tasks and how many it has; ``by`` is who made it, as people call them."""

    intent: Intent
    tasks: list[Task]
    total: int
    by: str


def standing(scope: TenantScope, intent_id: str, *, tasks: int) -> Standing:
    """What became of an import, or of any other intent."""
    scope.check(SCOPE)
    intent = work.find_intent(scope, intent_id)
    found, total = work.list_tasks(intent, limit=tasks, offset=0)
    by = access.names_of(scope.tenant_id, {intent.created_by}).get(intent.created_by, intent.created_by)
    return Standing(intent, found, total, by)


def foresee(scope: TenantScope, workflow: Workflow) -> Brought:
    """What an import would make. Nothing is changed."""
    scope.check(SCOPE)
    tenant_id = scope.tenant_id
    shared = [namespaces.kept_name(scope, name) for name in workflow.namespaces]
    agents = [each.agent_id for each in workflow.agents]
    return Brought(
        workflow,
        _known(Namespace, "name", tenant_id, shared),
        _known(Agent, "agent_id", tenant_id, agents),
        Intent.objects.of(tenant_id).filter(title=_redacted(tenant_id, workflow.name)).count(),
    )


@transaction.atomic
def bring_in(scope: TenantScope, workflow: Workflow, *, now: datetime) -> Brought:
    """All that the file says is there, and on the audit log; needs ``agents:manage``."""
    before = foresee(scope, workflow)
    by = scope.principal.id
    readers = [each.agent_id for each in workflow.agents]
    shared = [
        changed
        for name in sorted(workflow.namespaces)
        for changed in namespaces.declare(scope.tenant_id, name, readers, by, now)
    ]
    for agent in sorted(workflow.agents, key=lambda each: each.agent_id):
        work.configure_agent(scope.tenant_id, _agent(scope.tenant_id, agent), now=now)
    new = NewIntent(workflow.name, workflow.description, policy=workflow.memory_policy)
    intent = work.create_intent(scope, new, actor=by, now=now)
    intent_id = ids.wire("intent", intent.id)
    for agent_id in readers:
        work.assign_agent(scope, intent_id, agent_id, actor=by, now=now)
    task_ids: dict[str, str] = {}
    for step in workflow.steps:
        task = work.create_task(scope, _task(intent_id, step, task_ids), actor=by, now=now)
        task_ids[step.name] = ids.wire("task", task.id)
    namespaces.put_on_record(shared, actor=by, now=now)
    counts = {"namespaces": len(workflow.namespaces), "agents": len(readers), "tasks": len(task_ids)}
    audit.append(scope.tenant_id, actor=by, action=ACTION, target=intent_id, details=counts, now=now)
    return Brought(workflow, before.known_namespaces, before.known_agents, before.earlier, intent_id, task_ids)


def document(brought: Brought) -> dict[str, Any]:
    """What was made, or would be, as JSON with the names that OpenIntent has."""
    workflow = brought.workflow
    return {
        "name": workflow.name,
        "version": workflow.version,
        "dry_run": not brought.intent_id,
        "intent_id": brought.intent_id or None,
        "earlier_intents": brought.earlier,
        "memory_policy": workflow.memory_policy,
        "namespaces": [
            {"namespace": name, "created": name not in brought.known_namespaces} for name in workflow.namespaces
        ],
        "agents": [_agent_document(each, brought) for each in workflow.agents],
        "tasks": [_task_document(each, brought) for each in workflow.steps],
    }


def _agent_document(agent: AgentBlock, brought: Brought) -> dict[str, Any]:
    pinned = None if agent.pinned_namespaces is None else list(agent.pinned_namespaces)
    return {
        "agent_id": agent.agent_id,
        "created": agent.agent_id not in brought.known_agents,
        "capacity": agent.capacity,
        "pinned_namespaces": pinned,
    }


def _task_document(step: Step, brought: Brought) -> dict[str, Any]:
    return {
        "id": brought.task_ids.get(step.name),
        "name": step.name,
        "agent": step.agent,
        "depends_on": list(step.depends_on),
        "memory_policy": step.memory_policy,
        "outputs": step.outputs,
    }


def _known(model: Any, column: str, tenant_id: UUID, names: list[str]) -> frozenset[str]:
    found = model.objects.of(tenant_id).filter(**{f"{column}__in": names}).values_list(column, flat=True)
    return frozenset(found)


def _redacted(tenant_id: UUID, text: str) -> str:
    return harness.for_tenant(tenant_id).redact(text).text


def _agent(tenant_id: UUID, agent: AgentBlock) -> NewAgent:
    pinned = agent.pinned_namespaces
    kept = None if pinned is None else tuple(_redacted(tenant_id, name) for name in pinned)
    return NewAgent(agent.agent_id, capacity=agent.capacity, pinned_namespaces=kept)


def _task(intent_id: str, step: Step, made: dict[str, str]) -> NewTask:
    """The task of a step; those it depends on are made already. One that depends on none is ready."""
    record: dict[str, Any] = {"depends_on": [made[name] for name in step.depends_on]}
    if step.outputs is not None:
        record["metadata"] = {"outputs": step.outputs}
    return NewTask(
        intent_id,
        step.name,
        description=step.description,
        status="pending" if step.depends_on else "ready",
        assigned_agent=step.agent,
        memory_policy=step.memory_policy or None,
        record=record,
    )
