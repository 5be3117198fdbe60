"""Webhooks: who subscribes to which events."""

from django.db import models

from memory.host.models.base import TenantOwned
from memory.host.models.personal import DIGEST, KIND, PRINCIPAL, STATE, Personal


class WebhookState(models.TextChoices):
    ACTIVE = "active"
    FAILED = "failed"


class Webhook(TenantOwned):
    """A subscription: the types of ``events`` that are sent to ``url``; with ``tags``, of runs that have one of them.

    Its secrets stand in the vault; the one before the last rotation signs as well until ``overlap_until``.
    """

    writer = "memory.host.webhooks"
    # A forgotten address is none any more: nothing is sent there.
    personal = Personal("webhooks", ("url", "tags"), along={"state": WebhookState.FAILED})
    impersonal = {"created_by": PRINCIPAL, "events": KIND, "fingerprint": DIGEST, "state": STATE}

    url = models.CharField(max_length=2000)
    events = models.JSONField(default=list)
    tags = models.JSONField(default=list)
    state = models.CharField(max_length=8, choices=WebhookState, default=WebhookState.ACTIVE)
    fingerprint = models.CharField(max_length=8)
    overlap_until = models.DateTimeField(null=True)
    created_by = models.CharField(max_length=64)
    created_at = models.DateTimeField()
