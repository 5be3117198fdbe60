"""Intentions. Pure."""
