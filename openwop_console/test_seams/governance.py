"""``POST /v1/host/sample/governance/approval-gate``: a real gate over a real proposal, and one principal's act at it.

The host creates the proposal and requests approval, the activation run reaches its gate, the named principal acts
through the usual calls, and the host ends the review: nothing is ever installed. All of it is one transaction, so no
worker takes the run in between.
"""

import json
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.utils import timezone
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from memory.host import runs, tenancy
from memory.host.errors import CapabilityNotProvided, Forbidden
from memory.host.http import Closed, Text, checked, operation
from memory.host.json_types import JSONObject
from memory.host.leases import worker_name
from memory.host.tenancy import TenantScope, scope_of
from memory.reasons import MAX_REASON
from openwop_console.runtime import engine, run_operations
from openwop_console.test_seams import identity, seam
from proposals import lifecycle, rules
from proposals.drafts import ProposalDraft
from proposals.models import Decision, Gate, GateState

HOST_MAY = frozenset({"proposals:create", "proposals:request-activation", "approvals:respond"})
TOLD = frozenset({"approval.granted", "approval.rejected", "approval.overridden", "authorization.decided"})
OVERRIDE = "override"
SCENARIOS = {
    "unauthorized-grant": Decision.GRANTED,
    "grant": Decision.GRANTED,
    "quorum": Decision.GRANTED,
    "reject": Decision.REJECTED,
    OVERRIDE: Decision.GRANTED,
}
OUTCOME = {
    "type": "object",
    "required": ["released", "event"],
    "properties": {
        "released": {"type": "boolean"},
        "event": {
            "type": "object",
            "required": ["type", "payload"],
            "properties": {"type": {"type": "string"}, "payload": {"type": "object"}},
        },
    },
}


class GateScenario(Closed):
    """What is to happen at the gate, and who does it."""

    scenario = serializers.ChoiceField(choices=sorted(SCENARIOS))
    principal = Text(max_length=identity.LONGEST, required=False)
    reason = Text(max_length=MAX_REASON, required=False, allow_blank=True)


@operation("seamApprovalGate", scope="manifest:read", takes=GateScenario, gives={200: OUTCOME}, tag="seams")
@api_view(["POST"])
@seam
def approval_gate(request: Request) -> Response:
    given = checked(GateScenario, request.data).validated_data
    return Response(play(scope_of(request), now=timezone.now(), **given))


@transaction.atomic
def play(
    caller: TenantScope, *, scenario: str, principal: str = identity.OWNER, reason: str = "", now: datetime
) -> JSONObject:
    """Carry out the scenario's one act at a new gate; return its event from the run's log, and whether the gate was
    granted."""
    caller.check(identity.SCOPE)
    if rules.activates_directly():
        raise CapabilityNotProvided("This host activates without a gate.")
    actor = identity.find_principal(caller, principal, now=now)
    host = tenancy.host_scope(identity.tenant_of(caller), scopes=HOST_MAY)
    opened = _open_gate(host, now)
    _act(actor, opened, scenario, reason, now)
    read, _ = run_operations.read_events(caller, runs.find(opened.tenant_id, opened.run_id), after=-1)
    facts = [each for each in read if each.type in TOLD]
    opened.refresh_from_db(fields=["state"])
    released = opened.state == GateState.GRANTED
    lifecycle.reject(host, opened.proposal_id, reason="The scenario is over.", now=now)
    _advance(opened)
    return {"released": released, "event": {"type": facts[-1].type, "payload": facts[-1].payload}}


def _open_gate(host: TenantScope, now: datetime) -> Gate:
    """Open a gate over an installable proposal, and advance its run to it."""
    artifact = {"templateId": f"conformance.{uuid4().hex}", "version": "1.0.0", "kind": "user", "text": "Conformance."}
    draft = ProposalDraft(kind="prompt-template", artifact=json.dumps(artifact), title="A gate for the suite")
    opened = lifecycle.ask_to_apply(host, lifecycle.create(host, draft, now=now).id, now=now).gate
    assert opened is not None, "a host with gates has opened one"
    _advance(opened)
    return opened


def _act(actor: TenantScope, opened: Gate, scenario: str, reason: str, now: datetime) -> None:
    """Act at the gate. A denial is an outcome here: it is in the run's log and the audit log, as at every entry
    point."""
    seen: dict[str, Any] = {"revision": opened.revision, "sha256": opened.sha256, "reason": reason, "now": now}
    try:
        if scenario == OVERRIDE:
            lifecycle.override(actor, opened.proposal_id, **seen)
        else:
            lifecycle.decide(actor, opened.proposal_id, decision=SCENARIOS[scenario], **seen)
    except Forbidden:
        return


def _advance(opened: Gate) -> None:
    run = runs.find(opened.tenant_id, opened.run_id)
    engine.advance(run.tenant_id, run.id, holder=worker_name(), clock=timezone.now)
