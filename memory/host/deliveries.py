"""Deliveries to webhooks: made of what the outbox holds, tried until one succeeds or a day is over, and kept as a log.

The only writer of them. Whether a delivery is due, who tries it and what comes of an attempt is decided here; the
request itself is sent by the dispatcher of the worker.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from memory.host import event_log, ids, outbox, sql, webhooks
from memory.host.effects import is_replay
from memory.host.errors import Conflict, NotFound
from memory.host.event_log import ENDINGS, Recorded
from memory.host.events import NodeSuspended
from memory.host.json_types import JSONObject
from memory.host.leases import Lease
from memory.host.models import DeliveryState, OutboxEvent, Run, Webhook, WebhookDelivery, WebhookState
from memory.host.paging import Page, read_page
from memory.host.tenancy import TenantScope

WRITER = "memory.host.deliveries"
LEASE = Lease(WebhookDelivery, WRITER, timedelta(seconds=30))
AT_ONCE = 500
DUE_WEBHOOKS = 200
# How long after each failed attempt the next one comes: eleven attempts in all, the last just within a day.
GAPS = tuple(
    timedelta(seconds=each) for each in (20, 60, 180, 600, 1800, 3600, 2 * 3600, 4 * 3600, 6 * 3600, 10 * 3600)
)
# A webhook of which so many deliveries failed for good within this time is failed itself.
MOST_FAILURES, WITHIN = 100, timedelta(days=7)
KEPT = timedelta(days=14)
GIVEN_UP = "webhook_failed"
RUN_ENDED, RUN_WAITING = "run.ended", "run.waiting"


def fan_out(*, now: datetime) -> int:
    """What waits in the outbox has its deliveries, one for each webhook that wants it; returns how much waited."""
    if outbox.is_empty():
        return 0
    with transaction.atomic():
        waiting = outbox.take(AT_ONCE)
        for tenant_id, rows in groupby(waiting, key=lambda row: row.tenant_id):
            _fan_out(tenant_id, list(rows), now)
    return len(waiting)


def _fan_out(tenant_id: UUID, rows: list[OutboxEvent], now: datetime) -> None:
    wanting = list(Webhook.objects.of(tenant_id).filter(state=WebhookState.ACTIVE))
    made = [
        WebhookDelivery(
            tenant_id=tenant_id,
            webhook_id=webhook.id,
            type=message.type,
            event_id=message.event_id,
            announced=message.announced,
            created_at=now,
            next_at=now,
        )
        for message in _messages(tenant_id, rows)
        for webhook in wanting
        if message.type in webhook.events and (not webhook.tags or set(webhook.tags) & message.tags)
    ]
    WebhookDelivery.objects.written_by(WRITER).bulk_create(made, batch_size=sql.CHUNK)
    outbox.remove(tenant_id, [row.id for row in rows])


@dataclass(frozen=True, slots=True)
class Message:
    """What one type of webhook is told of: an event of the log, or what was announced; ``tags`` are the run's."""

    type: str
    event_id: UUID | None = None
    announced: JSONObject | None = None
    tags: frozenset[str] = frozenset()


def _messages(tenant_id: UUID, rows: Iterable[OutboxEvent]) -> Iterator[Message]:
    """What is told of these rows. A replay tells nobody: decided by how the run came to be (openwop-host 3.8)."""
    told = {row.id: row.announced for row in rows}
    logged = event_log.read_many(tenant_id, [row_id for row_id, announced in told.items() if announced is None])
    rows_of_runs = Run.objects.of(tenant_id).only("fork_mode", "tags")
    of_runs = rows_of_runs.in_bulk_by_id({event.run_id for event in logged.values()})
    for row_id, announced in told.items():
        if announced is not None:
            yield Message(announced["type"], None, announced)
        elif event := logged.get(row_id):
            yield from _of_log(event, of_runs.get(event.run_id))


def _of_log(event: Recorded, run: Run | None) -> Iterator[Message]:
    if run and is_replay(run):
        return
    tags = frozenset(run.tags if run else ())
    yield Message(event.type, event.event_id, None, tags)
    if run and (told := _told_of_run(event)):
        announced = outbox.announced(*told, run_id=run.id, now=event.timestamp)
        yield Message(told[0], None, announced, tags)


def _told_of_run(event: Recorded) -> tuple[str, JSONObject] | None:
    """What the console tells of a run by this event of its log, beside the event."""
    run_id = ids.wire("run", event.run_id)
    if event.type in ENDINGS:
        return RUN_ENDED, {"runId": run_id, "status": event.type.removeprefix("run.")}
    if event.type == NodeSuspended.type:
        asked = {name: event.payload[name] for name in ("nodeId", "interruptId", "kind")}
        return RUN_WAITING, {"runId": run_id, **asked}
    return None


