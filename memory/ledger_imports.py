"""Imports of memory from a file that a person uploads: tried by a worker first, then confirmed and carried out.

A dry run and the import are passes of one kind over the same upload. Its lines are stored without secrets of the
tenant, sealed, in parts; a part is imported in the transaction that empties it and records what became of its lines, so
a worker that takes over goes on where the last one was killed. Each line goes through ``entry_files.import_lines``, as
with the command. A person has one open import per tenant, and the upload for a day.
"""

import hashlib
import json
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import IO
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, Sum
from django.db.models.functions import Left

from memory import entry_files, ledger, passes, redaction
from memory.entry_files import FileForm, Incoming, LineResult, Seen
from memory.host import access, audit, ids, request_slots, sql, tenancy, vault
from memory.host.clock import Clock
from memory.host.errors import Conflict, Gone, Invalid, NotFound
from memory.host.expiry import expired
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope
from memory.models import Pass, PassState, UploadPart
from memory.passes import PassOrder
from memory.text.matching import FORGOTTEN
from memory.text.redactor import Redactor

WRITER = "memory.ledger_imports"
KIND = "import"
# An import writes under any ref and for any agent, and makes agents and namespaces that are not there.
SCOPES = ("memory:write", "agents:manage")
KEPT = timedelta(hours=24)
AT_ONCE = 50  # lines of a part
APART = 5_000  # lines of a part with the blank ones among them
# Seconds after which a transaction takes up no further part, and the pause behind it: other writers wait that long.
HOLD_S, BREATH_S = 0.05, 0.003
PART_BYTES = 1_000_000
MOST_LINES = 500_000
MOST_REFUSED = 10_000  # refused lines after which a dry run gives up
LONGEST_NAME, LONGEST_REASON = 120, 300
LOOKED_AT = 20  # lines by which the form of a file is detected
LISTED = 10
QUICKLY = 1  # zlib's level
SAME = ("sha256", "format", "memoryRef", "agentId")  # the options by which an upload is known again
STORED, THERE, GONE, REFUSED = "stored", "here", "gone", "refused"
LETTERS = {entry_files.STORED: "s", entry_files.WOULD_BE_STORED: "s", entry_files.THERE: "h", entry_files.REFUSED: "r"}
WORDS = {"s": STORED, "h": THERE, "g": GONE, "r": REFUSED}
ERASED = "The uploaded file no longer exists. Upload it again."
NEWER = "There is a newer dry run than the one you read. Read its report first."
# What a file begins with that is no text of lines, and what to do about it.
BEGINNINGS = (
    (b"\x1f\x8b", "is compressed; upload the text itself"),
    (b"PK\x03\x04", "is a ZIP file; upload the text itself"),
    (b"\xff\xfe", "is UTF-16; save it as UTF-8"),
    (b"\xfe\xff", "is UTF-16; save it as UTF-8"),
    (b"id,memoryRef,", "is a CSV export; export it as JSON lines"),
    (b"[", "is one JSON document; write one memory a line, for example with jq -c '.[]'"),
    (b'{"results":', "is one JSON document; write one memory a line, for example with jq -c '.results[]'"),
)


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded file: its last dry run, and its import once that was confirmed. ``is_there`` says that all of its
    bytes are still stored."""

    id: UUID
    check: Pass
    work: Pass | None
    is_there: bool

    @property
    def latest(self) -> Pass:
        return self.work or self.check

    @property
    def is_open(self) -> bool:
        return self.latest.state in passes.OPEN

    @property
    def state(self) -> str:
        """Where it stands, in a word."""
        if self.is_open:
            return "importing" if self.work else "checking"
        if self.latest.state == PassState.DONE:
            return "imported" if self.work else "checked" if self.is_there else "erased"
        return "cancelled" if self.latest.state == PassState.CANCELLED else "failed"

    @property
    def is_checked(self) -> bool:
        """Whether the import can be confirmed."""
        return self.work is None and self.check.state == PassState.DONE and self.is_there

    @property
    def is_pending(self) -> bool:
        """Whether it is being checked, or can be confirmed."""
        return self.work is None and (self.is_open or self.is_checked)

    @property
    def options(self) -> JSONObject:
        found: JSONObject = self.check.options
        return found

    @property
    def expires_at(self) -> datetime:
        return self.latest.created_at + KEPT


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that is refused, and why."""

    line: int
    reason: str


