"""The review of one proposal, a page for each of its six tabs. What is done about it is in the views beside."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import rfc8785
from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memory import artifact_stops
from memory.host import access, auditing, exports, ids, pages, tenancy
from memory.host.tenancy import TenantScope
from memory.wire import instant
from proposals import artifacts, diffs, installation, rules, sources
from proposals import review as reading
from proposals.models import GateState, Proposal, Revision
from proposals.review import Detail
from proposals.views import comparing, milestones, wording

TABS = {
    "proposal": "Changes",
    "proposal-artifact": "Artifact",
    "proposal-evidence": "Evidence",
    "proposal-discussion": "Discussion",
    "proposal-history": "History",
    "proposal-effect": "Effect",
}
# What a page says of a request that was refused; nothing, when it only reads.
REFUSED: dict[str, Any] = {"conflict": None, "refused": None, "typed": "", "comment_form": None}
STEPS = ("Review", "Gate", "Installing", "Installed")


@dataclass(frozen=True, slots=True)
class Tab:
    """One tab of the review, an address of its own, and the key that opens it."""

    name: str
    label: str
    url: str
    key: str
    count: int | None = None


@pages.parameters("from", "to", "mode", "format")
@require_safe
def changes(request: HttpRequest, prop_id: str) -> HttpResponse:
    """What the proposal would change: in words first, then line by line against whatever one likes."""
    return _review(request, prop_id, "proposal")


@pages.parameters("revision", "format")
@require_safe
def artifact(request: HttpRequest, prop_id: str) -> HttpResponse:
    """The artifact as it stands, its digests, and whether it would be refused now."""
    return _review(request, prop_id, "proposal-artifact")


@pages.parameters("format")
@require_safe
def evidence(request: HttpRequest, prop_id: str) -> HttpResponse:
    """Why it was proposed, and from what."""
    return _review(request, prop_id, "proposal-evidence")


@pages.parameters("format")
@require_safe
def discussion(request: HttpRequest, prop_id: str) -> HttpResponse:
    """What people say about it."""
    return _review(request, prop_id, "proposal-discussion")


@pages.parameters("format")
@require_safe
def history(request: HttpRequest, prop_id: str) -> HttpResponse:
    """Its revisions, gates, votes, and what the audit says."""
    return _review(request, prop_id, "proposal-history")


@pages.parameters("format")
@require_safe
def effect(request: HttpRequest, prop_id: str) -> HttpResponse:
    """Which runs have resolved it: none before it is installed, and those that did since."""
    return _review(request, prop_id, "proposal-effect")


@pages.parameters("revision")
@require_safe
def download(request: HttpRequest, prop_id: str) -> HttpResponse:
    """The exact bytes of a revision, the current one unless another is named; its digest is theirs."""
    told = reading.detail(tenancy.scope_of(request), ids.parse("prop", prop_id))
    revision = told.revision(pages.number_of(request, "revision") or 0) or told.current
    answer = HttpResponse(revision.text.encode(), content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="{prop_id}-r{revision.number}.json"'
    return answer


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
    now = timezone.now()
    context = frame(scope, told, now=now) | {
        "tab": tab,
        "tab_url": reverse(tab, args=[ids.wire("prop", told.proposal.id)]),
        "oob": pages.wants_fragment(request),
        "bar": wording.bar(scope, told, now=now),
        "voters": reading.voters(scope, told, now=now),
        "beside": reading.neighbours(scope, told.proposal),
        "timeline": milestones.timeline(told),
        "versions": reading.versions(told),
        "may_stop": artifact_stops.denial(scope) is None,
        "again": reading.in_force_again(told),
        "may_propose": scope.can(rules.scope_for("create")),
        **REFUSED,
        **_of_tab(request, scope, told, tab, now),
        **more,
    }
    return pages.render(request, "proposals/review.html", context, fragment="proposals/review_body.html", status=status)


def frame(scope: TenantScope, told: Detail, *, now: datetime) -> dict[str, Any]:
    """What every page about one proposal shows around its own."""
    prop_id = ids.wire("prop", told.proposal.id)
    said = {"proposal-discussion": len(told.comments), "proposal-history": len(told.revisions)}
    decisive = told.last.gate if told.last and not told.under_review else None
    gate = told.gate or told.approval or decisive
    return {
        "nav": "proposals",
        "now": now,
        "told": told,
        "prop_id": prop_id,
        "tabs": [
            Tab(name, label, reverse(name, args=[prop_id]), str(key), said.get(name))
            for key, (name, label) in enumerate(TABS.items(), start=1)
        ],
        "under_way": is_under_way(told),
        "expired": told.gate is not None and rules.has_expired(told.gate, now),
        "direct": rules.activates_directly(),
        "steps": ",".join(step for step in STEPS if step != "Gate" or not rules.activates_directly()),
        "step": _step(told),
        "policy_words": wording.policy_in_words(gate or told.policy),
        "policy_gate": gate,
        "names": access.names_of(scope.tenant_id, _principals(told)),
        "as_json": f"{reverse('proposal', args=[prop_id])}?format=json",
    }


def _step(told: Detail) -> str:
    """Where the proposal is on its way; nowhere when it has left it."""
    if told.proposal.installed_ref:
        return "Installed"
    if not told.under_review:
        return ""
    return "Installing" if is_under_way(told) else "Gate" if told.gate else "Review"


def _principals(told: Detail) -> set[str]:
    proposal = told.proposal
    voters = {vote.principal for ballot in told.ballots for vote in ballot.votes}
    openers = {who for ballot in told.ballots for who in (ballot.gate.opened_by, ballot.withdrawn_by)}
    revisers = {revision.revised_by for revision in told.revisions}
    speakers = {comment.author for comment in told.comments}
    return {proposal.author, proposal.last_reviser, proposal.closed_by} | voters | openers | revisers | speakers


def _of_tab(request: HttpRequest, scope: TenantScope, told: Detail, tab: str, now: datetime) -> dict[str, Any]:
    """What one tab needs beside the proposal itself."""
    asked: dict[str, Callable[[], dict[str, Any]]] = {
        "proposal": lambda: comparing.comparison(request, told, now=now),
        "proposal-artifact": lambda: _artifact(request, told, now),
        "proposal-evidence": lambda: _evidence(told),
        "proposal-history": lambda: _history(scope, told, now),
    }
    return asked[tab]() if tab in asked else {}


def _artifact(request: HttpRequest, told: Detail, now: datetime) -> dict[str, Any]:
    """The revision's text in three forms, and what would stand in the way of installing it now."""
    shown = told.revision(pages.number_of(request, "revision") or 0) or told.current
    trial = forms.Form({})
    tried = pages.submit(trial, lambda _: _try(told.proposal, shown.text, now))
    in_the_way = [str(problem) for problem in trial.non_field_errors()]
    return {
        "shown": shown,
        "lines": "\n".join(diffs.readable(shown.text)),
        "canonical": rfc8785.dumps(json.loads(shown.text)).decode(),
        "octets": len(shown.text.encode()),
        "problems": [tried.conflict.message] if tried.conflict else in_the_way,
    }


