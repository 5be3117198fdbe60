"""The review pages of one proposal, one per tab, and the synthesis request of the inbox."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import rfc8785
from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from memory import artifact_stops
from memory.host import access, audit_access, exports, ids, pages, tenancy
from memory.host.errors import Conflict
from memory.host.pages import Tab
from memory.host.registry import Artifact
from memory.host.tenancy import TenantScope
from memory.models import PassState
from memory.tasks import enqueue_pass
from memory.wire import instant
from proposals import artifacts, chain_drawings, diffs, impact, installation, learning, review, rules, summaries
from proposals.impact import Duplicate
from proposals.models import Comment, Decision, GateState, Kind, Proposal, Revision, State, Vote
from proposals.review import Ballot, Detail
from proposals.summaries import Line, Summary
from proposals.views import action_bar

INSTALLED, REPLACED, NOTHING, DUPLICATE = "installed", "replaced", "nothing", "duplicate"
NUMBER_DIGITS = 9
UNDER_WAY = (PassState.WAITING, PassState.CLAIMED)
SHOWN = 14
ENDINGS: dict[str, tuple[str, str, str]] = {
    GateState.GRANTED: ("shield-check", "good", "Approval granted"),
    GateState.REJECTED: ("circle-x", "bad", "Approval refused"),
    GateState.CHANGES_REQUESTED: ("pencil", "warn", "Approval ended with a request for changes"),
    GateState.EXPIRED: ("hourglass", "bad", "Approval request expired"),
    GateState.VOID: ("circle-slash", "warn", "Approval request void, and its votes with it"),
    GateState.CANCELLED: ("ban", "", "Approval request cancelled"),
}
VOTES: dict[str, tuple[str, str, str]] = {
    Decision.GRANTED: ("check", "good", "Approved"),
    Decision.REJECTED: ("x", "bad", "Voted against"),
    Decision.CHANGES_REQUESTED: ("pencil", "warn", "Changes requested"),
}
CLOSINGS: dict[str, tuple[str, str, str]] = {
    State.APPLIED: ("circle-check", "good", "Installed"),
    State.REJECTED: ("circle-x", "bad", "Rejected"),
    State.ARCHIVED: ("archive", "", "Archived"),
}
TABS = {
    "proposal": "Changes",
    "proposal-artifact": "Artifact",
    "proposal-evidence": "Evidence",
    "proposal-discussion": "Discussion",
    "proposal-history": "History",
    "proposal-effect": "Effect",
}
# The context that a refused request overrides; a page that only reads keeps these values.
REFUSED: dict[str, Any] = {"conflict": None, "refused": None, "typed": "", "comment_form": None}
STEPS = ("Review", "Approval", "Installing", "Installed")
# Characters of an artifact that are laid out: 1 MiB of numbers, deeply nested, would be 60 times as many.
MOST_LAID_OUT = 4_000_000


# The Changes tab: which two texts are compared, what the difference means, and its lines.


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison, as an option of the form; ``text`` is the artifact's JSON text."""

    value: str
    label: str
    text: str = ""
    selected: bool = False


@dataclass(frozen=True, slots=True)
class Short:
    """The summary of a change, and a caption that names the version it is compared with."""

    against: str
    summary: Summary


