"""Work of OpenIntent: agents, intents, tasks, coordinators, grants and namespaces (RFC-0015 2.3, 6)."""

from django.db import models
from django.db.models import Q

from memory.host.models import Personal, TenantFK, TenantOwned, tenant_link
from memory.host.models.base import STATE

ENDED = ("completed", "failed", "cancelled", "skipped")
STATUSES = ("pending", "ready", "claimed", "running", "blocked", *ENDED)
AGENT_IDS = ("agent_id", "assigned_agent", "created_by", "granted_by")


class Agent(TenantOwned):
    """An agent that remembers. Its stream, which has the id of ``run_id``, holds what belongs to no intent.

    ``capacity`` bounds its episodic entries (null: the host's own bound); entries that it makes in one of
    ``pinned_namespaces`` are pinned. The row is the lock under which its entries are counted.
    """

    writer = "memory.openintent.work"
    personal = Personal("agents", unnamed=AGENT_IDS, shortened=True, page=("run", "run_id"))

    agent_id = models.CharField(max_length=128)
    run_id = models.UUIDField()
    capacity = models.PositiveIntegerField(null=True)
    pinned_namespaces = models.JSONField(default=list)
    status = models.CharField(max_length=16, default="active")
    record = models.JSONField(default=dict)
    registered_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    run = tenant_link("host.Run", "run_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "agent_id"), name="an_agent_has_one_id"),
            TenantFK(column="run_id", to="host_run", name="an_agent_has_a_stream_of_its_tenant"),
        )
        indexes = (models.Index(fields=("tenant", "run_id"), name="memory_agent_run"),)


class Intent(TenantOwned):
    """What agents work towards. Its key is that of the run whose stream is the intent's log (RFC-0001)."""

    writer = "memory.openintent.work"
    personal = Personal("intents", unnamed=AGENT_IDS, shortened=True, page=("run", "id"))

    title = models.CharField(max_length=500)
    description = models.TextField(default="", blank=True)
    status = models.CharField(max_length=16, default="active")
    version = models.PositiveIntegerField(default=1)
    created_by = models.CharField(max_length=128)
    parent_intent_id = models.UUIDField(null=True)
    constraints = models.JSONField(default=list)
    state = models.JSONField(default=dict)
    agents = models.JSONField(default=list)
    policy = models.JSONField(default=dict)
    record = models.JSONField(default=dict)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    run = tenant_link("host.Run", "id")
    parent_intent = tenant_link("memory.Intent", "parent_intent_id", null=True)

    class Meta:
        constraints = (
            TenantFK(column="id", to="host_run", name="an_intent_has_a_log_of_its_tenant"),
            TenantFK(column="parent_intent_id", to="memory_intent", name="an_intent_comes_from_one_of_its_tenant"),
        )
        indexes = (
            models.Index(
                fields=("tenant", "parent_intent_id"),
                condition=models.Q(parent_intent_id__isnull=False),
                name="memory_intent_parent",
            ),
        )


class Task(TenantOwned):
    """A step of an intent, of one agent at a time. When it has ended it takes no memory and has none (RFC-0015 2.1).

    ``memory_policy`` is as it was given (RFC-0015 6.5). The row is the lock under which its entries are counted.
    """

    writer = "memory.openintent.work"
    personal = Personal("tasks", unnamed=AGENT_IDS, shortened=True, page=("run", "intent_id"))
    impersonal = {"status": STATE}

    intent_id = models.UUIDField()
    parent_task_id = models.UUIDField(null=True)
    name = models.CharField(max_length=500)
    description = models.TextField(default="", blank=True)
    status = models.CharField(max_length=10, choices=[(each, each) for each in STATUSES], default="pending")
    assigned_agent = models.CharField(max_length=128, default="", blank=True)
    memory_policy = models.JSONField(null=True)
    record = models.JSONField(default=dict)
    version = models.PositiveIntegerField(default=1)
    created_by = models.CharField(max_length=128)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    intent = tenant_link("memory.Intent", "intent_id")
    parent_task = tenant_link("memory.Task", "parent_task_id", null=True)

    class Meta:
        constraints = (
            TenantFK(column="intent_id", to="memory_intent", name="a_task_is_of_an_intent_of_its_tenant"),
            TenantFK(column="parent_task_id", to="memory_task", name="a_task_is_under_one_of_its_tenant"),
            models.CheckConstraint(
                condition=Q(status__in=ENDED, ended_at__isnull=False) | (~Q(status__in=ENDED) & Q(ended_at=None)),
                name="a_task_that_ended_says_when",
            ),
        )
        indexes = (
            models.Index(fields=("tenant", "intent_id", "id"), name="memory_task_intent"),
            models.Index(fields=("tenant", "parent_task_id"), name="memory_task_parent"),
            models.Index(
                fields=("tenant", "assigned_agent", "id"),
                condition=~Q(assigned_agent="") & Q(ended_at=None),
                name="memory_task_assigned",
            ),
        )


