"""Learning: the host looks at its own traces, and proposes what could be learnt from them (RFC 0096).

Deterministic: rules find, and a person decides. What is proposed changes nothing until it is applied; what a run of
another tenant has left is never looked at.
"""

from proposals.learning.orders import KIND, checked, find, latest, order, order_daily, stop, tenants_due
from proposals.learning.synthesis import carry_out

__all__ = ["KIND", "carry_out", "checked", "find", "latest", "order", "order_daily", "stop", "tenants_due"]
