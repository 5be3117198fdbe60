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
    Closed,
    Flag,
    Text,
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
from proposals.policies import OVERRIDES, VOTES, Policy, Standing, Version, roles_with

KIND = words(Kind.values)
SETTINGS = {
    "quorum": POSITIVE,
    "eligibleRoles": listed(words(roles_with(VOTES))),
    "overrideRoles": listed(words(roles_with(OVERRIDES))),
    "overrideBypassesQuorum": FLAG,
    "expiresSec": POSITIVE,
    "uninstallOnArchive": FLAG,
}
POLICY = closed("ApprovalPolicy", number=COUNT, words=TEXT, **SETTINGS)
CHANGE = closed(
    "ApprovalPolicyChange",
    id=TEXT,
    kind=KIND,
    basedOn=COUNT,
    wanted=closed(**SETTINGS),
    state=words(PolicyChangeState.values),
    reason=STRING,
    askedBy=TEXT,
    askedAt=TIME,
    decidedBy=nullable(TEXT),
    decidedAt=nullable(TIME),
)
VERSION = closed(
    "ApprovalPolicyVersion",
    policy=POLICY,
    differences=listed(TEXT),
    reason=STRING,
    askedBy=TEXT,
    confirmedBy=nullable(TEXT),
    at=TIME,
)
STANDING = closed("StandingApprovalPolicy", kind=KIND, policy=POLICY, waiting=nullable(CHANGE))
ALL = closed("ApprovalPolicies", policies=listed(STANDING))
DETAIL = closed(
    "ApprovalPolicyDetail", kind=KIND, policy=POLICY, waiting=nullable(CHANGE), history=listed(VERSION), total=COUNT
)
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
    return serializers.ListField(child=Text(max_length=32), required=False, max_length=ROLES_NAMED)


class ChangePolicy(Closed):
    """The body of PUT: what is left out stays as it is. ``basedOn`` is the number of the version that was read."""

    quorum = Whole(required=False)
    eligibleRoles = _roles()
    overrideRoles = _roles()
    overrideBypassesQuorum = Flag(required=False)
    expiresSec = Whole(required=False)
    uninstallOnArchive = Flag(required=False)
    basedOn = Whole(required=False, min_value=0)
    reason = Text(required=False, allow_blank=True)

    def asked(self) -> JSONObject:
        """What ``policies.request_change`` takes."""
        given = self.validated_data
        changes = {field: given[name] for field, name in CALLED.items() if name in given}
        return {"changes": changes, "based_on": given.get("basedOn"), "reason": given.get("reason", "")}


def standing_document(standing: Standing) -> JSONObject:
    """The policy of a kind as it stands, and the change that waits."""
    return {
        "kind": standing.kind,
        "policy": _policy_document(standing.policy),
        "waiting": change_document(standing.waiting.change) if standing.waiting else None,
    }


def detail_document(standing: Standing, versions: list[Version]) -> JSONObject:
    """The policy with all its versions, the newest first."""
    history = [_version_document(each) for each in versions]
    return standing_document(standing) | {"history": history, "total": len(history)}


def change_document(change: PolicyChange) -> JSONObject:
    """A change that was asked for, whatever became of it."""
    return {
        "id": ids.wire("chg", change.id),
        "kind": change.kind,
        "basedOn": change.based_on,
        "wanted": _settings_document(policies.wanted_by(change)),
        "state": change.state,
        "reason": change.reason,
        "askedBy": change.asked_by,
        "askedAt": instant(change.asked_at),
        "decidedBy": change.decided_by or None,
        "decidedAt": instant(change.decided_at) if change.decided_at else None,
    }


def _version_document(version: Version) -> JSONObject:
    row = version.row
    return {
        "policy": _policy_document(policies.policy_of_row(row)),
        "differences": version.differences,
        "reason": row.reason,
        "askedBy": row.asked_by,
        "confirmedBy": row.confirmed_by or None,
        "at": instant(row.at),
    }


def _policy_document(policy: Policy) -> JSONObject:
    told = {"number": policy.number, "words": policies.in_words(policy)}
    return told | _settings_document(policy)


def _settings_document(policy: Policy) -> JSONObject:
    values = {name: getattr(policy, field) for field, name in CALLED.items()}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


@operation("listApprovalPolicies", scope=READS, gives={200: ALL}, tag="proposals")
@api_view(["GET"])
def policy_list(request: Request) -> Response:
    return Response({"policies": [standing_document(each) for each in policies.overview(scope_of(request))]})


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
            return Response(change_document(made), status=202)
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
    wanted, now = ids.parse("chg", change_id), timezone.now()
    return Response(change_document(policies.decide_change(scope_of(request), wanted, confirmed=confirmed, now=now)))