class Assignment(TenantOwned):
    """That a task was an agent's for a time; ``dead`` when it ended because the agent had failed (C15).

    ``taken_up`` when the agent agreed to it, and so to what those who direct the task may see and bound of it.
    """

    writer = "memory.openintent.work"
    personal = Personal("assignments", unnamed=AGENT_IDS, shortened=True, page=("run", "task__intent_id"))

    task_id = models.UUIDField()
    agent_id = models.CharField(max_length=128)
    since = models.DateTimeField()
    until = models.DateTimeField(null=True)
    dead = models.BooleanField(default=False)
    taken_up = models.BooleanField(default=False)

    task = tenant_link("memory.Task", "task_id")

    class Meta:
        constraints = (
            TenantFK(column="task_id", to="memory_task", name="an_assignment_is_of_a_task_of_its_tenant"),
            models.UniqueConstraint(
                fields=("tenant", "task_id"), condition=Q(until=None), name="a_task_is_one_agent_s_at_a_time"
            ),
        )
        indexes = (
            models.Index(fields=("tenant", "task_id", "agent_id"), name="memory_assignment_task"),
            models.Index(fields=("tenant", "agent_id", "task_id"), name="memory_assignment_agent"),
        )


class Coordinator(TenantOwned):
    """An agent that coordinates an intent, and its guardrails (RFC-0013, RFC-0015 6.6).

    ``held`` while an agent that directs the intent has stopped it: it does not continue by itself.
    """

    writer = "memory.openintent.work"
    personal = Personal("coordinators", unnamed=AGENT_IDS, shortened=True, page=("run", "intent_id"))

    intent_id = models.UUIDField()
    agent_id = models.CharField(max_length=128)
    guardrails = models.JSONField(null=True)
    status = models.CharField(max_length=16, default="active")
    record = models.JSONField(default=dict)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    held = models.BooleanField(default=False)

    intent = tenant_link("memory.Intent", "intent_id")

    class Meta:
        constraints = (
            TenantFK(column="intent_id", to="memory_intent", name="a_coordinator_is_of_an_intent_of_its_tenant"),
        )
        indexes = (
            models.Index(fields=("tenant", "intent_id", "id"), name="memory_coordinator_intent"),
            models.Index(
                fields=("tenant", "agent_id", "id"),
                condition=Q(status="active"),
                name="memory_coordinator_agent",
            ),
            models.Index(
                fields=("tenant", "expires_at"),
                condition=Q(status="active", expires_at__isnull=False),
                name="memory_coordinator_lapse",
            ),
        )


class Grant(TenantOwned):
    """That an agent may read, or write, the working memory of an intent or of one task of it (RFC-0011; R26)."""

    writer = "memory.openintent.work"
    personal = Personal("grants", unnamed=AGENT_IDS, shortened=True, page=("run", "intent_id"))
    impersonal = {"permission": "a right"}

    intent_id = models.UUIDField()
    task_id = models.UUIDField(null=True)
    agent_id = models.CharField(max_length=128)
    permission = models.CharField(max_length=5, choices=[("read", "read"), ("write", "write")])
    granted_by = models.CharField(max_length=128)
    granted_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)

    intent = tenant_link("memory.Intent", "intent_id")
    task = tenant_link("memory.Task", "task_id", null=True)

    class Meta:
        constraints = (
            TenantFK(column="intent_id", to="memory_intent", name="a_grant_is_on_an_intent_of_its_tenant"),
            TenantFK(column="task_id", to="memory_task", name="a_grant_is_on_a_task_of_its_tenant"),
        )
        indexes = (
            models.Index(
                fields=("tenant", "task_id"), condition=models.Q(task_id__isnull=False), name="memory_grant_task"
            ),
            models.Index(fields=("tenant", "intent_id", "agent_id"), name="memory_grant_intent"),
            models.Index(fields=("tenant", "agent_id", "permission"), name="memory_grant_agent"),
        )


class Namespace(TenantOwned):
    """A namespace that agents share. ``allow`` is a list of ``{"agent", "access"}``, which overrides ``default``."""

    writer = "memory.openintent.namespaces"
    personal = Personal("namespaces", unnamed=("name", "created_by"), shortened=True)
    impersonal = {"default": "a right"}
    ACCESS = ("none", "read", "write", "admin")

    name = models.CharField(max_length=200)
    default = models.CharField(max_length=5, choices=[(each, each) for each in ACCESS], default="read")
    allow = models.JSONField(default=list)
    version = models.PositiveIntegerField(default=1)
    created_by = models.CharField(max_length=128)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant", "name"), name="a_namespace_has_one_name"),)
