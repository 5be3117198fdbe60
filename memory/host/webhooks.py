"""Webhook subscriptions and their deliveries; the only writer of both.

Deliveries are made from the outbox, tried until one succeeds or a day is over, and kept as a log. This module decides
which delivery is due, who tries it and what follows from an attempt; the worker's ``webhook_sender`` signs
and sends the request.
"""

import base64
import hashlib
import secrets as random_secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import chain, groupby
from urllib.parse import urlsplit
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from memory.host import access, audit, event_log, events, ids, outbound, outbox, sql, vault
from memory.host.errors import Conflict, Forbidden, NotFound, SubscriptionNotFound, WebhookUrlRejected
from memory.host.event_log import ENDINGS, Recorded
from memory.host.events import NodeSuspended
from memory.host.expiry import SKEW
from memory.host.json_types import JSONObject
from memory.host.leases import Lease
from memory.host.models import DeliveryState, OutboxEvent, Run, SecretScope, Webhook, WebhookDelivery, WebhookState
from memory.host.paging import Page, read_all, read_page
from memory.host.tenancy import TenantScope

WRITER = "memory.host.webhooks"
SCOPE = "webhooks:manage"
ALGORITHM = "v1"
MAX_WEBHOOKS = 20
MAX_TAGS = 20
MAX_URL = 2000
SECRET_BYTES = 32
OVERLAP = timedelta(hours=24)
CURRENT, PREVIOUS = "current", "previous"
# Names of this machine or of a cloud's metadata service, refused whatever they resolve to.
INNER_NAMES = ("localhost", "metadata", "metadata.google.internal")
# Types that the console announces in addition to the types of the log.
CONSOLE_TYPES = ("gate.opened", "gate.decided", "run.waiting", "run.ended", "pass.finished", "forget.finished")
TYPES = (*events.TYPES, *CONSOLE_TYPES)
LEASE = Lease(WebhookDelivery, WRITER, timedelta(seconds=30))
AT_ONCE = 500
DUE_WEBHOOKS = 200
# The delay after each failed attempt: eleven attempts in all, the last just within a day.
GAPS = tuple(
    timedelta(seconds=each) for each in (20, 60, 180, 600, 1800, 3600, 2 * 3600, 4 * 3600, 6 * 3600, 10 * 3600)
)
# A webhook with this many finally failed deliveries within this time is marked failed.
MOST_FAILURES, WITHIN = 100, timedelta(days=7)
KEPT = timedelta(days=14)
GIVEN_UP = "webhook_failed"
RUN_ENDED, RUN_WAITING = "run.ended", "run.waiting"


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A subscription and its secret, which is shown once."""

    webhook: Webhook
    text: str


@transaction.atomic
def create_webhook(
    scope: TenantScope, url: str, types: list[str], *, tags: list[str], tenant_slug: str = "", now: datetime
) -> NewSecret:
    """Subscribe ``url`` to events of these types, signed with the secret that is returned; audited."""
    check_manager(scope, tenant_slug)
    check_url(url)
    check_plain(scope, url=url, tags=tags)
    access.lock_tenant(scope.tenant_id)
    if Webhook.objects.of(scope.tenant_id).count() >= MAX_WEBHOOKS:
        raise Conflict(f"A tenant has at most {MAX_WEBHOOKS} webhooks; remove one first.", limit=MAX_WEBHOOKS)
    secret = _new_secret()
    webhook = Webhook(
        tenant_id=scope.tenant_id,
        url=url,
        events=list(dict.fromkeys(types)),
        tags=list(dict.fromkeys(tags)),
        fingerprint=fingerprint_of(secret),
        created_by=scope.principal.id,
        created_at=now,
    ).insert(by=WRITER)
    _store_secret(webhook, CURRENT, secret, now)
    record_act(scope, webhook, "webhook.created", now, events=webhook.events)
    return NewSecret(webhook, secret)


def check_plain(scope: TenantScope, *, url: str = "", tags: Sequence[str] = ()) -> None:
    """Refuse an address or tags that hold a secret of the tenant."""
    vault.require_plain(scope.tenant_id, "The webhook is not valid.", {"url": [url], "tags": tags})


@transaction.atomic
def rotate_secret(scope: TenantScope, webhook_id: UUID | None, *, current: str = "", now: datetime) -> NewSecret:
    """Give the webhook a new secret and return it; the previous one signs as well for OVERLAP. Audited.

    A third secret that is still in its overlap stops signing. ``current`` is the fingerprint that the caller has seen:
    when another secret is current by now, the rotation is refused as a conflict, since a form that is sent again would
    end the one that receivers still use.
    """
    check_manager(scope)
    webhook = _locked(scope, webhook_id)
    if current not in ("", webhook.fingerprint):
        raise Conflict("The secret has been rotated since. If the new one is lost, rotate it again from this page.")
    held, secret = vault.open_webhook_secrets(webhook.tenant_id, wire_id(webhook)), _new_secret()
    _store_secret(webhook, PREVIOUS, held[CURRENT], now)
    _store_secret(webhook, CURRENT, secret, now)
    webhook.fingerprint, webhook.overlap_until = fingerprint_of(secret), now + OVERLAP
    webhook.save(by=WRITER, update_fields=["fingerprint", "overlap_until"])
    record_act(scope, webhook, "webhook.secret_rotated", now)
    return NewSecret(webhook, secret)


@transaction.atomic
def remove_webhook(scope: TenantScope, webhook_id: UUID | None, *, tenant_slug: str = "", now: datetime) -> None:
    """Remove the webhook, its pending deliveries and its delivery log. Audited."""
    check_manager(scope, tenant_slug)
    webhook = _locked(scope, webhook_id)
    for name in (CURRENT, PREVIOUS):
        vault.remove(webhook.tenant_id, name, scope=SecretScope.WEBHOOK, owner=wire_id(webhook), now=now)
    Webhook.objects.written_by(WRITER).filter(tenant_id=webhook.tenant_id, id=webhook.id).delete()
    record_act(scope, webhook, "webhook.removed", now)


def list_webhooks(scope: TenantScope, *, after: UUID | None = None, limit: int) -> Page[Webhook]:
    """Return subscriptions older than ``after``, newest first."""
    check_manager(scope)
    return read_page(Webhook.objects.of(scope.tenant_id), after, limit)


def find(scope: TenantScope, webhook_id: UUID | None) -> Webhook:
    check_manager(scope)
    return _require(Webhook.objects.of(scope.tenant_id).filter(id=webhook_id).first() if webhook_id else None)


def mark_failed(tenant_id: UUID, webhook_id: UUID, *, now: datetime) -> None:
    """Stop sending to the webhook; to resume, its address has to be registered again. Audited."""
    rows = Webhook.objects.written_by(WRITER).filter(tenant_id=tenant_id, id=webhook_id, state=WebhookState.ACTIVE)
    if rows.update(state=WebhookState.FAILED):
        target = ids.wire("whk", webhook_id)
        audit.append(tenant_id, actor="host", action="webhook.failed", target=target, now=now)


def check_manager(scope: TenantScope, tenant_slug: str = "") -> None:
    """Refuse a principal who may not manage webhooks, and a tenant other than that of the credential.

    A webhook reports the runs of every agent, so a key that is bound to agents manages none.
    """
    scope.check(SCOPE)
    if scope.principal.agent_ids is not None:
        raise Forbidden("A key that is bound to agents manages no webhooks.", rule="agent-binding")
    if tenant_slug not in ("", scope.principal.tenant_slug):
        raise Forbidden("A webhook belongs to the tenant of its credential.", rule="tenant")


def check_url(url: str) -> None:
    """Refuse an address that may not be sent to. Its host name is resolved, and checked, at each delivery."""
    if problem := _problem_of(url):
        raise WebhookUrlRejected(errors=[{"field": "url", "message": problem}])


def _problem_of(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, named = parts.hostname or "", parts.port != 0
    except ValueError:
        host, named = "", False
    plain = url.isascii() and url.isprintable() and " " not in url and len(url) <= MAX_URL
    if not (host and named and plain and outbound.is_sendable(url)):
        return f"must be an address of at most {MAX_URL} plain characters"
    if parts.username or parts.password or parts.fragment:
        return "must have neither credentials nor a fragment"
    if outbound.is_listed(host):
        return "" if parts.scheme in ("https", "http") else "must begin with https://"
    if parts.scheme != "https":
        return "must begin with https://"
    address = outbound.literal_address(host)
    inner = host.rstrip(".") in INNER_NAMES or host.rstrip(".").endswith(".localhost")
    if inner or (address and not outbound.may_connect(host, address)):
        return "must not lead to an address that is not public"
    return ""


def fingerprint_of(secret: str) -> str:
    """Return eight hex digits by which logs and people tell secrets apart."""
    return hashlib.sha256(secret.encode()).hexdigest()[:8]


def wire_id(webhook: Webhook) -> str:
    return ids.wire("whk", webhook.id)


def _new_secret() -> str:
    return "whsec_" + base64.b64encode(random_secrets.token_bytes(SECRET_BYTES)).decode()


def _store_secret(webhook: Webhook, name: str, secret: str, now: datetime) -> None:
    vault.store_secret(webhook.tenant_id, name, secret, scope=SecretScope.WEBHOOK, owner=wire_id(webhook), now=now)


def _locked(scope: TenantScope, webhook_id: UUID | None) -> Webhook:
    rows = Webhook.objects.of(scope.tenant_id).select_for_update()
    return _require(rows.filter(id=webhook_id).first() if webhook_id else None)


def _require(webhook: Webhook | None) -> Webhook:
    if webhook is None:
        raise SubscriptionNotFound
    return webhook


def record_act(scope: TenantScope, webhook: Webhook, action: str, now: datetime, **details: object) -> None:
    """Audit an act on a webhook by its id and fingerprint.

    The address is left out: it may name a person, and audit records are never erased.
    """
    details |= {"fingerprint": webhook.fingerprint}
    audit.append(
        webhook.tenant_id,
        actor=scope.principal.id,
        action=action,
        target=wire_id(webhook),
        details=details,
        now=now,
    )


def fan_out(*, now: datetime) -> int:
    """Make a delivery per interested webhook for events in the outbox; return how many events were taken."""
    if outbox.is_empty():
        return 0
    with transaction.atomic():
        waiting = outbox.take(AT_ONCE)
        for tenant_id, rows in groupby(waiting, key=lambda row: row.tenant_id):
            _fan_out(tenant_id, list(rows), now)
    return len(waiting)


def _fan_out(tenant_id: UUID, rows: list[OutboxEvent], now: datetime) -> None:
    # Locked, so that none is removed before its deliveries are committed, which belong to it.
    rows_wanting = Webhook.objects.of(tenant_id).select_for_update(no_key=True).order_by("id")
    wanting = list(rows_wanting.filter(state=WebhookState.ACTIVE))
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
    """A message to webhooks: an event of the log, or an announced payload; ``tags`` are the run's."""

    type: str
    event_id: UUID | None = None
    announced: JSONObject | None = None
    tags: frozenset[str] = frozenset()


