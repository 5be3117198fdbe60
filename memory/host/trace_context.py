"""W3C Trace Context: the external trace that a request belongs to, from its ``traceparent`` header."""

import hashlib
import re
from uuid import UUID

HEADER = "traceparent"
LENGTH = 55
# Version, trace, parent and flags; a trace or parent of zeros, and the version ff, are invalid.
TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def is_traceparent(value: object) -> bool:
    return isinstance(value, str) and TRACEPARENT.fullmatch(value) is not None


def accepted(header: object) -> str:
    """Return the header's value; empty when it is absent or malformed, which W3C requires to be ignored."""
    return str(header) if is_traceparent(header) else ""


def span_id(run_id: UUID, node_id: str = "") -> int:
    """Return the span id of a run, or of one of its nodes."""
    return int.from_bytes(hashlib.sha256(run_id.bytes + node_id.encode()).digest()[:8]) or 1


def within_node(traceparent: str, run_id: UUID, node_id: str) -> str:
    """Return the run's trace as one of its nodes passes it on; empty when there is none."""
    if not traceparent:
        return ""
    version, trace, _, flags = traceparent.split("-")
    return f"{version}-{trace}-{span_id(run_id, node_id):016x}-{flags}"


def trace_id(traceparent: str) -> str:
    """Return the trace's own id; empty when there is no trace."""
    return traceparent.split("-")[1] if traceparent else ""
