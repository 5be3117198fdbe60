"""The vectors of entries: stored once an endpoint has made them, and removed with their entry.

Lock order: the entries, then the tenant's ``VectorSpace``. Storing locks the entries first, so that nothing is stored
for one that is removed or rewritten meanwhile; removal has them locked already.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from memory.host import sql
from memory.host.expiry import SKEW
from memory.ledger.head import WRITER
from memory.models.vector_signs import BLOCK, IN_BLOCK, NUMBER, SIGNED, SIGNS, Array, signs_of
from memory.models.vectors import VectorSpace, has_pgvector

# For how long who asks an endpoint keeps others from asking for the same; a worker that died is succeeded then.
CLAIM = timedelta(minutes=3)
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=30), timedelta(hours=1)
DROPPED_AT_ONCE = 2_000

THERE = "SELECT position FROM memory_memoryentry WHERE tenant_id = %s AND NOT sealed AND {} ORDER BY position{}"
ADD_VECTOR = "INSERT INTO memory_vector (tenant_id, position, vector) "
ADD_SIGNS = "INSERT INTO memory_vectorsign (tenant_id, block, signs) "
ROWS = "SELECT %s, place, said::{} FROM unnest(%s::bigint[], %s::text[]) AS given (place, said)"
SIGNS_OF = "SELECT block, signs FROM memory_vectorsign WHERE tenant_id = %s AND {}"
REPLACE = "UPDATE memory_vectorsign SET signs = %s WHERE tenant_id = %s AND block = %s"
DROP_VECTORS = "DELETE FROM memory_vector WHERE tenant_id = %s AND {}"
DROP_SIGNS = "DELETE FROM memory_vectorsign WHERE tenant_id = %s AND {}"
FIRST = "SELECT position FROM memory_vector WHERE tenant_id = %s ORDER BY position LIMIT %s"


def vector_space(tenant_id: UUID) -> VectorSpace | None:
    """How far the tenant's vectors are; None when it has none."""
    found: VectorSpace | None = VectorSpace.objects.of(tenant_id).first()
    return found


def tenants_with_vectors() -> list[UUID]:
    return list(VectorSpace.objects.order_by("tenant_id").values_list("tenant_id", flat=True))


@transaction.atomic
def begin_vectors(tenant_id: UUID, source: str, *, now: datetime) -> None:
    """Create the tenant's space for vectors of ``source``, empty."""
    VectorSpace.objects.written_by(WRITER).filter(tenant_id=tenant_id).delete()
    VectorSpace(tenant_id=tenant_id, id=tenant_id, source=source, next_at=now).insert(by=WRITER)


@transaction.atomic
def drop_vectors(tenant_id: UUID) -> bool:
    """Delete up to ``DROPPED_AT_ONCE`` vectors of the tenant, and with the last of them the space; whether it
    is gone."""
    if not _lock(tenant_id):
        return True
    first = [position for (position,) in sql.rows(FIRST, [sql.key(tenant_id), DROPPED_AT_ONCE])]
    _cut_out(tenant_id, first)
    if len(first) == DROPPED_AT_ONCE:
        return False
    VectorSpace.objects.written_by(WRITER).filter(tenant_id=tenant_id).delete()
    return True


def claim_vectors(space: VectorSpace, *, now: datetime) -> bool:
    """Whether this caller may request the vectors after the space's position for the next ``CLAIM``."""
    rows = VectorSpace.objects.written_by(WRITER).filter(tenant_id=space.tenant_id, source=space.source)
    return bool(rows.filter(position=space.position, next_at__lte=now).update(next_at=now + CLAIM))


def correct_vectors(*, now: datetime) -> int:
    """Bring forward the requests that wait for longer than any, put off while a clock was ahead; return how many."""
    rows = VectorSpace.objects.written_by(WRITER).filter(next_at__gt=now + LONGEST_PAUSE + SKEW)
    return rows.update(next_at=now)


def postpone_vectors(space: VectorSpace, reason: str, *, now: datetime) -> None:
    """The endpoint failed for ``reason``: the next request is later, and the later the more often it failed."""
    pause = min(FIRST_PAUSE * 2 ** min(space.failures, 10), LONGEST_PAUSE)
    rows = VectorSpace.objects.written_by(WRITER).filter(tenant_id=space.tenant_id, source=space.source)
    rows.update(failures=space.failures + 1, reason=reason, next_at=now + pause)


