"""Webhooks as a receiver sees them: signed twice, repeated under one id, and never where this host does not connect."""

import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings
from standardwebhooks import Webhook as Verifier
from standardwebhooks.exceptions import WebhookVerificationError

from memory.host import event_log, ids, outbox, runs, trace_context, vault, webhooks
from memory.host.errors import Conflict, WebhookUrlRejected
from memory.host.events import WorkspaceUpdated
from memory.host.models import AuditRecord, OutboxEvent, Secret, Webhook, WebhookDelivery
from openwop_console import VERSION
from openwop_console.process import webhook_sender
from openwop_console.process.webhook_sender import WebhookSender
from openwop_console.runtime.api.serializers import event_document
from tests import building, hooks, serving
from tests.receiver import Receiver, answer, hang

pytestmark = pytest.mark.django_db
EVENT = "workspace.updated"


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = timezone.now()

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, **time: float) -> None:
        self.now += timedelta(**time)


@pytest.fixture(autouse=True)
def this_machine_is_listed(settings: Settings) -> None:
    settings.OPENWOP_OUTBOUND_ALLOW = ["127.0.0.1/32"]


@pytest.fixture
def receivers() -> Iterator[Callable[..., Receiver]]:
    """Makes receivers, which are closed behind the test."""
    made: list[Receiver] = []

    def receiver(*answers: Any) -> Receiver:
        made.append(Receiver(*answers))
        return made[-1]

    yield receiver
    for each in made:
        each.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sender(clock: Clock) -> Iterator[WebhookSender]:
    made = WebhookSender(clock)
    yield made
    made.close()


def happen(slug: str = "acme", times: int = 1) -> None:
    """A file of the workspace is there, so many times."""
    tenant_id = building.tenant(slug).id
    with transaction.atomic():
        for version in range(1, times + 1):
            event_log.append_to_tenant(tenant_id, WorkspaceUpdated("notes/a.md", version), now=timezone.now())


def secrets_of(webhook: Webhook) -> dict[str, str]:
    return vault.open_webhook_secrets(webhook.tenant_id, webhooks.wire_id(webhook))


def rows_of(webhook: Webhook) -> list[WebhookDelivery]:
    return list(WebhookDelivery.objects.of(webhook.tenant_id).filter(webhook_id=webhook.id).order_by("id"))


@pytest.mark.engines
def test_a_delivery_is_signed_both_ways_and_holds_the_event_as_it_is_served(
    receivers: Callable[..., Receiver], sender: WebhookSender
) -> None:
    receiver = receivers()
    building.install("acme", building.definition("hooked", building.remember_node("Marta prefers tea.")))
    webhook = hooks.subscribe("memory.written", "run.ended", url=receiver.url)
    run = building.execute(building.scope(), "hooked")
    hooks.send_all(sender)
    written, ended = sorted(receiver.received, key=lambda each: each.body["type"])
    (served,) = [
        event_document(each) for each in event_log.read(run.tenant_id, run.id) if each.type == "memory.written"
    ]
    run_id = ids.wire("run", run.id)
    assert written.path == "/hook?team=7"
    assert written.body == {
        "type": "memory.written",
        "timestamp": served["timestamp"],
        "data": served["payload"],
        "runId": run_id,
        "workspaceId": "acme",
        "event": served,
    }
    assert ended.body["data"] == ended.body["event"]["payload"] == {"runId": run_id, "status": "completed"}
    secret = secrets_of(webhook)["current"]
    for each in (written, ended):
        stamp = each.headers["X-openwop-Timestamp"]
        v1 = hmac.new(secret.encode(), stamp.encode() + b"." + each.raw, hashlib.sha256).hexdigest()
        assert each.headers["X-openwop-Signature"] == f"sha256={v1}"
        assert each.headers["X-openwop-Signature-Algorithm"] == "v1"
        assert each.headers["X-openwop-Webhook-Id"] == webhooks.wire_id(webhook)
        assert each.headers["X-openwop-Event-Type"] == each.body["type"]
        assert each.headers["User-Agent"] == f"openwop-webhook-dispatcher/{VERSION}"
        assert each.headers["Content-Type"] == "application/json"
        assert Verifier(secret).verify(each.raw, each.headers) == each.body
        with pytest.raises(WebhookVerificationError):
            Verifier(secret).verify(each.raw + b" ", each.headers)
        assert b"Marta" not in each.raw
        assert b"tea" not in each.raw
        assert "traceparent" not in each.headers
    assert [each.state for each in rows_of(webhook)] == ["delivered"] * 2


