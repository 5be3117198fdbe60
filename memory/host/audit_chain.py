"""The audit chain: the hash of a record, the walk that recomputes it (openwop-host 2.4), and signed checkpoints.

A checkpoint is the signed Merkle root of the records since the previous one (RFC 0218 A), made after every 1000th
record, and every five minutes when records were added. Records that do not verify get none. The lock of the chain keeps
two hosts from making the same checkpoint twice: each sees the newest one before it signs. No append waits for a
checkpoint or fails because of one: an append reads at most the last 2,000 records, and a longer backlog is checkpointed
by 20,000 records every five minutes.
"""

import hashlib
import logging
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar
from uuid import UUID

import orjson
import rfc8785
from django.db import DataError, OperationalError, transaction
from django.db.models import Max, OuterRef, QuerySet, Subquery

from memory.host import ids, request_slots, signing
from memory.host.json_types import JSONObject
from memory.host.models import AuditChain, AuditCheckpoint, AuditRecord

PAGE = 1000
log = logging.getLogger(__name__)
WRITER = "memory.host.audit_chain"
EVERY_ENTRIES = 1000
EVERY_SECONDS = 300
CLOSE = 2  # times EVERY_ENTRIES: how much an append reads at most
FAR = 20  # times EVERY_ENTRIES: how much of a backlog is read at once
MOST = 2**63 - 1
T = TypeVar("T")
CODE = "sqlite_errorcode"
HASHES = ("prev_hash", "entry_hash")
# What reading a record raises whose value has no form in Python, such as a time after the year 9999.
UNREADABLE = (DataError, ValueError, TypeError, AttributeError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True)
class Break:
    """Where the chain does not hold: the computed hash, and the stored one ("" when there is none)."""

    at_seq: int
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class Step:
    """One record of a walk: its recomputed hash, None where there is none, and its break."""

    seq: int
    entry_hash: str | None
    broken: Break | None


def form_of(record: AuditRecord) -> JSONObject:
    """Return the hashed form of the record, which includes the previous hash; verifiers are given the same.

    A record without a request id has the form of those that were written before there were such ids.
    """
    form: JSONObject = {
        "tenant": str(record.tenant_id),
        "seq": record.seq,
        "occurredAt": record.occurred_at.astimezone(UTC).isoformat(),
        "actor": record.actor,
        "action": record.action,
        "target": record.target,
        "details": record.details,
        "prevHash": record.prev_hash or None,
    }
    return {**form, "requestId": record.request_id} if record.request_id else form


def hash_of(record: AuditRecord) -> str:
    """SHA-256 over the JCS form of the record."""
    return _digest(rfc8785.dumps(form_of(record)))


def _form(record: AuditRecord) -> bytes | None:
    """Return the JCS form of a record that may have been tampered with; None when it has none."""
    try:
        return rfc8785.dumps(form_of(record))
    except UNREADABLE:
        return None


def _digest(form: bytes) -> str:
    return hashlib.sha256(form).hexdigest()


def walk(tenant_id: UUID, *, first: int, last: int) -> Iterator[Step]:
    """Recompute the records ``first`` to ``last`` in order and yield one step per record, in constant memory.

    A changed record breaks at itself, and so does one that does not continue the record before it; a gap breaks at its
    first number. The end is compared with the next record, or with the head of the chain. A record without a JCS form
    breaks at itself, and the next one is compared with its stored hash.
    """
    before = next(iter(_read(AuditRecord.objects.of(tenant_id).filter(seq=first - 1))), None) if first else None
    expected, number = _current_hash(before, _form(before)) if before else "", first
    for record in _records(tenant_id, first, last):
        form = _form(record)
        own = _current_hash(record, form)
        broken = _break_at(record, number, expected, own) if form else Break(number, "", record.entry_hash)
        yield Step(record.seq, own if form else None, broken)
        expected, number = own, record.seq + 1
    if number <= last:
        yield Step(number, None, Break(number, expected, ""))
    elif number > first and (found := _behind(tenant_id, last)) not in (None, expected):
        yield Step(last, None, Break(last, expected, found or ""))


