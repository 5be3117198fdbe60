"""The addresses of synthesis."""

from django.urls import path

from proposals.api.synthesis import views

SYNTHESIS = "v1/host/console/synthesis"

urlpatterns = [
    path(SYNTHESIS, views.synthesis_order, name="api-syntheses"),
    path(f"{SYNTHESIS}/<str:pass_id>", views.one_synthesis, name="api-synthesis"),
    path(f"{SYNTHESIS}/<str:pass_id>/stop", views.synthesis_stop, name="api-synthesis-stop"),
]
