"""How far each ref is consolidated, and the signatures of its entries. The only writer of ``Reconciled``.

Chunk 0 holds figures, later chunks hold signatures. Losing them costs one full pass.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

import orjson
from django.db import transaction

from memory.models import Reconciled

WRITER = "memory.consolidation_state"
MOST_CHUNKS = 16


@dataclass(frozen=True, slots=True)
class State:
    """The result of the last pass: the number of entries and tokens, valid while the ledger is at ``head``, until
    ``until``.

    ``head`` is -1 when there were other writes during the pass. ``chunks`` counts the chunks of signatures.
    """

    method: str
    head: int
    entries: int
    tokens: int
    until: datetime | None = None
    chunks: int = 0


def state_of(tenant_id: UUID, memory_ref: str) -> State | None:
    """Return the state that the last pass stored; None when there is none, or it was dropped."""
    row: Reconciled | None = Reconciled.objects.of(tenant_id).filter(memory_ref=memory_ref, chunk=0).first()
    if row is None:
        return None
    figures = orjson.loads(bytes(row.signatures))
    until = datetime.fromisoformat(figures.pop("until")) if figures["until"] else None
    return State(**{**figures, "until": until})


def progress_of(tenant_id: UUID) -> dict[str, tuple[int, datetime]]:
    """Return, for each consolidated ref, the position up to which, and when."""
    rows = Reconciled.objects.of(tenant_id).filter(chunk=0)
    return {ref: (position, at) for ref, position, at in rows.values_list("memory_ref", "position", "changed_at")}


def compared(tenant_id: UUID, memory_ref: str) -> int:
    """Return the position up to which the entries of the ref were compared for look-alikes."""
    rows = Reconciled.objects.of(tenant_id).filter(memory_ref=memory_ref, chunk=0)
    return rows.values_list("compared", flat=True).first() or 0


def set_compared(tenant_id: UUID, memory_ref: str, position: int) -> None:
    """Store that position, if a pass has been over the ref."""
    rows = Reconciled.objects.written_by(WRITER).filter(tenant_id=tenant_id, memory_ref=memory_ref, chunk=0)
    rows.update(compared=position)


def signatures(tenant_id: UUID, memory_ref: str) -> list[bytes]:
    """The chunks of signatures, in their order."""
    rows = Reconciled.objects.of(tenant_id).filter(memory_ref=memory_ref, chunk__gt=0).order_by("chunk")
    return [bytes(stored) for stored in rows.values_list("signatures", flat=True)]


@transaction.atomic
def replace(
    tenant_id: UUID, memory_ref: str, left: State, chunks: Sequence[bytes], *, position: int, now: datetime
) -> None:
    """Store the result of a pass that read everything up to ``position``, in place of earlier ones."""
    rows = Reconciled.objects.written_by(WRITER).filter(tenant_id=tenant_id, memory_ref=memory_ref)
    rows.filter(chunk__gt=0).delete()
    _store(tenant_id, memory_ref, left, 1, chunks, position, now)


@transaction.atomic
def add(
    tenant_id: UUID, memory_ref: str, left: State, chunks: Sequence[bytes], *, position: int, now: datetime
) -> None:
    """Store the result of a pass that read what is new up to ``position``; earlier signatures stay."""
    _store(tenant_id, memory_ref, left, 1 + left.chunks, chunks, position, now)


@transaction.atomic
def drop(tenant_id: UUID, memory_refs: Collection[str]) -> int:
    """Delete the state of these refs, so that their next pass reads everything; return the number of rows."""
    rows = Reconciled.objects.written_by(WRITER).filter(tenant_id=tenant_id, memory_ref__in=list(memory_refs))
    return int(rows.delete()[0])


def _store(
    tenant_id: UUID, memory_ref: str, left: State, first: int, chunks: Sequence[bytes], position: int, now: datetime
) -> None:
    figures = {**asdict(left), "chunks": first - 1 + len(chunks)}
    contents = [(0, orjson.dumps(figures)), *enumerate(chunks, first)]
    rows = [
        Reconciled(
            tenant_id=tenant_id,
            memory_ref=memory_ref,
            chunk=number,
            position=position,
            method=left.method,
            signatures=content,
            changed_at=now,
        )
        for number, content in contents
    ]
    Reconciled.objects.written_by(WRITER).bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["tenant", "memory_ref", "chunk"],
        update_fields=["position", "method", "signatures", "changed_at"],
    )
