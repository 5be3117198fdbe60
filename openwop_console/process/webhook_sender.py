"""Sign due webhook deliveries and send them from a thread inside the worker, next to the scheduler's.

Requests share one event loop, so that a slow receiver delays neither other deliveries nor runs; only the sender's
loop writes claims and outcomes. Any number of workers may run one: each delivery is claimed under a lease, and one
claimed by a worker that died is sent again under the same id.
"""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import logging
import queue
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import httpx
import orjson
from django.db import DatabaseError, close_old_connections, connection

from memory import event_notes
from memory.host import event_log, ids, outbound, request_ids, trace_context, vault, webhooks
from memory.host.clock import Clock
from memory.host.json_types import JSONObject
from memory.host.leases import worker_name
from memory.host.models import Run, Webhook, WebhookDelivery, WebhookState
from memory.wire import instant
from openwop_console import VERSION
from openwop_console.runtime.api.serializers import event_document

logger = logging.getLogger(__name__)

EVERY = 0.5
AFTER_A_FAILURE = 5.0
ATTEMPT_SECONDS = 5.0
# Concurrent requests of this worker, and to one webhook, so that a slow receiver cannot block the others.
AT_ONCE, OF_ONE_WEBHOOK = 32, 4
MOST_READ = 16_384  # bytes of an answer; only its status counts
SEALED = "secret_sealed"


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """The result of an attempt: the status, if there was an answer, and a code, empty when it was delivered."""

    status: int | None = None
    code: str = ""


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery that this sender has claimed."""

    tenant_id: UUID
    delivery_id: UUID
    webhook_id: UUID


class WebhookSender:
    """The deliveries in flight of one worker."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._holder = f"{worker_name()}/webhooks"
        self._under_way: dict[Claimed, Future[AttemptResult]] = {}
        self._outcomes: queue.SimpleQueue[tuple[Claimed, AttemptResult]] = queue.SimpleQueue()
        self._last: UUID | None = None
        self._loop = asyncio.new_event_loop()
        self._sending = threading.Thread(target=_run, args=(self._loop,), name="webhooks", daemon=True)
        self._sending.start()

    def close(self) -> None:
        """Stop without waiting for requests in flight: their deliveries are retried when the lease ends."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._sending.join(timeout=2)

    def tick(self) -> int:
        """Fan out the outbox and begin due deliveries, up to the limits; return the number of both."""
        now = self._clock()
        fanned_out, begun = webhooks.fan_out(now=now), 0
        in_hand = Counter(each.webhook_id for each in self._under_way)
        if len(self._under_way) >= AT_ONCE:
            return fanned_out
        waiting = webhooks.due(now=now, per_webhook=OF_ONE_WEBHOOK, after=self._last)
        if waiting and vault.is_locked():  # nothing can be signed: no attempt is used up
            return fanned_out
        for delivery in waiting:
            if len(self._under_way) >= AT_ONCE:
                break
            if in_hand[delivery.webhook_id] < OF_ONE_WEBHOOK and self._begin(delivery, now):
                in_hand[delivery.webhook_id] += 1
                self._last = delivery.webhook_id
                begun += 1
        return fanned_out + begun

    def _begin(self, delivery: WebhookDelivery, now: datetime) -> bool:
        """Claim the delivery and start sending it; return whether the claim succeeded."""
        if not webhooks.claim(delivery, holder=self._holder, now=now):
            return False
        claimed = Claimed(delivery.tenant_id, delivery.id, delivery.webhook_id)
        request = self._request_of(delivery, now)
        if isinstance(request, AttemptResult):
            self._record(claimed, request)
            return True
        self._under_way[claimed] = sent = asyncio.run_coroutine_threadsafe(send(request), self._loop)

        def note(done: Future[AttemptResult]) -> None:
            if not done.cancelled():
                self._outcomes.put((claimed, done.result()))

        sent.add_done_callback(note)
        return True

    def _request_of(self, delivery: WebhookDelivery, now: datetime) -> httpx.Request | AttemptResult:
        """``request_of``, where a failure is an attempt that failed: one delivery must not hold up those behind it."""
        try:
            return request_of(delivery, now=now)
        except DatabaseError:
            raise
        except outbound.OutboundFailed as failed:
            return AttemptResult(code=failed.reason)
        except Exception:
            logger.exception("The request of a webhook's delivery could not be made")
            return AttemptResult(code="malformed")

    def wait(self, seconds: float) -> bool:
        """Record finished attempts, waiting up to ``seconds`` for the first; return whether there was any."""
        try:
            claimed, outcome = self._outcomes.get(timeout=seconds)
        except queue.Empty:
            return False
        while True:
            self._under_way.pop(claimed, None)
            self._record(claimed, outcome)
            try:
                claimed, outcome = self._outcomes.get_nowait()
            except queue.Empty:
                return True

    def _record(self, claimed: Claimed, outcome: AttemptResult) -> None:
        webhooks.record_attempt(
            claimed.tenant_id,
            claimed.delivery_id,
            holder=self._holder,
            status=outcome.status,
            code=outcome.code,
            now=self._clock(),
        )


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run the event loop until it is stopped, then cancel the requests in flight."""
    try:
        loop.run_forever()
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left))
        loop.close()


