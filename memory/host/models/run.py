"""Runs, their streams and the append-only event log."""

from datetime import timedelta
from typing import ClassVar

from django.db import models

from memory.host import trace_context
from memory.host.errors import EffectInReplay
from memory.host.models.base import (
    DIGEST,
    HOLDER,
    KIND,
    NODE,
    PRINCIPAL,
    STATE,
    TRACE,
    Personal,
    TenantFK,
    TenantOwned,
    tenant_link,
)


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
    """One recorded event, never changed and never removed (triggers on both engines)."""

    writer = "memory.host.event_log"
    impersonal = {"type": KIND}

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
    """The text of a workflow as a run was started with it; one row per digest."""

    writer = "memory.host.registry"
    impersonal = {"sha256": DIGEST}

    sha256 = models.CharField(max_length=64)
    text = models.TextField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant", "sha256"), name="a_definition_is_kept_once"),)


class ForkMode(models.TextChoices):
    REPLAY = "replay"
    BRANCH = "branch"


IMPORT = "host-import"  # the workflow of runs that import a file


class Run(TenantOwned):
    """One execution of a workflow. Its status changes only through ``memory.host.runs``.

    ``executions`` counts the nodes begun, against the recursion limit; ``deadline_at`` ends a run that lasts too long.
    A paused run with ``draining`` still finishes the nodes it had begun. ``workspace`` is the snapshot of the files at
    the run's creation. A branch reads what its source wrote up to the ledger position ``inherits_until``. An
    ``external`` run is executed elsewhere by an agent that reports its events: this host executes no step of it.
    ``cancelled_by`` is the principal that requested the end, or the host. ``traceparent`` is the trace of the request
    that created the run (W3C), empty when it had none.
    """

    writer = "memory.host.runs"
    personal = Personal(
        "run inputs and variables",
        ("inputs", "variables", "metadata", "configurable", "tags", "workspace", "scope_id", "agent_id", "error"),
        page=("run", "id"),
        sensitive_of="self",
    )
    impersonal = {
        "cancelled_by": PRINCIPAL,
        "current_node": NODE,
        "fork_mode": KIND,
        "holder": HOLDER,
        "principal": PRINCIPAL,
        "status": STATE,
        "traceparent": TRACE,
        "workflow_id": NODE,
    }

    workflow_id = models.CharField(max_length=128)
    definition_id = models.UUIDField()
    status = models.CharField(max_length=20, choices=RunStatus, default=RunStatus.PENDING)
    system = models.BooleanField(default=False)
    external = models.BooleanField(default=False, db_default=False)
    traceparent = models.CharField(max_length=trace_context.LENGTH, default="", db_default="", blank=True)
    principal = models.CharField(max_length=64)
    agent_id = models.CharField(max_length=256, default="", blank=True)
    scope_id = models.CharField(max_length=256, default="", blank=True)
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
    deadline_at = models.DateTimeField(null=True)
    executions = models.PositiveIntegerField(default=0)
    paused_at = models.DateTimeField(null=True)
    draining = models.BooleanField(default=False)
    cancelled_by = models.CharField(max_length=64, default="", blank=True)
    workspace = models.JSONField(default=list)
    fork_mode = models.CharField(max_length=8, choices=ForkMode, default="", blank=True)
    source_run_id = models.UUIDField(null=True)
    from_seq = models.BigIntegerField(null=True)
    inherits_until = models.BigIntegerField(null=True)

    definition = tenant_link("host.Definition", "definition_id")
    source_run = tenant_link("host.Run", "source_run_id", null=True)

    @property
    def took(self) -> timedelta | None:
        """The duration of the execution; None before its end."""
        return self.completed_at - self.started_at if self.completed_at and self.started_at else None

    @property
    def may_state(self) -> bool:
        """Whether its log can have writes with a stated origin: from an external agent, or from an imported file."""
        return self.external or self.workflow_id == IMPORT

    class Meta:
        constraints = (
            TenantFK(column="id", to="host_stream", name="a_run_has_a_stream_of_its_own"),
            TenantFK(column="definition_id", to="host_definition", name="a_run_pins_a_definition_of_its_tenant"),
            TenantFK(column="source_run_id", to="host_run", name="a_fork_comes_from_a_run_of_its_tenant"),
            models.CheckConstraint(
                condition=models.Q(fork_mode="", source_run_id__isnull=True, from_seq__isnull=True)
                | (~models.Q(fork_mode="") & models.Q(source_run_id__isnull=False, from_seq__isnull=False)),
                name="a_fork_says_what_it_comes_from",
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=sorted(TERMINAL), completed_at__isnull=False)
                | (~models.Q(status__in=sorted(TERMINAL)) & models.Q(completed_at__isnull=True)),
                name="a_run_that_ended_says_when",
            ),
        )
        indexes = (
            models.Index(fields=("tenant", "definition_id"), name="host_run_definition"),
            models.Index(fields=("tenant", "created_at", "id"), name="host_run_created"),
            models.Index(fields=("tenant", "status", "created_at", "id"), name="host_run_status"),
            models.Index(fields=("tenant", "workflow_id", "created_at", "id"), name="host_run_workflow"),
            models.Index(
                fields=("tenant", "created_at", "id"),
                condition=models.Q(completed_at__isnull=True, system=False),
                name="host_run_unfinished",
            ),
            models.Index(
                fields=("tenant", "ready_at"), condition=models.Q(ready_at__isnull=False), name="host_run_ready"
            ),
            models.Index(
                fields=("tenant", "scope_id"),
                condition=~models.Q(scope_id="") & models.Q(completed_at__isnull=True),
                name="host_run_active_scope",
            ),
            models.Index(
                fields=("tenant", "source_run_id", "id"),
                condition=models.Q(source_run_id__isnull=False),
                name="host_run_source",
            ),
        )

    @property
    def is_replay(self) -> bool:
        """Decided by the run's fork mode alone, never by a node, a caller or an event."""
        return self.fork_mode == ForkMode.REPLAY

    def has_copied(self, sequence: int) -> bool:
        """Whether the event was copied from the run's source, where it happened; the source also holds the reads and
        resolutions of its node."""
        return self.is_replay or sequence < (self.from_seq or 0)

    def refuse_effects(self) -> None:
        """Raise ``EffectInReplay`` when this run is a replay (openwop-host 3.8).

        It is the first line of every function that changes more than the run itself.
        """
        if self.is_replay:
            raise EffectInReplay


