"""Workspace files: read, write, delete, and what a run sees of them (RFC 0059).

Every version is a row of its own. A change and its ``workspace.updated`` commit together: on the log of the run that
made it, else on the tenant's own, where it is audited as well. Text is redacted before it is stored (WSR-1). A deleted
file begins at version 1 again.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Max

from memory import redaction
from memory.host import audit, event_log, sql
from memory.host.errors import Invalid, NotFound, WorkspaceConflict, WorkspaceTooLarge
from memory.host.events import WorkspaceUpdated
from memory.host.json_types import JSONObject
from memory.host.models import Run
from memory.host.tenancy import TenantScope
from memory.models import Workspace, WorkspaceFile
from memory.text.storable import UNSTORABLE, UNSTORABLE_IN_LABEL

MAX_FILE_BYTES = 1_048_576
MAX_CONTENT_TYPE = 128
DEFAULT_CONTENT_TYPE = "text/markdown"
PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,255}")
ENTITY_TAG = re.compile(r'(W/)?("[^"]*")')
WRITER = "memory.workspace"
MAX_FILES = 256
MAX_VERSIONS = 20


@dataclass(frozen=True, slots=True)
class FileDraft:
    """A file's new content, before it is redacted."""

    content: str
    content_type: str = DEFAULT_CONTENT_TYPE


@dataclass(frozen=True, slots=True)
class Precondition:
    """The texts of If-Match and If-None-Match, None when not given."""

    if_match: str | None = None
    if_none_match: str | None = None

    def holds(self, etag: str | None) -> bool:
        """Whether it is true of a file with ``etag``; None is a file that is not there (RFC 9110, 13.1)."""
        return self._matches(etag) and self._differs(etag)

    def _matches(self, etag: str | None) -> bool:
        if self.if_match is None:
            return True
        strong = {tag for weak, tag in ENTITY_TAG.findall(self.if_match) if not weak}
        return etag is not None and (self.if_match.strip() == "*" or etag in strong)

    def _differs(self, etag: str | None) -> bool:
        if self.if_none_match is None:
            return True
        named = {tag for _, tag in ENTITY_TAG.findall(self.if_none_match)}
        return etag is None or (self.if_none_match.strip() != "*" and etag not in named)


WHATEVER = Precondition()


def checked_path(path: str) -> str:
    """Return the path if it is valid: the pattern of the schema, no ``..``, and no empty or ``.`` segment."""
    if not PATH.fullmatch(path) or ".." in path or {"", "."} & set(path.split("/")):
        message = "must be 1 to 256 letters, digits and . _ - / that begin with a letter or digit, without '..'"
        raise invalid("path", message)
    return path


def check(draft: FileDraft) -> None:
    """Refuse what cannot be stored, before any redaction."""
    if UNSTORABLE.search(draft.content):
        raise invalid("content", "holds a NUL or half a surrogate pair")
    if not 0 < len(draft.content_type) <= MAX_CONTENT_TYPE or UNSTORABLE_IN_LABEL.search(draft.content_type):
        raise invalid("contentType", f"must be 1 to {MAX_CONTENT_TYPE} characters of plain text")
    require_size(draft)


def require_size(draft: FileDraft) -> None:
    provided = len(draft.content.encode())
    if provided > MAX_FILE_BYTES:
        message = f"A file has at most {MAX_FILE_BYTES} bytes."
        raise WorkspaceTooLarge(message, maxBytes=MAX_FILE_BYTES, providedBytes=provided)


def invalid(field: str, message: str) -> Invalid:
    return Invalid("The file cannot be stored.", errors=[{"field": field, "message": message}])


# --- reading --------------------------------------------------------------------------------------------------------
def list_files(scope: TenantScope, *, prefix: str = "") -> list[WorkspaceFile]:
    """The newest version of every file whose path begins with ``prefix``, by path; without the contents."""
    scope.check("workspace:read")
    rows = WorkspaceFile.objects.of(scope.tenant_id).filter(current=True).defer("content")
    return sorted((row for row in rows if row.path.startswith(prefix)), key=lambda row: row.path)


