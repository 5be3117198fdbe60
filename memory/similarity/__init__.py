"""Which statements say the same, and which newer one replaces an older one. Pure: no database, no Django, no chance."""

from memory.similarity.reading import Reading, Statement
from memory.similarity.reconciling import METHOD, Merge, Reconciliation, Supersession, reconcile, resolved
from memory.similarity.signatures import Ids, Signatures, comparable, packed, unpacked

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
    "packed",
    "reconcile",
    "resolved",
    "unpacked",
]
