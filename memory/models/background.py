"""A background pass: its claim, its progress and its outcome, one row a window."""

from django.db import models

from memory.host.models import TenantFK, TenantOwned, tenant_link


class PassState(models.TextChoices):
    WAITING = "waiting"
    CLAIMED = "claimed"
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"


class Pass(TenantOwned):
    """The window of one kind of pass over one ref; ``run_id`` is the small system run that tells of it."""

    writer = "memory.passes"

    kind = models.CharField(max_length=32)
    memory_ref = models.CharField(max_length=256, default="", blank=True)
    window = models.CharField(max_length=64)
    state = models.CharField(max_length=8, choices=PassState, default=PassState.WAITING)
    code = models.CharField(max_length=64, default="", blank=True)
    holder = models.CharField(max_length=100, default="", blank=True)
    lease_until = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    run_id = models.UUIDField()
    requested_by = models.CharField(max_length=64)
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0)
    doing = models.CharField(max_length=100, default="", blank=True)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    run = tenant_link("host.Run", "run_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "kind", "memory_ref", "window"), name="a_window_of_a_pass_is_done_once"
            ),
            TenantFK(column="run_id", to="host_run", name="a_pass_runs_as_a_run_of_its_tenant"),
        )
        indexes = (
            models.Index(
                fields=("tenant", "lease_until"),
                condition=models.Q(state__in=("waiting", "claimed")),
                name="memory_pass_open",
            ),
        )