def _messages(tenant_id: UUID, rows: Iterable[OutboxEvent]) -> Iterator[Message]:
    """Yield the messages for these rows. A replay sends none, decided by its fork mode (openwop-host 3.8)."""
    announcements = {row.id: row.announced for row in rows}
    logged = event_log.read_many(
        tenant_id, [row_id for row_id, announced in announcements.items() if announced is None]
    )
    rows_of_runs = Run.objects.of(tenant_id).only("fork_mode", "tags")
    of_runs = rows_of_runs.in_bulk_by_id({event.run_id for event in logged.values()})
    for row_id, announced in announcements.items():
        if announced is not None:
            yield Message(announced["type"], None, announced)
        elif event := logged.get(row_id):
            yield from _of_log(event, of_runs.get(event.run_id))


def _of_log(event: Recorded, run: Run | None) -> Iterator[Message]:
    if run and run.is_replay:
        return
    tags = frozenset(run.tags if run else ())
    yield Message(event.type, event.event_id, None, tags)
    if run and (message := _message_of_run(event)):
        announced = outbox.announced(*message, run_id=run.id, now=event.timestamp)
        yield Message(message[0], None, announced, tags)


def _message_of_run(event: Recorded) -> tuple[str, JSONObject] | None:
    """Return the console's own message about a run for this event of its log, if there is one."""
    run_id = ids.wire("run", event.run_id)
    if event.type in ENDINGS:
        return RUN_ENDED, {"runId": run_id, "status": event.type.removeprefix("run."), **_why(event)}
    if event.type == NodeSuspended.type:
        asked = {name: event.payload[name] for name in ("nodeId", "interruptId", "kind")}
        return RUN_WAITING, {"runId": run_id, **asked}
    return None


