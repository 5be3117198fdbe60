"""The write: every insert, change and removal of memory. It redacts, and appends the fact (SR-1, RFC 0057).

Nobody can skip the redaction: the ledger asks the harness itself. An entry, its tags, its place in the ledger and its
``memory.written`` commit together or not at all.
"""

from memory.ledger.addressing import (
    locked,
    locked_all,
    touch,
)
from memory.ledger.deriving import Derivation, protect, strengthen, write_derived
from memory.ledger.erasing import erase_names, erase_reasons, last_erased, mark_erased, removed_since
from memory.ledger.finding import at, held_at
from memory.ledger.giving import Given, kept_addresses
from memory.ledger.hiding import Hidden, hide, restore, retire
from memory.ledger.indexing import behind, catch_up
from memory.ledger.removing import ephemeral_rows, expired_rows, merged_away_rows, remove
from memory.ledger.returning import give_back
from memory.ledger.rows import CHUNK, hold, position
from memory.ledger.sealing import reseal, value_if_whole, value_of
from memory.ledger.storing import New, rewrite, rewrite_all, write_addressed
from memory.ledger.writing import Written, require_durable, require_writable, write_entry

__all__ = [
    "CHUNK",
    "Derivation",
    "Given",
    "Hidden",
    "New",
    "Written",
    "at",
    "behind",
    "catch_up",
    "ephemeral_rows",
    "erase_names",
    "erase_reasons",
    "expired_rows",
    "give_back",
    "held_at",
    "hide",
    "hold",
    "kept_addresses",
    "last_erased",
    "locked",
    "locked_all",
    "mark_erased",
    "merged_away_rows",
    "position",
    "protect",
    "remove",
    "removed_since",
    "require_durable",
    "require_writable",
    "reseal",
    "restore",
    "retire",
    "rewrite",
    "rewrite_all",
    "strengthen",
    "touch",
    "value_if_whole",
    "value_of",
    "write_addressed",
    "write_derived",
    "write_entry",
]
