"""The work that memory belongs to (RFC-0015 6): agents, intents, tasks, coordinators and grants. Their only writer.

The row of a task, and that of an agent, is the lock under which memory of theirs is counted, written and cleared.
"""

from memory.openintent.work import authority, coordinators, intents, rows, tasks

__all__ = ["authority", "coordinators", "intents", "rows", "tasks"]
