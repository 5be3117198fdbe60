"""Approval policies over HTTP: what holds for each kind, what was changed and by whom, and what waits."""
