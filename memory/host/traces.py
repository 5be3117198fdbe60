"""W3C Trace Context: the trace of somebody else that a request belongs to, as its ``traceparent`` header states it."""

import hashlib
import re
from uuid import UUID

HEADER = "traceparent"
LENGTH = 55
# Version, trace, parent and flags; a trace or a parent of zeros, and the version ff, are none.
TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def is_traceparent(value: object) -> bool:
    return isinstance(value, str) and TRACEPARENT.fullmatch(value) is not None


def accepted(header: object) -> str:
    """The value of the header; empty when there is none, or one that is malformed, which W3C has ignored."""
    return str(header) if is_traceparent(header) else ""


def span_id(run_id: UUID, node_id: str = "") -> int:
    """The id of the span of a run, or of a node of it."""
    return int.from_bytes(hashlib.sha256(run_id.bytes + node_id.encode()).digest()[:8]) or 1


def within_node(traceparent: str, run_id: UUID, node_id: str) -> str:
    """The trace that a run continues, as a node of it passes it on; empty when there is none."""
    if not traceparent:
        return ""
    version, trace, _, flags = traceparent.split("-")
    return f"{version}-{trace}-{span_id(run_id, node_id):016x}-{flags}"


def trace_id(traceparent: str) -> str:
    """The trace's own id; empty when there is no trace."""
    return traceparent.split("-")[1] if traceparent else ""
