"""Tasks and the policies that bound their memory (RFC-0012; RFC-0015 2.1, 6.5, 6.6; R72-R81).

A task that has ended stays ended and has no memory. Every change of a task, and every write for it, holds the lock of
its row, so a later writer finds it ended. Of several bounds on memory the smallest wins. Guardrails are those of the
active coordinators; one that requires archival overrules a policy that does without.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet

from memory import addresses, event_notes, ledger, redaction
from memory.adapter import openintent
from memory.host import ids, sql
from memory.host.errors import Forbidden, NotFound, TaskClosed, VersionMismatch
from memory.host.events import MemoryArchived
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope
from memory.models import Agent, Intent, Task
from memory.models.work import ENDED, STATUSES
from memory.openintent.work import authority, rows
from memory.openintent.work.intents import find_intent, log, log_to_agent
from memory.openintent.work.rows import (
    OF_STATUS,
    WRITER,
    Json,
    NewTask,
    TaskChange,
    active_coordinators,
    live_tasks,
    taken_up_assignments,
    taken_up_by,
    task,
)

if TYPE_CHECKING:
    from memory.models.address import EntryAddress


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


def heirs(tenant_id: UUID, agent_id: str) -> "QuerySet[Task]":
    """The agent's tasks under way that inherit what is remembered in the task above them, in the same intent (R74)."""
    return live_tasks(tenant_id, agent_id).filter(INHERITS, parent_task__intent_id=F("intent_id"))


def would_inherit(intent: Intent, policy: JSONObject | None) -> bool:
    """The same of a task that is to be made under another one of the intent."""
    return bool({**intent.policy, **(policy or {})}.get("inherit_from_parent", False))


def inherits(task: Task) -> bool:
    """The same of one task: whether the memory of the task above it, if any, is lent to it."""
    return task.parent_task_id is not None and bool(_stored_policy(task).get("inherit_from_parent", False))


def policy_of(task: Task, *, now: datetime) -> Policy:
    """The task's policy over its intent's over the defaults, within the guardrails of the intent's coordinators."""
    given, rails = _stored_policy(task), guardrails_of(task, now=now)
    return Policy(
        archive_on_completion=given.get("archive_on_completion", True) or rails.memory_archive_required,
        inherit_from_parent=given.get("inherit_from_parent", False),
        max_entries=smallest(given.get("max_entries"), rails.max_working_memory_per_task),
        max_total_size_kb=given.get("max_total_size_kb"),
    )


def guardrails_of(task: Task, *, now: datetime) -> Rails:
    """The guardrails that hold in the task."""
    rows = active_coordinators(task.tenant_id, now=now).filter(intent_id=task.intent_id)
    return _together(rows.values_list("guardrails", flat=True))


def guardrails_over(tenant_id: UUID, agent_id: str, *, now: datetime | None) -> Rails:
    """The guardrails that hold for the agent: those of every intent in which it took up a task that is under way."""
    found = _rails_over(now is not None, settings.OPENWOP_TASK_CONSENT).fetch(tenant_id, agent_id, now)
    return _together(sql.as_document(guardrails) for (guardrails,) in found)


@cache
def _rails_over(timed: bool, consent: bool) -> sql.CompiledQuery:
    """For a tenant, an agent and the time, where there is one; ``taken_up`` asks for ``consent`` as the host does."""
    tenant_id, agent_id, now = UUID(int=0), "an agent", datetime.min.replace(tzinfo=UTC) if timed else None
    intents = taken_up_by(tenant_id, agent_id).values("intent_id")
    rows = active_coordinators(tenant_id, now=now).filter(intent_id__in=intents)
    return sql.CompiledQuery(rows.values_list("guardrails"), tenant_id, agent_id, now)


def guardrails_over_each(tenant_id: UUID, agents: Collection[str], *, now: datetime | None) -> dict[str, Rails]:
    """The same for each of these agents, in two queries however many they are; none is over who is left out."""
    agreed = taken_up_assignments(tenant_id).filter(agent_id__in=agents, task__ended_at=None)
    held = set(agreed.values_list("agent_id", "task__intent_id"))
    over: dict[UUID, list[JSONObject | None]] = {}
    rows = (
        active_coordinators(tenant_id, now=now).filter(intent_id__in={intent_id for _, intent_id in held})
        if held
        else ()
    )
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
    rails = guardrails_over(agent.tenant_id, agent.agent_id, now=now)
    bounds = (agent.capacity, rails.max_episodic_memory_per_agent, *of_files)
    found = smallest(settings.OPENWOP_EPISODIC_CAPACITY, *bounds)
    return settings.OPENWOP_EPISODIC_CAPACITY if found is None else found


