"""Proposals, their revisions, the gates that decide about them, and the votes.

No run reads these tables: what is installed is copied to the registry, and only that can be resolved (RFC 0096).
"""

from django.db import models
from django.db.models import Q

from memory.host.models import TenantFK, TenantOwned, tenant_link


class Kind(models.TextChoices):
    AGENT_PACK = "agent-pack"
    WORKFLOW_CHAIN_PACK = "workflow-chain-pack"
    PROMPT_TEMPLATE = "prompt-template"
    AUTOMATION = "automation"


class State(models.TextChoices):
    DRAFT = "draft"
    REVISED = "revised"
    APPLIED = "applied"
    REJECTED = "rejected"
    ARCHIVED = "archived"


class GateState(models.TextChoices):
    OPEN = "open"
    GRANTED = "granted"
    REJECTED = "rejected"
    CANCELLED = "cancelled"


class Decision(models.TextChoices):
    GRANTED = "granted"
    REJECTED = "rejected"


UNDER_REVIEW = (State.DRAFT, State.REVISED)


class Proposal(TenantOwned):
    """What an agent or a person proposes; ``revision`` is the number of the revision that stands now.

    ``closed_by``, ``closed_at`` and ``closing_reason`` tell of the last step out of review: apply, reject or archive.
    """

    writer = "proposals.lifecycle"

    kind = models.CharField(max_length=32, choices=Kind)
    state = models.CharField(max_length=8, choices=State, default=State.DRAFT)
    title = models.CharField(max_length=200, default="", blank=True)
    rationale = models.TextField(default="", blank=True)
    source_run_ids = models.JSONField(default=list)
    synthesizer_model = models.CharField(max_length=128, default="", blank=True)
    author = models.CharField(max_length=64)
    agent_id = models.CharField(max_length=256, default="", blank=True)
    last_reviser = models.CharField(max_length=64)
    contributors = models.JSONField(default=list)
    revision = models.PositiveIntegerField(default=1)
    duplicate_of = models.CharField(max_length=400, null=True)
    approval_id = models.UUIDField(null=True)
    installed_ref = models.CharField(max_length=400, null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    closed_by = models.CharField(max_length=64, default="", blank=True)
    closed_at = models.DateTimeField(null=True)
    closing_reason = models.CharField(max_length=500, default="", blank=True)

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(state=State.APPLIED, installed_ref__isnull=False)
                | (~Q(state=State.APPLIED) & Q(installed_ref__isnull=True)),
                name="an_applied_proposal_and_no_other_is_installed",
            ),
            models.CheckConstraint(
                condition=Q(approval_id__isnull=True) | Q(state=State.APPLIED),
                name="only_an_applied_proposal_names_its_approval",
            ),
            models.CheckConstraint(
                condition=Q(state__in=UNDER_REVIEW, closed_at__isnull=True)
                | (~Q(state__in=UNDER_REVIEW) & Q(closed_at__isnull=False)),
                name="a_proposal_out_of_review_says_since_when",
            ),
            models.CheckConstraint(condition=Q(revision__gte=1), name="a_proposal_has_a_first_revision"),
        )
        indexes = (
            models.Index(fields=("tenant", "state", "id"), name="proposals_state"),
            models.Index(fields=("tenant", "kind", "id"), name="proposals_kind"),
        )


class Revision(TenantOwned):
    """The proposal as somebody left it. Never changed, but by a forget, which blanks its texts.

    ``text`` is the artifact as it was received. ``sha256`` is the digest of exactly these bytes (UTF-8): it is what a
    reviewer sees, what a gate pins, and what the installation has. ``canonical_sha256`` is the digest of the JCS form
    (RFC 8785), equal for two texts that mean the same.
    """

    writer = "proposals.revisions"

    proposal_id = models.UUIDField()
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=200, default="", blank=True)
    rationale = models.TextField(default="", blank=True)
    text = models.TextField()
    sha256 = models.CharField(max_length=64)
    canonical_sha256 = models.CharField(max_length=64)
    revised_by = models.CharField(max_length=64)
    note = models.CharField(max_length=500, default="", blank=True)
    created_at = models.DateTimeField()
    forgotten_at = models.DateTimeField(null=True)

    proposal = tenant_link("proposals.Proposal", "proposal_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "proposal_id", "number"), name="a_revision_has_its_own_number"),
            TenantFK(column="proposal_id", to="proposals_proposal", name="a_revision_is_of_a_proposal_of_its_tenant"),
        )


class Gate(TenantOwned):
    """The question whether one revision, pinned by its digest, is to be installed; asked by an activation run.

    ``closed_at`` is empty as long as the activation is under way: while votes are open, and after a grant until the
    artifact is installed or the run has failed.
    """

    writer = "proposals.gate"

    proposal_id = models.UUIDField()
    revision = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    run_id = models.UUIDField()
    node_id = models.CharField(max_length=64)
    quorum = models.PositiveSmallIntegerField(default=1)
    required_scope = models.CharField(max_length=64)
    state = models.CharField(max_length=9, choices=GateState, default=GateState.OPEN)
    opened_by = models.CharField(max_length=64)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    proposal = tenant_link("proposals.Proposal", "proposal_id")
    run = tenant_link("host.Run", "run_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "proposal_id"),
                condition=Q(closed_at__isnull=True),
                name="a_proposal_has_one_gate_under_way",
            ),
            models.UniqueConstraint(fields=("tenant", "run_id"), name="an_activation_run_has_one_gate"),
            models.CheckConstraint(
                condition=Q(state=GateState.OPEN, closed_at__isnull=True)
                | Q(state=GateState.GRANTED)
                | (Q(state__in=(GateState.REJECTED, GateState.CANCELLED)) & Q(closed_at__isnull=False)),
                name="a_gate_that_is_over_says_since_when",
            ),
            models.CheckConstraint(condition=Q(quorum__gte=1), name="a_gate_needs_somebody"),
            TenantFK(column="proposal_id", to="proposals_proposal", name="a_gate_is_of_a_proposal_of_its_tenant"),
            TenantFK(column="run_id", to="host_run", name="a_gate_is_asked_by_a_run_of_its_tenant"),
        )
        indexes = (models.Index(fields=("tenant", "proposal_id", "id"), name="proposals_gate_proposal"),)


class Vote(TenantOwned):
    """What one principal decided at a gate, with the revision and digest it saw; ``overrides`` marks it for good."""

    writer = "proposals.gate"

    gate_id = models.UUIDField()
    principal = models.CharField(max_length=64)
    decision = models.CharField(max_length=8, choices=Decision)
    revision = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    reason = models.CharField(max_length=500, default="", blank=True)
    overrides = models.BooleanField(default=False)
    at = models.DateTimeField()

    gate = tenant_link("proposals.Gate", "gate_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "gate_id", "principal"), name="a_principal_votes_once_a_gate"),
            models.CheckConstraint(
                condition=Q(overrides=False) | (Q(decision=Decision.GRANTED) & ~Q(reason="")),
                name="an_override_grants_and_says_why",
            ),
            TenantFK(column="gate_id", to="proposals_gate", name="a_vote_is_cast_at_a_gate_of_its_tenant"),
        )
