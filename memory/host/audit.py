"""The audit chain: append, and the walk that recomputes it (openwop-host 2.4).

Each record carries the SHA-256 of the JCS form (RFC 8785) of the one before it. The row of the tenant's chain is the
lock, so two appends never take one number.
"""

import hashlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import rfc8785
from django.db import IntegrityError, transaction
from django.db.models import Max

from memory.host import sql
from memory.host.models import AuditChain, AuditRecord

WRITER = "memory.host.audit"
# The newest records that a filter takes its choices from.
OFFERED = 500
PAGE = 1000

Follower = Callable[[AuditRecord, datetime], None]
_followers: list[Follower] = []
_asides: list[Callable[[], None]] = []


def on_append(function: Follower) -> None:
    """Registration point: ``function`` is called, in the transaction, behind every record."""
    if function not in _followers:
        _followers.append(function)


def on_page(function: Callable[[], None]) -> None:
    """Registration point: ``function`` is called behind every page of a long walk, to let others go first."""
    if function not in _asides:
        _asides.append(function)


def breathe() -> None:
    """A page of a long walk is done; whoever has waited may go first."""
    for function in _asides:
        function()


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
    for function in _followers:
        function(record, now)
    return record


@transaction.atomic
def append_once(
    tenant_id: UUID,
    *,
    within: timedelta,
    actor: str,
    action: str,
    target: str = "",
    details: dict[str, Any] | None = None,
    now: datetime,
) -> AuditRecord | None:
    """Like ``append``, but None and no record when the very same act is on record since ``within`` ago.

    Asked under the lock of the chain, so of two at once one is put on record.
    """
    same = {"actor": actor, "action": action, "target": target}
    wanted = details or {}
    if _is_on_record(tenant_id, same, wanted, now - within):
        return None
    _locked_chain(tenant_id)
    if _is_on_record(tenant_id, same, wanted, now - within):
        return None
    return append(tenant_id, **same, details=wanted, now=now)


def is_on_record(
    tenant_id: UUID, *, within: timedelta, actor: str, action: str, target: str, details: dict[str, Any], now: datetime
) -> bool:
    """Whether the very same act is on record since ``within`` ago; what ``append_once`` asks, without the lock."""
    return _is_on_record(tenant_id, {"actor": actor, "action": action, "target": target}, details, now - within)


def _is_on_record(tenant_id: UUID, same: dict[str, str], details: dict[str, Any], since: datetime) -> bool:
    rows = AuditRecord.objects.of(tenant_id).filter(**same, occurred_at__gt=since).order_by("-occurred_at")
    return any(found == details for found in rows.values_list("details", flat=True).iterator(chunk_size=100))


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


def form_of(record: AuditRecord) -> dict[str, Any]:
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
            breathe()


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


def verify(tenant_id: UUID) -> Verdict:
    """Walk the whole chain and recompute every hash; says where it first breaks."""
    checked = 0
    for step in walk(tenant_id, first=0, last=end_of(tenant_id)):
        if step.broken:
            return Verdict(checked, step.broken.at_seq, expected=step.broken.expected, actual=step.broken.actual)
        checked += 1
    return Verdict(checked, None)


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which records to list; empty means all. Recorded at ``since`` or later, and before ``until``."""

    action: str = ""
    since: datetime | None = None
    until: datetime | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.action or self.since or self.until)


def newest(
    tenant_id: UUID, wanted: AuditFilter | None = None, *, before: int | None = None, limit: int = 50
) -> list[AuditRecord]:
    """The newest records that match, first; ``before`` is the number of the last one seen."""
    rows = AuditRecord.objects.of(tenant_id)
    if wanted is None or wanted.is_empty:
        rows = rows.order_by("-seq")
        return list((rows if before is None else rows.filter(seq__lt=before))[:limit])
    rows = _matching(tenant_id, wanted).order_by("-occurred_at", "-seq")
    if before is not None:
        last = AuditRecord.objects.of(tenant_id).filter(seq=before).first()
        rows = rows.filter(sql.behind("occurred_at", last.occurred_at, last.seq, id_column="seq")) if last else rows
    return list(rows[:limit])


def count(tenant_id: UUID, wanted: AuditFilter, *, most: int) -> int:
    """How many records match, counted no further than ``most``."""
    if wanted.is_empty:
        return total(tenant_id)
    return int(_matching(tenant_id, wanted).order_by().values("seq")[:most].count())


def _matching(tenant_id: UUID, wanted: AuditFilter) -> Any:
    asked = {"action": wanted.action, "occurred_at__gte": wanted.since, "occurred_at__lt": wanted.until}
    return AuditRecord.objects.of(tenant_id).filter(**{field: value for field, value in asked.items() if value})


def about(tenant_id: UUID, targets: Collection[str], *, limit: int = 50) -> list[AuditRecord]:
    """The newest records whose target is one of these, the newest first."""
    return list(AuditRecord.objects.of(tenant_id).filter(target__in=list(targets)).order_by("-seq")[:limit])


def every(tenant_id: UUID, wanted: AuditFilter | None = None) -> Iterator[AuditRecord]:
    """The whole chain in its order, or the records of it that match, for a file."""
    yield from _matching(tenant_id, wanted or AuditFilter()).order_by("seq").iterator(chunk_size=1000)


def actions_of(tenant_id: UUID) -> list[str]:
    """The actions among the newest records, by name: what a filter offers."""
    rows = AuditRecord.objects.of(tenant_id).order_by("-seq").values_list("action", flat=True)
    return sorted(set(rows[:OFFERED]))


def last_of(tenant_id: UUID, action: str, **details: Any) -> AuditRecord | None:
    """The newest record of that action whose details say this."""
    rows = AuditRecord.objects.of(tenant_id).filter(action=action)
    wanted = {f"details__{name}": value for name, value in details.items()}
    found: AuditRecord | None = rows.filter(**wanted).order_by("-occurred_at", "-seq").first()
    return found


def total(tenant_id: UUID) -> int:
    """How many records the chain holds, from its head."""
    chain = AuditChain.objects.of(tenant_id).first()
    return chain.next_seq if chain else 0
