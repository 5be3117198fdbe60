"""Standing commitments: inferred from what runs write, armed, put off, cancelled, fired, stale (RFC 0068 C).

Created and cancelled are records of this console; the wire knows ``commitment.fired`` alone. Who fires them is
``openwop_console.runtime.commitment_firing``, because a firing may start a run.
"""

from memory.commitments.due import Claim, abandon, claim, due_commitments, record_ended_runs, review_open, settle
from memory.commitments.inference import due_tenants, read_next
from memory.commitments.lifecycle import (
    LEASE,
    OPEN,
    Shown,
    Wanted,
    arm,
    can_become,
    cancel,
    count_by_state,
    dismiss,
    export_commitments,
    find,
    find_many,
    firings_of,
    lease_watch,
    list_possible,
    page,
    release_watch,
    remove,
    sentences,
    snooze,
)

__all__ = [
    "LEASE",
    "OPEN",
    "Claim",
    "Shown",
    "Wanted",
    "abandon",
    "arm",
    "can_become",
    "cancel",
    "claim",
    "count_by_state",
    "dismiss",
    "due_commitments",
    "due_tenants",
    "export_commitments",
    "find",
    "find_many",
    "firings_of",
    "lease_watch",
    "list_possible",
    "page",
    "read_next",
    "record_ended_runs",
    "release_watch",
    "remove",
    "review_open",
    "sentences",
    "settle",
    "snooze",
]
