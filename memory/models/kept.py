"""What runs read, kept beside the log: a replay is served exactly that, and a forget can reach it (design.md 3.12)."""

from django.db import models

from memory.host.models import TenantFK, TenantOwned, tenant_link


class KeptContent(TenantOwned):
    """A text that some run read; one row a digest. ``text`` is null when it was forgotten: the digest stays."""

    writer = "memory.kept_reads"

    sha256 = models.CharField(max_length=64)
    text = models.TextField(null=True)
    kept_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant", "sha256"), name="a_text_is_kept_once"),)


class KeptRead(TenantOwned):
    """One read of one node of one run: what was asked, by digest, and what was answered, by digest and in order."""

    writer = "memory.kept_reads"

    run_id = models.UUIDField()
    node_id = models.CharField(max_length=256)
    ordinal = models.PositiveIntegerField()
    request_sha256 = models.CharField(max_length=64)
    contents = models.JSONField(default=list)

    run = tenant_link("host.Run", "run_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "run_id", "node_id", "ordinal"), name="a_read_of_a_node_is_kept_once"
            ),
            TenantFK(column="run_id", to="host_run", name="a_read_belongs_to_a_run_of_its_tenant"),
        )