def test_a_delivery_continues_the_trace_that_its_run_continues(
    client: Client, receivers: Callable[..., Receiver], sender: WebhookSender
) -> None:
    receiver = receivers()
    building.install("acme", building.definition("hooked", building.remember_node("Marta prefers tea.")))
    hooks.subscribe("memory.written", "run.ended", EVENT, url=receiver.url)
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    headers = building.headers() | {"HTTP_TRACEPARENT": f"00-{trace}-00f067aa0ba902b7-01"}

    def send(path: str, body: Any) -> Any:
        return client.post(path, json.dumps(body), content_type="application/json", **headers).json()

    wire_id = send("/v1/runs", {"workflowId": "hooked"})["runId"]
    run_id = ids.parse("run", wire_id)
    assert run_id
    building.advance(runs.find(building.tenant().id, run_id))
    send("/v1/host/console/memory", {"memoryRef": "notes", "content": "x", "origin": {"system": "langgraph"}})
    happen()
    hooks.send_all(sender)
    spans = {
        (each.body["type"], each.body["runId"] == wire_id): each.headers.get(trace_context.HEADER, "")
        for each in receiver.received
    }
    assert spans.pop((EVENT, False)) == ""
    external = spans.pop(("memory.written", False))
    node_id = building.remember_node("")["id"]
    assert spans == {
        ("memory.written", True): f"00-{trace}-{trace_context.span_id(run_id, node_id):016x}-01",
        ("run.ended", True): f"00-{trace}-{trace_context.span_id(run_id):016x}-01",
    }
    assert trace_context.trace_id(external) == trace
    assert external not in spans.values()


def test_both_secrets_verify_until_the_overlap_is_over(
    receivers: Callable[..., Receiver], sender: WebhookSender, clock: Clock
) -> None:
    receiver = receivers()
    webhook = hooks.subscribe(EVENT, url=receiver.url)
    webhooks.rotate_secret(building.scope(), webhook.id, now=clock())
    secrets = secrets_of(webhook)
    happen()
    hooks.send_all(sender)
    for each in secrets.values():
        assert Verifier(each).verify(receiver.received[0].raw, receiver.received[0].headers)
    clock.pass_by(hours=25)
    happen()
    hooks.send_all(sender)
    after = receiver.received[1]
    of_current = Verifier(secrets["current"])
    assert after.headers["webhook-signature"] == of_current.sign(
        after.headers["webhook-id"], clock(), after.raw.decode()
    )


def test_a_receiver_that_was_down_for_an_hour_is_told_once_it_is_back_under_the_same_id(
    receivers: Callable[..., Receiver], sender: WebhookSender, clock: Clock
) -> None:
    receiver = receivers(answer(503))
    webhook = hooks.subscribe(EVENT, url=receiver.url)
    happen()
    hooks.send_all(sender)
    tried = [clock()]
    while clock() - tried[0] < timedelta(hours=1):
        clock.pass_by(seconds=10)
        before = len(receiver.received)
        hooks.send_all(sender)
        tried += [clock()] * (len(receiver.received) - before)
    gaps = [after - before for before, after in pairwise(tried)]
    assert gaps[0] <= timedelta(seconds=30)
    assert gaps == sorted(gaps)
    assert len(gaps) == 5
    receiver.answers = answer(200)
    clock.pass_by(hours=1)
    hooks.send_all(sender)
    assert len({each.headers["webhook-id"] for each in receiver.received}) == 1
    (row,) = rows_of(webhook)
    assert (row.state, row.attempts, row.status, row.code) == ("delivered", 7, 200, "")
    clock.pass_by(days=1)
    hooks.send_all(sender)
    assert len(receiver.received) == 7


