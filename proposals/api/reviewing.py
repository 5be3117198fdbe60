"""The review over HTTP, as far as the closed Proposal object cannot hold it: the console's extension of the face."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory import artifact_stops
from memory.host import ids
from memory.host.errors import NotFound, Refusal
from memory.host.http import (
    COUNT,
    FLAG,
    POSITIVE,
    SHA256,
    STRING,
    TEXT,
    TIME,
    After,
    Closed,
    Flag,
    Text,
    Whole,
    also,
    checked,
    closed,
    listed,
    nullable,
    operation,
    query_of,
    words,
)
from memory.host.json_types import JSONObject
from memory.host.models import ArtifactKind, Installation
from memory.host.paging import DEFAULT_LIMIT, Page, cursor
from memory.host.tenancy import TenantScope, scope_of
from memory.text import differences
from memory.text.differences import DiffRow, Hunk, Piece
from memory.wire import instant
from proposals import artifacts, comments, diffs, installation, lifecycle, review, revisions, rules
from proposals.api.serializers import (
    GATE,
    PROPOSAL,
    REVISIONS,
    ArtifactField,
    ArtifactParser,
    RejectProposal,
    RevisionsQuery,
    ballot_document,
    before_the_body,
    proposal_document,
    revisions_document,
)
from proposals.drafts import Change
from proposals.models import Comment, Decision, Gate, Kind, Proposal, Purpose, Revision, State
from proposals.policies import Policy
from proposals.review import Detail
from proposals.rules import ASKED_OF_EACH

INSTALLED, NOTHING = "installed", "nothing"
Refusals = dict[str, Refusal | None]
REFUSAL = also(closed("BarredAction", code=TEXT, message=TEXT), requiredScope=TEXT, rule=TEXT)
ACTION = closed("ReviewAction", allowed=FLAG, refusal=nullable(REFUSAL))
GATE_POLICY = closed(
    "PolicyOfGate",
    number=COUNT,
    quorum=POSITIVE,
    eligibleRoles=listed(TEXT),
    overrideRoles=listed(TEXT),
    overrideBypassesQuorum=FLAG,
    expiresAt=nullable(TIME),
)
KIND_POLICY = closed(
    "PolicyOfKind",
    number=COUNT,
    quorum=POSITIVE,
    eligibleRoles=listed(TEXT),
    overrideRoles=listed(TEXT),
    overrideBypassesQuorum=FLAG,
    expiresSec=POSITIVE,
    uninstallOnArchive=FLAG,
)
REVIEW_GATE = closed("GateUnderReview", **GATE["properties"], policy=GATE_POLICY)
REVIEW = closed(
    "ProposalReview",
    proposalId=TEXT,
    kind=words(Kind.values),
    state=words(State.values),
    purpose=words(Purpose.values),
    revision=POSITIVE,
    sha256=SHA256,
    canonicalSha256=SHA256,
    artifactName=STRING,
    artifactVersion=STRING,
    author=TEXT,
    lastReviser=TEXT,
    agentId=nullable(TEXT),
    pendingApprovalId=nullable(TEXT),
    gate=nullable(REVIEW_GATE),
    policy=KIND_POLICY,
    duplicateOf=nullable(TEXT),
    evidence=listed({"type": "object", "additionalProperties": STRING}),
    comments=COUNT,
    installedArtifactRef=nullable(TEXT),
    uninstalledRef=nullable(TEXT),
    closedBy=nullable(TEXT),
    closedAt=nullable(TIME),
    closingReason=STRING,
    actions=closed(**dict.fromkeys(ASKED_OF_EACH, ACTION)),
)
COMMENT = closed(
    "ProposalComment",
    commentId=TEXT,
    revision=POSITIVE,
    line=nullable(COUNT),
    author=TEXT,
    text=STRING,
    at=TIME,
)
COMMENTS = closed("ProposalComments", proposalId=TEXT, total=COUNT, comments=listed(COMMENT))
BULK = closed(
    "EndedProposals",
    action=words(("reject", "archive")),
    proposals=listed(closed(proposalId=TEXT, state=words(State.values))),
)
SIDE = closed(label=TEXT, revision=nullable(POSITIVE), ref=nullable(TEXT), sha256=nullable(SHA256))
LINE = closed(
    "DiffLine",
    kind=words((differences.SAME, differences.ADDED, differences.REMOVED, differences.CHANGED)),
    oldNumber=nullable(POSITIVE),
    newNumber=nullable(POSITIVE),
    old=nullable(STRING),
    new=nullable(STRING),
)
HUNK = closed("DiffHunk", skipped=COUNT, lines=listed(LINE))
DIFF = closed(
    "ProposalDiff",
    proposalId=TEXT,
    older=SIDE,
    newer=SIDE,
    added=COUNT,
    removed=COUNT,
    notCompared=COUNT,
    skippedAfter=COUNT,
    hunks=listed(HUNK),
)
INSTALLED_VERSION = closed(
    "InstalledVersion",
    id=TEXT,
    ref=TEXT,
    kind=words(ArtifactKind.values),
    name=TEXT,
    version=TEXT,
    sha256=SHA256,
    source=TEXT,
    partOf=nullable(TEXT),
    current=FLAG,
    disabled=FLAG,
    disabledAt=nullable(TIME),
    disabledBy=nullable(TEXT),
    disabledReason=nullable(STRING),
    installedBy=TEXT,
    installedAt=TIME,
    supersededAt=nullable(TIME),
)
INSTALLED_VERSIONS = closed("InstalledVersions", artifacts=listed(INSTALLED_VERSION), total=COUNT, next=nullable(TEXT))
MOST_REVISIONS = 2**31 - 1
TAG = "proposals"
READ = "proposals:read"


# The two texts of a diff that is asked for by name, and the lines of it as JSON.


@dataclass(frozen=True, slots=True)
class Side:
    """One text: a revision, what runs resolve in its place, or nothing. ``ref`` and ``sha256`` are those of one
    installed version; where agents stand beside it, or alone, there are none.
    """

    label: str
    text: str = ""
    revision: int | None = None
    ref: str | None = None
    sha256: str | None = None

    def document(self) -> JSONObject:
        return {"label": self.label, "revision": self.revision, "ref": self.ref, "sha256": self.sha256}


def diff_document(told: Detail, older: str, newer: int | None) -> JSONObject:
    """The diff between two sides of the proposal; without a word of what, the last step against the one before it."""
    new = _numbered(told, newer) if newer else told.current
    before, after = _older(told, older, new), _of_revision(new)
    found = diffs.between(before.text, after.text)
    return {
        "proposalId": ids.wire("prop", told.proposal.id),
        "older": before.document(),
        "newer": after.document(),
        "added": found.added,
        "removed": found.removed,
        "notCompared": found.not_compared,
        "skippedAfter": found.skipped_after,
        "hunks": [_hunk(each) for each in found.hunks],
    }


def _older(told: Detail, chosen: str, new: Revision) -> Side:
    if chosen == NOTHING:
        return Side(NOTHING)
    if chosen == INSTALLED or (not chosen and new.number == 1):
        return _installed(told)
    return _of_revision(_numbered(told, int(chosen) if chosen else new.number - 1))


def _installed(told: Detail) -> Side:
    stands, version = told.effect.stands, told.effect.installed_now
    if stands is None:
        return Side(NOTHING)
    exactly = version if version and not stands.agents else None
    named = (exactly.ref, exactly.sha256) if exactly else (None, None)
    return Side(f"installed {stands.label}", stands.text, None, *named)


def _of_revision(revision: Revision) -> Side:
    return Side(f"revision {revision.number}", revision.text, revision.number, None, revision.sha256)


def _numbered(told: Detail, number: int) -> Revision:
    found = told.revision(number)
    if found is None:
        raise NotFound("The proposal has no revision of that number.")
    return found


def _hunk(hunk: Hunk) -> JSONObject:
    return {"skipped": hunk.skipped, "lines": [_line(row) for row in hunk.rows]}


def _line(row: DiffRow) -> JSONObject:
    return {
        "kind": row.kind,
        "oldNumber": row.old_number,
        "newNumber": row.new_number,
        "old": _joined(row.old),
        "new": _joined(row.new),
    }


def _joined(pieces: list[Piece] | None) -> str | None:
    return None if pieces is None else "".join(piece.text for piece in pieces)


# The wire forms of a review: what the closed Proposal cannot hold, and what each action would be answered with.


def review_document(told: Detail, refusals: Refusals) -> JSONObject:
    """One proposal as its reviewers know it, for the principal that asks: ``refusals`` are its own."""
    proposal, current = told.proposal, told.current
    gate = told.gate
    return {
        "proposalId": ids.wire("prop", proposal.id),
        "kind": proposal.kind,
        "state": proposal.state,
        "purpose": proposal.purpose,
        "revision": current.number,
        "sha256": current.sha256,
        "canonicalSha256": current.canonical_sha256,
        "artifactName": artifacts.name_in(proposal.kind, current.text),
        "artifactVersion": artifacts.version_in(proposal.kind, current.text),
        "author": proposal.author,
        "lastReviser": proposal.last_reviser,
        "agentId": proposal.agent_id or None,
        "pendingApprovalId": ids.wire("gate", gate.id) if gate else None,
        "gate": _gate_document(told) if gate else None,
        "policy": _policy_document(told.policy),
        "duplicateOf": proposal.duplicate_of,
        "evidence": proposal.evidence,
        "comments": len(told.comments),
        **_how_it_ended(proposal),
        "actions": {action: _action_document(refusal) for action, refusal in refusals.items()},
    }


def _how_it_ended(proposal: Proposal) -> JSONObject:
    return {
        "installedArtifactRef": proposal.installed_ref,
        "uninstalledRef": proposal.uninstalled_ref or None,
        "closedBy": proposal.closed_by or None,
        "closedAt": instant(proposal.closed_at) if proposal.closed_at else None,
        "closingReason": proposal.closing_reason,
    }


def _gate_document(told: Detail) -> JSONObject:
    ballot = next(each for each in told.ballots if each.gate == told.gate)
    return {**ballot_document(ballot), "policy": _policy_of_gate(ballot.gate)}


def _policy_of_gate(gate: Gate) -> JSONObject:
    """The policy that the gate was opened under."""
    return {
        "number": gate.policy_number,
        "quorum": gate.quorum,
        "eligibleRoles": gate.eligible_roles,
        "overrideRoles": gate.override_roles,
        "overrideBypassesQuorum": gate.override_bypasses_quorum,
        "expiresAt": instant(gate.expires_at) if gate.expires_at else None,
    }


def _policy_document(policy: Policy) -> JSONObject:
    """The policy of the kind as it is now: that of the next gate."""
    return {
        "number": policy.number,
        "quorum": policy.quorum,
        "eligibleRoles": list(policy.eligible_roles),
        "overrideRoles": list(policy.override_roles),
        "overrideBypassesQuorum": policy.override_bypasses_quorum,
        "expiresSec": policy.expires_s,
        "uninstallOnArchive": policy.uninstall_on_archive,
    }


def _action_document(refusal: Refusal | None) -> JSONObject:
    if refusal is None:
        return {"allowed": True, "refusal": None}
    told = {name: refusal.details[name] for name in ("requiredScope", "rule") if name in refusal.details}
    return {"allowed": False, "refusal": {"code": refusal.code, "message": refusal.message, **told}}


def comment_document(comment: Comment) -> JSONObject:
    return {
        "commentId": ids.wire("cmnt", comment.id),
        "revision": comment.revision,
        "line": comment.line,
        "author": comment.author,
        "text": comment.text,
        "at": instant(comment.at),
    }


def comments_document(told: Detail) -> JSONObject:
    """What was said, the oldest first."""
    return {
        "proposalId": ids.wire("prop", told.proposal.id),
        "total": len(told.comments),
        "comments": [comment_document(each) for each in told.comments],
    }


def ended_document(action: str, ended: list[Proposal]) -> JSONObject:
    states = [{"proposalId": ids.wire("prop", each.id), "state": each.state} for each in ended]
    return {"action": action, "proposals": states}


def installed_document(page: Page[Installation]) -> JSONObject:
    return {
        "artifacts": [version_document(each) for each in page.rows],
        "total": page.total,
        "next": cursor("inst", page.after),
    }


def version_document(installed: Installation) -> JSONObject:
    """An installed version without its text, which stands under its ref."""
    return {
        "id": ids.wire("inst", installed.id),
        "ref": installed.ref,
        "kind": installed.kind,
        "name": installed.name,
        "version": installed.version,
        "sha256": installed.sha256,
        "source": installed.source,
        "partOf": installed.part_of.ref if installed.part_of_id else None,
        "current": installed.superseded_at is None,
        **_stop_document(installed),
        "installedBy": installed.installed_by,
        "installedAt": instant(installed.installed_at),
        "supersededAt": instant(installed.superseded_at) if installed.superseded_at else None,
    }


def _stop_document(installed: Installation) -> JSONObject:
    """Whether it is disabled, by itself or with its pack; who disabled it and why stand with what was disabled."""
    stopped = installed if installed.disabled_at else installed.part_of if installed.is_disabled else None
    return {
        "disabled": stopped is not None,
        "disabledAt": instant(stopped.disabled_at) if stopped and stopped.disabled_at else None,
        "disabledBy": stopped.disabled_by if stopped else None,
        "disabledReason": stopped.disabled_reason if stopped else None,
    }


def reason_text(**options: object) -> Text:
    """A text that may be left out and may be empty; how long it may be is for the domain to say."""
    return Text(required=False, allow_blank=True, **options)


def number(**options: Any) -> Whole:
    return Whole(min_value=1, max_value=MOST_REVISIONS, **options)


class ProposalId(Text):
    """The id of a proposal; whether there is one by it is for the domain to find."""

    def to_internal_value(self, data: object) -> Any:
        found = ids.parse("prop", super().to_internal_value(data))
        if found is None:
            raise serializers.ValidationError("is no id of a proposal")
        return found


class DecideProposal(Closed):
    """A vote, about exactly the revision and digest that are named; with ``override`` it overrides the gate."""

    revision = number()
    sha256 = Text(max_length=64)
    decision = serializers.ChoiceField(choices=Decision.values)
    reason = reason_text()
    override = Flag(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("override") and attrs["decision"] != Decision.GRANTED:
            raise serializers.ValidationError({"decision": "of an override is granted, or it is none"})
        return attrs


class ReviseBeforeGate(Closed):
    """The next revision. ``expectedRevision`` is the one its author has read; ``voidGate`` voids a gate under way."""

    artifact = ArtifactField(required=False)
    title = reason_text()
    rationale = reason_text()
    note = reason_text()
    expectedRevision = number(required=False)
    voidGate = Flag(required=False)

    def change(self) -> Change:
        given = self.validated_data
        return Change(**{name: given[name] for name in ("artifact", "title", "rationale", "note") if name in given})

    def conditions(self) -> JSONObject:
        given = self.validated_data
        return {"expected": given.get("expectedRevision"), "voids_gate": given.get("voidGate", False)}


class CommentOn(Closed):
    """Words under a proposal."""

    text = Text(allow_blank=True)


class DiffQuery(Closed):
    """``from`` is the number of a revision, ``installed`` or ``nothing``; ``to`` the number of a revision."""

    to = serializers.IntegerField(required=False, min_value=1, max_value=MOST_REVISIONS)

    def get_fields(self) -> Any:
        """``from`` is a word of Python."""
        older = serializers.RegexField(r"^([1-9][0-9]{0,8}|installed|nothing)$", required=False)
        return {**super().get_fields(), "from": older}


class EndMany(Closed):
    """All of them are rejected, or archived, or none is."""

    action = serializers.ChoiceField(choices=("reject", "archive"))
    ids = serializers.ListField(child=ProposalId(), max_length=1000)
    reason = Text(allow_blank=True)


class ArtifactsQuery(Closed):
    """The latest installed first, current or not; of one kind or name when they are given."""

    kind = Text(required=False, max_length=64)
    name = Text(required=False, max_length=256)
    limit = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    after = After("inst")


class RollBack(Closed):
    """Why the earlier version is to come back."""

    rationale = reason_text()


class StopReason(Closed):
    """Why an installed artifact is disabled, or enabled again."""

    reason = Text(max_length=artifact_stops.MAX_REASON)


def _detail(scope: TenantScope, proposal_id: UUID | None) -> JSONObject:
    told = review.detail(scope, proposal_id)
    refusals = rules.refusals(scope, told.proposal, told.gate, policy=told.policy, now=timezone.now())
    return review_document(told, refusals)


@operation("reviewProposal", scope=READ, gives={200: REVIEW}, tag=TAG)
@api_view(["GET"])
def proposal_review(request: Request, proposal_id: str) -> Response:
    """What the Proposal object cannot hold, with what the caller may do and else why not."""
    return Response(_detail(scope_of(request), ids.parse("prop", proposal_id)))


@operation("decideProposal", scope="approvals:respond", takes=DecideProposal, gives={200: REVIEW}, tag=TAG)
@api_view(["POST"])
def proposal_decide(request: Request, proposal_id: str) -> Response:
    """The vote of the caller; an override needs ``approvals:override`` and a reason."""
    scope, wanted = scope_of(request), ids.parse("prop", proposal_id)
    now = timezone.now()
    with before_the_body(scope, "decide", "override", proposal_id=wanted, now=now):
        given = dict(checked(DecideProposal, request.data).validated_data)
    if given.pop("override", False):
        seen = {name: given[name] for name in ("revision", "sha256")}
        lifecycle.override(scope, wanted, **seen, reason=given.get("reason", ""), now=now)
    else:
        lifecycle.decide(scope, wanted, **given, now=now)
    return Response(_detail(scope, wanted))


@operation(
    "withdrawProposal",
    scope="proposals:request-activation",
    takes=RejectProposal,
    gives={200: REVIEW},
    tag=TAG,
)
@api_view(["POST"])
def proposal_withdraw(request: Request, proposal_id: str) -> Response:
    """The gate under way is cancelled with its run, whose ``run.cancelled`` says why when a reason is given."""
    scope, wanted, now = scope_of(request), ids.parse("prop", proposal_id), timezone.now()
    with before_the_body(scope, "withdraw", proposal_id=wanted, now=now):
        reason = checked(RejectProposal, request.data).given_reason()
    lifecycle.withdraw(scope, wanted, reason=reason, now=now)
    return Response(_detail(scope, wanted))


@operation("listRevisions", method="GET", scope=READ, query=RevisionsQuery, gives={200: REVISIONS}, tag=TAG)
@operation(
    "addRevision",
    method="POST",
    scope="proposals:revise",
    takes=ReviseBeforeGate,
    gives={201: REVIEW},
    tag=TAG,
)
@api_view(["GET", "POST"])
@parser_classes([ArtifactParser])
def proposal_revisions(request: Request, proposal_id: str) -> Response:
    """The newest revisions with their verbatim texts, and every gate; ``next`` is what to ask for with ``before``.

    Or the next revision, which may void the gate.
    """
    scope, wanted, now = scope_of(request), ids.parse("prop", proposal_id), timezone.now()
    if request.method == "GET":
        part = checked(RevisionsQuery, query_of(request)).part()
        found = review.find(scope, wanted)
        return Response(revisions_document(found, revisions.page(found, **part), review.ballots_of(found)))
    with before_the_body(scope, "revise", proposal_id=wanted, now=now):
        given = checked(ReviseBeforeGate, request.data)
    lifecycle.revise(scope, wanted, given.change(), **given.conditions(), now=now)
    return Response(_detail(scope, wanted), status=201)


@operation("diffProposal", scope=READ, query=DiffQuery, gives={200: DIFF}, tag=TAG)
@api_view(["GET"])
def proposal_diff(request: Request, proposal_id: str) -> Response:
    """The readable lines of two sides, and what became of them."""
    given = checked(DiffQuery, query_of(request)).validated_data
    told = review.detail(scope_of(request), ids.parse("prop", proposal_id))
    return Response(diff_document(told, given.get("from", ""), given.get("to")))


@operation("listComments", method="GET", scope=READ, gives={200: COMMENTS}, tag=TAG)
@operation(
    "addComment",
    method="POST",
    scope="proposals:comment",
    takes=CommentOn,
    gives={201: COMMENT},
    tag=TAG,
)
@api_view(["GET", "POST"])
def proposal_comments(request: Request, proposal_id: str) -> Response:
    """The discussion, the oldest first; or one word more."""
    scope, wanted, now = scope_of(request), ids.parse("prop", proposal_id), timezone.now()
    if request.method == "GET":
        return Response(comments_document(review.detail(scope, wanted)))
    with before_the_body(scope, "comment", proposal_id=wanted, now=now):
        text = checked(CommentOn, request.data).validated_data["text"]
    return Response(comment_document(comments.add(scope, wanted, text, now=now)), status=201)


@operation("endProposals", scope=READ, takes=EndMany, gives={200: BULK}, tag=TAG)
@api_view(["POST"])
def proposal_bulk(request: Request) -> Response:
    """All are rejected or archived, or none; rejecting needs ``approvals:respond``, archiving ``proposals:revise``."""
    scope, now = scope_of(request), timezone.now()
    with before_the_body(scope, "reject", "archive", now=now):
        given = checked(EndMany, request.data).validated_data
    action = given["action"]
    ended = lifecycle.end_many(scope, action, given["ids"], reason=given["reason"], now=now)
    return Response(ended_document(action, ended))


@operation(
    "listInstalledArtifacts",
    scope="artifacts:read",
    query=ArtifactsQuery,
    gives={200: INSTALLED_VERSIONS},
    tag=TAG,
)
@api_view(["GET"])
def artifact_list(request: Request) -> Response:
    """Every version that was ever installed, the latest first; the text of one stands under its ref."""
    given = dict(checked(ArtifactsQuery, query_of(request)).validated_data)
    before, limit = given.pop("after", None), given.pop("limit", DEFAULT_LIMIT)
    return Response(
        installed_document(installation.list_installed(scope_of(request), **given, before=before, limit=limit))
    )


@operation("rollBackArtifact", scope="proposals:create", takes=RollBack, gives={201: PROPOSAL}, tag=TAG)
@api_view(["POST"])
def artifact_rollback(request: Request, ref: str) -> Response:
    """A proposal to make that version the current one again; its gate decides."""
    scope, now = scope_of(request), timezone.now()
    with before_the_body(scope, "create", now=now):
        rationale = checked(RollBack, request.data).validated_data.get("rationale", "")
    made = lifecycle.propose(scope, ref, rationale=rationale, now=now)
    return Response(proposal_document(revisions.standing(made)), status=201)


@operation(
    "disableArtifact",
    scope=artifact_stops.SCOPE,
    takes=StopReason,
    gives={200: INSTALLED_VERSION},
    tag=TAG,
)
@api_view(["POST"])
def artifact_disable(request: Request, ref: str) -> Response:
    """No run uses the current version any more; one that needs it fails with ``artifact_disabled``."""
    return _stopped_or_started(request, ref, artifact_stops.disable)


@operation(
    "enableArtifact",
    scope=artifact_stops.SCOPE,
    takes=StopReason,
    gives={200: INSTALLED_VERSION},
    tag=TAG,
)
@api_view(["POST"])
def artifact_enable(request: Request, ref: str) -> Response:
    """Runs use the version again, and an automation keeps its time."""
    return _stopped_or_started(request, ref, artifact_stops.enable)


def _stopped_or_started(request: Request, ref: str, act: Callable[..., Installation]) -> Response:
    scope, now = scope_of(request), timezone.now()
    artifact_stops.authorize(scope, now=now)
    reason = checked(StopReason, request.data).validated_data["reason"]
    return Response(version_document(act(scope, ref, reason=reason, now=now)))
