"""The memory index: which archive of which ref is current, for whoever starts tomorrow (RFC 0062 B.5).

``MEMORY-INDEX.json`` is normative and free of content, ``MEMORY-INDEX.md`` the same for a person. Both are made of the
archives themselves, under the lock of the tenant, so passes that end together lose no line.
"""

import json
import re
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import BinaryField
from django.db.models.functions import Substr

from memory import wire, workspace
from memory.archives.rows import INDEX
from memory.distillers import canonical, coverage
from memory.file_drafts import FileDraft
from memory.host import ids, tenancy
from memory.host.models import Run, Tenant
from memory.host.tenancy import TenantScope
from memory.models import Archive, ArchiveState

VERSION = 1
TEXT = "MEMORY-INDEX.md"
PATHS = (INDEX, TEXT)
JSON_TYPE, TEXT_TYPE = "application/json", "text/markdown"
MOST = 2000
# Canonical JSON sorts its keys: what an archive covers stands at its very beginning.
BEGINNING, OPENING = 256, '{"coverage":'
NAMES = re.compile(r"arc_[0-9a-f]{32}|[0-9a-f]{64}")

Line = dict[str, Any]


def write(scope: TenantScope, archive: Archive, *, run: Run, now: datetime) -> None:
    """Both files have a new version that lists the current archives, after ``archive`` was made; told on ``run``."""
    lines, total = _lines(scope.tenant_id)
    newest = archive.sha256, archive.source_count
    for path in PATHS:
        workspace.write_file(scope, path, _draft(path, newest, lines, total, now), run=run, now=now)


def take_out(tenant_id: UUID, withdrawn: Collection[Archive], *, now: datetime) -> None:
    """No file of the index names these archives, which were withdrawn; told on the tenant's log.

    A file that names none of them stays as it is, and none is made. Needs the lock of the tenant.
    """
    gone = {name for row in withdrawn for name in (ids.wire("arc", row.id), row.sha256)}
    scope = tenancy.host_scope(Tenant.objects.get(id=tenant_id))
    paths = [path for path in _files_there(scope) if gone & _names_in(scope, path)]
    if not paths:
        return
    lines, total = _lines(tenant_id)
    last = max(lines, key=lambda line: line["archiveId"], default=None)
    newest = (last["archiveChecksum"], last["covered"]) if last else (None, 0)
    for path in paths:
        workspace.write_file(scope, path, _draft(path, newest, lines, total, now), now=now)


def _files_there(scope: TenantScope) -> Iterable[str]:
    there = {row.path for row in workspace.list_files(scope, prefix="MEMORY-INDEX")}
    return [path for path in PATHS if path in there]


def _names_in(scope: TenantScope, path: str) -> set[str]:
    """The ids and checksums of archives that the file names."""
    return set(NAMES.findall(workspace.read_file(scope, path).content))


def _draft(path: str, newest: tuple[str | None, int], lines: list[Line], total: int, now: datetime) -> FileDraft:
    """One of the two files. ``newest`` is the checksum of the last archive and of how many sources it is."""
    if path == TEXT:
        return FileDraft(_readable(lines, total, now), TEXT_TYPE)
    checksum, count = newest
    document = {
        "version": VERSION,
        "archiveChecksum": checksum,
        "entryCount": count,
        "updatedAt": wire.instant(now),
        "archives": lines,
        "archiveCount": total,
    }
    return FileDraft(canonical(document).decode(), JSON_TYPE)


def _lines(tenant_id: UUID) -> tuple[list[Line], int]:
    """The current archives by their refs, the newest ``MOST`` of them, and how many there are."""
    rows = Archive.objects.of(tenant_id).filter(state=ArchiveState.CURRENT)
    beginning = Substr("body", 1, BEGINNING, output_field=BinaryField())
    columns = ("memory_ref", "id", "sha256", "source_count", "corpus_count")
    found = rows.order_by("-id").annotate(beginning=beginning).values_list(*columns, "beginning")[:MOST]
    lines = [
        {
            "memoryRef": memory_ref,
            "archiveId": ids.wire("arc", archive_id),
            "archiveChecksum": checksum,
            "covered": covered,
            "of": corpus,
            "topics": _topics(bytes(beginning)),
        }
        for memory_ref, archive_id, checksum, covered, corpus, beginning in found
    ]
    return sorted(lines, key=lambda line: line["memoryRef"]), rows.count()


def _topics(beginning: bytes) -> int:
    """How many topics the archive says it has; 0 when it does not say."""
    head, _, _ = beginning.decode(errors="replace").partition("}")
    found: int = json.loads(f"{head}}}}}")["coverage"].get("topics", 0) if head.startswith(OPENING) else 0
    return found


def _readable(lines: list[Line], total: int, now: datetime) -> str:
    rows = [
        f"| {_cell(line['memoryRef'])} | {coverage(line['covered'], line['of'])} | {line['topics']} "
        f"| {line['archiveId']} |"
        for line in lines
    ]
    said = f"{len(lines):,} of {total:,} archives, as of {wire.instant(now)}."
    return "\n".join(
        ["# Memory index", "", said, "", "| Memory | Covers | Topics | Archive |", "|---|---|---|---|", *rows, ""]
    )


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")
