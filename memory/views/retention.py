"""Retention: what leaves memory by itself and what never does, how fast memory grows, and the policy behind it."""

from dataclasses import asdict

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from memory import embeddings, memory_policy, retention_sweep
from memory.forms import PolicyForm
from memory.host import exports, pages, tenancy
from memory.host.pages import Cleaned
from memory.host.tenancy import TenantScope
from memory.memory_policy import Policy
from memory.retention_sweep import Growth, Shortening

LISTED = 20
COLUMNS = ("by", "name", "week", "entries", "duplicates", "tokens", "bytes")


@pages.parameters("format")
@require_http_methods(["GET", "HEAD", "POST"])
def retention(request: HttpRequest) -> HttpResponseBase:
    """The page, its growth as a file, and the change of the policy."""
    scope = tenancy.scope_of(request)
    if request.method == "POST":
        return _change(request, scope)
    if file_format := pages.file_format(request):
        rows = [row for by in ("agent", "node") for row in _rows(scope, by)]
        return exports.listing(file_format, "growth", rows, columns=COLUMNS)
    return _page(request, scope, _form(scope))


def _rows(scope: TenantScope, by: str) -> list[dict[str, object]]:
    return [
        {"by": by, "name": row.writer or None, "week": start.isoformat(), **_figures(week)}
        for row in retention_sweep.growth_by(scope, by, now=timezone.now())
        for start, week in zip(row.starts, row.weeks, strict=True)
    ]


def _figures(week: object) -> dict[str, int]:
    return {name: getattr(week, name) for name in ("entries", "duplicates", "tokens", "bytes")}


def _form(scope: TenantScope) -> PolicyForm:
    return PolicyForm(initial=asdict(memory_policy.policy_of(scope.tenant_id)))


def _change(request: HttpRequest, scope: TenantScope) -> HttpResponse:
    scope.check("policies:manage")
    form, confirmed = PolicyForm(request.POST), "confirmed" in request.POST
    sent = pages.submit(form, lambda data: _step(scope, data, confirmed))
    if isinstance(sent.result, Shortening):
        return _page(request, scope, form, preview=sent.result)
    if sent.result:
        messages.success(request, "The policy is changed. It applies from now on.")
        return redirect("retention")
    return _page(request, scope, form, status=sent.status)


def _step(scope: TenantScope, data: Cleaned, confirmed: bool) -> Policy | Shortening:
    """The effect of a shorter time until it is confirmed; then the changed policy."""
    now = timezone.now()
    preview = (
        None
        if confirmed
        else retention_sweep.find_shortening(scope, memory_policy.checked_policy(scope, data), now=now)
    )
    return preview or memory_policy.change(scope, data, now=now)


def _page(
    request: HttpRequest,
    scope: TenantScope,
    form: PolicyForm,
    *,
    status: int = 200,
    preview: Shortening | None = None,
) -> HttpResponse:
    now = timezone.now()
    agents, nodes = (
        retention_sweep.growth_by(scope, "agent", now=now),
        retention_sweep.growth_by(scope, "node", now=now),
    )
    outlook = retention_sweep.outlook(scope, now=now)
    context = {
        "nav": "retention",
        "now": now,
        "outlook": outlook,
        "vectors": embeddings.progress_of(scope.tenant_id, outlook.policy),
        "tables": [_table("Agent", "agent", agents), _table("Node", "node", nodes)],
        "form": form,
        "preview": preview,
        "repeated": PolicyForm(request.POST, auto_id=False) if preview else None,
        "can_change": scope.can("policies:manage"),
        **pages.files(request),
    }
    return pages.render(request, "memory/retention.html", context, status=status)


def _table(head: str, by: str, rows: list[Growth]) -> dict[str, object]:
    """Those that added most, and how many there are."""
    starts = rows[0].starts if rows else []
    top = max((entries for row in rows[:LISTED] for _, entries in row.points), default=0)
    return {"head": head, "by": by, "rows": rows[:LISTED], "total": len(rows), "starts": starts, "top": top}
