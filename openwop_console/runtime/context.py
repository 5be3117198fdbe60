"""``ctx.memory`` and ``ctx.files``: the memory and workspace access of one node of a run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memory import adapter, addresses, ledger, recordings, workspace
from memory.adapter import Injection, MemoryRecord, RunView
from memory.entry_drafts import EntryDraft
from memory.host import ids, tenancy
from memory.host.json_types import JSONObject
from memory.host.models import Run
from memory.host.node_types import NodeFailure
from memory.host.tenancy import MemoryScope
from memory.models import WorkspaceFile
from memory.recordings import Read
from memory.wire import entry_document
from memory.workspace import DEFAULT_CONTENT_TYPE, FileDraft, checked_path

Reads = list[Read]


@dataclass(frozen=True, slots=True)
class NodeMemory:
    """Reads the run's start snapshot plus the run's own writes; writes as this node and its agent.

    Every read is appended to ``reads``, to be recorded with the step.
    """

    run: Run
    node_id: str
    agent_id: str
    now: datetime
    reads: Reads = field(default_factory=Reads)

    def list(
        self,
        memory_ref: str,
        *,
        limit: int = 0,
        tag: str = "",
        token_budget: int = 0,
        rank: str = "",
        query: str = "",
    ) -> Sequence[JSONObject]:
        wanted = Injection(token_budget, rank, query)
        scope = self._scope(memory_ref)
        found: Sequence[MemoryRecord] = ()
        if scope is not None:
            view = RunView.for_run(self.run)
            found = adapter.list_entries(scope, now=self.now, limit=limit, tag=tag, view=view, wanted=wanted)
        return self._note(listing(memory_ref, limit=limit, tag=tag, wanted=wanted), found)

    def get(self, memory_ref: str, memory_id: str) -> JSONObject | None:
        scope = self._scope(memory_ref)
        entry_id = ids.parse("mem", memory_id)
        found = None
        if scope is not None and entry_id is not None:
            found = adapter.get_entry(scope, entry_id, now=self.now, view=RunView.for_run(self.run))
        documents = self._note(getting(memory_ref, memory_id), [found] if found else [])
        return documents[0] if documents else None

    def _note(self, request: str, found: Sequence[MemoryRecord]) -> Sequence[JSONObject]:
        documents = [_document(row) for row in found]
        self.reads.append(Read(request, documents))
        return documents

    def write(
        self,
        memory_ref: str,
        content: str,
        *,
        tags: Sequence[str] = (),
        subject: str = "",
        expires_at: datetime | None = None,
        now: datetime | None = None,
    ) -> str:
        if memory_ref.startswith(addresses.PREFIX):
            raise NodeFailure(
                "memory_ref_reserved", "Memory of OpenIntent is written over OpenIntent alone.", final=True
            )
        scope = self._scope(memory_ref)
        if scope is None:
            raise NodeFailure("memory_ref_invalid", "The node names a memory_ref that this tenant cannot have.")
        draft = EntryDraft(content, tuple(tags), subject, self.agent_id, expires_at)
        written = ledger.write_entry(scope, draft, run=self.run, node_id=self.node_id, now=now or self.now)
        return ids.wire("mem", written.id)

    def _scope(self, memory_ref: str) -> MemoryScope | None:
        """The ref checked for this node's agent; None when it is not allowed."""
        return tenancy.memory_scope(tenancy.run_scope(self.run, agent_id=self.agent_id), memory_ref)


def listing(memory_ref: str, *, limit: int, tag: str, wanted: Injection) -> str:
    """The digest of a list request; unset budget, rank and query are left out."""
    given = {"tokenBudget": wanted.token_budget, "rank": wanted.rank, "query": wanted.query}
    more = {name: value for name, value in given.items() if value}
    return recordings.digest_of({"op": "list", "memoryRef": memory_ref, "limit": limit, "tag": tag, **more})


def getting(memory_ref: str, memory_id: str) -> str:
    """The digest of a get request."""
    return recordings.digest_of({"op": "get", "memoryRef": memory_ref, "memoryId": memory_id})


def _document(record: MemoryRecord) -> JSONObject:
    return entry_document(record.id, record.content, record.tags, record.created_at, record.expires_at)


@dataclass(frozen=True, slots=True)
class NodeFiles:
    """Reads the run's snapshot of the workspace plus the run's own writes; writes as this node."""

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
        return {**_file_document(found), "content": found.content, "contentType": found.content_type}

    def _noted(self, path: str) -> UUID | None:
        return next((UUID(noted["file"]) for noted in self.run.workspace if noted["path"] == path), None)

    def write(self, path: str, content: str, *, content_type: str = DEFAULT_CONTENT_TYPE) -> JSONObject:
        draft, scope = FileDraft(content, content_type), tenancy.run_scope(self.run)
        return _file_document(
            workspace.write_file(scope, path, draft, run=self.run, node_id=self.node_id, now=self.now)
        )


def _file_document(file: WorkspaceFile) -> JSONObject:
    return {"path": file.path, "version": file.version, "etag": file.etag}
