"""Approval policies over HTTP: what holds for each kind, what was changed and by whom, and what waits."""

from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import ids
from memory.host.http import (
    COUNT,
    FLAG,
    POSITIVE,
    STRING,
    TEXT,
    TIME,
    Answer,
    Closed,
    Members,
    Nothing,
    Whole,
    checked,
    closed,
    listed,
    nullable,
    operation,
    words,
)
from memory.host.json_types import JSONObject
from memory.host.tenancy import scope_of
from memory.wire import instant
from proposals import policies
from proposals.models import Kind, PolicyChange, PolicyChangeState
from proposals.policies import OVERRIDES, VOTES, CurrentPolicy, Policy, Version, roles_with

KIND = words(Kind.values)
SETTINGS: Members[Policy] = {
    "quorum": (POSITIVE, lambda policy: policy.quorum),
    "eligibleRoles": (listed(words(roles_with(VOTES))), lambda policy: list(policy.eligible_roles)),
    "overrideRoles": (listed(words(roles_with(OVERRIDES))), lambda policy: list(policy.override_roles)),
    "overrideBypassesQuorum": (FLAG, lambda policy: policy.override_bypasses_quorum),
    "expiresSec": (POSITIVE, lambda policy: policy.expires_s),
    "uninstallOnArchive": (FLAG, lambda policy: policy.uninstall_on_archive),
}
POLICY = Answer[Policy](
    "ApprovalPolicy",
    number=(COUNT, lambda policy: policy.number),
    words=(TEXT, policies.in_words),
    **SETTINGS,
)
WANTED = Answer[Policy](**SETTINGS)
# A change that was asked for, whatever became of it.
CHANGE = Answer[PolicyChange](
    "ApprovalPolicyChange",
    id=(TEXT, lambda change: ids.wire("chg", change.id)),
    kind=(KIND, lambda change: change.kind),
    basedOn=(COUNT, lambda change: change.based_on),
    wanted=(WANTED, lambda change: WANTED.document(policies.wanted_by(change))),
    state=(words(PolicyChangeState.values), lambda change: change.state),
    reason=(STRING, lambda change: change.reason),
    askedBy=(TEXT, lambda change: change.asked_by),
    askedAt=(TIME, lambda change: instant(change.asked_at)),
    decidedBy=(nullable(TEXT), lambda change: change.decided_by or None),
    decidedAt=(nullable(TIME), lambda change: instant(change.decided_at)),
)
VERSION = Answer[Version](
    "ApprovalPolicyVersion",
    policy=(POLICY, lambda version: POLICY.document(policies.policy_of_row(version.row))),
    differences=(listed(TEXT), lambda version: version.differences),
    reason=(STRING, lambda version: version.row.reason),
    askedBy=(TEXT, lambda version: version.row.asked_by),
    confirmedBy=(nullable(TEXT), lambda version: version.row.confirmed_by or None),
    at=(TIME, lambda version: instant(version.row.at)),
)
# The policy of a kind as it stands, and the change that waits.
STANDING = Answer[CurrentPolicy](
    "StandingApprovalPolicy",
    kind=(KIND, lambda standing: standing.kind),
    policy=(POLICY, lambda standing: POLICY.document(standing.policy)),
    waiting=(
        nullable(CHANGE),
        lambda standing: CHANGE.document(standing.waiting.change) if standing.waiting else None,
    ),
)
ALL = closed("ApprovalPolicies", policies=listed(STANDING))
DETAIL = closed("ApprovalPolicyDetail", **STANDING["properties"], history=listed(VERSION), total=COUNT)
CALLED = {
    "quorum": "quorum",
    "eligible_roles": "eligibleRoles",
    "override_roles": "overrideRoles",
    "override_bypasses_quorum": "overrideBypassesQuorum",
    "expires_s": "expiresSec",
    "uninstall_on_archive": "uninstallOnArchive",
}
ROLES_NAMED = 20
READS = "proposals:read"


def _roles() -> serializers.ListField:
    return serializers.ListField(child=serializers.CharField(max_length=32), required=False, max_length=ROLES_NAMED)


class ChangePolicy(Closed):
    """The body of PUT: what is left out stays as it is. ``basedOn`` is the number of the version that was read."""

    quorum = Whole(required=False)
    eligibleRoles = _roles()
    overrideRoles = _roles()
    overrideBypassesQuorum = serializers.BooleanField(required=False)
    expiresSec = Whole(required=False)
    uninstallOnArchive = serializers.BooleanField(required=False)
    basedOn = Whole(required=False, min_value=0)
    reason = serializers.CharField(required=False, allow_blank=True)

    def asked(self) -> JSONObject:
        """What ``policies.request_change`` takes."""
        given = self.validated_data
        changes = {field: given[name] for field, name in CALLED.items() if name in given}
        return {"changes": changes, "based_on": given.get("basedOn"), "reason": given.get("reason", "")}


def detail_document(standing: CurrentPolicy, versions: list[Version]) -> JSONObject:
    """The policy with all its versions, the newest first."""
    history = VERSION.documents(versions)
    return STANDING.document(standing) | {"history": history, "total": len(history)}


@operation("listApprovalPolicies", scope=READS, gives={200: ALL}, tag="proposals")
@api_view(["GET"])
def policy_list(request: Request) -> Response:
    return Response({"policies": STANDING.documents(policies.overview(scope_of(request)))})


@operation("getApprovalPolicy", method="GET", scope=READS, gives={200: DETAIL}, tag="proposals")
@operation(
    "changeApprovalPolicy",
    method="PUT",
    scope=policies.MANAGES,
    takes=ChangePolicy,
    gives={200: DETAIL, 202: CHANGE},
    tag="proposals",
)
@api_view(["GET", "PUT"])
def policy(request: Request, kind: str) -> Response:
    """A change waits for a second person (202), or is in force when nobody else could confirm it (200)."""
    scope = scope_of(request)
    if request.method == "PUT":
        asked = checked(ChangePolicy, request.data).asked()
        made = policies.request_change(scope, kind, **asked, called=CALLED, now=timezone.now())
        if isinstance(made, PolicyChange):
            return Response(CHANGE.document(made), status=202)
    return Response(detail_document(*policies.detail(scope, kind)))


@operation("confirmApprovalPolicyChange", scope=policies.MANAGES, gives={200: CHANGE}, tag="proposals")
@api_view(["POST"])
def change_confirm(request: Request, change_id: str) -> Response:
    return _decided(request, change_id, confirmed=True)


@operation("refuseApprovalPolicyChange", scope=policies.MANAGES, gives={200: CHANGE}, tag="proposals")
@api_view(["POST"])
def change_refuse(request: Request, change_id: str) -> Response:
    """Who asked for the change takes it back like that."""
    return _decided(request, change_id, confirmed=False)


def _decided(request: Request, change_id: str, *, confirmed: bool) -> Response:
    checked(Nothing, request.data)
    wanted, now = ids.parse("chg", change_id), timezone.now()
    return Response(CHANGE.document(policies.decide_change(scope_of(request), wanted, confirmed=confirmed, now=now)))
