"""What the addresses of approval policies answer, as JSON Schema: for the OpenAPI document."""

from memory.host.operations import COUNT, FLAG, POSITIVE, STRING, TEXT, TIME, closed, listed, nullable, words
from proposals.models import Kind, PolicyChangeState
from proposals.policies import OVERRIDES, VOTES, roles_with

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
