"""Standing commitments: inferred from what runs write, armed, put off, cancelled, fired, stale (RFC 0068 C).

Created and cancelled are records of this console; the wire knows ``commitment.fired`` alone. Who fires them is
``openwop_console.runtime.commitment_firing``, because a firing may start a run.
"""

from memory.commitments import due, inference, lifecycle

__all__ = ["due", "inference", "lifecycle"]
