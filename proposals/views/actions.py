"""Actions on one proposal: activation, votes, comments, overrides, revisions, rejection, archiving and rollback."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from memory.host import ids, pages, tenancy
from memory.host.errors import Conflict, Forbidden
from memory.host.pages import Cleaned
from proposals import comments, lifecycle, review, rules
from proposals.comments import Spot
from proposals.forms import (
    AskForm,
    CommentForm,
    DecisionForm,
    OverrideForm,
    ReasonForm,
    RejectForm,
    RevisionForm,
    RollbackForm,
)
from proposals.lifecycle import Activation
from proposals.models import Comment, Decision, Proposal, State
from proposals.review import Detail
from proposals.views.review import frame, news, render_review

Act = Callable[[Cleaned], Any]
ENDED: dict[str, str] = {"reject": State.REJECTED, "archive": State.ARCHIVED}
VOTED: dict[str, str] = {
    Decision.GRANTED: "Your approval is on record.",
    Decision.REJECTED: "Your vote against this revision is on record.",
    Decision.CHANGES_REQUESTED: "Changes requested. The approval request is closed; the review goes on.",
}


# The decision bar and its pages: apply, vote, withdraw, reject, archive, roll back.
#
# Each makes one domain call, about exactly the revision that the operator read.


@require_POST
def request_approval(request: HttpRequest, prop_id: str) -> HttpResponse:
    """Open a gate over the revision that the operator read; a host without gates installs it."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)

    def act(data: Cleaned) -> object:
        return lifecycle.ask_to_apply(scope, proposal_id, expected=data["revision"], now=timezone.now())

    direct = rules.activates_directly()
    words = "Installed." if direct else "Approval requested. A vote decides."
    return _carry_out(request, prop_id, "apply", AskForm(request.POST), act, words)


@require_POST
def decide(request: HttpRequest, prop_id: str) -> HttpResponse:
    """Vote on the revision and digest that the form was rendered with."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)

    def act(data: Cleaned) -> object:
        return lifecycle.decide(scope, proposal_id, **data, now=timezone.now())

    words = VOTED.get(request.POST.get("decision", ""), "Your vote is on record.")
    return _carry_out(request, prop_id, "decide", DecisionForm(request.POST), act, words)


@require_POST
def withdraw(request: HttpRequest, prop_id: str) -> HttpResponse:
    """Cancel the gate under way; the proposal stays under review."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)

    def act(_: Cleaned) -> object:
        return lifecycle.withdraw(scope, proposal_id, now=timezone.now())

    words = "The approval request is cancelled. Nothing was installed."
    return _carry_out(request, prop_id, "withdraw", AskForm(request.POST), act, words)


def _carry_out(request: HttpRequest, prop_id: str, action: str, form: forms.Form, act: Act, words: str) -> HttpResponse:
    """Carry out ``act`` and redirect with a message; or render the review again with the refusal."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)
    sent = pages.submit(form, act, authorize=rules.authorizer(scope, action, proposal_id, now=timezone.now()))
    if sent.result:
        messages.success(request, words)
        return redirect("proposal", prop_id)
    detail = review.detail(scope, proposal_id)
    more: dict[str, object] = {"refused": form}
    if sent.conflict:
        more = {"conflict": news(sent.conflict, detail, read=form.cleaned_data["revision"])}
    typed = request.POST.get("reason", "")
    return render_review(request, scope, detail, "proposal", status=sent.status, typed=typed, **more)


@pages.parameters("revision")
@require_http_methods(["GET", "HEAD", "POST"])
def reject(request: HttpRequest, prop_id: str) -> HttpResponse:
    """Ask for a reason, then reject the proposal for good; a gate under way is cancelled."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)
    form = RejectForm(request.POST if request.method == "POST" else None)

    def act(data: Cleaned) -> object:
        return lifecycle.reject(
            scope, proposal_id, expected=data["revision"], reason=data["reason"], now=timezone.now()
        )

    return _end(request, prop_id, form, act, "reject", "The proposal is rejected. Nothing was installed.")


