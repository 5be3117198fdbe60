"""Looking for proposals now: the host goes over its own traces because somebody asks, and the inbox says what came."""

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from memory.host import pages, tenancy
from memory.host.tenancy import TenantScope
from memory.models import PassState
from proposals import synthesis, tasks

UNDER_WAY = (PassState.WAITING, PassState.CLAIMED)


@require_http_methods(["GET", "HEAD", "POST"])
@transaction.atomic
def look(request: HttpRequest) -> HttpResponse:
    """A look is on record and queued, or neither; read, it is where the latest one stands, until that is over."""
    scope, now = tenancy.scope_of(request), timezone.now()
    if request.method == "POST":
        tasks.enqueue_synthesis(synthesis.order(scope, now=now))
        messages.success(request, "The host looks at its runs. What it finds arrives here.")
        return redirect("proposals")
    told = latest(scope)
    if not pages.wants_fragment(request):
        return redirect("proposals")
    status = pages.poll_status(request, over=not told["looks"])
    return render(request, "proposals/inbox_look.html", {**told, "now": now}, status=status)


def latest(scope: TenantScope) -> dict[str, Any]:
    """The latest look, whether it is still under way, and what came of it in numbers."""
    row = synthesis.latest(scope)
    outcome = row.outcome if row else {}
    return {
        "look": row,
        "looks": row is not None and row.state in UNDER_WAY,
        "found_new": len(outcome.get("proposed", [])),
        "seen_before": outcome.get("seenBefore", 0),
        "not_installable": sum(outcome.get("refused", {}).values()),
        "runs_read": outcome.get("lookedAt", {}).get("runs"),
        "may_look": scope.can("passes:run"),
    }
