"""What came of what: entries that were merged, superseded, compacted or distilled, and into what. Ids alone."""

from django.db import models

from memory.host.models import TenantOwned
from memory.host.models.personal import KIND


class LineageKind(models.TextChoices):
    MERGED = "merged"
    SUPERSEDED = "superseded"
    COMPACTED = "compacted"
    DISTILLED = "distilled"


class Lineage(TenantOwned):
    """``source_id`` is an entry that went into ``target_id``: an entry, or an archive when it was distilled.

    Outlives both, so that one can still be asked what it came from when the other is gone.
    """

    writer = "memory.provenance"
    impersonal = {"kind": KIND}

    source_id = models.UUIDField()
    target_id = models.UUIDField()
    kind = models.CharField(max_length=10, choices=LineageKind)
    pass_id = models.UUIDField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        indexes = (
            models.Index(fields=("tenant", "source_id", "id"), name="memory_lineage_source"),
            models.Index(fields=("tenant", "target_id", "id"), name="memory_lineage_target"),
            models.Index(fields=("tenant", "pass_id", "id"), name="memory_lineage_pass"),
        )
