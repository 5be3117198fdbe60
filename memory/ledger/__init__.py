"""The write: every insert, change and removal of memory. It redacts, and appends the fact (SR-1, RFC 0057).

Nobody can skip the redaction: the ledger asks the harness itself. An entry, its tags, its place in the ledger and its
``memory.written`` commit together or not at all.
"""

from memory.ledger.deriving import Derivation, protect, strengthen, write_derived
from memory.ledger.hiding import Hidden, hide, restore, retire
from memory.ledger.indexing import behind, catch_up
from memory.ledger.removing import ephemeral_rows, expired_rows, merged_away_rows, remove
from memory.ledger.rows import CHUNK, position
from memory.ledger.writing import Written, require_durable, require_writable, write_entry

__all__ = [
    "CHUNK",
    "Derivation",
    "Hidden",
    "Written",
    "behind",
    "catch_up",
    "ephemeral_rows",
    "expired_rows",
    "hide",
    "merged_away_rows",
    "position",
    "protect",
    "remove",
    "require_durable",
    "require_writable",
    "restore",
    "retire",
    "strengthen",
    "write_derived",
    "write_entry",
]
