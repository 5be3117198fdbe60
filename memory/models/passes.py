"""Passes (claim, progress and outcome; one row a window), their schedules and policy, and lineage."""

from django.db import models

from memory.host.models import Personal, TenantFK, TenantOwned, tenant_link
from memory.host.models.base import CODE, DIGEST, HOLDER, KIND, PRINCIPAL, STATE, TIME


class PassState(models.TextChoices):
    WAITING = "waiting"
    CLAIMED = "claimed"
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Trigger(models.TextChoices):
    HOST_MANAGED = "host-managed"
    SCHEDULED = "scheduled"
    ON_DEMAND = "on-demand"


class Pass(TenantOwned):
    """The window of one kind of pass over one ref; ``run_id`` is the small system run that tells of it.

    ``options`` is what was asked for, ``outcome`` what came of it: numbers, codes and ids, never content. A dry run
    changes nothing but this row. ``stopping`` asks the worker that has the pass to leave off at its next step.
    """

    writer = "memory.passes"
    personal = Personal(
        "passes",
        ("memory_ref", "options", "outcome"),
        unnamed=("memory_ref",),
        page=("run", "run_id"),
    )
    impersonal = {
        "code": CODE,
        "doing": "this host's words for a step, which may be the name of a store",
        "holder": HOLDER,
        "kind": KIND,
        "requested_by": PRINCIPAL,
        "state": STATE,
        "trigger": KIND,
        "window": "an instant, or the id of a request",
    }

    kind = models.CharField(max_length=32)
    memory_ref = models.CharField(max_length=256, default="", blank=True)
    window = models.CharField(max_length=64)
    state = models.CharField(max_length=9, choices=PassState, default=PassState.WAITING)
    code = models.CharField(max_length=64, default="", blank=True)
    holder = models.CharField(max_length=100, default="", blank=True)
    lease_until = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    run_id = models.UUIDField()
    requested_by = models.CharField(max_length=64)
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0)
    doing = models.CharField(max_length=100, default="", blank=True)
    trigger = models.CharField(max_length=16, choices=Trigger, default=Trigger.ON_DEMAND, db_default="on-demand")
    options = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    outcome = models.JSONField(default=dict, db_default=models.Value({}, models.JSONField()))
    dry_run = models.BooleanField(default=False, db_default=False)
    stopping = models.BooleanField(default=False, db_default=False)
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
            models.Index(
                fields=("tenant", "id"), condition=models.Q(finished_at__isnull=True), name="memory_pass_unfinished"
            ),
            models.Index(fields=("tenant", "created_at"), name="memory_pass_made"),
            models.Index(fields=("tenant", "kind", "id"), name="memory_pass_kind"),
            models.Index(fields=("tenant", "memory_ref", "id"), name="memory_pass_ref"),
            models.Index(fields=("tenant", "run_id"), name="memory_pass_run"),
        )


class ExportPart(TenantOwned):
    """A part of the file that an export makes, compressed; the parts follow one another by ``number``."""

    writer = "memory.ledger_exports"

    pass_id = models.UUIDField()
    number = models.PositiveIntegerField()
    body = models.BinaryField()
    expires_at = models.DateTimeField()

    background = tenant_link("memory.Pass", "pass_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "pass_id", "number"), name="a_part_of_an_export_is_there_once"),
            TenantFK(
                column="pass_id",
                to="memory_pass",
                name="a_part_is_of_an_export_of_its_tenant",
                on_delete="CASCADE",
            ),
        )
        indexes = (models.Index(fields=("tenant", "expires_at"), name="memory_export_expires"),)


class UploadPart(TenantOwned):
    """Lines of an uploaded file that an import reads, sealed, and what became of them.

    ``number`` counts the parts, ``first_line`` is the number of their first line. ``body`` is emptied once its lines
    are imported. ``report`` counts the lines by result and says why lines are refused; ``reported_by`` is the pass that
    wrote it. ``entry_ids`` are those of the entries of the lines, 16 bytes each.
    """

    writer = "memory.ledger_imports"
    impersonal = {
        "entry_ids": "ids of entries",
        "report": "counts, numbers of lines, and words of this host that repeat nothing of a line",
    }

    upload_id = models.UUIDField()
    number = models.PositiveIntegerField()
    first_line = models.PositiveIntegerField()
    body = models.BinaryField()
    entry_ids = models.BinaryField(default=b"")
    report = models.JSONField(default=dict)
    refused = models.PositiveIntegerField(default=0)
    reported_by = models.UUIDField(null=True)
    expires_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "upload_id", "number"), name="a_part_of_an_upload_is_there_once"),
        )
        indexes = (models.Index(fields=("tenant", "expires_at"), name="memory_upload_expires"),)


