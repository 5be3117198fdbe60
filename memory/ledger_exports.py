"""Exports of the ledger in the background: a file made by a worker, for the person who requested it.

An export is a pass of its own kind. Its file is stored in the database in compressed parts, so that every host serves
it and it is restored, forgotten and swept like everything else. A worker that takes an export over starts it again. A
person has one export per tenant at a time, and its file for a day.
"""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from memory import adapter, entry_files, ledger_search, passes, redaction
from memory.host import access, audit, ids, sql, tenancy
from memory.host.clock import Clock
from memory.host.errors import Conflict, Gone, Invalid, NotFound
from memory.host.expiry import expired
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope
from memory.ledger_search import LedgerFilter
from memory.models import ExportPart, Pass, PassState
from memory.passes import PassOrder
from memory.text.matching import FORGOTTEN

WRITER = "memory.ledger_exports"
KIND = "export"
CSV, JSON_LINES = "csv", "jsonl"
FORMATS = (CSV, JSON_LINES)
KEPT = timedelta(hours=24)
# Parts that one statement removes: each has some hundred kilobytes.
REMOVED_AT_ONCE = 20
QUICKLY = 1  # zlib's level: a third of the size for a few microseconds a row


@dataclass(frozen=True, slots=True)
class Export:
    """What the page shows of an export. ``is_there`` says that its file can be downloaded."""

    work: Pass
    is_there: bool

    @property
    def is_open(self) -> bool:
        return self.work.state in passes.OPEN

    @property
    def format(self) -> str:
        return str(self.work.options["format"])

    @property
    def name(self) -> str:
        return f"entries-{self.work.created_at:%Y-%m-%d}.{self.format}"

    @property
    def expires_at(self) -> datetime:
        return self.work.created_at + KEPT


def order(scope: TenantScope, wanted: LedgerFilter, form: str, *, now: datetime) -> Pass:
    """Request an export and delete this person's previous file. Audited, without the text that was searched for."""
    scope.check("memory:read")
    options = checked_options({"format": form, "filter": wanted.document})
    if redaction.for_tenant(scope.tenant_id).redact_json(options) != options:
        raise Invalid(errors=[{"field": "format", "message": "cannot be made of a filter that names a secret"}])
    with transaction.atomic():
        access.lock_tenant(scope.tenant_id)
        before = _latest(scope)
        if before and before.state in passes.OPEN:
            raise Conflict("Your last export is still being made. Cancel it first.", state=before.state)
        if before:
            _remove_parts(scope.tenant_id, [before.id])
        window = f"asked/{ids.new_id().hex}"
        row = passes.request(scope.tenant_id, PassOrder(KIND, window, scope.principal.id, options=options), now=now)
        _record(scope, "export.asked", row, {"format": form, "filteredBy": sorted(wanted.document)}, now)
    return row


def checked_options(options: JSONObject) -> JSONObject:
    """Check the format. JSON lines are for an import elsewhere, so they hold live entries only."""
    if options["format"] not in FORMATS:
        raise Invalid(errors=[{"field": "format", "message": f"must be one of {', '.join(FORMATS)}"}])
    if options["format"] == JSON_LINES and options["filter"].get("state") != "present":
        raise Invalid(errors=[{"field": "format", "message": "is of active entries; choose CSV for retired ones"}])
    return options


def latest(scope: TenantScope, *, now: datetime) -> Export | None:
    """The last export of this person, or None."""
    scope.check("memory:read")
    row = _latest(scope)
    return Export(row, _is_there(row, now)) if row else None


def _latest(scope: TenantScope) -> Pass | None:
    own = passes.of_kinds(scope.tenant_id, (KIND,)).filter(requested_by=scope.principal.id)
    return own.order_by("-id").first()


def _is_there(row: Pass, now: datetime) -> bool:
    """Whether the file is complete: a forget or the sweep removes all of its parts."""
    done = row.state == PassState.DONE and row.created_at + KEPT > now
    return done and bool(row.outcome["parts"]) and _parts(row).filter(number=row.outcome["parts"] - 1).exists()


def open_file(scope: TenantScope, *, now: datetime) -> tuple[Export, Iterator[bytes]]:
    """Return this person's last export and its file in parts; the download is audited.

    Refused when the person may see less than when it was made.
    """
    found = latest(scope, now=now)
    if found is None:
        raise NotFound("You have no export.")
    if not found.is_there:
        raise Gone("The file of this export does not exist yet, or no longer.")
    if found.work.outcome["sees"] == "all":
        scope.check("memory:retire")
    with transaction.atomic():
        _record(scope, "export.downloaded", found.work, {"rows": found.work.outcome["rows"]}, now)
    return found, _pieces(found.work)


def _pieces(row: Pass) -> Iterator[bytes]:
    """Yield one part at a time, each read by its own statement."""
    for number in range(row.outcome["parts"]):
        body = _parts(row).filter(number=number).values_list("body", flat=True).first()
        if body is None:
            raise Gone("The file of this export no longer exists.")
        yield zlib.decompress(body)


def remove(scope: TenantScope, *, now: datetime) -> None:
    """Stop this person's export, or delete its file. Audited."""
    found = latest(scope, now=now)
    if found is None:
        raise NotFound("You have no export.")
    with transaction.atomic():
        if found.is_open:
            passes.request_stop(scope.tenant_id, found.work.id, now=now)
        _remove_parts(scope.tenant_id, [found.work.id])
        _record(scope, "export.removed", found.work, {}, now)


def _record(scope: TenantScope, action: str, row: Pass, details: JSONObject, now: datetime) -> None:
    target = ids.wire("pass", row.id)
    audit.append(scope.tenant_id, actor=scope.principal.id, action=action, target=target, details=details, now=now)


