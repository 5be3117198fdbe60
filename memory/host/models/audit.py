"""The audit chain: each record carries the hash of the one before it, a chain a tenant."""

from django.db import models

from memory.host.models.base import TenantOwned


class AuditChain(TenantOwned):
    """The head of a tenant's chain; its lock is what numbers the records. One row a tenant."""

    writer = "memory.host.audit"

    next_seq = models.BigIntegerField(default=0)
    head_hash = models.CharField(max_length=64, default="", blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant",), name="a_tenant_has_one_audit_chain"),)


class AuditRecord(TenantOwned):
    """One audited act, never changed and never removed (triggers on both engines)."""

    writer = "memory.host.audit"

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
