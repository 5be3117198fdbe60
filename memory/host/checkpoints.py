"""Checkpoints of the audit chain: its Merkle root up to a number, signed; and the verification that uses them.

One is made behind every 1000th record, and every five minutes when something was added. A chain that does not hold
gets none, so a checkpoint never covers what was tampered with before it. The number is unique: hosts that make one at
once make it once.
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
    """Behind every 1000th record the chain is checkpointed, in the transaction that appends it."""
    if (record.seq + 1) % EVERY_ENTRIES == 0:
        mint(record.tenant_id, now=now)


def mint(tenant_id: UUID, *, now: datetime) -> AuditCheckpoint | None:
    """The chain up to its newest record is under a checkpoint; None when it is already, or does not hold."""
    last = audit.end_of(tenant_id)
    before = _sound_before(tenant_id, last + 1)
    frontier = _frontier_of(before)
    if frontier.size > last:
        return None
    for step in audit.walk(tenant_id, first=frontier.size, last=last):
        if step.broken or step.form is None:
            log.error("the audit chain of tenant %s does not hold at record %d; no checkpoint", tenant_id, step.seq)
            return None
        frontier.add(step.form)
    return _signed(tenant_id, last, frontier, now)


def _signed(tenant_id: UUID, at_seq: int, frontier: Frontier, now: datetime) -> AuditCheckpoint | None:
    made = AuditCheckpoint(tenant_id=tenant_id, at_seq=at_seq, merkle_root=frontier.root(), created_at=now)
    made.frontier = frontier.kept()
    signature = signing.sign(signing.CHECKPOINTS, statement(made))
    made.signature, made.key_id = signature.text, signature.key_id
    try:
        with transaction.atomic():
            return made.insert(by=WRITER)
    except IntegrityError:
        return None  # another host made the checkpoint of this number first


def mint_due(*, now: datetime) -> int:
    """Every tenant's chain that has grown since its last checkpoint gets one; returns how many did."""
    return sum(mint(tenant_id, now=now) is not None for tenant_id in _grown())


def _grown() -> Iterator[UUID]:
    for tenant_id, next_seq in list(AuditChain.objects.values_list("tenant_id", "next_seq")):
        found = newest(tenant_id)
        if next_seq and (found is None or found.at_seq < next_seq - 1):
            yield tenant_id


def statement(checkpoint: AuditCheckpoint) -> dict[str, Any]:
    """What is signed: the checkpoint as it stands on the wire, without its signature."""
    return {
        "checkpoint": ids.wire("ckpt", checkpoint.id),
        "atSequence": checkpoint.at_seq,
        "merkleRoot": checkpoint.merkle_root,
    }


def is_signed(checkpoint: AuditCheckpoint) -> bool:
    """Whether this host, with its key or one it had before, signed exactly this."""
    return signing.verifies(signing.CHECKPOINTS, statement(checkpoint), checkpoint.signature, checkpoint.key_id)


def newest(tenant_id: UUID) -> AuditCheckpoint | None:
    found: AuditCheckpoint | None = AuditCheckpoint.objects.of(tenant_id).order_by("-at_seq").first()
    return found


def listed(tenant_id: UUID, *, limit: int) -> tuple[list[AuditCheckpoint], int]:
    """The newest checkpoints, the newest first, and how many there are."""
    rows = AuditCheckpoint.objects.of(tenant_id).order_by("-at_seq")
    return list(rows[:limit]), rows.count()


def every(tenant_id: UUID) -> Iterator[AuditCheckpoint]:
    """All checkpoints in their order, for a file."""
    yield from AuditCheckpoint.objects.of(tenant_id).order_by("at_seq").iterator(chunk_size=1000)


def end_of(tenant_id: UUID) -> int:
    """The newest number there is or must have been: of a record, of the head, or under a checkpoint."""
    found = newest(tenant_id)
    return max(audit.end_of(tenant_id), found.at_seq if found else -1)


def verify(tenant_id: UUID, *, first: int, last: int) -> Finding:
    """Every record ``first`` to ``last`` recomputed, and every checkpoint between them held against the records.

    Reads on from the nearest sound checkpoint before ``first``; memory grows with the breaks and checkpoints alone.
    """
    given = list(AuditCheckpoint.objects.of(tenant_id).filter(at_seq__gte=first, at_seq__lte=last).order_by("at_seq"))
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
    forged = frozenset(each.at_seq for each in given if not is_signed(each))
    return Finding(first, last, checked, breaks, given, forged, frozenset(roots) - fitting)


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
    rows = AuditCheckpoint.objects.of(tenant_id).filter(at_seq__lt=number).order_by("-at_seq")
    return next((each for each in rows.iterator(chunk_size=20) if _is_sound(each)), None)


def _is_sound(checkpoint: AuditCheckpoint) -> bool:
    frontier = _frontier_of(checkpoint)
    return frontier.is_sound and frontier.root() == checkpoint.merkle_root and is_signed(checkpoint)