@pages.parameters("revision")
@require_http_methods(["GET", "HEAD", "POST"])
def archive(request: HttpRequest, prop_id: str) -> HttpResponse:
    """Ask for a reason, then archive; an applied proposal is uninstalled with it, or refused by its policy."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)
    form = ReasonForm(request.POST if request.method == "POST" else None)

    def act(data: Cleaned) -> object:
        return lifecycle.archive(scope, proposal_id, reason=data["reason"], now=timezone.now())

    return _end(request, prop_id, form, act, "archive", "The proposal is archived.")


def _end(request: HttpRequest, prop_id: str, form: forms.Form, act: Act, action: str, words: str) -> HttpResponse:
    """Render the page that asks for a reason; when it is sent, end the review, or render it with the refusal."""
    scope, before = tenancy.scope_of(request), timezone.now()
    authorize = rules.authorizer(scope, action, ids.parse("prop", prop_id), now=timezone.now())
    sent = pages.submit(form, act, authorize=authorize) if form.is_bound else None
    if sent and sent.result and _ended_since(sent.result, before):
        messages.success(request, words)
        return redirect("proposal", prop_id)
    detail, now = review.detail(scope, ids.parse("prop", prop_id)), timezone.now()
    read = pages.number_of(request, "revision")
    refusal = rules.refusals(scope, detail.proposal, detail.gate, policy=detail.policy, now=now)[action]
    context = frame(scope, detail, now=now) | {
        "form": form,
        "refusal": refusal,
        "ended": detail.proposal.state == ENDED[action],
        "unheard": sent is not None and sent.result is not None,
        "uninstalls": rules.action_of_archiving(detail.proposal, detail.policy) == "uninstall",
    }
    if sent and sent.conflict:
        context["conflict"] = news(
            sent.conflict, detail, read=form.cleaned_data.get("revision") or detail.current.number
        )
    elif read and read < detail.current.number:
        context["conflict"] = news(Conflict(), detail, read=read)
    status = 409 if context["unheard"] else sent.status if sent else 200
    return pages.render(request, f"proposals/{action}.html", context, status=status)


def _ended_since(proposal: Proposal, moment: datetime) -> bool:
    """Whether this request ended the review; one that was closed earlier keeps its first reason."""
    return proposal.closed_at is not None and proposal.closed_at >= moment


def rolled_back(activation: Activation) -> str:
    """The message about the result of a rollback."""
    if activation.installed_ref:
        return f"Rolled back: {activation.installed_ref} is installed."
    if activation.gate:
        return "Approval requested. The earlier version is installed as soon as it is approved."
    return "Saved as a draft. A person with that permission has to request approval."


@pages.creates()
@require_POST
def roll_back(request: HttpRequest, prop_id: str) -> HttpResponse:
    """Propose to make an earlier version current again and request the approval."""
    scope, form = tenancy.scope_of(request), RollbackForm(request.POST)
    detail = review.detail(scope, ids.parse("prop", prop_id))
    offered = [each.ref for each in review.versions(detail)]

    def act(data: Cleaned) -> Activation:
        return lifecycle.roll_back(scope, data["ref"] if data["ref"] in offered else "", now=timezone.now())

    sent = pages.submit(form, act, authorize=rules.authorizer(scope, "create", now=timezone.now()))
    if sent.result:
        messages.success(request, rolled_back(sent.result))
        return redirect("proposal", ids.wire("prop", sent.result.proposal.id))
    if sent.conflict:
        found = news(sent.conflict, detail, read=detail.current.number)
        return render_review(request, scope, detail, "proposal", status=409, conflict=found)
    return render_review(request, scope, detail, "proposal", status=422, refused=form)


# Comments; the review's Discussion tab lists them.


@pages.creates()
@require_POST
def comment(request: HttpRequest, prop_id: str) -> HttpResponse:
    """Add a comment to the proposal or to a line of a revision; a refused one stays in the form with its errors."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)
    form = CommentForm(request.POST)

    def act(data: Cleaned) -> Comment:
        spot = Spot(data["revision"], data["line"]) if data["revision"] and data["line"] else None
        return comments.add(scope, proposal_id, data["text"], spot=spot, now=timezone.now())

    sent = pages.submit(form, act, authorize=rules.authorizer(scope, "comment", proposal_id, now=timezone.now()))
    if sent.result:
        messages.success(request, "Your comment was added.")
        if sent.result.line:
            return redirect(f"{reverse('proposal', args=[prop_id])}?to={sent.result.revision}#line-{sent.result.line}")
        return redirect(f"{reverse('proposal-discussion', args=[prop_id])}#{ids.wire('cmnt', sent.result.id)}")
    detail = review.detail(scope, proposal_id)
    return render_review(request, scope, detail, "proposal-discussion", status=sent.status, comment_form=form)


