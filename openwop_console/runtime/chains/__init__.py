"""Chains of installed packs, as workflows (RFC 0013): what a pack brings, and what a run makes of its parameters."""
