"""The override of a gate: a page of its own, a permission of its own, and a mark that stays."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from memory.host import ids, pages, tenancy
from memory.host.errors import Forbidden
from proposals import overrides, review, rules
from proposals.forms import OverrideForm
from proposals.views import review as views_review
from proposals.views.review import frame


@require_http_methods(["GET", "HEAD", "POST"])
def override(request: HttpRequest, prop_id: str) -> HttpResponse:
    """The gate has a grant by override, after its reason was given and the proposal named."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)
    form = OverrideForm(request.POST if request.method == "POST" else None, prop_id=prop_id)

    def act(data: dict[str, Any]) -> object:
        seen = {name: data[name] for name in ("revision", "sha256", "reason")}
        return overrides.override(scope, proposal_id, **seen, now=timezone.now())

    sent = pages.submit(form, act) if form.is_bound else None
    if sent and sent.result:
        messages.warning(request, "The gate was overridden. This is on record for good.")
        return redirect("proposal", prop_id)
    told, now = review.detail(scope, proposal_id), timezone.now()
    refusal = rules.refusal_to("override", scope, told.proposal, told.gate, now=now)
    if isinstance(refusal, Forbidden):
        raise refusal
    context = frame(scope, told, now=now) | {"form": form, "refusal": refusal}
    if sent and sent.conflict:
        context["conflict"] = views_review.news(sent.conflict, told, read=form.cleaned_data["revision"])
    return pages.render(request, "proposals/override.html", context, status=sent.status if sent else 200)
