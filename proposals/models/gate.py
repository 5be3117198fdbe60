"""The approval gates of proposals, and the votes cast at them (RFC 0051)."""

from django.db import models
from django.db.models import Q

from memory.host.models import Personal, TenantFK, TenantOwned, tenant_link
from memory.host.models.base import DIGEST, NODE, PRINCIPAL, ROLES, STATE
from proposals.models.proposal import ENDED_WITHOUT, Decision, GateState


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
