"""Proposals over HTTP: ``/v1/host/sample/proposals`` of the face, and the host extension's review of one.

Serializer -> scope -> one call -> response. The routes are product, not test seams, whatever their namespace is called
(openwop-host 1.3). The review is what the closed Proposal object cannot hold.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

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
    Answer,
    Closed,
    Nothing,
    Omittable,
    Whole,
    checked,
    closed,
    listed,
    nullable,
    operation,
    query_of,
    words,
)
from memory.host.json_types import JSONObject
from memory.host.tenancy import TenantScope, scope_of
from memory.text import differences
from memory.text.differences import Diff, DiffRow, Hunk, Piece
from memory.wire import instant
from proposals import artifacts, comments, diffs, inbox, lifecycle, review, revisions, rules
from proposals.api.serializers import (
    APPLIED,
    GATE,
    PENDING,
    PROPOSAL,
    PROPOSALS,
    REVISIONS,
    ArtifactField,
    ArtifactParser,
    CreateProposal,
    ListQuery,
    RejectProposal,
    ReviseProposal,
    RevisionsQuery,
    applied_document,
    before_the_body,
    revisions_document,
)
from proposals.drafts import Change
from proposals.models import Comment, Decision, Gate, Kind, Proposal, Purpose, Revision, State
from proposals.policies import Policy
from proposals.review import Ballot, Detail
from proposals.rules import ASKED_OF_EACH

INSTALLED, NOTHING = "installed", "nothing"
Refusals = dict[str, Refusal | None]
REFUSAL = Answer[Refusal](
    "BarredAction",
    code=(TEXT, lambda refusal: refusal.code),
    message=(TEXT, lambda refusal: refusal.message),
    requiredScope=(Omittable(TEXT), lambda refusal: refusal.details.get("requiredScope")),
    rule=(Omittable(TEXT), lambda refusal: refusal.details.get("rule")),
)
ACTION = Answer["Refusal | None"](
    "ReviewAction",
    allowed=(FLAG, lambda refusal: refusal is None),
    refusal=(nullable(REFUSAL), lambda refusal: REFUSAL.document(refusal) if refusal else None),
)
# The policy that the gate was opened under.
GATE_POLICY = Answer[Gate](
    "PolicyOfGate",
    number=(COUNT, lambda gate: gate.policy_number),
    quorum=(POSITIVE, lambda gate: gate.quorum),
    eligibleRoles=(listed(TEXT), lambda gate: gate.eligible_roles),
    overrideRoles=(listed(TEXT), lambda gate: gate.override_roles),
    overrideBypassesQuorum=(FLAG, lambda gate: gate.override_bypasses_quorum),
    expiresAt=(nullable(TIME), lambda gate: instant(gate.expires_at)),
)
# The policy of the kind as it is now: that of the next gate.
KIND_POLICY = Answer[Policy](
    "PolicyOfKind",
    number=(COUNT, lambda policy: policy.number),
    quorum=(POSITIVE, lambda policy: policy.quorum),
    eligibleRoles=(listed(TEXT), lambda policy: list(policy.eligible_roles)),
    overrideRoles=(listed(TEXT), lambda policy: list(policy.override_roles)),
    overrideBypassesQuorum=(FLAG, lambda policy: policy.override_bypasses_quorum),
    expiresSec=(POSITIVE, lambda policy: policy.expires_s),
    uninstallOnArchive=(FLAG, lambda policy: policy.uninstall_on_archive),
)
REVIEW_GATE = Answer[Ballot](
    "GateUnderReview", **GATE.members, policy=(GATE_POLICY, lambda ballot: GATE_POLICY.document(ballot.gate))
)
# One proposal as its reviewers know it.
DETAIL = Answer[Detail](
    proposalId=(TEXT, lambda detail: ids.wire("prop", detail.proposal.id)),
    kind=(words(Kind.values), lambda detail: detail.proposal.kind),
    state=(words(State.values), lambda detail: detail.proposal.state),
    purpose=(words(Purpose.values), lambda detail: detail.proposal.purpose),
    revision=(POSITIVE, lambda detail: detail.current.number),
    sha256=(SHA256, lambda detail: detail.current.sha256),
    canonicalSha256=(SHA256, lambda detail: detail.current.canonical_sha256),
    artifactName=(STRING, lambda detail: artifacts.name_in(detail.proposal.kind, detail.current.text)),
    artifactVersion=(STRING, lambda detail: artifacts.version_in(detail.proposal.kind, detail.current.text)),
    author=(TEXT, lambda detail: detail.proposal.author),
    lastReviser=(TEXT, lambda detail: detail.proposal.last_reviser),
    agentId=(nullable(TEXT), lambda detail: detail.proposal.agent_id or None),
    pendingApprovalId=(nullable(TEXT), lambda detail: ids.wire("gate", detail.gate.id) if detail.gate else None),
    gate=(
        nullable(REVIEW_GATE),
        lambda detail: next((REVIEW_GATE.document(each) for each in detail.ballots if each.gate == detail.gate), None),
    ),
    policy=(KIND_POLICY, lambda detail: KIND_POLICY.document(detail.policy)),
    duplicateOf=(nullable(TEXT), lambda detail: detail.proposal.duplicate_of),
    evidence=(listed({"type": "object", "additionalProperties": STRING}), lambda detail: detail.proposal.evidence),
    comments=(COUNT, lambda detail: len(detail.comments)),
    installedArtifactRef=(nullable(TEXT), lambda detail: detail.proposal.installed_ref),
    uninstalledRef=(nullable(TEXT), lambda detail: detail.proposal.uninstalled_ref or None),
    closedBy=(nullable(TEXT), lambda detail: detail.proposal.closed_by or None),
    closedAt=(nullable(TIME), lambda detail: instant(detail.proposal.closed_at)),
    closingReason=(STRING, lambda detail: detail.proposal.closing_reason),
)
# The same for the principal that asks: the refusals are its own.
REVIEW = closed("ProposalReview", **DETAIL["properties"], actions=closed(**dict.fromkeys(ASKED_OF_EACH, ACTION)))
COMMENT = Answer[Comment](
    "ProposalComment",
    commentId=(TEXT, lambda comment: ids.wire("cmnt", comment.id)),
    revision=(POSITIVE, lambda comment: comment.revision),
    line=(nullable(COUNT), lambda comment: comment.line),
    author=(TEXT, lambda comment: comment.author),
    text=(STRING, lambda comment: comment.text),
    at=(TIME, lambda comment: instant(comment.at)),
)
# The oldest first.
COMMENTS = Answer[Detail](
    "ProposalComments",
    proposalId=(TEXT, lambda detail: ids.wire("prop", detail.proposal.id)),
    total=(COUNT, lambda detail: len(detail.comments)),
    comments=(listed(COMMENT), lambda detail: COMMENT.documents(detail.comments)),
)
ENDED = Answer[Proposal](
    proposalId=(TEXT, lambda proposal: ids.wire("prop", proposal.id)),
    state=(words(State.values), lambda proposal: proposal.state),
)
BULK = closed(
    "EndedProposals",
    action=words(("reject", "archive")),
    proposals=listed(ENDED),
)
LINE = Answer[DiffRow](
    "DiffLine",
    kind=(words((differences.SAME, differences.ADDED, differences.REMOVED, differences.CHANGED)), lambda row: row.kind),
    oldNumber=(nullable(POSITIVE), lambda row: row.old_number),
    newNumber=(nullable(POSITIVE), lambda row: row.new_number),
    old=(nullable(STRING), lambda row: _joined(row.old)),
    new=(nullable(STRING), lambda row: _joined(row.new)),
)
HUNK = Answer[Hunk](
    "DiffHunk",
    skipped=(COUNT, lambda hunk: hunk.skipped),
    lines=(listed(LINE), lambda hunk: LINE.documents(hunk.rows)),
)
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


@dataclass(frozen=True, slots=True)
class Compared:
    """Two sides of a proposal and how they differ."""

    proposal: Proposal
    older: Side
    newer: Side
    diff: Diff


SIDE = Answer[Side](
    label=(TEXT, lambda side: side.label),
    revision=(nullable(POSITIVE), lambda side: side.revision),
    ref=(nullable(TEXT), lambda side: side.ref),
    sha256=(nullable(SHA256), lambda side: side.sha256),
)
DIFF = Answer[Compared](
    "ProposalDiff",
    proposalId=(TEXT, lambda compared: ids.wire("prop", compared.proposal.id)),
    older=(SIDE, lambda compared: SIDE.document(compared.older)),
    newer=(SIDE, lambda compared: SIDE.document(compared.newer)),
    added=(COUNT, lambda compared: compared.diff.added),
    removed=(COUNT, lambda compared: compared.diff.removed),
    notCompared=(COUNT, lambda compared: compared.diff.not_compared),
    skippedAfter=(COUNT, lambda compared: compared.diff.skipped_after),
    hunks=(listed(HUNK), lambda compared: HUNK.documents(compared.diff.hunks)),
)


def compare(detail: Detail, older: str, newer: int | None) -> Compared:
    """Compare two sides of the proposal; without a word of what, the last step with the one before it."""
    new = _numbered(detail, newer) if newer else detail.current
    before, after = _older(detail, older, new), _of_revision(new)
    return Compared(detail.proposal, before, after, diffs.between(before.text, after.text))


def _older(detail: Detail, chosen: str, new: Revision) -> Side:
    if chosen == NOTHING:
        return Side(NOTHING)
    if chosen == INSTALLED or (not chosen and new.number == 1):
        return _installed(detail)
    return _of_revision(_numbered(detail, int(chosen) if chosen else new.number - 1))


def _installed(detail: Detail) -> Side:
    stands, version = detail.effect.stands, detail.effect.installed_now
    if stands is None:
        return Side(NOTHING)
    exactly = version if version and not stands.agents else None
    named = (exactly.ref, exactly.sha256) if exactly else (None, None)
    return Side(f"installed {stands.label}", stands.text, None, *named)


def _of_revision(revision: Revision) -> Side:
    return Side(f"revision {revision.number}", revision.text, revision.number, None, revision.sha256)


def _numbered(detail: Detail, number: int) -> Revision:
    found = detail.revision(number)
    if found is None:
        raise NotFound("The proposal has no revision of that number.")
    return found


def _joined(pieces: list[Piece] | None) -> str | None:
    return None if pieces is None else "".join(piece.text for piece in pieces)


# The wire forms of a review: what the closed Proposal cannot hold, and what each action would be answered with.


def review_document(detail: Detail, refusals: Refusals) -> JSONObject:
    """The review of a proposal for the principal whose refusals these are, by action."""
    return DETAIL.document(detail) | {"actions": {name: ACTION.document(each) for name, each in refusals.items()}}


def reason_text(**options: Any) -> serializers.CharField:
    """A text that may be left out and may be empty; how long it may be is for the domain to say."""
    return serializers.CharField(required=False, allow_blank=True, **options)


def number(**options: Any) -> Whole:
    return Whole(min_value=1, max_value=MOST_REVISIONS, **options)


class ProposalId(serializers.CharField):
    """The id of a proposal; whether there is one by it is for the domain to find."""

    def to_internal_value(self, data: str) -> Any:
        found = ids.parse("prop", super().to_internal_value(data))
        if found is None:
            raise serializers.ValidationError("is no id of a proposal")
        return found


class DecideProposal(Closed):
    """A vote, about exactly the revision and digest that are named; with ``override`` it overrides the gate."""

    revision = number()
    sha256 = serializers.CharField(max_length=64)
    decision = serializers.ChoiceField(choices=Decision.values)
    reason = reason_text()
    override = serializers.BooleanField(required=False)

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
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
    voidGate = serializers.BooleanField(required=False)

    def change(self) -> Change:
        given = self.validated_data
        return Change(**{name: given[name] for name in ("artifact", "title", "rationale", "note") if name in given})

    def conditions(self) -> JSONObject:
        given = self.validated_data
        return {"expected": given.get("expectedRevision"), "voids_gate": given.get("voidGate", False)}


class CommentOn(Closed):
    """Words under a proposal."""

    text = serializers.CharField(allow_blank=True)


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
    reason = serializers.CharField(allow_blank=True)


@operation("listProposals", scope=READ, query=ListQuery, gives={200: PROPOSALS}, tag=TAG)
@api_view(["GET"])
def proposal_list(request: Request) -> Response:
    """The newest first; ``next`` is what to ask for with ``after``."""
    query = checked(ListQuery, query_of(request))
    found = inbox.list_rows(scope_of(request), query.wanted(), **query.part(), now=timezone.now())
    return Response(PROPOSALS.document(found))


@operation("createProposal", scope="proposals:create", takes=CreateProposal, gives={201: PROPOSAL}, tag=TAG)
@api_view(["POST"])
@parser_classes([ArtifactParser])
def proposal_create(request: Request) -> Response:
    scope, now = scope_of(request), timezone.now()
    with before_the_body(scope, "create", now=now):
        draft = checked(CreateProposal, request.data).draft()
    made = lifecycle.create(scope, draft, now=now)
    return Response(PROPOSAL.document(revisions.current_with_tenant(made)), status=201)


@operation("getProposal", method="GET", scope=READ, gives={200: PROPOSAL}, tag=TAG)
@operation(
    "reviseProposal",
    method="PATCH",
    scope="proposals:revise",
    takes=ReviseProposal,
    gives={200: PROPOSAL},
    tag=TAG,
)
@operation("archiveProposal", method="DELETE", scope="proposals:revise", gives={200: PROPOSAL}, tag=TAG)
@api_view(["GET", "PATCH", "DELETE"])
@parser_classes([ArtifactParser])
def proposal(request: Request, proposal_id: str) -> Response:
    scope, wanted, now = scope_of(request), ids.parse("prop", proposal_id), timezone.now()
    if request.method == "PATCH":
        with before_the_body(scope, "revise", proposal_id=wanted, now=now):
            change = checked(ReviseProposal, request.data).change()
        found = lifecycle.revise(scope, wanted, change, now=now)
    elif request.method == "DELETE":
        found = lifecycle.archive(scope, wanted, now=now)
    else:
        found = review.find(scope, wanted)
    return Response(PROPOSAL.document(revisions.current_with_tenant(found)))


@operation(
    "applyProposal",
    scope="proposals:request-activation",
    takes=Nothing,
    gives={200: APPLIED, 202: PENDING},
    tag=TAG,
)
@api_view(["POST"])
def proposal_apply(request: Request, proposal_id: str) -> Response:
    scope, wanted, now = scope_of(request), ids.parse("prop", proposal_id), timezone.now()
    with before_the_body(scope, "apply", proposal_id=wanted, now=now):
        checked(Nothing, request.data)
    activation = lifecycle.ask_to_apply(scope, wanted, now=now)
    body, status = applied_document(activation)
    return Response(body, status=status)


@operation(
    "rejectProposal",
    scope="approvals:respond",
    takes=RejectProposal,
    gives={200: PROPOSAL},
    tag=TAG,
)
@api_view(["POST"])
def proposal_reject(request: Request, proposal_id: str) -> Response:
    scope, wanted, now = scope_of(request), ids.parse("prop", proposal_id), timezone.now()
    with before_the_body(scope, "reject", proposal_id=wanted, now=now):
        reason = checked(RejectProposal, request.data).given_reason()
    rejected = lifecycle.reject(scope, wanted, reason=reason, now=now)
    return Response(PROPOSAL.document(revisions.current_with_tenant(rejected)))


def _detail(scope: TenantScope, proposal_id: UUID | None) -> JSONObject:
    detail = review.detail(scope, proposal_id)
    refusals = rules.refusals(scope, detail.proposal, detail.gate, policy=detail.policy, now=timezone.now())
    return review_document(detail, refusals)


@operation("reviewProposal", scope=READ, gives={200: REVIEW}, tag=TAG)
@api_view(["GET"])
def proposal_review(request: Request, proposal_id: str) -> Response:
    """What the Proposal object cannot hold, with what the caller may do and else why not."""
    return Response(_detail(scope_of(request), ids.parse("prop", proposal_id)))


@operation(
    "decideProposal", scope="approvals:respond|approvals:override", takes=DecideProposal, gives={200: REVIEW}, tag=TAG
)
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
    detail = review.detail(scope_of(request), ids.parse("prop", proposal_id))
    return Response(DIFF.document(compare(detail, given.get("from", ""), given.get("to"))))


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
        return Response(COMMENTS.document(review.detail(scope, wanted)))
    with before_the_body(scope, "comment", proposal_id=wanted, now=now):
        text = checked(CommentOn, request.data).validated_data["text"]
    return Response(COMMENT.document(comments.add(scope, wanted, text, now=now)), status=201)


@operation("endProposals", scope="approvals:respond|proposals:revise", takes=EndMany, gives={200: BULK}, tag=TAG)
@api_view(["POST"])
def proposal_bulk(request: Request) -> Response:
    """All are rejected or archived, or none; rejecting needs ``approvals:respond``, archiving ``proposals:revise``."""
    scope, now = scope_of(request), timezone.now()
    with before_the_body(scope, "reject", "archive", now=now):
        given = checked(EndMany, request.data).validated_data
    action = given["action"]
    ended = lifecycle.end_many(scope, action, given["ids"], reason=given["reason"], now=now)
    return Response({"action": action, "proposals": ENDED.documents(ended)})
