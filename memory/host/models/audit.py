"""Tables of the audit chain: per tenant, each record carries the hash of the previous one."""

from collections.abc import Mapping
from typing import Any, Self
from uuid import UUID

from django.db import models

from memory.host.json_types import JSONObject
from memory.host.models.base import DIGEST, ERASED, KIND, PRINCIPAL, Personal, TenantFK, TenantOwned, tenant_link


class AuditChain(TenantOwned):
    """The head of a tenant's chain; its lock serialises the numbering of records. One row per tenant."""

    writer = "memory.host.audit"
    impersonal = {"head_hash": DIGEST}

    next_seq = models.BigIntegerField(default=0)
    head_hash = models.CharField(max_length=64, default="", blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant",), name="a_tenant_has_one_audit_chain"),)


RESULTS = ("allowed", "denied", "failed")
ON_SQLITE = """(SUBSTR("action", -7) {ends} OR COALESCE(JSON_EXTRACT("details", '$.outcome'), 'ok') {outcomes})"""
ON_POSTGRES = """(RIGHT("action", 7) {ends} OR COALESCE("details" ->> 'outcome', 'ok') {outcomes})"""
REFUSED = {"ends": "IN ('.denied', '_failed', '.failed')", "outcomes": "<> 'ok'"}
DENIED = {"ends": "= '.denied'", "outcomes": "= 'forbidden'"}


class IsRefused(models.Func):
    """Whether ``result_of`` a row is not ``allowed``.

    It is the condition of an index, and therefore in literals: neither engine recognises it with parameters.
    """

    template, on_postgres = ON_SQLITE.format(**REFUSED), ON_POSTGRES.format(**REFUSED)
    output_field = models.BooleanField()

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> tuple[str, tuple[str | int, ...]]:
        return self.as_sql(compiler, connection, template=self.on_postgres, **more)


class IsDenied(IsRefused):
    """Whether ``result_of`` a row is ``denied``."""

    template, on_postgres = ON_SQLITE.format(**DENIED), ON_POSTGRES.format(**DENIED)


def with_result(result: str) -> models.Q:
    """The condition for rows with one of ``RESULTS``."""
    refused, denied = models.Q(IsRefused()), models.Q(IsDenied())
    return {"allowed": ~refused, "denied": refused & denied, "failed": refused & ~denied}[result]


def result_of(action: str, details: JSONObject) -> str:
    """What came of an audited act: ``denied``, ``failed`` or, unless its record says one of them, ``allowed``."""
    outcome = "ok" if details.get("outcome") is None else details["outcome"]
    if action.endswith(".denied") or outcome == "forbidden":
        return "denied"
    return "failed" if action.endswith(("_failed", ".failed")) or outcome != "ok" else "allowed"


class AuditRecord(TenantOwned):
    """One audited act, never changed and never removed (triggers on both engines).

    ``details`` hold ids, names, numbers and codes. ``request_id`` is that of ``request_ids``; "" outside of a request,
    and in records of before there were such ids. ``reason`` is text that a person typed, loaded from
    ``AuditReason`` by ``audit``; None where none was given.
    """

    writer = "memory.host.audit"
    impersonal = {
        "action": KIND,
        "actor": PRINCIPAL,
        "entry_hash": DIGEST,
        "prev_hash": DIGEST,
        "request_id": "the id of a request, a task, a run or a command",
    }

    seq = models.BigIntegerField()
    occurred_at = models.DateTimeField()
    actor = models.CharField(max_length=64)
    action = models.CharField(max_length=64)
    target = models.CharField(max_length=256, default="", blank=True)
    details = models.JSONField(default=dict)
    prev_hash = models.CharField(max_length=64, default="", blank=True)
    entry_hash = models.CharField(max_length=64)
    request_id = models.CharField(max_length=64, default="", db_default="", blank=True)

    reason: str | None = None

    @classmethod
    def unreadable(cls, tenant_id: UUID, seq: int, hashes: Mapping[str, object]) -> Self:
        """Return what is left of a record that was tampered with so that it has values that this host never writes: its
        number, and those of its hashes that are text."""
        texts = {name: stored for name, stored in hashes.items() if isinstance(stored, str)}
        return cls(tenant_id=tenant_id, seq=seq, occurred_at=None, **texts)

    @property
    def is_readable(self) -> bool:
        return self.occurred_at is not None

    @property
    def facts(self) -> JSONObject:
        """The details with the reason, as they are shown."""
        return self.details if self.reason is None else {**self.details, "reason": self.reason}

    @property
    def result(self) -> str:
        return result_of(self.action, self.details)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant", "seq"), name="an_audit_number_is_used_once"),)
        indexes = (
            models.Index(fields=("tenant", "action", "actor", "occurred_at", "seq"), name="host_audit_actor_action"),
            models.Index(fields=("tenant", "action", "occurred_at", "seq"), name="host_audit_of_action"),
            models.Index(fields=("tenant", "occurred_at", "seq"), name="host_audit_time"),
            models.Index(
                fields=("tenant", "occurred_at", "seq"), condition=models.Q(IsRefused()), name="host_audit_refused"
            ),
            models.Index(fields=("tenant", "actor", "occurred_at", "seq"), name="host_audit_of_actor"),
            models.Index(fields=("tenant", "target", "occurred_at", "seq"), name="host_audit_of_target"),
            models.Index(fields=("tenant", "request_id", "occurred_at", "seq"), name="host_audit_of_request"),
        )


class AuditReason(TenantOwned):
    """The reason that a person typed for an audited act, outside of the hashed record, so that a forget can erase it.

    Triggers on both engines refuse every other change, and removal.
    """

    writer = "memory.host.audit"
    personal = Personal("reasons on the audit log", ("text",), blanked={"text": ERASED})

    record_id = models.UUIDField()
    text = models.TextField()

    record = tenant_link("host.AuditRecord", "record_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "record_id"), name="an_audit_record_has_one_reason"),
            TenantFK(column="record_id", to="host_auditrecord", name="a_reason_is_of_a_record_of_its_tenant"),
        )


class AuditCheckpoint(TenantOwned):
    """The host's Ed25519 signature over the Merkle root of the records since the previous checkpoint, up to ``at_seq``.

    Never removed. Its signature is made anew when the host's key has changed; the rest never changes.
    """

    writer = "memory.host.audit_chain"
    impersonal = {"key_id": "the id of a key", "merkle_root": DIGEST, "signature": "a signature"}

    at_seq = models.BigIntegerField()
    merkle_root = models.CharField(max_length=64)
    signature = models.CharField(max_length=128)
    key_id = models.CharField(max_length=64)
    created_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant", "at_seq"), name="a_number_is_checkpointed_once"),)