def check_scope(scope: TenantScope) -> None:
    """Refuse a principal who may not import."""
    for needed in SCOPES:
        scope.check(needed)


# Uploading.


def upload(scope: TenantScope, file: IO[bytes], source: FileForm, name: str, *, now: datetime) -> Pass:
    """Store the file and request its dry run; audited. An empty ``form`` is detected. This person's earlier upload is
    erased; the same file again is the same upload as long as that is there."""
    check_scope(scope)
    _require_idle(scope)
    first = _beginning(file)
    source = FileForm(source.form or entry_files.detect_form(first), source.memory_ref, source.agent_id)
    entry_files.check_source(scope, source)
    redactor = redaction.for_tenant(scope.tenant_id)
    if redactor.redact(source.memory_ref).count or redactor.redact(source.agent_id).count:
        raise Invalid(errors=[{"field": "memoryRef", "message": "and the agent hold no secret of the tenant"}])
    file.seek(0)
    sha256 = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # it has readinto
    file.seek(0)
    upload_id, requested = ids.new_id(), None
    try:
        lines, parts = _store(scope.tenant_id, upload_id, file, redactor, now)
        options = {
            "upload": upload_id.hex,
            "file": redactor.redact(name[-LONGEST_NAME:]).text,
            "sha256": sha256,
            "format": source.form,
            "memoryRef": source.memory_ref,
            "agentId": source.agent_id,
            "lines": lines,
            "parts": parts,
        }
        with transaction.atomic():
            access.lock_tenant(scope.tenant_id)
            requested = _request(scope, upload_id, options, now)
    finally:
        if requested is None or requested.options["upload"] != upload_id.hex:
            _parts(scope.tenant_id, upload_id).delete()
    return requested


def _request(scope: TenantScope, upload_id: UUID, options: JSONObject, now: datetime) -> Pass:
    before = _latest(scope, now=now)
    if before and before.is_pending and all(before.options[each] == options[each] for each in SAME):
        return before.check
    _require_idle(scope)
    if before:
        _erase(scope.tenant_id, before.id)
    row = _request_check(scope, upload_id, options, 1, now)
    _record(scope, "import.uploaded", row, {each: options[each] for each in ("sha256", "format", "lines")}, now)
    return row


def _request_check(scope: TenantScope, upload_id: UUID, options: JSONObject, number: int, now: datetime) -> Pass:
    window = f"{upload_id.hex}/check/{number}"
    order = PassOrder(KIND, window, scope.principal.id, options=options, dry_run=True)
    return passes.request(scope.tenant_id, order, now=now)


def _require_idle(scope: TenantScope) -> None:
    if row := _own(scope).filter(state__in=passes.OPEN, dry_run=False).first():
        raise Conflict("Your last import is still running. Wait for it, or cancel it first.", state=row.state)


def _beginning(file: IO[bytes]) -> list[bytes]:
    """Return the first lines of a file that may be one of lines; refuses any other by what it begins with."""
    file.seek(0)
    begins = file.read(1024)
    problem = next((words for magic, words in BEGINNINGS if begins.lstrip().startswith(magic)), "")
    if not problem and b"\0" in begins:
        problem = "is no text"
    file.seek(0)
    first = [line for _, line in islice(entry_files.lines_of(file), LOOKED_AT)] if not problem else []
    if not first:
        raise Invalid(errors=[{"field": "file", "message": problem or "is empty"}])
    return first


def _store(tenant_id: UUID, upload_id: UUID, file: IO[bytes], redactor: Redactor, now: datetime) -> tuple[int, int]:
    """Store the lines in parts, without any secret of the tenant; return how many lines and parts there are."""
    lines, number = 0, -1
    for number, (first, part) in enumerate(_in_parts(entry_files.lines_of(file))):
        lines += sum(map(bool, part))
        if lines > MOST_LINES:
            raise Invalid(errors=[{"field": "file", "message": f"has more than {MOST_LINES:,} lines; split it"}])
        row = UploadPart(tenant_id=tenant_id, upload_id=upload_id, number=number, first_line=first)
        body = zlib.compress(b"\n".join(_without_secrets(redactor, part)), QUICKLY)
        row.body, row.expires_at = vault.seal_bytes(row.id, body), now + KEPT
        row.insert(by=WRITER)
        request_slots.breathe()  # a file of megabytes may be ten thousand parts
    return lines, number + 1


