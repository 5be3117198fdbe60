"""Reads of memory: for a run, for the console, for a forget and for a pass.

An expired entry never surfaces, to the millisecond, whether or not it has been swept.
"""

from memory.adapter import console, forget, fulltext, openintent, passes, runs, statistics, vectors

__all__ = ["console", "forget", "fulltext", "openintent", "passes", "runs", "statistics", "vectors"]
