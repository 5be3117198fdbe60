"""Archives: what distillations made, kept as bytes that never change, and the texts that an endpoint has distilled.

An archive is withdrawn when its time is over, when a subject is forgotten that it speaks of or was made from, when
something that it was made from becomes confidential, or when a person asks for it; its bytes are gone then, its row
says why for good (RFC 0062 B.4), and the memory index forgets it.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import BinaryField, QuerySet
from django.db.models.functions import Substr

from memory import adapter, ledger, memory_policy, passes, provenance, redaction, wire, workspace
from memory.host import access, audit, ids, sql, tenancy
from memory.host.errors import Conflict, Gone, NotFound
from memory.host.json_types import JSONObject
from memory.host.models import Run, Tenant
from memory.host.tenancy import MemoryScope, TenantScope
from memory.models import Archive, ArchiveState, Distillate, Pass, Trigger
from memory.passes import PassOrder
from memory.reasons import stored_reason
from memory.text.distillers import canonical, coverage
from memory.text.matching import FORGOTTEN as UNNAMED
from memory.workspace import FileDraft

WRITER = "memory.passes.archives"
FORGOTTEN, RETENTION, SEALED, REQUESTED = "forgotten", "retention", "sealed", "requested"
DISTILL = "distill"
INDEX = "MEMORY-INDEX.json"
VERSION = 1
TEXT = "MEMORY-INDEX.md"
PATHS = (INDEX, TEXT)
JSON_TYPE, TEXT_TYPE = "application/json", "text/markdown"
MOST = 2000
# Canonical JSON sorts its keys, so what an archive covers is at its very beginning.
BEGINNING, OPENING = 256, '{"coverage":'
NAMES = re.compile(r"arc_[0-9a-f]{32}|[0-9a-f]{64}")
Line = JSONObject


def archives_of_ref(tenant_id: UUID, memory_ref: str) -> QuerySet[Archive]:
    return Archive.objects.of(tenant_id).filter(memory_ref=memory_ref)


# Archives for readers of memory, and the ones before and after each.


def get_archive(scope: TenantScope, archive_id: UUID | None) -> Archive:
    """The archive, withdrawn or not; ``NotFound`` for any other id.

    A key that is bound to agents is shown none: an archive tells of what all agents of its ref wrote.
    """
    rows = visible_archives(scope)
    row: Archive | None = rows.filter(id=archive_id).first() if archive_id else None
    if row is None:
        raise NotFound("There is no archive by that id.")
    return row


def find(scope: TenantScope, archive_id: UUID | None) -> Archive:
    """The archive with its bytes; ``Gone`` when it was withdrawn, with the reason and the archive that came after."""
    row = get_archive(scope, archive_id)
    if row.state == ArchiveState.WITHDRAWN:
        after = successor_of(row)
        details = {"successor": ids.wire("arc", after.id)} if after else {}
        raise Gone("That archive was withdrawn.", reason=row.withdrawn_because, **details)
    return row


def visible_archives(scope: TenantScope) -> QuerySet[Archive]:
    """The tenant's archives that this principal may see."""
    scope.check("memory:read")
    rows = Archive.objects.of(scope.tenant_id)
    return rows if scope.principal.agent_ids is None else rows.none()


def find_archives(tenant_id: UUID, archive_ids: Collection[UUID]) -> dict[UUID, Archive]:
    """Those of these archives that are the tenant's, by their ids and without their bytes."""
    rows = Archive.objects.of(tenant_id).defer("body")
    return {row.id: row for part in sql.in_chunks(archive_ids) for row in rows.filter(id__in=part)}


def archive_of_entry(scope: TenantScope, entry_id: UUID) -> Archive | None:
    """The archive whose text agents read under this entry, without its bytes."""
    found: Archive | None = visible_archives(scope).defer("body").filter(entry_id=entry_id).order_by("-id").first()
    return found


def successor_of(row: Archive) -> Archive | None:
    """The archive that is current in the ref of this one, when it was made later."""
    rows = archives_of_ref(row.tenant_id, row.memory_ref).filter(state=ArchiveState.CURRENT, id__gt=row.id)
    found: Archive | None = rows.first()
    return found


