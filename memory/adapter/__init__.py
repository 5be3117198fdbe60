"""The read: memory as a run sees it, as an operator does, as a forget looks for somebody, and as a pass takes it.

An expired entry never surfaces, to the millisecond, whatever has been swept.
"""

from memory.adapter.console import (
    COUNTED,
    FACETS,
    by_ids,
    entry,
    live,
    tagged,
    tombstones,
    total,
    usage_of,
    values_of,
    writes_by_day,
)
from memory.adapter.corpora import CorpusEntry, Counts, corpus, counts_of, head, refs_of, those, written_since
from memory.adapter.records import (
    DEFAULT_LIMIT,
    MAX_LIMIT,
    MemoryRecord,
    RunView,
    get_entry,
    last_position,
    list_entries,
)
from memory.adapter.subjects import mentions, samples, traces

__all__ = [
    "COUNTED",
    "DEFAULT_LIMIT",
    "FACETS",
    "MAX_LIMIT",
    "CorpusEntry",
    "Counts",
    "MemoryRecord",
    "RunView",
    "by_ids",
    "corpus",
    "counts_of",
    "entry",
    "get_entry",
    "head",
    "last_position",
    "list_entries",
    "live",
    "mentions",
    "refs_of",
    "samples",
    "tagged",
    "those",
    "tombstones",
    "total",
    "traces",
    "usage_of",
    "values_of",
    "writes_by_day",
    "written_since",
]
