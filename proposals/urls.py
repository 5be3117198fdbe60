"""The URLs of the proposal pages."""

from django.urls import path

from proposals.views import actions, inbox, policies, review

urlpatterns = [
    path("proposals", inbox.inbox_page, name="proposals"),
    path("proposals/look", review.request_synthesis, name="proposals-look"),
    path("proposals/end", inbox.end, name="proposals-end"),
    path("proposals/filters", inbox.save_filter, name="proposals-filter"),
    path("proposals/filters/<str:filter_id>/remove", inbox.remove, name="proposals-filter-remove"),
    path("proposals/<str:prop_id>", review.changes, name="proposal"),
    path("proposals/<str:prop_id>/artifact", review.artifact, name="proposal-artifact"),
    path("proposals/<str:prop_id>/evidence", review.evidence, name="proposal-evidence"),
    path("proposals/<str:prop_id>/artifact/download", review.download, name="proposal-download"),
    path("proposals/<str:prop_id>/discussion", review.discussion, name="proposal-discussion"),
    path("proposals/<str:prop_id>/history", review.history, name="proposal-history"),
    path("proposals/<str:prop_id>/effect", review.effect, name="proposal-effect"),
    path("proposals/<str:prop_id>/ask", actions.request_approval, name="proposal-ask"),
    path("proposals/<str:prop_id>/decide", actions.decide, name="proposal-decide"),
    path("proposals/<str:prop_id>/withdraw", actions.withdraw, name="proposal-withdraw"),
    path("proposals/<str:prop_id>/reject", actions.reject, name="proposal-reject"),
    path("proposals/<str:prop_id>/archive", actions.archive, name="proposal-archive"),
    path("proposals/<str:prop_id>/roll-back", actions.roll_back, name="proposal-roll-back"),
    path("proposals/<str:prop_id>/revise", actions.revise, name="proposal-revise"),
    path("proposals/<str:prop_id>/override", actions.override, name="proposal-override"),
    path("proposals/<str:prop_id>/comment", actions.comment, name="proposal-comment"),
    path("settings/approval/<str:kind>", policies.policy, name="approval-policy"),
    path("settings/approval/changes/<str:change_id>/confirm", policies.confirm, name="approval-change-confirm"),
    path("settings/approval/changes/<str:change_id>/refuse", policies.refuse, name="approval-change-refuse"),
]