def predecessor_of(row: Archive) -> Archive | None:
    """The last archive of the ref before this one that still has its bytes."""
    rows = archives_of_ref(row.tenant_id, row.memory_ref).exclude(state=ArchiveState.WITHDRAWN)
    found: Archive | None = rows.filter(id__lt=row.id).order_by("-id").first()
    return found


def current_archives(tenant_id: UUID) -> dict[str, Archive]:
    """The current archive of each ref that has one, without its bytes."""
    rows = Archive.objects.of(tenant_id).defer("body").filter(state=ArchiveState.CURRENT)
    return {row.memory_ref: row for row in rows}


def sources_of(body: bytes) -> list[UUID]:
    """The entries that the archive of these bytes was made from."""
    found = (ids.parse("mem", str(each.get("id"))) for each in json.loads(body).get("sources", []))
    return [each for each in found if each]


# The memory index: which archive of which ref is current, for agents that start later (RFC 0062 B.5).
#
# ``MEMORY-INDEX.json`` is normative and free of content, ``MEMORY-INDEX.md`` the same for a person. Both are made of
# the archives themselves, under the lock of the tenant, so passes that end together lose no line.


def write_index(scope: TenantScope, archive: Archive, *, run: Run, now: datetime) -> None:
    """Write a new version of both index files after ``archive`` was made; the fact goes to ``run``."""
    lines, total = _lines(scope.tenant_id)
    newest = archive.sha256, archive.source_count
    for path in PATHS:
        workspace.write_file(scope, path, _draft(path, newest, lines, total, now), run=run, now=now)


def remove_from_index(tenant_id: UUID, withdrawn: Collection[Archive], *, now: datetime) -> None:
    """Remove these withdrawn archives from the index files; the fact goes to the tenant's log.

    A file that names none of them is not rewritten, and none is created. Needs the lock of the tenant.
    """
    gone = {name for row in withdrawn for name in (ids.wire("arc", row.id), row.sha256)}
    scope = tenancy.host_scope(Tenant.objects.get(id=tenant_id))
    paths = [path for path in _index_files(scope) if gone & _names_in(scope, path)]
    if not paths:
        return
    lines, total = _lines(tenant_id)
    last = max(lines, key=lambda line: line["archiveId"], default=None)
    newest = (last["archiveChecksum"], last["covered"]) if last else (None, 0)
    for path in paths:
        workspace.write_file(scope, path, _draft(path, newest, lines, total, now), now=now)


def _index_files(scope: TenantScope) -> Iterable[str]:
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


# Archives stored, and found again for the same work; and what an endpoint has answered (RFC 0062 B.4).


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


def find_same_work(scope: MemoryScope, sources_sha256: str) -> Archive | None:
    """The newest archive of exactly this work that has not been withdrawn."""
    rows = archives_of_ref(scope.tenant_id, scope.memory_ref).exclude(state=ArchiveState.WITHDRAWN)
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
    """Store the archive as the current one of its ref and supersede the one before it.

    Refuses with ``Conflict`` when one of its sources was forgotten, deleted, sealed, or retired by a person while it
    was being made. Write its entry first: the lock of the ledger comes before that of the tenant.
    """
    if run.tenant_id != scope.tenant_id:
        raise NotFound("There is no run by that id.")
    access.lock_tenant(scope.tenant_id)
    if adapter.forget.closed_entries(scope.tenant_id, sources_of(draft.body)):
        raise Conflict("A source of the archive was removed while it was being made.", reason=FORGOTTEN)
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
def reinstate(archive: Archive) -> None:
    """Make the archive the current one of its ref again, because exactly its work was requested. Raises ``Conflict``
    when it was withdrawn meanwhile. The caller holds the lock of the tenant."""
    _supersede(archive.tenant_id, archive.memory_ref)
    rows = Archive.objects.written_by(WRITER).filter(tenant_id=archive.tenant_id, id=archive.id)
    if rows.exclude(state=ArchiveState.WITHDRAWN).update(state=ArchiveState.CURRENT) != 1:
        raise Conflict("The archive was withdrawn.")
    archive.state = ArchiveState.CURRENT