def test_a_receiver_that_fails_for_a_day_is_listed_and_can_be_told_again(
    receivers: Callable[..., Receiver], sender: WebhookSender, clock: Clock
) -> None:
    receiver = receivers(answer(500))
    webhook = hooks.subscribe(EVENT, url=receiver.url)
    happen()
    while not rows_of(webhook) or rows_of(webhook)[0].next_at:
        hooks.send_all(sender)
        clock.pass_by(minutes=10)
    (row,) = rows_of(webhook)
    assert timedelta(hours=23) < clock() - row.created_at <= timedelta(days=1, minutes=20)
    assert (row.state, row.code, row.status, row.attempts) == ("failed", "status", 500, len(receiver.received))
    owner = building.scope()
    listed = webhooks.list_deliveries(owner, webhook.id, limit=10)
    assert [each.id for each in listed.rows] == [row.id]
    receiver.answers = answer(200)
    webhooks.redeliver(owner, webhook.id, row.id, now=clock())
    hooks.send_all(sender)
    assert rows_of(webhook)[0].state == "delivered"
    assert len({each.headers["webhook-id"] for each in receiver.received}) == 1
    record = AuditRecord.objects.get(action="webhook.redelivered")
    assert record.details["delivery"] == ids.wire("dlv", row.id)


def test_a_hundred_failures_in_a_week_fail_the_webhook_and_nothing_is_sent_there_any_more(
    receivers: Callable[..., Receiver], sender: WebhookSender, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "GAPS", ())
    receiver = receivers(answer(500))
    webhook = hooks.subscribe(EVENT, url=receiver.url)
    happen(times=99)
    hooks.send_all(sender)
    webhook.refresh_from_db()
    assert webhook.state == "active"
    happen(times=3)
    hooks.send_all(sender)
    webhook.refresh_from_db()
    assert webhook.state == "failed"
    assert AuditRecord.objects.filter(action="webhook.failed", target=webhooks.wire_id(webhook)).count() == 1
    sent = len(receiver.received)
    assert sent >= 100
    happen()
    webhooks.sweep(now=clock())
    hooks.send_all(sender)
    assert len(receiver.received) == sent
    assert {each.state for each in rows_of(webhook)} == {"failed"}
    with pytest.raises(Conflict):
        webhooks.redeliver(building.scope(), webhook.id, rows_of(webhook)[0].id, now=clock())


def test_failures_of_more_than_a_week_ago_count_no_more(
    receivers: Callable[..., Receiver], sender: WebhookSender, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "GAPS", ())
    monkeypatch.setattr(webhooks, "MOST_FAILURES", 3)
    receiver = receivers(answer(500))
    webhook = hooks.subscribe(EVENT, url=receiver.url)
    states = []
    for days in (0, 1, 6.5, 0.1):
        clock.pass_by(days=days)
        happen()
        hooks.send_all(sender)
        webhook.refresh_from_db()
        states.append(webhook.state)
    # The third comes when the first is seven and a half days old; the fourth makes three within seven.
    assert states == ["active", "active", "active", "failed"]


def test_a_redirect_is_a_failure_and_leads_nowhere(receivers: Callable[..., Receiver], sender: WebhookSender) -> None:
    inner = receivers()
    outer = receivers(answer(302, Location=inner.url))
    webhook = hooks.subscribe(EVENT, url=outer.url)
    happen()
    hooks.send_all(sender)
    (row,) = rows_of(webhook)
    assert (row.state, row.code, row.status) == ("pending", "redirect", 302)
    assert (len(outer.received), inner.received) == (1, [])


def test_an_address_that_has_become_private_is_not_connected_to(
    receivers: Callable[..., Receiver], sender: WebhookSender, settings: Settings
) -> None:
    receiver = receivers()
    webhook = hooks.subscribe(EVENT, url=receiver.url)
    settings.OPENWOP_OUTBOUND_ALLOW = []
    happen()
    hooks.send_all(sender)
    (row,) = rows_of(webhook)
    assert (row.code, row.status, receiver.received) == ("not_allowed", None, [])


