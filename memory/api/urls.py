"""The console's extension of the OpenWOP face, over memory."""

from django.urls import path

from memory.api import agents, archives, commitments, credentials, entries, forget, passes, webhooks, workspace

urlpatterns = [
    path("v1/agents", agents.agent_list, name="api-agents"),
    path("v1/agents/<str:agent_id>", agents.agent, name="api-agent"),
    path("v1/host/console/agents/<str:agent_id>", agents.manifest, name="api-agent-manifest"),
    path("v1/host/console/keys", credentials.key_list, name="api-keys"),
    path("v1/host/console/keys/<str:key_id>:rotate", credentials.key_rotate, name="api-key-rotate"),
    path("v1/host/console/keys/<str:key_id>", credentials.key, name="api-key"),
    path("v1/host/console/operators", credentials.operator_list, name="api-operators"),
    path("v1/host/console/operators/<str:operator_id>", credentials.operator, name="api-operator"),
    path("v1/host/console/memory", entries.memory_list, name="api-memory"),
    path("v1/host/console/memory/<str:memory_id>:retire", entries.memory_retire, name="api-memory-retire"),
    path("v1/host/console/memory/<str:memory_id>:restore", entries.memory_restore, name="api-memory-restore"),
    path("v1/host/console/memory/<str:memory_id>", entries.memory_entry, name="api-memory-entry"),
    path("v1/host/console/external-runs", entries.external_run_list, name="api-external-runs"),
    path("v1/host/console/external-runs/<str:run_id>:end", entries.external_run_end, name="api-external-run-end"),
    path("v1/host/console/secrets/<str:name>", credentials.secret, name="api-secret"),
    path("v1/host/console/forget", forget.forget_list, name="api-forget-list"),
    path("v1/host/console/forget/previews", forget.forget_previews, name="api-forget-previews"),
    path("v1/host/console/forget/previews/<str:preview_id>", forget.forget_preview, name="api-forget-preview"),
    path("v1/host/console/forget/holds", forget.hold_list, name="api-holds"),
    path("v1/host/console/forget/holds/<str:hold_id>:end", forget.hold_end, name="api-hold-end"),
    path("v1/host/console/forget/holds/<str:hold_id>", forget.hold, name="api-hold"),
    path("v1/host/console/forget/<str:forget_id>:withdraw", forget.forget_withdrawal, name="api-forget-withdrawal"),
    path("v1/host/console/forget/<str:forget_id>", forget.forget, name="api-forget"),
    path("v1/webhooks", webhooks.webhook_registration, name="api-webhook-registration"),
    path("v1/webhooks/<str:webhook_id>", webhooks.webhook_removal, name="api-webhook-removal"),
    path("v1/host/console/webhooks", webhooks.webhook_list, name="api-webhooks"),
    path("v1/host/console/webhooks/<str:webhook_id>:rotate-secret", webhooks.webhook_rotate, name="api-webhook-rotate"),
    path(
        "v1/host/console/webhooks/<str:webhook_id>/deliveries/<str:delivery_id>:redeliver",
        webhooks.delivery_again,
        name="api-webhook-delivery-again",
    ),
    path("v1/host/console/webhooks/<str:webhook_id>/deliveries", webhooks.delivery_list, name="api-webhook-deliveries"),
    path("v1/host/console/webhooks/<str:webhook_id>", webhooks.webhook, name="api-webhook"),
    path("v1/host/workspace/files", workspace.files, name="api-workspace-files"),
    path("v1/host/workspace/files/<path:path>", workspace.file, name="api-workspace-file"),
    *archives.urlpatterns,
    *commitments.urlpatterns,
    *passes.urlpatterns,
]
