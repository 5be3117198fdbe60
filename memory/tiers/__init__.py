"""Who may touch working, episodic and semantic memory (RFC-0015 2, 6.4, 9.1; R20 to R43, R71). One place for all doors.

A permission of the credential is needed and the rule of the tier: neither is enough (RFC-0015 6.4). Each rule is one
condition on addresses: a list is filtered by it, and an entry is asked about with the same.
"""

from memory.tiers.asking import may_read, may_write, require_create, require_read, require_write
from memory.tiers.callers import READ, WRITE, Caller
from memory.tiers.reading import visible
from memory.tiers.writing import has_voice_in, writable

__all__ = [
    "READ",
    "WRITE",
    "Caller",
    "has_voice_in",
    "may_read",
    "may_write",
    "require_create",
    "require_read",
    "require_write",
    "visible",
    "writable",
]