@cache
def _policies_over(consent: bool) -> sql.CompiledQuery:
    """For a tenant and an agent: the policies of the intents in which it took up a task that is under way."""
    tenant_id, agent_id = UUID(int=0), "an agent"
    intents = taken_up_by(tenant_id, agent_id).values("intent_id")
    over = Intent.objects.of(tenant_id).filter(~Q(policy={}), id__in=intents)
    return sql.CompiledQuery(over.values_list("policy"), tenant_id, agent_id)


def _stored_policy(task: Task) -> JSONObject:
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


# A larger snapshot is split over several events, so that none is too large to read.
MAX_SNAPSHOT = 1024 * 1024
Archived = JSONObject
MAX_OF_INTENT = 10_000


def archive(task: Task, actor: str, now: datetime) -> None:
    """No working memory of the ended task is left: what could be read is archived, or cleared where the policy says so.

    In the transaction of the task's end and under its lock. What had lapsed, was retired or lives as long as the task
    is cleared in any case. The memory of the tasks above and below it stays (R74).
    """
    task_id = ids.wire("task", task.id)
    ledger.head.lock_entries(
        task.tenant_id, runs=[task.intent_id], entries=openintent.entries_of_task(task.tenant_id, task_id)
    )
    keeps = policy_of(task, now=now).archive_on_completion
    for left in openintent.remaining_by_agent(task.tenant_id, task_id, now=now):
        if keeps:
            _append_archived(task, left.agent_id, left.live, actor, now)
        _remove(task.tenant_id, left.live, "archived" if keeps else "expired", actor, now)
        _remove(task.tenant_id, left.over, "expired", actor, now)


def _append_archived(task: Task, agent_id: str, rows: Sequence[UUID], actor: str, now: datetime) -> None:
    for snapshot in _snapshots(task.tenant_id, rows):
        fact = MemoryArchived(agent_id, actor, ids.wire("task", task.id), len(snapshot))
        event_notes.append(task.tenant_id, task.intent_id, [(fact, {"snapshot": snapshot})], now=now)


def _snapshots(tenant_id: UUID, rows: Sequence[UUID]) -> Iterator[list[Archived]]:
    """The entries as they are archived, as many at a time as one event has room for."""
    redactor = redaction.for_tenant(tenant_id)
    snapshot: list[Archived] = []
    size = 0
    for row in openintent.addresses_of_rows(tenant_id, rows):
        archived = redactor.redact_json(_archived(row))
        weight = addresses.size_of(archived)
        if snapshot and size + weight > MAX_SNAPSHOT:
            yield snapshot
            snapshot, size = [], 0
        snapshot.append(archived)
        size += weight
    if snapshot:
        yield snapshot


def _archived(row: "EntryAddress") -> Archived:
    sealed = row.sensitivity in addresses.SEALED or row.sealed is not None
    value = {"value_redacted": True} if sealed else {"value": ledger.entries.value_of(row)}
    return {"namespace": row.namespace, "key": row.key, **value, "tags": list(row.entry.tags)}


def _remove(tenant_id: UUID, rows: Sequence[UUID], reason: str, actor: str, now: datetime) -> None:
    for part in sql.in_chunks(rows):
        ledger.erase.remove_entries(tenant_id, part, reason=reason, actor=actor, now=now)


def find_task(scope: TenantScope, text: str, *, lock: bool = False) -> Task:
    """The task of that id; unknown, foreign and malformed ids are refused alike."""
    scope.check(authority.READ)
    found = task(scope.tenant_id, text, lock=lock)
    if found is None:
        raise NotFound("There is no task by that id.")
    return found


