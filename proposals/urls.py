"""The addresses of the proposal pages."""

from django.urls import path

from proposals import deciding, views

urlpatterns = [
    path("proposals", views.inbox, name="proposals"),
    path("proposals/<str:prop_id>", views.changes, name="proposal"),
    path("proposals/<str:prop_id>/artifact", views.artifact, name="proposal-artifact"),
    path("proposals/<str:prop_id>/evidence", views.evidence, name="proposal-evidence"),
    path("proposals/<str:prop_id>/history", views.history, name="proposal-history"),
    path("proposals/<str:prop_id>/ask", deciding.ask, name="proposal-ask"),
    path("proposals/<str:prop_id>/decide", deciding.decide, name="proposal-decide"),
    path("proposals/<str:prop_id>/reject", deciding.reject, name="proposal-reject"),
]
