"""``/v1/host/sample/proposals``, the host extension for creating one, and synthesis.

Serializer -> scope -> one call -> response. The routes are product, not test seams, whatever their namespace is called
(openwop-host 1.3).
"""

from django.db import transaction
from django.urls import path
from django.utils import timezone
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from memory import artifact_stops
from memory.api.passes import WORK
from memory.host import ids
from memory.host.http import (
    Answer,
    Closed,
    Flag,
    Nothing,
    checked,
    operation,
    query_of,
)
from memory.host.tenancy import scope_of
from memory.models import Pass
from proposals import inbox, learning, lifecycle, review, revisions, tasks
from proposals.api import serializers
from proposals.api.serializers import (
    INSTALLATION,
    ArtifactParser,
    CreateProposal,
    ListQuery,
    RejectProposal,
    ReviseProposal,
    applied_document,
    before_the_body,
)

# Of a dry run, ``outcome`` has titles too.
SYNTHESIS = Answer[Pass]("Synthesis", **WORK)
READ, RUN = "proposals:read", "passes:run"
TAG = "proposals"
ROUTE = "v1/host/console/synthesis"


@operation(
    "listProposals", scope="proposals:read", query=ListQuery, gives={200: serializers.PROPOSALS}, tag="proposals"
)
@api_view(["GET"])
def proposal_list(request: Request) -> Response:
    """The newest first; ``next`` is what to ask for with ``after``."""
    query = checked(ListQuery, query_of(request))
    found = inbox.list_rows(scope_of(request), query.wanted(), **query.part(), now=timezone.now())
    return Response(serializers.PROPOSALS.document(found))


@operation(
    "createProposal", scope="proposals:create", takes=CreateProposal, gives={201: serializers.PROPOSAL}, tag="proposals"
)
@api_view(["POST"])
@parser_classes([ArtifactParser])
def proposal_create(request: Request) -> Response:
    scope, now = scope_of(request), timezone.now()
    with before_the_body(scope, "create", now=now):
        draft = checked(CreateProposal, request.data).draft()
    made = lifecycle.create(scope, draft, now=now)
    return Response(serializers.PROPOSAL.document(revisions.current_with_tenant(made)), status=201)


@operation("getProposal", method="GET", scope="proposals:read", gives={200: serializers.PROPOSAL}, tag="proposals")
@operation(
    "reviseProposal",
    method="PATCH",
    scope="proposals:revise",
    takes=ReviseProposal,
    gives={200: serializers.PROPOSAL},
    tag="proposals",
)
@operation(
    "archiveProposal", method="DELETE", scope="proposals:revise", gives={200: serializers.PROPOSAL}, tag="proposals"
)
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
    return Response(serializers.PROPOSAL.document(revisions.current_with_tenant(found)))


@operation(
    "applyProposal",
    scope="proposals:request-activation",
    gives={200: serializers.APPLIED, 202: serializers.PENDING},
    tag="proposals",
)
@api_view(["POST"])
def proposal_apply(request: Request, proposal_id: str) -> Response:
    """Public clients send no body and no content type; whatever is sent is not looked at."""
    activation = lifecycle.ask_to_apply(scope_of(request), ids.parse("prop", proposal_id), now=timezone.now())
    body, status = applied_document(activation)
    return Response(body, status=status)


@operation(
    "rejectProposal",
    scope="approvals:respond",
    takes=RejectProposal,
    gives={200: serializers.PROPOSAL},
    tag="proposals",
)
@api_view(["POST"])
def proposal_reject(request: Request, proposal_id: str) -> Response:
    scope, wanted, now = scope_of(request), ids.parse("prop", proposal_id), timezone.now()
    with before_the_body(scope, "reject", proposal_id=wanted, now=now):
        reason = checked(RejectProposal, request.data).given_reason()
    rejected = lifecycle.reject(scope, wanted, reason=reason, now=now)
    return Response(serializers.PROPOSAL.document(revisions.current_with_tenant(rejected)))


@operation("getInstalledArtifact", scope="artifacts:read", gives={200: serializers.INSTALLATION}, tag="proposals")
@api_view(["GET"])
def artifact(request: Request, ref: str) -> Response:
    return Response(INSTALLATION.document(artifact_stops.find(scope_of(request), ref)))


class SynthesisOptions(Closed):
    """``endpoint``: the drafts are worded by the one that the tenant's memory policy names."""

    endpoint = Flag(required=False)


class OrderSynthesis(Closed):
    """The closed body of an order, which may be empty."""

    dryRun = Flag(required=False)
    options = SynthesisOptions(required=False)

    def wanted(self) -> dict[str, bool]:
        given = self.validated_data
        return {"dry_run": given.get("dryRun", False), "endpoint": given.get("options", {}).get("endpoint", False)}


@operation("orderSynthesis", scope=RUN, takes=OrderSynthesis, gives={202: SYNTHESIS}, tag=TAG)
@api_view(["POST"])
@transaction.atomic
def synthesis_order(request: Request) -> Response:
    """On record and queued together, or neither."""
    wanted = checked(OrderSynthesis, request.data).wanted()
    row = learning.order(scope_of(request), **wanted, now=timezone.now())
    tasks.enqueue_synthesis(row)
    return Response(SYNTHESIS.document(row), status=202)


@operation("getSynthesis", scope=READ, gives={200: SYNTHESIS}, tag=TAG)
@api_view(["GET"])
def one_synthesis(request: Request, pass_id: str) -> Response:
    return Response(SYNTHESIS.document(learning.find(scope_of(request), ids.parse("pass", pass_id))))


@operation("stopSynthesis", scope=RUN, gives={202: SYNTHESIS}, tag=TAG)
@api_view(["POST"])
def synthesis_stop(request: Request, pass_id: str) -> Response:
    """The synthesis leaves off before its next proposal; what it has proposed stands."""
    checked(Nothing, request.data)
    row = learning.stop(scope_of(request), ids.parse("pass", pass_id), now=timezone.now())
    return Response(SYNTHESIS.document(row), status=202)


urlpatterns = [
    path(ROUTE, synthesis_order, name="api-syntheses"),
    path(f"{ROUTE}/<str:pass_id>", one_synthesis, name="api-synthesis"),
    path(f"{ROUTE}/<str:pass_id>/stop", synthesis_stop, name="api-synthesis-stop"),
]