def _supersede(tenant_id: UUID, memory_ref: str) -> None:
    rows = Archive.objects.written_by(WRITER).filter(tenant_id=tenant_id, memory_ref=memory_ref)
    rows.filter(state=ArchiveState.CURRENT).update(state=ArchiveState.SUPERSEDED)


def cached_answer(tenant_id: UUID, request_sha256: str) -> str | None:
    """The endpoint's earlier answer to exactly this request."""
    rows = Distillate.objects.of(tenant_id).filter(request_sha256=request_sha256)
    text: str | None = rows.values_list("text", flat=True).first()
    return text


def cache_answer(scope: MemoryScope, request_sha256: str, text: str, *, now: datetime) -> None:
    """Store the endpoint's answer, redacted; an existing answer to the same request stays."""
    kept = Distillate(
        tenant_id=scope.tenant_id,
        memory_ref=scope.memory_ref,
        request_sha256=request_sha256,
        text=redaction.for_derived(scope.tenant_id)(text).text,
        created_at=now,
    )
    Distillate.objects.written_by(WRITER).bulk_create([kept], ignore_conflicts=True)


# Archives withdrawn: their time is over, a subject is forgotten, a source is confidential now.


@transaction.atomic
def withdraw(tenant_id: UUID, archive_ids: Collection[UUID], because: str, *, now: datetime) -> int:
    """Delete the bytes of these archives and record why; return how many had any.

    Unless its time is over, an archive takes along what agents read of it, what an endpoint made for its ref, and the
    archives that were distilled from it. They are removed from the memory index. Entries go first: the lock of the
    ledger comes before those of the tenant and of archives.
    """
    rows = _with_bytes(tenant_id, archive_ids)
    if because != RETENTION:
        rows = _remove_with_dependents(tenant_id, rows, "deleted" if because == REQUESTED else FORGOTTEN, now)
    if not rows:
        return 0
    access.lock_tenant(tenant_id)
    withdrawn = Archive.objects.written_by(WRITER).filter(tenant_id=tenant_id).exclude(state=ArchiveState.WITHDRAWN)
    empty = {"state": ArchiveState.WITHDRAWN, "body": b"", "withdrawn_at": now, "withdrawn_because": because}
    count: int = sum(withdrawn.filter(id__in=part).update(**empty) for part in sql.in_chunks(row.id for row in rows))
    remove_from_index(tenant_id, rows, now=now)
    return count


def _with_bytes(tenant_id: UUID, archive_ids: Collection[UUID]) -> list[Archive]:
    rows = Archive.objects.of(tenant_id).defer("body").exclude(state=ArchiveState.WITHDRAWN).order_by("id")
    return [row for part in sql.in_chunks(archive_ids) for row in rows.filter(id__in=part)]


def _with_dependents(tenant_id: UUID, rows: list[Archive]) -> list[Archive]:
    found, fresh = {row.id: row for row in rows}, rows
    while fresh:
        made = archives_of_sources(tenant_id, [row.entry_id for row in fresh if row.entry_id])
        fresh = _with_bytes(tenant_id, made - found.keys())
        found |= {row.id: row for row in fresh}
    return list(found.values())


def _remove_with_dependents(tenant_id: UUID, rows: list[Archive], reason: str, now: datetime) -> list[Archive]:
    """Remove what is beside these archives and those distilled from them, and return all of these.

    The removal may have waited for the head of the ledger while another archive was stored of one of them, so they are
    looked for again; an archive that is stored later sees that its source is gone.
    """
    found, known = _with_dependents(tenant_id, rows), 0
    while len(found) > known:
        known = len(found)
        _remove_beside(tenant_id, found, reason, now)
        found = _with_dependents(tenant_id, found)
    return found


def _remove_beside(tenant_id: UUID, rows: list[Archive], reason: str, now: datetime) -> None:
    for part in sql.in_chunks(row.entry_id for row in rows if row.entry_id):
        ledger.erase.remove_entries(tenant_id, tuple(part), reason=reason, now=now)
    distillates = Distillate.objects.written_by(WRITER).filter(tenant_id=tenant_id)
    distillates.filter(memory_ref__in={row.memory_ref for row in rows}).delete()


