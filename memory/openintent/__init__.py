"""Memory as RFC-0015 means it: entries by tier, namespace and key, in versions, within bounds, and gone in time."""