class PassSchedule(TenantOwned):
    """A pass of one kind over one ref at every tick of ``cron`` in ``timezone``; ``next_at`` is null while it is
    disabled.

    A tick is the window of its pass, so it runs once.
    """

    writer = "memory.passes.pass_schedules"
    personal = Personal(
        "pass schedules", ("memory_ref", "options"), unnamed=("memory_ref",), along={"enabled": False, "next_at": None}
    )
    impersonal = {"cron": TIME, "kind": KIND, "timezone": TIME, "written_by": PRINCIPAL}

    kind = models.CharField(max_length=32)
    memory_ref = models.CharField(max_length=256)
    cron = models.CharField(max_length=120)
    timezone = models.CharField(max_length=64, default="UTC")
    options = models.JSONField(default=dict)
    enabled = models.BooleanField(default=True)
    written_by = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    next_at = models.DateTimeField(null=True)
    last_pass_id = models.UUIDField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "kind", "memory_ref"), name="a_ref_has_one_schedule_of_a_kind"),
        )
        indexes = (
            models.Index(
                fields=("tenant", "next_at"),
                condition=models.Q(next_at__isnull=False, enabled=True),
                name="memory_pass_schedule_due",
            ),
        )


class MemoryPolicy(TenantOwned):
    """How a tenant's memory is kept: for how long, in whose zone, and what its commitments start. One row a tenant.

    Days; ``target_tokens`` is how long an archive may be (0: a quarter of what was read); ``distiller`` is
    ``extractive``, or ``endpoint`` for the OpenAI-compatible one at ``endpoint_url``, whose key is the secret
    ``endpoint_secret`` of the vault; those of ``embedding_…`` are of the one that makes vectors (no address: none).
    While ``nightly`` a night of passes comes every day at ``night_at`` (HH:MM in the
    zone), the next one at ``next_night_at``; it distils a ref to which more than ``distill_above`` tokens were written
    since its last archive (0: none). With ``forget_second_person`` a forget is confirmed by two people.
    """

    writer = "memory.memory_policy"
    personal = Personal(
        "memory policy",
        (
            "commitment_workflow",
            "endpoint_url",
            "endpoint_model",
            "endpoint_secret",
            "embedding_url",
            "embedding_model",
            "embedding_secret",
        ),
        emptied=True,
        along={"distiller": "extractive"},  # an endpoint that lost a part of itself distils no more
        harmless=("commitment_workflow",),
    )
    impersonal = {
        "distiller": "the name of a method",
        "night_at": "a time of day",
        "timezone": TIME,
        "written_by": PRINCIPAL,
    }

    archive_days = models.PositiveIntegerField(default=30)
    restore_days = models.PositiveIntegerField(default=30)
    stale_days = models.PositiveIntegerField(default=90)
    timezone = models.CharField(max_length=64, default="UTC")
    commitment_workflow = models.CharField(max_length=128, default="", blank=True)
    distiller = models.CharField(max_length=16, default="extractive")
    target_tokens = models.PositiveIntegerField(default=0)
    endpoint_url = models.CharField(max_length=500, default="", blank=True)
    endpoint_model = models.CharField(max_length=128, default="", blank=True)
    endpoint_secret = models.CharField(max_length=128, default="", blank=True)
    embedding_url = models.CharField(max_length=500, default="", blank=True)
    embedding_model = models.CharField(max_length=128, default="", blank=True)
    embedding_secret = models.CharField(max_length=128, default="", blank=True)
    nightly = models.BooleanField(default=False)
    night_at = models.CharField(max_length=5, default="03:00")
    distill_above = models.PositiveIntegerField(default=4000)
    forget_second_person = models.BooleanField(default=False, db_default=False)
    next_night_at = models.DateTimeField(null=True)
    written_by = models.CharField(max_length=64)
    changed_at = models.DateTimeField()


