"""Standing commitments: intentions found in memory, and when they have fired (RFC 0068)."""

from django.db import models

from memory.host.models import Personal, TenantFK, TenantOwned, tenant_link
from memory.host.models.base import CODE, DIGEST, HOLDER, KIND, STATE, TIME


class Condition(models.TextChoices):
    TIME = "time"
    PREDICATE = "predicate"


class CommitmentState(models.TextChoices):
    POSSIBLE = "possible"
    ARMED = "armed"
    SNOOZED = "snoozed"
    DORMANT = "dormant"
    FIRED = "fired"
    STALE = "stale"
    CANCELLED = "cancelled"


class Commitment(TenantOwned):
    """An intention in the text of entry ``entry_id``, from character ``starts`` to ``ends``; the text itself is there,
    and only its digest here, by which it is known again when the value of the entry is replaced.

    A time commitment is due at ``due_at`` in ``timezone`` and, with ``repeats`` (a cron expression), again, at
    each ``every``-th of its ticks. A predicate one has ``predicate``, what to look for and the ``cause`` that made it
    true last, and ``holds``: whether it was true at the last look. ``fired_count`` is the number of its firings on
    record. A ``possible`` one is in doubt: it never fires before a person has armed it.
    """

    writer = "memory.commitments"
    personal = Personal(
        "standing commitments", ("memory_ref", "agent_id", "predicate", "reason"), page=("cmt", "id"), deleted=True
    )
    impersonal = {
        "condition": KIND, "last_code": CODE, "repeats": TIME, "said_sha256": DIGEST, "state": STATE, "timezone": TIME,
    }  # fmt: skip

    memory_ref = models.CharField(max_length=256)
    entry_id = models.UUIDField()
    agent_id = models.CharField(max_length=256, default="", blank=True)
    starts = models.PositiveIntegerField()
    ends = models.PositiveIntegerField()
    said_sha256 = models.CharField(max_length=64, default="", db_default="", blank=True)
    condition = models.CharField(max_length=9, choices=Condition)
    due_at = models.DateTimeField(null=True)
    timezone = models.CharField(max_length=64, default="UTC")
    repeats = models.CharField(max_length=120, default="", blank=True)
    every = models.PositiveSmallIntegerField(default=1, db_default=1)
    predicate = models.JSONField(default=dict)
    holds = models.BooleanField(default=False)
    state = models.CharField(max_length=9, choices=CommitmentState, default=CommitmentState.ARMED)
    snoozed_until = models.DateTimeField(null=True)
    stale_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=500, default="", blank=True)
    fired_count = models.PositiveIntegerField(default=0)
    last_fired_at = models.DateTimeField(null=True)
    last_run_id = models.UUIDField(null=True)
    last_code = models.CharField(max_length=64, default="", blank=True)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "entry_id", "starts"), name="an_intention_is_a_commitment_once"),
        )
        indexes = (
            models.Index(
                fields=("tenant", "state", "due_at"),
                condition=models.Q(due_at__isnull=False),
                name="memory_commitment_due",
            ),
            models.Index(fields=("tenant", "condition", "state", "id"), name="memory_commitment_watching"),
            models.Index(fields=("tenant", "state", "id"), name="memory_commitment_state"),
            models.Index(
                fields=("tenant", "state", "reason", "id"),
                condition=models.Q(stale_at__isnull=False),
                name="memory_commitment_may_return",
            ),
        )


class Firing(TenantOwned):
    """That a commitment fired: this row is what makes it happen once for an instant or a change to true.

    ``occasion`` is the instant, or the number of the transition. The events stand on the log of ``run_id``. What made
    the condition true is ``cause_entry_id`` or ``cause_run_id``; a time has neither.
    """

    writer = "memory.commitments"
    impersonal = {"code": CODE, "occasion": "an instant or a number"}

    commitment_id = models.UUIDField()
    occasion = models.CharField(max_length=64)
    fired_at = models.DateTimeField()
    run_id = models.UUIDField()
    enqueued_run_id = models.UUIDField(null=True)
    cause_entry_id = models.UUIDField(null=True)
    cause_run_id = models.UUIDField(null=True)
    code = models.CharField(max_length=64, default="", blank=True)

    commitment = tenant_link("memory.Commitment", "commitment_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "commitment_id", "occasion"), name="a_commitment_fires_once_an_occasion"
            ),
            TenantFK(
                column="commitment_id",
                to="memory_commitment",
                name="a_firing_is_of_a_commitment_of_its_tenant",
                on_delete="CASCADE",
            ),
            TenantFK(column="run_id", to="host_run", name="a_firing_is_on_the_log_of_a_run_of_its_tenant"),
        )
        indexes = (
            models.Index(fields=("tenant", "run_id"), name="memory_firing_run"),
            models.Index(fields=("tenant", "fired_at"), name="memory_firing_time"),
        )


class CommitmentWatch(TenantOwned):
    """How far the tenant's ledger was read for intentions, and its runs for what commitments wait for. One a tenant.

    ``looked_until`` is the commitment at which the last look over all of them left off; null when it came to the end.
    """

    writer = "memory.commitments"
    impersonal = {"holder": HOLDER}

    position = models.BigIntegerField(default=0)
    runs_until = models.DateTimeField(null=True)
    looked_until = models.UUIDField(null=True)
    holder = models.CharField(max_length=100, default="", blank=True)
    lease_until = models.DateTimeField(null=True)
