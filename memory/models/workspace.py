"""Workspace files: a tenant's ground truth by path, every version of it (RFC 0059)."""

from django.db import models

from memory.host.models import Personal, TenantFK, TenantOwned, tenant_link
from memory.host.models.base import DIGEST, PRINCIPAL


class Workspace(TenantOwned):
    """A tenant's workspace. One row a tenant; its lock orders the changes."""

    writer = "memory.workspace"

    changed_at = models.DateTimeField()


class WorkspaceFile(TenantOwned):
    """One version of one file. The newest is ``current``; a deleted file has no rows, and starts at version 1 again.

    ``run_id`` is the run that wrote the version, empty for a write over the API or a page.
    """

    writer = "memory.workspace"
    personal = Personal(
        "workspace files",
        ("path", "content", "content_type"),
        at_once=16,  # a file may have a megabyte
    )
    impersonal = {"etag": DIGEST, "updated_by": PRINCIPAL}

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

    run = tenant_link("host.Run", "run_id", null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "path", "version"), name="a_version_of_a_file_is_written_once"),
            models.UniqueConstraint(
                fields=("tenant", "path"), condition=models.Q(current=True), name="one_version_of_a_file_is_current"
            ),
            TenantFK(column="run_id", to="host_run", name="a_version_was_written_by_a_run_of_its_tenant"),
        )
        indexes = (models.Index(fields=("tenant", "run_id"), name="memory_workspacefile_run"),)
