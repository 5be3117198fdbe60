"""Actions on a proposal: votes, comments, overrides, revisions and wording."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from memory.host import access, ids, pages, registry, tenancy
from memory.host.errors import Conflict, Forbidden, Refusal
from memory.host.tenancy import TenantScope
from proposals import artifacts, comments, denials, electorate, lifecycle, overrides, review, rules
from proposals.effects import Duplicate
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
from proposals.models import Comment, Decision, Gate, Proposal, State, Vote
from proposals.policies import Policy
from proposals.policy_review import approvals_in_words, roles_in_words
from proposals.review import Detail
from proposals.views import review as views_review
from proposals.views.review import frame, render_review

Act = Callable[[dict[str, Any]], Any]
ENDED: dict[str, str] = {"reject": State.REJECTED, "archive": State.ARCHIVED}
VOTED: dict[str, str] = {
    Decision.GRANTED: "Your approval is on record.",
    Decision.REJECTED: "Your vote against this revision is on record.",
    Decision.CHANGES_REQUESTED: "Your request for changes is on record; the gate is over, the review goes on.",
}
LABELS = {
    "decide": "Approve and Request changes",
    "apply": "Ask for activation",
    "withdraw": "Withdraw the gate",
    "revise": "Revise",
    "reject": "Reject",
    "override": "Override",
}
CAST: dict[str, str] = {
    Decision.GRANTED: "approved",
    Decision.REJECTED: "rejected",
    Decision.CHANGES_REQUESTED: "asked for changes to",
}


# The forms of the decision bar and the pages behind it: ask, vote, withdraw, reject, archive, roll back.
#
# Each is one call of the domain, about exactly what the operator read.


@require_POST
def ask(request: HttpRequest, prop_id: str) -> HttpResponse:
    """A gate is opened over the revision the operator read; a host without gates installs it."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)

    def act(data: dict[str, Any]) -> object:
        return lifecycle.ask_to_apply(scope, proposal_id, expected=data["revision"], now=timezone.now())

    direct = rules.activates_directly()
    words = "Installed." if direct else "Activation was asked for. A vote decides."
    return _carry_out(request, prop_id, "apply", AskForm(request.POST), act, words)


@require_POST
def decide(request: HttpRequest, prop_id: str) -> HttpResponse:
    """The vote, about exactly what the form was printed with."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)

    def act(data: dict[str, Any]) -> object:
        return lifecycle.decide(scope, proposal_id, **data, now=timezone.now())

    words = VOTED.get(request.POST.get("decision", ""), "Your vote is on record.")
    return _carry_out(request, prop_id, "decide", DecisionForm(request.POST), act, words)


@require_POST
def withdraw(request: HttpRequest, prop_id: str) -> HttpResponse:
    """The gate is cancelled; the proposal is under review as before."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)

    def act(_: dict[str, Any]) -> object:
        return lifecycle.withdraw(scope, proposal_id, now=timezone.now())

    words = "The gate is withdrawn. Nothing was installed."
    return _carry_out(request, prop_id, "withdraw", AskForm(request.POST), act, words)


def _carry_out(request: HttpRequest, prop_id: str, action: str, form: forms.Form, act: Act, words: str) -> HttpResponse:
    """Back to the page with the news; or the page again, saying what stood in the way."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)
    sent = pages.submit(form, act, authorize=denials.authorizing(scope, action, proposal_id, now=timezone.now()))
    if sent.result:
        messages.success(request, words)
        return redirect("proposal", prop_id)
    told = review.detail(scope, proposal_id)
    more: dict[str, Any] = {"refused": form}
    if sent.conflict:
        more = {"conflict": views_review.news(sent.conflict, told, read=form.cleaned_data["revision"])}
    typed = request.POST.get("reason", "")
    return render_review(request, scope, told, "proposal", status=sent.status, typed=typed, **more)


@pages.parameters("revision")
@require_http_methods(["GET", "HEAD", "POST"])
def reject(request: HttpRequest, prop_id: str) -> HttpResponse:
    """Ask why, then end the review for good; a gate under way is cancelled."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)
    form = RejectForm(request.POST if request.method == "POST" else None)

    def act(data: dict[str, Any]) -> object:
        return lifecycle.reject(
            scope, proposal_id, expected=data["revision"], reason=data["reason"], now=timezone.now()
        )

    return _end(request, prop_id, form, act, "reject", "The proposal is rejected. Nothing was installed.")