def require_open(row: Task) -> None:
    """Refuses a task that has ended: it takes no memory and changes no more (R28). The caller holds its lock."""
    if row.ended_at is not None:
        raise TaskClosed(task_id=ids.wire("task", row.id), status=row.status)


def list_tasks(intent: Intent, *, status: str = "", limit: int, offset: int) -> tuple[list[Task], int]:
    """The intent's tasks, the oldest first, and how many there are."""
    rows = Task.objects.of(intent.tenant_id).filter(intent_id=intent.id).order_by("id")
    found = rows.filter(status=status) if status else rows
    return list(found[offset : offset + limit]), found.count()


@transaction.atomic
def create_task(scope: TenantScope, new: NewTask, *, actor: str, now: datetime) -> Task:
    """A task of the intent, of the agent it names, if any; it may begin in any status that is no end.

    It is made by who may appoint a coordinator, or under a task of one's own, while that is under way: who has a task
    reads what belongs to it. One that inherits the memory of its parent, of all who work there, by the former alone.
    """
    scope.check(authority.WRITE)
    intent = find_intent(scope, new.intent_id, lock=True)
    parent = _parent(scope, intent, new.parent_task_id)
    if parent is None or parent.assigned_agent != actor or parent.ended_at is not None:
        authority.require_appointment(scope, intent, actor, now=now)
    authority.one_of("status", new.status, [each for each in STATUSES if each not in ENDED])
    policy = authority.memory_policy(new.memory_policy)
    if parent and would_inherit(intent, policy):
        authority.require_appointment(scope, intent, actor, now=now)
    if Task.objects.of(scope.tenant_id).filter(intent_id=intent.id).count() >= MAX_OF_INTENT:
        raise authority.refuse("intent_id", f"has its {MAX_OF_INTENT} tasks")
    made = Task(
        tenant_id=scope.tenant_id,
        intent_id=intent.id,
        parent_task_id=parent.id if parent else None,
        name=authority.name(scope, "name", new.name),
        description=authority.name(scope, "description", new.description, most=authority.MAX_TEXT, empty=True),
        status=new.status,
        memory_policy=policy,
        record=authority.record(scope, new.record),
        created_by=actor,
        created_at=now,
        updated_at=now,
    ).insert(by=WRITER)
    if new.assigned_agent:
        _hand_over(scope, made, new.assigned_agent, failed=False, actor=actor, now=now)
        made.save(by=WRITER, update_fields=["assigned_agent"])
        _tell_assignee(scope, made, actor, now)
    _append_fact(made, "task.created", actor, {"name": made.name}, now=now)
    return made


def _parent(scope: TenantScope, intent: Intent, task_id: str) -> Task | None:
    if not task_id:
        return None
    parent = find_task(scope, task_id, lock=True)
    if parent.intent_id != intent.id:
        raise authority.refuse("parent_task_id", "is a task of another intent")
    return parent


@transaction.atomic
def update_task(
    scope: TenantScope, task_id: str, change: TaskChange, *, version: int, actor: str, now: datetime
) -> Task:
    """The task is as changed, in its next version. When it has ended, its working memory is archived.

    It changes by the agent that has it, the intent's creator, a coordinator or an operator; its memory policy, which
    may open other memory, not by the first of these. One that was never assigned may be claimed by any agent, for
    itself, unless that would open memory to it, or end that of others.
    """
    scope.check(authority.WRITE)
    row = find_task(scope, task_id, lock=True)
    change = _permitted(scope, row, change, actor, now)
    if row.version != version:
        raise VersionMismatch("The task has changed since that version.", current_version=row.version)
    require_open(row)
    before = row.assigned_agent
    _apply(scope, row, change, actor, now)
    if row.ended_at:
        archive(row, actor, now)
    elif row.assigned_agent != before:
        _tell_assignee(scope, row, actor, now)
    if row.assigned_agent != before and before:
        _append_fact(
            row, "task.delegated", actor, {"from": before, "to": row.assigned_agent, **_why(scope, change)}, now=now
        )
    kind = OF_STATUS[row.status] if change.status else "task.progress"
    _append_fact(row, kind, actor, {"status": row.status}, now=now)
    return row


