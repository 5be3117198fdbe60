"""Tables of schedules and heartbeats: runs started by time, and by a change of an observed state (RFC 0052, 0060)."""

from django.db import models

from memory.host.models.base import (
    CODE,
    HOLDER,
    KIND,
    PRINCIPAL,
    STATE,
    TIME,
    Guarded,
    GuardedManager,
    Personal,
    TenantFK,
    TenantOwned,
    tenant_link,
)


class ScheduleKind(models.TextChoices):
    CRON = "cron"
    ONCE = "once"


class MissedFirePolicy(models.TextChoices):
    SKIP = "skip"
    FIRE_ONCE = "fire-once"


# A row that lost its name to a forget does not fire any more.
RESTS = {"enabled": False, "next_at": None}


class Schedule(TenantOwned):
    """A workflow that runs at each tick of a cron expression in a zone, or once at an instant.

    ``next_at`` is the next tick, null while it is disabled and when there is none left. The schedule of a workflow's
    own trigger is named ``workflow/<workflow>/<trigger>``, that of an automation ``automation/<name>``.
    """

    writer = "memory.host.scheduling"
    personal = Personal(
        "schedules",
        ("name", "workflow_id", "agent_id", "inputs"),
        unnamed=("name",),
        along=RESTS,  # a schedule whose name or workflow named the subject is disabled
        harmless=("inputs",),
    )
    impersonal = {"cron": TIME, "kind": KIND, "missed": KIND, "principal": PRINCIPAL, "timezone": TIME}

    name = models.CharField(max_length=300)
    kind = models.CharField(max_length=4, choices=ScheduleKind)
    cron = models.CharField(max_length=256, default="", blank=True)
    timezone = models.CharField(max_length=64, default="UTC")
    at = models.DateTimeField(null=True)
    missed = models.CharField(max_length=9, choices=MissedFirePolicy, default=MissedFirePolicy.FIRE_ONCE)
    workflow_id = models.CharField(max_length=128)
    agent_id = models.CharField(max_length=256, default="", blank=True)
    inputs = models.JSONField(default=dict)
    principal = models.CharField(max_length=64)
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    next_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant", "name"), name="a_schedule_has_a_name_of_its_own"),)
        indexes = (
            models.Index(
                fields=("tenant", "next_at"),
                condition=models.Q(next_at__isnull=False, enabled=True),
                name="host_schedule_due",
            ),
        )


class ScheduleTick(TenantOwned):
    """A claimed tick of a schedule; the row's uniqueness makes it fire once under concurrency (RFC 0052)."""

    writer = "memory.host.scheduling"
    impersonal = {"code": CODE}

    schedule_id = models.UUIDField()
    tick_at = models.DateTimeField()
    fired_at = models.DateTimeField()
    run_id = models.UUIDField(null=True)
    code = models.CharField(max_length=64, default="", blank=True)
    missed = models.PositiveIntegerField(default=0)

    schedule = tenant_link("host.Schedule", "schedule_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "schedule_id", "tick_at"), name="a_tick_fires_once"),
            TenantFK(
                column="schedule_id",
                to="host_schedule",
                name="a_tick_belongs_to_a_schedule_of_its_tenant",
                on_delete="CASCADE",
            ),
        )


class HostTimer(Guarded):
    """The next due time of a task of the host itself. A shared table: the task runs for all tenants at once."""

    writer = "memory.host.scheduling"
    impersonal = {"name": "the name of a task of the host"}

    name = models.CharField(max_length=32, primary_key=True)
    next_at = models.DateTimeField()

    objects = GuardedManager()


class Heartbeat(TenantOwned):
    """A predicate over an observed state, evaluated every ``interval_s`` seconds (RFC 0060).

    ``prior_state`` is the result of the last good evaluation, with its digest, null before the first; ``observed_at``
    is its time. A change starts one run of ``workflow_id``, ``last_run_id``, or is refused one with ``last_code``.
    """

    writer = "memory.host.heartbeats"
    personal = Personal(
        "heartbeats",
        ("name", "workflow_id", "predicate", "inputs", "prior_state"),
        unnamed=("name",),
        along=RESTS,
        harmless=("inputs", "prior_state"),
    )
    impersonal = {"holder": HOLDER, "last_code": CODE, "last_status": STATE, "principal": PRINCIPAL}

    name = models.CharField(max_length=128)
    predicate = models.JSONField(default=dict)
    interval_s = models.PositiveIntegerField()
    workflow_id = models.CharField(max_length=128, default="", blank=True)
    inputs = models.JSONField(default=dict)
    principal = models.CharField(max_length=64)
    enabled = models.BooleanField(default=True)
    prior_state = models.JSONField(null=True)
    observed_at = models.DateTimeField(null=True)
    last_status = models.CharField(max_length=8, default="", blank=True)
    last_at = models.DateTimeField(null=True)
    last_run_id = models.UUIDField(null=True)
    last_code = models.CharField(max_length=64, default="", blank=True)
    next_at = models.DateTimeField(null=True)
    evaluating_until = models.DateTimeField(null=True)
    holder = models.CharField(max_length=100, default="", blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant", "name"), name="a_heartbeat_has_a_name_of_its_own"),)
        indexes = (
            models.Index(
                fields=("tenant", "next_at"),
                condition=models.Q(next_at__isnull=False, enabled=True),
                name="host_heartbeat_due",
            ),
        )
