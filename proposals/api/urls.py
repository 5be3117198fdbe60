"""The proposals of the OpenWOP face, and the host extension for what the protocol leaves out."""

from django.urls import path

from proposals.api import views

PROPOSALS = "v1/host/sample/proposals"

urlpatterns = [
    path(PROPOSALS, views.proposal_list, name="api-proposals"),
    path(f"{PROPOSALS}/<str:proposal_id>", views.proposal, name="api-proposal"),
    path(f"{PROPOSALS}/<str:proposal_id>/apply", views.proposal_apply, name="api-proposal-apply"),
    path(f"{PROPOSALS}/<str:proposal_id>/reject", views.proposal_reject, name="api-proposal-reject"),
    path("v1/host/console/proposals", views.proposal_create, name="api-console-proposals"),
    path(
        "v1/host/console/proposals/<str:proposal_id>/revisions",
        views.proposal_revisions,
        name="api-console-proposal-revisions",
    ),
    path("v1/host/console/artifacts/<str:ref>", views.artifact, name="api-console-artifact"),
]