def comparison(request: HttpRequest, scope: TenantScope, detail: Detail, *, now: datetime) -> dict[str, object]:
    """The context of the Changes tab: the effect on production, the two sides, their diff, and the other views.

    The default side is what production resolves without this proposal; where that is nothing, the previous revision.
    """
    new = detail.revision(pages.number_of(request, "to") or 0) or detail.current
    offered = _comparable_sides(detail, impact.duplicate_of(detail.proposal))
    before = _first(offered, _in_production(detail))
    installed = "" if before.value == NOTHING else before.value
    old = _first(offered, (request.GET.get("from", "")[:NUMBER_DIGITS], installed, str(new.number - 1), before.value))
    mode = "side" if request.GET.get("mode") == "side" else "unified"
    shorts = list(_shorts(detail, before, old, new, now))
    return {
        "shorts": shorts,
        "ticks": shorts[0].summary.ticks if detail.under_review or _is_current(detail) else (),
        "diff": diffs.between(old.text, new.text),
        "old": old.label,
        "new": f"revision {new.number}",
        "mode": mode,
        "unified_url": _address(detail, old, new.number),
        "side_url": _address(detail, old, new.number, mode="side"),
        "sides": [Side(each.value, each.label, selected=each is old) for each in offered.values()],
        "newer": [Side(str(each.number), f"revision {each.number}", selected=each is new) for each in detail.revisions],
        "note": new.note,
        "note_of": new.number,
        "chains": chain_drawings.drawings_of(old.text, new.text)
        if detail.proposal.kind == Kind.WORKFLOW_CHAIN_PACK
        else [],
        "rendering": impact.rendering_of(scope, detail.proposal, old.text, new.text),
        "remarks": _remarks(detail, new),
        "remark_at": pages.number_of(request, "line"),
        "remark_on": new.number,
        "remark_url": _address(detail, old, new.number, **({"mode": mode} if mode == "side" else {})),
    }


def _remarks(detail: Detail, revision: Revision) -> dict[int, list[Comment]]:
    """The comments on lines of the revision, by line number, oldest first."""
    found: dict[int, list[Comment]] = {}
    for each in detail.comments:
        if each.line and each.revision == revision.number:
            found.setdefault(each.line, []).append(each)
    return found


def _address(detail: Detail, old: Side, new: int, **more: str) -> str:
    """The URL of this comparison; ``more`` are further query parameters."""
    url = reverse("proposal", args=[ids.wire("prop", detail.proposal.id)])
    return f"{url}?{urlencode({'from': old.value, 'to': new, **more})}"


def _comparable_sides(detail: Detail, duplicate: Duplicate | None) -> dict[str, Side]:
    """The texts that a revision can be compared with, by their value in the URL."""
    offered = [Side(str(each.number), f"revision {each.number}", each.text) for each in detail.revisions]
    stands, replaced = detail.effect.stands, detail.effect.replaced
    if replaced:
        offered.append(Side(REPLACED, f"{replaced.label}, which it replaced", replaced.text))
    if stands:
        offered.append(Side(INSTALLED, f"installed {stands.label}", stands.text))
    if duplicate:
        offered.append(Side(DUPLICATE, f"duplicate {duplicate.ref}", duplicate.text))
    offered.append(Side(NOTHING, "nothing"))
    return {each.value: each for each in offered}


def _in_production(detail: Detail) -> tuple[str, ...]:
    """The sides that runs resolve without this proposal, best first: the version it replaces, else nothing."""
    return (REPLACED, NOTHING) if detail.effect.installation else (INSTALLED, NOTHING)


def _first(offered: dict[str, Side], wanted: tuple[str, ...]) -> Side:
    return next(offered[each] for each in wanted if each in offered)


def _is_current(detail: Detail) -> bool:
    installation = detail.effect.installation
    return installation is not None and installation.superseded_at is None


def _shorts(detail: Detail, before: Side, old: Side, new: Revision, now: datetime) -> Iterator[Short]:
    """Summarise the change against production and, when another side is selected, against that side too."""
    for side in (before,) if old is before else (before, old):
        also = _also(detail, side)
        found = summaries.summary(detail.proposal.kind, side.text, new.text, also=also, now=now)
        yield Short(_against(detail, side), found)


def _against(detail: Detail, before: Side) -> str:
    if before.value != NOTHING:
        return f"Compared with {before.label}"
    return "New: replaced no version" if detail.effect.installation else "New: nothing installed yet"


def _also(detail: Detail, side: Side) -> list[Line]:
    """One line for each individually installed agent that a pack replaces."""
    stands, replaced = detail.effect.stands, detail.effect.replaced
    if side.value == INSTALLED and stands and detail.under_review:
        return [
            summaries.change(f"Replaces {ref}, which was installed on its own (not in a pack)") for ref in stands.alone
        ]
    if side.value == REPLACED and replaced:
        return [
            summaries.change(f"Replaced {ref}, which was installed on its own (not in a pack)")
            for ref in replaced.alone
        ]
    return []


