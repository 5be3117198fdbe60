"""Webhooks of a tenant, and what is told to them."""

from typing import Any

from django.utils import timezone

from memory.host import webhooks
from memory.host.models import Webhook, WebhookDelivery
from openwop_console.process import webhook_sender
from openwop_console.process.webhook_sender import WebhookSender
from tests import building


def subscribe(*types: str, slug: str = "acme", url: str = "https://receiver.example/hook", **more: Any) -> Webhook:
    """A webhook of the tenant for these types of events."""
    scope = building.scope(slug)
    return webhooks.create_webhook(scope, url, list(types), tags=more.get("tags", []), now=timezone.now()).webhook


def send_all(sender: WebhookSender) -> None:
    """Send until nothing is due or in flight."""
    while sender.tick() or sender._under_way:
        if sender._under_way:
            sender.wait(webhook_sender.ATTEMPT_SECONDS + 1)


def told(webhook: Webhook) -> list[WebhookDelivery]:
    """The deliveries for the webhook, the oldest first, after the outbox was emptied."""
    while webhooks.fan_out(now=timezone.now()):
        pass
    return list(WebhookDelivery.objects.of(webhook.tenant_id).filter(webhook_id=webhook.id).order_by("id"))


def types_told(webhook: Webhook) -> list[str]:
    return [each.type for each in told(webhook)]
