"""Requests with an ``Idempotency-Key``: executed once, with the same answer for a day (openwop-host 4.4).

A claim is a committed row with a lease, so that two requests with one key never run at once. The answer is stored in
the transaction of the change that it reports, so a crash leaves both or neither. A key belongs to one principal at one
endpoint; only its hash is stored.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import orjson
import rfc8785
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from memory.host import ids, signing, sql
from memory.host.errors import IdempotencyInFlight, IdempotencyKeyMismatch, Invalid
from memory.host.leases import Lease
from memory.host.models import IdempotencyRecord, Tenant
from memory.host.models.idempotency import IdempotencyState

WRITER = "memory.host.idempotency_keys"
LEASE = Lease(IdempotencyRecord, WRITER, timedelta(seconds=120))  # longer than any view runs
KEPT = timedelta(hours=24)
FORM = re.compile(r"[A-Za-z0-9._~:@!$&'()*+,;=/-]{1,255}")
NOT_A_KEY = "must be 1 to 255 characters that a URL may have"
LONGEST_ENDPOINT = 500


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request with an idempotency key, by principal, endpoint, key and body, the last two as digests.

    The first body digest is stored, and any of them matches. They are keyed, since a body may hold an easily guessed
    secret.
    """

    tenant_id: UUID
    principal: str
    endpoint: str
    key_sha256: str
    body_digests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeyClaim:
    """The right to execute a request, exclusive until the answer is stored or the lease ends."""

    tenant_id: UUID
    record_id: UUID
    holder: str


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer as it was sent."""

    status: int
    headers: dict[str, str]
    body: str


def request_of(
    tenant_id: UUID, principal: str, *, key: str, method: str, path: str, query: str, body: bytes
) -> KeyedRequest:
    """Return the identity of the request; refuses a key that is not valid in a URL."""
    if not FORM.fullmatch(key):
        problem = {"field": "Idempotency-Key", "message": NOT_A_KEY}
        raise Invalid("The idempotency key is not valid.", errors=[problem])
    endpoint = f"{method} {path}"
    if len(endpoint) > LONGEST_ENDPOINT:
        endpoint = f"{method} sha256:{_sha256(path.encode('utf-8', 'surrogatepass'))}"
    said = _canonical(body) + (b"?" + query.encode("utf-8", "surrogatepass") if query else b"")
    digests = signing.digests(signing.REQUESTS, tenant_id, said)
    return KeyedRequest(tenant_id, principal, endpoint, _sha256(key.encode()), digests)


def _sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _canonical(body: bytes) -> bytes:
    """Return the RFC 8785 form of a JSON body, so that spaces and member order do not matter; else the bytes."""
    try:
        return rfc8785.dumps(orjson.loads(body))
    except (ValueError, RecursionError):
        return body


def claim(asked: KeyedRequest, *, now: datetime) -> KeyClaim | StoredAnswer | None:
    """Claim the execution of the request, or return its stored answer; None while another process executes it.

    A key that was used with another body is refused.
    """
    made = _insert(asked, now)
    if made:
        return made
    record = _records(asked).first()
    if record is None:
        return None
    if record.created_at <= now - KEPT:
        return _take_over(record, asked, now)
    if record.body_digest not in asked.body_digests:
        raise IdempotencyKeyMismatch
    if record.state == IdempotencyState.COMPLETED:
        assert record.status is not None  # the answer of a completed record is whole
        return StoredAnswer(record.status, record.headers, record.body)
    return _take_over(record, asked, now) if record.lease_until <= now else None


def _records(asked: KeyedRequest) -> QuerySet[IdempotencyRecord]:
    return IdempotencyRecord.objects.of(asked.tenant_id).filter(
        principal=asked.principal, endpoint=asked.endpoint, key_sha256=asked.key_sha256
    )


def _insert(asked: KeyedRequest, now: datetime) -> KeyClaim | None:
    record = IdempotencyRecord(
        tenant_id=asked.tenant_id,
        principal=asked.principal,
        endpoint=asked.endpoint,
        key_sha256=asked.key_sha256,
        body_digest=asked.body_digests[0],
        holder=ids.new_id().hex,
        lease_until=LEASE.end(now),
        created_at=now,
    )
    try:
        with transaction.atomic():
            record.insert(by=WRITER)
    except IntegrityError:
        return None
    return KeyClaim(record.tenant_id, record.id, record.holder)


def _take_over(record: IdempotencyRecord, asked: KeyedRequest, now: datetime) -> KeyClaim | None:
    """Claim a record whose holder is gone or that is over a day old; None when another process was first."""
    holder = ids.new_id().hex
    taken = LEASE.claim(
        record.tenant_id,
        record.id,
        holder=holder,
        now=now,
        where=Q(holder=record.holder, state=record.state),
        body_digest=asked.body_digests[0],
        state=IdempotencyState.PENDING,
        status=None,
        headers={},
        body="",
        created_at=now,
    )
    return KeyClaim(record.tenant_id, record.id, holder) if taken else None


def _held_rows(claim: KeyClaim) -> QuerySet[IdempotencyRecord]:
    return LEASE.while_held(claim.tenant_id, claim.record_id, holder=claim.holder)


def store_answer(claim: KeyClaim, answer: StoredAnswer) -> None:
    """Store ``answer`` for the key; raises when the claim was lost, so that everything is rolled back."""
    kept = _held_rows(claim).update(
        state=IdempotencyState.COMPLETED, status=answer.status, headers=answer.headers, body=answer.body
    )
    if kept != 1:
        raise IdempotencyInFlight(retryAfter=1)


def release(claim: KeyClaim) -> None:
    """Delete the record, so that the key can be used again."""
    _held_rows(claim).delete()


def sweep(*, now: datetime) -> int:
    """Delete records older than a day; return the number."""
    rows = IdempotencyRecord.objects.written_by(WRITER).filter(created_at__lte=now - KEPT)
    tenants = Tenant.objects.values_list("id", flat=True)
    return sum(sql.delete_in_chunks(rows.filter(tenant_id=tenant_id)) for tenant_id in tenants)