@pages.parameters("revision")
@require_http_methods(["GET", "HEAD", "POST"])
def archive(request: HttpRequest, prop_id: str) -> HttpResponse:
    """Ask why, then put the proposal away; what an applied one installed goes with it, or it is not archived."""
    scope, proposal_id = tenancy.scope_of(request), ids.parse("prop", prop_id)
    form = ReasonForm(request.POST if request.method == "POST" else None)

    def act(data: dict[str, Any]) -> object:
        return lifecycle.archive(scope, proposal_id, reason=data["reason"], now=timezone.now())

    return _end(request, prop_id, form, act, "archive", "The proposal is archived.")


def _end(request: HttpRequest, prop_id: str, form: forms.Form, act: Act, action: str, words: str) -> HttpResponse:
    """The page that asks why; or what was asked for, done, or what stands in the way."""
    scope, before = tenancy.scope_of(request), timezone.now()
    authorize = denials.authorizing(scope, action, ids.parse("prop", prop_id), now=timezone.now())
    sent = pages.submit(form, act, authorize=authorize) if form.is_bound else None
    if sent and sent.result and _ended_since(sent.result, before):
        messages.success(request, words)
        return redirect("proposal", prop_id)
    told, now = review.detail(scope, ids.parse("prop", prop_id)), timezone.now()
    read = pages.number_of(request, "revision")
    refusal = rules.refusals(scope, told.proposal, told.gate, policy=told.policy, now=now)[action]
    context = frame(scope, told, now=now) | {
        "form": form,
        "refusal": refusal,
        "ended": told.proposal.state == ENDED[action],
        "unheard": sent is not None and sent.result is not None,
        "uninstalls": rules.archiving(told.proposal, told.policy) == "uninstall",
    }
    if sent and sent.conflict:
        context["conflict"] = views_review.news(
            sent.conflict, told, read=form.cleaned_data.get("revision") or told.current.number
        )
    elif read and read < told.current.number:
        context["conflict"] = views_review.news(Conflict(), told, read=read)
    status = 409 if context["unheard"] else sent.status if sent else 200
    return pages.render(request, f"proposals/{action}.html", context, status=status)


def _ended_since(proposal: Proposal, moment: datetime) -> bool:
    """Whether it left the review by this very request; one that was out of it keeps what was said about it then."""
    return proposal.closed_at is not None and proposal.closed_at >= moment


@require_POST
def roll_back(request: HttpRequest, prop_id: str) -> HttpResponse:
    """A new proposal that would make an earlier version the current one again, through the same gate."""
    scope, form = tenancy.scope_of(request), RollbackForm(request.POST)
    told = review.detail(scope, ids.parse("prop", prop_id))
    offered = [each.ref for each in review.versions(told)]

    def act(data: dict[str, Any]) -> Any:
        return lifecycle.propose(scope, data["ref"] if data["ref"] in offered else "", now=timezone.now())

    sent = pages.submit(form, act, authorize=denials.authorizing(scope, "create", now=timezone.now()))
    if sent.result:
        messages.success(request, "This proposal goes back to an earlier version once its gate is granted.")
        return redirect("proposal", ids.wire("prop", sent.result.id))
    if sent.conflict:
        found = views_review.news(sent.conflict, told, read=told.current.number)
        return render_review(request, scope, told, "proposal", status=409, conflict=found)
    return render_review(request, scope, told, "proposal", status=422, refused=form)


# The discussion of a proposal: reading it is a tab of the review, saying something is here.


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


# The override of a gate: a page of its own, a permission of its own, and a mark that stays.


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


# The page on which a proposal is revised. What was typed is never lost to somebody who was faster.


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


# What the review says of a gate's policy, and why a button does not work: in plain words. Pure but for ``rules``.


def policy_in_words(policy: Gate | Policy) -> list[str]:
    """What the policy asks for, a sentence each; of a gate, as it was when the gate was opened."""
    approvals = approvals_in_words(policy.quorum, policy.eligible_roles).capitalize()
    return [
        f"{approvals} who did not write or revise it.",
        "One rejection or request for changes ends it.",
        _override_in_words(policy),
    ]


def _override_in_words(policy: Gate | Policy) -> str:
    if not policy.override_roles:
        return "No role may override it."
    weight = "for the whole gate" if policy.override_bypasses_quorum else "as one approval"
    return f"{roles_in_words(policy.override_roles).capitalize()} may override it, with a reason; that counts {weight}."


@dataclass(frozen=True, slots=True)
class Hindrance:
    """Why some buttons do not work: their labels, and the reason, which all of them are described by."""

    id: str
    labels: str
    why: str


