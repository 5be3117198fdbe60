"""Proposals, their revisions, the gates that decide about them, the votes, and the policies of the gates.

No run reads these tables: what is installed is copied to the registry, and only that can be resolved (RFC 0096).
"""

from django.db import models
from django.db.models import Q

from memory.host.models import Personal, TenantFK, TenantOwned, tenant_link
from memory.host.models.base import DIGEST, KIND, NODE, PRINCIPAL, ROLES, STATE


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
            models.Index(fields=("tenant", "agent_id", "id"), name="proposals_agent"),
        )


class Revision(TenantOwned):
    """One revision of a proposal. Never changed, except by a forget, which blanks its texts.

    ``text`` is the artifact as received, apart from redactions. ``sha256`` is the digest of exactly these bytes
    (UTF-8): the one that a reviewer sees, a gate pins and the installation has. ``canonical_sha256`` is the digest of
    the JCS form (RFC 8785), equal for texts with equal values. ``structure`` is the digest of what the artifact does,
    independent of its name (``duplicates``). ``lines_added`` and ``lines_removed`` count against the previous revision
    or, for the first one, what runs resolved when it was proposed.
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


class Gate(TenantOwned):
    """The approval of one revision, pinned by its digest, that an activation run waits for.

    ``closed_at`` is null while the activation is under way: while votes are open, and after a grant until the artifact
    is installed or the run has failed. Quorum, eligible and overriding roles and the expiry are copied from the policy
    version ``policy_number`` when the gate is opened; later changes of the policy do not affect it.
    """

    writer = "proposals.gate"
    impersonal = {
        "eligible_roles": ROLES,
        "node_id": NODE,
        "opened_by": PRINCIPAL,
        "override_roles": ROLES,
        "required_scope": ROLES,
        "sha256": DIGEST,
        "state": STATE,
    }

    proposal_id = models.UUIDField()
    revision = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    run_id = models.UUIDField()
    node_id = models.CharField(max_length=64)
    quorum = models.PositiveSmallIntegerField(default=1)
    required_scope = models.CharField(max_length=64)
    policy_number = models.PositiveIntegerField(default=0)
    eligible_roles = models.JSONField(default=list)
    override_roles = models.JSONField(default=list)
    override_bypasses_quorum = models.BooleanField(default=False)
    expires_at = models.DateTimeField(null=True)
    state = models.CharField(max_length=17, choices=GateState, default=GateState.OPEN)
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
                | (Q(state__in=ENDED_WITHOUT) & Q(closed_at__isnull=False)),
                name="a_gate_that_is_over_says_since_when",
            ),
            models.CheckConstraint(condition=Q(quorum__gte=1), name="a_gate_needs_somebody"),
            TenantFK(column="proposal_id", to="proposals_proposal", name="a_gate_is_of_a_proposal_of_its_tenant"),
            TenantFK(column="run_id", to="host_run", name="a_gate_is_asked_by_a_run_of_its_tenant"),
        )
        indexes = (models.Index(fields=("tenant", "proposal_id", "id"), name="proposals_gate_proposal"),)


class Vote(TenantOwned):
    """The decision of one person at a gate, with the revision and digest that it is about; ``overrides`` is permanent.

    ``principal`` is the login or key that cast it, ``person`` the person it counts for. ``roles`` are those that the
    principal held at that moment.
    """

    writer = "proposals.gate"
    personal = Personal("reasons of votes", ("reason",), page=("prop", "gate__proposal_id"))
    impersonal = {"decision": STATE, "person": PRINCIPAL, "principal": PRINCIPAL, "roles": ROLES, "sha256": DIGEST}

    gate_id = models.UUIDField()
    principal = models.CharField(max_length=64)
    person = models.CharField(max_length=64)
    decision = models.CharField(max_length=17, choices=Decision)
    roles = models.JSONField(default=list)
    revision = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    reason = models.CharField(max_length=500, default="", blank=True)
    overrides = models.BooleanField(default=False)
    at = models.DateTimeField()

    gate = tenant_link("proposals.Gate", "gate_id")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "gate_id", "person"), name="a_person_votes_once_a_gate"),
            models.CheckConstraint(
                condition=Q(overrides=False) | (Q(decision=Decision.GRANTED) & ~Q(reason="")),
                name="an_override_grants_and_says_why",
            ),
            TenantFK(column="gate_id", to="proposals_gate", name="a_vote_is_cast_at_a_gate_of_its_tenant"),
        )


class ApprovalPolicy(TenantOwned):
    """One version of the rules for gates over proposals of one kind. Rows are added, never changed.

    ``eligible_roles`` are the roles that may vote, ``override_roles`` those that may override; when these are empty no
    gate can be overridden. No policy lets authors vote on their own proposal, or agents vote at all.
    """

    writer = "proposals.policies"
    personal = Personal("reasons of approval policies", ("reason",))
    impersonal = {
        "asked_by": PRINCIPAL,
        "confirmed_by": PRINCIPAL,
        "eligible_roles": ROLES,
        "kind": KIND,
        "override_roles": ROLES,
    }

    kind = models.CharField(max_length=32, choices=Kind)
    number = models.PositiveIntegerField()
    quorum = models.PositiveSmallIntegerField()
    eligible_roles = models.JSONField(default=list)
    override_roles = models.JSONField(default=list)
    override_bypasses_quorum = models.BooleanField(default=False)
    expires_s = models.PositiveIntegerField()
    uninstall_on_archive = models.BooleanField(default=False)
    asked_by = models.CharField(max_length=64)
    confirmed_by = models.CharField(max_length=64, default="", blank=True)
    reason = models.CharField(max_length=500, default="", blank=True)
    at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("tenant", "kind", "number"), name="a_policy_version_has_its_own_number"),
            models.CheckConstraint(condition=Q(quorum__gte=1), name="a_policy_asks_for_somebody"),
        )


class PolicyChange(TenantOwned):
    """A change of a policy that one person requests and another must confirm. ``wanted`` is the whole policy."""

    writer = "proposals.policies"
    personal = Personal("reasons of policy changes", ("reason",))
    impersonal = {
        "asked_by": PRINCIPAL,
        "decided_by": PRINCIPAL,
        "kind": KIND,
        "state": STATE,
        "wanted": "roles, numbers and durations",
    }

    kind = models.CharField(max_length=32, choices=Kind)
    based_on = models.PositiveIntegerField()
    wanted = models.JSONField(default=dict)
    reason = models.CharField(max_length=500, default="", blank=True)
    asked_by = models.CharField(max_length=64)
    asked_at = models.DateTimeField()
    state = models.CharField(max_length=9, choices=PolicyChangeState, default=PolicyChangeState.WAITING)
    decided_by = models.CharField(max_length=64, default="", blank=True)
    decided_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("tenant", "kind"),
                condition=Q(state=PolicyChangeState.WAITING),
                name="a_kind_has_one_change_waiting",
            ),
            models.CheckConstraint(
                condition=Q(state=PolicyChangeState.WAITING, decided_at__isnull=True)
                | (~Q(state=PolicyChangeState.WAITING) & Q(decided_at__isnull=False)),
                name="a_decided_change_says_since_when",
            ),
        )
