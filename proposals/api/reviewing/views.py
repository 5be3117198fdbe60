"""The review at ``/v1/host/console/proposals/{id}``, the bulk, and the installed versions with their rollback."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.utils import timezone
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory import artifact_stops
from memory.host import ids
from memory.host.models import Installation
from memory.host.operations import operation
from memory.host.serializing import checked, query_of
from memory.host.tenancy import TenantScope, scope_of
from proposals import comments, installation, lifecycle, overrides, review, revisions, rollbacks, rules
from proposals.api.parsing import ArtifactParser
from proposals.api.permitting import before_the_body
from proposals.api.reviewing import schemas
from proposals.api.reviewing import serializers as wire
from proposals.api.reviewing.comparing import diff_document
from proposals.api.reviewing.documents import (
    comment_document,
    comments_document,
    ended_document,
    installed_document,
    review_document,
    version_document,
)
from proposals.api.schemas import PROPOSAL, REVISIONS
from proposals.api.serializers import RejectProposal, RevisionsQuery, proposal_document, revisions_document

TAG = "proposals"
READ = "proposals:read"
DEFAULT_LIMIT = 50


def _told(scope: TenantScope, proposal_id: UUID | None) -> dict[str, Any]:
    told = review.detail(scope, proposal_id)
    refusals = rules.refusals(scope, told.proposal, told.gate, policy=told.policy, now=timezone.now())
    return review_document(told, refusals)


@operation("reviewProposal", scope=READ, gives={200: schemas.REVIEW}, tag=TAG)
@api_view(["GET"])
def proposal_review(request: Request, proposal_id: str) -> Response:
    """What the Proposal object cannot hold, with what the caller may do and else why not."""
    return Response(_told(scope_of(request), ids.parse("prop", proposal_id)))


@operation("decideProposal", scope="approvals:respond", takes=wire.DecideProposal, gives={200: schemas.REVIEW}, tag=TAG)
@api_view(["POST"])
def proposal_decide(request: Request, proposal_id: str) -> Response:
    """The vote of the caller; an override needs ``approvals:override`` and a reason."""
    scope, wanted = scope_of(request), ids.parse("prop", proposal_id)
    now = timezone.now()
    with before_the_body(scope, "decide", "override", proposal_id=wanted, now=now):
        given = dict(checked(wire.DecideProposal, request.data).validated_data)
    if given.pop("override", False):
        seen = {name: given[name] for name in ("revision", "sha256")}
        overrides.override(scope, wanted, **seen, reason=given.get("reason", ""), now=now)
    else:
        lifecycle.decide(scope, wanted, **given, now=now)
    return Response(_told(scope, wanted))


@operation(
    "withdrawProposal",
    scope="proposals:request-activation",
    takes=RejectProposal,
    gives={200: schemas.REVIEW},
    tag=TAG,
)
@api_view(["POST"])
def proposal_withdraw(request: Request, proposal_id: str) -> Response:
    """The gate under way is cancelled with its run, whose ``run.cancelled`` says why when a reason is given."""
    scope, wanted, now = scope_of(request), ids.parse("prop", proposal_id), timezone.now()
    with before_the_body(scope, "withdraw", proposal_id=wanted, now=now):
        reason = checked(RejectProposal, request.data).given_reason()
    lifecycle.withdraw(scope, wanted, reason=reason, now=now)
    return Response(_told(scope, wanted))


@operation("listRevisions", method="GET", scope=READ, query=RevisionsQuery, gives={200: REVISIONS}, tag=TAG)
@operation(
    "addRevision",
    method="POST",
    scope="proposals:revise",
    takes=wire.ReviseBeforeGate,
    gives={201: schemas.REVIEW},
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
        given = checked(wire.ReviseBeforeGate, request.data)
    lifecycle.revise(scope, wanted, given.change(), **given.conditions(), now=now)
    return Response(_told(scope, wanted), status=201)


@operation("diffProposal", scope=READ, query=wire.DiffQuery, gives={200: schemas.DIFF}, tag=TAG)
@api_view(["GET"])
def proposal_diff(request: Request, proposal_id: str) -> Response:
    """The readable lines of two sides, and what became of them."""
    given = checked(wire.DiffQuery, query_of(request)).validated_data
    told = review.detail(scope_of(request), ids.parse("prop", proposal_id))
    return Response(diff_document(told, given.get("from", ""), given.get("to")))


@operation("listComments", method="GET", scope=READ, gives={200: schemas.COMMENTS}, tag=TAG)
@operation(
    "addComment",
    method="POST",
    scope="proposals:comment",
    takes=wire.CommentOn,
    gives={201: schemas.COMMENT},
    tag=TAG,
)
@api_view(["GET", "POST"])
def proposal_comments(request: Request, proposal_id: str) -> Response:
    """The discussion, the oldest first; or one word more."""
    scope, wanted, now = scope_of(request), ids.parse("prop", proposal_id), timezone.now()
    if request.method == "GET":
        return Response(comments_document(review.detail(scope, wanted)))
    with before_the_body(scope, "comment", proposal_id=wanted, now=now):
        text = checked(wire.CommentOn, request.data).validated_data["text"]
    return Response(comment_document(comments.add(scope, wanted, text, now=now)), status=201)


@operation("endProposals", scope=READ, takes=wire.EndMany, gives={200: schemas.BULK}, tag=TAG)
@api_view(["POST"])
def proposal_bulk(request: Request) -> Response:
    """All are rejected or archived, or none; rejecting needs ``approvals:respond``, archiving ``proposals:revise``."""
    scope, now = scope_of(request), timezone.now()
    with before_the_body(scope, "reject", "archive", now=now):
        given = checked(wire.EndMany, request.data).validated_data
    action = given["action"]
    ended = lifecycle.end_many(scope, action, given["ids"], reason=given["reason"], now=now)
    return Response(ended_document(action, ended))


@operation(
    "listInstalledArtifacts",
    scope="artifacts:read",
    query=wire.ArtifactsQuery,
    gives={200: schemas.INSTALLED_VERSIONS},
    tag=TAG,
)
@api_view(["GET"])
def artifact_list(request: Request) -> Response:
    """Every version that was ever installed, the latest first; the text of one stands under its ref."""
    given = dict(checked(wire.ArtifactsQuery, query_of(request)).validated_data)
    before, limit = given.pop("after", None), given.pop("limit", DEFAULT_LIMIT)
    return Response(installed_document(installation.listed(scope_of(request), **given, before=before, limit=limit)))


@operation("rollBackArtifact", scope="proposals:create", takes=wire.RollBack, gives={201: PROPOSAL}, tag=TAG)
@api_view(["POST"])
def artifact_rollback(request: Request, ref: str) -> Response:
    """A proposal to make that version the current one again; its gate decides."""
    scope, now = scope_of(request), timezone.now()
    with before_the_body(scope, "create", now=now):
        rationale = checked(wire.RollBack, request.data).validated_data.get("rationale", "")
    made = rollbacks.propose(scope, ref, rationale=rationale, now=now)
    return Response(proposal_document(revisions.standing(made)), status=201)


@operation(
    "disableArtifact",
    scope=artifact_stops.SCOPE,
    takes=wire.StopReason,
    gives={200: schemas.INSTALLED_VERSION},
    tag=TAG,
)
@api_view(["POST"])
def artifact_disable(request: Request, ref: str) -> Response:
    """No run uses the current version any more; one that needs it fails with ``artifact_disabled``."""
    return _stopped_or_started(request, ref, artifact_stops.disable)


@operation(
    "enableArtifact",
    scope=artifact_stops.SCOPE,
    takes=wire.StopReason,
    gives={200: schemas.INSTALLED_VERSION},
    tag=TAG,
)
@api_view(["POST"])
def artifact_enable(request: Request, ref: str) -> Response:
    """Runs use the version again, and an automation keeps its time."""
    return _stopped_or_started(request, ref, artifact_stops.enable)


def _stopped_or_started(request: Request, ref: str, act: Callable[..., Installation]) -> Response:
    scope, now = scope_of(request), timezone.now()
    artifact_stops.authorize(scope, now=now)
    reason = checked(wire.StopReason, request.data).validated_data["reason"]
    return Response(version_document(act(scope, ref, reason=reason, now=now)))