def _try(proposal: Proposal, text: str, now: datetime) -> None:
    """Refuse what an installation of ``text`` would refuse now."""
    artifact = installation.require_installable(proposal, text)
    artifacts.require_timely(artifact.kind, text, now=now)


def _evidence(told: Detail) -> dict[str, Any]:
    proposal, duplicate = told.proposal, sources.duplicate_of(told.proposal)
    return {
        "sources": sources.runs_of(proposal),
        "citations": sources.citations(proposal),
        "duplicate": duplicate,
        "restates": wording.restates(told, duplicate) if duplicate else "",
    }


def _history(scope: TenantScope, told: Detail, now: datetime) -> dict[str, Any]:
    """Whether anybody has voted, and what the audit says, for those who may read it."""
    voted = any(ballot.votes for ballot in told.ballots)
    if not scope.can(auditing.SCOPE):
        return {"voted": voted, "audit_scope": auditing.SCOPE}
    found = reading.records(scope, told, now=now)
    actors = access.names_of(scope.tenant_id, [record.actor for record in found])
    return {"voted": voted, "records": found, "actors": actors, "records_shown": reading.RECORDS_SHOWN}


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
        "revisions": [_revision_document(each) for each in told.revisions],
    }


def _revision_document(revision: Revision) -> dict[str, Any]:
    return {
        "number": revision.number,
        "sha256": revision.sha256,
        "revisedBy": revision.revised_by,
        "createdAt": instant(revision.created_at),
        "artifact": revision.text,
    }
