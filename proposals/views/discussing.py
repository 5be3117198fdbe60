"""The discussion of a proposal: reading it is a tab of the review, saying something is here."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from memory.host import ids, pages, tenancy
from proposals import comments, denials, review
from proposals.forms import CommentForm
from proposals.models import Comment
from proposals.views.review import render_review


@require_POST
def comment(request: HttpRequest, prop_id: str) -> HttpResponse:
    """The words stand under the proposal; or stay in the form, beside what is wrong with them."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)
    form = CommentForm(request.POST)

    def act(data: dict[str, Any]) -> Comment:
        return comments.add(scope, proposal_id, data["text"], now=timezone.now())

    sent = pages.submit(form, act, authorize=denials.authorizing(scope, "comment", proposal_id, now=timezone.now()))
    if sent.result:
        messages.success(request, "Your comment stands under the proposal.")
        return redirect(f"{reverse('proposal-discussion', args=[prop_id])}#{ids.wire('cmnt', sent.result.id)}")
    told = review.detail(scope, proposal_id)
    return render_review(request, scope, told, "proposal-discussion", status=sent.status, comment_form=form)
