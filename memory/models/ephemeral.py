"""Entries of a host without durable memory.

Here, and not in the ledger, since each start of a console asks whether there are any, and rarely needs the ledger.
"""

from django.db import models
from django.db.models.lookups import Exact

from memory.models.entry import MemoryEntry

# The condition of their index, word for word, as SQLite wants it.
NO_TEXT = models.Func(template="''", output_field=models.CharField())
EPHEMERAL = ~models.Q(Exact(models.F("ephemeral"), NO_TEXT))


def has_entries(instance: str) -> bool:
    """Return whether ``instance`` has entries, in any tenant, that it wrote without durable memory."""
    return MemoryEntry.objects.filter(EPHEMERAL, ephemeral=instance).exists()
