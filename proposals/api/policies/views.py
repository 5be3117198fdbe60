"""``/v1/host/console/approval-policies``: the policy of each kind, the changes of it, and who decides about those."""

from django.utils import timezone
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import ids
from memory.host.operations import operation
from memory.host.serializing import checked
from memory.host.tenancy import scope_of
from proposals import policies, policy_review
from proposals.api.policies import schemas
from proposals.api.policies.serializers import (
    CALLED,
    ChangePolicy,
    change_document,
    detail_document,
    standing_document,
)
from proposals.models import PolicyChange

READS = "proposals:read"


@operation("listApprovalPolicies", scope=READS, gives={200: schemas.ALL}, tag="proposals")
@api_view(["GET"])
def policy_list(request: Request) -> Response:
    return Response({"policies": [standing_document(each) for each in policy_review.overview(scope_of(request))]})


@operation("getApprovalPolicy", method="GET", scope=READS, gives={200: schemas.DETAIL}, tag="proposals")
@operation(
    "changeApprovalPolicy",
    method="PUT",
    scope=policies.MANAGES,
    takes=ChangePolicy,
    gives={200: schemas.DETAIL, 202: schemas.CHANGE},
    tag="proposals",
)
@api_view(["GET", "PUT"])
def policy(request: Request, kind: str) -> Response:
    """A change waits for a second person (202), or is in force when nobody else could confirm it (200)."""
    scope = scope_of(request)
    if request.method == "PUT":
        asked = checked(ChangePolicy, request.data).asked()
        made = policies.ask(scope, kind, **asked, called=CALLED, now=timezone.now())
        if isinstance(made, PolicyChange):
            return Response(change_document(made), status=202)
    return Response(detail_document(*policy_review.detail(scope, kind)))


@operation("confirmApprovalPolicyChange", scope=policies.MANAGES, gives={200: schemas.CHANGE}, tag="proposals")
@api_view(["POST"])
def change_confirm(request: Request, change_id: str) -> Response:
    return _decided(request, change_id, confirmed=True)


@operation("refuseApprovalPolicyChange", scope=policies.MANAGES, gives={200: schemas.CHANGE}, tag="proposals")
@api_view(["POST"])
def change_refuse(request: Request, change_id: str) -> Response:
    """Who asked for the change takes it back like that."""
    return _decided(request, change_id, confirmed=False)


def _decided(request: Request, change_id: str, *, confirmed: bool) -> Response:
    wanted, now = ids.parse("chg", change_id), timezone.now()
    return Response(change_document(policies.decide(scope_of(request), wanted, confirmed=confirmed, now=now)))
