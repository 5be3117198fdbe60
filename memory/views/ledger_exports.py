"""Exporting the ledger: what goes into the file, how far it is, and the file itself."""

from django.db import transaction
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from memory import ledger_exports, search, tasks
from memory.forms import ExportForm
from memory.host import pages, tenancy
from memory.host.errors import Conflict
from memory.host.tenancy import TenantScope
from memory.models import Pass
from memory.search import LedgerFilter
from memory.views import ledger

CONTENT_TYPES = {
    ledger_exports.CSV: "text/csv; charset=utf-8",
    ledger_exports.JSON_LINES: "application/jsonl; charset=utf-8",
}


@pages.parameters(*ledger.FIELDS, *ledger.TIMES)
@require_http_methods(["GET", "HEAD", "POST"])
def ledger_export(request: HttpRequest) -> HttpResponse:
    """What the address filters goes into a file: a form to begin with it, and this person's export."""
    scope = tenancy.scope_of(request)
    scope.check("memory:read")
    wanted = ledger.wanted_of(request, timezone.now())
    if request.method != "POST":
        return _page(request, scope, wanted, ExportForm())
    form = ExportForm(request.POST)
    sent = pages.submit(form, lambda data: _ordered(scope, wanted, data["format"]))
    if sent.result:
        return redirect(pages.address(request))
    return _page(request, scope, wanted, form, conflict=sent.conflict, status=sent.status)


@transaction.atomic
def _ordered(scope: TenantScope, wanted: LedgerFilter, form: str) -> Pass:
    """Asked for and queued together, or neither."""
    row = ledger_exports.order(scope, wanted, form, now=timezone.now())
    tasks.enqueue_export(row)
    return row


def _page(
    request: HttpRequest,
    scope: TenantScope,
    wanted: LedgerFilter,
    form: ExportForm,
    *,
    conflict: Conflict | None = None,
    status: int = 200,
) -> HttpResponse:
    now = timezone.now()
    found = ledger_exports.latest(scope, now=now)
    context: dict[str, object] = {"nav": "memory", "now": now, "export": found, "here": pages.address(request)}
    if found:
        context["seconds"] = ((found.work.finished_at or now) - found.work.created_at).total_seconds()
    if pages.wants_fragment(request):
        status = pages.poll_status(request, over=found is None or not found.is_open)
    else:
        context |= {"form": form, "conflict": conflict, "chips": ledger.chips_of(request)}
        context["page"] = search.ledger_page(scope, wanted, size=1, now=now)
    return pages.render(request, "memory/export.html", context, fragment="memory/export_state.html", status=status)


@require_POST
def download(request: HttpRequest) -> HttpResponseBase:
    """The file. A POST, since it is put on record."""
    found, pieces = ledger_exports.open_file(tenancy.scope_of(request), now=timezone.now())
    response = StreamingHttpResponse(pieces, content_type=CONTENT_TYPES[found.format])
    response["Content-Disposition"] = f'attachment; filename="{found.name}"'
    response["Cache-Control"] = "no-store"
    return response


@require_POST
def remove(request: HttpRequest) -> HttpResponse:
    """The export is cancelled, or its file deleted."""
    ledger_exports.remove(tenancy.scope_of(request), now=timezone.now())
    return redirect(pages.back(request, reverse("memory-export")))
