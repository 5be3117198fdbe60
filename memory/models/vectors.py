"""Vectors of entries: how far those of a tenant are, and the form in which the ledger keeps and the adapter reads them.

``memory_vector`` has the vector of each entry, of length 1. ``memory_vectorsign`` has ``SIGNS`` signs of it, by which
a search finds the few vectors that it compares: the nearer two vectors are, the more of their signs agree. With
pgvector a vector is a ``halfvec`` and its signs are a row of ``bit``. Without it a vector is its numbers of two bytes,
and a row of signs is a block for numpy, of the entries among ``1 << BLOCK`` positions.
"""

from functools import cache
from hashlib import shake_256
from typing import Any

import numpy as np
from django.db import models

from memory.host import sql
from memory.host.models import TenantOwned
from memory.host.models.personal import CODE, DIGEST

Array = np.ndarray[Any, np.dtype[Any]]

SIGNS = 512
BLOCK = 10
IN_BLOCK = (1 << BLOCK) - 1
NUMBER = "<f2"
SIGNED = np.dtype([("offset", "<u2"), ("signs", "u1", (SIGNS // 8,))])


class VectorSpace(TenantOwned):
    """The vectors of a tenant: of which endpoint and model (``source``), of how many numbers, and of the entries up to
    which ``position``. One row a tenant, with the tenant's own id; none before the first and after the last vector.

    Until ``next_at`` nobody asks for more: a worker is asking, or the endpoint failed ``failures`` times in a row, for
    ``reason``.
    """

    writer = "memory.ledger"
    impersonal = {"source": DIGEST, "reason": CODE}

    source = models.CharField(max_length=64)
    dimension = models.PositiveIntegerField(default=0)
    position = models.BigIntegerField(default=-1)
    next_at = models.DateTimeField()
    failures = models.PositiveIntegerField(default=0)
    reason = models.CharField(max_length=16, default="", blank=True)


@cache
def has_pgvector() -> bool:
    """Whether the tables of vectors were made with pgvector; a process has one database for as long as it lives."""
    return sql.is_postgres() and sql.column_type("memory_vectorsign", "signs") == "bit"


def signs_of(vectors: Array) -> Array:
    """``SIGNS`` bits of each row, packed: of its coordinates after a rotation that is the same on every host.

    The signs of the coordinates themselves would say little where many are 0 or all are positive.
    """
    width = max(SIGNS, 1 << (vectors.shape[1] - 1).bit_length())
    rotated = np.zeros((len(vectors), width), np.float32)
    rotated[:, : vectors.shape[1]] = vectors
    rotated *= _flips(width)
    half = 1
    while half < width:  # the Walsh-Hadamard transform
        pairs = rotated.reshape(len(vectors), -1, 2, half)
        rotated = np.stack((pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]), axis=2)
        half *= 2
    packed: Array = np.packbits(rotated.reshape(len(vectors), width)[:, :SIGNS] > 0, axis=1)
    return packed


@cache
def _flips(width: int) -> Array:
    bits = np.unpackbits(np.frombuffer(shake_256(b"signs of vectors").digest(width // 8), np.uint8))
    return 1 - 2 * bits.astype(np.float32)
