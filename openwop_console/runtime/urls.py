"""The pages' own requests to runs."""

from django.urls import path

from openwop_console.runtime import views

urlpatterns = [
    path("runs/<str:run_id>/again", views.run_again, name="run-again"),
    path("runs/<str:run_id>/cancel", views.run_cancel, name="run-cancel"),
]
