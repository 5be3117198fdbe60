"""Distillers. Pure."""
