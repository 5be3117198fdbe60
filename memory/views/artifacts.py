"""The page of an installed artifact: what it is, whether runs use it, and its emergency stop."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memory import artifact_stops
from memory.forms import StopForm
from memory.host import access, pages, registry, tenancy
from memory.host.models import Installation
from memory.host.tenancy import TenantScope

Act = Callable[..., Installation]
STOPPED = "{} is disabled."
STARTED = "{} is enabled."


@require_safe
def artifact(request: HttpRequest, ref: str) -> HttpResponse:
    """One installed version, current or not."""
    scope = tenancy.scope_of(request)
    return _page(request, scope, artifact_stops.find(scope, ref), StopForm())


@require_POST
def disable(request: HttpRequest, ref: str) -> HttpResponse:
    """No run uses it any more, for the reason given."""
    return _change(request, ref, artifact_stops.disable, STOPPED)


@require_POST
def enable(request: HttpRequest, ref: str) -> HttpResponse:
    """Runs use it again, for the reason given."""
    return _change(request, ref, artifact_stops.enable, STARTED)


def _change(request: HttpRequest, ref: str, act: Act, words: str) -> HttpResponse:
    scope, now = tenancy.scope_of(request), timezone.now()
    artifact_stops.authorize(scope, now=now)
    form = StopForm(request.POST)
    sent = pages.submit(form, lambda data: act(scope, ref, reason=data["reason"], now=now))
    if sent.result:
        messages.success(request, words.format(ref))
        return redirect("artifact", ref)
    if sent.conflict:
        messages.error(request, sent.conflict.message)
    return _page(request, scope, artifact_stops.find(scope, ref), form, status=sent.status)


def _page(
    request: HttpRequest, scope: TenantScope, found: Installation, form: StopForm, *, status: int = 200
) -> HttpResponse:
    stopped = found if found.disabled_at else found.part_of if found.is_disabled else None
    context: dict[str, Any] = {
        "nav": "agents" if found.kind == "agent" else "proposals",
        "now": timezone.now(),
        "artifact": found,
        "parts": registry.parts_of(found),
        "stopped": stopped,
        "may_stop": artifact_stops.denial(scope) is None and not found.superseded_at,
        "form": form,
        "names": access.names_of(scope.tenant_id, {found.installed_by, stopped.disabled_by if stopped else ""}),
    }
    return pages.render(request, "memory/artifact.html", context, status=status)
