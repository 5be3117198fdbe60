"""Proposals of the demo: made by a key of the agents; revised, asked about, approved and rejected by operators."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db import transaction

from memory.host import ids, tenancy
from memory.host.models import Operator, Run, Tenant
from memory.host.tenancy import TenantScope
from openwop_console.demo.story import Suggestion, text_of
from proposals import lifecycle, rules
from proposals.drafts import Change, ProposalDraft
from proposals.models import Decision, Gate, Proposal, Revision


def missing(tenant_id: UUID, suggestions: list[Suggestion]) -> list[Suggestion]:
    """Those that nobody has proposed yet: no proposal began with their title."""
    there = set(Revision.objects.of(tenant_id).filter(number=1).values_list("title", flat=True))
    return [suggestion for suggestion in suggestions if suggestion.title not in there]


@transaction.atomic
def propose(
    scope: TenantScope, tenant: Tenant, suggestion: Suggestion, sources: Mapping[str, Run], *, now: datetime
) -> bool:
    """The proposal is there, as far as it is to come by itself: all of it, or nothing when this is interrupted.

    False when another seeding was faster.
    """
    Tenant.objects.select_for_update().get(id=tenant.id)
    if not missing(tenant.id, [suggestion]):
        return False
    made = lifecycle.create(scope, _draft(suggestion, sources), now=now)
    if suggestion.revision:
        change = Change(artifact=text_of(suggestion.revision["artifact"]), note=suggestion.revision["note"])
        lifecycle.revise(_operator(tenant, suggestion.revision["by"]), made.id, change, now=now)
    if suggestion.rejection:
        reviewer = _operator(tenant, suggestion.rejection["by"])
        lifecycle.reject(reviewer, made.id, reason=suggestion.rejection["reason"], now=now)
    _decide(tenant, suggestion, made, now)
    return True


def _decide(tenant: Tenant, suggestion: Suggestion, made: Proposal, now: datetime) -> None:
    """What is to wait at its gate has been asked about; what is to be applied has been granted there as well, and is
    installed when its run goes on. A host without gates installs the latter at once."""
    if rules.activates_directly():
        if suggestion.approved_by:
            lifecycle.ask_to_apply(_operator(tenant, suggestion.approved_by), made.id, now=now)
        return
    if suggestion.asked_by:
        gate = lifecycle.ask_to_apply(_operator(tenant, suggestion.asked_by), made.id, now=now).gate
        if gate and suggestion.approved_by:
            voter, granted = _operator(tenant, suggestion.approved_by), Decision.GRANTED
            lifecycle.decide(voter, made.id, revision=gate.revision, sha256=gate.sha256, decision=granted, now=now)


def _draft(suggestion: Suggestion, sources: Mapping[str, Run]) -> ProposalDraft:
    return ProposalDraft(
        kind=suggestion.kind,
        artifact=text_of(suggestion.artifact),
        title=suggestion.title,
        rationale=suggestion.rationale,
        source_run_ids=tuple(ids.wire("run", sources[key].id) for key in suggestion.source_runs),
        synthesizer_model=suggestion.synthesizer_model,
        agent_id=suggestion.agent_id,
    )


def _operator(tenant: Tenant, email: str) -> TenantScope:
    operator = Operator.objects.of(tenant.id).get(email=email)
    return tenancy.tenant_scope(tenancy.operator_principal(operator, tenant.id))


def under_way(tenant_id: UUID) -> list[UUID]:
    """The activation runs whose gates wait for somebody, or have been granted and install nothing yet."""
    return list(Gate.objects.of(tenant_id).filter(closed_at=None).values_list("run_id", flat=True))
