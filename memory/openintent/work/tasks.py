"""Tasks: made, found, handed over, and ended (RFC-0012). One that has ended stays so, without memory (RFC-0015 2.1).

A change of a task, and whatever is written for it, happens under the lock of its row: who comes later finds it ended.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import transaction

from memory import addresses, event_notes, harness, ledger
from memory.adapter import openintent
from memory.host import ids, sql
from memory.host.errors import Forbidden, NotFound, TaskClosed, VersionMismatch
from memory.host.events import MemoryArchived
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope
from memory.models import Intent, Task
from memory.models.work import ENDED, STATUSES
from memory.openintent.work import authority, policies, rows
from memory.openintent.work.intents import find_intent, log
from memory.openintent.work.rows import OF_STATUS, WRITER, Json, NewTask, TaskChange, task

if TYPE_CHECKING:
    from memory.models.address import EntryAddress


# A snapshot beyond this is told in several events, so that none is too large to be read.
MAX_SNAPSHOT = 1024 * 1024
Archived = JSONObject
MAX_OF_INTENT = 10_000


def archive(task: Task, actor: str, now: datetime) -> None:
    """No working memory of the ended task is left: what could be read is archived, or cleared where the policy says so.

    In the transaction of the task's end and under its lock. What had lapsed, was retired or lives as long as the task
    is cleared in any case. The memory of the tasks above and below it stays (R74).
    """
    task_id = ids.wire("task", task.id)
    ledger.hold(task.tenant_id, runs=[task.intent_id], entries=openintent.bound_to(task.tenant_id, task_id))
    keeps = policies.policy_of(task, now=now).archive_on_completion
    for left in openintent.left_in(task.tenant_id, task_id, now=now):
        if keeps:
            _tell_archived(task, left.agent_id, left.live, actor, now)
        _remove(task.tenant_id, left.live, "archived" if keeps else "expired", actor, now)
        _remove(task.tenant_id, left.over, "expired", actor, now)


def _tell_archived(task: Task, agent_id: str, rows: Sequence[UUID], actor: str, now: datetime) -> None:
    for snapshot in _snapshots(task.tenant_id, rows):
        fact = MemoryArchived(agent_id, actor, ids.wire("task", task.id), len(snapshot))
        event_notes.append(task.tenant_id, task.intent_id, [(fact, {"snapshot": snapshot})], now=now)


def _snapshots(tenant_id: UUID, rows: Sequence[UUID]) -> Iterator[list[Archived]]:
    """The entries as they are archived, as many at a time as one event has room for."""
    redactor = harness.for_tenant(tenant_id)
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
    value = {"value_redacted": True} if sealed else {"value": ledger.value_of(row)}
    return {"namespace": row.namespace, "key": row.key, **value, "tags": list(row.entry.tags)}


def _remove(tenant_id: UUID, rows: Sequence[UUID], reason: str, actor: str, now: datetime) -> None:
    for part in sql.in_chunks(rows):
        ledger.remove_entries(tenant_id, part, reason=reason, actor=actor, now=now)


def find_task(scope: TenantScope, text: str, *, lock: bool = False) -> Task:
    """The task behind the id as a client sends it; refused alike when it is unknown, foreign or none."""
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
    if parent and policies.would_inherit(intent, policy):
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
    _tell(made, "task.created", actor, {"name": made.name}, now=now)
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
    may open other memory, not by the first of these. One that was never anybody's may be claimed by any agent, for
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
    if row.assigned_agent != before and before:
        _tell(row, "task.delegated", actor, {"from": before, "to": row.assigned_agent, **_why(scope, change)}, now=now)
    kind = OF_STATUS[row.status] if change.status else "task.progress"
    _tell(row, kind, actor, {"status": row.status}, now=now)
    return row


def require_task_change(scope: TenantScope, task_id: str, *, actor: str, now: datetime) -> None:
    """Refuses whoever may change nothing of the task, and may not claim it either."""
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
    """Whether the agent may claim the task: nobody ever had it, nobody else remembers anything that would end with it,
    and it lends no memory but the agent's own."""
    if row.assigned_agent or rows.was_anybody_s(row):
        return False
    if openintent.is_used_by_others(row.tenant_id, ids.wire("task", row.id), but=actor):
        return False
    if not policies.inherits(row):
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
    agent_id = to and authority.agent_name("assigned_agent", to)
    agreed = agent_id == actor or authority.acts_for(scope, agent_id)
    rows.hand_over(row, agent_id, failed=failed, agreed=agreed, now=now)


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


def _tell(row: Task, kind: str, actor: str, more: Json, *, now: datetime) -> None:
    note = {"task_id": ids.wire("task", row.id), "assigned_agent": row.assigned_agent or None, **more}
    log(row.tenant_id, row.intent_id, kind, actor, note, now=now)
