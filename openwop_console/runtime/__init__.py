"""Runs, executed."""
