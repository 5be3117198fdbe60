"""Memory from a file in the browser: uploaded, tried by a worker, confirmed by who has read its report, imported."""

from collections.abc import Callable
from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory import ledger_imports, tasks
from memory.entry_files import FileForm, Incoming
from memory.forms import ImportConfirmForm, ImportForm
from memory.host import exports, ids, pages, tenancy
from memory.host.errors import Conflict
from memory.host.pages import Cleaned
from memory.host.tenancy import TenantScope
from memory.ledger.entries import AddressedValue
from memory.ledger_imports import Upload
from memory.models import Pass
from memory.wire import instant

SHOWN = 5  # first entries
LISTED = 100  # refused lines
COLUMNS = ("id", "file", "format", "sha256", "lines", "state", "uploadedAt")
CALLED = {"format": "form", "memoryRef": "memory_ref", "agentId": "agent_id"}


@pages.parameters("format")
@require_http_methods(["GET", "HEAD", "POST"])
def imports(request: HttpRequest) -> HttpResponseBase:
    """The upload, and this person's last imports."""
    scope, now = tenancy.scope_of(request), timezone.now()
    ledger_imports.check_scope(scope)
    if file_format := pages.file_format(request):
        rows = map(_row, ledger_imports.recent(scope, now=now))
        return exports.listing(file_format, "imports", rows, columns=COLUMNS)
    form = ImportForm(request.POST, request.FILES) if request.method == "POST" else ImportForm()
    conflict, status = "", 200
    if form.is_bound:
        sent = pages.submit(form, lambda data: _uploaded(scope, data), called=CALLED)
        if sent.result:
            return _to(sent.result)
        conflict, status = sent.conflict.message if sent.conflict else "", sent.status
    recent = [(_wire(each), each) for each in ledger_imports.recent(scope, now=now)]
    context = {"nav": "settings", "now": now, "form": form, "conflict": conflict, "recent": recent}
    context |= pages.files(request) if recent else {}
    return pages.render(request, "memory/imports.html", context, status=status)


def _uploaded(scope: TenantScope, data: Cleaned) -> Pass:
    """Stored part by part, in short transactions; the worker's own look finds a pass that was not queued after it."""
    source = FileForm(data["form"], data["memory_ref"], data["agent_id"])
    row = ledger_imports.upload(scope, data["file"].file, source, data["file"].name, now=timezone.now())
    tasks.enqueue_pass(row)
    return row


def _to(row: Pass) -> HttpResponse:
    return redirect("memory-import", f"imp_{row.options['upload']}")


def _row(found: Upload) -> dict[str, object]:
    told = {name: found.options[name] for name in ("file", "format", "sha256", "lines")}
    return {"id": _wire(found), **told, "state": found.state, "uploadedAt": instant(found.check.created_at)}


def _wire(found: Upload) -> str:
    return ids.wire("imp", found.id)


@pages.parameters("format")
@require_safe
def one_import(request: HttpRequest, import_id: str) -> HttpResponseBase:
    """How far an import is, its report, and what to decide about it; or its refused lines as a file."""
    scope = tenancy.scope_of(request)
    found = _find(scope, import_id)
    if file_format := pages.file_format(request):
        rows = ({"line": each.line, "reason": each.reason} for each in ledger_imports.refusals(scope, found))
        return exports.listing(file_format, "refused", rows, columns=("line", "reason"))
    return _page(request, scope, found)


def _find(scope: TenantScope, import_id: str) -> Upload:
    return ledger_imports.find(scope, ids.parse("imp", import_id), now=timezone.now())


def _page(request: HttpRequest, scope: TenantScope, found: Upload, conflict: Conflict | None = None) -> HttpResponse:
    now, latest = timezone.now(), found.latest
    lines, refused = ledger_imports.first_refusals(scope, found, most=LISTED)
    first = ledger_imports.first_entries(scope, found, most=SHOWN, now=now) if found.is_checked else []
    context = {
        "nav": "settings",
        "now": now,
        "import_id": _wire(found),
        "upload": found,
        "latest": latest,
        "check_id": ids.wire("pass", found.check.id),
        "run_id": ids.wire("run", latest.run_id),
        "seconds": ((latest.finished_at or now) - latest.created_at).total_seconds(),
        "refusal": (latest.run.error or {}).get("message", "") if latest.code else "",
        "refused": refused,
        "lines": lines,
        "entries": [_entry(each, now) for each in first],
        "conflict": conflict,
        **(pages.files(request) if refused else {}),
    }
    status = 409 if conflict else pages.poll_status(request, over=not found.is_open)
    return pages.render(request, "memory/import.html", context, fragment="memory/import_state.html", status=status)


def _entry(incoming: Incoming, now: datetime) -> dict[str, object]:
    """An entry of the file as a row. A value that is stored encrypted is not shown."""
    what = incoming.entry.what
    row: dict[str, object] = {"created_at": incoming.entry.created_at, "tags": what.tags, "now": now}
    if isinstance(what, AddressedValue):
        address = what.address
        place = f"{address.tier} {address.namespace}/{address.key}"
        return {**row, "place": place, "agent": address.agent_id, "value": "" if address.sensitivity else what.value}
    return {**row, "place": incoming.memory_ref, "agent": what.agent_id, "content": what.content}


@require_POST
def confirm(request: HttpRequest, import_id: str) -> HttpResponse:
    """Import exactly what the dry run named in the form has looked at."""
    return _act(request, import_id, ledger_imports.confirm)


@require_POST
def check_again(request: HttpRequest, import_id: str) -> HttpResponse:
    """Another dry run over the same upload."""
    return _act(
        request, import_id, lambda scope, upload, *, now, **_: ledger_imports.check_again(scope, upload, now=now)
    )


def _act(request: HttpRequest, import_id: str, act: Callable[..., Pass]) -> HttpResponse:
    """Request a pass and queue it; a conflict is shown above the report."""
    scope, now = tenancy.scope_of(request), timezone.now()
    found = _find(scope, import_id)
    sent = pages.submit(ImportConfirmForm(request.POST), lambda data: act(scope, found.id, **data, now=now))
    if not sent.result:
        return _page(request, scope, found, sent.conflict)
    tasks.enqueue_pass(sent.result)
    return _to(sent.result)


@require_POST
def remove(request: HttpRequest, import_id: str) -> HttpResponse:
    """The import is cancelled, and the upload erased."""
    scope = tenancy.scope_of(request)
    found = ledger_imports.remove(scope, _find(scope, import_id).id, now=timezone.now())
    messages.success(request, "The import is cancelled, and the uploaded file is erased.")
    return _to(found.latest)
