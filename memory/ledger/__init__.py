"""The write: every insert, change and removal of memory. It redacts, and appends the fact (SR-1, RFC 0057).

Nobody can skip the redaction: the ledger asks the harness itself. An entry, its tags, its place in the ledger and its
``memory.written`` commit together or not at all.
"""

from memory.ledger.addressed import (
    Given,
    New,
    find_at,
    find_at_any,
    import_addressed,
    kept_addresses,
    locked,
    locked_all,
    rewrite,
    rewrite_all,
    touch,
    without_taken_keys,
    write_addressed,
)
from memory.ledger.bulk import Imported, known_ids, write_entries
from memory.ledger.derived import Derivation, protect, strengthen, write_derived
from memory.ledger.entries import (
    Written,
    require_durable,
    require_writable,
    reseal,
    value_if_whole,
    value_of,
    write_entry,
)
from memory.ledger.erase import (
    ephemeral_rows,
    erase_names,
    erase_reasons,
    expired_rows,
    last_erased,
    mark_erased,
    merged_away_rows,
    remove_entries,
    removed_since,
)
from memory.ledger.index import behind, catch_up
from memory.ledger.origins import Stated, import_drafts, write_stated
from memory.ledger.retirement import (
    Hidden,
    hide_entries,
    restore_entries,
    restore_entry,
    retire_entry,
    unhide_entries,
)
from memory.ledger.rows import hold, position
from memory.ledger.vectors import (
    begin_vectors,
    claim_vectors,
    drop_vectors,
    postpone_vectors,
    store_vectors,
    tenants_with_vectors,
    vector_space,
)

__all__ = [
    "Derivation",
    "Given",
    "Hidden",
    "Imported",
    "New",
    "Stated",
    "Written",
    "begin_vectors",
    "behind",
    "catch_up",
    "claim_vectors",
    "drop_vectors",
    "ephemeral_rows",
    "erase_names",
    "erase_reasons",
    "expired_rows",
    "find_at",
    "find_at_any",
    "hide_entries",
    "hold",
    "import_addressed",
    "import_drafts",
    "kept_addresses",
    "known_ids",
    "last_erased",
    "locked",
    "locked_all",
    "mark_erased",
    "merged_away_rows",
    "position",
    "postpone_vectors",
    "protect",
    "remove_entries",
    "removed_since",
    "require_durable",
    "require_writable",
    "reseal",
    "restore_entries",
    "restore_entry",
    "retire_entry",
    "rewrite",
    "rewrite_all",
    "store_vectors",
    "strengthen",
    "tenants_with_vectors",
    "touch",
    "unhide_entries",
    "value_if_whole",
    "value_of",
    "vector_space",
    "without_taken_keys",
    "write_addressed",
    "write_derived",
    "write_entries",
    "write_entry",
    "write_stated",
]
