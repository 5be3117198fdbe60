"""Approval policies, and changes to them that need a second person."""

from django.db import models
from django.db.models import Q

from memory.host.models import Personal, TenantOwned
from memory.host.models.base import KIND, PRINCIPAL, ROLES, STATE
from proposals.models.proposal import Kind, PolicyChangeState


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
