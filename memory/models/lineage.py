"""What came of what: entries that were merged, superseded, compacted or distilled, and into what; and pairs that look
alike. Ids alone."""

from django.db import models

from memory.host.models import TenantFK, TenantOwned, tenant_link
from memory.host.models.personal import KIND, PRINCIPAL, STATE


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


class Verb(models.TextChoices):
    """What a person decides about two entries that look alike."""

    MERGE = "merge"
    REPLACE = "replace"
    KEEP = "keep"


class LookAlike(TenantOwned):
    """Two live entries of one ref that may say the same, which no rule could decide; goes with either of them.

    ``percent`` of their words both have. Without a ``decision`` it waits for a person; a pair is offered once.
    """

    writer = "memory.passes.lookalikes"
    impersonal = {"decision": STATE, "decided_by": PRINCIPAL}

    older_id = models.UUIDField()
    newer_id = models.UUIDField()
    percent = models.PositiveSmallIntegerField()
    found_at = models.DateTimeField()
    decision = models.CharField(max_length=7, choices=Verb, default="", blank=True)
    decided_by = models.CharField(max_length=64, default="", blank=True)
    decided_at = models.DateTimeField(null=True)

    older = tenant_link("memory.MemoryEntry", "older_id")

    class Meta:
        constraints = (
            TenantFK(
                column="older_id",
                to="memory_memoryentry",
                name="an_older_look_alike_is_an_entry_of_its_tenant",
                on_delete="CASCADE",
            ),
            TenantFK(
                column="newer_id",
                to="memory_memoryentry",
                name="a_newer_look_alike_is_an_entry_of_its_tenant",
                on_delete="CASCADE",
            ),
            models.UniqueConstraint(fields=("tenant", "older_id", "newer_id"), name="a_pair_is_offered_once"),
        )
        indexes = (
            models.Index(fields=("tenant", "newer_id"), name="memory_lookalike_newer"),
            models.Index(fields=("tenant", "id"), condition=models.Q(decision=""), name="memory_lookalike_open"),
        )
