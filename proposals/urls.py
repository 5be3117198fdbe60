"""The addresses of the proposal pages."""

from django.urls import path

from proposals.views import deciding, inbox, review

urlpatterns = [
    path("proposals", inbox.inbox, name="proposals"),
    path("proposals/<str:prop_id>", review.changes, name="proposal"),
    path("proposals/<str:prop_id>/artifact", review.artifact, name="proposal-artifact"),
    path("proposals/<str:prop_id>/evidence", review.evidence, name="proposal-evidence"),
    path("proposals/<str:prop_id>/history", review.history, name="proposal-history"),
    path("proposals/<str:prop_id>/ask", deciding.ask, name="proposal-ask"),
    path("proposals/<str:prop_id>/decide", deciding.decide, name="proposal-decide"),
    path("proposals/<str:prop_id>/reject", deciding.reject, name="proposal-reject"),
]