def request_of(delivery: WebhookDelivery, *, now: datetime) -> httpx.Request | AttemptResult:
    """Return the signed request of an attempt, or the outcome when the webhook is inactive or its secrets are
    sealed."""
    rows = Webhook.objects.of(delivery.tenant_id).select_related("tenant").filter(id=delivery.webhook_id)
    webhook: Webhook | None = rows.first()
    if webhook is None or webhook.state != WebhookState.ACTIVE:
        return AttemptResult(code=webhooks.GIVEN_UP)
    try:
        secrets = vault.open_webhook_secrets(webhook.tenant_id, webhooks.wire_id(webhook))
    except vault.VaultLocked:
        return AttemptResult(code=SEALED)
    if webhook.overlap_until is None or webhook.overlap_until <= now:
        secrets.pop(webhooks.PREVIOUS, None)
    document = body_of(delivery, webhook)
    body = orjson.dumps(document)
    keys = [secrets[name] for name in (webhooks.CURRENT, webhooks.PREVIOUS) if name in secrets]
    if not keys:
        return AttemptResult(code=SEALED)
    headers = signed_headers(delivery, keys, body, now=now) | _trace_headers(delivery.tenant_id, document["event"])
    return outbound.request_to("POST", webhook.url, headers=headers, content=body)


def body_of(delivery: WebhookDelivery, webhook: Webhook) -> JSONObject:
    """Return the event as the log serves it, plus its type and payload at the top; an announcement that is not on a log
    has the same form."""
    event = _announced(delivery, delivery.announced) if delivery.announced else _logged(delivery)
    return {
        "type": delivery.type,
        "timestamp": event["timestamp"],
        "data": event["payload"],
        "runId": event.get("runId"),
        "workspaceId": webhook.tenant.slug,
        "event": event,
    }


def _logged(delivery: WebhookDelivery) -> JSONObject:
    logged = event_log.read_many(delivery.tenant_id, [delivery.event_id] if delivery.event_id else []).values()
    (found,) = event_notes.with_stated_nodes(delivery.tenant_id, list(logged))
    of_tenant = {"runId": ids.wire("tenant", delivery.tenant_id)} if found.run_id == delivery.tenant_id else {}
    return event_document(found) | of_tenant


def _announced(delivery: WebhookDelivery, announced: JSONObject) -> JSONObject:
    run = {"runId": announced["runId"]} if "runId" in announced else {}
    at = instant(datetime.fromisoformat(announced["timestamp"]))
    return {
        "eventId": ids.wire("evt", delivery.id),
        **run,
        "type": announced["type"],
        "timestamp": at,
        "payload": announced["data"],
    }


def _trace_headers(tenant_id: UUID, event: JSONObject) -> dict[str, str]:
    """Return a ``traceparent`` below the event's node or run, so that the receiver's spans join the run's trace."""
    run_id = ids.parse("run", event.get("runId", ""))
    run: Run | None = Run.objects.of(tenant_id).only("traceparent").filter(id=run_id).first() if run_id else None
    trace = trace_context.within_node(run.traceparent, run.id, event.get("nodeId", "")) if run else ""
    return {trace_context.HEADER: trace} if trace else {}


def signed_headers(delivery: WebhookDelivery, secrets: list[str], body: bytes, *, now: datetime) -> dict[str, str]:
    """Return OpenWOP's headers, signed with the newest secret (its characters are the key), and those of Standard
    Webhooks, with a signature by each secret (the bytes in its base64 are the key)."""
    message, timestamp = ids.wire("msg", delivery.id), str(int(now.timestamp()))
    v1 = hmac.new(secrets[0].encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    signatures = (_standard(secret, f"{message}.{timestamp}.".encode() + body) for secret in secrets)
    return {
        "Content-Type": "application/json",
        "User-Agent": f"openwop-webhook-dispatcher/{VERSION}",
        "X-openwop-Webhook-Id": ids.wire("whk", delivery.webhook_id),
        "X-openwop-Event-Type": delivery.type,
        "X-openwop-Timestamp": timestamp,
        "X-openwop-Signature": f"sha256={v1}",
        "X-openwop-Signature-Algorithm": webhooks.ALGORITHM,
        "webhook-id": message,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(f"v1,{each}" for each in signatures),
    }


def _standard(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


async def send(request: httpx.Request) -> AttemptResult:
    """Send within ATTEMPT_SECONDS in all; a redirect is not followed and counts as a failure."""
    try:
        async with outbound.exchange(request, seconds=ATTEMPT_SECONDS) as answer:
            await _drain(answer)
            code = "" if answer.is_success else "redirect" if answer.is_redirect else "status"
            return AttemptResult(answer.status_code, code)
    except outbound.OutboundFailed as failed:
        return AttemptResult(code=failed.reason)
    except Exception:  # whatever a receiver sends must not end the sender
        logger.exception("An attempt to deliver a webhook failed")
        return AttemptResult(code="malformed")


async def _drain(answer: httpx.Response) -> None:
    """Read up to ``MOST_READ`` bytes of the answer, so that a receiver does not fail on a connection closed too
    early."""
    read = 0
    async for part in answer.aiter_raw():
        read += len(part)
        if read > MOST_READ:
            return


@contextlib.contextmanager
def running(clock: Clock) -> Iterator[threading.Event]:
    """Send webhooks from threads of their own inside the block, until the event is set."""
    stopping = threading.Event()
    loop = threading.Thread(target=_send_until, args=(stopping, clock), name="sender", daemon=True)
    loop.start()
    try:
        yield stopping
    finally:
        stopping.set()
        loop.join(timeout=2)


def _send_until(stopping: threading.Event, clock: Clock) -> None:
    sender = WebhookSender(clock)
    try:
        while not stopping.is_set():
            if not _send_once(sender):
                stopping.wait(AFTER_A_FAILURE)
    finally:
        sender.close()
        connection.close()


def _send_once(sender: WebhookSender) -> bool:
    """Return whether the tick succeeded. A failure is logged and retried, and the worker goes on."""
    try:
        close_old_connections()
        with request_ids.under_way("task"):
            sender.tick()
            sender.wait(EVERY)
    except Exception:
        logger.exception("Webhooks could not be looked at; the next look comes in %s seconds", AFTER_A_FAILURE)
        return False
    return True
