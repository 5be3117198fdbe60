"""Working memory goes with its task: archived on the intent's log, or cleared (RFC-0015 2.1, 6.5; R21-R23, R73, R81).

What lives as long as the task goes with it, whatever its tier (``task_lifetime``, RFC-0015 1.1; R9), and is expired.
What remains is one ``memory.archived`` an agent, and beside it the snapshot: namespace, key and tags, and the value of
what was neither confidential nor restricted (C1). A forget takes values out of it; the log stays as it is.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from memory import addresses, event_notes, harness, ledger
from memory.adapter import addresses as adapter_addresses
from memory.host import ids, sql
from memory.host.events import MemoryArchived
from memory.host.json_types import JSONObject
from memory.models import Task
from memory.openintent.work import policies

if TYPE_CHECKING:
    from memory.models.address import EntryAddress

# A snapshot beyond this is told in several events, so that none is too large to be read.
MAX_SNAPSHOT = 1024 * 1024
Archived = JSONObject


def archive(task: Task, actor: str, now: datetime) -> None:
    """No working memory of the ended task is left: what could be read is archived, or cleared where the policy says so.

    In the transaction of the task's end and under its lock. What had lapsed, was retired or lives as long as the task
    is cleared in any case. The memory of the tasks above and below it stays (R74).
    """
    task_id = ids.wire("task", task.id)
    ledger.hold(task.tenant_id, runs=[task.intent_id], entries=adapter_addresses.bound_to(task.tenant_id, task_id))
    keeps = policies.policy_of(task, now=now).archive_on_completion
    for left in adapter_addresses.left_in(task.tenant_id, task_id, now=now):
        if keeps:
            _tell(task, left.agent_id, left.live, actor, now)
        _remove(task.tenant_id, left.live, "archived" if keeps else "expired", actor, now)
        _remove(task.tenant_id, left.over, "expired", actor, now)


def _tell(task: Task, agent_id: str, rows: Sequence[UUID], actor: str, now: datetime) -> None:
    for snapshot in _snapshots(task.tenant_id, rows):
        fact = MemoryArchived(agent_id, actor, ids.wire("task", task.id), len(snapshot))
        event_notes.append(task.tenant_id, task.intent_id, [(fact, {"snapshot": snapshot})], now=now)


def _snapshots(tenant_id: UUID, rows: Sequence[UUID]) -> Iterator[list[Archived]]:
    """The entries as they are archived, as many at a time as one event has room for."""
    redactor = harness.for_tenant(tenant_id)
    snapshot: list[Archived] = []
    size = 0
    for row in adapter_addresses.addresses_of_rows(tenant_id, rows):
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
