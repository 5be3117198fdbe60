"""W3C Trace Context: the trace of somebody else that a request belongs to, as its ``traceparent`` header states it."""

import re

HEADER = "traceparent"
LENGTH = 55
# Version, trace, parent and flags; a trace or a parent of zeros, and the version ff, are none.
TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def is_traceparent(value: object) -> bool:
    return isinstance(value, str) and TRACEPARENT.fullmatch(value) is not None


def accepted(header: str | None) -> str:
    """The value of the header; empty when there is none, or one that is malformed, which W3C has ignored."""
    return header if header and is_traceparent(header) else ""


def trace_id(traceparent: str) -> str:
    """The trace's own id; empty when there is no trace."""
    return traceparent.split("-")[1] if traceparent else ""
