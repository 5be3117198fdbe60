"""Workspace files: a tenant's ground truth by path, every version of it (RFC 0059)."""

from django.db import models

from memory.host.models import TenantOwned


class WorkspaceFile(TenantOwned):
    """One version of one file. The newest is ``current``; a deleted file has no rows, and begins at 1 again."""

    writer = "memory.workspace"

    path = models.CharField(max_length=256)
    version = models.PositiveIntegerField()
    current = models.BooleanField(default=True)
    content = models.TextField()
    content_type = models.CharField(max_length=128, default="text/markdown")
    etag = models.CharField(max_length=64)
    size = models.PositiveIntegerField()
    updated_at = models.DateTimeField()
    updated_by = models.CharField(max_length=64)
    run_id = models.UUIDField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "path", "version"), name="a_version_of_a_file_is_written_once"),
            models.UniqueConstraint(
                fields=("tenant", "path"), condition=models.Q(current=True), name="one_version_of_a_file_is_current"
            ),
        )
