"""The page of an approval policy: the current one, the pending change, the history, and the forms."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from memory.host import access, exports, ids, pages, tenancy
from memory.host.errors import Conflict
from memory.host.pages import Cleaned
from memory.host.tenancy import TenantScope
from proposals import policies, rules
from proposals.forms import PolicyForm, form_of
from proposals.models import PolicyChange
from proposals.policies import CurrentPolicy, Refused, Version

CALLED = {"expires_s": "lasts"}
WAITS = "The change is pending until another person confirms it."
IN_FORCE = "The policy is changed. No other person could confirm it; the audit log says so."
CONFIRMED = "The change is confirmed. Approvals requested from now on follow the new policy."
REFUSED = "The change is refused. The policy is unchanged."
TAKEN_BACK = "The change is withdrawn. The policy is unchanged."


@pages.parameters("format")
@require_http_methods(["GET", "HEAD", "POST"])
def policy(request: HttpRequest, kind: str) -> HttpResponse:
    """The policy of a kind, and the form that requests a change."""
    scope = tenancy.scope_of(request)
    if request.method == "POST":
        return _request_change(request, scope, kind)
    standing, versions = policies.detail(scope, kind)
    if pages.file_format(request) == "json":
        return exports.document(_document(standing, versions))
    return _page(request, scope, standing, form_of(standing.policy))


def _request_change(request: HttpRequest, scope: TenantScope, kind: str) -> HttpResponse:
    form = PolicyForm(request.POST)

    def act(data: Cleaned) -> object:
        changes = {name: data[name] for name in policies.FIELDS}
        given = {"based_on": data["based_on"], "reason": data["reason"], "called": CALLED}
        return policies.request_change(scope, kind, changes, **given, now=timezone.now())

    sent = pages.submit(form, act, authorize=lambda: policies.check_who(scope))
    if sent.result:
        messages.success(request, WAITS if isinstance(sent.result, PolicyChange) else IN_FORCE)
        return redirect("approval-policy", kind)
    standing, _ = policies.detail(scope, kind)
    return _page(request, scope, standing, form, conflict=sent.conflict, status=sent.status)


@require_POST
def confirm(request: HttpRequest, change_id: str) -> HttpResponse:
    """Confirm a pending change, which puts it in force."""
    return _decide(request, change_id, confirmed=True)


@require_POST
def refuse(request: HttpRequest, change_id: str) -> HttpResponse:
    """Refuse a pending change; its requester withdraws it this way."""
    return _decide(request, change_id, confirmed=False)


def _decide(request: HttpRequest, change_id: str, *, confirmed: bool) -> HttpResponse:
    scope = tenancy.scope_of(request)
    asked = policies.find_change(scope, ids.parse("chg", change_id))

    def act(_: Cleaned) -> object:
        return policies.decide_change(scope, asked.id, confirmed=confirmed, now=timezone.now())

    sent = pages.submit(forms.Form({}), act)
    if sent.result:
        mine = asked.asked_by in access.principals_of(scope.tenant_id, scope.principal.person)
        messages.success(request, CONFIRMED if confirmed else TAKEN_BACK if mine else REFUSED)
        return redirect("approval-policy", asked.kind)
    standing, _ = policies.detail(scope, asked.kind)
    form = form_of(standing.policy)
    return _page(request, scope, standing, form, conflict=sent.conflict, status=sent.status)


def _page(
    request: HttpRequest,
    scope: TenantScope,
    standing: CurrentPolicy,
    form: PolicyForm,
    *,
    conflict: Conflict | None = None,
    status: int = 200,
) -> HttpResponse:
    denied, past = policies.denial(scope), policies.list_decisions(scope, standing.kind)
    context = {
        "nav": "settings",
        "now": timezone.now(),
        "standing": standing,
        "past": past,
        "form": form,
        "conflict": conflict,
        "denied": denied.message if denied else "",
        "alone": not denied and not policies.others_may_manage(scope, now=timezone.now()),
        "direct": rules.activates_directly(),
        "names": access.names_of(scope.tenant_id, _people(standing, past)),
        **pages.files(request, "json"),
    }
    return pages.render(request, "proposals/policy.html", context, status=status)


def _people(standing: CurrentPolicy, past: list[Version | Refused]) -> set[str]:
    rows: list[object] = [each.row if isinstance(each, Version) else each.change for each in past]
    rows += [standing.waiting.change] if standing.waiting else []
    named = ("asked_by", "confirmed_by", "decided_by")
    return {getattr(row, name) for row in rows for name in named if hasattr(row, name)}


def _document(standing: CurrentPolicy, versions: list[Version]) -> dict[str, object]:
    """The policy and its history, in words."""
    return {
        "kind": standing.kind,
        "number": standing.policy.number,
        "policy": standing.words,
        "waiting": ids.wire("chg", standing.waiting.change.id) if standing.waiting else None,
        "history": [
            {"number": each.row.number, "policy": each.words, "differences": each.differences} for each in versions
        ],
    }
