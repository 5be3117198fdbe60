"""The page on which a proposal is revised. What was typed is never lost to somebody who was faster."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from memory.host import ids, pages, tenancy
from memory.host.errors import Forbidden
from proposals import lifecycle, review, rules
from proposals.forms import RevisionForm
from proposals.models import Proposal
from proposals.review import Detail
from proposals.views import review as views_review
from proposals.views.review import frame


@require_http_methods(["GET", "HEAD", "POST"])
def revise(request: HttpRequest, prop_id: str) -> HttpResponse:
    """The next revision stands; or the form again, with its errors, or with what has changed meanwhile."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)
    told, now = review.detail(scope, proposal_id), timezone.now()
    form = _form(request, told)

    def act(data: dict[str, Any]) -> Proposal:
        given = {"expected": data["revision"], "voids_gate": data.get("voids_gate", False)}
        return lifecycle.revise(scope, proposal_id, form.change, **given, now=timezone.now())

    sent = pages.submit(form, act) if form.is_bound else None
    if sent and sent.result:
        messages.success(request, f"Revision {sent.result.revision} stands. Those before it are kept.")
        return redirect("proposal", prop_id)
    refusal = rules.refusal_to("revise", scope, told.proposal, None, now=now)
    if isinstance(refusal, Forbidden):
        raise refusal
    context = frame(scope, told, now=now) | {"form": form, "refusal": refusal}
    if sent and sent.conflict:
        read = form.cleaned_data["revision"]
        form.data = {**form.data, "revision": told.current.number}
        context["conflict"] = views_review.news(sent.conflict, told, read=read)
    return pages.render(request, "proposals/revise.html", context, status=sent.status if sent else 200)


def _form(request: HttpRequest, told: Detail) -> RevisionForm:
    return RevisionForm(
        request.POST.dict() if request.method == "POST" else None,
        standing=told.current,
        gate_open=told.gate is not None,
        artifact_fixed=not rules.may_change_artifact(told.proposal),
    )