# Conflicts: what changed since the operator loaded the page, and the URL of the difference.


@dataclass(frozen=True, slots=True)
class News:
    """The refusal in words, what happened last, what has changed since the page was loaded, and the URL of the diff (""
    without one)."""

    title: str
    latest: "Milestone"
    names: dict[str, str]
    changes: list[str]
    compare_url: str
    compare: str


def news(conflict: Conflict, detail: Detail, *, read: int) -> News:
    """The changes since the operator read revision ``read``."""
    changes = [
        f"Revision {each.number} arrived ({_lines(each.lines_added)} added, {each.lines_removed} removed), "
        f"with the digest {each.sha256}."
        for each in reversed(detail.revisions)
        if each.number > read
    ]
    moved = read < detail.current.number
    url, latest = reverse("proposal", args=[ids.wire("prop", detail.proposal.id)]), timeline(detail).shown[-1]
    query = urlencode({"from": read, "to": detail.current.number})
    return News(
        _title(conflict, detail, read),
        latest,
        access.names_of(detail.proposal.tenant_id, [latest.by] if latest.by else []),
        [*changes, *_of_gate(detail, read)],
        f"{url}?{query}" if moved else "",
        f"Compare revision {read} with {detail.current.number}" if moved else "",
    )


def _lines(count: int) -> str:
    return f"{count:,} line{'' if count == 1 else 's'}"


def _title(conflict: Conflict, detail: Detail, read: int) -> str:
    if read < detail.current.number:
        return f"Revision {detail.current.number} arrived while you read revision {read}"
    is_state = "action" in conflict.details and not detail.under_review
    return f"The proposal is {detail.proposal.state} now" if is_state else conflict.message


def _of_gate(detail: Detail, read: int) -> list[str]:
    if not detail.under_review:
        return []
    gate = detail.gate
    if gate is None:
        void = detail.last is not None and detail.last.gate.state == GateState.VOID
        return ["No approval is requested now." + (" The last request is void." if void else "")]
    return [f"The approval request is about revision {gate.revision}."] if gate.revision != read else []


# A synthesis requested from the inbox, and the fragment that polls its progress.


@pages.creates()
@require_http_methods(["GET", "HEAD", "POST"])
@transaction.atomic
def request_synthesis(request: HttpRequest) -> HttpResponse:
    """POST: record a synthesis and queue it, both or neither. GET: its progress, polled until it ends."""
    scope, now = tenancy.scope_of(request), timezone.now()
    if request.method == "POST":
        enqueue_pass(learning.order(scope, now=now))
        messages.success(request, "Scan requested. New proposals will appear here.")
        return redirect("proposals")
    scan = latest(scope)
    if not pages.wants_fragment(request):
        return redirect("proposals")
    status = pages.poll_status(request, over=not scan["looks"])
    return render(request, "proposals/inbox_look.html", {**scan, "now": now}, status=status)


def latest(scope: TenantScope) -> dict[str, object]:
    """The latest synthesis, whether it still waits or runs, and the counts of its outcome."""
    row = learning.latest(scope)
    outcome = row.outcome if row else {}
    return {
        "look": row,
        "looks": row is not None and row.state in UNDER_WAY,
        "found_new": len(outcome.get("proposed", [])),
        "seen_before": outcome.get("seenBefore", 0),
        "not_installable": sum(outcome.get("refused", {}).values()),
        "runs_read": outcome.get("lookedAt", {}).get("runs"),
        "may_look": scope.can("passes:run"),
    }


# The timeline of a proposal, oldest first.


@dataclass(frozen=True, slots=True)
class Milestone:
    """One entry of the timeline; ``by`` is a principal or "", ``revision`` a number or 0 for none."""

    at: datetime
    icon: str
    tone: str
    words: str
    by: str = ""
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Timeline:
    """The newest ``SHOWN`` milestones; ``earlier`` counts the older ones, which the History tab lists."""

    shown: list[Milestone]
    earlier: int


def timeline(detail: Detail) -> Timeline:
    """Build the timeline of a proposal, in chronological order."""
    happened = sorted(_happened(detail), key=lambda each: each.at)
    return Timeline(happened[-SHOWN:], max(0, len(happened) - SHOWN))