def _why(event: Recorded) -> JSONObject:
    """The node that failed the run, and the code of its failure."""
    node, code = event.payload.get("failedNodeId"), event.payload.get("error", {}).get("code")
    return {name: value for name, value in {"failedNodeId": node, "code": code}.items() if value}


def due(*, now: datetime, per_webhook: int, after: UUID | None = None) -> list[WebhookDelivery]:
    """Return unclaimed due deliveries of all tenants, up to ``per_webhook`` of each webhook.

    Webhooks after ``after`` come first, and one delivery of each webhook comes before the second of any.
    """
    found = _with_due().objects(now)
    if after:
        found.sort(key=lambda webhook: (webhook.id <= after, webhook.id))
    by_webhook = [
        list(_due(now).filter(tenant_id=webhook.tenant_id, webhook_id=webhook.id).order_by("next_at")[:per_webhook])
        for webhook in found
    ]
    return [each[place] for place in range(per_webhook) for each in by_webhook if place < len(each)]


@cache
def _with_due() -> sql.CompiledQuery:
    """The query for a time; every worker sends it twice a second."""
    now = datetime.min.replace(tzinfo=UTC)
    waiting = _due(now).filter(tenant_id=OuterRef("tenant_id"), webhook_id=OuterRef("id"))
    rows = Webhook.objects.filter(Exists(waiting), state=WebhookState.ACTIVE).order_by("id")
    return sql.CompiledQuery(rows[:DUE_WEBHOOKS], now)


