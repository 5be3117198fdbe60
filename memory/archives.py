"""Archives."""

WRITER = "memory.archives"
