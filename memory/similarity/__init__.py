"""Similarity. Pure."""
