"""Consolidation (RFC 0068): what says the same becomes one, what a newer value replaces rests, and nothing is lost.

A pass goes over one ref, in short transactions. What it takes away can be restored for a while, and lineage says what
became of it. A second pass over the same entries finds nothing to do.
"""

from memory.consolidation.carrying_out import KIND, carry_out, checked, leave_off

__all__ = ["KIND", "carry_out", "checked", "leave_off"]
