"""The addresses of the memory pages, one list a noun."""

from django.urls import URLPattern, path

from memory.views import (
    agents,
    archives,
    audit,
    commitments,
    consolidation,
    credentials,
    entries,
    forget,
    imports,
    ledger,
    namespaces,
    passes,
    retention,
    runs,
    webhooks,
    workflow_files,
    workspace,
)

memory: list[URLPattern] = [
    path("memory", ledger.ledger, name="memory"),
    path("memory/selected", entries.selected, name="memory-selected"),
    path("memory/reach", ledger.reach, name="memory-reach"),
    path("memory/export", ledger.ledger_export, name="memory-export"),
    path("memory/export/file", ledger.download, name="memory-export-file"),
    path("memory/export/remove", ledger.remove, name="memory-export-remove"),
    path("memory/views", ledger.save_filter, name="memory-view"),
    path("memory/views/<str:filter_id>/rename", ledger.rename_filter, name="memory-view-rename"),
    path("memory/views/<str:filter_id>/remove", ledger.remove_filter, name="memory-view-remove"),
    path("memory/<str:mem_id>", entries.entry, name="memory-entry"),
    path("memory/<str:mem_id>/lineage", entries.lineage, name="memory-entry-lineage"),
    path("memory/<str:mem_id>/reads", entries.reads, name="memory-entry-reads"),
    path("memory/<str:mem_id>/compare", entries.compare, name="memory-entry-compare"),
    path("memory/<str:mem_id>/correct", entries.correct, name="memory-entry-correct"),
    path("memory/<str:mem_id>/retire", entries.retire, name="memory-entry-retire"),
    path("memory/<str:mem_id>/restore", entries.restore, name="memory-entry-restore"),
    path("memory/<str:mem_id>/reveal", entries.reveal, name="memory-entry-reveal"),
    path("memory/<str:mem_id>/protect", entries.protect, name="memory-entry-protect"),
    path("namespaces", namespaces.namespace_list, name="namespaces"),
    path("namespaces/<path:name>", namespaces.namespace, name="namespace"),
    path("retention", retention.retention, name="retention"),
]
passing: list[URLPattern] = [
    path("passes/<str:pass_id>", passes.one_pass, name="pass"),
    path("passes/<str:pass_id>/stop", passes.stop, name="pass-stop"),
    path("passes/<str:pass_id>/review", passes.review, name="pass-review"),
    path("passes/<str:pass_id>/undo", passes.undo, name="pass-undo"),
    path("passes/<str:pass_id>/again", passes.repeat_pass, name="pass-again"),
    path("nights", passes.night_report, name="nights"),
    path("consolidation", consolidation.consolidation, name="consolidation"),
    path("consolidation/order", consolidation.order, name="consolidation-order"),
    path("consolidation/duplicates", consolidation.look_alikes, name="look-alikes"),
    path("consolidation/duplicates/decide", consolidation.decide, name="look-alikes-decide"),
    path("consolidation/schedules", consolidation.schedule, name="pass-schedule"),
    path("consolidation/schedules/<str:schedule_id>/remove", consolidation.unschedule, name="pass-schedule-remove"),
]
archiving: list[URLPattern] = [
    path("archives", archives.archive_list, name="archives"),
    path("archives/distill", archives.distill, name="archives-distill"),
    path("archives/<str:arc_id>", archives.archive, name="archive"),
    path("archives/<str:arc_id>/withdraw", archives.withdraw, name="archive-withdraw"),
    path("archives/<str:arc_id>/compare", archives.compare, name="archive-compare"),
]
committing: list[URLPattern] = [
    path("commitments", commitments.commitment_list, name="commitments"),
    path("commitments/<str:cmt_id>", commitments.commitment, name="commitment"),
    path("commitments/<str:cmt_id>/arm", commitments.arm, name="commitment-arm"),
    path("commitments/<str:cmt_id>/dismiss", commitments.dismiss, name="commitment-dismiss"),
    path("commitments/<str:cmt_id>/snooze", commitments.snooze, name="commitment-snooze"),
    path("commitments/<str:cmt_id>/cancel", commitments.cancel, name="commitment-cancel"),
]
workspaces: list[URLPattern] = [
    path("workspace", workspace.files, name="workspace"),
    path("workspace/<path:path>", workspace.file, name="workspace-file"),
]
workflows: list[URLPattern] = [
    path("workflow-files", workflow_files.import_page, name="workflow-files"),
    path("workflow-files/<str:intent_id>", workflow_files.imported, name="workflow-file"),
]
run: list[URLPattern] = [
    path("runs", runs.run_list, name="runs"),
    path("runs/<str:run_id>", runs.run, name="run"),
    path("runs/<str:run_id>/verify", runs.verify, name="run-verify"),
    path("runs/<str:run_id>/compare", runs.compare, name="run-compare"),
    path("runs/<str:run_id>/events/<int:sequence>", runs.note, name="run-note"),
]
agent: list[URLPattern] = [
    path("agents", agents.agent_list, name="agents"),
    path("agents/<str:agent_id>", agents.agent, name="agent"),
    path("agents/<str:agent_id>/<slug:tab>", agents.agent_tab, name="agent-tab"),
]
forgetting: list[URLPattern] = [
    path("forget", forget.forget, name="forget"),
    path("forget/holds", forget.hold_list, name="forget-holds"),
    path("forget/holds/<str:hold_id>", forget.hold, name="forget-hold"),
    path("forget/<str:forget_id>", forget.forget_request, name="forget-request"),
    path("forget/<str:forget_id>/suspects", forget.suspects, name="forget-suspects"),
    path("forget/<str:forget_id>/copy", forget.copy, name="forget-copy"),
    path("forget/<str:forget_id>/confirm", forget.confirm, name="forget-confirm"),
    path("forget/<str:forget_id>/withdraw", forget.withdraw, name="forget-withdraw"),
    path("forget/<str:forget_id>/again", forget.preview_again, name="forget-again"),
    path("forget/<str:forget_id>/retry", forget.retry, name="forget-retry"),
]
audits: list[URLPattern] = [
    path("audit", audit.audit, name="audit"),
    path("audit/verify", audit.verify, name="audit-verify"),
    path("audit/checkpoints", audit.checkpoints, name="audit-checkpoints"),
]
importing: list[URLPattern] = [
    path("settings/import", imports.imports, name="memory-imports"),
    path("settings/import/<str:import_id>", imports.one_import, name="memory-import"),
    path("settings/import/<str:import_id>/confirm", imports.confirm, name="memory-import-confirm"),
    path("settings/import/<str:import_id>/check", imports.check_again, name="memory-import-check"),
    path("settings/import/<str:import_id>/remove", imports.remove, name="memory-import-remove"),
]
hooks: list[URLPattern] = [
    path("settings/webhooks", webhooks.webhook_list, name="webhooks"),
    path("settings/webhooks/<str:webhook_id>", webhooks.webhook, name="webhook"),
    path("settings/webhooks/<str:webhook_id>/rotate", webhooks.rotate, name="webhook-rotate"),
    path("settings/webhooks/<str:webhook_id>/remove", webhooks.remove, name="webhook-remove"),
    path(
        "settings/webhooks/<str:webhook_id>/deliveries/<str:delivery_id>/redeliver",
        webhooks.redeliver,
        name="webhook-redeliver",
    ),
]