def due(*, now: datetime, per_webhook: int, after: UUID | None = None) -> list[WebhookDelivery]:
    """Deliveries of all tenants that nobody has in hand, up to ``per_webhook`` of each webhook: the webhooks behind
    ``after`` first, and one of each before the second of any."""
    waiting = _due(now).filter(tenant_id=OuterRef("tenant_id"), webhook_id=OuterRef("id"))
    found = list(Webhook.objects.filter(Exists(waiting), state=WebhookState.ACTIVE).order_by("id")[:DUE_WEBHOOKS])
    if after:
        found.sort(key=lambda webhook: (webhook.id <= after, webhook.id))
    by_webhook = [
        list(_due(now).filter(tenant_id=webhook.tenant_id, webhook_id=webhook.id).order_by("next_at")[:per_webhook])
        for webhook in found
    ]
    return [each[place] for place in range(per_webhook) for each in by_webhook if place < len(each)]


def _due(now: datetime) -> QuerySet[WebhookDelivery]:
    return WebhookDelivery.objects.filter(LEASE.free(now), next_at__isnull=False, next_at__lte=now)


def claim(delivery: WebhookDelivery, *, holder: str, now: datetime) -> bool:
    """Whether ``holder`` tries the delivery now: one at a time, the attempt counted before it is made."""
    is_due = Q(next_at__isnull=False, next_at__lte=now)
    changes = {"attempts": F("attempts") + 1, "last_at": now}
    return LEASE.claim(delivery.tenant_id, delivery.id, holder=holder, now=now, where=is_due, **changes)


@transaction.atomic
def record_attempt(
    tenant_id: UUID, delivery_id: UUID, *, holder: str, status: int | None, code: str, now: datetime
) -> None:
    """What came of the attempt: ``code`` is empty when it was delivered. Nothing, when another has taken it over."""
    held = LEASE.while_held(tenant_id, delivery_id, holder=holder)
    row: WebhookDelivery | None = held.select_for_update().first()
    if row is None:
        return
    gap = GAPS[row.attempts - 1] if code and row.attempts <= len(GAPS) else None
    row.status, row.code, row.holder, row.lease_until = status, code, "", None
    row.next_at = now + gap if gap else None
    if gap is None:
        row.state, row.ended_at = DeliveryState.FAILED if code else DeliveryState.DELIVERED, now
    row.save(by=WRITER, update_fields=["status", "code", "holder", "lease_until", "next_at", "state", "ended_at"])
    if row.state == DeliveryState.FAILED and _failures(row, now) >= MOST_FAILURES:
        webhooks.mark_failed(tenant_id, row.webhook_id, now=now)


def _failures(row: WebhookDelivery, now: datetime) -> int:
    of_webhook = WebhookDelivery.objects.of(row.tenant_id).filter(webhook_id=row.webhook_id)
    recent = of_webhook.filter(state=DeliveryState.FAILED, ended_at__gt=now - WITHIN)
    return int(recent[:MOST_FAILURES].count())


def list_deliveries(
    scope: TenantScope, webhook_id: UUID | None, *, after: UUID | None = None, limit: int
) -> Page[WebhookDelivery]:
    """The deliveries of one webhook older than ``after``, the newest first."""
    webhook = webhooks.find(scope, webhook_id)
    return read_page(WebhookDelivery.objects.of(scope.tenant_id).filter(webhook_id=webhook.id), after, limit)


@transaction.atomic
def redeliver(
    scope: TenantScope, webhook_id: UUID | None, delivery_id: UUID | None, *, now: datetime
) -> WebhookDelivery:
    """The delivery is tried again at once, as the same message, with a day of retries before it; audited.

    Refused while its webhook is failed: nothing is sent there.
    """
    webhook = webhooks.find(scope, webhook_id)
    rows = WebhookDelivery.objects.of(scope.tenant_id).select_for_update().filter(webhook_id=webhook.id)
    row: WebhookDelivery | None = rows.filter(id=delivery_id).first() if delivery_id else None
    if row is None:
        raise NotFound("There is no delivery by that id.")
    if webhook.state != WebhookState.ACTIVE:
        raise Conflict("The webhook has failed; register its address again.", state=webhook.state)
    if not row.holder:  # an attempt that is under way is not made twice
        row.state, row.attempts, row.next_at, row.ended_at = DeliveryState.PENDING, 0, now, None
        row.save(by=WRITER, update_fields=["state", "attempts", "next_at", "ended_at"])
    webhooks.record_act(scope, webhook, "webhook.redelivered", now, delivery=ids.wire("dlv", row.id))
    return row


def sweep(*, now: datetime) -> int:
    """What waits for a failed webhook is failed, and what is over for KEPT is gone; returns how many that were."""
    gone, oldest = 0, ids.first_of(now - KEPT)
    for webhook in Webhook.objects.only("tenant_id", "id", "state").order_by("id"):
        rows = WebhookDelivery.objects.written_by(WRITER).filter(tenant_id=webhook.tenant_id, webhook_id=webhook.id)
        if webhook.state == WebhookState.FAILED:
            ended = {"state": DeliveryState.FAILED, "code": GIVEN_UP, "next_at": None, "ended_at": now}
            rows.filter(LEASE.free(now), next_at__isnull=False).update(**ended)
        gone += sql.delete_in_chunks(rows.filter(id__lt=oldest, next_at__isnull=True))
    return gone
