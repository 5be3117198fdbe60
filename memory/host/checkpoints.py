"""Checkpoints of the audit chain: its Merkle root up to a number, signed; and the verification that uses them.

One is made behind every 1000th record, and every five minutes when something was added. A chain that does not hold
gets none, so a checkpoint never covers what was tampered with before it. The number is unique: hosts that make one at
once make it once. Nobody's act waits for a checkpoint, or fails with one: behind an append only what is close to the
last one is read, and a chain that is far behind catches up piece by piece, every five minutes.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from memory.host import audit, ids, signing
from memory.host.audit import Break
from memory.host.merkle import Frontier
from memory.host.models import AuditChain, AuditCheckpoint, AuditRecord

log = logging.getLogger(__name__)
WRITER = "memory.host.checkpoints"
EVERY_ENTRIES = 1000
EVERY_SECONDS = 300
CLOSE = 2  # times EVERY_ENTRIES: how much is read behind an append
FAR = 20  # times EVERY_ENTRIES: how much of a chain is read at once to catch up
LOOKS = 20
MOST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Finding:
    """What a verification of the records ``first`` to ``last`` found; ``forged`` are checkpoints nobody of us signed.

    ``unfit`` are those whose root is not that of the records now.
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
        """The first number where something does not hold."""
        places = [*(each.at_seq for each in self.breaks), *self.forged, *self.unfit]
        return min(places) if places else None


def follow(record: AuditRecord, now: datetime) -> None:
    """Behind every 1000th record the chain is checkpointed, in the transaction that appends it.

    Not when its last checkpoint is far behind; and a failure is logged, and the record stands.
    """
    if (record.seq + 1) % EVERY_ENTRIES:
        return
    try:
        with transaction.atomic():
            frontier = _frontier_of(_first_sound(_newest_before(record.tenant_id, record.seq + 1)))
            if record.seq < frontier.size + CLOSE * EVERY_ENTRIES:
                _extend(record.tenant_id, frontier, record.seq, now)
    except Exception:
        log.exception("The audit chain of tenant %s got no checkpoint at record %d", record.tenant_id, record.seq)


def mint(tenant_id: UUID, *, now: datetime) -> AuditCheckpoint | None:
    """The chain up to its newest record is under a checkpoint; None when it is already, or does not hold.

    Of a chain that is far behind it is the next 20,000 records.
    """
    last = audit.end_of(tenant_id)
    frontier = _frontier_of(_sound_before(tenant_id, last + 1))
    if frontier.size > last:
        return None
    return _extend(tenant_id, frontier, _within_reach(tenant_id, frontier.size, last), now)


def _within_reach(tenant_id: UUID, first: int, last: int) -> int:
    """``last``, or the first number behind so many records that has no checkpoint, not even a forged one."""
    number = first + FAR * EVERY_ENTRIES - 1
    rows = AuditCheckpoint.objects.of(tenant_id).filter(at_seq__gte=number, at_seq__lt=last).order_by("at_seq")
    for taken in rows.values_list("at_seq", flat=True)[:EVERY_ENTRIES]:
        if taken != number:
            break
        number += 1
    return min(number, last)


def _extend(tenant_id: UUID, frontier: Frontier, last: int, now: datetime) -> AuditCheckpoint | None:
    """A checkpoint at ``last``, and one behind every 1000th record on the way, so none covers more than that."""
    for step in audit.walk(tenant_id, first=frontier.size, last=last):
        if step.broken or step.form is None:
            log.error("the audit chain of tenant %s does not hold at record %d; no checkpoint", tenant_id, step.seq)
            return None
        frontier.add(step.form)
        if step.seq < last and (step.seq + 1) % EVERY_ENTRIES == 0:
            _signed(tenant_id, step.seq, frontier, now)
    return _signed(tenant_id, last, frontier, now)


def _signed(tenant_id: UUID, at_seq: int, frontier: Frontier, now: datetime) -> AuditCheckpoint | None:
    made = AuditCheckpoint(tenant_id=tenant_id, at_seq=at_seq, merkle_root=frontier.root(), created_at=now)
    made.frontier = frontier.kept()
    signature = signing.sign_bytes(signing.CHECKPOINTS, bytes.fromhex(made.merkle_root))
    made.signature, made.key_id = signature.text, signature.key_id
    try:
        with transaction.atomic():
            return made.insert(by=WRITER)
    except IntegrityError:
        return None  # another host made the checkpoint of this number first


def mint_due(*, now: datetime) -> int:
    """Every tenant's chain that has grown since its last checkpoint gets one; returns how many did.

    What fails at one tenant is logged, and the others get theirs.
    """
    chains = list(AuditChain.objects.filter(next_seq__gt=0).values_list("tenant_id", "next_seq"))
    return sum(_mint_grown(tenant_id, next_seq, now) for tenant_id, next_seq in chains)


def _mint_grown(tenant_id: UUID, next_seq: int, now: datetime) -> bool:
    try:
        found = newest(tenant_id)
        return (found is None or found.at_seq < next_seq - 1) and mint(tenant_id, now=now) is not None
    except Exception:
        log.exception("The audit chain of tenant %s got no checkpoint", tenant_id)
        return False


