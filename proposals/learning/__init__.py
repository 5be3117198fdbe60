"""Learning: the host looks at its own traces, and proposes what could be learnt from them (RFC 0096).

Deterministic: rules find, and a person decides. What is proposed changes nothing until it is applied; what a run of
another tenant has left is never looked at.
"""

from proposals.learning.synthesis import KIND, carry_out, checked, find, latest, order, order_daily, stop, tenants_due

__all__ = ["KIND", "carry_out", "checked", "find", "latest", "order", "order_daily", "stop", "tenants_due"]
