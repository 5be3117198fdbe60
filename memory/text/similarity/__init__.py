"""Which statements say the same, and which newer one replaces an older one. Deterministic."""

from memory.text.similarity.likeness import likeness
from memory.text.similarity.reading import (
    Ids,
    Reading,
    Signatures,
    Statement,
    comparable,
    owners,
    packed,
    same_owner,
    unpacked,
)
from memory.text.similarity.reconciling import METHOD, Merge, Reconciliation, Supersession, reconcile, resolved

__all__ = [
    "METHOD",
    "Ids",
    "Merge",
    "Reading",
    "Reconciliation",
    "Signatures",
    "Statement",
    "Supersession",
    "comparable",
    "likeness",
    "owners",
    "packed",
    "reconcile",
    "resolved",
    "same_owner",
    "unpacked",
]
