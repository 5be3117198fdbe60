"""Tables of the runtime: the steps of runs, and the MCP servers of tenants."""

from django.db import models

from memory.host.models import Personal, TenantFK, TenantOwned, tenant_link
from memory.host.models.base import NODE, PRINCIPAL, STATE


class StepState(models.TextChoices):
    STARTED = "started"
    SLEEPING = "sleeping"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


class Step(TenantOwned):
    """A node that a run has reached: its state, its outputs for downstream nodes, and the variables it set.

    ``wake_at`` is when a sleeping node is called again: at the end of its delay, or for its next attempt. ``on_record``
    is True when everything that a fork needs of the finished node was stored; a host that stored no reads and no
    variables left it False.
    """

    writer = "openwop_console.runtime.steps"
    personal = Personal("node outputs", ("outputs", "variables", "error"), page=("run", "run_id"), sensitive_of="run")
    impersonal = {"node_id": NODE, "state": STATE}

    run_id = models.UUIDField()
    node_id = models.CharField(max_length=256)
    state = models.CharField(max_length=8, choices=StepState)
    attempt = models.PositiveSmallIntegerField(default=1)
    outputs = models.JSONField(default=dict)
    variables = models.JSONField(default=dict)
    error = models.JSONField(null=True)
    started_at = models.DateTimeField()
    wake_at = models.DateTimeField(null=True)
    deadline_at = models.DateTimeField(null=True)
    on_record = models.BooleanField(default=False)

    run = tenant_link("host.Run", "run_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "run_id", "node_id"), name="a_node_of_a_run_is_one_step"),
            TenantFK(column="run_id", to="host_run", name="a_step_belongs_to_a_run_of_its_tenant"),
        )


class McpServer(TenantOwned):
    """An MCP server whose tools nodes can call; ``secret`` names the tenant's secret that is sent to it."""

    writer = "openwop_console.runtime.mcp_servers"
    personal = Personal("MCP servers", ("name", "url", "secret"), deleted=True)
    impersonal = {"changed_by": PRINCIPAL}

    name = models.CharField(max_length=63)
    url = models.CharField(max_length=2000)
    secret = models.CharField(max_length=128, default="", blank=True)
    changed_by = models.CharField(max_length=64)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant", "name"), name="an_mcp_server_has_a_name"),)
