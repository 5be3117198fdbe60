"""Archives: what a distillation made of a ref's entries (RFC 0062). Their bytes never change; they can be withdrawn."""

from django.db import models

from memory.host.models import Personal, TenantFK, TenantOwned, tenant_link
from memory.host.models.base import CODE, DIGEST, KIND, STATE


class ArchiveState(models.TextChoices):
    CURRENT = "current"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


class Archive(TenantOwned):
    """``body`` is canonical JSON (RFC 8785), ``sha256`` its digest; the database refuses other bytes.

    A withdrawn archive has no body any more, and says why: ``forgotten`` or ``retention``. ``sources_sha256`` is the
    digest of the source set and of everything else the bytes depend on, so the same work is recognised. ``entry_id`` is
    the memory entry under which agents read the archive's text.
    """

    writer = "memory.passes.archives"
    personal = Personal(
        "archives",
        ("memory_ref", "body"),
        page=("arc", "id"),
        at_once=16,  # an archive may have a megabyte
    )
    impersonal = {
        "distiller": "the name of a method",
        "sha256": DIGEST,
        "sources_sha256": DIGEST,
        "state": STATE,
        "tokenizer": "the name of a tokenizer",
        "trigger": KIND,
        "withdrawn_because": CODE,
    }

    memory_ref = models.CharField(max_length=256)
    body = models.BinaryField()
    sha256 = models.CharField(max_length=64)
    sources_sha256 = models.CharField(max_length=64)
    source_count = models.PositiveIntegerField()
    corpus_count = models.PositiveIntegerField()
    token_budget = models.PositiveIntegerField()
    tokens_used = models.PositiveIntegerField()
    output_tokens = models.PositiveIntegerField()
    tokenizer = models.CharField(max_length=32)
    distiller = models.CharField(max_length=64)
    trigger = models.CharField(max_length=16)
    index_updated = models.BooleanField(default=False)
    state = models.CharField(max_length=10, choices=ArchiveState, default=ArchiveState.CURRENT)
    withdrawn_at = models.DateTimeField(null=True)
    withdrawn_because = models.CharField(max_length=16, default="", blank=True)
    entry_id = models.UUIDField(null=True)
    run_id = models.UUIDField()
    created_at = models.DateTimeField()
    keep_until = models.DateTimeField(null=True)

    run = tenant_link("host.Run", "run_id")

    @property
    def input_tokens(self) -> int:
        """The tokens of the entries that were read for it."""
        return self.tokens_used - self.output_tokens

    class Meta:
        constraints = (
            TenantFK(column="run_id", to="host_run", name="an_archive_was_made_by_a_run_of_its_tenant"),
            models.UniqueConstraint(
                fields=("tenant", "memory_ref"),
                condition=models.Q(state="current"),
                name="one_archive_of_a_ref_is_current",
            ),
        )
        indexes = (
            models.Index(fields=("tenant", "run_id"), name="memory_archive_run"),
            models.Index(fields=("tenant", "memory_ref", "id"), name="memory_archive_ref"),
            models.Index(fields=("tenant", "entry_id"), name="memory_archive_entry"),
            models.Index(
                fields=("tenant", "keep_until"),
                condition=~models.Q(state="withdrawn"),
                name="memory_archive_kept_until",
            ),
        )