# The override of a gate: it has its own page and permission, and is recorded for good.


@require_http_methods(["GET", "HEAD", "POST"])
def override(request: HttpRequest, prop_id: str) -> HttpResponse:
    """Grant the gate by override, once the operator has given a reason and typed the proposal's id."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)
    form = OverrideForm(request.POST if request.method == "POST" else None, prop_id=prop_id)

    def act(data: Cleaned) -> object:
        seen = {name: data[name] for name in ("revision", "sha256", "reason")}
        return lifecycle.override(scope, proposal_id, **seen, now=timezone.now())

    sent = pages.submit(form, act) if form.is_bound else None
    if sent and sent.result:
        messages.warning(request, "The approval was overridden. The proposal stays marked as overridden.")
        return redirect("proposal", prop_id)
    detail, now = review.detail(scope, proposal_id), timezone.now()
    refusal = rules.refusal_to("override", scope, detail.proposal, detail.gate, now=now)
    if isinstance(refusal, Forbidden):
        raise refusal
    context = frame(scope, detail, now=now) | {"form": form, "refusal": refusal}
    if sent and sent.conflict:
        context["conflict"] = news(sent.conflict, detail, read=form.cleaned_data["revision"])
    return pages.render(request, "proposals/override.html", context, status=sent.status if sent else 200)


# The revision page. A concurrent change never loses what was typed.


@pages.creates()
@require_http_methods(["GET", "HEAD", "POST"])
def revise(request: HttpRequest, prop_id: str) -> HttpResponse:
    """Add the next revision; or render the form again with its errors or with the changes made meanwhile."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)
    detail, now = review.detail(scope, proposal_id), timezone.now()
    form = _form(request, detail)

    def act(data: Cleaned) -> Proposal:
        given = {"expected": data["revision"], "voids_gate": data.get("voids_gate", False)}
        return lifecycle.revise(scope, proposal_id, form.change, **given, now=timezone.now())

    sent = pages.submit(form, act) if form.is_bound else None
    if sent and sent.result:
        messages.success(request, f"Revision {sent.result.revision} is saved. Earlier revisions are kept.")
        return redirect("proposal", prop_id)
    refusal = rules.refusal_to("revise", scope, detail.proposal, None, now=now)
    if isinstance(refusal, Forbidden):
        raise refusal
    context = frame(scope, detail, now=now) | {"form": form, "refusal": refusal}
    if sent and sent.conflict:
        read = form.cleaned_data["revision"]
        form.data = {**form.data, "revision": detail.current.number}
        context["conflict"] = news(sent.conflict, detail, read=read)
    return pages.render(request, "proposals/revise.html", context, status=sent.status if sent else 200)


def _form(request: HttpRequest, detail: Detail) -> RevisionForm:
    return RevisionForm(
        request.POST.dict() if request.method == "POST" else None,
        standing=detail.current,
        gate_open=detail.gate is not None,
        artifact_fixed=not rules.may_change_artifact(detail.proposal),
    )
