"""``/v1/host/sample/proposals`` and the host extension beside it: serializer -> scope -> one call -> response.

The routes are product, not test seams, whatever their namespace is called (openwop-host 1.3).
"""

from django.utils import timezone
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory import artifact_stops
from memory.host import ids
from memory.host.http import checked, operation, query_of
from memory.host.tenancy import scope_of
from proposals import inbox, lifecycle, review, revisions
from proposals.api import schemas
from proposals.api.bodies import ArtifactParser, before_the_body
from proposals.api.serializers import (
    CreateProposal,
    ListQuery,
    RejectProposal,
    ReviseProposal,
    applied_document,
    installation_document,
    listing_document,
    proposal_document,
)


@operation("listProposals", scope="proposals:read", query=ListQuery, gives={200: schemas.PROPOSALS}, tag="proposals")
@api_view(["GET"])
def proposal_list(request: Request) -> Response:
    """The newest first; ``next`` is what to ask for with ``after``."""
    query = checked(ListQuery, query_of(request))
    found = inbox.list_rows(scope_of(request), query.wanted(), **query.part(), now=timezone.now())
    return Response(listing_document(found))


@operation(
    "createProposal", scope="proposals:create", takes=CreateProposal, gives={201: schemas.PROPOSAL}, tag="proposals"
)
@api_view(["POST"])
@parser_classes([ArtifactParser])
def proposal_create(request: Request) -> Response:
    scope, now = scope_of(request), timezone.now()
    with before_the_body(scope, "create", now=now):
        draft = checked(CreateProposal, request.data).draft()
    made = lifecycle.create(scope, draft, now=now)
    return Response(proposal_document(revisions.standing(made)), status=201)


@operation("getProposal", method="GET", scope="proposals:read", gives={200: schemas.PROPOSAL}, tag="proposals")
@operation(
    "reviseProposal",
    method="PATCH",
    scope="proposals:revise",
    takes=ReviseProposal,
    gives={200: schemas.PROPOSAL},
    tag="proposals",
)
@operation("archiveProposal", method="DELETE", scope="proposals:revise", gives={200: schemas.PROPOSAL}, tag="proposals")
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
    return Response(proposal_document(revisions.standing(found)))


@operation(
    "applyProposal",
    scope="proposals:request-activation",
    gives={200: schemas.APPLIED, 202: schemas.PENDING},
    tag="proposals",
)
@api_view(["POST"])
def proposal_apply(request: Request, proposal_id: str) -> Response:
    """Public clients send no body and no content type; whatever is sent is not looked at."""
    activation = lifecycle.ask_to_apply(scope_of(request), ids.parse("prop", proposal_id), now=timezone.now())
    body, status = applied_document(activation)
    return Response(body, status=status)


@operation(
    "rejectProposal", scope="approvals:respond", takes=RejectProposal, gives={200: schemas.PROPOSAL}, tag="proposals"
)
@api_view(["POST"])
def proposal_reject(request: Request, proposal_id: str) -> Response:
    scope, wanted, now = scope_of(request), ids.parse("prop", proposal_id), timezone.now()
    with before_the_body(scope, "reject", proposal_id=wanted, now=now):
        reason = checked(RejectProposal, request.data).given_reason()
    rejected = lifecycle.reject(scope, wanted, reason=reason, now=now)
    return Response(proposal_document(revisions.standing(rejected)))


@operation("getInstalledArtifact", scope="artifacts:read", gives={200: schemas.INSTALLATION}, tag="proposals")
@api_view(["GET"])
def artifact(request: Request, ref: str) -> Response:
    return Response(installation_document(artifact_stops.find(scope_of(request), ref)))
