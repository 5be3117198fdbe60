"""Standing commitments: inferred from what runs write, armed, put off, cancelled, fired, stale (RFC 0068 C).

Created and cancelled are records of this console; the wire knows ``commitment.fired`` alone. Who fires them is
``openwop_console.runtime.timed.commitments``, because a firing may start a run.
"""

from memory.commitments.firing import Claim, claim, due, give_up, review_open, runs_ended, settle
from memory.commitments.inference import Look, read_on, wanting_a_look
from memory.commitments.rows import (
    LEASE,
    LIVING,
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
    page,
    possible,
    release,
    remove,
    sentences,
    snooze,
    take,
)

__all__ = [
    "LEASE",
    "LIVING",
    "OPEN",
    "Claim",
    "Look",
    "Shown",
    "Wanted",
    "arm",
    "can_become",
    "cancel",
    "claim",
    "count_by_state",
    "dismiss",
    "due",
    "export_commitments",
    "find",
    "find_many",
    "firings_of",
    "give_up",
    "page",
    "possible",
    "read_on",
    "release",
    "remove",
    "review_open",
    "runs_ended",
    "sentences",
    "settle",
    "snooze",
    "take",
    "wanting_a_look",
]
