"""The run surface of the OpenWOP face."""

from django.urls import path

from openwop_console.runtime.api import artifacts, control, views

urlpatterns = [
    path("v1/runs", views.run_list, name="api-runs"),
    path("v1/runs:bulk-cancel", control.runs_bulk_cancel, name="api-runs-bulk-cancel"),
    path("v1/runs/<str:run_id>:pause", control.run_pause, name="api-run-pause"),
    path("v1/runs/<str:run_id>:resume", control.run_resume, name="api-run-resume"),
    path("v1/runs/<str:run_id>", views.run, name="api-run"),
    path("v1/runs/<str:run_id>/events", views.run_events, name="api-run-events"),
    path("v1/runs/<str:run_id>/events/poll", views.run_events_poll, name="api-run-events-poll"),
    path("v1/runs/<str:run_id>/cancel", control.run_cancel, name="api-run-cancel"),
    path("v1/runs/<str:run_id>/artifacts", artifacts.run_artifacts, name="api-run-artifacts"),
    path("v1/runs/<str:run_id>/artifacts/<str:artifact_id>", artifacts.run_artifact, name="api-run-artifact"),
    path("v1/runs/<str:run_id>/interrupts/<str:node_id>", views.run_interrupt, name="api-run-interrupt"),
    path("v1/workflows/<str:workflow_id>", views.workflow, name="api-workflow"),
]
