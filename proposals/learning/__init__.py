"""Learning: the host reads a tenant's traces and proposes improvements to its artifacts (RFC 0096).

Deterministic rules find them, and a person decides. A proposal changes nothing until it is applied. Traces of other
tenants are never read.
"""

from proposals.learning.synthesis import (
    KIND,
    carry_out,
    checked_options,
    find,
    latest,
    order,
    order_daily,
    stop,
    tenants_due,
)

__all__ = ["KIND", "carry_out", "checked_options", "find", "latest", "order", "order_daily", "stop", "tenants_due"]