def statement(checkpoint: AuditCheckpoint) -> dict[str, Any]:
    """The checkpoint as it stands on the wire, without its signature, which is over the root alone (RFC 0218)."""
    return {
        "checkpoint": ids.wire("ckpt", checkpoint.id),
        "atSequence": checkpoint.at_seq,
        "merkleRoot": checkpoint.merkle_root,
    }


def is_signed(checkpoint: AuditCheckpoint) -> bool:
    """Whether this host, with its key or one it had before, signed the 32 bytes of this root."""
    try:
        root = bytes.fromhex(checkpoint.merkle_root)
    except ValueError:
        return False
    return signing.verifies_bytes(signing.CHECKPOINTS, root, checkpoint.signature, checkpoint.key_id)


def newest(tenant_id: UUID) -> AuditCheckpoint | None:
    found: AuditCheckpoint | None = _readable(tenant_id).order_by("-at_seq").first()
    return found


def _readable(tenant_id: UUID) -> Any:
    """The checkpoints without their frontiers, which nobody needs who does not read on from them."""
    return AuditCheckpoint.objects.of(tenant_id).defer("frontier")


def listed(tenant_id: UUID, *, limit: int) -> tuple[list[AuditCheckpoint], int]:
    """The newest checkpoints, the newest first, and how many there are."""
    rows = _readable(tenant_id).order_by("-at_seq")
    return list(rows[:limit]), rows.count()


def page(tenant_id: UUID, *, after: int, last: int = MOST, size: int = audit.PAGE) -> list[AuditCheckpoint]:
    """The checkpoints behind the number ``after``, up to ``last``, in their order."""
    return list(_readable(tenant_id).filter(at_seq__gt=after, at_seq__lte=last).order_by("at_seq")[:size])


def every(tenant_id: UUID, *, first: int = 0, last: int = MOST) -> Iterator[AuditCheckpoint]:
    """All checkpoints ``first`` to ``last`` in their order, page by page."""
    after = first - 1
    while found := page(tenant_id, after=after, last=last):
        yield from found
        after = found[-1].at_seq
        if len(found) < audit.PAGE:
            return
        audit.breathe()


def count(tenant_id: UUID) -> int:
    found: int = AuditCheckpoint.objects.of(tenant_id).count()
    return found


def end_of(tenant_id: UUID) -> int:
    """The newest number there is or must have been: of a record, of the head, or under a checkpoint."""
    found = newest(tenant_id)
    return max(audit.end_of(tenant_id), found.at_seq if found else -1)


def verify(tenant_id: UUID, *, first: int, last: int) -> Finding:
    """Every record ``first`` to ``last`` recomputed, and every checkpoint between them held against the records.

    Reads on from the nearest sound checkpoint before ``first``; memory grows with the breaks and checkpoints alone.
    """
    given: list[AuditCheckpoint] = []
    forged: set[int] = set()
    for each in every(tenant_id, first=first, last=last):
        given.append(each)
        forged |= set() if is_signed(each) else {each.at_seq}
    roots = {each.at_seq: each.merkle_root for each in given}
    frontier = _frontier_of(_sound_before(tenant_id, first))
    breaks: list[Break] = []
    fitting: set[int] = set()
    checked = 0
    for step in audit.walk(tenant_id, first=frontier.size, last=last):
        if step.broken and step.broken.at_seq >= first:
            breaks.append(step.broken)
        if step.form is None:
            continue
        frontier.add(step.form)
        checked += step.seq >= first
        if step.seq in roots:
            fitting |= _fit(step.seq, roots[step.seq], frontier, breaks)
    return Finding(first, last, checked, breaks, given, frozenset(forged), frozenset(roots) - fitting)


def _fit(number: int, root: str, frontier: Frontier, breaks: list[Break]) -> set[int]:
    """The number when its signed root is that of the records; a break of its own when every hash before it fits."""
    if frontier.size == number + 1 and frontier.root() == root:
        return {number}
    if not breaks:
        breaks.append(Break(number, root, frontier.root()))
    return set()


def _frontier_of(checkpoint: AuditCheckpoint | None) -> Frontier:
    return Frontier(checkpoint.at_seq + 1, checkpoint.frontier) if checkpoint else Frontier()


def _sound_before(tenant_id: UUID, number: int) -> AuditCheckpoint | None:
    """The nearest checkpoint under ``number`` that we signed and whose frontier is that of its root."""
    while some := _newest_before(tenant_id, number):
        if found := _first_sound(some):
            return found
        number = some[-1].at_seq
        audit.breathe()
    return None


def _newest_before(tenant_id: UUID, number: int) -> list[AuditCheckpoint]:
    return list(AuditCheckpoint.objects.of(tenant_id).filter(at_seq__lt=number).order_by("-at_seq")[:LOOKS])


def _first_sound(some: list[AuditCheckpoint]) -> AuditCheckpoint | None:
    return next((each for each in some if _is_sound(each)), None)


def _is_sound(checkpoint: AuditCheckpoint) -> bool:
    frontier = _frontier_of(checkpoint)
    return frontier.is_sound and frontier.root() == checkpoint.merkle_root and is_signed(checkpoint)
