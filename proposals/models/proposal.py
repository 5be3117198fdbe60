"""Proposals, their revisions and comments."""

from django.db import models
from django.db.models import Q

from memory.host.models import Personal, TenantFK, TenantOwned, tenant_link
from memory.host.models.base import DIGEST, KIND, PRINCIPAL, STATE


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


class Purpose(models.TextChoices):
    INSTALL = "install"
    ROLLBACK = "rollback"


class GateState(models.TextChoices):
    OPEN = "open"
    GRANTED = "granted"
    REJECTED = "rejected"
    CHANGES_REQUESTED = "changes-requested"
    EXPIRED = "expired"
    VOID = "void"
    CANCELLED = "cancelled"


class Decision(models.TextChoices):
    GRANTED = "granted"
    REJECTED = "rejected"
    CHANGES_REQUESTED = "changes-requested"


class PolicyChangeState(models.TextChoices):
    WAITING = "waiting"
    CONFIRMED = "confirmed"
    REFUSED = "refused"


UNDER_REVIEW = (State.DRAFT, State.REVISED)
# The final states of a gate that install nothing.
ENDED_WITHOUT = (
    GateState.REJECTED,
    GateState.CHANGES_REQUESTED,
    GateState.EXPIRED,
    GateState.VOID,
    GateState.CANCELLED,
)


class Proposal(TenantOwned):
    """A change that an agent or a person proposes; ``revision`` is the number of the current revision.

    ``closed_by``, ``closed_at`` and ``closing_reason`` describe the last step out of review: apply, reject or archive.
    ``pattern`` is the digest of the finding that the host synthesized this one from, "" for all others; each is
    proposed once. ``evidence`` are ids of what led to it. ``uninstalled_ref`` was installed until it was archived.
    """

    writer = "proposals.lifecycle"
    impersonal = {
        "author": PRINCIPAL,
        "closed_by": PRINCIPAL,
        "contributors": "ids of operators and keys",
        "kind": KIND,
        "last_reviser": PRINCIPAL,
        "pattern": DIGEST,
        "purpose": KIND,
        "source_run_ids": "ids of runs",
        "state": STATE,
    }

    kind = models.CharField(max_length=32, choices=Kind)
    purpose = models.CharField(max_length=8, choices=Purpose, default=Purpose.INSTALL)
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
    uninstalled_ref = models.CharField(max_length=400, default="", blank=True)
    pattern = models.CharField(max_length=64, default="", blank=True)
    evidence = models.JSONField(default=list)
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
            models.CheckConstraint(
                condition=Q(uninstalled_ref="") | Q(state=State.ARCHIVED),
                name="only_an_archived_proposal_was_uninstalled",
            ),
            models.UniqueConstraint(
                fields=("tenant", "pattern"), condition=~Q(pattern=""), name="a_pattern_is_proposed_once"
            ),
        )
        indexes = (
            models.Index(fields=("tenant", "state", "id"), name="proposals_state"),
            models.Index(fields=("tenant", "kind", "id"), name="proposals_kind"),
        )


class Revision(TenantOwned):
    """One revision of a proposal. Never changed, except by a forget, which blanks its texts.

    ``text`` is the artifact as received, apart from redactions. ``sha256`` is the digest of exactly these bytes
    (UTF-8): the one that a reviewer sees, a gate pins and the installation has. ``canonical_sha256`` is the digest of
    the JCS form (RFC 8785), equal for texts with equal values. ``structure`` is the digest of what the artifact does,
    independent of its name (``duplicates``). ``lines_added`` and ``lines_removed`` count against the previous revision
    or, for the first one, the installed version.
    """

    writer = "proposals.revisions"
    impersonal = {"canonical_sha256": DIGEST, "revised_by": PRINCIPAL, "sha256": DIGEST, "structure": DIGEST}

    proposal_id = models.UUIDField()
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=200, default="", blank=True)
    rationale = models.TextField(default="", blank=True)
    text = models.TextField()
    sha256 = models.CharField(max_length=64)
    canonical_sha256 = models.CharField(max_length=64)
    structure = models.CharField(max_length=64, default="", blank=True)
    lines_added = models.PositiveIntegerField(default=0)
    lines_removed = models.PositiveIntegerField(default=0)
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
        indexes = (models.Index(fields=("tenant", "structure"), name="proposals_revision_structure"),)


class Comment(TenantOwned):
    """A comment on a proposal, at the revision that its author read. Blanked by a forget, never changed.

    ``line`` counts from 1 in the readable form of that revision; None for a comment on the whole.
    """

    writer = "proposals.comments"
    personal = Personal("comments on proposals", ("text",), page=("prop", "proposal_id"))
    impersonal = {"author": PRINCIPAL}

    proposal_id = models.UUIDField()
    revision = models.PositiveIntegerField()
    line = models.PositiveIntegerField(null=True)
    author = models.CharField(max_length=64)
    text = models.TextField()
    at = models.DateTimeField()

    proposal = tenant_link("proposals.Proposal", "proposal_id")

    class Meta:
        constraints = (
            TenantFK(column="proposal_id", to="proposals_proposal", name="a_comment_is_on_a_proposal_of_its_tenant"),
        )
        indexes = (models.Index(fields=("tenant", "proposal_id", "id"), name="proposals_comment_proposal"),)
