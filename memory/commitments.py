"""Commitments."""

WRITER = "memory.commitments"