def _current_hash(record: AuditRecord, form: bytes | None) -> str:
    return _digest(form) if form else str(record.entry_hash)


def _records(tenant_id: UUID, first: int, last: int) -> Iterator[AuditRecord]:
    rows = AuditRecord.objects.of(tenant_id)
    while page := _read(rows.filter(seq__gte=first, seq__lte=last).order_by("seq")[:PAGE]):
        yield from page
        first = page[-1].seq + 1
        if len(page) == PAGE:
            request_slots.breathe()


def attempt(load: Callable[[], T]) -> T | None:
    """Return what ``load`` reads; None when a value of it has no form in Python, because it was tampered with."""
    try:
        return load()
    except UNREADABLE:
        return None
    except OperationalError as problem:
        # Text that is not UTF-8, for which SQLite's driver has no code.
        if isinstance(problem.__cause__, sqlite3.OperationalError) and not hasattr(problem.__cause__, CODE):
            return None
        raise


def _read(rows: QuerySet[AuditRecord]) -> list[AuditRecord]:
    """Return the records, and in place of one that cannot be read its number and hashes, so that the walk fails at that
    record and not at its page."""
    found = attempt(lambda: list(rows))
    if found is None:
        found = [_read_one(*each) for each in rows.values_list("tenant_id", "seq")]
    return [
        each if all(isinstance(stored, str) for stored in _hashes(each).values()) else _bare(each) for each in found
    ]


def _read_one(tenant_id: UUID, seq: int) -> AuditRecord:
    rows = AuditRecord.objects.of(tenant_id).filter(seq=seq)
    hashes = {name: rows.values_list(name, flat=True) for name in HASHES}
    found = attempt(rows.get)
    return found or AuditRecord.unreadable(tenant_id, seq, {name: attempt(each.get) for name, each in hashes.items()})


def _hashes(record: AuditRecord) -> dict[str, object]:
    return {name: getattr(record, name) for name in HASHES}


def _bare(record: AuditRecord) -> AuditRecord:
    return AuditRecord.unreadable(record.tenant_id, record.seq, _hashes(record))


def read_for_display(rows: QuerySet[AuditRecord]) -> list[AuditRecord]:
    """Return the records; one whose values are none that this host writes has its number and hashes alone, and is not
    ``is_readable``."""
    return [record if _is_as_written(record) else _bare(record) for record in _read(rows)]


def _is_as_written(record: AuditRecord) -> bool:
    values = [record.actor, record.action, record.target, record.request_id, record.details]
    try:
        # Text in Unicode, and JSON of numbers that every reader of it knows.
        return record.is_readable and isinstance(record.details, dict) and orjson.loads(orjson.dumps(values)) == values
    except TypeError:
        return False


def _break_at(record: AuditRecord, number: int, expected: str, own: str) -> Break | None:
    if record.seq != number:
        return Break(number, expected, "")
    if record.prev_hash != expected:
        return Break(number, expected, record.prev_hash)
    return Break(number, own, record.entry_hash) if record.entry_hash != own else None


def _behind(tenant_id: UUID, last: int) -> str | None:
    """Return the hash of the record ``last`` as the head of the chain or the next record states it.

    The head is read first: when it is further, the next record is committed. None when the next record is missing,
    which a walk beyond ``last`` reports.
    """
    chain = AuditChain.objects.of(tenant_id).first()
    if chain is None or chain.next_seq <= last:
        return ""
    if chain.next_seq == last + 1:
        return str(chain.head_hash)
    rows = AuditRecord.objects.of(tenant_id).filter(seq=last + 1)
    stated: str | None = rows.values_list("prev_hash", flat=True).first()
    return stated


def end_of(tenant_id: UUID) -> int:
    """Return the number of the newest record, from the records or the head, whichever is higher; -1 for none."""
    newest_seq = AuditRecord.objects.of(tenant_id).filter(seq__lte=MOST).aggregate(found=Max("seq"))["found"]
    return max(-1 if newest_seq is None else newest_seq, total(tenant_id) - 1)


def total(tenant_id: UUID) -> int:
    """Return the number of records by the head of the chain."""
    chain = AuditChain.objects.of(tenant_id).first()
    return chain.next_seq if chain else 0


