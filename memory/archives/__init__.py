"""Archives: what distillations made, kept as bytes that never change, and the texts that an endpoint has distilled.

An archive is withdrawn when its time is over, when a subject is forgotten that it speaks of or was made from, or when
something that it was made from becomes confidential; its bytes are gone then, its row says why for good (RFC 0062 B.4,
design.md 3.13), and the memory index forgets it.
"""

from memory.archives.finding import find, look, named, of_entry, predecessor_of, sources_of, successor_of, visible
from memory.archives.indexing import write as write_index
from memory.archives.keeping import ArchiveDraft, recall, remember, remembered, same_work, store
from memory.archives.rows import DISTILL, FORGOTTEN, INDEX, RETENTION, SEALED
from memory.archives.withdrawing import (
    all_resting_on,
    drop_distillates,
    entries_resting_on,
    forgotten,
    gc,
    redistil,
    resting_on,
    resting_on_forgotten,
    seal_made_of,
    unname,
    withdraw,
    withdraw_made_of,
)

__all__ = [
    "DISTILL",
    "FORGOTTEN",
    "INDEX",
    "RETENTION",
    "SEALED",
    "ArchiveDraft",
    "all_resting_on",
    "drop_distillates",
    "entries_resting_on",
    "find",
    "forgotten",
    "gc",
    "look",
    "named",
    "of_entry",
    "predecessor_of",
    "recall",
    "redistil",
    "remember",
    "remembered",
    "resting_on",
    "resting_on_forgotten",
    "same_work",
    "seal_made_of",
    "sources_of",
    "store",
    "successor_of",
    "unname",
    "visible",
    "withdraw",
    "withdraw_made_of",
    "write_index",
]
