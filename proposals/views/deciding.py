"""The forms of the review page: ask for activation, vote, reject. Each is one call of the lifecycle."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from memory.host import ids, pages, tenancy
from memory.host.errors import Conflict
from memory.host.tenancy import TenantScope
from proposals import lifecycle, review
from proposals.forms import AskForm, DecisionForm, ReasonForm
from proposals.models import Decision
from proposals.review import Detail
from proposals.views.review import render_review

Act = Callable[[dict[str, Any]], object]


@require_POST
def ask(request: HttpRequest, prop_id: str) -> HttpResponse:
    """A gate is opened over the revision the operator read."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)

    def act(data: dict[str, Any]) -> object:
        return lifecycle.ask_to_apply(scope, proposal_id, expected=data["revision"], now=timezone.now())

    return _carry_out(request, prop_id, AskForm(request.POST), act, "Activation was asked for. A vote decides.")


@require_POST
def decide(request: HttpRequest, prop_id: str) -> HttpResponse:
    """The vote, about exactly what the form was printed with."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)

    def act(data: dict[str, Any]) -> object:
        return lifecycle.decide(scope, proposal_id, **data, now=timezone.now())

    granted = request.POST.get("decision") == Decision.GRANTED
    words = "Your approval is on record." if granted else "Your vote against this revision is on record."
    return _carry_out(request, prop_id, DecisionForm(request.POST), act, words)


def _carry_out(request: HttpRequest, prop_id: str, form: forms.Form, act: Act, words: str) -> HttpResponse:
    """Back to the page with the news; or the page again, saying what stood in the way."""
    sent = pages.submit(form, act)
    if sent.result:
        messages.success(request, words)
        return redirect("proposal", prop_id)
    scope = tenancy.scope_of(request)
    told = review.detail(scope, ids.parse("prop", prop_id))
    more = {"conflict": sent.conflict, "news": _news(sent.conflict, form, told)} if sent.conflict else {"refused": form}
    return render_review(request, scope, told, "proposal", status=sent.status, **more)


def _news(conflict: Conflict, form: forms.Form, told: Detail) -> list[str]:
    """What is different from what the operator read."""
    read = form.cleaned_data["revision"]
    newer = [each for each in reversed(told.revisions) if each.number > read]
    lines = [f"Revision {each.number} arrived, with the digest {each.sha256}." for each in newer]
    gate = told.gate
    if gate is None:
        lines.append("No gate is under way now.")
    elif gate.revision != read:
        lines.append(f"The gate is about revision {gate.revision}.")
    return lines


@require_http_methods(["GET", "HEAD", "POST"])
def reject(request: HttpRequest, prop_id: str) -> HttpResponse:
    """Ask why, then end the review for good; a gate under way is cancelled."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)
    found = review.find(scope, proposal_id)
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if request.method == "POST":
        sent = pages.submit(form, lambda data: _reject(scope, prop_id, data["reason"]))
        if sent.result:
            messages.success(request, "The proposal is rejected. Nothing was installed.")
            return redirect("proposal", prop_id)
        if sent.conflict:
            raise sent.conflict
    context = {"nav": "proposals", "proposal": found, "prop_id": prop_id, "form": form}
    return pages.render(request, "proposals/reject.html", context, status=422 if form.is_bound else 200)


def _reject(scope: TenantScope, prop_id: str, reason: str) -> object:
    return lifecycle.reject(scope, ids.parse("prop", prop_id), reason=reason, now=timezone.now())
