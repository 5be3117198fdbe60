"""A request to forget a subject: its frozen plan, its progress and its receipt. The subject itself is not kept."""

from datetime import datetime, timedelta

from django.db import models

from memory.host.models import Personal, TenantFK, TenantOwned, tenant_link
from memory.host.models.base import DIGEST, PRINCIPAL, STATE

# A subject's request is answered within a month of its arrival (GDPR, article 12.3).
DUE_AFTER = timedelta(days=30)


class ForgetState(models.TextChoices):
    BUILDING = "building"
    PREVIEWED = "previewed"
    AWAITING = "awaiting"
    CONFIRMED = "confirmed"
    FORGOTTEN = "forgotten"
    RESIDUE = "residue"
    LAPSED = "lapsed"
    FAILED = "failed"


class Decision(models.TextChoices):
    UNDECIDED = "undecided"
    TICKED = "ticked"
    SPARED = "spared"


class ForgetRequest(TenantOwned):
    """``subject_key`` is a keyed hash of the first name, ``term_keys`` are those of all; ``sealed_terms`` opens only
    while the work needs it and is emptied with the receipt. ``undecided`` is 0 again once a later request for all of
    these names has its receipt.

    ``plan`` holds for each store how many rows would go, a digest of which, a few of their ids to open, and until the
    confirmation what a store compares with (``erasure.Rechecked``): digests; never a text. ``found`` has the ids of the
    entries that the preview found, and where the ledger was, until the request is over. While the preview is being
    built, ``pass_id`` is the pass that builds it; once confirmed, the one that carries it out. ``AWAITING`` a second
    person it has the reason and the decisions of ``first_confirmed_by``.
    """

    writer = "memory.forget.execution"
    personal = Personal("reasons of forget requests", ("reason",), page=("fgt", "id"))
    impersonal = {
        "first_confirmed_by": PRINCIPAL,
        "found": "ids of entries and a position of the ledger, as bytes",
        "plan": "counts, digests, a few ids of rows, and the host's own sentences",
        "plan_sha256": DIGEST,
        "receipt": "ids, counts and the host's own sentences",
        "requested_by": PRINCIPAL,
        "sealed_terms": "the subject, sealed, for as long as the work needs it",
        "signature": "a signature",
        "state": STATE,
        "subject_key": "a keyed digest, which outlives the subject",
        "term_keys": "keyed digests, which outlive the subject",
    }

    subject_key = models.CharField(max_length=64)
    term_keys = models.JSONField(default=list)
    sealed_terms = models.BinaryField(default=b"")
    state = models.CharField(max_length=12, choices=ForgetState, default=ForgetState.BUILDING)
    plan = models.JSONField(default=dict)
    found = models.BinaryField(default=b"", db_default=b"")
    plan_sha256 = models.CharField(max_length=64, default="", blank=True)
    requested_by = models.CharField(max_length=64)
    first_confirmed_by = models.CharField(max_length=64, default="", db_default="", blank=True)
    reason = models.CharField(max_length=500, default="", blank=True)
    created_at = models.DateTimeField()
    lapses_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    pass_id = models.UUIDField(null=True)
    receipt = models.JSONField(null=True)
    undecided = models.PositiveIntegerField(default=0, db_default=0)
    signature = models.CharField(max_length=128, default="", blank=True)

    background = tenant_link("memory.Pass", "pass_id", null=True)

    @property
    def due_at(self) -> datetime:
        return self.created_at + DUE_AFTER

    @property
    def is_open(self) -> bool:
        """Whether something of a confirmed request is still to be done."""
        return self.state in (ForgetState.CONFIRMED, ForgetState.RESIDUE) or self.undecided > 0

    class Meta:
        constraints = (TenantFK(column="pass_id", to="memory_pass", name="a_forget_is_done_by_a_pass_of_its_tenant"),)
        indexes = (
            models.Index(fields=("tenant", "state", "id"), name="memory_forget_state"),
            models.Index(fields=("tenant", "id"), condition=models.Q(undecided__gt=0), name="memory_forget_undecided"),
            models.Index(
                fields=("tenant", "pass_id"), condition=models.Q(pass_id__isnull=False), name="memory_forget_pass"
            ),
        )


class ForgetHold(TenantOwned):
    """A subject that is not forgotten until the hold is ended: ``terms`` are its names as a forget looks for them.

    The row stays once the hold has ended. A forget erases its texts then, and none of them before.
    """

    writer = "memory.forget.holds"
    personal = Personal("legal holds", ("terms", "reason", "end_reason"), page=("hld", "id"))
    impersonal = {"ended_by": PRINCIPAL, "set_by": PRINCIPAL}

    terms = models.JSONField(default=list)
    reason = models.CharField(max_length=500)
    set_by = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    end_reason = models.CharField(max_length=500, default="", blank=True)
    ended_by = models.CharField(max_length=64, default="", blank=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (
            models.Index(fields=("tenant", "id"), condition=models.Q(ended_at__isnull=True), name="memory_hold_active"),
        )


class Suspect(TenantOwned):
    """A row that may name the subject of a request, and a person's decision about it. Ids alone.

    The ids rise in the order of the stores, so that a page continues after the last row of the one before.
    """

    writer = "memory.forget.execution"
    impersonal = {"decision": STATE, "store": "the name of a store, of the host's own"}

    request_id = models.UUIDField()
    store = models.CharField(max_length=64)
    row_id = models.UUIDField()
    decision = models.CharField(max_length=9, choices=Decision, default=Decision.UNDECIDED)

    request = tenant_link("memory.ForgetRequest", "request_id")

    class Meta:
        constraints = (
            TenantFK(
                column="request_id",
                to="memory_forgetrequest",
                name="a_suspect_is_of_a_request_of_its_tenant",
                on_delete="CASCADE",
            ),
        )
        indexes = (
            models.Index(fields=("tenant", "request_id", "id"), name="memory_suspect_request"),
            models.Index(fields=("tenant", "request_id", "decision", "id"), name="memory_suspect_decision"),
        )
