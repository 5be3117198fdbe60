"""The audit chain as it is read: what of a record is hashed, and the walk that recomputes it (openwop-host 2.4)."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from uuid import UUID

import rfc8785
from django.db.models import Max

from memory.host import slots
from memory.host.json_types import JSONObject
from memory.host.models import AuditChain, AuditRecord

PAGE = 1000


@dataclass(frozen=True, slots=True)
class Break:
    """Where the chain does not hold: what was computed there, and what stands there ("" when nothing does)."""

    at_seq: int
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class Step:
    """One record of a walk: its recomputed hash, None where there is none, and what does not fit at it."""

    seq: int
    entry_hash: str | None
    broken: Break | None


def form_of(record: AuditRecord) -> JSONObject:
    """Everything the record says, the hash before it included: what is hashed, and what a verifier is given."""
    return {
        "tenant": str(record.tenant_id),
        "seq": record.seq,
        "occurredAt": record.occurred_at.astimezone(UTC).isoformat(),
        "actor": record.actor,
        "action": record.action,
        "target": record.target,
        "details": record.details,
        "prevHash": record.prev_hash or None,
    }


def hash_of(record: AuditRecord) -> str:
    """SHA-256 over the JCS form of the record."""
    return _digest(rfc8785.dumps(form_of(record)))


def _form(record: AuditRecord) -> bytes | None:
    """The JCS form of a record that may have been tampered with; None when it has none."""
    try:
        return rfc8785.dumps(form_of(record))
    except (ValueError, RecursionError):
        return None


def _digest(form: bytes) -> str:
    return hashlib.sha256(form).hexdigest()


def walk(tenant_id: UUID, *, first: int, last: int) -> Iterator[Step]:
    """The records ``first`` to ``last`` in their order, each recomputed, a step a record; in constant memory.

    A record that was changed breaks at itself, one that does not continue the record before it too, and a gap at its
    first number. The end is held against the record behind it, or against the head of the chain. One that has no JCS
    form any more breaks at itself, and the next is held against the hash that stands there.
    """
    before = AuditRecord.objects.of(tenant_id).filter(seq=first - 1).first() if first else None
    expected, number = _standing(before, _form(before)) if before else "", first
    for record in _records(tenant_id, first, last):
        form = _form(record)
        own = _standing(record, form)
        broken = _break_at(record, number, expected, own) if form else Break(number, "", record.entry_hash)
        yield Step(record.seq, own if form else None, broken)
        expected, number = own, record.seq + 1
    if number <= last:
        yield Step(number, None, Break(number, expected, ""))
    elif number > first and (found := _behind(tenant_id, last)) not in (None, expected):
        yield Step(last, None, Break(last, expected, found or ""))


def _standing(record: AuditRecord, form: bytes | None) -> str:
    return _digest(form) if form else str(record.entry_hash)


def _records(tenant_id: UUID, first: int, last: int) -> Iterator[AuditRecord]:
    rows = AuditRecord.objects.of(tenant_id)
    while page := list(rows.filter(seq__gte=first, seq__lte=last).order_by("seq")[:PAGE]):
        yield from page
        first = page[-1].seq + 1
        if len(page) == PAGE:
            slots.breathe()


def _break_at(record: AuditRecord, number: int, expected: str, own: str) -> Break | None:
    if record.seq != number:
        return Break(number, expected, "")
    if record.prev_hash != expected:
        return Break(number, expected, record.prev_hash)
    return Break(number, own, record.entry_hash) if record.entry_hash != own else None


def _behind(tenant_id: UUID, last: int) -> str | None:
    """The hash of the record ``last`` as what stands behind it has it: the head of the chain, or the next record.

    The head is read first: when it is further, the next record is committed. None when that one is gone, which is for
    a walk beyond ``last`` to say.
    """
    chain = AuditChain.objects.of(tenant_id).first()
    if chain is None or chain.next_seq <= last:
        return ""
    if chain.next_seq == last + 1:
        return str(chain.head_hash)
    successor = AuditRecord.objects.of(tenant_id).filter(seq=last + 1).first()
    return str(successor.prev_hash) if successor else None


def end_of(tenant_id: UUID) -> int:
    """The number of the newest record, as the records or the head of the chain have it; -1 before the first."""
    newest_seq = AuditRecord.objects.of(tenant_id).aggregate(found=Max("seq"))["found"]
    return max(-1 if newest_seq is None else newest_seq, total(tenant_id) - 1)


def total(tenant_id: UUID) -> int:
    """How many records the chain holds, from its head."""
    chain = AuditChain.objects.of(tenant_id).first()
    return chain.next_seq if chain else 0
