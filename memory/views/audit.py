"""The audit log: what was done, by whom, in a chain that anybody with the permission can verify."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memory.host import access, exports, pages, tenancy
from memory.host import audit as chain
from memory.host.models import AuditRecord
from memory.wire import instant

COLUMNS = ("seq", "occurredAt", "actor", "action", "target", "details", "prevHash", "entryHash")


@require_safe
def audit(request: HttpRequest) -> HttpResponseBase:
    """The records, newest first."""
    scope = tenancy.scope_of(request)
    scope.check("audit:read")
    if request.GET.get("format") in exports.FORMATS:
        rows = (_row(record) for record in chain.every(scope.tenant_id))
        return exports.listing(request.GET["format"], "records", rows, columns=COLUMNS)
    before = pages.number_of(request, "before")
    found = chain.newest(scope.tenant_id, before=before, limit=pages.PAGE)
    total = chain.total(scope.tenant_id)
    names = access.names_of(scope.tenant_id, [record.actor for record in found])
    context = {"nav": "audit", "now": timezone.now(), "records": found, "total": total, "names": names}
    return pages.render(
        request, "memory/audit.html", context | _place(request, found, total), fragment="memory/audit_list.html"
    )


def _place(request: HttpRequest, found: list[AuditRecord], total: int) -> dict[str, Any]:
    """Where the page stands: numbers have no gap, so the number of a record says how many are newer."""
    first = total - found[0].seq if found else 0
    oldest = found[-1].seq if found else 0
    return {
        "first": first,
        "last": first + len(found) - 1,
        "older": pages.address(request, before=oldest) if oldest else "",
        "newest": pages.address(request) if first != 1 and total else "",
        "as_json": pages.address(request, format="json"),
        "as_csv": pages.address(request, format="csv"),
    }


def _row(record: AuditRecord) -> dict[str, Any]:
    return {
        "seq": record.seq,
        "occurredAt": instant(record.occurred_at),
        "actor": record.actor,
        "action": record.action,
        "target": record.target,
        "details": record.details,
        "prevHash": record.prev_hash or None,
        "entryHash": record.entry_hash,
    }


@require_POST
def verify(request: HttpRequest) -> HttpResponse:
    """Walk the whole chain and say what was found; the header of every page remembers it."""
    scope, now = tenancy.scope_of(request), timezone.now()
    scope.check("audit:read")
    verdict = chain.verify(scope.tenant_id)
    pages.remember_verdict(scope.tenant_id, verdict, now=now)
    if verdict.intact:
        messages.success(request, f"The chain is intact: {verdict.checked:,} records were read and every hash fits.")
    else:
        messages.error(
            request,
            f"The chain breaks at record {verdict.broken_at:,}: expected {verdict.expected or 'nothing'}, "
            f"found {verdict.actual or 'nothing'}. {verdict.checked:,} records before it fit.",
        )
    return redirect("audit")
