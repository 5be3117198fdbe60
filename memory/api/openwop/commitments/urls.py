"""The addresses of commitments over HTTP."""

from django.urls import URLPattern, path

from memory.api.openwop.commitments import views

PLACE = "v1/host/console/commitments"

urlpatterns: list[URLPattern] = [
    path(PLACE, views.commitment_list, name="api-commitments"),
    path(f"{PLACE}/<str:commitment_id>", views.commitment, name="api-commitment"),
    path(f"{PLACE}/<str:commitment_id>/snooze", views.snooze, name="api-commitment-snooze"),
    path(f"{PLACE}/<str:commitment_id>/cancel", views.cancel, name="api-commitment-cancel"),
]
