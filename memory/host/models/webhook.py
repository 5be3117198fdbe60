"""Tables of webhooks: subscriptions, events waiting for fan-out, and the log of deliveries."""

from django.db import models

from memory.host.models.base import (
    CODE,
    DIGEST,
    HOLDER,
    KIND,
    PRINCIPAL,
    STATE,
    Personal,
    TenantFK,
    TenantOwned,
    tenant_link,
)


class WebhookState(models.TextChoices):
    ACTIVE = "active"
    FAILED = "failed"


class DeliveryState(models.TextChoices):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


class Webhook(TenantOwned):
    """A subscription to event types, sent to ``url``; with ``tags``, only for runs that have one of them.

    Its secrets are in the vault; the one before the last rotation signs as well until ``overlap_until``.
    """

    writer = "memory.host.webhooks"
    # A forgotten address cannot be sent to, so its webhook is failed.
    personal = Personal("webhooks", ("url", "tags"), along={"state": WebhookState.FAILED}, page=("whk", "id"))
    impersonal = {"created_by": PRINCIPAL, "events": KIND, "fingerprint": DIGEST, "state": STATE}

    url = models.CharField(max_length=2000)
    events = models.JSONField(default=list)
    tags = models.JSONField(default=list)
    state = models.CharField(max_length=8, choices=WebhookState, default=WebhookState.ACTIVE)
    fingerprint = models.CharField(max_length=8)
    overlap_until = models.DateTimeField(null=True)
    created_by = models.CharField(max_length=64)
    created_at = models.DateTimeField()


class OutboxEvent(TenantOwned):
    """An event of the log, by its id, whose deliveries have not been made yet; written with the event itself.

    ``announced`` holds a fact that is not on a log, as ids and codes.
    """

    writer = "memory.host.outbox"
    impersonal = {"announced": "ids, types and codes of the host's own"}

    announced = models.JSONField(null=True)


class WebhookDelivery(TenantOwned):
    """One event for one subscription. Its id is the message's, which every attempt carries.

    ``next_at`` is the time of the next attempt, null when the delivery is over. Each attempt builds the body from the
    log's event ``event_id``, or from ``announced``.
    """

    writer = "memory.host.webhooks"
    impersonal = {
        "announced": "ids, types and codes of the host's own",
        "code": CODE,
        "holder": HOLDER,
        "state": STATE,
        "type": KIND,
    }

    webhook_id = models.UUIDField()
    type = models.CharField(max_length=64)
    event_id = models.UUIDField(null=True)
    announced = models.JSONField(null=True)
    state = models.CharField(max_length=9, choices=DeliveryState, default=DeliveryState.PENDING)
    attempts = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    next_at = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    status = models.PositiveIntegerField(null=True)
    code = models.CharField(max_length=32, default="", blank=True)
    holder = models.CharField(max_length=100, default="", blank=True)
    lease_until = models.DateTimeField(null=True)

    webhook = tenant_link("host.Webhook", "webhook_id")

    class Meta:
        constraints = (
            TenantFK(
                column="webhook_id",
                to="host_webhook",
                name="a_delivery_belongs_to_a_webhook_of_its_tenant",
                on_delete="CASCADE",
            ),
        )
        indexes = (
            models.Index(fields=("tenant", "webhook_id", "id"), name="host_delivery_webhook"),
            models.Index(
                fields=("tenant", "webhook_id", "next_at"),
                condition=models.Q(next_at__isnull=False),
                name="host_delivery_due",
            ),
        )