def _happened(detail: Detail) -> Iterator[Milestone]:
    for revision in reversed(detail.revisions):
        yield _written(revision)
    for ballot in reversed(detail.ballots):
        yield from _requested(ballot)
    for comment in detail.comments:
        if comment.line:
            words = f"Commented on line {comment.line}"
            yield Milestone(comment.at, "pencil", "", words, comment.author, comment.revision)
    proposal = detail.proposal
    if proposal.closed_at:
        icon, tone, words = CLOSINGS[proposal.state]
        yield Milestone(proposal.closed_at, icon, tone, words, proposal.closed_by)


def _written(revision: Revision) -> Milestone:
    word = "Drafted" if revision.number == 1 else "Revised"
    return Milestone(revision.created_at, "pencil", "", word, revision.revised_by, revision.number)


def _requested(ballot: Ballot) -> Iterator[Milestone]:
    gate = ballot.gate
    yield Milestone(gate.opened_at, "hourglass", "warn", "Approval requested", gate.opened_by, gate.revision)
    yield from (_voted(vote) for vote in ballot.votes)
    if ended := _end_milestone(ballot):
        yield ended


def _voted(vote: Vote) -> Milestone:
    icon, tone, words = ("shield-alert", "bad", "Approval overridden") if vote.overrides else VOTES[vote.decision]
    return Milestone(vote.at, icon, tone, words, vote.principal, vote.revision)


def _end_milestone(ballot: Ballot) -> Milestone | None:
    gate = ballot.gate
    if gate.closed_at is None:
        return None
    icon, tone, words = ENDINGS[gate.state]
    words = "Approval request cancelled" if ballot.withdrawn_by else words
    return Milestone(gate.closed_at, icon, tone, words, ballot.withdrawn_by, gate.revision)


@dataclass(frozen=True, slots=True)
class Approved:
    """The principal of the deciding grant, and the time from that vote to the installation."""

    principal: str
    after: timedelta


def _approved(detail: Detail) -> Approved | None:
    """None without a granted gate, and when the artifact was in force before the last grant."""
    ballot = next((each for each in detail.ballots if detail.approval and each.gate.id == detail.approval.id), None)
    grants = [vote for vote in ballot.votes if vote.decision == Decision.GRANTED] if ballot else []
    installation = detail.effect.installation
    if not grants or installation is None:
        return None
    applied_at = detail.proposal.closed_at if detail.proposal.installed_ref else None
    in_force_at = applied_at or installation.installed_at  # a version that was rolled back to was installed long before
    if in_force_at < grants[-1].at:
        return None
    return Approved(grants[-1].principal, in_force_at - grants[-1].at)


@pages.parameters("from", "to", "mode", "line", "format")
@require_safe
def changes(request: HttpRequest, prop_id: str) -> HttpResponse:
    """The changes: a summary in words, then a diff against a selectable side."""
    return _review(request, prop_id, "proposal")


@pages.parameters("revision", "format")
@require_safe
def artifact(request: HttpRequest, prop_id: str) -> HttpResponse:
    """The artifact of a revision, its digest, and what would refuse its installation now."""
    return _review(request, prop_id, "proposal-artifact")


@pages.parameters("format")
@require_safe
def evidence(request: HttpRequest, prop_id: str) -> HttpResponse:
    """The source runs, the citations and the duplicate of the proposal."""
    return _review(request, prop_id, "proposal-evidence")


@pages.parameters("format")
@require_safe
def discussion(request: HttpRequest, prop_id: str) -> HttpResponse:
    """The comments on the proposal."""
    return _review(request, prop_id, "proposal-discussion")


@pages.parameters("format")
@require_safe
def history(request: HttpRequest, prop_id: str) -> HttpResponse:
    """The revisions, gates, votes and audit records of the proposal."""
    return _review(request, prop_id, "proposal-history")


@pages.parameters("format")
@require_safe
def effect(request: HttpRequest, prop_id: str) -> HttpResponse:
    """The runs that have resolved the artifact since it was installed."""
    return _review(request, prop_id, "proposal-effect")


