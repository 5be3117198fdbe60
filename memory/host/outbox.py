"""The outbox: events to send to webhooks, written in the transaction of the change and taken out by a worker.

For a tenant without an active webhook nothing is written and no extra query runs: the statement that numbers an event
of the log also answers whether the tenant has one.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from memory.host import ids, sql
from memory.host.json_types import JSONObject
from memory.host.models import OutboxEvent, Webhook, WebhookState

WRITER = "memory.host.outbox"
# Parts of the statements of ``event_log``: whether the stream's tenant has an active webhook, and the insert.
IS_WATCHED = (
    "EXISTS (SELECT 1 FROM host_webhook WHERE host_webhook.tenant_id = host_stream.tenant_id "
    "AND host_webhook.state = 'active')"
)
COLUMNS = ("tenant_id", "id")
INSERT_INTO = "INSERT INTO host_outboxevent (tenant_id, id)"


def enqueue_events(tenant_id: UUID, event_ids: Sequence[object]) -> None:
    """Queue the events with these ids, given in the engine's form, for delivery."""
    tenant = sql.key(tenant_id)
    sql.insert(OutboxEvent, COLUMNS, [(tenant, event_id) for event_id in event_ids], by=WRITER)


def announce(tenant_id: UUID, kind: str, data: JSONObject, *, run_id: UUID | None = None, now: datetime) -> None:
    """Queue a fact that is not on a log for webhooks, as ``kind``; ``data`` holds ids, codes and numbers.

    Runs in the caller's transaction, which is that of the change. Does nothing without an active webhook.
    """
    if not Webhook.objects.of(tenant_id).filter(state=WebhookState.ACTIVE).exists():
        return
    event = announced(kind, data, run_id=run_id, now=now)
    OutboxEvent(tenant_id=tenant_id, announced=event).insert(by=WRITER)


def announced(kind: str, data: JSONObject, *, run_id: UUID | None, now: datetime) -> JSONObject:
    """Return the stored form of a fact that is not on a log."""
    run = {"runId": ids.wire("run", run_id)} if run_id else {}
    return {"type": kind, "timestamp": now.isoformat(), "data": data, **run}


def is_empty() -> bool:
    return not OutboxEvent.objects.exists()


def take(limit: int) -> list[OutboxEvent]:
    """Lock and return entries that no other worker holds, by tenant, the oldest of each first.

    The caller removes them in the same transaction.
    """
    rows: QuerySet[OutboxEvent] = OutboxEvent.objects.select_for_update(skip_locked=True, of=("self",))
    return list(rows.order_by("tenant_id", "id")[:limit])


def remove(tenant_id: UUID, event_ids: Sequence[UUID]) -> None:
    """Remove these events after their deliveries were made."""
    sql.delete_in_chunks(OutboxEvent.objects.written_by(WRITER).filter(tenant_id=tenant_id), event_ids)