def archives_of_sources(tenant_id: UUID, entry_ids: Collection[UUID]) -> set[UUID]:
    """The archives with bytes that were distilled from one of these entries."""
    return {row.id for row in _with_bytes(tenant_id, adapter.forget.descendants_of(tenant_id, entry_ids))}


def archives_of_forgotten(tenant_id: UUID) -> set[UUID]:
    """The archives with bytes that were distilled from an entry that was forgotten since, by lineage."""
    rows = Archive.objects.of(tenant_id).exclude(state=ArchiveState.WITHDRAWN).order_by("id")
    found: set[UUID] = set()
    for part in sql.in_chunks(rows.values_list("id", flat=True)):
        sources = provenance.sources_of(tenant_id, part)
        asked = [each.source_id for descents in sources.values() for each in descents]
        gone = adapter.forget.forgotten_entries(tenant_id, asked)
        found |= {row for row, descents in sources.items() if any(each.source_id in gone for each in descents)}
    return found


def all_dependent_archives(tenant_id: UUID, archive_ids: Collection[UUID], entry_ids: Collection[UUID]) -> set[UUID]:
    """Those of these archives that have bytes, those distilled from these entries, and those distilled from such."""
    first = {*archive_ids, *archives_of_sources(tenant_id, entry_ids)}
    return {row.id for row in _with_dependents(tenant_id, _with_bytes(tenant_id, first))}


def dependent_entries(tenant_id: UUID, entry_ids: Collection[UUID]) -> set[UUID]:
    """The entries that represent archives distilled from these entries, or from such."""
    first = _with_bytes(tenant_id, archives_of_sources(tenant_id, entry_ids))
    return {row.entry_id for row in _with_dependents(tenant_id, first) if row.entry_id}


def withdraw_of_forgotten(tenant_id: UUID, entry_ids: Collection[UUID], *, now: datetime) -> int:
    """Withdraw the archives that were distilled from these forgotten entries. An archive that is being stored meanwhile
    is either seen here, or sees that its source is gone."""
    access.lock_tenant(tenant_id)
    made = archives_of_sources(tenant_id, entry_ids)
    return withdraw(tenant_id, made, FORGOTTEN, now=now) if made else 0


def withdraw_of_sealed(
    tenant_id: UUID, entry_ids: Collection[UUID], memory_ref: str, *, now: datetime
) -> list[Archive]:
    """Withdraw the archives distilled from these entries, which are confidential now, and delete the texts that an
    endpoint made for their ref. Return those archives, oldest first."""
    access.lock_tenant(tenant_id)
    going = all_dependent_archives(tenant_id, (), entry_ids)
    withdraw(tenant_id, going, SEALED, now=now)
    Distillate.objects.written_by(WRITER).filter(tenant_id=tenant_id, memory_ref=memory_ref).delete()
    rows = Archive.objects.of(tenant_id).defer("body").order_by("id")
    return sorted((row for part in sql.in_chunks(going) for row in rows.filter(id__in=part)), key=lambda row: row.id)


@transaction.atomic
def withdraw_for_person(
    scope: TenantScope, archive_id: UUID | None, *, reason: str, distil_anew: bool, now: datetime
) -> list[Pass]:
    """Withdraw the archive because a person asks for it, with what was distilled from it. Audited, each with the
    reason. Runs that were served its text keep it.

    With ``distil_anew`` each ref that lost its current archive is distilled from what is live in it now. Returns the
    ordered passes, for the caller to queue. ``Gone`` when it is withdrawn already.
    """
    scope.check("memory:retire")
    tenant_id, said = scope.tenant_id, stored_reason(scope.tenant_id, reason)
    withdraw(tenant_id, [find(scope, archive_id).id], REQUESTED, now=now)
    rows = Archive.objects.of(tenant_id).defer("body").filter(withdrawn_because=REQUESTED, withdrawn_at=now)
    lost = list(rows.order_by("id"))
    if not lost:
        find(scope, archive_id)  # another request has withdrawn it meanwhile
    for row in lost:
        target = ids.wire("arc", row.id)
        audit.append(
            tenant_id, actor=scope.principal.id, action="archive.withdrawn", target=target, reason=said, now=now
        )
    return redistil(tenant_id, lost, now=now) if distil_anew else []


