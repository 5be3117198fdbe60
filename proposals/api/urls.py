"""The proposals of the OpenWOP face, and the host extension for what the protocol leaves out."""

from django.urls import path

from proposals.api import artifacts, policies, proposals, synthesis

PROPOSALS = "v1/host/sample/proposals"
CONSOLE = "v1/host/console/proposals"
ONE = f"{CONSOLE}/<str:proposal_id>"
ARTIFACTS = "v1/host/console/artifacts"
POLICIES = "v1/host/console/approval-policies"

urlpatterns = [
    path(PROPOSALS, proposals.proposal_list, name="api-proposals"),
    path(f"{PROPOSALS}/<str:proposal_id>", proposals.proposal, name="api-proposal"),
    path(f"{PROPOSALS}/<str:proposal_id>/apply", proposals.proposal_apply, name="api-proposal-apply"),
    path(f"{PROPOSALS}/<str:proposal_id>/reject", proposals.proposal_reject, name="api-proposal-reject"),
    path(CONSOLE, proposals.proposal_create, name="api-console-proposals"),
    path(f"{CONSOLE}/bulk", proposals.proposal_bulk, name="api-console-proposal-bulk"),
    path(ONE, proposals.proposal_review, name="api-console-proposal"),
    path(f"{ONE}/decisions", proposals.proposal_decide, name="api-console-proposal-decisions"),
    path(f"{ONE}/withdraw", proposals.proposal_withdraw, name="api-console-proposal-withdraw"),
    path(f"{ONE}/revisions", proposals.proposal_revisions, name="api-console-proposal-revisions"),
    path(f"{ONE}/comments", proposals.proposal_comments, name="api-console-proposal-comments"),
    path(f"{ONE}/diff", proposals.proposal_diff, name="api-console-proposal-diff"),
    path(ARTIFACTS, artifacts.artifact_list, name="api-console-artifacts"),
    path(f"{ARTIFACTS}/<str:ref>:disable", artifacts.artifact_disable, name="api-console-artifact-disable"),
    path(f"{ARTIFACTS}/<str:ref>:enable", artifacts.artifact_enable, name="api-console-artifact-enable"),
    path(f"{ARTIFACTS}/<str:ref>", artifacts.artifact, name="api-console-artifact"),
    path(f"{ARTIFACTS}/<str:ref>/rollback", artifacts.artifact_rollback, name="api-console-artifact-rollback"),
    *synthesis.urlpatterns,
    path(POLICIES, policies.policy_list, name="api-approval-policies"),
    path(f"{POLICIES}/<str:kind>", policies.policy, name="api-approval-policy"),
    path(f"{POLICIES}/changes/<str:change_id>/confirm", policies.change_confirm, name="api-approval-policy-confirm"),
    path(f"{POLICIES}/changes/<str:change_id>/refuse", policies.change_refuse, name="api-approval-policy-refuse"),
]
