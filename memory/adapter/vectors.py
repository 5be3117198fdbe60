"""The entries of a tenant whose vectors are nearest to one: what a question may mean, in whatever words.

The signs of all vectors are compared first, then the vectors of the ``CANDIDATES`` whose signs agree most. A search
reads a few megabytes of a hundred thousand vectors, in parts, and keeps nothing.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import numpy as np
import orjson

from memory.host import sql
from memory.models.vector_signs import BLOCK, IN_BLOCK, NUMBER, SIGNED, SIGNS, Array, signs_of
from memory.models.vectors import has_pgvector

CANDIDATES = 500
# How like a question an entry must be at least: the cosine, which is near 0 for two that have nothing to do with one
# another in most models.
LEAST = 0.2
# By so many of the newest vectors the adapter estimates how near entries are that have nothing to do with one another.
SAMPLE = 256
READ_AT_ONCE = 64

BEHIND = (
    "SELECT position, content, sealed FROM memory_memoryentry WHERE tenant_id = %s AND position > %s "
    "ORDER BY position LIMIT %s"
)
BLOCKS = "SELECT block, signs FROM memory_vectorsign WHERE tenant_id = %s AND {} ORDER BY block LIMIT %s"
VECTORS = "SELECT position, vector{} FROM memory_vector WHERE tenant_id = %s AND {}"
NEWEST = "SELECT position, vector{} FROM memory_vector WHERE tenant_id = %s ORDER BY position DESC LIMIT %s"
NEAREST_SIGNS = (
    "SELECT block FROM memory_vectorsign WHERE tenant_id = %s{} ORDER BY signs <~> %s::bit({}), block DESC LIMIT %s"
)
NEAREST = (
    "SELECT position FROM (SELECT position, vector <=> %s::halfvec AS distance FROM memory_vector WHERE tenant_id = %s "
    "AND {}) AS compared WHERE distance <= %s ORDER BY distance, position DESC LIMIT %s"
)


def texts_after(tenant_id: UUID, position: int, most: int) -> list[tuple[int, str]]:
    """The next entries after a position, with their texts; "" for a sealed one."""
    found = sql.rows(BEHIND, [sql.key(tenant_id), position, most])
    return [(each, "" if sealed else content) for each, content, sealed in found]


def nearest(tenant_id: UUID, vector: Array, *, most: int, among: Sequence[int] | None = None) -> list[int]:
    """The positions of up to ``most`` entries, nearest first; only ``among`` some where they are given."""
    if has_pgvector():
        return _nearest_by_pgvector(tenant_id, vector, most, among)
    candidates = list(among) if among is not None else None
    if candidates is None or len(candidates) > CANDIDATES:
        candidates = _by_signs(tenant_id, signs_of(vector[None])[0], candidates)
    found = vectors_of(tenant_id, candidates)
    if not found:
        return []
    positions = np.array(list(found))
    likeness = np.stack(list(found.values())) @ vector
    order = np.lexsort((-positions, -likeness))[:most]
    return [int(position) for position in positions[order[likeness[order] >= LEAST]]]


def vectors_of(tenant_id: UUID, positions: Sequence[int]) -> dict[int, Array]:
    """The vectors (float32, of length 1) of the entries at these positions that have one."""
    condition, given = sql.among("position", list(positions))
    return _read(VECTORS, condition, [sql.key(tenant_id), given])


def usual_nearness(tenant_id: UUID) -> float:
    """The mean cosine of two of the tenant's newest entries, from 0 to below 1: models differ in what they give two
    texts that have nothing to do with one another, and ledgers in what they are about."""
    sample = list(_read(NEWEST, "", [sql.key(tenant_id), SAMPLE]).values())
    if len(sample) < 2:
        return 0.0
    pairs = float(np.square(np.sum(sample, axis=0)).sum()) - len(sample)
    return min(max(pairs / (len(sample) * (len(sample) - 1)), 0.0), 0.99)


def _read(statement: str, condition: str, given: list[Any]) -> dict[int, Array]:
    if has_pgvector():
        found = sql.rows(statement.format("::text", condition), given)
        return {position: np.array(orjson.loads(text), np.float32) for position, text in found}
    found = sql.rows(statement.format("", condition), given)
    return {position: np.frombuffer(raw, NUMBER).astype(np.float32) for position, raw in found}


def _by_signs(tenant_id: UUID, signs: Array, among: list[int] | None) -> list[int]:
    """The candidates, read block by block: at most ``READ_AT_ONCE`` blocks are in memory at a time."""
    wanted = None if among is None else np.array(among)
    blocks = None if wanted is None else np.unique(wanted >> BLOCK).tolist()
    best, after = np.empty((0, 2), np.int64), -1
    while True:
        condition, given = ("block > %s", after) if blocks is None else sql.among("block", blocks[:READ_AT_ONCE])
        found = sql.rows(BLOCKS.format(condition), [sql.key(tenant_id), given, READ_AT_ONCE])
        if found:
            near = _compared(found, signs)
            near = near if wanted is None else near[np.isin(near[:, 1], wanted)]
            best = np.concatenate((best, near))
            if len(best) > CANDIDATES:
                best = best[np.lexsort((-best[:, 1], best[:, 0]))[:CANDIDATES]]
        if blocks is None:
            if len(found) < READ_AT_ONCE:
                break
            after = found[-1][0]
        else:
            blocks = blocks[READ_AT_ONCE:]
            if not blocks:
                break
    return [int(position) for position in best[:, 1]]


def _compared(blocks: list[tuple[int, bytes]], signs: Array) -> Array:
    """How many signs of each entry differ, with its position."""
    found = np.frombuffer(b"".join(part for _, part in blocks), SIGNED)
    bases = np.repeat([block << BLOCK for block, _ in blocks], [len(part) // SIGNED.itemsize for _, part in blocks])
    theirs = np.ascontiguousarray(found["signs"]).view(np.uint64)
    differ = np.bitwise_count(theirs ^ signs.view(np.uint64)).sum(axis=1, dtype=np.int64)
    positions = bases.astype(np.int64) + (found["offset"] & IN_BLOCK)
    return np.stack((differ, positions), axis=1)


def _nearest_by_pgvector(tenant_id: UUID, vector: Array, most: int, among: Sequence[int] | None) -> list[int]:
    tenant = sql.key(tenant_id)
    candidates = None if among is None else list(among)
    if candidates is None or len(candidates) > CANDIDATES:
        bits = "".join(map(str, np.unpackbits(signs_of(vector[None])[0]).tolist()))
        chosen, given = ("", []) if candidates is None else (" AND block = ANY(%s)", [candidates])
        statement = NEAREST_SIGNS.format(chosen, SIGNS)
        candidates = [block for (block,) in sql.rows(statement, [tenant, *given, bits, CANDIDATES])]
    condition, keys = sql.among("position", candidates)
    text = f"[{','.join(map(repr, vector.tolist()))}]"
    found = sql.rows(NEAREST.format(condition), [text, tenant, keys, 1 - LEAST, most])
    return [position for (position,) in found]