class Reconciled(TenantOwned):
    """How far a ref was consolidated: up to ``position``, with the signatures of what is there, for the next pass.

    ``signatures`` are chunks of numbers and entry ids without any text; losing them costs a full pass and nothing else.
    ``method`` is the version of the recipe they were made by. Up to ``compared`` the entries of the ref were held
    against one another for a person (``LookAlike``).
    """

    writer = "memory.consolidation_state"
    impersonal = {"method": "the name of a method"}

    memory_ref = models.CharField(max_length=256)
    chunk = models.PositiveIntegerField(default=0)
    position = models.BigIntegerField(default=0)
    method = models.CharField(max_length=32, default="", blank=True)
    signatures = models.BinaryField(default=b"")
    compared = models.BigIntegerField(default=0, db_default=0)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "memory_ref", "chunk"), name="a_ref_was_reconciled_up_to_one_place"
            ),
        )


class Distillate(TenantOwned):
    """What an endpoint made of a source set under a budget, kept so that the archive of it is the same every time."""

    writer = "memory.passes.archives"
    personal = Personal("distillation cache", ("memory_ref", "text"), deleted=True)
    impersonal = {"request_sha256": DIGEST}

    memory_ref = models.CharField(max_length=256)
    request_sha256 = models.CharField(max_length=64)
    text = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("tenant", "request_sha256"), name="a_distillate_is_made_once"),)


class LineageKind(models.TextChoices):
    MERGED = "merged"
    SUPERSEDED = "superseded"
    COMPACTED = "compacted"
    DISTILLED = "distilled"


class Lineage(TenantOwned):
    """``source_id`` is an entry that went into ``target_id``: an entry, or an archive when it was distilled.

    Outlives both, so that one can still be asked what it came from when the other is gone.
    """

    writer = "memory.provenance"
    impersonal = {"kind": KIND}

    source_id = models.UUIDField()
    target_id = models.UUIDField()
    kind = models.CharField(max_length=10, choices=LineageKind)
    pass_id = models.UUIDField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        indexes = (
            models.Index(fields=("tenant", "source_id", "id"), name="memory_lineage_source"),
            models.Index(fields=("tenant", "target_id", "id"), name="memory_lineage_target"),
            models.Index(fields=("tenant", "pass_id", "id"), name="memory_lineage_pass"),
        )


class Verb(models.TextChoices):
    """What a person decides about two entries that look alike."""

    MERGE = "merge"
    REPLACE = "replace"
    KEEP = "keep"


class LookAlike(TenantOwned):
    """Two live entries of one ref that may say the same, which no rule could decide; goes with either of them.

    ``percent`` of their words both have; with ``by_meaning`` so near are their vectors. Without a ``decision`` it waits
    for a person; a pair is offered once.
    """

    writer = "memory.passes.lookalikes"
    impersonal = {"decision": STATE, "decided_by": PRINCIPAL}

    older_id = models.UUIDField()
    newer_id = models.UUIDField()
    percent = models.PositiveSmallIntegerField()
    by_meaning = models.BooleanField(default=False, db_default=False)
    found_at = models.DateTimeField()
    decision = models.CharField(max_length=7, choices=Verb, default="", blank=True)
    decided_by = models.CharField(max_length=64, default="", blank=True)
    decided_at = models.DateTimeField(null=True)

    older = tenant_link("memory.MemoryEntry", "older_id")

    class Meta:
        constraints = (
            TenantFK(
                column="older_id",
                to="memory_memoryentry",
                name="an_older_look_alike_is_an_entry_of_its_tenant",
                on_delete="CASCADE",
            ),
            TenantFK(
                column="newer_id",
                to="memory_memoryentry",
                name="a_newer_look_alike_is_an_entry_of_its_tenant",
                on_delete="CASCADE",
            ),
            models.UniqueConstraint(fields=("tenant", "older_id", "newer_id"), name="a_pair_is_offered_once"),
        )
        indexes = (
            models.Index(fields=("tenant", "newer_id"), name="memory_lookalike_newer"),
            models.Index(
                fields=("tenant", "percent", "id"), condition=models.Q(decision=""), name="memory_lookalike_open"
            ),
        )