def _in_parts(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the lines of a part, blank ones among them, with the number of the first."""
    first, part, held, size = 0, list[bytes](), 0, 0
    for number, line in lines:
        if part and (held >= AT_ONCE or number - first >= APART or size + len(line) > PART_BYTES):
            yield first, part
            part, held, size = [], 0, 0
        if not part:
            first = number
        part += [b""] * (number - first - len(part))
        part.append(line)
        held += 1
        size += len(line)
    if part:
        yield first, part


def _without_secrets(redactor: Redactor, lines: Sequence[bytes]) -> Sequence[bytes]:
    """Return the lines without secrets. A text of a line may hide one in escapes that its value does not have."""
    if redactor is redaction.NOTHING:
        return lines
    together = b"\n".join(lines)
    if b"\\u" not in together and redactor.is_clean([together.decode(errors="replace")]):
        return lines
    return [_line_without_secrets(redactor, line) for line in lines]


def _line_without_secrets(redactor: Redactor, line: bytes) -> bytes:
    try:
        text = line.decode()
    except UnicodeDecodeError as problem:  # it is refused, for this byte
        return b" " * problem.start + line[problem.start : problem.start + 1]
    try:
        said = json.loads(text)
        clean = redactor.redact_json(said)
    except (ValueError, RecursionError):  # it is refused
        return redactor.redact(text).text.encode()
    return line if clean is said else json.dumps(clean).encode()


# What a person sees of it.


def find(scope: TenantScope, upload_id: UUID | None, *, now: datetime) -> Upload:
    """Return this person's upload, or ``NotFound``."""
    check_scope(scope)
    found = list(_own(scope).filter(window__startswith=f"{upload_id.hex}/").order_by("id")) if upload_id else []
    if upload_id is None or not found:
        raise NotFound("You have no import by that id.")
    return _upload(upload_id, found, now)


def recent(scope: TenantScope, *, now: datetime) -> list[Upload]:
    """Return the last imports of this person, the newest first."""
    check_scope(scope)
    by_upload: dict[str, list[Pass]] = {}
    for row in _own(scope).order_by("-id")[: 5 * LISTED]:
        by_upload.setdefault(row.window.partition("/")[0], []).insert(0, row)
    newest = list(by_upload.items())[:LISTED]
    return [_upload(UUID(hex=upload), rows, now) for upload, rows in newest if any(row.dry_run for row in rows)]


def awaiting_confirmation(scope: TenantScope, *, now: datetime) -> QuerySet[Pass]:
    """Return the dry run whose report this person has not answered, while its upload is there."""
    own = _own(scope)
    first = UploadPart.objects.of(scope.tenant_id).filter(number=0, expires_at__gt=now).exclude(body=b"")
    is_there = Exists(first.annotate(upload=sql.hex_id("upload_id")).filter(upload=Left(OuterRef("window"), 32)))
    newer = Exists(own.filter(id__gt=OuterRef("id")))
    return own.filter(~newer, is_there, dry_run=True, state=PassState.DONE).order_by("id")


def _latest(scope: TenantScope, *, now: datetime) -> Upload | None:
    return next(iter(recent(scope, now=now)), None)


def _own(scope: TenantScope) -> QuerySet[Pass]:
    return passes.of_kinds(scope.tenant_id, (KIND,)).filter(requested_by=scope.principal.id)


def _upload(upload_id: UUID, rows: Sequence[Pass], now: datetime) -> Upload:
    check = [row for row in rows if row.dry_run][-1]
    work = next((row for row in rows if not row.dry_run), None)
    parts = UploadPart.objects.of(check.tenant_id).filter(upload_id=upload_id, expires_at__gt=now)
    is_there = work is None and parts.exclude(body=b"").count() == check.options["parts"]
    return Upload(upload_id, check, work, is_there)


def refusals(scope: TenantScope, found: Upload) -> Iterator[Refused]:
    """Yield the refused lines of the last dry run or import, by their numbers."""
    check_scope(scope)
    rows = UploadPart.objects.of(scope.tenant_id).filter(upload_id=found.id, refused__gt=0).order_by("number")
    for report in rows.values_list("report", flat=True).iterator(chunk_size=20):
        yield from (Refused(line, reason) for line, reason in report["refused"])


def first_refusals(scope: TenantScope, found: Upload, *, most: int) -> tuple[list[Refused], int]:
    """Return the first refused lines, and how many there are."""
    rows = UploadPart.objects.of(scope.tenant_id).filter(upload_id=found.id)
    total = rows.aggregate(total=Sum("refused"))["total"] or 0
    return list(islice(refusals(scope, found), most)) if total else [], total


def first_entries(scope: TenantScope, found: Upload, *, most: int, now: datetime) -> list[Incoming]:
    """Return the first entries of the upload, without any secret of the tenant."""
    check_scope(scope)
    part = UploadPart.objects.of(scope.tenant_id).filter(upload_id=found.id, number=0).first()
    redactor = redaction.for_tenant(scope.tenant_id)
    lines = (_line_without_secrets(redactor, line) for _, line in _lines(part)) if part else ()
    return list(islice(entry_files.read_entries(lines, _source(found.options), now=now), most))


# Confirming, checking again, cancelling.


def confirm(scope: TenantScope, upload_id: UUID | None, *, check: str, sha256: str, now: datetime) -> Pass:
    """Request the import of exactly what the dry run ``check`` looked at; audited. Confirming again returns the same
    pass. Raises ``Conflict`` when there is a newer dry run, or when its report would be another one now."""
    found = find(scope, upload_id, now=now)
    if found.work:
        return found.work
    _require_as_checked(scope, found, check, sha256)
    options = {**found.options, "check": check}
    order = PassOrder(KIND, f"{found.id.hex}/import", scope.principal.id, options=options)
    with transaction.atomic():
        access.lock_tenant(scope.tenant_id)
        latest = find(scope, found.id, now=now).latest
        if latest != found.check and latest.dry_run:
            raise Conflict(NEWER)
        if latest != found.check:
            return latest
        row = passes.request(scope.tenant_id, order, now=now)
        _parts(scope.tenant_id, found.id).update(expires_at=now + KEPT)
        _record(scope, "import.confirmed", row, {each: options[each] for each in ("sha256", "lines")}, now)
    return row


def _require_as_checked(scope: TenantScope, found: Upload, check: str, sha256: str) -> None:
    outcome = found.check.outcome
    if not found.is_there:
        raise Conflict(ERASED)
    if check != ids.wire("pass", found.check.id) or sha256 != found.options["sha256"]:
        raise Conflict(NEWER)
    if found.check.state != PassState.DONE:
        raise Conflict("The dry run is not done yet.", state=found.check.state)
    if outcome["vault"] != _vault_version(scope.tenant_id):
        raise Conflict("Secrets of the vault changed since the dry run, so other texts would be redacted.")
    if outcome["position"] != ledger.head.position(scope.tenant_id) and outcome["known"] != _known(
        scope.tenant_id, found.id
    ):
        raise Conflict("Some of these entries were written, removed or forgotten here since the dry run.")


def check_again(scope: TenantScope, upload_id: UUID | None, *, now: datetime) -> Pass:
    """Request another dry run over the same upload; one that is under way is returned."""
    with transaction.atomic():
        access.lock_tenant(scope.tenant_id)
        found = find(scope, upload_id, now=now)
        if found.work or not found.is_there:
            raise Conflict(ERASED)
        if found.is_open:
            return found.check
        number = int(found.check.window.rpartition("/")[2]) + 1
        return _request_check(scope, found.id, found.options, number, now)


def remove(scope: TenantScope, upload_id: UUID | None, *, now: datetime) -> Upload:
    """Stop the dry run or the import, and erase the upload; what is imported stays. Audited, unless both were over."""
    found = find(scope, upload_id, now=now)
    with transaction.atomic():
        if found.is_open:
            passes.request_stop(scope.tenant_id, found.latest.id, now=now)
        if _erase(scope.tenant_id, found.id) or found.is_open:
            _record(scope, "import.removed", found.latest, {"state": found.latest.state}, now)
    return found


def _record(scope: TenantScope, action: str, row: Pass, details: JSONObject, now: datetime) -> None:
    target = ids.wire("run", row.run_id)
    audit.append(scope.tenant_id, actor=scope.principal.id, action=action, target=target, details=details, now=now)


# In the worker.


def carry_out(work: Pass, *, clock: Clock) -> None:
    """Try or import the lines part by part, each with what the person may do then. The upload is erased when that ends,
    but for a dry run that is done."""
    upload_id = UUID(hex=work.options["upload"])
    try:
        if FORGOTTEN in work.options.values():
            raise Conflict("The upload named a subject that was erased.")
        scope = _scope_now(work, clock())
        counts, changed = _go_through(work, upload_id, clock)
    except passes.LostClaim:
        raise
    except Exception:
        _erase(work.tenant_id, upload_id)
        raise
    outcome: JSONObject = {WORDS[letter]: counts[letter] for letter in WORDS}
    with transaction.atomic():
        if work.dry_run:
            tenant_id = work.tenant_id
            outcome |= {"position": ledger.head.position(tenant_id), "known": _known(tenant_id, upload_id)}
            outcome["vault"] = _vault_version(tenant_id)
        else:
            details = {**outcome, "sha256": work.options["sha256"]}
            entry_files.record_import(scope, work.run_id, details, now=clock())
            outcome["changed"] = changed
        passes.finish(work, outcome=outcome, now=clock())


def _scope_now(work: Pass, now: datetime) -> TenantScope:
    """Return the person's scope as it is now, or refuse: an import of minutes ends when their rights are taken back."""
    scope = tenancy.scope_without_request(work.tenant_id, work.requested_by, now=now)
    check_scope(scope)
    return scope


def _go_through(work: Pass, upload_id: UUID, clock: Clock) -> tuple[Counter[str], int]:
    """Return the number of lines by result, and of those with another result than in the dry run."""
    rows, total = _parts(work.tenant_id, upload_id), work.options["lines"]
    doing = "checking lines" if work.dry_run else "importing"
    counts, changed, seen, number = Counter[str](), 0, Seen(), 0
    while number < work.options["parts"]:
        done: list[JSONObject] = []
        with transaction.atomic():
            passes.progress(work, done=counts.total(), total=total, doing=doing, now=clock())
            scope = _scope_now(work, clock())
            began = time.perf_counter()
            while number < work.options["parts"] and (not done or time.perf_counter() < began + HOLD_S):
                part: UploadPart | None = rows.select_for_update().filter(number=number).first()
                if part is None:
                    raise Gone(ERASED)
                if part.reported_by != work.id:
                    _look_through(scope, work, part, seen, clock())
                elif work.dry_run:  # tried by a worker that has died
                    seen.ids.update(_new_ids(part))
                    seen.addresses.update(_addresses(part, _source(work.options), clock()))
                done.append(part.report)
                number += 1
        counts.update(chain.from_iterable(report["results"] for report in done))
        changed += sum(report["changed"] for report in done)
        if work.dry_run and counts["r"] > MOST_REFUSED:
            raise Invalid(f"More than {MOST_REFUSED:,} lines are refused.")
        time.sleep(BREATH_S)
    return counts, changed


def _new_ids(part: UploadPart) -> Iterator[UUID]:
    """Yield the ids of the lines of a part that would be stored; a refused line has none."""
    letters = part.report["results"].replace(LETTERS[entry_files.REFUSED], "")
    yield from (UUID(bytes=each) for each, letter in zip(_entry_ids(part), letters, strict=True) if letter == "s")


def _addresses(part: UploadPart, source: FileForm, now: datetime) -> Iterator[tuple[str, str, str]]:
    """Yield the addresses of the lines of a part that would be stored."""
    for (_, line), letter in zip(_lines(part), part.report["results"], strict=True):
        if letter == "s" and (address := entry_files.read_line(line, source, now=now).address):
            yield address.unique


def _look_through(scope: TenantScope, work: Pass, part: UploadPart, seen: Seen, now: datetime) -> None:
    """Try or import the lines of a part, and record what became of them."""
    if not part.body:
        raise Gone(ERASED)
    source, dry_run = _source(work.options), work.dry_run
    results = entry_files.import_lines(scope, work.run, _lines(part), source, dry_run=dry_run, now=now)
    results = list(map(seen.result_now, results)) if dry_run else results
    letters = "".join(map(_letter, results))
    before = part.report.get("results", letters)
    changed = sum(old != new for old, new in zip(before, letters, strict=True))
    redact = redaction.for_tenant(work.tenant_id).redact
    refused = [[each.number, redact(each.reason).text[:LONGEST_REASON]] for each in results if each.reason]
    part.report = {"results": letters, "changed": changed, "refused": refused}
    part.refused, part.reported_by = len(refused), work.id
    part.entry_ids = b"".join(each.entry_id.bytes for each in results if each.entry_id)
    if not work.dry_run:
        part.body = b""
    part.save(by=WRITER, update_fields=["body", "entry_ids", "report", "refused", "reported_by"])


def _letter(result: LineResult) -> str:
    return LETTERS.get(result.outcome, "g")


def _lines(part: UploadPart) -> Iterator[tuple[int, bytes]]:
    if part.body:
        body = zlib.decompress(vault.open_bytes(part.id, bytes(part.body)))
        yield from ((number, line) for number, line in enumerate(body.split(b"\n"), part.first_line) if line)


def _source(options: JSONObject) -> FileForm:
    return FileForm(options["format"], options["memoryRef"], options["agentId"])


def _entry_ids(part: UploadPart) -> list[bytes]:
    joined = bytes(part.entry_ids)
    return [joined[at : at + 16] for at in range(0, len(joined), 16)]


def _known(tenant_id: UUID, upload_id: UUID) -> int:
    """Return how many entries of the upload the ledger has or had."""
    parts = UploadPart.objects.of(tenant_id).filter(upload_id=upload_id).only("entry_ids")
    own = (UUID(bytes=each) for part in parts.iterator(chunk_size=20) for each in _entry_ids(part))
    return sum(len(ledger.entries.known_ids(tenant_id, chunk)) for chunk in sql.in_chunks(own))


def _vault_version(tenant_id: UUID) -> str:
    return hashlib.sha256(repr(vault.versions_held_by(tenant_id)).encode()).hexdigest()[:16]


# The bytes.


def _parts(tenant_id: UUID, upload_id: UUID) -> QuerySet[UploadPart]:
    rows: QuerySet[UploadPart] = UploadPart.objects.written_by(WRITER).filter(tenant_id=tenant_id, upload_id=upload_id)
    return rows


def _erase(tenant_id: UUID, upload_id: UUID) -> int:
    """Erase the bytes of an upload, and keep what became of its lines."""
    return int(_parts(tenant_id, upload_id).exclude(body=b"").update(body=b""))


def sweep(*, now: datetime) -> int:
    """Delete what is left of uploads older than a day; return the number of their parts."""
    lapsed = UploadPart.objects.filter(expired(now)).values_list("id", flat=True)
    rows = UploadPart.objects.written_by(WRITER)
    return sum(int(rows.filter(id__in=chunk).delete()[0]) for chunk in sql.in_chunks(list(lapsed)))


# For a forget.


def with_files(tenant_id: UUID) -> list[UUID]:
    """Return the uploads of the tenant that have bytes."""
    rows = UploadPart.objects.of(tenant_id).exclude(body=b"").order_by()
    return sorted(set(rows.values_list("upload_id", flat=True).distinct()))


@transaction.atomic
def forget(tenant_id: UUID, upload_ids: Iterable[UUID], *, now: datetime) -> int:
    """Erase these uploads, which may hold a forgotten subject under another name; return their number. A dry run or an
    import under way finds nothing more to read, and ends."""
    return sum(bool(_erase(tenant_id, upload_id)) for upload_id in upload_ids)


def texts(tenant_id: UUID) -> Iterator[tuple[UUID, str]]:
    """Yield each line of every upload, as its values read, with the upload."""
    for part in UploadPart.objects.of(tenant_id).exclude(body=b"").order_by("id").iterator(chunk_size=1):
        for _, line in _lines(part):
            text = line.decode(errors="replace")
            with suppress(ValueError, RecursionError):
                text = json.dumps(json.loads(text), ensure_ascii=False)
            yield part.upload_id, text
