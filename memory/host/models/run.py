"""Runs, their streams and the append-only event log."""

from typing import ClassVar

from django.db import models

from memory.host.models.base import TenantFK, TenantOwned, tenant_link


class RunStatus(models.TextChoices):
    PENDING = "pending"
    RUNNING = "running"
    PAUSED = "paused"
    WAITING_APPROVAL = "waiting-approval"
    WAITING_INPUT = "waiting-input"
    WAITING_EXTERNAL = "waiting-external"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


TERMINAL = frozenset({RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED})


class Stream(TenantOwned):
    """A sequence of events, numbered from 0 without a gap. A run's stream has the run's id."""

    writer = "memory.host.event_log"

    next_sequence = models.BigIntegerField(default=0)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.CheckConstraint(condition=models.Q(next_sequence__gte=0), name="a_stream_counts_from_zero"),
        )


class RunEvent(TenantOwned):
    """One fact, never changed and never removed (triggers on both engines)."""

    writer = "memory.host.event_log"

    stream_id = models.UUIDField()
    sequence = models.BigIntegerField()
    type = models.CharField(max_length=64)
    node_id = models.CharField(max_length=256, default="", blank=True)
    timestamp = models.DateTimeField()
    payload = models.JSONField()
    subject_id = models.UUIDField(null=True)

    stream = tenant_link("host.Stream", "stream_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "stream_id", "sequence"), name="a_sequence_is_used_once"),
            TenantFK(column="stream_id", to="host_stream", name="an_event_stands_in_a_stream_of_its_tenant"),
        )
        indexes = (
            models.Index(
                fields=("tenant", "subject_id", "id"),
                condition=models.Q(subject_id__isnull=False),
                name="host_event_subject",
            ),
            models.Index(fields=("tenant", "type", "id"), name="host_event_type"),
        )


class Definition(TenantOwned):
    """The text of a workflow as a run was started with it; one row a digest."""

    writer = "memory.host.registry"

    sha256 = models.CharField(max_length=64)
    text = models.TextField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant", "sha256"), name="a_definition_is_kept_once"),)


class Run(TenantOwned):
    """One execution of a workflow. Status moves only through ``memory.host.runs``."""

    writer = "memory.host.runs"

    workflow_id = models.CharField(max_length=128)
    definition_id = models.UUIDField()
    status = models.CharField(max_length=20, choices=RunStatus, default=RunStatus.PENDING)
    system = models.BooleanField(default=False)
    principal = models.CharField(max_length=64)
    agent_id = models.CharField(max_length=256, default="", blank=True)
    inputs = models.JSONField(default=dict)
    variables = models.JSONField(default=dict)
    configurable = models.JSONField(default=dict)
    tags = models.JSONField(default=list)
    metadata = models.JSONField(default=dict)
    error = models.JSONField(null=True)
    current_node = models.CharField(max_length=256, default="", blank=True)
    snapshot_position = models.BigIntegerField(default=0)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)
    ready_at = models.DateTimeField(null=True)
    holder = models.CharField(max_length=100, default="", blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)

    definition = tenant_link("host.Definition", "definition_id")

    class Meta:
        constraints = (
            TenantFK(column="id", to="host_stream", name="a_run_has_a_stream_of_its_own"),
            TenantFK(column="definition_id", to="host_definition", name="a_run_pins_a_definition_of_its_tenant"),
            models.CheckConstraint(
                condition=models.Q(status__in=sorted(TERMINAL), completed_at__isnull=False)
                | (~models.Q(status__in=sorted(TERMINAL)) & models.Q(completed_at__isnull=True)),
                name="a_run_that_ended_says_when",
            ),
        )
        indexes = (
            models.Index(fields=("tenant", "workflow_id", "id"), name="host_run_workflow"),
            models.Index(
                fields=("tenant", "ready_at"), condition=models.Q(ready_at__isnull=False), name="host_run_ready"
            ),
        )


class Interrupt(TenantOwned):
    """What a suspended run waits for at one node; asked once a run, answered once."""

    writer = "memory.host.runs"
    KINDS: ClassVar[dict[str, str]] = {
        "approval": RunStatus.WAITING_APPROVAL,
        "clarification": RunStatus.WAITING_INPUT,
        "external-event": RunStatus.WAITING_EXTERNAL,
    }

    run_id = models.UUIDField()
    node_id = models.CharField(max_length=256)
    kind = models.CharField(max_length=32)
    key = models.CharField(max_length=256)
    data = models.JSONField(default=dict)
    created_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True)
    resume_value = models.JSONField(null=True)

    run = tenant_link("host.Run", "run_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "run_id", "key"), name="a_key_is_asked_once_a_run"),
            TenantFK(column="run_id", to="host_run", name="an_interrupt_belongs_to_a_run_of_its_tenant"),
        )