def read_file(scope: TenantScope, path: str, *, version: int | None = None) -> WorkspaceFile:
    """Return the newest version of a file, or the one with that number; ``NotFound`` when it is purged, deleted or
    foreign."""
    scope.check("workspace:read")
    rows = WorkspaceFile.objects.of(scope.tenant_id).filter(path=checked_path(path))
    found = rows.filter(current=True) if version is None else rows.filter(version=version)
    return _require_found(found.first())


def versions_of(scope: TenantScope, path: str) -> list[WorkspaceFile]:
    """Return every stored version of a file, newest first, without contents."""
    scope.check("workspace:read")
    rows = WorkspaceFile.objects.of(scope.tenant_id).filter(path=checked_path(path))
    return list(rows.defer("content").order_by("-version"))


def snapshot(scope: TenantScope) -> list[JSONObject]:
    """Return the workspace that a run created now sees: each path, its version, and the row that holds it.

    The row is named because a file that is deleted and created again counts its versions from 1.
    """
    rows = _current_versions().fetch(scope.tenant_id)
    return [{"path": path, "version": version, "file": sql.digits(row)} for path, version, row in sorted(rows)]


@cache
def _current_versions() -> sql.CompiledQuery:
    tenant_id = UUID(int=0)
    rows = WorkspaceFile.objects.of(tenant_id).filter(current=True)
    return sql.CompiledQuery(rows.values_list("path", "version", "id"), tenant_id)


def by_id(scope: TenantScope, file_id: UUID) -> WorkspaceFile | None:
    """One version of a file by its row, newest or not; None when it was purged or deleted."""
    scope.check("workspace:read")
    found: WorkspaceFile | None = WorkspaceFile.objects.of(scope.tenant_id).filter(id=file_id).first()
    return found


def written_by(scope: TenantScope, run_id: UUID) -> dict[str, WorkspaceFile]:
    """Return the newest stored version of each path that the run wrote, without contents."""
    scope.check("workspace:read")
    rows = WorkspaceFile.objects.of(scope.tenant_id).filter(run_id=run_id).defer("content").order_by("version")
    return {row.path: row for row in rows}


def _require_found(file: WorkspaceFile | None) -> WorkspaceFile:
    if file is None:
        raise NotFound("There is no workspace file by that path and version.")
    return file


# --- writing --------------------------------------------------------------------------------------------------------
@transaction.atomic
def write_file(
    scope: TenantScope,
    path: str,
    draft: FileDraft,
    *,
    expected: Precondition = WHATEVER,
    run: Run | None = None,
    node_id: str | None = None,
    now: datetime,
) -> WorkspaceFile:
    """Store a new version of the file and append ``workspace.updated``; both or neither.

    ``run`` is the run in whose name it is written, ``node_id`` the node that wrote. Raises ``WorkspaceConflict`` when
    the file is not as ``expected``, and ``WorkspaceTooLarge`` when the workspace has no room.
    """
    scope.check("workspace:write")
    if run is not None:
        run.refuse_effects()
    clean = _clean(scope, checked_path(path), draft, run)
    _lock(scope.tenant_id, now)
    before = _current(scope.tenant_id, path)
    _require_expected(before, expected)
    if before is None:
        _require_room(scope.tenant_id)
    else:
        before.current = False
        before.save(by=WRITER, update_fields=["current"])
    file = _next_version(scope, path, clean, run, now).insert(by=WRITER)
    _record_change(scope, file, run, node_id, action="workspace.written", now=now)
    return file


@transaction.atomic
def delete_file(scope: TenantScope, path: str, *, expected: Precondition = WHATEVER, now: datetime) -> None:
    """Delete the file with all its versions; the event names the last one."""
    scope.check("workspace:write")
    checked_path(path)
    _lock(scope.tenant_id, now)
    before = _require_found(_current(scope.tenant_id, path))
    _require_expected(before, expected)
    _record_change(scope, before, None, None, action="workspace.deleted", now=now)
    remove(scope.tenant_id, path)


def _clean(scope: TenantScope, path: str, draft: FileDraft, run: Run | None) -> FileDraft:
    """Return the draft redacted for storage. A secret in a path is refused: replaced, it would name another file."""
    if run is not None and run.tenant_id != scope.tenant_id:
        raise NotFound("There is no run by that id.")
    check(draft)
    redactor = redaction.for_run(run.tenant_id, run.id) if run else redaction.for_tenant(scope.tenant_id)
    for name, text in (("path", path), ("contentType", draft.content_type)):
        if redactor.redact(text).count:
            raise invalid(name, "holds a secret of this tenant")
    clean = FileDraft(redactor.redact(draft.content).text, draft.content_type)
    require_size(clean)
    return clean


