"""The outbox: what webhooks are to be told of, written in the transaction of the change and taken out by a worker.

A tenant that has no active webhook puts nothing in, and is not asked for: the statement that numbers an event of the
log answers whether anybody watches, from the rows of the tenant's webhooks, of which there are none.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from memory.host import ids, sql
from memory.host.json_types import JSONObject
from memory.host.models import OutboxEvent, Webhook, WebhookState

WRITER = "memory.host.outbox"
# Parts of the statements of ``event_log``: whether the tenant of the stream has an active webhook, and the row.
IS_WATCHED = (
    "EXISTS (SELECT 1 FROM host_webhook WHERE host_webhook.tenant_id = host_stream.tenant_id "
    "AND host_webhook.state = 'active')"
)
COLUMNS = ("tenant_id", "id")
INSERT_INTO = "INSERT INTO host_outboxevent (tenant_id, id)"


def put(tenant_id: UUID, event_ids: Sequence[Any]) -> None:
    """The events of these ids, in the form of the engine, wait for their deliveries."""
    tenant = sql.key(tenant_id)
    sql.insert(OutboxEvent.objects.written_by(WRITER), COLUMNS, [(tenant, event_id) for event_id in event_ids])


def announce(tenant_id: UUID, kind: str, data: JSONObject, *, run_id: UUID | None = None, now: datetime) -> None:
    """What stands on no log is told to webhooks as ``kind``; ``data`` holds ids, codes and numbers. In the caller's
    transaction, which is that of the change."""
    if not Webhook.objects.of(tenant_id).filter(state=WebhookState.ACTIVE).exists():
        return
    told = announced(kind, data, run_id=run_id, now=now)
    OutboxEvent(tenant_id=tenant_id, announced=told).insert(by=WRITER)


def announced(kind: str, data: JSONObject, *, run_id: UUID | None, now: datetime) -> JSONObject:
    """What is kept of a fact that stands on no log, until it is told."""
    run = {"runId": ids.wire("run", run_id)} if run_id else {}
    return {"type": kind, "timestamp": now.isoformat(), "data": data, **run}


def is_empty() -> bool:
    return not OutboxEvent.objects.exists()


def take(limit: int) -> list[OutboxEvent]:
    """Some that no other worker has at this moment, locked, by tenant and the oldest of each first. The caller removes
    them in the same transaction."""
    rows: QuerySet[OutboxEvent] = OutboxEvent.objects.select_for_update(skip_locked=True, of=("self",))
    return list(rows.order_by("tenant_id", "id")[:limit])


def remove(tenant_id: UUID, event_ids: Sequence[UUID]) -> None:
    """The deliveries of these events have been made."""
    sql.delete_in_chunks(OutboxEvent.objects.written_by(WRITER).filter(tenant_id=tenant_id), event_ids)
