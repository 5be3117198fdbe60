"""The audit chain: each record carries the hash of the one before it, a chain a tenant."""

from django.db import models

from memory.host.models.base import TenantOwned
from memory.host.models.personal import DIGEST, KIND, PRINCIPAL


class AuditChain(TenantOwned):
    """The head of a tenant's chain; its lock is what numbers the records. One row a tenant."""

    writer = "memory.host.audit"
    impersonal = {"head_hash": DIGEST}

    next_seq = models.BigIntegerField(default=0)
    head_hash = models.CharField(max_length=64, default="", blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant",), name="a_tenant_has_one_audit_chain"),)


class AuditRecord(TenantOwned):
    """One audited act, never changed and never removed (triggers on both engines)."""

    writer = "memory.host.audit"
    impersonal = {"action": KIND, "actor": PRINCIPAL, "entry_hash": DIGEST, "prev_hash": DIGEST}

    seq = models.BigIntegerField()
    occurred_at = models.DateTimeField()
    actor = models.CharField(max_length=64)
    action = models.CharField(max_length=64)
    target = models.CharField(max_length=256, default="", blank=True)
    details = models.JSONField(default=dict)
    prev_hash = models.CharField(max_length=64, default="", blank=True)
    entry_hash = models.CharField(max_length=64)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant", "seq"), name="an_audit_number_is_used_once"),)
        indexes = (
            models.Index(fields=("tenant", "action", "actor", "occurred_at", "seq"), name="host_audit_actor_action"),
            models.Index(fields=("tenant", "action", "occurred_at", "seq"), name="host_audit_of_action"),
            models.Index(fields=("tenant", "occurred_at", "seq"), name="host_audit_time"),
            models.Index(fields=("tenant", "actor", "occurred_at", "seq"), name="host_audit_of_actor"),
            models.Index(fields=("tenant", "target", "occurred_at", "seq"), name="host_audit_of_target"),
        )


class AuditCheckpoint(TenantOwned):
    """The records since the checkpoint before it, up to ``at_seq``, under the host's Ed25519 signature over their root.

    Never changed and never removed.
    """

    writer = "memory.host.checkpoints"
    impersonal = {"key_id": "the id of a key", "merkle_root": DIGEST, "signature": "a signature"}

    at_seq = models.BigIntegerField()
    merkle_root = models.CharField(max_length=64)
    signature = models.CharField(max_length=128)
    key_id = models.CharField(max_length=64)
    created_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant", "at_seq"), name="a_number_is_checkpointed_once"),)