def _lock(tenant_id: UUID, now: datetime) -> None:
    """Lock the tenant's workspace until the transaction ends."""
    rows = Workspace.objects.of(tenant_id).select_for_update()
    if not rows.exists():
        try:
            with transaction.atomic():
                Workspace(tenant_id=tenant_id, id=tenant_id, changed_at=now).insert(by=WRITER)
        except IntegrityError:
            pass  # another process opened the workspace first; its row is the lock
    head = rows.get()
    head.changed_at = now
    head.save(by=WRITER, update_fields=["changed_at"])


def _current(tenant_id: UUID, path: str) -> WorkspaceFile | None:
    rows = WorkspaceFile.objects.of(tenant_id).filter(path=path, current=True).defer("content")
    found: WorkspaceFile | None = rows.first()
    return found


def _require_expected(before: WorkspaceFile | None, expected: Precondition) -> None:
    if not expected.holds(before.etag if before else None):
        raise WorkspaceConflict(currentVersion=before.version if before else 0)


def _require_room(tenant_id: UUID) -> None:
    if WorkspaceFile.objects.of(tenant_id).filter(current=True).count() >= MAX_FILES:
        raise WorkspaceTooLarge(f"A workspace has at most {MAX_FILES} files.", maxFiles=MAX_FILES)


def _next_version(scope: TenantScope, path: str, draft: FileDraft, run: Run | None, now: datetime) -> WorkspaceFile:
    """Return the next row, and purge versions older than ``MAX_VERSIONS``."""
    rows = WorkspaceFile.objects.written_by(WRITER).filter(tenant_id=scope.tenant_id, path=path)
    version = (rows.aggregate(last=Max("version"))["last"] or 0) + 1
    rows.filter(version__lte=version - MAX_VERSIONS).delete()
    file = WorkspaceFile(
        tenant_id=scope.tenant_id,
        path=path,
        version=version,
        content_type=draft.content_type,
        updated_at=now,
        updated_by=scope.principal.id,
        run_id=run.id if run else None,
    )
    return _hold(file, draft.content)


def _hold(file: WorkspaceFile, content: str) -> WorkspaceFile:
    """Set the content of ``file``; its tag is of this row and this text, so no other file or text has it."""
    file.content, file.size = content, len(content.encode())
    file.etag = f'"{hashlib.sha256(f"{file.id.hex}:{content}".encode()).hexdigest()[:32]}"'
    return file


def _record_change(
    scope: TenantScope, file: WorkspaceFile, run: Run | None, node_id: str | None, *, action: str, now: datetime
) -> None:
    """Append the fact to the run's log, or to the tenant's own with an audit record; without the content."""
    fact = WorkspaceUpdated(path=file.path, version=file.version, node_id=node_id)
    if run is not None:
        event_log.append(scope.tenant_id, run.id, fact, now=now)
        return
    event_log.append_to_tenant(scope.tenant_id, fact, now=now)
    details = {"version": file.version, "sha256": hashlib.sha256(file.content.encode()).hexdigest()}
    audit.append(scope.tenant_id, actor=scope.principal.id, action=action, target=file.path, details=details, now=now)


# --- forgetting -----------------------------------------------------------------------------------------------------
def locked(tenant_id: UUID, file_id: UUID) -> WorkspaceFile | None:
    """One version of a file, locked until the transaction ends; None when it is not there any more."""
    rows = WorkspaceFile.objects.of(tenant_id).select_for_update(of=("self",))
    found: WorkspaceFile | None = rows.filter(id=file_id).first()
    return found


def erase_kept(file: WorkspaceFile, **kept: object) -> None:
    """Replace the content of the version and its tag. For forgetting only."""
    for name, value in kept.items():
        setattr(file, name, value)
    _hold(file, file.content).save(by=WRITER, update_fields=[*kept, "size", "etag"])


def remove(tenant_id: UUID, path: str) -> int:
    """Delete every version of the file; return their number."""
    rows = WorkspaceFile.objects.written_by(WRITER).filter(tenant_id=tenant_id, path=path)
    return int(rows.delete()[0])
