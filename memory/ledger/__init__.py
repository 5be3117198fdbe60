"""The write: every insert, change and removal of memory. It redacts, and appends the fact (SR-1, RFC 0057).

Nobody can skip the redaction: the ledger asks the harness itself. An entry, its tags, its place in the ledger and its
``memory.written`` commit together or not at all.
"""

from memory.ledger.addressed import (
    Given,
    New,
    at,
    held_at,
    kept_addresses,
    locked,
    locked_all,
    rewrite,
    rewrite_all,
    touch,
    write_addressed,
)
from memory.ledger.derived import Derivation, protect, strengthen, write_derived
from memory.ledger.entries import Written, require_durable, require_writable, write_entry
from memory.ledger.erase import (
    ephemeral_rows,
    erase_names,
    erase_reasons,
    expired_rows,
    last_erased,
    mark_erased,
    merged_away_rows,
    remove,
    removed_since,
)
from memory.ledger.index import behind, catch_up
from memory.ledger.retirement import Hidden, give_back, hide, restore, retire
from memory.ledger.rows import hold, position
from memory.ledger.sealing import reseal, value_if_whole, value_of

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