@transaction.atomic
def store_vectors(space: VectorSpace, vectors: Mapping[int, Array], *, last: int, now: datetime) -> bool:
    """Store the vectors of the entries at these positions, where the entries are unchanged, and move the space to
    ``last``. False, and nothing stored, when the space has moved meanwhile."""
    tenant_id = space.tenant_id
    condition, given = sql.among("position", list(vectors))
    shared = " FOR SHARE" if sql.is_postgres() else ""
    there = [row[0] for row in sql.rows(THERE.format(condition, shared), [sql.key(tenant_id), given])]
    rows = VectorSpace.objects.written_by(WRITER).filter(tenant_id=tenant_id, source=space.source)
    dimension = space.dimension or max((each.size for each in vectors.values()), default=0)
    moved = rows.filter(position=space.position).update(
        position=last, dimension=dimension, failures=0, reason="", next_at=now
    )
    if moved and there:
        _put_in(tenant_id, there, np.stack([vectors[position] for position in there]))
    return bool(moved)


def remove_vectors(tenant_id: UUID, positions: Sequence[int]) -> None:
    """Delete the vectors of the entries at these positions."""
    if _lock(tenant_id):
        _cut_out(tenant_id, positions)


def _lock(tenant_id: UUID) -> bool:
    """Whether the tenant has a space; locks it until the commit."""
    return bool(list(VectorSpace.objects.of(tenant_id).select_for_update().values_list("id")))


def _put_in(tenant_id: UUID, positions: Sequence[int], vectors: Array) -> None:
    tenant, signs = sql.key(tenant_id), signs_of(vectors)
    with connection.cursor() as cursor:
        if has_pgvector():
            texts = [f"[{','.join(map(repr, each.tolist()))}]" for each in vectors]
            bits = ["".join(map(str, row)) for row in np.unpackbits(signs, axis=1).tolist()]
            for statement, kind, values in ((ADD_VECTOR, "halfvec", texts), (ADD_SIGNS, f"bit({SIGNS})", bits)):
                cursor.execute(statement + ROWS.format(kind), [tenant, list(positions), values])
            return
        numbers = vectors.astype(NUMBER)
        rows = [(tenant, position, each.tobytes()) for position, each in zip(positions, numbers, strict=True)]
        cursor.executemany(f"{ADD_VECTOR} VALUES (%s, %s, %s)", rows)
        _append(cursor, tenant, np.array(positions), signs)


def _append(cursor: CursorWrapper, tenant: UUID | str | None, positions: Array, signs: Array) -> None:
    """The signs stand at the end of their blocks."""
    found = np.zeros(len(positions), SIGNED)
    found["offset"], found["signs"] = positions & IN_BLOCK, signs
    joined = "memory_vectorsign.signs || excluded.signs"  # of which SQLite makes a text with the same bytes
    joined = joined if sql.is_postgres() else f"CAST({joined} AS BLOB)"
    statement = f"{ADD_SIGNS} VALUES (%s, %s, %s) ON CONFLICT (tenant_id, block) DO UPDATE SET signs = {joined}"
    blocks = positions >> BLOCK
    cursor.executemany(
        statement, [(tenant, block, found[blocks == block].tobytes()) for block in np.unique(blocks).tolist()]
    )


def _cut_out(tenant_id: UUID, positions: Sequence[int]) -> None:
    tenant = sql.key(tenant_id)
    with connection.cursor() as cursor:
        condition, given = sql.among("position", list(positions))
        cursor.execute(DROP_VECTORS.format(condition), [tenant, given])
        if has_pgvector():  # where each entry is a block
            condition, given = sql.among("block", list(positions))
            cursor.execute(DROP_SIGNS.format(condition), [tenant, given])
            return
        offsets: dict[int, list[int]] = defaultdict(list)
        for position in positions:
            offsets[position >> BLOCK].append(position & IN_BLOCK)
        condition, given = sql.among("block", list(offsets))
        cursor.execute(SIGNS_OF.format(condition), [tenant, given])
        for block, stored in cursor.fetchall():
            found = np.frombuffer(stored, SIGNED)
            left = found[~np.isin(found["offset"], offsets[block])]
            if left.size:
                cursor.execute(REPLACE, [left.tobytes(), tenant, block])
            else:
                cursor.execute(DROP_SIGNS.format("block = %s"), [tenant, block])