entrances: list[URLPattern] = [
    path("connect", credentials.connect, name="connect"),
    path("settings/keys", credentials.key_list, name="keys"),
    path("settings/keys/<str:key_id>/revoke", credentials.key_revoke, name="key-revoke"),
    path("settings/keys/<str:key_id>/rotate", credentials.key_rotate, name="key-rotate"),
    path("settings/sessions", credentials.own_sessions, name="sessions"),
    path("settings/operators", credentials.operator_list, name="operators"),
    path("settings/operators/<str:operator_id>", credentials.operator_change, name="operator-change"),
    path(
        "settings/operators/<str:operator_id>/deactivate", credentials.operator_deactivate, name="operator-deactivate"
    ),
    path("settings/operators/<str:operator_id>/sessions", credentials.operator_sessions, name="operator-sessions"),
    path("settings/operators/<str:operator_id>/sign-out", credentials.operator_sign_out, name="operator-sign-out"),
    path("settings/operators/<str:operator_id>/reset-password", credentials.operator_reset, name="operator-reset"),
    path("settings/operators/<str:operator_id>/link", credentials.operator_link, name="operator-link"),
    path(
        "settings/operators/<str:operator_id>/reset-second-factor",
        credentials.operator_reset_factor,
        name="operator-reset-factor",
    ),
    path("settings/second-factor/policy", credentials.second_factor_policy, name="second-factor-policy"),
    path("settings/secrets", credentials.secret_list, name="secrets"),
    path("settings/secrets/remove", credentials.secret_remove, name="secret-remove"),
]

urlpatterns = [
    *memory,
    *passing,
    *archiving,
    *committing,
    *workspaces,
    *workflows,
    *run,
    *agent,
    *forgetting,
    *audits,
    *entrances,
    *importing,
    *hooks,
]
