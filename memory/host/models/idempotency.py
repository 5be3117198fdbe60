"""The table of requests with an ``Idempotency-Key`` and their answers (openwop-host 4.4)."""

from django.db import models

from memory.host.models.base import DIGEST, HOLDER, PRINCIPAL, STATE, Personal, TenantOwned


class IdempotencyState(models.TextChoices):
    PENDING = "pending"
    COMPLETED = "completed"


class IdempotencyRecord(TenantOwned):
    """One key of one principal at one endpoint, kept for a day.

    The key is stored as its hash, the body as a keyed digest, the answer as it was sent.
    """

    writer = "memory.host.idempotency_keys"
    personal = Personal(
        "idempotency cache",
        ("endpoint", "headers", "body"),
        json_text=("body",),
        deleted=True,
        at_once=16,  # an answer may be a file of a megabyte
    )
    impersonal = {"body_digest": DIGEST, "holder": HOLDER, "key_sha256": DIGEST, "principal": PRINCIPAL, "state": STATE}

    principal = models.CharField(max_length=64)
    endpoint = models.CharField(max_length=500)
    key_sha256 = models.CharField(max_length=64)
    body_digest = models.CharField(max_length=64)
    state = models.CharField(max_length=9, choices=IdempotencyState, default=IdempotencyState.PENDING)
    holder = models.CharField(max_length=64)
    lease_until = models.DateTimeField()
    status = models.PositiveSmallIntegerField(null=True)
    headers = models.JSONField(default=dict)
    body = models.TextField(default="", blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "principal", "endpoint", "key_sha256"),
                name="a_principal_uses_a_key_once_an_endpoint",
            ),
        )
        indexes = (models.Index(fields=("tenant", "created_at"), name="host_idempotency_age"),)
