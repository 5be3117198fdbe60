"""The review of one proposal: what it changes, its artifact, its evidence, its history."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memory.host import access, exports, ids, pages, tenancy
from memory.host.tenancy import TenantScope
from memory.wire import instant
from proposals import diffs, rules
from proposals import review as reading
from proposals.models import GateState, Proposal, Revision
from proposals.review import Detail
from proposals.views.inbox import Option, Tab

TABS = {
    "proposal": "Changes",
    "proposal-artifact": "Artifact",
    "proposal-evidence": "Evidence",
    "proposal-history": "History",
}


@require_safe
def changes(request: HttpRequest, prop_id: str) -> HttpResponse:
    """What the proposal would change: against the revision before, any other, or what is installed."""
    return _review(request, prop_id, "proposal")


@require_safe
def artifact(request: HttpRequest, prop_id: str) -> HttpResponse:
    """The artifact as it stands."""
    return _review(request, prop_id, "proposal-artifact")


@require_safe
def evidence(request: HttpRequest, prop_id: str) -> HttpResponse:
    """Why it was proposed, and from what."""
    return _review(request, prop_id, "proposal-evidence")


@require_safe
def history(request: HttpRequest, prop_id: str) -> HttpResponse:
    """Its revisions, gates and votes."""
    return _review(request, prop_id, "proposal-history")


def _review(request: HttpRequest, prop_id: str, tab: str) -> HttpResponse:
    scope = tenancy.scope_of(request)
    told = reading.detail(scope, ids.parse("prop", prop_id))
    if request.GET.get("format") == "json":
        return exports.document(_document(told))
    status = pages.poll_status(request, over=not is_under_way(told))
    return render_review(request, scope, told, tab, status=status)


def is_under_way(told: Detail) -> bool:
    """Whether the page should look again soon: a granted gate has not been carried out yet."""
    return told.gate is not None and told.gate.state == GateState.GRANTED


def render_review(
    request: HttpRequest, scope: TenantScope, told: Detail, tab: str, *, status: int = 200, **more: Any
) -> HttpResponse:
    """The review page of ``told`` at ``tab``; ``more`` is what a refused decision adds."""
    prop_id = ids.wire("prop", told.proposal.id)
    context = {
        "nav": "proposals",
        "now": timezone.now(),
        "told": told,
        "prop_id": prop_id,
        "tab": tab,
        "tab_url": reverse(tab, args=[prop_id]),
        "tabs": [Tab(name, label, reverse(name, args=[prop_id])) for name, label in TABS.items()],
        "under_way": is_under_way(told),
        "names": access.names_of(scope.tenant_id, _principals(told)),
        "as_json": f"{reverse('proposal', args=[prop_id])}?format=json",
        **_barred(scope, told),
        **(_comparison(request, told) if tab == "proposal" else {}),
        **({"lines": "\n".join(diffs.readable(told.current.text))} if tab == "proposal-artifact" else {}),
        **more,
    }
    return pages.render(request, "proposals/review.html", context, fragment="proposals/review_body.html", status=status)


def _principals(told: Detail) -> set[str]:
    proposal = told.proposal
    voters = {vote.principal for ballot in told.ballots for vote in ballot.votes}
    openers = {ballot.gate.opened_by for ballot in told.ballots}
    revisers = {revision.revised_by for revision in told.revisions}
    return {proposal.author, proposal.last_reviser, proposal.closed_by} | voters | openers | revisers


def _barred(scope: TenantScope, told: Detail) -> dict[str, Any]:
    """Why each button does not work, in words; empty when it does."""
    refusals = {
        action: rules.refusal_to(action, scope, told.proposal, told.gate) for action in ("decide", "apply", "reject")
    }
    if told.gate and not refusals["apply"]:
        return {"barred": {**_words(refusals), "apply": "A gate is under way already."}}
    return {"barred": _words(refusals)}


def _words(refusals: dict[str, Any]) -> dict[str, str]:
    return {action: refusal.message if refusal else "" for action, refusal in refusals.items()}


def _comparison(request: HttpRequest, told: Detail) -> dict[str, Any]:
    """The two texts that are compared, and the addresses of the other views of them."""
    new = told.revision(pages.number_of(request, "to") or 0) or told.current
    chosen = request.GET.get("from", "")
    mode = "side" if request.GET.get("mode") == "side" else "unified"
    old_text, old_words, old_value = _older(told, chosen, new)
    diff = diffs.between(old_text, new.text)
    return {
        "diff": diff,
        "old": old_words,
        "new": f"revision {new.number}",
        "mode": mode,
        "unified_url": pages.address(request, mode=""),
        "side_url": pages.address(request, mode="side"),
        "sides": _sides(told, old_value),
        "newer": [Option(str(each.number), f"revision {each.number}", each is new) for each in told.revisions],
    }


def _older(told: Detail, chosen: str, new: Revision) -> tuple[str, str, str]:
    """The text to compare with, its words, and its value in the form: by default what a reviewer would want."""
    installed = told.effect.installed_now
    numbered = told.revision(int(chosen)) if chosen.isascii() and chosen.isdigit() and len(chosen) < 10 else None
    before = numbered or (told.revision(new.number - 1) if chosen not in {"installed", "nothing"} else None)
    if before:
        return before.text, f"revision {before.number}", str(before.number)
    if installed and chosen != "nothing":
        return installed.text, f"installed {installed.ref}", "installed"
    return "", "nothing", "nothing"


def _sides(told: Detail, chosen: str) -> list[Option]:
    offered = {str(each.number): f"revision {each.number}" for each in told.revisions}
    if told.effect.installed_now:
        offered["installed"] = f"installed {told.effect.installed_now.ref}"
    offered["nothing"] = "nothing"
    return [Option(value, label, value == chosen) for value, label in offered.items()]


def _document(told: Detail) -> dict[str, Any]:
    """The proposal with its revisions; artifacts as the text whose digest is named."""
    proposal: Proposal = told.proposal
    return {
        "id": ids.wire("prop", proposal.id),
        "kind": proposal.kind,
        "state": proposal.state,
        "title": proposal.title,
        "rationale": proposal.rationale,
        "sourceRunIds": proposal.source_run_ids,
        "author": proposal.author,
        "installedArtifactRef": proposal.installed_ref,
        "revisions": [
            {
                "number": each.number,
                "sha256": each.sha256,
                "revisedBy": each.revised_by,
                "createdAt": instant(each.created_at),
                "artifact": each.text,
            }
            for each in told.revisions
        ],
    }
