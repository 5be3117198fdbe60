"""Archives stored, and found again for the same work; and what an endpoint has answered (RFC 0062 B.4)."""

import hashlib
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory import adapter, harness
from memory.archives.finding import sources_of
from memory.archives.rows import FORGOTTEN, WRITER, of_ref
from memory.host import access
from memory.host.errors import Conflict, NotFound
from memory.host.models import Run
from memory.host.tenancy import MemoryScope
from memory.models import Archive, ArchiveState, Distillate


@dataclass(frozen=True, slots=True)
class ArchiveDraft:
    """What a distillation wants kept: ``body`` is canonical JSON, the rest says how it came about."""

    body: bytes
    sources_sha256: str
    source_count: int
    corpus_count: int
    token_budget: int
    tokens_used: int
    output_tokens: int
    tokenizer: str
    distiller: str
    trigger: str
    index_updated: bool


def same_work(scope: MemoryScope, sources_sha256: str) -> Archive | None:
    """The newest archive of that very work that has not been withdrawn."""
    rows = of_ref(scope.tenant_id, scope.memory_ref).exclude(state=ArchiveState.WITHDRAWN)
    found: Archive | None = rows.filter(sources_sha256=sources_sha256).order_by("-id").first()
    return found


@transaction.atomic
def store(
    scope: MemoryScope,
    draft: ArchiveDraft,
    *,
    archive_id: UUID,
    entry_id: UUID | None,
    run: Run,
    keep_until: datetime,
    now: datetime,
) -> Archive:
    """The archive is the current one of its ref, and the one before it superseded.

    Refuses with ``Conflict`` when one of its sources was forgotten or sealed while it was being made. Write its entry
    first: the lock of the ledger comes before that of the tenant.
    """
    if run.tenant_id != scope.tenant_id:
        raise NotFound("There is no run by that id.")
    access.lock_tenant(scope.tenant_id)
    if adapter.closed_among(scope.tenant_id, sources_of(draft.body)):
        raise Conflict("A source of the archive was forgotten or sealed while it was being made.", reason=FORGOTTEN)
    _supersede(scope.tenant_id, scope.memory_ref)
    return Archive(
        tenant_id=scope.tenant_id,
        id=archive_id,
        memory_ref=scope.memory_ref,
        sha256=hashlib.sha256(draft.body).hexdigest(),
        entry_id=entry_id,
        run_id=run.id,
        created_at=now,
        keep_until=keep_until,
        **asdict(draft),
    ).insert(by=WRITER)


@transaction.atomic
def recall(archive: Archive) -> None:
    """The archive is the current one of its ref again, because its very work was asked for once more.

    Refuses with ``Conflict`` when it was withdrawn meanwhile.
    """
    access.lock_tenant(archive.tenant_id)
    _supersede(archive.tenant_id, archive.memory_ref)
    rows = Archive.objects.written_by(WRITER).filter(tenant_id=archive.tenant_id, id=archive.id)
    if rows.exclude(state=ArchiveState.WITHDRAWN).update(state=ArchiveState.CURRENT) != 1:
        raise Conflict("The archive was withdrawn.")
    archive.state = ArchiveState.CURRENT


def _supersede(tenant_id: UUID, memory_ref: str) -> None:
    rows = Archive.objects.written_by(WRITER).filter(tenant_id=tenant_id, memory_ref=memory_ref)
    rows.filter(state=ArchiveState.CURRENT).update(state=ArchiveState.SUPERSEDED)


def remembered(tenant_id: UUID, request_sha256: str) -> str | None:
    """What an endpoint has made of that very request before."""
    rows = Distillate.objects.of(tenant_id).filter(request_sha256=request_sha256)
    text: str | None = rows.values_list("text", flat=True).first()
    return text


def remember(scope: MemoryScope, request_sha256: str, text: str, *, now: datetime) -> None:
    """The endpoint's answer is kept, redacted; an answer to the same request that was kept before stays."""
    kept = Distillate(
        tenant_id=scope.tenant_id,
        memory_ref=scope.memory_ref,
        request_sha256=request_sha256,
        text=harness.for_derived(scope.tenant_id)(text).text,
        created_at=now,
    )
    Distillate.objects.written_by(WRITER).bulk_create([kept], ignore_conflicts=True)
