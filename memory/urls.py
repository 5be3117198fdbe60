"""The addresses of the memory pages, one list a noun."""

from django.urls import URLPattern, path

from memory.views import agents, audit, entries, forget, ledger, runs, workspace

memory: list[URLPattern] = [
    path("memory", ledger.ledger, name="memory"),
    path("memory/<str:mem_id>", entries.entry, name="memory-entry"),
    path("memory/<str:mem_id>/retire", entries.retire, name="memory-entry-retire"),
    path("memory/<str:mem_id>/restore", entries.restore, name="memory-entry-restore"),
]
workspaces: list[URLPattern] = [
    path("workspace", workspace.files, name="workspace"),
    path("workspace/<path:path>", workspace.file, name="workspace-file"),
]
run: list[URLPattern] = [
    path("runs", runs.runs, name="runs"),
    path("runs/<str:run_id>", runs.run, name="run"),
]
agent: list[URLPattern] = [
    path("agents", agents.agents, name="agents"),
    path("agents/<str:agent_id>", agents.agent, name="agent"),
]
forgetting: list[URLPattern] = [
    path("forget", forget.forget, name="forget"),
    path("forget/<str:forget_id>", forget.forget_request, name="forget-request"),
    path("forget/<str:forget_id>/confirm", forget.confirm, name="forget-confirm"),
    path("forget/<str:forget_id>/again", forget.again, name="forget-again"),
    path("forget/<str:forget_id>/retry", forget.retry, name="forget-retry"),
]
audits: list[URLPattern] = [
    path("audit", audit.audit, name="audit"),
    path("audit/verify", audit.verify, name="audit-verify"),
    path("audit/checkpoints", audit.checkpoints, name="audit-checkpoints"),
]

urlpatterns = [*memory, *workspaces, *run, *agent, *forgetting, *audits]
