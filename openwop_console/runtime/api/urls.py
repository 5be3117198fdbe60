"""The run surface of the OpenWOP face, and what OpenIntent has on the same notifier."""

from django.urls import include, path

from openwop_console.runtime.api import audit, runs, streams

urlpatterns = [
    path("v1/runs", runs.run_list, name="api-runs"),
    path("v1/runs:bulk-cancel", runs.runs_bulk_cancel, name="api-runs-bulk-cancel"),
    path("v1/runs/<str:run_id>:fork", runs.run_fork, name="api-run-fork"),
    path("v1/runs/<str:run_id>:pause", runs.run_pause, name="api-run-pause"),
    path("v1/runs/<str:run_id>:resume", runs.run_resume, name="api-run-resume"),
    path("v1/runs/<str:run_id>", runs.run, name="api-run"),
    path("v1/runs/<str:run_id>/events", streams.run_events, name="api-run-events"),
    path("v1/runs/<str:run_id>/events/poll", streams.run_events_poll, name="api-run-events-poll"),
    path("v1/runs/<str:run_id>/cancel", runs.run_cancel, name="api-run-cancel"),
    path("v1/runs/<str:run_id>/artifacts", runs.run_artifacts, name="api-run-artifacts"),
    path("v1/runs/<str:run_id>/artifacts/<str:artifact_id>", runs.run_artifact, name="api-run-artifact"),
    path("v1/runs/<str:run_id>/interrupts/<path:node_id>", runs.run_interrupt, name="api-run-interrupt"),
    path("v1/interrupts/<str:token>", runs.interrupt_token, name="api-interrupt-token"),
    path("v1/audit/verify", audit.audit_verify, name="api-audit-verify"),
    path("v1/host/console/audit", audit.audit_list, name="api-console-audit"),
    path("v1/host/console/audit/checkpoints", audit.audit_checkpoints, name="api-console-audit-checkpoints"),
    path("v1/host/console/events", audit.tenant_events, name="api-console-events"),
    path("v1/host/console/runs", runs.console_runs, name="api-console-runs"),
    path("v1/workflows/<str:workflow_id>", runs.workflow, name="api-workflow"),
    path("", include("openwop_console.runtime.api.mcp_servers")),
    path("", include("openwop_console.runtime.api.schedules")),
    path(
        "api/v1/intents/<str:intent_id>/subscribe",
        streams.intent_subscription,
        name="openintent-intent-subscription",
    ),
    path(
        "api/v1/agents/<path:agent_id>/subscribe",
        streams.agent_subscription,
        name="openintent-agent-subscription",
    ),
]
