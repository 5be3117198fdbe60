"""The audit log: what was done, by whom, in a chain that anybody with the permission can verify."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memory.forms import RangeForm
from memory.host import access, auditing, exports, pages, tenancy
from memory.host.auditing import AuditPage
from memory.host.checkpoints import Finding

COLUMNS = ("seq", "occurredAt", "actor", "action", "target", "details", "prevHash", "entryHash", "tenant")


@pages.parameters("before", "format")
@require_safe
def audit(request: HttpRequest) -> HttpResponseBase:
    """The records, newest first."""
    if request.GET.get("format") in exports.FORMATS:
        rows = auditing.export(tenancy.scope_of(request), now=timezone.now())
        return exports.listing(request.GET["format"], "records", rows, columns=COLUMNS)
    return _page(request, RangeForm())


def _page(request: HttpRequest, form: RangeForm, *, status: int = 200) -> HttpResponse:
    scope, now = tenancy.scope_of(request), timezone.now()
    found = auditing.view(scope, before=pages.number_of(request, "before"), limit=pages.PAGE, now=now)
    context = {
        "nav": "audit",
        "now": now,
        "form": form,
        "found": found,
        "records": found.records,
        "total": found.total,
        "names": access.names_of(scope.tenant_id, [record.actor for record in found.records]),
    }
    place = _place(request, found)
    return pages.render(request, "memory/audit.html", context | place, fragment="memory/audit_list.html", status=status)


def _place(request: HttpRequest, found: AuditPage) -> dict[str, Any]:
    """Where the page stands: numbers have no gap, so the number of a record says how many are newer."""
    first = found.total - found.records[0].seq if found.records else 0
    oldest = found.records[-1].seq if found.records else 0
    return {
        "first": first,
        "last": first + len(found.records) - 1,
        "older": pages.address(request, before=oldest) if oldest else "",
        "newest": pages.address(request) if first != 1 and found.total else "",
        "as_json": pages.address(request, format="json"),
        "as_csv": pages.address(request, format="csv"),
    }


@require_safe
def checkpoints(request: HttpRequest) -> HttpResponse:
    """Every checkpoint with the keys that verify it, as a file to keep elsewhere."""
    answer = exports.document(auditing.proofs(tenancy.scope_of(request), now=timezone.now()))
    answer["Content-Disposition"] = 'attachment; filename="audit-checkpoints.json"'
    return answer


@require_POST
def verify(request: HttpRequest) -> HttpResponse:
    """Recompute a range or the whole chain and say what was found; the header of every page remembers the whole."""
    scope, form = tenancy.scope_of(request), RangeForm(request.POST)
    sent = pages.submit(form, lambda given: auditing.verify(scope, **given))
    if sent.result is None:
        return _page(request, form, status=sent.status)
    found, whole = sent.result, not any(form.cleaned_data.values())
    if whole or not found.intact:
        pages.remember_finding(scope.tenant_id, found, now=timezone.now())
    _tell(request, found)
    return redirect("audit")


def _tell(request: HttpRequest, found: Finding) -> None:
    if found.intact:
        signed = f", and {len(found.checkpoints):,} signed checkpoints cover them" if found.checkpoints else ""
        messages.success(
            request, f"The chain is intact: {found.checked:,} records were read and every hash fits{signed}."
        )
        return
    broken = found.breaks[0] if found.breaks else None
    hashes = f" Expected {broken.expected or 'nothing'}, found {broken.actual or 'nothing'}." if broken else ""
    forged = f" {len(found.forged):,} checkpoints carry no signature of this host." if found.forged else ""
    messages.error(request, f"The chain breaks at record {found.broken_at:,}.{hashes}{forged}")
