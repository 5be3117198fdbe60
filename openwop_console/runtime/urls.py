"""URLs of the page requests that act on runs."""

from django.urls import path

from openwop_console.runtime import views

urlpatterns = [
    path("runs/<str:run_id>/again", views.run_again, name="run-again"),
    path("runs/<str:run_id>/answer/<str:interrupt_id>", views.run_answer, name="run-answer"),
    path("runs/<str:run_id>/fork", views.run_fork, name="run-fork"),
    path("runs/<str:run_id>/steer", views.run_steer, name="run-steer"),
]
