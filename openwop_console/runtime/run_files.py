"""``ctx.files``: the workspace as one node of one run uses it.

A run reads the versions that stood at its creation, and what it wrote itself; what others write meanwhile it does not
see. A version that is kept no more fails the node, because another one in its place would not be what the run saw.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory import workspace
from memory.file_drafts import DEFAULT_CONTENT_TYPE, FileDraft, checked_path
from memory.host import tenancy
from memory.host.json_types import JSONObject
from memory.host.models import Run
from memory.host.node_types import NodeFailure
from memory.models import WorkspaceFile


@dataclass(frozen=True, slots=True)
class NodeFiles:
    """Reads the run's snapshot of the workspace and the run's own writes; writes in the name of this node."""

    run: Run
    node_id: str
    now: datetime

    def list(self, prefix: str = "") -> Sequence[JSONObject]:
        own = workspace.written_by(tenancy.run_scope(self.run), self.run.id)
        seen = {noted["path"]: noted["version"] for noted in self.run.workspace}
        seen |= {path: file.version for path, file in own.items()}
        return [{"path": path, "version": seen[path]} for path in sorted(seen) if path.startswith(prefix)]

    def read(self, path: str) -> JSONObject | None:
        scope = tenancy.run_scope(self.run)
        own = workspace.written_by(scope, self.run.id).get(checked_path(path))
        row = own.id if own else self._noted(path)
        if row is None:
            return None
        found = workspace.by_id(scope, row)
        if found is None:
            raise NodeFailure("workspace_version_gone", "The version of the file that this run sees is kept no more.")
        return {**_standing(found), "content": found.content, "contentType": found.content_type}

    def _noted(self, path: str) -> UUID | None:
        return next((UUID(noted["file"]) for noted in self.run.workspace if noted["path"] == path), None)

    def write(self, path: str, content: str, *, content_type: str = DEFAULT_CONTENT_TYPE) -> JSONObject:
        draft, scope = FileDraft(content, content_type), tenancy.run_scope(self.run)
        return _standing(workspace.write_file(scope, path, draft, run=self.run, node_id=self.node_id, now=self.now))


def _standing(file: WorkspaceFile) -> JSONObject:
    return {"path": file.path, "version": file.version, "etag": file.etag}