# In the worker.


def carry_out(work: Pass, *, clock: Clock) -> None:
    """Write the file from its beginning, part by part, with what the person may see now."""
    if FORGOTTEN in work.options["filter"].values():
        raise Conflict("The filter named a subject that was erased; it finds other entries now.")
    now = clock()
    scope = tenancy.scope_without_request(work.tenant_id, work.requested_by, now=now)
    wanted, form = LedgerFilter.of_document(work.options["filter"]), work.options["format"]
    _remove_parts(work.tenant_id, [work.id])
    page = ledger_search.ledger_page(scope, wanted, size=1, now=now)
    total, rows, left_out, number = page.total if page.total_is_exact else 0, 0, 0, -1
    try:
        for number, (body, count, kept_back) in enumerate(_bodies(scope, wanted, form, now)):
            rows, left_out = rows + count, left_out + kept_back
            with transaction.atomic():
                _store_part(work, number, body)
                passes.progress(work, done=rows + left_out, total=total, doing="writing the file", now=clock())
    except passes.LostClaim:
        raise
    except Exception:
        _remove_parts(work.tenant_id, [work.id])
        raise
    work.total = rows + left_out
    sees = "all" if scope.can("memory:retire") else "unsealed"
    passes.finish(work, outcome={"rows": rows, "leftOut": left_out, "parts": number + 1, "sees": sees}, now=clock())


def _bodies(scope: TenantScope, wanted: LedgerFilter, form: str, now: datetime) -> Iterator[tuple[bytes, int, int]]:
    """Yield the parts of the file, each with the number of its rows and of those left out."""
    if form == JSON_LINES:
        # What has no filter goes in the order in which it was written, as ``export_memory`` prints it.
        every = wanted.is_empty
        chunks = (
            adapter.console.export_all(scope, now=now) if every else ledger_search.export_chunks(scope, wanted, now=now)
        )
        for chunk in chunks:
            lines = [line for entry in chunk if (line := entry_files.json_line(entry))]
            yield b"".join(lines), len(lines), len(chunk) - len(lines)
        return
    counts: list[int] = [0]
    chunks = ledger_search.export_chunks(scope, wanted, now=now)
    for text in entry_files.csv_parts(_counted(chunks, counts)):
        yield text.encode(), counts.pop(), 0


def _counted(
    chunks: Iterable[list[adapter.console.Exported]], counts: list[int]
) -> Iterator[list[adapter.console.Exported]]:
    for chunk in chunks:
        counts.append(len(chunk))
        yield chunk


def _store_part(work: Pass, number: int, body: bytes) -> None:
    packed, expires_at = zlib.compress(body, QUICKLY), work.created_at + KEPT
    part = ExportPart(tenant_id=work.tenant_id, pass_id=work.id, number=number, body=packed, expires_at=expires_at)
    part.insert(by=WRITER)


def _parts(row: Pass) -> QuerySet[ExportPart]:
    found: QuerySet[ExportPart] = ExportPart.objects.of(row.tenant_id).filter(pass_id=row.id)
    return found


def _remove_parts(tenant_id: UUID, pass_ids: Iterable[UUID]) -> int:
    """Delete the parts of these exports; return the number of exports that had a file."""
    found = list(ExportPart.objects.of(tenant_id).filter(pass_id__in=list(pass_ids)).values_list("pass_id", "id"))
    _delete(ExportPart.objects.written_by(WRITER).filter(tenant_id=tenant_id), (row for _, row in found))
    return len({of for of, _ in found})


def _delete(rows: QuerySet[ExportPart], wanted: Iterable[UUID]) -> int:
    return sum(int(rows.filter(id__in=chunk).delete()[0]) for chunk in sql.in_chunks(wanted, REMOVED_AT_ONCE))


def sweep(*, now: datetime) -> int:
    """Delete files older than a day; return the number of their parts."""
    lapsed = ExportPart.objects.filter(expired(now)).values_list("id", flat=True)
    return _delete(ExportPart.objects.written_by(WRITER), list(lapsed))


# For a forget.


def with_files(tenant_id: UUID) -> list[UUID]:
    """Return the exports of the tenant that have a file or are under way."""
    finished = ExportPart.objects.of(tenant_id).order_by().values_list("pass_id", flat=True).distinct()
    under_way = passes.of_kinds(tenant_id, (KIND,)).filter(state=PassState.CLAIMED, state__in=passes.OPEN)
    return sorted({*finished, *under_way.values_list("id", flat=True)})


@transaction.atomic
def forget(tenant_id: UUID, pass_ids: Iterable[UUID], *, now: datetime) -> int:
    """Delete the files of these exports, which may hold a forgotten subject under another name; return their number. A
    worker that makes one loses its claim, and the next starts over with the entries that remain."""
    wanted = list(pass_ids)
    taken = sum(passes.LEASE.release(tenant_id, row, holder=holder) for row, holder in _claimed(tenant_id, wanted))
    return max(taken, _remove_parts(tenant_id, wanted))


def _claimed(tenant_id: UUID, wanted: list[UUID]) -> list[tuple[UUID, str]]:
    rows = passes.of_kinds(tenant_id, (KIND,)).filter(id__in=wanted, state=PassState.CLAIMED)
    return list(rows.exclude(holder="").values_list("id", "holder"))


def texts(tenant_id: UUID) -> Iterator[tuple[UUID, str]]:
    """Yield the text of each part of every file, with its export."""
    rows = ExportPart.objects.of(tenant_id).order_by("pass_id", "number").values_list("pass_id", "body")
    for pass_id, body in rows.iterator(chunk_size=1):
        yield pass_id, zlib.decompress(body).decode()