def _due(now: datetime) -> QuerySet[WebhookDelivery]:
    return WebhookDelivery.objects.filter(LEASE.free(now), next_at__isnull=False, next_at__lte=now)


def correct_ahead(*, now: datetime) -> int:
    """Bring forward the deliveries that wait for longer than after their last attempt, put off while a clock was ahead.

    Return how many.
    """
    rows, corrected = WebhookDelivery.objects.filter(next_at__isnull=False, next_at__gt=now + SKEW), 0
    for tenant_id, row_id, attempts, next_at in rows.values_list("tenant_id", "id", "attempts", "next_at"):
        latest = now + (timedelta(), *GAPS)[min(attempts, len(GAPS))]
        if next_at and next_at > latest + SKEW:
            own = WebhookDelivery.objects.written_by(WRITER).filter(tenant_id=tenant_id, id=row_id, next_at=next_at)
            corrected += own.update(next_at=latest)
    return corrected


def claim(delivery: WebhookDelivery, *, holder: str, now: datetime) -> bool:
    """Claim the delivery for ``holder``: one at a time, and the attempt is counted before it is made."""
    is_due = Q(next_at__isnull=False, next_at__lte=now)
    changes = {"attempts": F("attempts") + 1, "last_at": now}
    return LEASE.claim(delivery.tenant_id, delivery.id, holder=holder, now=now, where=is_due, **changes)


@transaction.atomic
def record_attempt(
    tenant_id: UUID, delivery_id: UUID, *, holder: str, status: int | None, code: str, now: datetime
) -> None:
    """Record the result of the attempt; ``code`` is empty when it was delivered.

    Does nothing when another worker has taken the delivery over.
    """
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
        mark_failed(tenant_id, row.webhook_id, now=now)


def _failures(row: WebhookDelivery, now: datetime) -> int:
    of_webhook = WebhookDelivery.objects.of(row.tenant_id).filter(webhook_id=row.webhook_id)
    recent = of_webhook.filter(state=DeliveryState.FAILED, ended_at__gt=now - WITHIN)
    return int(recent[:MOST_FAILURES].count())


def list_deliveries(
    scope: TenantScope, webhook_id: UUID | None, *, after: UUID | None = None, limit: int
) -> Page[WebhookDelivery]:
    """Return the deliveries of one webhook older than ``after``, newest first."""
    webhook = find(scope, webhook_id)
    return read_page(WebhookDelivery.objects.of(scope.tenant_id).filter(webhook_id=webhook.id), after, limit)


def export_deliveries(scope: TenantScope, webhook_id: UUID | None) -> Iterator[WebhookDelivery]:
    """Yield all deliveries of one webhook, newest first, for a file."""
    webhook = find(scope, webhook_id)
    yield from chain.from_iterable(read_all(WebhookDelivery.objects.of(scope.tenant_id).filter(webhook_id=webhook.id)))


@transaction.atomic
def redeliver(
    scope: TenantScope, webhook_id: UUID | None, delivery_id: UUID | None, *, now: datetime
) -> WebhookDelivery:
    """Try the delivery again at once, as the same message, with a day of retries; audited.

    Refused while its webhook is failed, since nothing is sent there.
    """
    webhook = find(scope, webhook_id)
    rows = WebhookDelivery.objects.of(scope.tenant_id).select_for_update().filter(webhook_id=webhook.id)
    row: WebhookDelivery | None = rows.filter(id=delivery_id).first() if delivery_id else None
    if row is None:
        raise NotFound("There is no delivery by that id.")
    if webhook.state != WebhookState.ACTIVE:
        raise Conflict("The webhook has failed; register its address again.", state=webhook.state)
    if not row.holder:  # an attempt that is under way is not made twice
        row.state, row.attempts, row.next_at, row.ended_at = DeliveryState.PENDING, 0, now, None
        row.save(by=WRITER, update_fields=["state", "attempts", "next_at", "ended_at"])
    record_act(scope, webhook, "webhook.redelivered", now, delivery=ids.wire("dlv", row.id))
    return row


def sweep(*, now: datetime) -> int:
    """Fail the pending deliveries of failed webhooks and delete finished ones older than KEPT; return how many were
    deleted."""
    gone, oldest = 0, ids.first_of(now - KEPT)
    for webhook in Webhook.objects.only("tenant_id", "id", "state").order_by("id"):
        rows = WebhookDelivery.objects.written_by(WRITER).filter(tenant_id=webhook.tenant_id, webhook_id=webhook.id)
        if webhook.state == WebhookState.FAILED:
            ended = {"state": DeliveryState.FAILED, "code": GIVEN_UP, "next_at": None, "ended_at": now}
            rows.filter(LEASE.free(now), next_at__isnull=False).update(**ended)
        gone += sql.delete_in_chunks(rows.filter(id__lt=oldest, next_at__isnull=True))
    return gone
