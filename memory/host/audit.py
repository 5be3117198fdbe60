"""The audit chain: append and verify (openwop-host 2.4).

Each record carries the SHA-256 of the JCS form (RFC 8785) of the one before it. The row of the tenant's chain is the
lock, so two appends never take one number.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import rfc8785
from django.db import IntegrityError, transaction

from memory.host.models import AuditChain, AuditRecord

WRITER = "memory.host.audit"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verification found: how many records it read, and the first number that does not fit."""

    checked: int
    broken_at: int | None
    expected: str = ""
    actual: str = ""

    @property
    def intact(self) -> bool:
        return self.broken_at is None


@transaction.atomic
def append(
    tenant_id: UUID, *, actor: str, action: str, target: str = "", details: dict[str, Any] | None = None, now: datetime
) -> AuditRecord:
    """The act is on record, chained to the one before it; in the caller's transaction, so both or neither commit."""
    chain = _locked_chain(tenant_id)
    record = AuditRecord(
        tenant_id=tenant_id,
        seq=chain.next_seq,
        occurred_at=now,
        actor=actor,
        action=action,
        target=target,
        details=details or {},
        prev_hash=chain.head_hash,
    )
    record.entry_hash = hash_of(record)
    record.insert(by=WRITER)
    chain.next_seq, chain.head_hash = record.seq + 1, record.entry_hash
    chain.save(by=WRITER, update_fields=["next_seq", "head_hash"])
    return record


def _locked_chain(tenant_id: UUID) -> AuditChain:
    rows = AuditChain.objects.of(tenant_id).select_for_update()
    chain: AuditChain | None = rows.first()
    if chain is not None:
        return chain
    try:
        with transaction.atomic():
            AuditChain(tenant_id=tenant_id).insert(by=WRITER)
    except IntegrityError:
        pass  # another process opened the chain first; its row is the lock
    found: AuditChain = rows.get()
    return found


def hash_of(record: AuditRecord) -> str:
    """SHA-256 over the JCS form of everything the record says, the hash before it included."""
    body = {
        "tenant": str(record.tenant_id),
        "seq": record.seq,
        "occurredAt": record.occurred_at.astimezone(UTC).isoformat(),
        "actor": record.actor,
        "action": record.action,
        "target": record.target,
        "details": record.details,
        "prevHash": record.prev_hash or None,
    }
    return hashlib.sha256(rfc8785.dumps(body)).hexdigest()


def verify(tenant_id: UUID) -> Verdict:
    """Walk the whole chain and recompute every hash; says where it first breaks."""
    before, number = "", 0
    for record in AuditRecord.objects.of(tenant_id).order_by("seq").iterator(chunk_size=1000):
        if record.seq != number or record.prev_hash != before:
            return Verdict(number, number, expected=before, actual=record.prev_hash)
        if record.entry_hash != hash_of(record):
            return Verdict(number, number, expected=hash_of(record), actual=record.entry_hash)
        before, number = record.entry_hash, number + 1
    return _verify_head(tenant_id, before, number)


def _verify_head(tenant_id: UUID, last: str, count: int) -> Verdict:
    chain = AuditChain.objects.of(tenant_id).first()
    if chain is None or (chain.next_seq == count and chain.head_hash == last):
        return Verdict(count, None)
    return Verdict(count, count, expected=chain.head_hash, actual=last)


def newest(tenant_id: UUID, *, before: int | None = None, limit: int = 50) -> list[AuditRecord]:
    """The newest records first; ``before`` is the number of the last one seen."""
    rows = AuditRecord.objects.of(tenant_id).order_by("-seq")
    return list((rows if before is None else rows.filter(seq__lt=before))[:limit])


def every(tenant_id: UUID) -> Iterator[AuditRecord]:
    """The whole chain in its order, for a file."""
    yield from AuditRecord.objects.of(tenant_id).order_by("seq").iterator(chunk_size=1000)


def total(tenant_id: UUID) -> int:
    """How many records the chain holds, from its head."""
    chain = AuditChain.objects.of(tenant_id).first()
    return chain.next_seq if chain else 0
