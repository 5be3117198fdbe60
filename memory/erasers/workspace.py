"""Workspace files as a store of a forget: every version of every file.

A text that names the subject is replaced as a whole, and the version stays. A file whose very path names the subject
goes with all its versions. What stands on record of a path stays there, counted.
"""

from typing import Any
from uuid import UUID

from django.db import transaction

from memory import workspace
from memory.erasers.kept_values import RowByRow
from memory.host.erasure import Identifiers
from memory.matching import Rule
from memory.models import WorkspaceFile


class WorkspaceFiles(RowByRow):
    """Contents, paths and content types."""

    store = "workspace files"
    table = WorkspaceFile
    columns = ("path", "content", "content_type")
    chunk = 16  # a file may have a megabyte

    @transaction.atomic
    def erase_one(self, tenant_id: UUID, row_id: UUID, subject: Identifiers, rule: Rule) -> int:
        """How many versions were changed or are gone."""
        file = workspace.locked(tenant_id, row_id)
        changed: dict[str, Any] = self.cleaned(file, subject, rule) if file else {}
        if file is None or not changed:
            return 0
        if "path" in changed:
            return workspace.remove(tenant_id, file.path)
        workspace.erase_kept(file, **changed)
        return 1


WORKSPACE_FILES = WorkspaceFiles()
