"""The form in which the ledger keeps vectors of entries and the adapter reads them.

``memory_vector`` has the vector of each entry, of length 1. ``memory_vectorsign`` has ``SIGNS`` signs of it, by which
a search finds the few vectors that it compares: the nearer two vectors are, the more of their signs agree. With
pgvector a vector is a ``halfvec`` and its signs are a row of ``bit``. Without it a vector is its numbers of two bytes,
and a row of signs is a block for numpy, of the entries among ``1 << BLOCK`` positions.
"""

from functools import cache
from hashlib import shake_256
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

SIGNS = 512
BLOCK = 10
IN_BLOCK = (1 << BLOCK) - 1
NUMBER = "<f2"
SIGNED = np.dtype([("offset", "<u2"), ("signs", "u1", (SIGNS // 8,))])


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