class Interrupt(TenantOwned):
    """What a suspended run waits for at one node; asked once per run, answered once.

    ``data`` is the whole question, for readers of the run; the event on the log holds none of its words. ``policy``
    holds how answers are counted and who may give them; ``outcome`` is how it ended. One that was unanswered when its
    node failed or its run ended is resolved by that end.
    """

    writer = "memory.host.interrupts"
    personal = Personal(
        "questions and answers of runs",
        ("data", "resume_value", "policy"),
        page=("run", "run_id"),
        sensitive_of="run",
        under_lock_of_run=True,
    )
    impersonal = {
        "key": "the node's id, or that of an activation gate",
        "kind": KIND,
        "node_id": NODE,
        "outcome": STATE,
    }
    KINDS: ClassVar[dict[str, str]] = {
        "approval": RunStatus.WAITING_APPROVAL,
        "clarification": RunStatus.WAITING_INPUT,
        "external-event": RunStatus.WAITING_EXTERNAL,
        "custom": RunStatus.WAITING_INPUT,
    }

    run_id = models.UUIDField()
    node_id = models.CharField(max_length=256)
    kind = models.CharField(max_length=32)
    key = models.CharField(max_length=256)
    data = models.JSONField(default=dict)
    policy = models.JSONField(default=dict)
    created_at = models.DateTimeField()
    timeout_at = models.DateTimeField(null=True)
    resolved_at = models.DateTimeField(null=True)
    resume_value = models.JSONField(null=True)
    outcome = models.CharField(max_length=16, default="", blank=True)

    run = tenant_link("host.Run", "run_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "run_id", "key"), name="a_key_is_asked_once_a_run"),
            TenantFK(column="run_id", to="host_run", name="an_interrupt_belongs_to_a_run_of_its_tenant"),
        )
        indexes = (
            models.Index(
                fields=("tenant", "timeout_at"),
                condition=models.Q(timeout_at__isnull=False, resolved_at__isnull=True),
                name="host_interrupt_timeout",
            ),
            models.Index(
                fields=("tenant", "id"), condition=models.Q(resolved_at__isnull=True), name="host_interrupt_open"
            ),
        )


class InterruptVote(TenantOwned):
    """One vote at an interrupt that needs several; a voter has one, and repeating it changes nothing.

    ``voter`` is a person, ``principal`` the login or key that answered.
    """

    writer = "memory.host.interrupts"
    personal = Personal(
        "voices at questions of runs", ("voter",), unnamed=("voter",), page=("run", "interrupt__run_id")
    )
    impersonal = {"action": KIND, "principal": PRINCIPAL}

    interrupt_id = models.UUIDField()
    voter = models.CharField(max_length=128)
    principal = models.CharField(max_length=64, default="", blank=True)
    action = models.CharField(max_length=16)
    at = models.DateTimeField()

    interrupt = tenant_link("host.Interrupt", "interrupt_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "interrupt_id", "voter"), name="a_voter_has_one_voice"),
            TenantFK(
                column="interrupt_id", to="host_interrupt", name="a_voice_is_raised_at_an_interrupt_of_its_tenant"
            ),
        )