class MerkleTree:
    """A Merkle tree over the lower-case hex hashes of records, in order.

    A parent is the SHA-256 over the ASCII of its two children, and the last odd node of a level is promoted unchanged.
    ``_roots`` holds the roots of the full subtrees, the largest first, so memory grows with the logarithm of the range.
    """

    __slots__ = ("_roots", "size")

    def __init__(self) -> None:
        self.size = 0
        self._roots: list[str] = []

    def add(self, leaf: str) -> None:
        node, size = leaf, self.size
        while size & 1:
            node, size = _parent(self._roots.pop(), node), size >> 1
        self._roots.append(node)
        self.size += 1

    def root(self) -> str:
        """Return the root in hex; needs at least one leaf."""
        *others, node = self._roots
        for left in reversed(others):
            node = _parent(left, node)
        return node


def _parent(left: str, right: str) -> str:
    return hashlib.sha256((left + right).encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of verifying the records ``first`` to ``last``.

    ``forged`` are checkpoints without a valid signature of this host, ``unfit`` those whose root differs from that of
    the records.
    """

    first: int
    last: int
    checked: int = 0
    breaks: list[Break] = field(default_factory=list)
    checkpoints: list[AuditCheckpoint] = field(default_factory=list)
    forged: frozenset[int] = frozenset()
    unfit: frozenset[int] = frozenset()

    @property
    def intact(self) -> bool:
        return not (self.breaks or self.forged or self.unfit)

    @property
    def broken_at(self) -> int | None:
        """The first number where the chain, or a checkpoint, does not hold."""
        places = [*(each.at_seq for each in self.breaks), *self.forged, *self.unfit]
        return min(places) if places else None


def checkpoint_when_due(record: AuditRecord, now: datetime) -> None:
    """Checkpoint the chain after every 1000th record, in the transaction that appends it.

    Skipped when the last checkpoint is more than 2,000 records back. A failure is logged, and the record is kept.
    """
    if (record.seq + 1) % EVERY_ENTRIES:
        return
    try:
        with transaction.atomic():
            previous = _newest_up_to(record.tenant_id, record.seq)
            if record.seq <= previous + CLOSE * EVERY_ENTRIES:
                _extend(record.tenant_id, previous, record.seq, now)
    except Exception:
        log.exception("The audit chain of tenant %s got no checkpoint at record %d", record.tenant_id, record.seq)


def make_checkpoint(tenant_id: UUID, *, now: datetime) -> AuditCheckpoint | None:
    """Checkpoint the chain up to its newest record; None when it is checkpointed already, or does not hold.

    At most the next 20,000 records are covered.
    """
    last = end_of(tenant_id)
    previous = _newest_up_to(tenant_id, last)
    if previous >= last:
        return None
    return _extend(tenant_id, previous, min(last, previous + FAR * EVERY_ENTRIES), now)


def _newest_up_to(tenant_id: UUID, seq: int) -> int:
    """Return the number of the newest checkpoint up to ``seq``; -1 when there is none, as numbers begin at 0.

    The signing key does not matter: where a range begins depends only on what a verifier sees.
    """
    rows = AuditCheckpoint.objects.of(tenant_id).filter(at_seq__lte=seq).order_by("-at_seq")
    found: int | None = rows.values_list("at_seq", flat=True).first()
    return -1 if found is None else found


def _extend(tenant_id: UUID, previous: int, last: int, now: datetime) -> AuditCheckpoint | None:
    """Make a checkpoint at ``last`` and after every 1000th record on the way, so that none covers more than that."""
    tree, made = MerkleTree(), None
    for step in walk(tenant_id, first=previous + 1, last=last):
        if step.broken or step.entry_hash is None:
            log.error("the audit chain of tenant %s does not hold at record %d; no checkpoint", tenant_id, step.seq)
            return None
        tree.add(step.entry_hash)
        if step.seq == last or (step.seq + 1) % EVERY_ENTRIES == 0:
            made = _sign(tenant_id, previous, step.seq, tree.root(), now)
            if made is None:
                return None
            tree, previous = MerkleTree(), step.seq
    return made


@transaction.atomic
def _sign(tenant_id: UUID, previous: int, at_seq: int, root: str, now: datetime) -> AuditCheckpoint | None:
    """Sign the checkpoint of the records after ``previous``; None when another host has made one in the meantime."""
    chain = AuditChain.objects.of(tenant_id).select_for_update().get()
    if _newest_up_to(tenant_id, chain.next_seq - 1) != previous:
        return None
    made = AuditCheckpoint(tenant_id=tenant_id, at_seq=at_seq, merkle_root=root, created_at=now)
    signature = signing.sign_bytes(signing.CHECKPOINTS, bytes.fromhex(root))
    made.signature, made.key_id = signature.text, signature.key_id
    return made.insert(by=WRITER)


def make_due_checkpoints(*, now: datetime) -> int:
    """Checkpoint every tenant's chain that has grown since its last checkpoint; return how many were made.

    A failure for one tenant is logged and does not stop the others.
    """
    if foreign := signed_elsewhere():
        log.error("the audit chain of tenant %s was signed with another OPENWOP_SECRET_KEY; no checkpoints", foreign)
        return 0
    chains = list(AuditChain.objects.filter(next_seq__gt=0).values_list("tenant_id", "next_seq"))
    return sum(_mint_grown(tenant_id, next_seq, now) for tenant_id, next_seq in chains)


def _mint_grown(tenant_id: UUID, next_seq: int, now: datetime) -> bool:
    try:
        found = newest_checkpoint(tenant_id)
        return (found is None or found.at_seq < next_seq - 1) and make_checkpoint(tenant_id, now=now) is not None
    except Exception:
        log.exception("The audit chain of tenant %s got no checkpoint", tenant_id)
        return False


def signed_formerly(tenant_id: UUID | None = None) -> QuerySet[AuditCheckpoint]:
    """Return the checkpoints, of every tenant or one, that name a key from ``OPENWOP_SECRET_KEY_FALLBACKS``."""
    current, *former = [key.key_id for key in signing.public_keys(signing.CHECKPOINTS)]
    rows = AuditCheckpoint.objects.of(tenant_id) if tenant_id else AuditCheckpoint.objects.all()
    return rows.filter(key_id__in=set(former) - {current})


@transaction.atomic
def sign_anew(tenant_id: UUID, *, after: int) -> tuple[list[int], int | None]:
    """Sign the next checkpoints after the number ``after`` that a former key has signed with the present one: the root
    stays, and one without a valid signature stays as it is.

    Returns the numbers of those signed anew, and the number to go on after; None at the end.
    """
    AuditChain.objects.of(tenant_id).select_for_update().get()
    found = list(signed_formerly(tenant_id).filter(at_seq__gt=after).order_by("at_seq")[:PAGE])
    valid = [each for each in found if is_signed(each)]
    for each in valid:
        signature = signing.sign_bytes(signing.CHECKPOINTS, bytes.fromhex(each.merkle_root))
        each.signature, each.key_id = signature.text, signature.key_id
        each.save(by=WRITER, update_fields=["signature", "key_id"])
    return [each.at_seq for each in valid], found[-1].at_seq if len(found) == PAGE else None


def checkpoint_statement(checkpoint: AuditCheckpoint) -> JSONObject:
    """Return the checkpoint's wire form without its signature, which covers the root alone (RFC 0218)."""
    return {
        "checkpoint": ids.wire("ckpt", checkpoint.id),
        "atSequence": checkpoint.at_seq,
        "merkleRoot": checkpoint.merkle_root,
    }


def is_signed(checkpoint: AuditCheckpoint) -> bool:
    """Whether this host signed the 32 bytes of this root, with its current key or an earlier one."""
    try:
        root = bytes.fromhex(checkpoint.merkle_root)
    except ValueError:
        return False
    return signing.verifies_bytes(signing.CHECKPOINTS, root, checkpoint.signature, checkpoint.key_id)


def newest_checkpoint(tenant_id: UUID) -> AuditCheckpoint | None:
    found: AuditCheckpoint | None = AuditCheckpoint.objects.of(tenant_id).order_by("-at_seq").first()
    return found


def signed_elsewhere() -> UUID | None:
    """Return a tenant whose newest checkpoint no configured key has signed: then OPENWOP_SECRET_KEY is not this host's.

    What such a key signs stays, and would make the whole chain fail under the right one.
    """
    known = {key.key_id for key in signing.public_keys(signing.CHECKPOINTS)}
    newest = AuditCheckpoint.objects.filter(tenant_id=OuterRef("tenant_id")).order_by("-at_seq").values("key_id")[:1]
    foreign = AuditChain.objects.annotate(signed_by=Subquery(newest)).exclude(signed_by=None)
    found: UUID | None = foreign.exclude(signed_by__in=known).values_list("tenant_id", flat=True).first()
    return found


def newest_checkpoints(tenant_id: UUID, *, limit: int) -> tuple[list[AuditCheckpoint], int]:
    """Return the newest checkpoints, newest first, and their total number."""
    rows = AuditCheckpoint.objects.of(tenant_id).order_by("-at_seq")
    return list(rows[:limit]), rows.count()


def list_checkpoints(tenant_id: UUID, *, after: int, last: int = MOST, size: int = PAGE) -> list[AuditCheckpoint]:
    """Return the checkpoints after the number ``after``, up to ``last``, in order."""
    return list(
        AuditCheckpoint.objects.of(tenant_id).filter(at_seq__gt=after, at_seq__lte=last).order_by("at_seq")[:size]
    )


def all_checkpoints(tenant_id: UUID, *, first: int = 0, last: int = MOST) -> Iterator[AuditCheckpoint]:
    """Yield all checkpoints from ``first`` to ``last`` in order, page by page."""
    after = first - 1
    while found := list_checkpoints(tenant_id, after=after, last=last):
        yield from found
        after = found[-1].at_seq
        if len(found) < PAGE:
            return
        request_slots.breathe()


def count_checkpoints(tenant_id: UUID) -> int:
    found: int = AuditCheckpoint.objects.of(tenant_id).count()
    return found


def expected_end(tenant_id: UUID) -> int:
    """Return the newest number that a record, the head or a checkpoint states."""
    found = newest_checkpoint(tenant_id)
    return max(end_of(tenant_id), found.at_seq if found else -1)


def verify(tenant_id: UUID, *, first: int, last: int) -> Finding:
    """Recompute the records ``first`` to ``last`` and compare every checkpoint between them with the records.

    For the first checkpoint its whole range is read; memory grows with the breaks and checkpoints alone.
    """
    given = list(all_checkpoints(tenant_id, first=first, last=last))
    forged = frozenset(each.at_seq for each in given if not is_signed(each))
    previous = _newest_up_to(tenant_id, first - 1) if given else first - 1
    breaks: list[Break] = []
    fitting: set[int] = set()
    checked, ahead, tree = 0, iter(given), MerkleTree()
    due = next(ahead, None)
    for step in walk(tenant_id, first=previous + 1, last=last):
        if step.broken and step.broken.at_seq >= first:
            breaks.append(step.broken)
        while due and due.at_seq < step.seq:  # its last record is missing
            previous, due, tree = due.at_seq, next(ahead, None), MerkleTree()
        if step.entry_hash is None:
            continue
        checked += step.seq >= first
        if due:
            tree.add(step.entry_hash)
        if due and step.seq == due.at_seq:
            fitting |= _fit(due, previous, tree, breaks)
            previous, due, tree = due.at_seq, next(ahead, None), MerkleTree()
    return Finding(first, last, checked, breaks, given, forged, frozenset(each.at_seq for each in given) - fitting)


def _fit(checkpoint: AuditCheckpoint, previous: int, tree: MerkleTree, breaks: list[Break]) -> set[int]:
    """Return the checkpoint's number when its root is that of all records after ``previous``.

    Otherwise add a break, unless there is one already. The count is compared too, since the nodes above the leaves,
    presented as leaves, have the same root.
    """
    if tree.size == checkpoint.at_seq - previous and tree.root() == checkpoint.merkle_root:
        return {checkpoint.at_seq}
    if not breaks:
        breaks.append(Break(checkpoint.at_seq, checkpoint.merkle_root, tree.root()))
    return set()
