"""The inbox: lists of proposals with their filters and counts. Reads only; one proposal by itself is in ``review``.

The number of queries is the same however long a list is, and every list says how many there are in all.
"""

from proposals.inbox.counting import LISTED, Counts, counts
from proposals.inbox.filters import (
    AGES,
    ALL,
    DUPLICATES,
    MINE,
    NEEDS_ME,
    NOBODY,
    SHOWS,
    InboxFilter,
    awaiting_vote,
    changes_requested,
    drafts,
    ids_matching,
)
from proposals.inbox.rows import InboxPage, Listing, Row, chosen, every, listed, listing, page
from proposals.inbox.standing import STANDINGS

__all__ = [
    "AGES",
    "ALL",
    "DUPLICATES",
    "LISTED",
    "MINE",
    "NEEDS_ME",
    "NOBODY",
    "SHOWS",
    "STANDINGS",
    "Counts",
    "InboxFilter",
    "InboxPage",
    "Listing",
    "Row",
    "awaiting_vote",
    "changes_requested",
    "chosen",
    "counts",
    "drafts",
    "every",
    "ids_matching",
    "listed",
    "listing",
    "page",
]
