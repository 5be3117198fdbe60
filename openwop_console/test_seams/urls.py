"""Every seam, one line each. ``/v1/host/sample/proposals`` is product, not a seam, and belongs to ``proposals``."""

from django.urls import URLPattern, path

from openwop_console.test_seams import governance, identity, memory, runs

urlpatterns: list[URLPattern] = [
    path("v1/host/sample/agents/<str:agent_id>/dispatch", runs.dispatch, name="seam-agent-dispatch"),
    path("v1/host/sample/workspace/op", memory.workspace_op, name="seam-workspace-op"),
    path("v1/host/sample/scheduling/tick", runs.scheduling_tick, name="seam-scheduling-tick"),
    path("v1/host/sample/heartbeat/tick", runs.heartbeat_tick, name="seam-heartbeat-tick"),
    path("v1/host/sample/memory/distill", memory.distill, name="seam-memory-distill"),
    path("v1/host/sample/memory/consolidate", memory.consolidate, name="seam-memory-consolidate"),
    path("v1/test/memory/seed", memory.seed, name="seam-memory-seed"),
    path("v1/test/memory/compact", memory.compact, name="seam-memory-compact"),
    path("v1/host/sample/commitment/fire", memory.fire, name="seam-commitment-fire"),
    path("v1/host/sample/governance/approval-gate", governance.approval_gate, name="seam-approval-gate"),
    path("v1/host/sample/authorization/decide", identity.authorization_decide, name="seam-authorization-decide"),
    path("v1/host/sample/identity/cross-workspace-read", identity.cross_workspace_read, name="seam-cross-read"),
    path("v1/host/sample/identity/owned-run", identity.owned_run, name="seam-owned-run"),
]