def require_task_change(scope: TenantScope, task_id: str, *, actor: str, now: datetime) -> None:
    """Refuses callers who may change nothing of the task, and may not claim it either."""
    scope.check(authority.WRITE)
    row = find_task(scope, task_id)
    intent = Intent.objects.of(row.tenant_id).get(id=row.intent_id)
    if not (row.assigned_agent == actor or authority.directs(scope, intent, actor, now=now) or _is_free(row, actor)):
        raise Forbidden("This agent may not change that task.", rule=authority.RULE)


def _permitted(scope: TenantScope, row: Task, change: TaskChange, actor: str, now: datetime) -> TaskChange:
    """The change, when the agent may make it; of a claim, with the agent that claims."""
    intent = Intent.objects.of(row.tenant_id).get(id=row.intent_id)
    own = row.assigned_agent == actor and change.memory_policy is None
    if own or authority.directs(scope, intent, actor, now=now):
        return change
    claims = change.status in authority.IN_HAND and change.assigned_agent in {None, actor}
    if not claims or change.memory_policy is not None or not _is_free(row, actor):
        raise Forbidden("This agent may not change that task.", rule=authority.RULE)
    return TaskChange(change.status, actor, reason=change.reason, record=change.record)


def _is_free(row: Task, actor: str) -> bool:
    """Whether the agent may claim the task: it was never assigned, no other agent has memory that would end with it,
    and it lends no memory but the agent's own."""
    if row.assigned_agent or rows.was_ever_assigned(row):
        return False
    if openintent.is_used_by_others(row.tenant_id, ids.wire("task", row.id), but=actor):
        return False
    if not inherits(row):
        return True
    own = Task.objects.of(row.tenant_id).filter(assigned_agent=actor, ended_at=None)
    return row.parent_task_id is not None and own.filter(id=row.parent_task_id).exists()


def _apply(scope: TenantScope, row: Task, change: TaskChange, actor: str, now: datetime) -> None:
    row.record = authority.record(scope, {**row.record, **change.record})
    if change.memory_policy is not None:
        row.memory_policy = authority.memory_policy(change.memory_policy)
    if change.assigned_agent is not None and change.assigned_agent != row.assigned_agent:
        failed = change.reason in rows.FAILED or bool(change.record.get("error"))
        _hand_over(scope, row, change.assigned_agent, failed=failed, actor=actor, now=now)
    elif row.assigned_agent == actor:
        rows.take_up(row)
    if change.status is not None:
        _move(row, authority.one_of("status", change.status, STATUSES), now)
    row.version, row.updated_at = row.version + 1, now
    row.save(
        by=WRITER,
        update_fields=[
            "status", "assigned_agent", "memory_policy", "record", "version", "updated_at", "ended_at",
        ],
    )  # fmt: skip


def _hand_over(scope: TenantScope, row: Task, to: str, *, failed: bool, actor: str, now: datetime) -> None:
    agent_id = to and authority.agent_name(scope.tenant_id, "assigned_agent", to)
    agreed = agent_id == actor or authority.acts_for(scope, agent_id)
    rows.hand_over(row, agent_id, failed=failed, agreed=agreed, now=now)


def _tell_assignee(scope: TenantScope, row: Task, actor: str, now: datetime) -> None:
    """Tell the agent on its own stream that another one gave it the task."""
    if row.assigned_agent not in ("", actor):
        note = {"task_id": ids.wire("task", row.id), "assigned_agent": row.assigned_agent}
        log_to_agent(scope, row.intent_id, row.assigned_agent, "task.delegated", note, actor=actor, now=now)


def _move(row: Task, status: str, now: datetime) -> None:
    row.status = status
    if status == "running" and not row.record.get("started_at"):
        row.record = {**row.record, "started_at": now.isoformat(timespec="microseconds")}
    if status in ENDED:
        row.ended_at = now
        rows.close(row, dead=False, now=now)


def _why(scope: TenantScope, change: TaskChange) -> Json:
    why: Json = authority.document(scope, "reason", {"reason": change.reason} if change.reason else {})
    return why


def _append_fact(row: Task, kind: str, actor: str, more: Json, *, now: datetime) -> None:
    note = {"task_id": ids.wire("task", row.id), "assigned_agent": row.assigned_agent or None, **more}
    log(row.tenant_id, row.intent_id, kind, actor, note, now=now)
