"""Whether a host without durable memory has left entries: asked at each start of a console, which rarely needs more of
the ledger.
"""

from django.db import models
from django.db.models.lookups import Exact

from memory.models.entry import MemoryEntry

# The condition of their index, word for word, as SQLite wants it.
NO_TEXT = models.Func(template="''", output_field=models.CharField())
EPHEMERAL = ~models.Q(Exact(models.F("ephemeral"), NO_TEXT))


def has_entries(instance: str) -> bool:
    """Return whether ``instance`` has written any, in any tenant, while it had no durable memory."""
    return MemoryEntry.objects.filter(EPHEMERAL, ephemeral=instance).exists()
