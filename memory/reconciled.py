"""Reconciled."""

WRITER = "memory.reconciled"