def erase_ref_name(tenant_id: UUID, archive_ids: Collection[UUID]) -> int:
    """Remove the ref from withdrawn archives whose ref names a forgotten subject."""
    rows = Archive.objects.written_by(WRITER).filter(tenant_id=tenant_id, state=ArchiveState.WITHDRAWN)
    return sum(rows.filter(id__in=part).update(memory_ref=UNNAMED) for part in sql.in_chunks(archive_ids))


def withdrawn_by_forget(tenant_id: UUID, *, since: datetime) -> list[Archive]:
    """The archives that a forget has withdrawn since then, oldest first."""
    rows = Archive.objects.of(tenant_id).filter(withdrawn_because=FORGOTTEN, withdrawn_at__gte=since)
    return list(rows.defer("body").order_by("id"))


def redistil(tenant_id: UUID, lost: Iterable[Archive], *, now: datetime) -> list[Pass]:
    """Order a distillation of what remains for each ref that ``lost`` its current archive, other than by its age.

    It has the budget of the last archive that went; a ref without entries is not distilled.
    """
    scope = tenancy.host_scope(Tenant.objects.get(id=tenant_id))
    newest = {row.memory_ref: row for row in lost}
    return [
        _order_redistillation(row, now)
        for memory_ref, row in newest.items()
        if not archives_of_ref(tenant_id, memory_ref).filter(state=ArchiveState.CURRENT).exists()
        and _has_memory(scope, memory_ref, now)
    ]


def count_rebuilt(tenant_id: UUID, archive_ids: Collection[UUID], entry_ids: Collection[UUID], *, now: datetime) -> int:
    """For how many refs ``redistil`` would order a distillation once these archives and these entries are gone."""
    scope = tenancy.host_scope(Tenant.objects.get(id=tenant_id))
    lost: dict[str, list[Archive]] = defaultdict(list)
    for row in _with_bytes(tenant_id, archive_ids):
        lost[row.memory_ref].append(row)
    going = {*entry_ids, *(row.entry_id for rows in lost.values() for row in rows if row.entry_id)}

    def is_rebuilt(memory_ref: str, rows: list[Archive]) -> bool:
        there = archives_of_ref(tenant_id, memory_ref).filter(state=ArchiveState.CURRENT)
        found = tenancy.memory_scope(scope, memory_ref)
        stays = there.exclude(id__in=[row.id for row in rows]).exists()
        return not stays and found is not None and adapter.passes.has_others(found, going, now=now)

    return sum(is_rebuilt(memory_ref, rows) for memory_ref, rows in lost.items())


def _has_memory(scope: TenantScope, memory_ref: str, now: datetime) -> bool:
    found = tenancy.memory_scope(scope, memory_ref)
    return found is not None and adapter.passes.count_live(found, now=now).entries > 0


def _order_redistillation(row: Archive, now: datetime) -> Pass:
    window, options = f"redistil/{row.id.hex}", {"tokenBudget": row.token_budget}
    order = PassOrder(DISTILL, window, "host", row.memory_ref, options, Trigger.HOST_MANAGED)
    return passes.request(row.tenant_id, order, now=now)


def withdraw_expired(*, now: datetime) -> int:
    """Withdraw archives whose time is over, of every tenant, and delete endpoint texts as old; returns how many."""
    withdrawn = 0
    while lapsed := _lapsed(now):
        for tenant_id, rows in lapsed.items():
            withdrawn += withdraw(tenant_id, rows, RETENTION, now=now)
    for tenant_id in Distillate.objects.order_by().values_list("tenant_id", flat=True).distinct():
        oldest = ids.first_of(now - timedelta(days=memory_policy.policy_of(tenant_id).archive_days))
        Distillate.objects.written_by(WRITER).filter(tenant_id=tenant_id, id__lt=oldest).delete()
    return withdrawn


def _lapsed(now: datetime) -> dict[UUID, list[UUID]]:
    rows = Archive.objects.filter(keep_until__lte=now).exclude(state=ArchiveState.WITHDRAWN).order_by("keep_until")
    found: dict[UUID, list[UUID]] = defaultdict(list)
    for tenant_id, row in rows.values_list("tenant_id", "id")[: sql.CHUNK]:
        found[tenant_id].append(row)
    return found