@pages.parameters("revision")
@require_safe
def download(request: HttpRequest, prop_id: str) -> HttpResponse:
    """The exact bytes that the revision's digest covers; the current revision by default."""
    detail = review.detail(tenancy.scope_of(request), ids.parse("prop", prop_id))
    revision = detail.revision(pages.number_of(request, "revision") or 0) or detail.current
    answer = HttpResponse(revision.text.encode(), content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="{prop_id}-r{revision.number}.json"'
    return answer


def _review(request: HttpRequest, prop_id: str, tab: str) -> HttpResponse:
    scope = tenancy.scope_of(request)
    detail = review.detail(scope, ids.parse("prop", prop_id))
    if pages.file_format(request) == "json":
        return exports.document(_document(detail))
    status = pages.poll_status(request, over=not is_under_way(detail))
    return render_review(request, scope, detail, tab, status=status)


def is_under_way(detail: Detail) -> bool:
    """Whether the page keeps polling: a gate is granted and its installation has not ended."""
    return detail.gate is not None and detail.gate.state == GateState.GRANTED


def render_review(
    request: HttpRequest, scope: TenantScope, detail: Detail, tab: str, *, status: int = 200, **more: object
) -> HttpResponse:
    """Render one tab of the review; ``more`` overrides the context, for a refused request."""
    now, again = timezone.now(), review.rollbacks_to(detail)
    blocked = _obstacle(detail, now)
    context = frame(scope, detail, now=now) | {
        "blocked": blocked,
        "tab": tab,
        "tab_url": reverse(tab, args=[ids.wire("prop", detail.proposal.id)]),
        "oob": pages.wants_fragment(request),
        "bar": action_bar.bar(scope, detail, blocked=blocked, now=now),
        "voters": review.who_may_vote(scope, detail, now=now),
        "beside": review.neighbours(scope, detail.proposal),
        "timeline": timeline(detail),
        "versions": review.versions(detail),
        "approved": _approved(detail),
        "may_stop": artifact_stops.denial(scope) is None,
        "again": again,
        "uses_again": review.uses_again(detail, again),
        "may_propose": scope.can(rules.scope_for("create")),
        **REFUSED,
        **_of_tab(request, scope, detail, tab, now),
        **more,
    }
    return pages.render(request, "proposals/review.html", context, fragment="proposals/review_body.html", status=status)


def frame(scope: TenantScope, detail: Detail, *, now: datetime) -> dict[str, object]:
    """The context that every page of one proposal shares."""
    prop_id = ids.wire("prop", detail.proposal.id)
    said = {"proposal-discussion": len(detail.comments), "proposal-history": len(detail.revisions)}
    decisive = detail.last.gate if detail.last and not detail.under_review else None
    gate = detail.gate or detail.approval or decisive
    return {
        "nav": "proposals",
        "now": now,
        "detail": detail,
        "prop_id": prop_id,
        "tabs": [
            Tab(name, label, reverse(name, args=[prop_id]), said.get(name), key=str(key))
            for key, (name, label) in enumerate(TABS.items(), start=1)
        ],
        "under_way": is_under_way(detail),
        "expired": detail.gate is not None and rules.has_expired(detail.gate, now),
        "direct": rules.activates_directly(),
        "steps": ",".join(step for step in STEPS if step != "Approval" or not rules.activates_directly()),
        "step": _step(detail),
        "policy_words": action_bar.policy_in_words(gate or detail.policy),
        "policy_gate": gate,
        "names": access.names_of(scope.tenant_id, _principals(detail)),
        "as_json": f"{reverse('proposal', args=[prop_id])}?format=json",
    }


def _step(detail: Detail) -> str:
    """The current one of ``STEPS``; "" for a proposal that left the review without an installation."""
    if detail.proposal.installed_ref:
        return "Installed"
    if not detail.under_review:
        return ""
    return "Installing" if is_under_way(detail) else "Approval" if detail.gate else "Review"


def _principals(detail: Detail) -> set[str]:
    proposal = detail.proposal
    voters = {vote.principal for ballot in detail.ballots for vote in ballot.votes}
    openers = {who for ballot in detail.ballots for who in (ballot.gate.opened_by, ballot.withdrawn_by)}
    revisers = {revision.revised_by for revision in detail.revisions}
    speakers = {comment.author for comment in detail.comments}
    return {proposal.author, proposal.last_reviser, proposal.closed_by} | voters | openers | revisers | speakers


def _of_tab(request: HttpRequest, scope: TenantScope, detail: Detail, tab: str, now: datetime) -> dict[str, object]:
    """The context of one tab."""
    asked: dict[str, Callable[[], dict[str, object]]] = {
        "proposal": lambda: comparison(request, scope, detail, now=now),
        "proposal-artifact": lambda: _artifact(request, detail, now),
        "proposal-evidence": lambda: _evidence(detail),
        "proposal-history": lambda: _history(scope, detail, now),
    }
    return asked[tab]() if tab in asked else {}


def _artifact(request: HttpRequest, detail: Detail, now: datetime) -> dict[str, object]:
    """The revision's text in three forms, and what would refuse its installation now."""
    shown = detail.revision(pages.number_of(request, "revision") or 0) or detail.current
    trial = forms.Form({})
    tried = pages.submit(trial, lambda _: _try(detail.proposal, shown.text, now))
    in_the_way = [str(problem) for problem in trial.non_field_errors()]
    lines = "\n".join(diffs.readable(shown.text))
    return {
        "shown": shown,
        "lines": lines[:MOST_LAID_OUT],
        "is_cut": len(lines) > MOST_LAID_OUT,
        "canonical": rfc8785.dumps(json.loads(shown.text)).decode(),
        "octets": len(shown.text.encode()),
        "problems": [tried.conflict.message] if tried.conflict else in_the_way,
    }


def _obstacle(detail: Detail, now: datetime) -> str:
    """Why the current revision could not be installed now; "" when it could, or is not under review."""
    if not detail.under_review or is_under_way(detail):
        return ""

    def try_it() -> None:
        artifact = _try(detail.proposal, detail.current.text, now)
        installation.require_news(detail.proposal, artifact)

    refused = pages.attempt(try_it)
    return refused.message if refused else ""


def _try(proposal: Proposal, text: str, now: datetime) -> Artifact:
    """Refuse what an installation of ``text`` would refuse now."""
    artifact = installation.require_installable(proposal, text)
    artifacts.require_timely(artifact.kind, text, now=now)
    return artifact


def _evidence(detail: Detail) -> dict[str, object]:
    proposal, duplicate = detail.proposal, impact.duplicate_of(detail.proposal)
    return {
        "sources": impact.runs_of(proposal),
        "citations": impact.citations(proposal),
        "duplicate": duplicate,
        "restates": action_bar.restates(detail, duplicate) if duplicate else "",
    }


def _history(scope: TenantScope, detail: Detail, now: datetime) -> dict[str, object]:
    """Whether there are votes, and the audit records if this principal may read them."""
    voted = any(ballot.votes for ballot in detail.ballots)
    if not scope.can(audit_access.SCOPE):
        return {"voted": voted, "audit_scope": audit_access.SCOPE}
    found = review.records(scope, detail, now=now)
    actors = access.names_of(scope.tenant_id, [record.actor for record in found])
    return {"voted": voted, "records": found, "actors": actors, "records_shown": review.RECORDS_SHOWN}


def _document(detail: Detail) -> dict[str, object]:
    """The proposal as JSON with its revisions; each artifact is the text that its ``sha256`` covers."""
    proposal: Proposal = detail.proposal
    return {
        "id": ids.wire("prop", proposal.id),
        "kind": proposal.kind,
        "state": proposal.state,
        "title": proposal.title,
        "rationale": proposal.rationale,
        "sourceRunIds": proposal.source_run_ids,
        "author": proposal.author,
        "installedArtifactRef": proposal.installed_ref,
        "revisions": [_revision_document(each) for each in detail.revisions],
    }


def _revision_document(revision: Revision) -> dict[str, object]:
    return {
        "number": revision.number,
        "sha256": revision.sha256,
        "revisedBy": revision.revised_by,
        "createdAt": instant(revision.created_at),
        "artifact": revision.text,
    }
