"""A proposal's life: created, revised, asked to apply, decided about, applied, rejected, archived. Only here.

Every step asks ``rules`` under the lock of the proposal, and commits with its audit record. What a principal may never
do is refused before that, with the denial on record.
"""

from proposals.lifecycle.activating import Activation, ask_to_apply, decide, expire, install_granted, withdraw
from proposals.lifecycle.drafting import create, revise
from proposals.lifecycle.ending import MOST_AT_ONCE, archive, end_many, forget, reject
from proposals.lifecycle.rows import WRITER

__all__ = [
    "MOST_AT_ONCE",
    "WRITER",
    "Activation",
    "archive",
    "ask_to_apply",
    "create",
    "decide",
    "end_many",
    "expire",
    "forget",
    "install_granted",
    "reject",
    "revise",
    "withdraw",
]