@dataclass(frozen=True, slots=True)
class Bar:
    """Which buttons work: ``why`` by action ("" when it does), and the reasons, each said once."""

    why: Mapping[str, str]
    hindrances: list[Hindrance]

    @property
    def described(self) -> dict[str, str]:
        """The id of the reason of each button that does not work."""
        ids = {each.why: each.id for each in self.hindrances}
        return {action: ids.get(why, "") for action, why in self.why.items()}


def bar(scope: TenantScope, told: Detail, *, now: datetime) -> Bar:
    """The decision bar as this principal finds it."""
    refusals = rules.refusals(scope, told.proposal, told.gate, policy=told.policy, now=now)
    voids = rules.refusal_to("revise", scope, told.proposal, None, policy=told.policy, now=now)
    refusals = {**refusals, "revise": voids}  # a gate under way may be voided by it
    why = {action: _why_not(action, refusal, scope, told, now) for action, refusal in refusals.items()}
    return Bar(why, list(_hindrances(why, _shown(told, now))))


def _shown(told: Detail, now: datetime) -> dict[str, str]:
    """The buttons of the bar by their labels; one asks for a gate where none is open, and withdraws one that is."""
    if rules.activates_directly():
        return {action: LABELS[action] for action in ("apply", "revise", "reject")}
    waits = told.gate is not None and not rules.has_expired(told.gate, now)
    left_out = {"apply"} if waits else set() if told.gate else {"withdraw"}
    return {action: label for action, label in LABELS.items() if action not in left_out}


def _hindrances(why: Mapping[str, str], shown: Mapping[str, str]) -> Iterable[Hindrance]:
    barred = [action for action in shown if why.get(action)]
    for number, reason in enumerate(dict.fromkeys(why[action] for action in barred), start=1):
        labels = [shown[action] for action in barred if why[action] == reason]
        yield Hindrance(f"why-{number}", ", ".join(labels), reason)


def _why_not(action: str, refusal: Refusal | None, scope: TenantScope, told: Detail, now: datetime) -> str:
    cast = told.vote_of(scope.principal.person) if action in ("decide", "override") else None
    if refusal is None and cast:
        how = "" if cast.principal == scope.principal.id else f" by {_called(cast)}"
        return f"you have {CAST[cast.decision]} revision {cast.revision} already{how}"
    if refusal is None and action == "apply" and told.gate and not rules.has_expired(told.gate, now):
        return "a gate is under way already"
    if refusal is None:
        return ""
    return _rule_in_words(refusal, told, scope) or _state_in_words(refusal) or refusal.message


def _called(cast: Vote) -> str:
    """``key ci-bot``, or ``login``: how the voter cast a vote."""
    name = access.names_of(cast.tenant_id, [cast.principal]).get(cast.principal, "")
    return f"key {name.partition(' by key ')[2]}".rstrip() if cast.principal.startswith("key_") else "login"


def _rule_in_words(refusal: Refusal, told: Detail, scope: TenantScope) -> str:
    rule, needed = refusal.details.get("rule"), refusal.details.get("requiredScope")
    roles = roles_in_words(refusal.details.get("roles", ()))
    if needed:
        return f"it needs the permission {needed}"
    writers = {each.revised_by for each in told.revisions}
    mine = access.same_people(scope.tenant_id, scope.principal.people, writers)
    part = electorate.authored(told.revisions, mine) or electorate.LEARNT_FROM
    return {
        rules.SEPARATION_OF_DUTIES: f"you authored {part}",
        rules.NOT_ELIGIBLE: f"this gate is for {roles}",
        rules.NO_OVERRIDE: f"only {roles} override this gate" if roles else "the policy of this gate knows no override",
    }.get(str(rule), "")


def _state_in_words(refusal: Refusal) -> str:
    if refusal.details.get("gateState") == "expired":
        return "the gate has expired"
    if refusal.details.get("gateState"):
        return "the gate has been decided already"
    return "no gate is open; ask for activation first" if refusal.message.startswith("No gate is open") else ""


def restates(told: Detail, duplicate: Duplicate) -> str:
    """How much of a duplicate it is: of the same bytes, under the same name, or under another."""
    if registry.digest(duplicate.text) == told.current.sha256:
        return "It has the same bytes."
    kind, text = told.proposal.kind, told.current.text
    same_name = artifacts.name_in(kind, duplicate.text) == artifacts.name_in(kind, text)
    return f"It does the same, or says nearly the same, under {'the same' if same_name else 'another'} name."