def test_a_name_is_looked_up_at_each_delivery_and_connected_to_at_the_address_that_was_checked(
    receivers: Callable[..., Receiver],
    sender: WebhookSender,
    clock: Clock,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receiver, looked, real = receivers(), [], socket.getaddrinfo

    def leading_here(host: Any, *given: Any, **named: Any) -> Any:
        if host not in {"receiver.example", b"receiver.example"}:
            return real(host, *given, **named)
        looked.append(host)
        return real("127.0.0.1", *given, **named)

    monkeypatch.setattr(socket, "getaddrinfo", leading_here)
    settings.OPENWOP_OUTBOUND_ALLOW = ["receiver.example"]
    webhook = hooks.subscribe(EVENT, url=receiver.url.replace("127.0.0.1", "receiver.example"))
    settings.OPENWOP_OUTBOUND_ALLOW = []
    happen()
    hooks.send_all(sender)
    assert (rows_of(webhook)[0].code, len(looked), receiver.received) == ("not_allowed", 1, [])
    settings.OPENWOP_OUTBOUND_ALLOW = ["receiver.example"]
    clock.pass_by(seconds=30)
    hooks.send_all(sender)
    assert (rows_of(webhook)[0].state, len(looked), len(receiver.received)) == ("delivered", 2, 1)


def test_slow_receivers_are_left_in_time_and_hold_up_nobody(
    receivers: Callable[..., Receiver], sender: WebhookSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert webhook_sender.ATTEMPT_SECONDS == 5
    monkeypatch.setattr(webhook_sender, "ATTEMPT_SECONDS", 2.0)
    slow, quick = receivers(hang), receivers()
    hanging = hooks.subscribe(EVENT, url=slow.url)
    happen(times=10)
    sender.tick()
    began = time.monotonic()
    told = hooks.subscribe(EVENT, slug="globex", url=quick.url)
    happen("globex")
    while not rows_of(told) or rows_of(told)[0].state != "delivered":
        sender.tick()
        sender.wait(0.05)
        assert time.monotonic() - began < 1.5
    assert len([each for each in rows_of(hanging) if each.holder]) == webhook_sender.OF_ONE_WEBHOOK
    while sender._under_way:
        sender.wait(3)
    assert {each.code for each in rows_of(hanging) if each.attempts} == {"timeout"}


def test_receivers_whose_name_servers_do_not_answer_hold_up_nobody(
    receivers: Callable[..., Receiver], sender: WebhookSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()
    serving.resolve_late(monkeypatch, over)
    for number in range(7):
        hooks.subscribe(EVENT, url=f"https://{number}.unanswered.example/")
    happen(times=webhook_sender.OF_ONE_WEBHOOK)
    sender.tick()
    assert len(sender._under_way) > 6
    began = time.monotonic()
    told = hooks.subscribe(EVENT, slug="globex", url=receivers().url)
    happen("globex")
    while not rows_of(told) or rows_of(told)[0].state != "delivered":
        sender.tick()
        sender.wait(0.05)
        assert time.monotonic() - began < 2
    over.set()


def test_a_delivery_that_cannot_be_built_holds_up_no_other(
    receivers: Callable[..., Receiver], sender: WebhookSender
) -> None:
    """Addresses that no request can be made for are refused; one that an earlier release stored is a failed attempt."""
    for url in ("https://xn--a/", "https://[v1.a]/"):
        with pytest.raises(WebhookUrlRejected):
            webhooks.check_url(url)
    receiver = receivers()
    broken, whole = hooks.subscribe(EVENT), hooks.subscribe(EVENT, url=receiver.url)
    Webhook.objects.written_by(webhooks.WRITER).filter(tenant_id=broken.tenant_id, id=broken.id).update(
        url="https://xn--a/"
    )
    happen()
    hooks.send_all(sender)
    assert [(each.attempts, each.code) for each in rows_of(broken)] == [(1, "refused")]
    assert [each.state for each in rows_of(whole)] == ["delivered"]


def test_an_attempt_under_way_ends_by_itself_though_its_webhook_has_failed(clock: Clock) -> None:
    webhook = hooks.subscribe(EVENT)
    happen(times=2)
    webhooks.fan_out(now=clock())
    under_way, _ = rows_of(webhook)
    assert webhooks.claim(under_way, holder="sender/1", now=clock())
    webhooks.mark_failed(webhook.tenant_id, webhook.id, now=clock())
    webhooks.sweep(now=clock())
    assert [each.state for each in rows_of(webhook)] == ["pending", "failed"]


def test_what_waits_for_a_webhook_that_has_failed_is_given_up_without_an_attempt(
    sender: WebhookSender, clock: Clock
) -> None:
    webhook = hooks.subscribe(EVENT)
    happen()
    webhooks.fan_out(now=clock())
    webhooks.mark_failed(webhook.tenant_id, webhook.id, now=clock())
    hooks.send_all(sender)
    assert [(each.state, each.attempts) for each in rows_of(webhook)] == [("pending", 0)]
    webhooks.sweep(now=clock())
    assert [(each.state, each.code, each.attempts) for each in rows_of(webhook)] == [("failed", webhooks.GIVEN_UP, 0)]


def test_what_a_worker_that_died_had_in_hand_is_sent_by_another_under_the_same_id(
    receivers: Callable[..., Receiver], sender: WebhookSender, clock: Clock
) -> None:
    receiver = receivers()
    webhook = hooks.subscribe(EVENT, url=receiver.url)
    happen()
    webhooks.fan_out(now=clock())
    (row,) = rows_of(webhook)
    assert webhooks.claim(row, holder="dead/1", now=clock())
    assert not webhooks.claim(row, holder="other/1", now=clock())
    hooks.send_all(sender)
    assert receiver.received == []
    clock.pass_by(seconds=31)
    hooks.send_all(sender)
    assert [each.headers["webhook-id"] for each in receiver.received] == [ids.wire("msg", row.id)]
    webhooks.record_attempt(row.tenant_id, row.id, holder="dead/1", status=500, code="status", now=clock())
    assert rows_of(webhook)[0].state == "delivered"


def test_an_answer_without_an_end_is_read_no_further_than_is_needed(
    receivers: Callable[..., Receiver], sender: WebhookSender
) -> None:
    def talk(asked: Any) -> None:
        asked.send_response(200)
        asked.end_headers()
        try:
            while not asked.server.over.is_set():
                asked.wfile.write(b"x" * 65_536)
        except OSError:
            pass

    receiver = receivers(talk)
    webhook = hooks.subscribe(EVENT, url=receiver.url)
    happen()
    hooks.send_all(sender)
    assert rows_of(webhook)[0].state == "delivered"


def test_a_webhook_that_was_removed_or_whose_secret_does_not_open_is_sent_nothing(
    receivers: Callable[..., Receiver], sender: WebhookSender, clock: Clock
) -> None:
    receiver = receivers()
    removed, sealed = (hooks.subscribe(EVENT, url=receiver.url) for _ in range(2))
    happen()
    webhooks.fan_out(now=clock())
    webhooks.remove_webhook(building.scope(), removed.id, now=clock())
    assert rows_of(removed) == []
    rows = Secret.objects.written_by(vault.WRITER).filter(owner=webhooks.wire_id(sealed))
    rows.update(sealed=b"changed" * 8)
    hooks.send_all(sender)
    assert receiver.received == []
    assert [each.code for each in rows_of(sealed)] == ["secret_sealed"]


def test_while_the_vault_is_locked_no_attempt_is_used_up(
    receivers: Callable[..., Receiver], sender: WebhookSender, settings: Settings
) -> None:
    receiver = receivers()
    webhook = hooks.subscribe(EVENT, url=receiver.url)
    happen()
    former, settings.SECRET_KEY = settings.SECRET_KEY, "another key"
    hooks.send_all(sender)
    assert [(each.attempts, each.state) for each in rows_of(webhook)] == [(0, "pending")]
    settings.SECRET_KEY = former
    hooks.send_all(sender)
    assert len(receiver.received) == 1


@pytest.mark.only_db("postgres")
@pytest.mark.django_db(transaction=True)
def test_a_webhook_that_is_removed_meanwhile_fails_no_delivery_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its deliveries are committed first, and go with it."""
    removed, other = hooks.subscribe(EVENT), hooks.subscribe(EVENT)
    happen()
    owner, taken = building.scope(), outbox.remove

    def remove() -> None:
        webhooks.remove_webhook(owner, removed.id, now=timezone.now())
        connection.close()

    with ThreadPoolExecutor(1) as pool:
        removals = []

        def take(*given: Any) -> None:
            removals.append(pool.submit(remove))
            with pytest.raises(TimeoutError):
                removals[0].result(timeout=0.3)
            taken(*given)

        monkeypatch.setattr(outbox, "remove", take)
        assert webhooks.fan_out(now=timezone.now()) == 1
        removals[0].result()
    assert [len(rows_of(each)) for each in (removed, other)] == [0, 1]


def test_old_deliveries_are_purged_and_those_that_wait_are_kept(clock: Clock) -> None:
    webhook = hooks.subscribe(EVENT)
    happen(times=2)
    over, waiting = hooks.told(webhook)
    rows = WebhookDelivery.objects.written_by(webhooks.WRITER).filter(id=over.id)
    rows.update(next_at=None, state="delivered")
    assert webhooks.sweep(now=clock()) == 0
    clock.pass_by(days=15)
    assert webhooks.sweep(now=clock()) == 1
    assert rows_of(webhook) == [waiting]
    assert not OutboxEvent.objects.exists()
